/** Gradients at initialisation, and what depth does without skips or norms. */

import { curves } from '../../figures/curves.js';
import { fixed } from '../../format.js';
import { rich, t } from '../../i18n.js';
import { chart, PLACEMENTS, series, told } from './shared.js';

const CLEARLY_SMALLER = -0.25; // half way between theory's exponents, 0 and -0.5
const EXPLODED = 100; // times the length with everything in place
const ALIKE = 0.9; // cosine between positions

export const initGradients = {
  id: 'init-gradients',
  guesses: ['both', 'post', 'pre', 'neither'],
  fields: [
    { name: 'depths', kind: 'list', value: '2, 4, 8, 12, 16, 24' }, { name: 'd_model', kind: 'whole', value: 64 }, { name: 'n_ctx', kind: 'whole', value: 32 },
    { name: 'seeds', kind: 'whole', value: 20 }, { name: 'seed', kind: 'whole', value: 0 },
  ],
  show(reply) {
    const depths = series(reply, 'depth');
    const deepest = depths.indexOf(reply.facts.deepest);
    const layers = Array.from({ length: reply.facts.deepest }, (_, i) => i);
    const last = PLACEMENTS.flatMap(([norm, name]) => [
      { name, colour: norm, values: series(reply, `${norm}.last_mean`), low: series(reply, `${norm}.last_low`), high: series(reply, `${norm}.last_high`) },
      { name: t('lab.init.predicted', { norm: name }), colour: norm, dash: 'dash', values: series(reply, `${norm}.predicted`) },
    ]).map((line) => (line.low?.[0] === null ? { ...line, low: undefined, high: undefined } : line));
    const byLayer = PLACEMENTS.map(([norm, name]) => ({ name, colour: norm, values: series(reply, `${norm}.layers`)[deepest].slice(0, layers.length) }));
    return [
      chart({
        name: t('lab.init.last'), file: 'addnorm-init-gradients', head: t('lab.axis.depth'), places: depths, columns: last.map(({ name, values }) => [name, values]),
        half: true,
        build: curves({ panels: [
          { x: depths, lines: last, xKind: 'log', yKind: 'log', xTitle: t('lab.axis.depth'), yTitle: t('lab.axis.gradient') },
        ] }),
      }),
      chart({
        name: t('lab.init.layers', { depth: layers.length }), file: 'addnorm-init-gradients-blocks', head: t('lab.axis.layer'), places: layers, half: true,
        columns: byLayer.map(({ name, values }) => [name, values]),
        build: curves({ panels: [
          { x: layers, lines: byLayer, yKind: 'log', xTitle: t('lab.axis.layer'), yTitle: t('lab.axis.gradient') },
        ] }),
      }),
    ];
  },
  right(reply) {
    const shrinks = (norm) => reply.fit.find(({ y }) => y === `${norm}.last`)?.exponent < CLEARLY_SMALLER;
    if (!reply.fit.length) return null;
    return shrinks('post') ? (shrinks('pre') ? 'both' : 'post') : shrinks('pre') ? 'pre' : 'neither';
  },
  found(reply) {
    const fits = Object.fromEntries(reply.fit.map((fit) => [fit.y, fit]));
    if (!fits['post.last']?.low) return [];
    const numbers = (norm) => {
      const { exponent, low, high } = fits[`${norm}.last`];
      return { [norm]: fixed(exponent, 2), [`${norm}_low`]: fixed(low, 2), [`${norm}_high`]: fixed(high, 2) };
    };
    return [
      rich('lab.init.found', { ...numbers('post'), ...numbers('pre'), seeds: reply.request.seeds }),
      rich('lab.init.first', { ratio: fixed(reply.facts['pre.first_over_last'], 1), post: fixed(reply.facts['post.first_over_last'], 1), depth: reply.facts.deepest }),
      rich('lab.init.theory'),
      rich('lab.init.caution'),
    ];
  },
};

const DROPS = [['nothing', 'ink'], ['skip', 'stream'], ['norm', 'norm'], ['both', 'muted']];

