/** The division by the root of d_k, what enters each Attention, and how far a window reaches. */

import { curves, logMap } from '../../figures/curves.js';
import { el } from '../../dom.js';
import { count, fixed, percent } from '../../format.js';
import { has, rich, t } from '../../i18n.js';
import { modelName } from '../../words.js';
import { table } from '../cards/parts.js';
import { stacked } from '../stacked.js';
import { chart, PLACEMENTS, series, span, told } from './shared.js';

const DIVISORS = [['none', 'attn'], ['sqrt_d_head', 'ink'], ['sqrt_d_model', 'norm', 'dash']];
const NOTICEABLE = 0.01; // of a share, a spread or an influence

export const dotProducts = {
  id: 'dot-product-variance',
  guesses: ['grows', 'same', 'falls'],
  fields: [
    { name: 'd_heads', kind: 'list', value: '1, 2, 4, 8, 16, 32, 64, 128, 256, 512' }, { name: 'n_heads', kind: 'whole', value: 8 },
    { name: 'n_keys', kind: 'whole', value: 64 }, { name: 'samples', kind: 'whole', value: 512 }, { name: 'seeds', kind: 'whole', value: 8 }, { name: 'seed', kind: 'whole', value: 0 },
  ],
  show(reply) {
    const sizes = series(reply, 'd_head');
    const lines = (what) => DIVISORS.map(([divisor, colour, dash]) => ({ name: t(`lab.dot.by.${divisor}`), colour, dash, values: series(reply, `${divisor}.${what}`) }));
    const panel = (what, yTitle, more = {}) => ({ title: t(`lab.dot.${what}`), x: sizes, lines: lines(what), xKind: 'log', xTitle: t('lab.axis.d_head'), yTitle, yRange: [-0.03, 1.03], ...more });
    const columns = (whats) => whats.flatMap((what) => lines(what).map(({ name, values }) => [t('label.value', { name: t(`lab.dot.${what}`), value: name }), values]));
    const variance = [
      { name: t('lab.dot.measured'), colour: 'stream', values: series(reply, 'variance_mean') },
      { name: t('lab.dot.predicted'), colour: 'ink', dash: 'dash', values: series(reply, 'variance_predicted') },
    ];
    return [
      chart({
        name: t('lab.dot.figure'), file: 'addnorm-dot-variance', head: 'd_k', places: sizes,
        columns: [...variance.map(({ name, values }) => [name, values]), ...columns(['deviation'])],
        build: curves({ panels: [
          { title: t('lab.dot.variance'), x: sizes, lines: variance, xKind: 'log', yKind: 'log', xTitle: t('lab.axis.d_head'), yTitle: t('lab.axis.variance') },
          panel('deviation', t('lab.axis.deviation'), { yKind: 'log', yRange: undefined }),
        ] }),
      }),
      chart({
        name: t('lab.dot.softmax'), file: 'addnorm-dot-softmax', head: 'd_k', places: sizes, columns: columns(['largest_weight', 'entropy', 'saturated', 'jacobian_p10']),
        build: curves({ panels: [
          panel('largest_weight', t('lab.axis.share')), panel('saturated', t('lab.axis.share')), panel('jacobian_p10', t('lab.axis.norm'), { yRange: undefined, low: 0 }),
        ] }),
      }),
    ];
  },
  right(reply) {
    const [saturated, entropy] = ['none.saturated', 'none.entropy'].map((name) => series(reply, name).at(-1) - series(reply, name)[0]);
    if (series(reply, 'd_head').length < 2) return null;
    return saturated > NOTICEABLE ? 'falls' : entropy > NOTICEABLE ? 'grows' : 'same';
  },
  found(reply) {
    const sizes = series(reply, 'd_head');
    const at = sizes.includes(64) ? sizes.indexOf(64) : sizes.length - 1;
    const value = (name) => series(reply, name)[at];
    const params = {
      d: sizes[at], root: String(Number(Math.sqrt(sizes[at]).toFixed(3))), model: sizes[at] * reply.request.n_heads,
      none: fixed(value('none.deviation'), 2), head: fixed(value('sqrt_d_head.deviation'), 2), by_model: fixed(value('sqrt_d_model.deviation'), 2),
      largest: fixed(value('none.largest_weight'), 2), largest_head: fixed(value('sqrt_d_head.largest_weight'), 2),
      saturated: percent(value('none.saturated'), 0), saturated_head: percent(value('sqrt_d_head.saturated'), 0),
      entropy: fixed(value('none.entropy'), 2), entropy_head: fixed(value('sqrt_d_head.entropy'), 2), entropy_model: fixed(value('sqrt_d_model.entropy'), 2),
      p10: fixed(value('none.jacobian_p10'), 3), p10_head: fixed(value('sqrt_d_head.jacobian_p10'), 2),
    };
    const smallest = smallHeads(reply);
    return [
      rich('lab.dot.found', params), rich('lab.dot.softmax_found', params), rich('lab.dot.model_found', params),
      rich('lab.dot.caution', { max_none: fixed(value('none.jacobian_largest'), 2), max_head: fixed(value('sqrt_d_head.jacobian_largest'), 2) }),
      smallest && rich('lab.dot.small_found', smallest),
    ].filter(Boolean);
  },
};

