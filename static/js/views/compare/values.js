/**
 * The values of one step in both runs, on one colour range, with what the server says of their
 * difference. Knows the shapes of summaries and tensors; asks for points through `load`.
 */

import { sharedRange } from '../../colour.js';
import { el } from '../../dom.js';
import { pattern } from '../../figures/pattern.js';
import { brief, compact, fixed, MINUS, percent, visible } from '../../format.js';
import { picture } from '../../heat.js';
import { rich, t } from '../../i18n.js';
import { divisorOf, unmasked } from '../../scores.js';
import { bars, figure, legend, scrolling, section, table, tableTwin, vectorTable } from '../cards/parts.js';
import { lengthOf, normNamed, writesInto } from '../cards/run.js';
import { enlargement, stripsBlock } from '../cards/strips.js';
import { mapOf, vectorsOf } from './walk.js';

/** Placement by its name, in its own colour. */
export const badge = (norm) => el('span', { class: `badge is-${norm}` }, t(`norm.name.${norm}`));

const nameOf = (side) => t(`norm.name.${side.trace.model.norm}`);

/** The points that a step needs: [{side, row, entry}], of every run that has the step. */
function wanted(view) {
  const { sides, state } = view;
  return sides.flatMap((side) => (side.found ? vectorsOf(side.found.frame, state.head) : []).map((row) => ({
    side, row, entry: `${row.point}[${state.position}${row.axes}]`,
  })));
}

const largestAt = (values) => values.reduce((best, value, i) => (Math.abs(value) > Math.abs(values[best]) ? i : best), 0);

/** Rows that belong together stand under each other: the first value of both runs, then the second. */
function inPairs(list, sides) {
  const bySide = sides.map((side) => list.filter((one) => one.side === side));
  const longest = Math.max(...bySide.map(({ length }) => length));
  return Array.from({ length: longest }, (_, i) => bySide.map((rows) => rows[i]).filter(Boolean)).flat();
}

/** Small vectors are enlarged for the eye, by one factor in both runs: their sizes stay comparable. */
function enlarge(rows, together) {
  const range = sharedRange(...rows.map(({ values }) => values));
  for (let i = 0; i < rows.length; i += together) {
    const pair = rows.slice(i, i + together);
    const factor = Math.min(...pair.map(({ values }) => enlargement(values, range)));
    for (const row of pair) row.factor = factor;
  }
}

async function vectors(view) {
  const { sides, state, common } = view;
  const list = inPairs(wanted(view), sides);
  if (!list.length) return [];
  const [tensors, difference] = await Promise.all([
    Promise.all(sides.map((side) => side.load(list.filter((one) => one.side === side).map(({ entry }) => entry)))),
    common ? view.loadDifference(`${common}[${state.position}${vectorsOf(view.sides[0].found.frame, state.head).at(-1).axes}]`) : null,
  ]);
  const rows = list.map(({ side, row, entry }) => ({
    name: nameOf(side), point: row.point, role: side.trace.model.norm, values: tensors[sides.indexOf(side)][entry].values,
    length: lengthOf(side.trace, row.point, state.position),
  }));
  enlarge(rows, sides.length);
  if (difference) rows.push({ name: t('compare.difference'), point: common, role: 'difference', values: difference.values });
  const size = rows[0].values.length;
  const chosen = state.dim !== null && state.dim < size ? state.dim : largestAt((difference ?? rows[0]).values);
  const title = t('compare.vectors', { pos: state.position });
  const strips = stripsBlock({
    rows, dim: chosen, t, name: title, twin: false, file: `${view.frame.id}-${state.position}`, note: t(difference ? 'compare.range' : 'compare.range.rows'),
    onDim: (dim) => view.set({ dim }),
  });
  const numbers = vectorTable({
    t, chosen, name: title, onChoose: (dim) => view.set({ dim }),
    columns: rows.map(({ name, point, values, role }) => ({ name: el('span', {}, name, ' ', el('code', {}, point)), values, role })),
  });
  return [strips, el('details', { class: 'plot-twin' }, el('summary', {}, t('card.figure.table')), numbers)];
}

