/** The card of Attention, for one head: q, k, v; the maps (attention_map.js); z; all heads joined by W_O. */

import { sharedRange } from '../../colour.js';
import { el } from '../../dom.js';
import { compact, fixed, shorten } from '../../format.js';
import { decodeBytes, thumbnail } from '../../heat.js';
import { divisorOf } from '../../scores.js';
import { formulas, isTurned } from './attention_formulas.js';
import { byWeight, dot, masked, scaled, softmax, total } from './attention_map.js';
import { bars, facts, formulaBox, leading, note, section } from './parts.js';
import { lengthOf } from './run.js';
import { stripsBlock } from './strips.js';

const MIXED = 4; // values that have a strip of their own

const headLabel = (view, h) => `L${view.frame.layer}H${h}`;

/** All heads as small pictures; choosing one is choosing the head of the page. */
async function headGrid(view) {
  const { trace, t, at, get, head, set } = view;
  const { n_heads: count } = trace.model;
  const n = trace.tokens.length;
  const [base64] = await get({ points: at('attn.pattern'), encoding: 'base64', dtype: 'uint8' });
  const bytes = decodeBytes(base64); // [head, query, key]
  return el('div', { class: 'card-heads', role: 'group', 'aria-label': t('card.attn.heads', { count }) },
    Array.from({ length: count }, (_, h) => el('button', {
      type: 'button', class: 'card-head', 'aria-pressed': String(h === head), data: { keep: `head-${h}` },
      'aria-label': t('card.attn.head', { head: h, label: headLabel(view, h) }), onclick: () => set({ head: h }),
    }, thumbnail(bytes.subarray(h * n * n, (h + 1) * n * n), n, null), el('span', { class: 'num' }, headLabel(view, h)))));
}

const strips = (view, point, name, rows, more = {}) => stripsBlock({
  rows: rows.map((row) => ({ role: 'attn', ...row })), name, dim: null, t: view.t, file: `${view.at(point)}-${view.pos}-${view.head}`,
  note: rows.length > 1 ? view.t('card.add.one_range') : null, ...more,
});

async function qkv(view) {
  const { t, pos, head, label: token, at } = view;
  const points = ['q', 'k', 'v'].map((one) => at(`attn.${one}[${pos},${head}]`));
  const values = await view.get(...points);
  return strips(view, 'attn.qkv', t('card.attn.qkv_figure', { pos, token, head }),
    ['Query q', 'Key k', 'Value v'].map((name, i) => ({ name, point: points[i], values: values[i] })));
}

/** The values that were mixed, each as large as its share lets it be, and what came out. */
async function mixed(view) {
  const { t, pos, head, labels, label: token, at } = view;
  const [values, weights, z] = await view.get(at(`attn.v[:,${head}]`), at(`attn.pattern[${head},${pos}]`), at(`attn.z[${pos},${head}]`));
  const order = byWeight(weights).filter((j) => weights[j] > 0);
  const shown = order.length > MIXED + 1 ? MIXED : order.length;
  const others = order.slice(shown);
  const rows = order.slice(0, shown).sort((a, b) => a - b).map((j) => {
    const weight = fixed(weights[j], 3);
    return { name: `${weight} · v ${shorten(labels[j], 8)}`, point: `${weight} · ${at(`attn.v[${j},${head}]`)}`, values: values[j].map((value) => value * weights[j]) };
  });
  if (others.length) rows.push({ name: t('card.attn.rest', { count: others.length }), values: z.map((_, c) => total(others.map((j) => weights[j] * values[j][c]))) });
  rows.slice(1).forEach((row) => { row.sign = '+'; });
  rows.push({ name: 'z', point: at(`attn.z[${pos},${head}]`), sign: '=', values: z });
  return strips(view, 'attn.z', t('card.attn.z_figure', { pos, token, head }), rows);
}

