/**
 * The sentences of the page in the chosen language. The first catalogue comes with the page, the
 * other one is fetched when it is asked for; switching never reloads. Knows no sentence itself.
 *
 * Elements carry their keys: data-i18n (text), data-i18n-label (aria-label), data-i18n-title,
 * data-i18n-placeholder. Parameters of these are not needed: sentences with figures are made by views.
 */

import { dataBlock, el } from './dom.js';

export const LANGUAGES = ['ja', 'en'];

const catalogues = {};
const listeners = new Set();
let current = document.documentElement.lang || 'en';
catalogues[current] = dataBlock('catalogue') ?? {};

export const lang = () => current;

/** The sentence of `key` with `{name}` replaced. An unknown key shows itself, so that it is seen. */
export function t(key, params = {}) {
  const sentence = catalogues[current][key];
  if (sentence === undefined) return key;
  return sentence.replace(/\{(\w+)\}/g, (whole, name) => (name in params ? String(params[name]) : whole));
}

export const has = (key) => key in catalogues[current];

/**
 * A sentence as nodes. Marks in a catalogue's sentence: `[words](term:layer_norm)` becomes a button
 * that opens the explanation of that term, `**words**` is strong, `` `name` `` is code.
 * Parameters are put in after the marks were read, so a reader's text can never act as one.
 */
export function rich(key, params = {}) {
  const fragment = document.createDocumentFragment();
  const fillIn = (text) => text.replace(/\{(\w+)\}/g, (whole, name) => (name in params ? String(params[name]) : whole));
  const marks = /\[([^\]]+)\]\(term:(\w+)\)|\*\*([^*]+)\*\*|`([^\x60]+)`/g;
  const sentence = catalogues[current][key] ?? key;
  let last = 0;
  for (const mark of sentence.matchAll(marks)) {
    fragment.append(fillIn(sentence.slice(last, mark.index)));
    if (mark[2]) fragment.append(term(mark[2], fillIn(mark[1])));
    else if (mark[3]) fragment.append(el('strong', {}, fillIn(mark[3])));
    else fragment.append(el('code', {}, fillIn(mark[4])));
    last = mark.index + mark[0].length;
  }
  fragment.append(fillIn(sentence.slice(last)));
  return fragment;
}

/** A button that opens the explanation of a term (views/glossary.js hears the click). */
export function term(id, words = t(`term.${id}.name`)) {
  return el('button', { type: 'button', class: 'term', data: { term: id }, 'aria-haspopup': 'dialog' }, words);
}

const ATTRIBUTES = {
  i18nLabel: 'aria-label',
  i18nTitle: 'title',
  i18nPlaceholder: 'placeholder',
};

/** Write the sentences of all marked elements under `root`. */
export function translate(root = document) {
  for (const element of root.querySelectorAll('[data-i18n]')) element.textContent = t(element.dataset.i18n);
  for (const [name, attribute] of Object.entries(ATTRIBUTES)) {
    const marked = `data-${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
    for (const element of root.querySelectorAll(`[${marked}]`)) element.setAttribute(attribute, t(element.dataset[name]));
  }
}

/** Change the language in place; rejects where the other catalogue cannot be had. */
export async function setLanguage(next) {
  if (next === current || !LANGUAGES.includes(next)) return;
  if (!catalogues[next]) {
    const response = await fetch(`/locales/${next}.json`);
    if (!response.ok) throw new Error(String(response.status));
    catalogues[next] = await response.json();
  }
  current = next;
  document.documentElement.lang = next;
  translate();
  for (const listener of listeners) listener(next);
}

export const onLanguageChange = (listener) => listeners.add(listener);
