/**
 * How numbers and labels are written on the screen.
 * Knows nothing of pages, themes or languages; writes the true minus sign and never `-0`.
 */

export const MINUS = '\u2212';
export const NOT_FINITE = '\u2014';

const isNumber = (value) => typeof value === 'number' && Number.isFinite(value);

/** `value` with exactly `decimals` decimals; a value that is not finite (null in the API) is a dash. */
export function fixed(value, decimals) {
  if (!isNumber(value)) return NOT_FINITE;
  const text = Math.abs(value).toFixed(decimals);
  return value < 0 && /[1-9]/.test(text) ? MINUS + text : text;
}

/** A figure that stands alone: so many significant digits, powers of ten only where zeros would hide it. */
export function compact(value, significant = 4) {
  if (!isNumber(value)) return NOT_FINITE;
  if (value === 0) return '0';
  const size = Math.abs(value);
  const sign = value < 0 ? MINUS : '';
  if (size >= 1e-3 && size < 1e7) {
    const decimals = Math.max(0, significant - 1 - Math.floor(Math.log10(size)));
    return sign + size.toFixed(Math.min(decimals, 8));
  }
  const [mantissa, exponent] = size.toExponential(Math.max(0, significant - 1)).split('e');
  const trimmed = mantissa.includes('.') ? mantissa.replace(/\.?0+$/, '') : mantissa;
  return `${sign}${trimmed}e${exponent.replace('+', '').replace('-', MINUS)}`;
}

/** As `compact`, without zeros at the end: for numbers that people typed, and settings. */
export const brief = (value, significant = 5) =>
  compact(value, significant).replace(/(\.\d*?)0+(?=e|$)/, '$1').replace(/\.(?=e|$)/, '');

/** One number of decimals for a group, so that its largest member has `significant` digits or more. */
export function decimalsFor(values, significant = 4) {
  let largest = 0;
  for (const value of values) if (isNumber(value)) largest = Math.max(largest, Math.abs(value));
  if (largest === 0) return 3;
  return Math.min(8, Math.max(1, significant - 1 - Math.floor(Math.log10(largest))));
}

const scaled = (text) => BigInt(text.replace(MINUS, '-').replace('.', ''));

/** '=' when the printed terms add up to the printed total digit for digit, otherwise '≈'. */
export function relation(terms, total) {
  if ([...terms, total].includes(NOT_FINITE)) return '≈';
  const sum = terms.reduce((sum, term) => sum + scaled(term), 0n);
  return sum === scaled(total) ? '=' : '≈';
}

/** Terms and total written with the same decimals, and the sign that is true between them. */
export function printedSum(terms, total, decimals = decimalsFor([...terms, total])) {
  const printed = terms.map((term) => fixed(term, decimals));
  const whole = fixed(total, decimals);
  return { terms: printed, total: whole, relation: relation(printed, whole) };
}

/** '=' when `value`, as printed, is `value` itself; otherwise '≈'. */
export function exactly(value, printed) {
  return Number(printed.replaceAll(MINUS, '-')) === value ? '=' : '≈';
}

/** 0.4812 as `48.1 %`. */
export const percent = (share, decimals = 1) =>
  isNumber(share) ? `${fixed(share * 100, decimals)} %` : NOT_FINITE;

/** A share that may be tiny, with three significant digits: `0.000508 %`. */
export function share(value) {
  if (!isNumber(value)) return NOT_FINITE;
  const hundredths = value * 100;
  const decimals = hundredths > 0 ? Math.max(0, 2 - Math.floor(Math.log10(hundredths))) : 0;
  return `${decimals > 8 ? brief(hundredths, 3) : fixed(hundredths, decimals)} %`;
}

/** Digits in groups of three. */
export const count = (value) => String(value).replace(/\B(?=(\d{3})+(?!\d))/g, ',');

const SIGNS = { ' ': '␣', '\u00a0': '⍽', '\u3000': '□', '\n': '↵', '\r': '␍', '\t': '⇥' };

/** A label that can be seen: white space becomes a sign, nothing becomes `∅`. */
export function visible(label) {
  if (label === '') return '∅';
  if (label.trim() !== '') return label.replace(/[\n\r\t]/g, (c) => SIGNS[c]);
  return Array.from(label, (c) => SIGNS[c] ?? '␣').join('');
}

/** At most `limit` characters, the last of them `…` where something was cut. */
export function shorten(label, limit = 12) {
  const characters = Array.from(label);
  return characters.length > limit ? `${characters.slice(0, limit - 1).join('')}…` : label;
}

const field = (value) => {
  const text = value === null || value === undefined ? '' : String(value);
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
};

/** RFC 4180 text of a table, with the mark that lets spreadsheets read it as UTF-8. */
export function csv(columns, rows) {
  return `\ufeff${[columns, ...rows].map((row) => row.map(field).join(',')).join('\r\n')}\r\n`;
}