/** All heads joined into one vector of d_model, W_O, and the same sum made head by head. */
async function joined(view) {
  const { t, trace, pos, label: token, frame, depth, at } = view;
  const { n_heads: count, d_head: size, d_model: whole } = trace.model;
  const made = `${frame.step.output}[${pos}]`;
  const [z, results, out] = await view.get(at(`attn.z[${pos}]`), at(`attn.result[${pos}]`), made);
  const sums = out.map((_, i) => total(results.map((head) => head[i])));
  const difference = out.map((value, i) => value - sums[i]);
  const lengths = results.map((vector) => Math.hypot(...vector));
  const title = t('card.attn.joined', { count, size, whole });
  const bar = el('div', { class: 'card-joined', 'aria-hidden': 'true' },
    z.map((_, h) => el('span', { class: h === view.head ? 'is-chosen' : null }, count <= 8 ? `H${h}` : '')));
  return [
    el('p', { class: 'card-joined-title num' }, title),
    el('div', { class: 'card-joined-box' },
      strips(view, 'attn.z', title, [{ name: t('card.attn.joined_z'), point: at(`attn.z[${pos}]`), values: z.flat() }], { over: bar })),
    strips(view, 'attn_out', t('card.attn.heads_figure', { pos, token, count }), [
      { name: t('card.attn.sum_of_heads'), point: `∑ ${at(`attn.result[${pos}]`)}`, values: sums },
      { name: t('card.attn.difference'), role: 'weight', sign: '+', values: difference },
      { name: trace.model.norm === 'pre' ? 'Attention(LayerNorm(x))' : 'Attention(x)', point: made, sign: '=', values: out, length: lengthOf(trace, frame.step.output, pos) },
    ], { range: sharedRange(out, sums) }),
    note(t(`card.attn.difference_note${ofBias(trace)}`, { largest: compact(Math.max(...difference.map(Math.abs)), 3) })),
    depth === 'numbers' ? section(t('card.attn.lengths'), bars(lengths.map((length, h) => ({
      label: headLabel(view, h), value: compact(length), share: length / Math.max(...lengths, 1e-30), marked: h === view.head,
      action: () => view.set({ head: h }), description: t('card.attn.head', { head: h, label: headLabel(view, h) }),
    })), 'attn')) : null,
  ];
}

const ofBias = ({ model }) => (model.attention_bias ? '' : '.no_bias');

const BODIES = { qkv, dot, scaled, masked, softmax, z: mixed, out: joined };

export async function attention(view) {
  const { frame, trace, t, rich, pos, depth, label: token, head } = view;
  const { d_head, d_model, n_heads: count, causal } = trace.model;
  const divisor = divisorOf(trace.model, frame.layer);
  const variant = { scaled: divisor.kind === 'root' ? '' : `.${divisor.kind}`, out: ofBias(trace) }[frame.part] ?? '';
  const lead = leading(rich(`card.attn.lead.${frame.part}${variant}`, { pos, token, head, d_head, d_model, count, divisor: divisor.text, root: compact(Math.sqrt(d_head), 3) }));
  if (depth === 'formula') {
    const noted = ['dot', 'scaled', 'softmax'].includes(frame.part);
    return [lead, formulaBox(await formulas(view), noted ? t('card.attn.formula_note', { head, pos, token }) : null),
      frame.part === 'scaled' && variant ? null : note(t(`card.attn.formula_${frame.part}${frame.part === 'dot' && isTurned(trace, view.at) ? '.rotary' : ''}`, { d_head, d_model, count }))];
  }
  const [grid, body] = await Promise.all([headGrid(view), BODIES[frame.part](view)]);
  return [lead, grid, body, depth === 'numbers' ? facts([
    { label: t('card.attn.heads_fact'), value: `${count} × ${d_head} = ${d_model}`, termId: 'head' },
    { label: 'd_k', value: String(d_head), termId: 'scaling' },
    { label: t('card.attn.mask_fact'), value: t(causal ? 'card.attn.causal' : 'card.attn.not_causal'), termId: 'causal_mask' },
  ], 'attn') : null];
}