/** One head's map of a run; all maps of the step have one range. */
function map(view, side, values, { kind, range, point }) {
  const labels = view.labels;
  const what = t(kind === 'sequential' ? 'card.attn.weight' : 'card.attn.score');
  const heads = labels.map((label, i) => `${i} ${label}`);
  const name = t('label.value', { name: nameOf(side), value: t('card.attn.map', { what, label: `L${view.frame.layer}H${view.state.head}` }) });
  const rows = (write) => values.map((line, i) => [heads[i], ...line.map(write)]);
  return figure({
    name, t, file: `${point}-${view.state.head}-${side.trace.model.norm}`, height: 200,
    caption: [badge(side.trace.model.norm), ' ', kind === 'sequential' ? legend(kind, '0', '1') : legend(kind, `${MINUS}${range}`, `+${range}`)],
    build: pattern({ values, kind, range, labels, chosen: view.state.position, decimals: 2, words: { query: t('card.attn.query_axis'), key: t('card.attn.key_axis'), value: what } }),
    data: { columns: [t('card.attn.query_key'), ...heads], rows: rows((value) => (value === null ? t('card.attn.hidden') : fixed(value, 3))), exact: rows((value) => value) },
    onClick: (event) => view.set({ position: event.points[0].y }),
  });
}

async function maps(view) {
  const { sides, state, common } = view;
  const having = sides.filter((side) => side.found);
  const entries = having.map((side) => {
    const point = mapOf(side.found.frame);
    const dots = view.frame.part === 'scaled' ? [`${side.found.frame.prefix}attn.dot[${state.head}]`] : [];
    return { side, point, all: [`${point}[${state.head}]`, ...dots] };
  });
  const [tensors, difference] = await Promise.all([
    Promise.all(entries.map(({ side, all }) => side.load(all))),
    common ? view.loadDifference(`${common}[${state.head}]`) : null,
  ]);
  const values = entries.map(({ side, all }, i) => {
    const [own, dots] = all.map((entry) => tensors[i][entry].values);
    return dots ? unmasked(own, dots, divisorOf(side.trace.model, view.frame.layer)) : own;
  });
  const kind = view.frame.part === 'softmax' ? 'sequential' : 'diverging';
  const range = kind === 'sequential' ? 1 : sharedRange(...values.flat());
  return [
    el('div', { class: 'compare-maps' }, entries.map(({ side, point }, i) => map(view, side, values[i], { kind, range, point }))),
    difference ? differenceMap(view, difference.values) : null,
  ];
}

function differenceMap(view, values) {
  const range = sharedRange(...values);
  const n = values.length;
  const name = t('compare.difference_map', { label: `L${view.frame.layer}H${view.state.head}` });
  const heads = view.labels.map((label, i) => `${i} ${label}`);
  const twin = tableTwin({
    name, t, columns: [t('card.attn.query_key'), ...heads],
    rows: values.map((line, i) => [heads[i], ...line.map((value) => (value === null ? t('card.attn.hidden') : fixed(value, 3)))]),
  });
  return el('figure', { class: 'compare-delta' },
    picture({ columns: n, rows: n, kind: 'diverging', range, valueAt: (i) => values[Math.floor(i / n)][i % n], name, className: 'compare-delta-map' }),
    el('figcaption', { class: 'card-note' }, el('p', {}, name), legend('diverging', `${MINUS}${range}`, `+${range}`), twin));
}