/** Up to which size of a head the undivided rows respond more, if there is one; a size of 1 is the same divided. */
function smallHeads(reply) {
  const [none, head] = ['none', 'sqrt_d_head'].map((divisor) => series(reply, `${divisor}.jacobian_p10`));
  const last = none.findLastIndex((value, i) => value > head[i]);
  return last < 0 ? null : { crossing: series(reply, 'd_head')[last], crossing_none: fixed(none[last], 2), crossing_head: fixed(head[last], 2) };
}

const lengthsOf = (lengths) => (lengths === null ? '–' : t('lab.input.lengths', { low: fixed(lengths.smallest, 2), high: fixed(lengths.largest, 2), spread: lengths.spread === null ? '–' : fixed(lengths.spread, 3) }));
const NAMES = Object.fromEntries(PLACEMENTS);
const weightsName = (weights) => (weights === null ? t('lab.input.random') : NAMES[weights]);
const reading = ({ error, normed_by: norm }) => (error !== null ? t(has(`lab.input.error.${error}`) ? `lab.input.error.${error}` : 'lab.input.error')
  : norm === null ? t('lab.input.raw') : t('lab.input.through', { norm }));

/** What the figures leave out, where they do. */
function parts({ facts, series: { 'pair.score': { values } } }) {
  const shown = values.length;
  return [
    shown < facts.pairs ? t('lab.input.pairs_shown', { shown: count(shown), all: count(facts.pairs) }) : '',
    facts.models_left_out ? t('lab.input.models_left_out', { count: facts.models_left_out }) : '',
  ].filter(Boolean).join(' ');
}

