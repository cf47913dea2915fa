/** The card of Attention, for one head: q, k, v, dot products, scaling, mask, softmax, z, and W_O. */

import { sharedRange } from '../../colour.js';
import { el } from '../../dom.js';
import { pattern as patternFigure } from '../../figures/pattern.js';
import { compact, decimalsFor, fixed, MINUS, printedSum, shorten } from '../../format.js';
import { decodeBytes, thumbnail } from '../../heat.js';
import { formula, fraction, id, name, operator, root, row, sub, sum, sup, term } from '../../mathml.js';
import { bars, facts, figure, formulaBox, legend, table } from './parts.js';
import { lengthOf } from './run.js';
import { stripsBlock } from './strips.js';

const LONGEST_ROW = 12;
const MIXED = 4;

/** All heads as small pictures; choosing one is choosing the head of the page. */
async function headGrid(view) {
  const { trace, frame, t } = view;
  const { n_heads: count } = trace.model;
  const n = trace.tokens.length;
  const [base64] = await view.get({ points: view.at('attn.pattern'), encoding: 'base64', dtype: 'uint8' });
  const bytes = decodeBytes(base64); // [head, query, key]
  const label = (h) => `L${frame.layer}H${h}`;
  return el('div', { class: 'card-heads', role: 'group', 'aria-label': t('card.attn.heads', { count }) },
    Array.from({ length: count }, (_, h) => el('button', {
      type: 'button', class: 'card-head', 'aria-pressed': String(h === view.head), data: { keep: `head-${h}` },
      'aria-label': t('card.attn.head', { head: h, label: label(h) }), onclick: () => view.set({ head: h }),
    }, thumbnail(bytes.subarray(h * n * n, (h + 1) * n * n), n, null), el('span', { class: 'num' }, label(h)))));
}

/** The map of this head with its table twin. `range`: largest magnitude, or 1 for shares. */
function map(view, { values, kind, range, what, caption, point }) {
  const { t, pos, labels, frame } = view;
  const decimals = kind === 'sequential' ? 2 : Math.min(2, decimalsFor(values.flat(), 3));
  const heads = labels.map((label, i) => `${i} ${label}`);
  const cell = (value) => (value === null ? t('card.attn.hidden') : fixed(value, 3));
  const name = t('card.attn.map', { what, label: `L${frame.layer}H${view.head}` });
  return figure({
    name, t, file: `${point}-${view.head}`,
    caption: [el('span', {}, caption, ' '), kind === 'sequential' ? legend(kind, '0', '1') : legend(kind, `${MINUS}${range}`, `+${range}`)],
    build: patternFigure({ values, kind, range, labels, chosen: pos, decimals, words: { query: t('card.attn.query_axis'), key: t('card.attn.key_axis'), value: what } }),
    height: 220,
    data: {
      columns: [t('card.attn.query_key'), ...heads],
      rows: values.map((line, i) => [heads[i], ...line.map(cell)]),
      exact: values.map((line, i) => [heads[i], ...line]),
    },
    onClick: (event) => view.set({ position: event.points[0].y }),
  });
}

/** Which keys of a long row are written out: all, or the largest with the rest in one number. */
function largestKeys(weights) {
  const keys = weights.map((_, j) => j).filter((j) => weights[j] !== null);
  if (keys.length <= LONGEST_ROW) return { keys, rest: [] };
  const order = [...keys].sort((a, b) => weights[b] - weights[a]);
  return { keys: order.slice(0, LONGEST_ROW - 1).sort((a, b) => a - b), rest: order.slice(LONGEST_ROW - 1) };
}

const total = (numbers) => numbers.reduce((sum, value) => sum + value, 0);

/** A small map and the row written out stand side by side where there is room; a large map takes all of it. */
const beside = (view, left, right) => (right
  ? el('div', { class: 'card-pair' }, el('div', { class: view.labels.length <= LONGEST_ROW ? 'card-pair-inner is-small' : 'card-pair-inner' }, left, right))
  : left);

