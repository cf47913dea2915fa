/** The chosen query's row written out: each key's weight beside what it really hands over. Knows one reply. */

import { el } from '../../dom.js';
import { fixed, percent, printedSum, visible } from '../../format.js';
import { rich, t } from '../../i18n.js';

const LONGEST = 10;
const sum = (numbers) => numbers.reduce((total, value) => total + value, 0);

function keyCell(tokens, j, choose) {
  const words = visible(tokens[j].label);
  return el('th', { scope: 'row' }, el('button', { type: 'button', class: 'heads-key', title: words, 'aria-label': t('heads.row.choose', { at: j, token: words }), onclick: () => choose(j) },
    el('span', { class: 'heads-key-label' }, words), ' ', el('small', { class: 'num' }, String(j))));
}

/** `query`: reply of POST /heads; `head` its number; `choose(position)` makes a key the next query. */
export function writtenRow({ query, head, choose }) {
  const { tokens, model, norm_based: norms, request: { pos } } = query;
  const { weights, value_lengths: values, weighted_lengths: carried } = query.heads[head];
  const allowed = model.causal ? pos + 1 : tokens.length;
  const keys = Array.from({ length: allowed }, (_, j) => j).sort((a, b) => weights[b] - weights[a]);
  const listed = keys.length > LONGEST + 1 ? keys.slice(0, LONGEST) : keys;
  const rest = keys.slice(listed.length);
  const most = keys.reduce((best, j) => (carried[j] > carried[best] ? j : best), keys[0]);
  const mostNormed = keys.reduce((best, j) => (norms.with_norm[j] > norms.with_norm[best] ? j : best), keys[0]);
  const printed = printedSum([...listed.map((j) => weights[j]), ...(rest.length ? [sum(rest.map((j) => weights[j]))] : [])], sum(weights), 3);
  const name = t('heads.row.title', { pos, token: visible(tokens[pos].label) });
  const columns = [t('heads.row.key'), t('heads.row.weight'), '|v W_O|', '|α v W_O|', t('heads.row.norm_based')];
  const number = (value, marked) => el('td', { class: marked ? 'is-largest' : null }, fixed(value, 3));
  return el('section', { class: 'heads-written' }, el('h3', {}, name),
    el('div', { class: 'card-scroll', tabindex: '0', role: 'region', 'aria-label': name },
      el('table', { class: 'card-table heads-row-table' }, el('caption', { class: 'sr-only' }, name),
        el('thead', {}, el('tr', {}, columns.map((column) => el('th', { scope: 'col' }, column)))),
        el('tbody', {},
          listed.map((j, i) => el('tr', { class: j === pos ? 'is-chosen' : null }, keyCell(tokens, j, choose),
            el('td', {}, el('span', { class: 'heads-bar', 'aria-hidden': 'true' }, el('span', { style: `width: ${(weights[j] * 100).toFixed(1)}%` })), printed.terms[i]),
            number(values[j]), number(carried[j], j === most && carried[j] > 0), number(norms.with_norm[j], j === mostNormed && norms.with_norm[j] > 0))),
          rest.length ? el('tr', {}, el('th', { scope: 'row' }, t('card.attn.rest', { count: rest.length })), el('td', {}, printed.terms.at(-1)), el('td', {}), el('td', {}), el('td', {})) : null),
        el('tfoot', {}, el('tr', {}, el('th', { scope: 'row' }, t('heads.row.sum')), el('td', {}, printed.total), el('td', { colspan: 3 }, t('heads.row.chance', { chance: fixed(1 / allowed, 3) })))))),
    el('p', { class: 'heads-honest' }, rich('heads.honest')),
    el('p', { class: 'card-note' }, rich(norms.norm_on_sum ? 'heads.mixing.post' : norms.norm ? 'heads.mixing.pre' : 'heads.mixing.plain', { ratio: percent(norms.mixing_ratio), norm: norms.norm ?? '', layer: query.request.layer })),
    el('p', { class: 'card-note' }, t('heads.row.sources')));
}
