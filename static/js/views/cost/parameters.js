/** The learned numbers of a block, matrix by matrix, and the sums that lead to the whole. */

import { el } from '../../dom.js';
import { count, exactly, percent } from '../../format.js';
import { rich, t } from '../../i18n.js';
import { derivation, formulaOf, forms, shortForms } from './forms.js';

const ROLES = { attention: 'attn', mlp: 'mlp', norm: 'norm' };

const matrixTable = (matrices) => el('table', { class: 'card-table cost-matrices' },
  el('caption', { class: 'sr-only' }, t('cost.parameters.table')),
  el('thead', {}, el('tr', {}, ['name', 'shape', 'formula', 'count'].map((key) => el('th', { scope: 'col' }, t(`cost.parameters.${key}`))))),
  el('tbody', {}, matrices.map(({ name, group, shape, count: counted }) => el('tr', { data: { role: ROLES[group] } },
    el('th', { scope: 'row' }, el('code', {}, name)),
    el('td', { class: 'num' }, shape.map(count).join(' × ')),
    el('td', {}, formulaOf(counted.formula)),
    el('td', { class: 'num' }, count(counted.value))))));

const SUMS = ['attention', 'mlp', 'weights', 'biases', 'norms', 'block'];

/** Everything of the section; `reply` is that of GET /cost. */
export function parametersSection({ parameters, symbols }) {
  const { block, attention, mlp, biases, norms, weights } = parameters;
  const parts = [['attention', attention, 'attn'], ['mlp', mlp, 'mlp'], ['biases', biases, 'weight'], ['norms', norms, 'norm']];
  return [
    el('div', { class: 'cost-stack', role: 'img', 'aria-label': parts.map(([key, part]) => `${t(`cost.parameters.${key}`)} ${percent(part.value / block.value, 2)}`).join(', ') },
      parts.map(([, part, role]) => el('span', { data: { role }, style: `flex-grow: ${part.value}` }))),
    el('dl', { class: 'cost-sums' }, SUMS.map((key) => el('div', { class: `is-${key}`, data: { role: { attention: 'attn', mlp: 'mlp', norms: 'norm', biases: 'weight' }[key] ?? null } },
      el('dt', {}, t(`cost.parameters.${key}`)),
      el('dd', {}, derivation(parameters[key], symbols),
        key === 'biases' || key === 'norms' ? el('small', {}, t('cost.parameters.share', { share: percent(parameters[key].value / block.value, 2) }))
          : el('small', {}, shortForms(parameters[key].value)))))),
    el('p', { class: 'card-note' }, rich('cost.parameters.two', {
      mlp: forms(mlp.value), half: forms(parameters.weights_at_2d.value), d: count(symbols.d), two: count(2 * symbols.d),
    })),
    el('p', { class: 'card-note' }, rich('cost.parameters.final', { final: count(parameters.final_norm.value), weights: forms(weights.value) })),
    el('details', { class: 'plot-twin' }, el('summary', {}, t('cost.parameters.table')),
      el('div', { class: 'card-scroll', tabindex: '0', role: 'region', 'aria-label': t('cost.parameters.table') }, matrixTable(parameters.matrices))),
  ];
}

/** The perceptron beside the block: three ratios, and what twice the tokens do. */
export const ratios = ({ parameters, perceptron_to_block: operations }, { times }) => [
  el('dl', { class: 'cost-sums' }, [['to_mlp', parameters.mlp], ['to_weights', parameters.weights], ['to_block', parameters.block]].map(([key, part]) => el('div', {},
    el('dt', {}, t(`cost.ratio.${key}`)),
    el('dd', {}, el('span', { class: 'num' }, `${count(parameters.perceptron.value)} ÷ ${count(part.value)} ${exactly(parameters[key], times(parameters[key]).replaceAll(',', ''))} `, el('b', {}, times(parameters[key]))))))),
  el('p', {}, rich('cost.ratio.operations', { weights: times(parameters.to_weights), operations: times(operations) })),
  el('p', {}, rich('cost.ratio.twice', { twice: forms(parameters.perceptron_at_2n.value), block: forms(parameters.block.value) })),
];