/** The row of the chosen token: bars, and the same figures as a sum that is 1. */
function writtenRow(view, weights) {
  const { t, labels, pos, label } = view;
  const allowed = weights.map((weight, j) => (view.trace.model.causal && j > pos ? null : weight));
  const { keys, rest } = largestKeys(allowed);
  const parts = [...keys.map((j) => weights[j]), ...(rest.length ? [total(rest.map((j) => weights[j]))] : [])];
  const printed = printedSum(parts, total(weights), 3);
  return el('section', { class: 'card-section' },
    el('h3', {}, t('card.attn.row', { pos, token: label })),
    bars([
      ...keys.map((j, i) => ({ label: shorten(labels[j], 14), note: String(j), value: printed.terms[i], share: weights[j], marked: j === pos })),
      ...(rest.length ? [{ label: t('card.attn.rest', { count: rest.length }), value: printed.terms.at(-1), share: parts.at(-1) }] : []),
    ], 'attn'),
    el('p', { class: 'card-sum num' }, `${printed.terms.join(' + ')} ${printed.relation} `, el('b', {}, printed.total)),
  );
}

/** The chosen query's row of dot products and scores, beside each other. */
function scoreTable(view, dots, scores) {
  const { t, labels, pos, trace } = view;
  const decimals = decimalsFor(dots, 4);
  const { keys } = largestKeys(dots);
  return el('section', { class: 'card-section' },
    el('h3', {}, t('card.attn.row', { pos, token: view.label })),
    el('div', { class: 'card-scroll' }, table(
      [t('card.attn.key_axis'), 'q·k', t('card.attn.divided', { d_head: trace.model.d_head })],
      keys.map((j) => [`${j} ${labels[j]}`, fixed(dots[j], decimals), scores[j] === null ? t('card.attn.hidden') : fixed(scores[j], decimals)]))),
    keys.length < dots.length ? el('p', { class: 'card-note' }, t('card.attn.only_largest', { shown: keys.length, count: dots.length })) : null,
  );
}

const tensor = (view, point, selector) => `${view.at(point)}${selector}`;

async function qkv(view) {
  const { t, pos, head, label } = view;
  const selector = `[${pos},${head}]`;
  const points = ['attn.q', 'attn.k', 'attn.v'].map((point) => tensor(view, point, selector));
  const values = await view.get(...points);
  const words = ['query', 'key', 'value'];
  return [stripsBlock({
    rows: words.map((word, i) => ({ name: t(`card.attn.${word}`), point: points[i], role: 'attn', values: values[i] })),
    dim: null, t, file: `${view.at('attn.qkv')}-${pos}-${head}`, note: t('card.attn.one_range'),
    name: t('card.attn.qkv_figure', { pos, token: label, head }),
    data: {
      columns: [t('card.component_head'), ...points],
      rows: values[0].map((_, i) => [i, ...values.map((vector) => compact(vector[i]))]),
      exact: values[0].map((_, i) => [i, ...values.map((vector) => vector[i])]),
    },
  })];
}

async function dot(view) {
  const [dots] = await view.get(tensor(view, 'attn.dot', `[${view.head}]`));
  const range = sharedRange(...dots);
  return [map(view, { values: dots, kind: 'diverging', range, what: 'q·k', caption: view.t('card.attn.dot_caption'), point: view.at('attn.dot') })];
}

async function scaled(view) {
  const { t, pos, trace, head } = view;
  const [dots, scores] = await view.get(tensor(view, 'attn.dot', `[${head}]`), tensor(view, 'attn.attn_scores', `[${head}]`));
  // The run masks as it scales; what the next step hides is divided here so that this step can show it.
  const before = scores.map((line, i) => line.map((score, j) => score ?? dots[i][j] / Math.sqrt(trace.model.d_head)));
  const range = sharedRange(...before);
  return [beside(view,
    map(view, { values: before, kind: 'diverging', range, what: t('card.attn.score'), caption: t('card.attn.scaled_caption', { d_head: trace.model.d_head }), point: view.at('attn.scaled') }),
    view.depth === 'numbers' ? scoreTable(view, dots[pos], before[pos]) : null,
  )];
}

