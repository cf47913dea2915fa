/** The formulas of Attention with the numbers of one head, one query and the key it weighs most. */

import { compact, fixed } from '../../format.js';
import { formula, m, name, series, sign } from '../../mathml.js';
import { byWeight } from './attention_map.js';

const SHOWN = 3; // terms of a long sum

const more = (parts, all) => series(parts.length < all ? [...parts, sign('…')] : parts);
const product = (a, b) => m`${fixed(a, 3)} · ${fixed(b, 3)}`;

export async function formulas({ frame, trace, pos, head, t, at, get }) {
  const { d_head: size, n_heads: count, norm } = trace.model;
  if (frame.part === 'qkv') {
    const reads = () => (norm === 'pre' ? m`"LayerNorm"(x)` : m`x`);
    return formula([[m`q`, m`= W_Q · ${reads()} + b_Q`], [m`k`, m`= W_K · ${reads()} + b_K`], [m`v`, m`= W_V · ${reads()} + b_V`]]);
  }
  if (frame.part === 'out') {
    return formula([[m`"Attention"`, m`= W_O · [z^0; …; z^${count - 1}] + b_O`], [null, m`= ∑_h W_O^h · z^h + b_O`]]);
  }
  const [weights, scores, dots, q, k, v, z] = await get(
    ...['pattern', 'attn_scores', 'dot'].map((point) => at(`attn.${point}[${head},${pos}]`)),
    at(`attn.q[${pos},${head}]`), at(`attn.k[:,${head}]`), at(`attn.v[:,${head}]`), at(`attn.z[${pos},${head}]`));
  const strongest = byWeight(weights).filter((j) => weights[j] > 0);
  const [key] = strongest;
  const score = compact(scores[key]);
  const allowed = scores.filter((value) => value !== null);
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