function facts(view) {
  const { sides, state, frame } = view;
  const { position: pos } = state;
  const each = (read) => sides.map((side) => (side.found ? read(side.trace, side.found.frame) : t('compare.none')));
  const rows = [];
  const row = (label, cells) => rows.push([label, ...cells]);
  if (frame.kind === 'layer_norm') {
    const of = (name, digits) => each((trace, own) => {
      const value = normNamed(trace, own.step.name)[name]?.[pos];
      // A mean of 1e-9 is rounding, not a figure.
      return Math.abs(value) < 1e-6 ? fixed(value, 4) : compact(value, digits);
    });
    row(t('compare.reads'), each((trace, own) => el('code', {}, own.step.inputs[0])));
    row(t('card.ln.mean'), of('mean', 4));
    row(t('card.ln.variance'), of('var', 4));
    row(t('card.ln.scale'), of('scale', 4));
    if (frame.part === 'affine') {
      row(t('card.ln.out_mean'), of('out_mean', 4));
      row(t('card.ln.out_var'), of('out_var', 4));
    }
    row('ε', each((trace, own) => brief(normNamed(trace, own.step.name).eps)));
  }
  if (frame.kind === 'add') {
    const length = (pick) => each((trace, own) => pick(own.step).map((point) => compact(lengthOf(trace, point, pos))).join(' · '));
    row(t('compare.length.skip'), length((step) => [step.inputs[0]]));
    row(t('compare.length.write'), length((step) => step.inputs.slice(1)));
    row(t('compare.length.sum'), length((step) => [step.output]));
    row(t('compare.cosine.write'), each((trace, own) => writesInto(trace, own.step.output).map((write) => fixed(write.cosine[pos], 3)).join(' · ')));
  }
  if (rows.length === 0) return null;
  const title = t('compare.facts');
  return scrolling(title, table([t('compare.what'), ...sides.map(nameOf)], rows, title), 'compare-facts');
}

/** What the server measured between both runs at this value. */
function measured(view) {
  const { reply, common, state, frame } = view;
  if (!common) return null;
  const found = reply.difference.points.find((one) => one.point === common);
  const head = frame.kind === 'attention' && mapOf(frame)
    ? reply.difference.heads.find((one) => one.layer === frame.layer && one.head === state.head) : null;
  const list = [
    [t('compare.measure.relative'), compact(found.relative)],
    [t('compare.measure.largest'), compact(found.largest)],
    [t('compare.measure.mean'), compact(found.mean)],
    found.cosine ? [t('compare.measure.cosine', { pos: state.position }), fixed(found.cosine[state.position], 4)] : null,
    head ? [t('compare.measure.js'), fixed(head.mean, 3)] : null,
  ].filter(Boolean);
  return section(t('compare.measured'), el('p', { class: 'card-note' }, t(frame.kind === 'attention' && frame.part !== 'out' ? 'compare.measured.note.heads' : 'compare.measured.note'), ' ', el('code', {}, common)),
    el('dl', { class: 'card-facts' }, list.map(([name, value]) => el('div', { class: 'card-fact' }, el('dt', {}, name), el('dd', { class: 'num' }, value)))));
}

function predictions(view) {
  const { sides, state } = view;
  if (sides.some(({ trace }) => !trace.predictions)) return [el('p', { class: 'card-hint' }, t('compare.no_predictions'))];
  return [el('div', { class: 'compare-maps' }, sides.map((side) => el('div', { class: 'compare-predicted' }, el('h3', {}, badge(side.trace.model.norm)),
    bars(side.trace.predictions.positions[state.position].map((one) => ({
      label: visible(one.label), note: String(one.id), value: percent(one.probability), share: one.probability,
    })), side.trace.model.norm))))];
}

/** What is said where a step stands in one run only, or elsewhere. */
function alone(view) {
  const said = view.sides.flatMap((side) => {
    if (!side.found) return [t('compare.step_missing', { norm: nameOf(side) })];
    if (!side.found.own) return [rich('compare.no_final', { norm: nameOf(side), point: side.found.frame.step.name })];
    return [];
  });
  return said.map((words) => el('p', { class: 'card-hint' }, words));
}

/** The nodes of the card, in order; `Plotly` draws into them later. */
export async function stepNodes(view) {
  const { frame } = view;
  const body = frame.kind === 'unembed' ? predictions(view) : await (mapOf(frame) ? maps : vectors)(view);
  const both = view.sides.length > 1;
  return [both ? el('p', { class: 'card-lead' }, rich(`compare.see.${frame.slot}`)) : null, alone(view), body, facts(view), measured(view)];
}