async function masked(view) {
  const { t, pos, head } = view;
  const [dots, scores] = await view.get(tensor(view, 'attn.dot', `[${head}]`), tensor(view, 'attn.attn_scores', `[${head}]`));
  return [beside(view,
    map(view, { values: scores, kind: 'diverging', range: sharedRange(...scores), what: t('card.attn.score'), caption: t('card.attn.masked_caption'), point: view.at('attn.attn_scores') }),
    view.depth === 'numbers' ? scoreTable(view, dots[pos], scores[pos]) : null,
  )];
}

async function softmax(view) {
  const [weights] = await view.get(tensor(view, 'attn.pattern', `[${view.head}]`));
  return [beside(view,
    map(view, { values: weights, kind: 'sequential', range: 1, what: view.t('card.attn.weight'), caption: view.t('card.attn.softmax_caption'), point: view.at('attn.pattern') }),
    writtenRow(view, weights[view.pos]),
  )];
}

/** The values that were mixed, each as large as its share lets it be, and what came out. */
async function mixed(view) {
  const { t, pos, head, labels, label } = view;
  const zPoint = tensor(view, 'attn.z', `[${pos},${head}]`);
  const [values, weights, z] = await view.get(tensor(view, 'attn.v', `[:,${head}]`), tensor(view, 'attn.pattern', `[${head},${pos}]`), zPoint);
  const strongest = weights.map((_, j) => j).sort((a, b) => weights[b] - weights[a]).slice(0, MIXED).sort((a, b) => a - b);
  const others = weights.map((_, j) => j).filter((j) => !strongest.includes(j) && weights[j] > 0);
  const rest = z.map((_, c) => total(others.map((j) => weights[j] * values[j][c])));
  const rows = [
    ...strongest.map((j, i) => ({ name: `${fixed(weights[j], 3)} · v ${shorten(labels[j], 8)}`, point: tensor(view, 'attn.v', `[${j},${head}]`), role: 'attn', sign: i ? '+' : '', values: values[j].map((value) => value * weights[j]) })),
    ...(others.length ? [{ name: t('card.attn.rest', { count: others.length }), role: 'attn', sign: '+', values: rest }] : []),
    { name: 'z', point: zPoint, role: 'attn', sign: '=', values: z },
  ];
  return [stripsBlock({
    rows, dim: null, t, file: `${view.at('attn.z')}-${pos}-${head}`, note: t('card.attn.one_range'),
    name: t('card.attn.z_figure', { pos, token: label, head }),
    data: {
      columns: [t('card.component_head'), ...rows.map((line) => line.name)],
      rows: z.map((_, i) => [i, ...rows.map((line) => compact(line.values[i]))]),
      exact: z.map((_, i) => [i, ...rows.map((line) => line.values[i])]),
    },
  })];
}