export const inputNorms = {
  id: 'input-norms',
  guesses: ['one', 'root', 'any'],
  fields: [
    { name: 'text', kind: 'text', value: null }, { name: 'model', kind: 'model', value: null },
    { name: 'norm', kind: 'choice', value: 'post', options: PLACEMENTS }, { name: 'layer', kind: 'whole', value: 0 },
  ],
  show(reply) {
    const layers = series(reply, 'layer');
    const heads = (name) => {
      const rows = series(reply, name);
      return { x: rows.flatMap((row, layer) => row.map(() => layer)), values: rows.flat() };
    };
    const points = (name, title, colour) => ({ name: title, colour, only: 'markers', size: 8, ...heads(name) });
    const ofHead = (name, head) => series(reply, name).map((row) => row[head]);
    const count_ = series(reply, 'q.spread')[0].length;
    const perHead = (name, title, write) => Array.from({ length: count_ }, (_, head) => [`${title} H${head}`, ofHead(name, head), write]);
    const placesOf = { head: t('lab.axis.layer'), places: layers };
    return [
      chart({
        ...placesOf, name: t('lab.input.spreads'), file: 'addnorm-input-spreads',
        columns: [['|x|', series(reply, 'x.spread')], ...perHead('q.spread', '|q|'), ...perHead('k.spread', '|k|')],
        build: curves({ panels: [
          { title: t('lab.input.spread'), x: layers, low: 0, xTitle: t('lab.axis.layer'), yTitle: t('lab.axis.spread'), lines: [
            { name: t('lab.input.x'), colour: 'stream', values: series(reply, 'x.spread') }, points('q.spread', t('lab.input.q'), 'attn'), points('k.spread', t('lab.input.k'), 'ink')] },
          { title: t('lab.input.pairs', { layer: reply.request.layer }), x: series(reply, 'pair.cosine'), xTitle: t('lab.axis.pair_cosine'), yTitle: t('lab.axis.score'),
            lines: [{ name: t('lab.input.pair'), colour: 'attn', only: 'markers', values: series(reply, 'pair.score') }] },
        ] }),
      }),
      chart({
        ...placesOf, name: t('lab.input.equal'), file: 'addnorm-input-equal-keys',
        columns: [...perHead('score_cosine', t('lab.input.column.correlation')), ...perHead('equal_keys.same_top', t('lab.input.column.same_top'), (value) => percent(value, 0)), ...perHead('equal_keys.distance', t('lab.input.column.distance'))],
        build: curves({ panels: [
          { title: t('lab.input.same_top'), x: layers, xTitle: t('lab.axis.layer'), yTitle: t('lab.axis.share'), yRange: [-0.03, 1.03], lines: [points('equal_keys.same_top', t('lab.input.head'), 'attn')] },
          { title: t('lab.input.distance'), x: layers, xTitle: t('lab.axis.layer'), yTitle: t('lab.axis.distance'), low: 0, lines: [points('equal_keys.distance', t('lab.input.head'), 'attn')] },
        ] }),
      }),
      section('lab.input.firsts', table(
        ['model', 'norm', 'reads', 'raw_lengths', 'normalized', 'read_lengths'].map((key) => t(`lab.input.column.${key}`)),
        reply.first_inputs.map((first) => [modelName(first.model), NAMES[first.norm], reading(first), lengthsOf(first.raw),
          first.normalized === null ? '–' : t('lab.input.root', { length: fixed(first.normalized.mean, 3), root: fixed(first.root, 3) }), lengthsOf(first.read)]),
        t('lab.input.firsts'))),
      section('lab.input.tables', table(
        ['model', 'weights', 'rows', 'mean', 'spread'].map((key) => t(`lab.input.column.${key}`)),
        reply.embeddings.map(({ model, weights, rows, lengths }) => [modelName(model), weightsName(weights), count(rows), fixed(lengths.mean, 2), fixed(lengths.spread, 3)]),
        t('lab.input.tables'))),
    ];
  },
  right(reply) {
    const normed = reply.first_inputs.some(({ normalized }) => normalized !== null);
    return normed && series(reply, 'q.spread').flat().some((spread) => spread > NOTICEABLE) ? 'root' : null;
  },
  found(reply) {
    const all = (name) => series(reply, name).flat().filter((value) => value !== null);
    const [correlation, same, distance] = ['score_cosine', 'equal_keys.same_top', 'equal_keys.distance'].map(all);
    if (!correlation.length || !same.length) return [rich('lab.input.short')];
    const [r, s, d] = [correlation, same, distance].map(span);
    return [
      rich('lab.input.found', { root: fixed(reply.facts.sqrt_d_model, 2) }),
      rich('lab.input.found_cosine', { low: fixed(r.low, 2), high: fixed(r.high, 2), same_low: percent(s.low, 0), same_high: percent(s.high, 0), distance_low: fixed(d.low, 2), distance_high: fixed(d.high, 2) }),
      parts(reply),
    ].filter(Boolean);
  },
};

