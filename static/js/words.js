/** The API's codes in the reader's language: errors, flags, notes of a model. Knows no page. */

import { has, t } from './i18n.js';

const inWords = (value) => {
  if (Array.isArray(value)) return value.map(inWords).join(', ');
  if (typeof value === 'number') return value.toLocaleString('en-US');
  const key = ['word', 'norm.name'].map((group) => `${group}.${value}`).find(has);
  return key ? t(key) : String(value);
};

const paramsInWords = (params) => Object.fromEntries(Object.entries(params ?? {}).map(([name, value]) => [name, inWords(value)]));

/** `where`: '.form' on pages where something else is kept than a text. */
export function errorWords(error, where = '') {
  const key = [where, ''].map((one) => `error.${error.code}${one}`).find(has);
  if (!key) return error.message || t('error.unexpected_answer', { status: error.status });
  return t(key, paramsInWords(error.params));
}

export const flagWords = (flag) => (has(`flag.${flag.code}`)
  ? t(`flag.${flag.code}`, { ...paramsInWords(flag.params), point: flag.point, count: inWords(flag.count) })
  : `${flag.code} ${flag.point ?? ''} ${flag.count}`);

/** A model as the pages call it; one from a folder has its id. */
export const modelName = (id) => (has(`model.${id}.name`) ? t(`model.${id}.name`) : id);

/** What a model's entry says of itself, such as what another wiring leaves out. */
export const noteWords = (note) => (has(`note.${note.code}`) ? t(`note.${note.code}`, paramsInWords(note.params)) : note.code);
