/** How the page of costs writes a count: formulas, derivations and the three forms of a number. */

import { binary, words } from '../../big.js';
import { el } from '../../dom.js';
import { count } from '../../format.js';
import { lang, t } from '../../i18n.js';
import { inline, m } from '../../mathml.js';

const SUPERSCRIPTS = '⁰¹²³⁴⁵⁶⁷⁸⁹';

/** A formula of the API, such as `4nd² + 2nd·d_ff`, in the notation of mathml.js. */
export const notation = (text) => text
  .replace(/d_ff/g, 'd_{"ff"}')
  .replace(/log_k/g, '"log"_k')
  .replace(/[⁰¹²³⁴⁵⁶⁷⁸⁹]+/g, (digits) => `^{${[...digits].map((digit) => SUPERSCRIPTS.indexOf(digit)).join('')}}`);

const math = (text) => inline(m({ raw: [text] }));

/** A formula as MathML. */
export const formulaOf = (text) => math(notation(text));

/** A count with the sizes put in: 4·512·512² + 2·512²·512 = 805,306,368. */
export function derivation(counted, symbols) {
  const terms = counted.terms.map(({ coefficient, powers }) => {
    const factors = Object.entries(powers).map(([symbol, power]) => (power > 1 ? `${symbols[symbol]}^${power}` : `${symbols[symbol]}`));
    return [...(coefficient === 1 && factors.length ? [] : [coefficient]), ...factors].join(' · ');
  });
  return el('span', { class: 'cost-derived' }, formulaOf(counted.formula), math(` = ${terms.join(' + ')} = `), el('b', { class: 'num' }, count(counted.value)));
}

/** `3,152,384 (about 3.15 million, 3.01 Mi)`, with the forms that a number has. */
export function forms(value) {
  const short = binary(value);
  const said = words(value, lang());
  if (!short) return count(value);
  const exact = count(value);
  return said ? t('cost.forms.three', { exact, words: said, binary: short }) : t('cost.forms.two', { exact, binary: short });
}

/** The same beside a number that already stands there with all its digits. */
export function shortForms(value) {
  const short = binary(value);
  const said = words(value, lang());
  if (!short) return '';
  return said ? t('cost.forms.short', { words: said, binary: short }) : short;
}

/** O(nd² + n²d) */
export const orderOf = (order) => el('span', { class: 'cost-order' }, 'O(', formulaOf(order.slice(2, -1)), ')');

/** A figure of the table: formula, the short form, every digit, and how it grows. */
export function cell(counted, order = null) {
  const short = binary(counted.value);
  return [
    el('span', { class: 'cost-formula' }, formulaOf(counted.formula)),
    el('span', { class: 'cost-figure num' }, short ?? count(counted.value), short ? el('small', {}, count(counted.value)) : null),
    order ? orderOf(order) : null,
  ];
}
