/** What the stream does over depth: a quantity of both placements as curves and maps, and the numbers at one depth. */

import { sharedRange } from '../../colour.js';
import { $, el, put } from '../../dom.js';
import { depthCurves } from '../../figures/depth.js';
import { depthMaps } from '../../figures/depth_maps.js';
import { compact } from '../../format.js';
import { rich, t } from '../../i18n.js';
import { purge, refresh } from '../../plot.js';
import { figure, legend, startFigures, table } from '../cards/parts.js';
import { aroundState, extremes, QUANTITIES, seriesOf, stateNear, stopsOf } from './depth.js';

let cursor = null; // x of the chosen depth, read by the figures whenever they are drawn

export const placeWords = ({ slot, layer }) => (layer === null ? t(`stream.place.${slot}`) : t('stream.place.in_block', { layer, place: t(`stream.place.${slot}`) }));
const shortPlace = ({ slot, layer }) => (layer === null ? t(`stream.place.short.${slot}`) : `${layer} · ${t(`stream.place.short.${slot}`)}`);

/** The bands of the axis of depth and its ticks. */
export const axisOf = ({ model }) => ({
  blocks: Array.from({ length: model.n_layers }, (_, layer) => ({ name: t('stream.block', { layer }), short: String(layer), from: 5 * layer + 0.5, to: 5 * layer + 5.5 })),
  ticks: Array.from({ length: model.n_layers }, (_, layer) => [
    ...(model.wiring === 'parallel' ? [] : [{ x: 5 * layer + 2, text: t('stream.place.short.add1') }]), { x: 5 * layer + 4, text: t(model.wiring === 'parallel' ? 'stream.place.short.add' : 'stream.place.short.add2') },
  ]).flat(),
});

/** A run's summary as the sentences need it: first, last, smallest and largest along the depth at one token. */
function along(points, pos) {
  const values = points.map((point) => point.values[pos]);
  const found = extremes(values);
  if (!found) return null;
  const at = (value) => placeWords(points[values.indexOf(value)]);
  return {
    first: compact(values[0]), last: compact(values.at(-1)), first_at: placeWords(points[0]), last_at: placeWords(points.at(-1)), low: compact(found.low), high: compact(found.high), high_at: at(found.high), low_at: at(found.low),
    grew: values.at(-1) > values[0],
  };
}

/** What this run shows, in one sentence for each placement. */
function found(runs, quantity, { pos, token }) {
  return runs.map(({ norm, name, trace }) => {
    const points = seriesOf(trace, quantity);
    const at = { name, pos, token };
    if (quantity === 'length' && norm === 'post') {
      const [sums, outs] = [(point) => point.slot.startsWith('add'), (point) => point.slot.startsWith('ln')].map((keep) => along(points.filter(keep), pos));
      return sums && outs && rich('stream.found.length.post', { ...at, count: trace.layer_norms.filter((one) => /^blocks/.test(one.name)).length, low: sums.low, high: sums.high, out_low: outs.low, out_high: outs.high });
    }
    if (quantity === 'length') {
      const stream = along(points.filter((point) => point.slot !== 'ln_final'), pos);
      return stream && rich(`stream.found.length.pre.${stream.grew ? 'grew' : 'same'}`, { ...at, ...stream, blocks: trace.model.n_layers });
    }
    const run = along(points, pos);
    return run && rich('stream.found.over_depth', { ...at, ...run });
  }).filter(Boolean).map((words) => el('p', {}, words));
}

