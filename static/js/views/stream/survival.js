/** Does the original survive? The share of one kind of part in every state, both placements in one chart. */

import { $, el, put } from '../../dom.js';
import { depthCurves } from '../../figures/depth.js';
import { percent } from '../../format.js';
import { rich, t } from '../../i18n.js';
import { purge, refresh } from '../../plot.js';
import { figure, startFigures } from '../cards/parts.js';
import { placeOf } from './depth.js';
import { axisOf, placeWords } from './overview.js';

export const KINDS = ['embed', 'pos_embed', 'type_embed', 'head', 'mlp', 'bias', 'beta'];

let cursor = null;
let drawn = [];

/** A kind's share of every state: [{point, x, slot, layer, values: [share]}]; a kind that is not there yet has none. */
export const sharesOf = (trace, book, kind) => book.depth
  .map(({ point, shares }) => ({ point, ...placeOf(trace, point), values: [kind in shares ? shares[kind] : 0] }))
  .sort((a, b) => a.x - b.x);

function sentence(shown, kind, { pos, token }) {
  return [
    ...shown.map(({ name, points }) => rich('stream.survival.found', {
      name, kind: t(`stream.kind.${kind}`), pos, token, first: percent(points[0].values[0]), first_at: placeWords(points[0]), last: percent(points.at(-1).values[0]), last_at: placeWords(points.at(-1)),
      middle: percent(middle(points).values[0]), middle_at: placeWords(middle(points)),
    })),
    shown.some(({ points }) => points.some(({ values }) => values[0] < 0)) ? rich('stream.survival.negative') : null,
  ].filter(Boolean).map((words) => el('p', {}, words));
}

/** The last state before the last block's FFN has written. */
const middle = (points) => points.findLast(({ slot }) => slot === 'add1') ?? points[Math.floor(points.length / 2)];

export function drawSurvival(root, { runs, books, reply, state, changed, set, stop }) {
  cursor = stop.x;
  const shows = [reply, state.position, state.kind];
  if (changed !== null && shows.every((one, i) => one === drawn[i])) {
    refresh(root);
    return;
  }
  drawn = shows;
  const present = KINDS.filter((kind) => books.some((book) => book.depth.some(({ shares }) => kind in shares)));
  const kind = present.includes(state.kind) ? state.kind : present[0];
  const select = $('#kind', root);
  put(select, present.map((name) => el('option', { value: name }, t(`stream.kind.${name}`))));
  select.value = kind;
  select.onchange = () => set({ kind: select.value });
  const shown = runs.map((run, i) => ({ ...run, points: sharesOf(run.trace, books[i], kind).map((point) => ({ ...point, label: placeWords(point) })) }));
  const about = { names: shown.map(({ name }) => name).join(t('stream.and')), kind: t(`stream.kind.${kind}`), pos: state.position, token: reply.tokens[state.position].label };
  const rows = (write) => shown.flatMap(({ name, points }) => points.map(({ label, point, values }) => [name, label, point, write(values[0])]));
  purge(root);
  put($('#survival-figure', root), figure({
    name: t('stream.survival.name', about), file: `addnorm-share-${kind}`, t, height: 360,
    build: (width, style) => depthCurves({
      runs: shown, chosen: 0, cursor, ...axisOf(reply), zero: true, percent: true, words: { value: t('stream.survival.axis', about), depth: t('stream.axis.blocks') },
    })(width, style),
    data: {
      columns: [t('stream.head.placement'), t('stream.head.place'), t('stream.head.point'), t('stream.survival.axis', about)],
      rows: rows((value) => percent(value, 2)), exact: rows((value) => value),
    },
  }));
  put($('#survival-found', root), sentence(shown, kind, about));
  startFigures(root);
}
