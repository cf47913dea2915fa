/**
 * Where the points of a run stand on the axis of depth, and what its summary says of each.
 * Pure: a reply of POST /trace in, numbers of that reply out; knows no page and does no arithmetic on them.
 *
 * Five places for each block: what Pre-LN's first norm reads, Add ①, the norm after it, Add ②, the norm
 * after that. Before the blocks the embeddings count backwards from 0, where block 0 begins.
 */

import { canonical, normReading } from '../cards/run.js';

const PER_BLOCK = 5;

/** What is drawn over depth: `of` a list of the summary, `field` of its entries; `kind` as in colour.js. */
export const QUANTITIES = {
  length: { of: 'states', field: 'length', kind: 'magnitude' },
  write: { of: 'writes', field: 'length', kind: 'magnitude' },
  ratio: { of: 'writes', field: 'ratio', kind: 'magnitude' },
  cosine: { of: 'writes', field: 'cosine', kind: 'diverging' },
  mean: { of: 'norms', field: 'mean', kind: 'diverging' },
  variance: { of: 'norms', field: 'var', kind: 'magnitude' },
  scale: { of: 'norms', field: 'scale', kind: 'magnitude' },
  eps: { of: 'norms', field: 'eps_share', kind: 'magnitude', log: true },
};

const SLOTS = { resid_pre: ['start', 0], attn_out: ['attn', 2], resid_mid: ['add1', 2], mlp_out: ['mlp', 4], resid_post: ['add2', 4] };
const NORM_SLOTS = { pre: { ln1: 1, ln2: 3 }, post: { ln1: 3, ln2: 5 } };
const EMBEDDING = ['embed_ln', 'type_embed', 'pos_embed'];

/** {x, slot, layer} of a point or a norm's name; `slot` names the place, `layer` is null outside the blocks. */
export function placeOf({ model, points }, point) {
  const inBlock = /^blocks\.(\d+)\.(\w+)/.exec(point);
  if (!inBlock) {
    if (point.startsWith('ln_final')) return { x: PER_BLOCK * model.n_layers + 1, slot: 'ln_final', layer: null };
    const present = EMBEDDING.filter((name) => points.some((one) => one.name.startsWith(name)));
    const back = present.findIndex((name) => point.startsWith(name));
    return { x: -1 - back, slot: present[back], layer: null };
  }
  const [, number, name] = inBlock;
  const layer = Number(number);
  const norm = NORM_SLOTS[model.norm][name];
  const [placed, offset] = norm ? [name, norm] : SLOTS[name];
  const slot = placed === 'add2' && model.wiring === 'parallel' ? 'add' : placed;
  return { x: PER_BLOCK * layer + offset, slot, layer: slot === 'start' && layer === 0 ? null : layer };
}

const lists = {
  states: (trace) => trace.stream.outliers.points.map((point) => trace.stream.states.find((state) => state.point === point)),
  writes: (trace) => trace.stream.writes,
  norms: (trace) => trace.layer_norms.map((norm) => ({ ...norm, point: norm.name })),
};

/** A quantity of one run over depth: [{point, x, slot, layer, values}], in order; `values` by position. */
export function seriesOf(trace, quantity) {
  const { of, field } = QUANTITIES[quantity];
  return lists[of](trace)
    .map((entry) => ({ point: entry.point, ...placeOf(trace, entry.point), values: entry[field] }))
    .sort((a, b) => a.x - b.x);
}

/** Every distinct state of the stream with its place. */
export const statesOf = (trace) => seriesOf(trace, 'length');

/** The state that `point` names in this run; in another placement the last one before the same place. */
export function stateAt(trace, point) {
  const states = statesOf(trace);
  if (!point) return states.at(-1);
  const name = trace.points.some((one) => one.name === point) ? canonical(trace, point) : point;
  const exact = states.find((state) => canonical(trace, state.point) === name);
  if (exact) return exact;
  const readable = /^(blocks\.\d+\.(resid_pre|resid_mid|resid_post|attn_out|mlp_out|ln[12]|out)|ln_final)/.test(point);
  if (!readable) return states.at(-1);
  // Only in Post-LN does a block's norm stand on the stream: such a name comes from there.
  const { x } = placeOf({ ...trace, model: { ...trace.model, norm: 'post' } }, point.replace(/\.out$/, (end) => (/ln/.test(point) ? end : '.resid_post')));
  return states.findLast((state) => state.x <= x) ?? states[0];
}

/** The depths that a page with these runs can show: the states of `trace`, and a final LayerNorm that another run alone has. */
export function stopsOf(trace, runs) {
  const states = statesOf(trace);
  const last = runs.map((run) => statesOf(run.trace).at(-1)).find(({ slot }) => slot === 'ln_final');
  return last && states.at(-1).slot !== 'ln_final' ? [...states, last] : states;
}

/** The depth that `point` names among these stops; without one, the last. */
export function stopAt(trace, runs, point) {
  const last = stopsOf(trace, runs).at(-1);
  return !point || canonicalEnd(point) === canonicalEnd(last.point) ? last : stateAt(trace, point);
}

const canonicalEnd = (point) => point.replace(/\.out$/, '');

/** The state of another run at the depth of `x`. */
export const stateNear = (trace, x) => statesOf(trace).findLast((state) => state.x <= x) ?? statesOf(trace)[0];

/** What the summary says of one state: what was added to make it, and the norm that made it or, if none did, reads it. */
export function aroundState(trace, state) {
  const name = canonical(trace, state.point);
  const made = trace.layer_norms.find((norm) => canonical(trace, `${norm.name}.out`) === name);
  return {
    writes: trace.stream.writes.filter((write) => canonical(trace, write.sum) === name),
    norm: made ?? normReading(trace, state.point) ?? null,
    isMadeByNorm: made !== undefined,
  };
}

/** Smallest and largest of the finite among `values`, or null. */
export function extremes(values) {
  const finite = values.filter(Number.isFinite);
  return finite.length ? { low: Math.min(...finite), high: Math.max(...finite) } : null;
}
