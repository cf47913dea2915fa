/**
 * Where two runs part: the chart over depth, the heads, and the predictions of one position. Each leads
 * to its step. Every number is the server's; knows no tensors.
 */

import { el, put } from '../../dom.js';
import { parting } from '../../figures/parting.js';
import { compact, fixed, MINUS, percent, visible } from '../../format.js';
import { t } from '../../i18n.js';
import { purge } from '../../plot.js';
import { figure, legend, startFigures, table } from '../cards/parts.js';
import { stationOf } from './walk.js';

export const MEASURES = ['relative', 'largest', 'mean'];

const stationName = ({ layer, slot }) => {
  const name = t(`river.${slot}`);
  return layer === null ? name : `${t('where.block', { block: layer })} · ${name}`;
};

/** The choice of what the bars show. */
function measureChoice(chosen, choose) {
  return el('fieldset', { class: 'compare-measures' }, el('legend', { class: 'sr-only' }, t('compare.measure')),
    MEASURES.map((name) => el('label', {},
      el('input', { type: 'radio', name: 'measure', value: name, checked: name === chosen, onchange: () => choose(name) }),
      el('span', {}, t(`compare.measure.${name}`)))));
}

/** `view`: {reply, stations, state, labels, frame, set}. */
export function drawParting(root, view) {
  const { reply, stations, state, labels, frame, set } = view;
  const measure = state.measure ?? MEASURES[0];
  const name = t('compare.depth.chart');
  const points = reply.difference.points;
  const cosine = (one) => (one.cosine ? fixed(one.cosine[state.position], 4) : '');
  const rows = (write, cos) => points.map((one) => [one.point, ...MEASURES.map((key) => write(one[key])), cos(one)]);
  const chart = figure({
    name, t, file: 'difference', caption: [t('compare.depth.caption'), ' ', legend('diverging', `${MINUS}1`, '+1')],
    build: parting({
      stations: stations.map((one) => ({ name: stationName(one), role: one.role, block: one.layer, value: one.difference[measure], cosines: one.difference.cosine })),
      labels, chosen: { station: stationOf(stations, frame), position: state.position },
      words: { value: t(`compare.measure.${measure}`), cosine: t('compare.cosine'), position: t('card.position_head'), block: t('compare.depth.block') },
    }),
    data: {
      columns: [t('compare.point'), ...MEASURES.map((key) => t(`compare.measure.${key}`)), t('compare.measure.cosine', { pos: state.position })],
      rows: rows((value) => compact(value), cosine), exact: rows((value) => value, (one) => one.cosine?.[state.position] ?? ''),
    },
    onClick: (event) => {
      const [{ x, y, data }] = event.points;
      const station = stations[x];
      set({ layer: station.frame.block, step: station.frame.key, ...(data.type === 'heatmap' ? { position: y } : {}) });
    },
    height: 200,
  });
  // The chart's way to the steps for those without a pointer.
  const list = el('ol', { class: 'compare-stations', 'aria-label': t('compare.depth.list') }, stations.map((station, i) => el('li', {}, el('button', {
    type: 'button', class: `station is-${station.role}`, title: stationName(station),
    'aria-current': stationOf(stations, frame) === i ? 'step' : null,
    onclick: () => set({ layer: station.frame.block, step: station.frame.key }),
  }, station.layer === null ? null : el('span', { class: 'sr-only' }, t('where.block_short', { block: station.layer }), ' '),
  el('span', {}, t(`compare.station.${station.slot}`)), ' ', el('b', { class: 'num' }, compact(station.difference[measure], 2))))));
  const focused = root.contains(document.activeElement) ? document.activeElement : null;
  const kept = focused?.name === 'measure' ? `input[value="${focused.value}"]` : null;
  const at = focused ? [...root.querySelectorAll('.station')].indexOf(focused) : -1;
  purge(root);
  put(root, measureChoice(measure, (value) => set({ measure: value })), chart, list);
  (kept ? root.querySelector(kept) : root.querySelectorAll('.station')[at])?.focus({ preventScroll: true });
  startFigures(root);
}

/** The distance of every head's patterns, as a table whose cells lead to the head. */
export function drawHeads(root, { reply, state, frame, set }) {
  const { heads } = reply.difference;
  const model = reply.runs[0].model;
  const at = (layer, head) => heads.find((one) => one.layer === layer && one.head === head);
  const shown = frame.kind === 'attention';
  const columns = Array.from({ length: model.n_heads }, (_, head) => head);
  const focused = root.contains(document.activeElement) ? document.activeElement.dataset.label : null;
  put(root, el('div', { class: 'card-scroll', tabindex: '0', role: 'region', 'aria-label': t('compare.heads') },
    el('table', { class: 'card-table compare-heads' },
      el('caption', { class: 'sr-only' }, t('compare.heads')),
      el('thead', {}, el('tr', {}, el('th', { scope: 'col' }, t('compare.heads.corner')), columns.map((head) => el('th', { scope: 'col', class: 'num' }, `H${head}`)))),
      el('tbody', {}, Array.from({ length: model.n_layers }, (_, layer) => el('tr', {},
        el('th', { scope: 'row', class: 'num' }, `L${layer}`),
        columns.map((head) => {
          const one = at(layer, head);
          if (!one) return el('td', {}, t('compare.none'));
          const here = shown && layer === frame.layer && head === state.head;
          return el('td', {}, el('button', {
            type: 'button', class: 'num', style: `--share: ${Math.round(one.mean * 100)}%`, data: { label: one.label },
            'aria-current': here ? 'true' : null,
            'aria-label': t('compare.heads.one', { label: one.label, mean: fixed(one.mean, 2), largest: fixed(one.largest, 2), query: one.query }),
            title: t('compare.heads.one', { label: one.label, mean: fixed(one.mean, 2), largest: fixed(one.largest, 2), query: one.query }),
            onclick: () => set({ layer, head, step: 'attn.softmax' }),
          }, fixed(one.mean, 2)));
        })))))));
  if (focused) root.querySelector(`[data-label="${focused}"]`)?.focus({ preventScroll: true });
}

/** How the next token's probabilities change at the chosen position. */
export function drawPredictions(root, { reply, state, labels }) {
  const { predictions, reason } = reply.difference;
  if (!predictions) {
    put(root, el('p', { class: 'card-hint' }, t(`compare.predictions.${reason}`)));
    return;
  }
  const here = predictions[state.position];
  const same = predictions.filter((one) => one.same_top).length;
  const names = reply.runs.map((run) => t(`norm.name.${run.model.norm}`));
  const signed = (value) => `${value > 0 ? '+' : ''}${percent(value, 2)}`;
  const title = t('compare.predictions.title', { pos: state.position, token: labels[state.position] });
  put(root,
    el('p', {}, t(here.same_top ? 'compare.predictions.same' : 'compare.predictions.other', { pos: state.position, token: labels[state.position], distance: fixed(here.distance, 3) }),
      ' ', t('compare.predictions.count', { same, all: predictions.length })),
    el('div', { class: 'card-scroll', tabindex: '0', role: 'region', 'aria-label': title },
      table([t('card.token_head'), ...names, t('compare.predictions.change')],
        here.tokens.map((one) => [visible(one.label), percent(one.first, 2), percent(one.second, 2), signed(one.change)]), title)));
}