const section = (key, node) => el('div', { class: 'lab-table' }, el('h3', {}, t(key)), el('div', { class: 'card-scroll', tabindex: '0', role: 'region', 'aria-label': t(key) }, stacked(node)));

export const reach = {
  id: 'reach',
  guesses: ['full', 'weak', 'tiny'],
  fields: [
    { name: 'n_ctx', kind: 'whole', value: 65 }, { name: 'radius', kind: 'whole', value: 8 }, { name: 'depths', kind: 'list', value: Array.from({ length: 24 }, (_, i) => i + 1).join(', ') },
    { name: 'init', kind: 'choice', value: 'pytorch', options: [['pytorch', 'PyTorch'], ['glorot', 'Glorot']] }, { name: 'seeds', kind: 'whole', value: 4 }, { name: 'seed', kind: 'whole', value: 0 },
  ],
  show(reply) {
    const depths = series(reply, 'depth');
    const positions = series(reply, 'pos');
    const first = (norm) => series(reply, `${norm}.influence`).map((row) => row[0]);
    const lines = PLACEMENTS.map(([norm, name]) => ({ name, colour: norm, values: first(norm).map((value) => value || null) }));
    const least = 10 ** Math.floor(Math.log10(Math.min(...PLACEMENTS.flatMap(([norm]) => series(reply, `${norm}.influence`).flat().filter((value) => value > 0)))));
    return [
      chart({
        name: t('lab.reach.figure'), file: 'addnorm-reach', head: t('lab.axis.depth'), places: depths,
        columns: PLACEMENTS.flatMap(([norm, name]) => [[name, first(norm)], [t('lab.reach.felt', { norm: name }), series(reply, `${norm}.felt`)]]),
        build: curves({ panels: [
          { title: t('lab.reach.first'), x: depths, lines, yKind: 'log', mark: reply.facts.first_depth, markName: t('lab.reach.mark', { first: reply.facts.first_depth }), xTitle: t('lab.axis.depth'), yTitle: t('lab.axis.influence') },
          { title: t('lab.reach.felt_title'), x: depths, low: 0, xTitle: t('lab.axis.depth'), yTitle: t('lab.axis.positions'), lines: PLACEMENTS.map(([norm, name]) => ({ name, colour: norm, values: series(reply, `${norm}.felt`) })) },
        ] }),
      }),
      ...PLACEMENTS.map(([norm, name]) => chart({
        name: t('lab.reach.map', { norm: name }), file: `addnorm-reach-${norm}`, head: t('lab.axis.depth'), places: depths,
        columns: positions.map((position) => [String(position), series(reply, `${norm}.influence`).map((row) => row[position])]),
        build: logMap({ values: series(reply, `${norm}.influence`), x: positions, y: depths, xTitle: t('lab.axis.position'), yTitle: t('lab.axis.depth'), least: Math.max(least, 1e-15), words: { depth: t('lab.axis.depth'), position: t('lab.axis.position') } }),
      })),
    ];
  },
  right(reply) {
    const at = series(reply, 'depth').indexOf(reply.facts.first_depth);
    if (at < 0) return null;
    const most = Math.max(...PLACEMENTS.map(([norm]) => series(reply, `${norm}.influence`)[at][0]));
    return most >= 0.1 ? 'full' : most >= NOTICEABLE ? 'weak' : 'tiny';
  },
  found(reply) {
    const { first_depth: first } = reply.facts;
    const at = series(reply, 'depth').indexOf(first);
    const params = { n: reply.request.n_ctx, w: reply.request.radius, first };
    if (at < 0) return [rich('lab.reach.bound', params)];
    const value = (norm) => told(series(reply, `${norm}.influence`)[at][0]);
    return [
      rich('lab.reach.bound', params), rich('lab.reach.found', { ...params, post: value('post'), pre: value('pre') }),
      rich('lab.reach.felt_found', { ...params, post: series(reply, 'post.felt')[at], pre: series(reply, 'pre.felt')[at] }),
    ];
  },
};
