/** The card of an Add: skip, write and sum on one colour range, and that they add up. */

import { sharedRange } from '../../colour.js';
import { el } from '../../dom.js';
import { compact, decimalsFor, fixed, printedSum } from '../../format.js';
import { formula, inline, m, name, sign } from '../../mathml.js';
import { facts, following, formulaBox, vectorTable } from './parts.js';
import { lengthOf, normReading, writeInto } from './run.js';
import { enlargement, stripsBlock } from './strips.js';

let enlarged = false; // kept while the reader walks on

/** What stands before the plus and what comes after, in words: {skip, write, sum, role, title}. */
export function addNames({ frame, trace, t }) {
  const first = frame.slot === 'add1';
  const sublayer = first ? 'Attention' : 'FFN';
  const written = trace.model.norm === 'pre' ? `${sublayer}(LayerNorm(x))` : `${sublayer}(x)`;
  return { skip: 'x', write: written, sum: t('card.add.sum'), role: first ? 'attn' : 'mlp', sublayer };
}

function numbersFormula(view, values, decimals) {
  const point = (full) => name(full.replace(view.frame.prefix, ''));
  const [[skip, write], sum] = [view.frame.step.inputs, view.frame.step.output];
  return following(view.dim ?? 0, (i) => {
    const at = () => m`{${view.pos},${i}}`;
    const printed = printedSum([values[0][i], values[1][i]], values[2][i], decimals);
    return formulaBox(formula([
      [m`${point(sum)}_${at()}`, m`= ${point(skip)}_${at()} + ${point(write)}_${at()}`],
      [null, m`= ${printed.terms[0]} + ${printed.terms[1]}`],
      [null, m`${sign(printed.relation)} ${printed.total}`],
    ]), printed.relation === '≈' ? view.t('card.rounded', { decimals }) : null);
  });
}

export async function add(view) {
  const { frame, trace, t, rich, pos, depth, label } = view;
  const { step } = frame;
  const points = [...step.inputs, step.output];
  const values = await view.get(...points.map((point) => `${point}[${pos}]`));
  const names = addNames(view);
  const dim = view.dim ?? 0;
  const decimals = decimalsFor(values.flat());
  const pre = trace.model.norm === 'pre';
  const lead = el('p', { class: 'card-lead' }, rich(`card.add.lead.${pre ? 'pre' : 'post'}`, { pos, token: label, sublayer: names.sublayer }));

  if (depth === 'formula') {
    const f = name(names.sublayer);
    const symbols = [[name(names.sum), pre ? m`= x + ${f}("LayerNorm"(x))` : m`= x + ${f}(x)`]];
    return [lead, formulaBox(formula(symbols)), el('h3', {}, t('card.with_numbers', { pos, token: label })), numbersFormula(view, values, decimals),
      el('p', { class: 'card-note' }, t('card.add.each_component', { size: values[0].length }))];
  }

  const range = sharedRange(...values);
  const factor = enlargement(values[1], range);
  const columns = [{ name: names.skip, values: values[0], role: 'stream' }, { name: names.write, values: values[1], sign: '+', role: names.role }, { name: names.sum, values: values[2], sign: '=', role: 'stream' }];
  const tableOf = () => vectorTable({ columns, chosen: dim, sum: true, t, name: t('card.add.table'), onChoose: view.choose });
  const write = writeInto(trace, step.output);
  const lengths = [lengthOf(trace, points[0], pos), write?.length[pos], lengthOf(trace, points[2], pos)];
  const roles = ['stream', names.role, 'stream'];
  const block = stripsBlock({
    rows: points.map((point, i) => ({
      name: [names.skip, names.write, names.sum][i], point: `${point}[${pos}]`, role: roles[i], values: values[i], length: lengths[i],
      sign: ['', '+', '='][i], factor: i === 1 && enlarged ? factor : 1,
    })),
    range, dim, onDim: view.choose, t, twin: depth === 'words',
    name: t('card.add.figure', { pos, token: label, sublayer: names.sublayer }),
    note: t('card.add.one_range'), file: `${step.output}-${pos}`,
  });
  const toggle = factor > 1 ? el('button', {
    type: 'button', class: 'card-toggle', 'aria-pressed': String(enlarged), data: { keep: 'enlarge' },
    onclick: () => { enlarged = !enlarged; view.redraw(); },
  }, t('card.add.enlarge', { factor })) : null;
  const one = following(dim, (i) => {
    const printed = printedSum([values[0][i], values[1][i]], values[2][i], decimals);
    return el('p', { class: 'card-equation' }, el('span', { class: 'card-note' }, t('card.component', { i })), ' ',
      inline(m`${printed.terms[0]} + ${printed.terms[1]} ${sign(printed.relation)} ${printed.total}`));
  });
  const norm = normReading(trace, step.output);
  const list = facts([
    { label: '|x|', value: compact(lengths[0]), termId: 'length', role: 'stream' },
    lengths[1] !== undefined ? { label: `|${names.write}|`, value: compact(lengths[1]), role: names.role } : null,
    lengths[2] !== undefined ? { label: `|${names.sum}|`, value: compact(lengths[2]), role: 'stream' } : null,
    write ? { label: t('card.add.cosine'), value: fixed(write.cosine[pos], 3), termId: 'cosine' } : null,
    norm ? { label: t('card.add.mean'), value: compact(norm.mean[pos]), termId: 'mean', role: 'norm' } : null,
    norm ? { label: t('card.add.variance'), value: compact(norm.var[pos]), termId: 'variance', role: 'norm' } : null,
  ]);
  const bench = el('a', { class: 'card-link', href: benchLink(values, norm, `${label} (${pos}), ${step.output}`, view.lang) }, t('card.add.bench'));
  return depth === 'words'
    ? [lead, block, toggle, one, el('p', { class: 'card-note' }, rich(`card.add.next.${pre ? 'pre' : 'post'}`)), bench]
    : [lead, block, toggle, one, tableOf(), list, bench];
}

/** The bench opened on this token's vectors, as they are (in the fragment, which no server sees). */
function benchLink([skip, write], norm, from, lang) {
  const fields = new URLSearchParams({ x: skip.join(', '), update: write.join(', '), from });
  if (norm) fields.set('eps', String(norm.eps));
  return `/add-norm?lang=${lang}#${fields}`;
}
