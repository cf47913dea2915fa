/**
 * What q·k is divided by before the softmax: √d_head as a rule, but not in every model. Pure; knows no
 * page and no sentence.
 */

import { brief } from './format.js';

/**
 * The divisor of a block: {value, rooted, times, text, kind}. `value` is `times`, times the root of d_head
 * where it is `rooted`. `kind` is 'root', 'none' (nothing is divided) or 'layer' (the block's number,
 * counted from 1, is in it).
 */
export function divisorOf({ d_head: size, score_divisors: divisors }, layer) {
  const value = divisors[layer];
  const factor = [1, layer + 1].find((times) => value === times * Math.sqrt(size));
  const rooted = factor !== undefined;
  const times = factor ?? value;
  const text = rooted ? `${times > 1 ? times : ''}√${size}` : brief(times);
  return { value, rooted, times, text, kind: times > 1 ? 'layer' : rooted ? 'root' : 'none' };
}

/**
 * `scores` [query][key] as they are before the mask. The run masks as it scales: what the next step hides
 * (null) is divided here out of the dot products, so that this step can show it.
 */
export const unmasked = (scores, dots, { value }) => scores.map((row, i) => row.map((score, j) => score ?? dots[i][j] / value));