export const depth = {
  id: 'depth',
  guesses: ['skip', 'norm', 'neither'],
  fields: [
    { name: 'norm', kind: 'choice', value: 'post', options: PLACEMENTS },
    { name: 'depths', kind: 'list', value: '2, 4, 8, 12, 16, 24' }, { name: 'd_model', kind: 'whole', value: 64 }, { name: 'seeds', kind: 'whole', value: 4 }, { name: 'seed', kind: 'whole', value: 0 },
  ],
  show(reply) {
    const drops = DROPS.filter(([drop]) => reply.request.drop.includes(drop));
    const lines = (what) => drops.map(([drop, colour]) => ({ name: t(`lab.depth.drop.${drop}`), colour, values: series(reply, `${drop}.${what}`) }));
    const columns = (what) => lines(what).map(({ name, values }) => [name, values]);
    const states = series(reply, 'state');
    const layers = series(reply, 'layer');
    return [
      chart({
        name: t('lab.depth.states'), file: 'addnorm-depth-states', head: t('lab.axis.state'), places: states,
        columns: ['length', 'similarity'].flatMap((what) => columns(what).map(([name, values]) => [t('label.value', { name: t(`lab.depth.${what}`), value: name }), values])),
        build: curves({ panels: [
          { title: t('lab.depth.length'), x: states, lines: lines('length'), yKind: 'log', xTitle: t('lab.axis.state'), yTitle: t('lab.axis.length') },
          { title: t('lab.depth.similarity'), x: states, lines: lines('similarity'), yRange: [-0.05, 1.05], xTitle: t('lab.axis.state'), yTitle: t('lab.axis.cosine') },
        ] }),
      }),
      chart({
        name: t('lab.depth.gradients'), file: 'addnorm-depth-gradients', head: t('lab.axis.layer'), places: layers, columns: columns('gradient'),
        build: curves({ panels: [
          { title: t('lab.depth.gradient', { depth: layers.length }), x: layers, lines: lines('gradient'), yKind: 'log', xTitle: t('lab.axis.layer'), yTitle: t('lab.axis.gradient') },
          { title: t('lab.depth.first'), x: series(reply, 'depth'), lines: lines('first_gradient'), xKind: 'log', yKind: 'log', xTitle: t('lab.axis.depth'), yTitle: t('lab.axis.gradient') },
        ] }),
      }),
    ];
  },
  right(reply) {
    if (reply.request.drop.length < 4) return null;
    const third = Math.min(3, reply.series.state.values.length - 1);
    const explodes = (drop) => series(reply, `${drop}.length`).at(-1) > EXPLODED * series(reply, 'nothing.length').at(-1);
    const alike = (drop) => series(reply, `${drop}.similarity`)[third] > Math.max(ALIKE, series(reply, 'nothing.similarity')[third]);
    if (explodes('norm') && alike('skip')) return 'norm';
    if (explodes('skip') && alike('norm')) return 'skip';
    return explodes('norm') || explodes('skip') || alike('norm') || alike('skip') ? null : 'neither';
  },
  found(reply) {
    if (reply.request.drop.length < 4) return [];
    const at = (name) => told(series(reply, name).at(-1));
    const third = Math.min(3, reply.series.state.values.length - 1);
    return [rich('lab.depth.found', {
      norm: t(`norm.name.${reply.request.norm}`), depth: series(reply, 'state').at(-1), third,
      length: at('nothing.length'), norm_length: at('norm.length'), norm_gradient: told(series(reply, 'norm.first_gradient').at(-1)),
      gradient: told(series(reply, 'nothing.first_gradient').at(-1)), skip_similarity: fixed(series(reply, 'skip.similarity')[third], 2),
      similarity: fixed(series(reply, 'nothing.similarity')[third], 2), last_similarity: fixed(series(reply, 'nothing.similarity').at(-1), 2), both_length: at('both.length'), both_gradient: told(series(reply, 'both.first_gradient').at(-1)),
    }), rich('lab.depth.caution')];
  },
};
