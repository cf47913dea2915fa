/**
 * Large whole numbers in three forms: every digit, a binary unit, and words of a language.
 * Knows nothing of what is counted. Mi is 2^20, Gi is 2^30.
 */

import { count } from './format.js';

const UNITS = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'];

/** `value` with about `digits` digits, without zeros that say nothing. */
function rounded(value, digits = 3) {
  const decimals = value >= 100 ? 1 : Math.max(0, digits - 1 - Math.floor(Math.log10(value)));
  const text = value.toFixed(decimals);
  return Number(text) === value ? String(Number(text)) : text;
}

/** 3152384 as `3.01 Mi`; null below 1,024, where there is no unit to choose. */
export function binary(value, suffix = '') {
  let unit = 0;
  let left = value;
  while (left >= 1024 && unit < UNITS.length - 1) {
    left /= 1024;
    unit += 1;
  }
  return unit ? `${rounded(left)} ${UNITS[unit]}${suffix}` : null;
}

/** Bytes with a binary unit: `256 GiB`. */
export const bytes = (value) => binary(value, 'B') ?? `${count(value)} B`;

/** 3152384 as `3.15 million` or `315 万`; null where the digits are few enough. */
export function words(value, lang) {
  if (value < (lang === 'ja' ? 1e4 : 1e6)) return null;
  const format = new Intl.NumberFormat(lang, { notation: 'compact', compactDisplay: 'long', maximumSignificantDigits: 3, useGrouping: 'always' });
  return format.formatToParts(value).reduce((text, { type, value: part }) =>
    text + (type === 'compact' && text && !text.endsWith(' ') ? ` ${part}` : part), '');
}

/** A ratio with so many digits that neighbours can be told apart: `32,768`, `21,845.3`, `36.6`. */
export function times(value) {
  if (Number.isInteger(value)) return count(value);
  const [whole, part] = value.toFixed(value < 10 ? 2 : 1).split('.');
  return `${count(whole)}.${part}`;
}
