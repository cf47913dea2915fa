/** The card of an Add: skip, write and sum on one colour range, and that they add up. */

import { sharedRange } from '../../colour.js';
import { el } from '../../dom.js';
import { compact, decimalsFor, fixed, printedSum } from '../../format.js';
import { formula, inline, m, name, series, sign } from '../../mathml.js';
import { formatFragment } from '../../state.js';
import { facts, following, formulaBox, leading, note, vectorTable } from './parts.js';
import { lengthOf, normReading, writesInto } from './run.js';
import { enlargement, stripsBlock } from './strips.js';

let enlarged = false; // kept while the reader walks on

const written = { attn: 'Attention', mlp: 'FFN' };

/** What goes into the sum and comes out of it: {names, roles, writes}, one name and role for each operand and the sum. */
function addends({ frame, trace, t }) {
  const writes = frame.step.inputs.slice(1).map((point) => (point.endsWith('attn_out') ? 'attn' : 'mlp'));
  const reading = trace.model.norm === 'pre' ? 'LayerNorm(x)' : 'x';
  return {
    writes,
    sublayers: writes.map((write) => written[write]),
    names: ['x', ...writes.map((write) => `${written[write]}(${reading})`), t('card.add.sum')],
    roles: ['stream', ...writes, 'stream'],
  };
}

/** The printed sum of component `i`: `values` are those of the operands and, last, of the sum. */
const printedAt = (values, i, decimals) => {
  const column = values.map((vector) => vector[i]);
  return printedSum(column.slice(0, -1), column.at(-1), decimals);
};

function numbersFormula(view, values, decimals) {
  const point = (full) => name(full.replace(view.frame.prefix, ''));
  const { inputs, output } = view.frame.step;
  return following(view.dim ?? 0, (i) => {
    const at = () => m`{${view.pos},${i}}`;
    const printed = printedAt(values, i, decimals);
    return formulaBox(formula([
      [m`${point(output)}_${at()}`, m`= ${series(inputs.map((input) => m`${point(input)}_${at()}`))}`],
      [null, m`= ${series(printed.terms)}`],
      [null, m`${sign(printed.relation)} ${printed.total}`],
    ]), printed.relation === '≈' ? view.t('card.rounded', { decimals }) : null);
  });
}

export async function add(view) {
  const { frame, trace, t, rich, pos, depth, label } = view;
  const { step } = frame;
  const points = [...step.inputs, step.output];
  const values = await view.get(...points.map((point) => `${point}[${pos}]`));
  const { names, roles, writes, sublayers } = addends(view);
  const dim = view.dim ?? 0;
  const decimals = decimalsFor(values.flat());
  const pre = trace.model.norm === 'pre';
  const kind = writes.length > 1 ? 'parallel' : trace.model.norm;
  const sublayer = sublayers.join(t('card.add.and'));
  const lead = leading(rich(`card.add.lead.${kind}`, { pos, token: label, sublayer }));

  if (depth === 'formula') {
    const read = () => (pre ? m`"LayerNorm"(x)` : m`x`);
    const symbols = [[name(names.at(-1)), m`= x + ${series(sublayers.map((one) => m`${name(one)}(${read()})`))}`]];
    return [lead, formulaBox(formula(symbols)), el('h3', {}, t('card.with_numbers', { pos, token: label })), numbersFormula(view, values, decimals),
      note(t('card.add.each_component', { size: values[0].length }))];
  }

  const range = sharedRange(...values);
  const factor = Math.min(...values.slice(1, -1).map((vector) => enlargement(vector, range)));
  const signs = values.map((_, i) => (i === 0 ? '' : i === values.length - 1 ? '=' : '+'));
  const columns = values.map((vector, i) => ({ name: names[i], values: vector, sign: signs[i] || null, role: roles[i] }));
  const tableOf = () => vectorTable({ columns, chosen: dim, sum: true, t, name: t('card.add.table'), onChoose: view.choose });
  const lengths = points.map((point) => lengthOf(trace, point, pos));
  const block = stripsBlock({
    rows: points.map((point, i) => ({
      name: names[i], point: `${point}[${pos}]`, role: roles[i], values: values[i], length: lengths[i],
      sign: signs[i], factor: signs[i] === '+' && enlarged ? factor : 1,
    })),
    range, dim, onDim: view.choose, t, twin: depth === 'words',
    name: t('card.add.figure', { pos, token: label, sublayer }),
    note: t('card.add.one_range'), file: `${step.output}-${pos}`,
  });
  const toggle = factor > 1 ? el('button', {
    type: 'button', class: 'card-toggle', 'aria-pressed': String(enlarged), data: { keep: 'enlarge' },
    onclick: () => { enlarged = !enlarged; view.redraw(); },
  }, t('card.add.enlarge', { factor })) : null;
  const one = following(dim, (i) => {
    const printed = printedAt(values, i, decimals);
    return el('p', { class: 'card-equation' }, el('span', { class: 'card-note' }, t('card.component', { i })), ' ',
      inline(m`${series(printed.terms)} ${sign(printed.relation)} ${printed.total}`));
  });
  const norm = normReading(trace, step.output);
  const list = facts([
    ...names.map((title, i) => (lengths[i] === undefined ? null
      : { label: `|${title}|`, value: compact(lengths[i]), termId: i === 0 ? 'length' : null, role: roles[i] })),
    ...writesInto(trace, step.output).map((write, i) => ({
      label: writes.length > 1 ? t('card.add.cosine_of', { sublayer: sublayers[i] }) : t('card.add.cosine'), value: fixed(write.cosine[pos], 3), termId: 'cosine',
    })),
    norm ? { label: t('card.add.mean'), value: compact(norm.mean[pos]), termId: 'mean', role: 'norm' } : null,
    norm ? { label: t('card.add.variance'), value: compact(norm.var[pos]), termId: 'variance', role: 'norm' } : null,
  ]);
  // The bench knows one update: of two writes none would be the whole of it.
  const bench = writes.length > 1 ? null
    : el('a', { class: 'card-link', href: benchLink(values, norm, `${label} (${pos}), ${step.output}`, view.lang) }, t('card.add.bench'));
  const next = note(rich(`card.add.next.${pre ? 'pre' : 'post'}`));
  const origin = el('a', { class: 'card-link', href: `/stream?lang=${view.lang}#${formatFragment({ ...view.state, step: null, depth: null, dim: null, layer: null, head: null })}&state=${step.output}` }, t('card.add.stream'));
  return depth === 'words' ? [lead, block, toggle, one, next, bench, origin] : [lead, block, toggle, one, tableOf(), list, bench, origin];
}

/** The bench opened on this token's vectors, as they are (in the fragment, which no server sees). */
function benchLink([skip, write], norm, from, lang) {
  const fields = new URLSearchParams({ x: skip.join(', '), update: write.join(', '), from });
  if (norm) fields.set('eps', String(norm.eps));
  return `/add-norm?lang=${lang}#${fields}`;
}
