/** Dimensions that hold far more of the stream than the others, named for each placement. */

import { el, put } from '../../dom.js';
import { percent } from '../../format.js';
import { rich, t } from '../../i18n.js';
import { stacked } from '../stacked.js';
import { extremes, placeOf } from './depth.js';
import { placeWords } from './overview.js';

const NEAREST = 3;

function line({ trace, dimension, share, largest, pos, states }, reply, choose) {
  const { points } = trace.stream.outliers;
  const most = share.indexOf(extremes(share)?.high);
  const peak = largest.indexOf(extremes(largest)?.high);
  if (most < 0 || peak < 0) return null;
  return el('tr', {},
    el('th', { scope: 'row' }, el('button', { type: 'button', class: 'quiet stream-dimension', 'aria-label': t('stream.outliers.choose', { dimension }), onclick: () => choose(dimension) }, t('stream.outliers.dimension', { dimension }))),
    el('td', { class: 'num' }, percent(share[most])), el('td', {}, placeWords(placeOf(trace, points[most]))), el('td', { class: 'num' }, `${states} / ${points.length}`),
    el('td', {}, t('stream.outliers.peak', { share: percent(largest[peak]), pos: pos[peak], token: reply.tokens[pos[peak]].label })));
}

function block(run, reply, set) {
  const { count, dimensions, least_states: least, points } = run.trace.stream.outliers;
  const choose = (dimension) => set({ direction: `dimension:${dimension}`, norm: run.norm });
  const listed = count ? dimensions.filter(({ outlier }) => outlier) : dimensions.slice(0, NEAREST);
  const heads = ['dimension_head', 'share', 'at', 'states', 'token'];
  const names = listed.map(({ dimension }) => dimension).join(', ');
  return el('div', { class: 'stream-outliers', data: { norm: run.norm } },
    el('h3', { data: { norm: run.norm } }, run.name),
    el('p', {}, count ? rich('stream.outliers.found', { count, names, least, of: points.length }) : rich('stream.outliers.none', { least, of: points.length })),
    el('div', { class: 'card-scroll', tabindex: '0', role: 'region', 'aria-label': t('stream.outliers.table', { name: run.name }) },
      stacked(el('table', { class: 'card-table' }, el('caption', { class: 'sr-only' }, t('stream.outliers.table', { name: run.name })),
        el('thead', {}, el('tr', {}, heads.map((head) => el('th', { scope: 'col' }, t(`stream.outliers.${head}`))))),
        el('tbody', {}, listed.map((one) => line({ ...one, trace: run.trace }, reply, choose)))))));
}

export function drawOutliers(root, { runs, reply, set }) {
  const { threshold } = reply.stream.outliers;
  const size = reply.model.d_model;
  if (size < 9) {
    put(root, el('p', {}, t('stream.outliers.too_few', { size })));
    return;
  }
  put(root, el('p', {}, rich('stream.outliers.definition', { size, threshold: percent(threshold) })), el('div', { class: 'stream-pair' }, runs.map((run) => block(run, reply, set))));
}