/** All heads joined into one vector of d_model, W_O, and the same sum made head by head. */
async function joined(view) {
  const { t, trace, pos, label, frame, depth } = view;
  const { n_heads: count, d_head: size, d_model: whole } = trace.model;
  const [z, results, out] = await view.get(tensor(view, 'attn.z', `[${pos}]`), tensor(view, 'attn.result', `[${pos}]`), `${frame.step.output}[${pos}]`);
  const sums = out.map((_, i) => total(results.map((head) => head[i])));
  const difference = out.map((value, i) => value - sums[i]);
  const largest = Math.max(...difference.map(Math.abs));
  const range = sharedRange(out, sums);
  const bar = el('div', { class: 'card-joined', 'aria-hidden': 'true' },
    z.map((_, h) => el('span', { class: h === view.head ? 'is-chosen' : null }, count <= 16 ? `H${h}` : '')));
  const joinedStrip = stripsBlock({
    rows: [{ name: t('card.attn.joined_z'), point: tensor(view, 'attn.z', `[${pos}]`), role: 'attn', values: z.flat() }],
    dim: null, t, file: `${view.at('attn.z')}-${pos}`, name: t('card.attn.joined', { count, size, whole }),
    data: {
      columns: [t('card.attn.head_head'), t('card.component_head'), 'z'],
      rows: z.flatMap((vector, h) => vector.map((value, i) => [h, i, compact(value)])),
      exact: z.flatMap((vector, h) => vector.map((value, i) => [h, i, value])),
    },
  });
  const rows = [
    { name: t('card.attn.sum_of_heads'), point: tensor(view, 'attn.result', `[${pos}]`), role: 'attn', values: sums },
    { name: t('card.attn.difference'), role: 'weight', sign: '+', values: difference },
    { name: 'Attention(x)', point: `${frame.step.output}[${pos}]`, role: 'attn', sign: '=', values: out, length: lengthOf(trace, frame.step.output, pos) },
  ];
  const both = stripsBlock({
    rows, range, dim: null, t, file: `${frame.step.output}-${pos}-heads`, note: t('card.attn.one_range'),
    name: t('card.attn.heads_figure', { pos, token: label, count }),
    data: {
      columns: [t('card.component_head'), ...rows.map((line) => line.name)],
      rows: out.map((_, i) => [i, ...rows.map((line) => compact(line.values[i]))]),
      exact: out.map((_, i) => [i, ...rows.map((line) => line.values[i])]),
    },
  });
  const lengths = results.map((vector) => Math.hypot(...vector));
  const longest = Math.max(...lengths);
  return [
    el('p', { class: 'card-joined-title num' }, t('card.attn.joined', { count, size, whole })), bar, joinedStrip, both,
    el('p', { class: 'card-note' }, t('card.attn.difference_note', { largest: compact(largest, 3) })),
    depth === 'numbers' ? el('section', { class: 'card-section' }, el('h3', {}, t('card.attn.lengths')), bars(lengths.map((length, h) => ({
      label: `L${frame.layer}H${h}`, value: compact(length), share: longest ? length / longest : 0, marked: h === view.head,
      action: () => view.set({ head: h }), description: t('card.attn.head', { head: h, label: `L${frame.layer}H${h}` }),
    })), 'attn')) : null,
  ];
}

const BODIES = { qkv, dot, scaled, masked, softmax, z: mixed, out: joined };

