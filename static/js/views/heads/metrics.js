/** The figures by which heads are told apart: names, definitions, sources, order. Knows no element. */

import { fixed, NOT_FINITE } from '../../format.js';
import { t } from '../../i18n.js';

/** Of the text, in the order of the list. */
export const METRICS = ['induction', 'previous_token', 'next_token', 'self', 'first_token', 'same_token', 'special_share', 'entropy', 'mean_distance'];
/** Of repeated random tokens, where that test was run. */
export const TESTED = ['test_induction', 'test_previous_token'];
/** What a head may be called after. */
export const NAMES = ['induction', 'previous_token', 'next_token', 'self', 'first_token', 'same_token', 'special_share'];

export const FORMULAS = {
  induction: 'Σ a[i, j+1], id_j = id_i, j+1 ≤ i, j < i', previous_token: 'a[i, i−1], i ≥ 1', next_token: 'a[i, i+1]', self: 'a[i, i]',
  first_token: 'a[i, 0], i ≥ 1', same_token: 'Σ a[i, j], j ≠ i, id_j = id_i', special_share: 'Σ a[i, j], j ∈ S', entropy: 'H(a[i]) / ln m', mean_distance: 'Σ a[i, j] · |i − j|',
};
const DECIMALS = { mean_distance: 1 };
const LOW_FIRST = new Set(['entropy']);

export const metricName = (name) => t(`heads.metric.${name}`);

/** Value and chance of a head, of the text or of the test; null where there is none. */
export function figureOf(head, metric, tested) {
  if (!TESTED.includes(metric)) return head.metrics[metric] ?? null;
  return tested?.get(head.label)?.scores[metric.slice('test_'.length)] ?? null;
}

/** A figure of a metric as it is printed everywhere. */
export const printed = (metric, value) => (value === null || value === undefined ? NOT_FINITE : fixed(value, DECIMALS[metric] ?? 2));

/** Heads in the chosen order; heads without the figure come last. */
export function ordered(heads, { metric, sort }, tested) {
  if (sort !== 'value') return heads;
  const sign = LOW_FIRST.has(metric) ? 1 : -1;
  const value = (head) => figureOf(head, metric, tested)?.value ?? null;
  return [...heads].sort((a, b) => {
    const [x, y] = [value(a), value(b)];
    if (x === null || y === null) return (x === null) - (y === null);
    return sign * (x - y);
  });
}

/** Heads of one block, and of one name (`any`: with a name at all, `none`: without). */
export const filtered = (heads, { only, named }) => heads.filter((head) =>
  (only === null || head.layer === only)
  && (named === null || (named === 'none' ? head.names.length === 0 : named === 'any' ? head.names.length > 0 : head.names.includes(named))));

/** The head to open where none was asked for: the clearest of those that copy or look back, else the first. */
export function clearest(heads) {
  const excess = (head, name) => (head.names.includes(name) ? head.metrics[name].value - head.metrics[name].chance : 0);
  for (const name of ['induction', 'previous_token', 'same_token', 'next_token']) {
    const best = heads.reduce((a, b) => (excess(b, name) > excess(a, name) ? b : a), heads[0]);
    if (excess(best, name) > 0) return best;
  }
  return heads[0];
}
