/**
 * How a head's numbers are laid out for the eye: special tokens left out, pieces of one character joined,
 * later positions blank. Pure; what it is given is never changed.
 */

import { visible } from '../../format.js';

/** Shares of a row add up to 1 and may be joined; scores and lengths may not. */
export const KINDS = { dot: 'score', scaled: 'score', masked: 'score', softmax: 'share', lengths: 'length', norm_based: 'length' };

/** Positions that stand together: the pieces of one character where `merge` is set, else each alone. */
export function groupsOf(tokens, { hide = false, merge = false } = {}) {
  const groups = [];
  for (const token of tokens) {
    if (hide && token.special) continue;
    const last = groups.at(-1);
    const follows = merge && token.part > 1 && last && last.at(-1) === token.index - 1 && tokens[last.at(-1)].part === token.part - 1;
    if (follows) last.push(token.index);
    else groups.push([token.index]);
  }
  return groups;
}

const labelOf = (tokens, group) => (group.length > 1 ? visible(tokens[group[0]].text) : tokens[group[0]].label);

const sum = (numbers) => numbers.reduce((total, value) => total + value, 0);

/**
 * `values` [query][key] of a stage as they are shown: `{values, labels, positions, renormalised}`.
 * Of joined pieces, keys are added and queries averaged, so that rows still add up to 1. Where special
 * tokens are left out, each row of shares is divided by what is left of it. `causal`: later keys, which no
 * row may read, are blank, as scores are that the mask hides.
 */
export function displayed(values, tokens, { stage, hide = false, merge = false, causal = false }) {
  const kind = KINDS[stage];
  const shares = kind === 'share';
  const groups = groupsOf(tokens, { hide, merge: merge && shares });
  const hidden = (query, key) => causal && kind !== 'score' && key[0] > query.at(-1);
  const cell = (query, key) => {
    if (hidden(query, key)) return null;
    if (!shares) return values[query[0]][key[0]];
    return sum(query.map((i) => sum(key.map((j) => values[i][j] ?? 0)))) / query.length;
  };
  const rows = groups.map((query) => {
    const row = groups.map((key) => cell(query, key));
    if (!shares || !hide) return row;
    const left = sum(row.map((value) => value ?? 0));
    return row.map((value) => (value === null || left === 0 ? null : value / left));
  });
  return {
    values: rows,
    labels: groups.map((group) => labelOf(tokens, group)),
    positions: groups.map(([first]) => first),
    at: (position) => { const i = groups.findIndex((group) => group.includes(position)); return i < 0 ? null : i; },
    renormalised: shares && hide && groups.length < tokens.length,
  };
}

const DECADES = 4; // what is smaller than a ten-thousandth of the range has its lowest colour

/** Place of a value on a range of which the colours go by powers of ten. */
export const logarithmic = (range) => (value) =>
  (value > 0 ? range * Math.max(0, Math.min(1, 1 + Math.log10(value / range) / DECADES)) : 0);
export const lowest = (range) => range / 10 ** DECADES;

/** A square map of bytes with at most `side` cells to an edge; a cell shows the largest of those it stands for. */
export function pooled(bytes, size, side = 96) {
  const factor = Math.ceil(size / side);
  if (factor <= 1) return { bytes, size, factor: 1 };
  const small = Math.ceil(size / factor);
  const result = new Uint8Array(small * small);
  for (let i = 0; i < size; i += 1) {
    const row = Math.floor(i / factor) * small;
    for (let j = 0; j < size; j += 1) {
      const at = row + Math.floor(j / factor);
      const value = bytes[i * size + j];
      if (value > result[at]) result[at] = value;
    }
  }
  return { bytes: result, size: small, factor };
}

/** Where key j stands for query i, in the first of these that is true. `first`: the one to prefer. */
export function relation(tokens, i, j, first = null) {
  const is = {
    self: j === i,
    induction: j >= 1 && j <= i && j - 1 < i && tokens[j - 1].id === tokens[i].id && j !== i,
    previous_token: j === i - 1,
    next_token: j === i + 1,
    same_token: j !== i && tokens[j].id === tokens[i].id,
    special_share: tokens[j].special,
    first_token: j === 0,
  };
  if (first && is[first]) return first;
  return Object.keys(is).find((name) => is[name]) ?? 'other';
}
