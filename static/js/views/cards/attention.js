/** The card of Attention, for one head: q, k, v, dot products, scaling, mask, softmax, z, and W_O. */

import { sharedRange } from '../../colour.js';
import { el } from '../../dom.js';
import { pattern as patternFigure } from '../../figures/pattern.js';
import { compact, decimalsFor, fixed, MINUS, printedSum, shorten } from '../../format.js';
import { decodeBytes, thumbnail } from '../../heat.js';
import { formula, m, name, series, sign } from '../../mathml.js';
import { bars, facts, figure, formulaBox, legend, table } from './parts.js';
import { lengthOf } from './run.js';
import { stripsBlock } from './strips.js';

const LONGEST_ROW = 12;
const MIXED = 4;
const SMALL_MAP = 20; // tokens of a map that leaves room for the row beside it

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
  ? el('div', { class: 'card-pair' }, el('div', { class: view.labels.length <= SMALL_MAP ? 'card-pair-inner is-small' : 'card-pair-inner' }, left, right))
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
    el('div', { class: 'card-scroll', tabindex: '0', role: 'region', 'aria-label': t('card.attn.row', { pos, token: view.label }) }, table(
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
    z.map((_, h) => el('span', { class: h === view.head ? 'is-chosen' : null }, count <= 8 ? `H${h}` : '')));
  const joinedStrip = stripsBlock({
    rows: [{ name: t('card.attn.joined_z'), point: tensor(view, 'attn.z', `[${pos}]`), role: 'attn', values: z.flat() }],
    dim: null, over: bar, t, file: `${view.at('attn.z')}-${pos}`, name: t('card.attn.joined', { count, size, whole }),
  });
  const rows = [
    { name: t('card.attn.sum_of_heads'), point: tensor(view, 'attn.result', `[${pos}]`), role: 'attn', values: sums },
    { name: t('card.attn.difference'), role: 'weight', sign: '+', values: difference },
    { name: 'Attention(x)', point: `${frame.step.output}[${pos}]`, role: 'attn', sign: '=', values: out, length: lengthOf(trace, frame.step.output, pos) },
  ];
  const both = stripsBlock({
    rows, range, dim: null, t, file: `${frame.step.output}-${pos}-heads`, note: t('card.attn.one_range'),
    name: t('card.attn.heads_figure', { pos, token: label, count }),
  });
  const lengths = results.map((vector) => Math.hypot(...vector));
  const longest = Math.max(...lengths);
  return [
    el('p', { class: 'card-joined-title num' }, t('card.attn.joined', { count, size, whole })), el('div', { class: 'card-joined-box' }, joinedStrip), both,
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
  if (frame.part === 'qkv') {
    const reads = () => (trace.model.norm === 'pre' ? m`"LayerNorm"(x)` : m`x`);
    return formula([[m`q`, m`= W_Q · ${reads()} + b_Q`], [m`k`, m`= W_K · ${reads()} + b_K`], [m`v`, m`= W_V · ${reads()} + b_V`]]);
  }
  if (frame.part === 'out') {
    return formula([[m`"Attention"`, m`= W_O · [z^0; …; z^${count - 1}] + b_O`], [null, m`= ∑_h W_O^h · z^h + b_O`]]);
  }
  const row = `[${head},${pos}]`;
  const [weights, scores, dots, q, k, v, z] = await view.get(
    tensor(view, 'attn.pattern', row), tensor(view, 'attn.attn_scores', row), tensor(view, 'attn.dot', row),
    tensor(view, 'attn.q', `[${pos},${head}]`), tensor(view, 'attn.k', `[:,${head}]`), tensor(view, 'attn.v', `[:,${head}]`), tensor(view, 'attn.z', `[${pos},${head}]`));
  const key = weights.indexOf(Math.max(...weights));
  const more = (parts, all) => series(parts.length < all ? [...parts, sign('…')] : parts);
  const product = (a, b) => m`${fixed(a, 3)} · ${fixed(b, 3)}`;
  const score = compact(scores[key]);
  const allowed = scores.filter((value) => value !== null);
  const strongest = weights.map((_, j) => j).filter((j) => weights[j] > 0).sort((a, b) => weights[b] - weights[a]).slice(0, 3);
  return formula({
    dot: [
      [m`q_${pos} · k_${key}`, m`= ∑_c q_{${pos},c} · k_{${key},c}`],
      [null, m`≈ ${more([0, 1].slice(0, size).map((c) => product(q[c], k[key][c])), size)}`],
      [null, m`≈ ${compact(dots[key])}`],
    ],
    scaled: [
      [m`s_{${pos},${key}}`, m`= \frac{q_${pos} · k_${key}}{\sqrt{d_k}}`],
      [null, m`≈ \frac{${compact(dots[key])}}{\sqrt{${size}}}`],
      [null, m`≈ ${score}`],
    ],
    masked: [[m`s_{i,j}`, m`= −∞ ${name(` ${t('card.attn.where')} `)} j > i`], [m`s_{${pos},${key}}`, m`≈ ${score}`]],
    softmax: [
      [m`a_{i,j}`, m`= \frac{e^{s_{i,j}}}{∑_j e^{s_{i,j}}}`],
      [m`a_{${pos},${key}}`, m`≈ \frac{e^${score}}{${more(allowed.slice(0, 3).map((value) => m`e^${compact(value, 3)}`), allowed.length)}}`],
      [null, m`≈ ${fixed(weights[key], 3)}`],
    ],
    z: [
      [m`z_{i,c}`, m`= ∑_j a_{i,j} · v_{j,c}`],
      [m`z_{${pos},0}`, m`≈ ${more(strongest.map((j) => product(weights[j], v[j][0])), weights.filter((weight) => weight > 0).length)}`],
      [null, m`≈ ${fixed(z[0], 3)}`],
    ],
  }[frame.part]);
}

export async function attention(view) {
  const { frame, trace, t, rich, pos, depth, label, head } = view;
  const lead = el('p', { class: 'card-lead' }, rich(`card.attn.lead.${frame.part}`, {
    pos, token: label, head, d_head: trace.model.d_head, root: compact(Math.sqrt(trace.model.d_head), 3), d_model: trace.model.d_model, count: trace.model.n_heads,
  }));
  if (depth === 'formula') {
    const noted = ['dot', 'scaled', 'softmax'].includes(frame.part);
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
