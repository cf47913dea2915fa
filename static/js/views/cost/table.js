/** The table of layers in two ways of counting, and where their costs cross. */

import { binary } from '../../big.js';
import { el } from '../../dom.js';
import { count, percent } from '../../format.js';
import { rich, t } from '../../i18n.js';
import { bars } from '../cards/parts.js';
import { cell, formulaOf, forms } from './forms.js';

const GROUPS = [
  ['products', ['dot_product', 'matrix_vector', 'matrix_vector_head']],
  ['attention', ['qkv', 'scores', 'mixing', 'output', 'self_attention', 'cross_attention']],
  ['block', ['mlp', 'block']],
  ['rivals', ['recurrent', 'lstm', 'convolution', 'convolution_3', 'restricted_attention', 'restricted_block', 'perceptron']],
];
const WHOLE = ['self_attention', 'block'];

const depth = (found, isFormulaShown = true) => (found === null ? null : [
  el('span', { class: 'cost-figure num' }, count(found.value)),
  isFormulaShown && found.formula !== String(found.value) ? el('span', { class: 'cost-formula' }, formulaOf(found.formula)) : null,
]);

const pathOf = (row) => [
  depth(row.path),
  row.dilated ? el('span', { class: 'cost-exact' }, t('cost.table.dilated', { value: row.dilated.value, causal: row.dilated_causal.value })) : null,
];

function line(row, { symbols }) {
  const params = { k: row.kernel ?? symbols.k, w: symbols.w, m: symbols.m, n: symbols.n, heads: symbols.H };
  return el('tr', { class: WHOLE.includes(row.name) ? 'is-whole' : null, data: { row: row.name } },
    el('th', { scope: 'row' }, rich(`cost.row.${row.name}`, params)),
    el('td', {}, row.weights.value === 0 ? '0' : cell(row.weights)),
    el('td', {}, cell(row.multiply_adds, row.order)),
    el('td', {}, row.pairs_only ? cell(row.pairs_only, row.pairs_only_order) : '–'),
    el('td', {}, row.steps ? depth(row.steps) : '–'),
    el('td', {}, row.path ? pathOf(row) : '–'));
}

/** The whole table. */
export function layersTable(reply) {
  const byName = Object.fromEntries(reply.rows.map((row) => [row.name, row]));
  const heads = ['part', 'weights', 'whole', 'pairs_only', 'steps', 'path'];
  return el('table', { class: 'cost-table' },
    el('caption', { class: 'sr-only' }, t('cost.table.title')),
    el('thead', {}, el('tr', {}, heads.map((key) => el('th', { scope: 'col' }, rich(`cost.table.${key}`))))),
    GROUPS.map(([group, names]) => el('tbody', {},
      el('tr', { class: 'cost-group' }, el('th', { scope: 'rowgroup', colspan: heads.length }, t(`cost.group.${group}`))),
      names.map((name) => line(byName[name], reply)))));
}

/** Where lines cross, as sentences with this n beside them. */
export const crossingsList = ({ crossings, symbols }) => el('ol', { class: 'cost-crossings' }, crossings.map((crossing) => el('li', {},
  el('b', {}, t(`cost.crossing.${crossing.name}`, { k: symbols.k })), ' ',
  crossing.n === null ? t('cost.crossing.never') : [
    formulaOf(crossing.formula), el('span', {}, t('cost.crossing.at', { n: count(crossing.n) })),
    el('span', { class: 'card-note' }, t('cost.crossing.cost', { value: binary(crossing.multiply_adds) ?? count(Math.round(crossing.multiply_adds)) })),
  ])));

/** Share of the products between positions in the block, at several lengths. */
export const sharesBars = ({ shares, symbols }) => bars(shares.map(({ n, share }) => ({
  label: t('cost.share.at', { n: count(n) }), value: percent(share), share, marked: n === symbols.n,
})), 'attn');

/** What restricting saves here. */
export function restricting(reply) {
  const value = (name) => forms(reply.rows.find((row) => row.name === name).multiply_adds.value);
  return el('p', {}, rich('cost.table.restricting', {
    n: count(reply.symbols.n), w: count(reply.symbols.w), p: count(reply.symbols.p), layer: value('self_attention'), restricted: value('restricted_attention'),
    block: value('block'), restricted_block: value('restricted_block'),
  }));
}