async function formulas(view) {
  const { frame, trace, pos, head, t } = view;
  const { d_head: size, n_heads: count } = trace.model;
  const at = (letter, index) => sub(id(letter), typeof index === 'number' ? String(index) : index);
  const matrix = (letter) => sub(id('W'), id(letter));
  if (frame.part === 'qkv') {
    return formula(['Q', 'K', 'V'].map((letter) => [id(letter.toLowerCase()), operator('='), matrix(letter), operator('·'), trace.model.norm === 'pre' ? row(name('LayerNorm'), operator('('), id('x'), operator(')')) : id('x'), operator('+'), sub(id('b'), id(letter))]));
  }
  if (frame.part === 'out') {
    return formula([
      [name('Attention'), operator('='), sub(id('W'), id('O')), operator('·'), operator('['), sup(id('z'), '0'), operator(';'), operator('…'), operator(';'), sup(id('z'), String(count - 1)), operator(']'), operator('+'), sub(id('b'), id('O'))],
      [row(), operator('='), sum(row(id('h'), operator('='), '0'), sup(sub(id('W'), id('O')), id('h')), operator('·'), sup(id('z'), id('h'))), operator('+'), sub(id('b'), id('O'))],
    ]);
  }
  const [weights, scores, dots, q, k, v, z] = await view.get(
    tensor(view, 'attn.pattern', `[${head},${pos}]`), tensor(view, 'attn.attn_scores', `[${head},${pos}]`), tensor(view, 'attn.dot', `[${head},${pos}]`),
    tensor(view, 'attn.q', `[${pos},${head}]`), tensor(view, 'attn.k', `[:,${head}]`), tensor(view, 'attn.v', `[:,${head}]`), tensor(view, 'attn.z', `[${pos},${head}]`));
  const key = weights.indexOf(Math.max(...weights));
  const short = (value) => term(fixed(value, 3));
  const products = [0, 1].flatMap((c) => [short(q[c]), operator('·'), short(k[key][c]), operator('+')]);
  const dotted = () => row(at('q', pos), operator('·'), at('k', key));
  const score = scores[key];
  const lines = {
    dot: [
      [dotted(), operator('='), sum(id('c'), sub(id('q'), row(String(pos), ',', id('c'))), operator('·'), sub(id('k'), row(String(key), ',', id('c'))))],
      [row(), operator('≈'), ...products, operator('…')],
      [row(), operator('≈'), term(compact(dots[key]))],
    ],
    scaled: [
      [sub(id('s'), row(String(pos), ',', String(key))), operator('='), fraction(dotted(), root(sub(id('d'), id('k'))))],
      [row(), operator('≈'), fraction(term(compact(dots[key])), root(String(size)))],
      [row(), operator('≈'), term(compact(score))],
    ],
    masked: [
      [sub(id('s'), row(id('i'), ',', id('j'))), operator('='), row(operator('−'), operator('∞')), name(t('card.attn.where')), row(id('j'), operator('>'), id('i'))],
      [sub(id('s'), row(String(pos), ',', String(key))), operator('≈'), term(compact(score))],
    ],
    softmax: [
      [sub(id('a'), row(id('i'), ',', id('j'))), operator('='), fraction(sup(id('e'), sub(id('s'), row(id('i'), ',', id('j')))), sum(id('j'), sup(id('e'), sub(id('s'), row(id('i'), ',', id('j'))))))],
      [sub(id('a'), row(String(pos), ',', String(key))), operator('≈'), fraction(sup(id('e'), term(compact(score))), row(...scores.map((value, j) => [value, j]).filter(([value]) => value !== null).slice(0, 3).flatMap(([value], i) => [...(i ? [operator('+')] : []), sup(id('e'), term(compact(value, 3)))]), ...(scores.filter((value) => value !== null).length > 3 ? [operator('+'), operator('…')] : [])))],
      [row(), operator('≈'), term(fixed(weights[key], 3))],
    ],
    z: [
      [sub(id('z'), row(id('i'), ',', id('c'))), operator('='), sum(id('j'), sub(id('a'), row(id('i'), ',', id('j'))), operator('·'), sub(id('v'), row(id('j'), ',', id('c'))))],
      [sub(id('z'), row(String(pos), ',', '0')), operator('≈'), ...weights.map((weight, j) => [weight, j]).sort((a, b) => b[0] - a[0]).slice(0, 3).flatMap(([weight, j], i) => [...(i ? [operator('+')] : []), short(weight), operator('·'), short(v[j][0])]), ...(weights.filter((weight) => weight > 0).length > 3 ? [operator('+'), operator('…')] : [])],
      [row(), operator('≈'), short(z[0])],
    ],
  };
  return formula(lines[frame.part]);
}

export async function attention(view) {
  const { frame, trace, t, rich, pos, depth, label, head } = view;
  const lead = el('p', { class: 'card-lead' }, rich(`card.attn.lead.${frame.part}`, {
    pos, token: label, head, d_head: trace.model.d_head, root: compact(Math.sqrt(trace.model.d_head), 3), d_model: trace.model.d_model, count: trace.model.n_heads,
  }));
  if (depth === 'formula') {
    const noted = !['qkv', 'out', 'masked'].includes(frame.part);
    return [lead, formulaBox(await formulas(view), noted ? t('card.attn.formula_note', { head, pos, token: label }) : null),
      el('p', { class: 'card-note' }, t(`card.attn.formula_${frame.part}`, { d_head: trace.model.d_head, d_model: trace.model.d_model, count: trace.model.n_heads }))];
  }
  const [grid, body] = await Promise.all([headGrid(view), BODIES[frame.part](view)]);
  return [lead, grid, body,
    depth === 'numbers' ? facts([
      { label: t('card.attn.heads_fact'), value: `${trace.model.n_heads} × ${trace.model.d_head} = ${trace.model.d_model}`, termId: 'head', role: 'attn' },
      { label: 'd_k', value: String(trace.model.d_head), termId: 'scaling', role: 'attn' },
      { label: t('card.attn.mask_fact'), value: t(trace.model.causal ? 'card.attn.causal' : 'card.attn.not_causal'), termId: 'causal_mask', role: 'attn' },
    ]) : null];
}
