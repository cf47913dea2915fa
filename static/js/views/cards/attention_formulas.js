/** The formulas of Attention with the numbers of one head, one query and the key it weighs most. */

import { compact, fixed } from '../../format.js';
import { formula, m, name, series, sign } from '../../mathml.js';
import { divisorOf } from '../../scores.js';
import { byWeight } from './attention_map.js';

const SHOWN = 3; // terms of a long sum

const more = (parts, all) => series(parts.length < all ? [...parts, sign('…')] : parts);
const product = (a, b) => m`${fixed(a, 3)} · ${fixed(b, 3)}`;

/** Whether a model turns q and k by their positions before they meet. */
export const isTurned = (trace, at) => trace.points.some(({ name: point }) => point === at('attn.rot_q'));

export async function formulas({ frame, trace, pos, head, t, at, get }) {
  const { d_head: size, n_heads: count, norm, attention_bias: biased } = trace.model;
  const made = (product, bias) => (biased ? m`= ${product} + ${bias}` : m`= ${product}`);
  if (frame.part === 'qkv') {
    const reads = () => (norm === 'pre' ? m`"LayerNorm"(x)` : m`x`);
    return formula([[m`q`, made(m`W_Q · ${reads()}`, m`b_Q`)], [m`k`, made(m`W_K · ${reads()}`, m`b_K`)], [m`v`, made(m`W_V · ${reads()}`, m`b_V`)]]);
  }
  if (frame.part === 'out') {
    return formula([[m`"Attention"`, made(m`W_O · [z^0; …; z^${count - 1}]`, m`b_O`)], [null, made(m`∑_h W_O^h · z^h`, m`b_O`)]]);
  }
  const turned = isTurned(trace, at) ? 'rot_' : '';
  const [weights, scores, dots, q, k, v, z] = await get(
    ...['pattern', 'attn_scores', 'dot'].map((point) => at(`attn.${point}[${head},${pos}]`)),
    at(`attn.${turned}q[${pos},${head}]`), at(`attn.${turned}k[:,${head}]`), at(`attn.v[:,${head}]`), at(`attn.z[${pos},${head}]`));
  const strongest = byWeight(weights).filter((j) => weights[j] > 0);
  const [key] = strongest;
  const score = compact(scores[key]);
  const { kind, rooted, times } = divisorOf(trace.model, frame.layer);
  const divided = (product, root) => (kind === 'none' ? product
    : m`\frac{${product}}{${!rooted ? m`${times}` : times > 1 ? m`${times} · ${root}` : root}}`);
  const allowed = scores.filter((value) => value !== null);
  return formula({
    dot: [
      [m`q_${pos} · k_${key}`, m`= ∑_c q_{${pos},c} · k_{${key},c}`],
      [null, m`≈ ${more([0, 1].slice(0, size).map((c) => product(q[c], k[key][c])), size)}`],
      [null, m`≈ ${compact(dots[key])}`],
    ],
    scaled: [
      [m`s_{${pos},${key}}`, m`= ${divided(m`q_${pos} · k_${key}`, m`\sqrt{d_k}`)}`],
      [null, m`≈ ${divided(m`${compact(dots[key])}`, m`\sqrt{${size}}`)}`],
      ...(kind === 'none' ? [] : [[null, m`≈ ${score}`]]),
    ],
    masked: [[m`s_{i,j}`, m`= −∞ ${name(` ${t('card.attn.where')} `)} j > i`], [m`s_{${pos},${key}}`, m`≈ ${score}`]],
    softmax: [
      [m`a_{i,j}`, m`= \frac{e^{s_{i,j}}}{∑_j e^{s_{i,j}}}`],
      [m`a_{${pos},${key}}`, m`≈ \frac{e^${score}}{${more(allowed.slice(0, SHOWN).map((value) => m`e^${compact(value, 3)}`), allowed.length)}}`],
      [null, m`≈ ${fixed(weights[key], 3)}`],
    ],
    z: [
      [m`z_{i,c}`, m`= ∑_j a_{i,j} · v_{j,c}`],
      [m`z_{${pos},0}`, m`≈ ${more(strongest.slice(0, SHOWN).map((j) => product(weights[j], v[j][0])), strongest.length)}`],
      [null, m`≈ ${fixed(z[0], 3)}`],
    ],
  }[frame.part]);
}