function figures(root, runs, reply, state, set) {
  const { quantity, position } = state;
  const { kind, log = false } = QUANTITIES[quantity];
  const labels = reply.tokens.map(({ label }) => label);
  const about = { names: runs.map(({ name }) => name).join(t('stream.and')), quantity: t(`stream.quantity.${quantity}`), pos: position, token: labels[position] };
  const shown = runs.map((run) => ({ ...run, points: seriesOf(run.trace, quantity).map((point) => ({ ...point, label: placeWords(point), short: shortPlace(point) })) })).filter(({ points }) => points.length);
  const range = sharedRange(...shown.flatMap(({ points }) => points.map(({ values }) => values)));
  const stops = stopsOf(reply, runs);
  const stateOf = (x) => stops.findLast((stop) => stop.x <= x)?.point ?? stops[0].point;
  const rows = (pick, head) => shown.flatMap(({ name, points }) => points.map((point) => [name, ...head(point), ...pick(point)]));
  const curves = figure({
    name: t('stream.curves.name', about), file: `addnorm-stream-${quantity}`, t, height: 360,
    build: (width, style) => depthCurves({
      runs: shown, chosen: position, cursor, ...axisOf(reply), zero: kind === 'magnitude', log,
      words: { value: about.quantity, depth: t('stream.axis.blocks') },
    })(width, style),
    onClick: ({ points }) => set({ state: stateOf(points[0].x) }),
    data: {
      columns: [t('stream.head.placement'), t('stream.head.place'), t('stream.head.point'), about.quantity],
      rows: rows(({ values }) => [compact(values[position])], ({ label, point }) => [label, point]),
      exact: rows(({ values }) => [values[position]], ({ label, point }) => [label, point]),
    },
  });
  const maps = figure({
    name: t('stream.maps.name', about), file: `addnorm-stream-${quantity}-map`, t, height: 160,
    caption: el('span', { class: 'stream-legend' }, t('stream.maps.caption'), legend(kind, kind === 'diverging' ? compact(-range, 2) : '0', compact(range, 2))),
    build: (width, style) => depthMaps({
      panels: shown.map(({ name, norm, points }) => ({ title: name, norm, points: points.map(({ short, x, values }) => ({ label: short, x, values })) })),
      kind, range, labels, chosen: position, cursor, words: { value: about.quantity, position: t('stream.head.position') },
    })(width, style),
    onClick: ({ points: [{ x, customdata }] }) => set({ position: x, state: stateOf(customdata[2]) }),
    data: {
      columns: [t('stream.head.placement'), t('stream.head.place'), ...labels.map((label, i) => `${i} ${label}`)],
      rows: rows(({ values }) => values.map((value) => compact(value)), ({ label }) => [label]),
      exact: rows(({ values }) => values, ({ point }) => [point]),
    },
  });
  purge(root);
  put($('#curves', root), curves);
  put($('#maps', root), maps);
  startFigures(root);
}

function numbers(runs, state, x) {
  const normOf = (trace, at) => {
    const { norm, isMadeByNorm } = aroundState(trace, at);
    return norm && [el('code', {}, norm.name), ' ', t(`stream.numbers.norm.${isMadeByNorm ? 'made' : 'reads'}`)];
  };
  const rows = [
    ['place', (trace, at) => placeWords(at)],
    ['point', (trace, at) => el('code', {}, at.point.split('.').flatMap((part, i) => (i ? ['.', el('wbr'), part] : part)))], ['length', (trace, at, pos) => compact(at.values[pos])],
    ...['write', 'ratio', 'cosine'].map((name) => [name, (trace, at, pos) => aroundState(trace, at).writes.map((write) => compact(write[name === 'write' ? 'length' : name][pos])).join(t('stream.and'))]),
    ['norm', normOf],
    ...['mean', 'variance', 'scale', 'eps'].map((name) => [name, (trace, at, pos) => compact(aroundState(trace, at).norm?.[QUANTITIES[name].field][pos])]),
  ];
  return table([t('stream.numbers.what'), ...runs.map(({ name }) => name)],
    rows.map(([key, read]) => [t(`stream.numbers.${key}`), ...runs.map(({ trace }) => {
      const value = read(trace, stateNear(trace, x), state.position);
      return value || '—';
    })]), t('stream.numbers.title'));
}

/** Draw it all, or with `changed` holding nothing but the depth, what follows the depth. */
export function drawOverview(root, { runs, reply, state, stop: at, changed, set }) {
  const stops = stopsOf(reply, runs);
  cursor = at.x;
  const slider = $('#depth', root);
  slider.max = stops.length - 1;
  slider.value = stops.findIndex(({ point }) => point === at.point);
  slider.setAttribute('aria-valuetext', placeWords(at));
  slider.oninput = () => set({ state: stops[slider.value].point });
  put($('#depth-place', root), placeWords(at));
  put($('#numbers', root), numbers(runs, state, at.x));
  const whole = changed === null || changed.has('quantity') || changed.has('position');
  if (!whole) {
    refresh(root);
    return;
  }
  const { quantity } = state;
  const select = $('#quantity', root);
  put(select, Object.keys(QUANTITIES).map((name) => el('option', { value: name }, t(`stream.quantity.${name}`))));
  select.value = quantity;
  select.onchange = () => set({ quantity: select.value });
  put($('#about', root), rich(`stream.about.${quantity}`));
  put($('#found', root), found(runs, quantity, { pos: state.position, token: reply.tokens[state.position].label }));
  figures(root, runs, reply, state, set);
}
