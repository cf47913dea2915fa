/** A state of the stream as the sum of what was written into it: controls, table with bars, total and its error. */

import { $, el, put } from '../../dom.js';
import { compact, csv, percent } from '../../format.js';
import { has, rich, t } from '../../i18n.js';
import { saveText } from '../cards/parts.js';
import { statesOf } from './depth.js';
import { placeWords } from './overview.js';

export const GROUPS = ['part', 'kind', 'block'];
export const SORTS = ['size', 'run'];
export const DIRECTION = /^(dimension:\d{1,6}|token:\d{1,7}|point:[\w.]{1,120}(\[\d{1,6}(,\d{1,6})?\])?)$/;
const OPEN_ROWS = 20;

/** 'point:blocks.0.ln1.out[2]' as the API takes it; null for no direction. */
export function directionOf(written) {
  if (!written) return null;
  const [, kind, rest] = /^(\w+):(.*)$/.exec(written);
  if (kind !== 'point') return { [kind]: Number(rest) };
  const [, point, index = ''] = /^([\w.]+)(?:\[([\d,]+)\])?$/.exec(rest);
  return { point, index: index ? index.split(',').map(Number) : [] };
}

/** Lines of a ledger as the page shows them: sorted, grouped as the server grouped them. */
export function linesOf(book, { group, sort }) {
  const lines = { part: book.parts, kind: book.by_kind, block: book.by_layer }[group];
  const size = (line) => Math.abs(book.request.direction ? line.projection : line.share);
  return sort === 'size' ? [...lines].sort((a, b) => size(b) - size(a)) : lines;
}

const ROLES = { embed: 'stream', pos_embed: 'stream', type_embed: 'stream', head: 'attn', mlp: 'mlp', beta: 'norm', bias: 'weight' };

/** Who wrote a line, in words. */
export function author(line, group) {
  if (group === 'kind') return t(`stream.kind.${line.name}`);
  if (group === 'block') return /^blocks/.test(line.name) ? t('stream.block', { layer: line.name.slice(7) }) : t(`stream.group.${line.name}`);
  const { kind, layer, head, name } = line;
  if (kind === 'head') return t('stream.part.head', { layer, head });
  if (kind === 'mlp') return t('stream.part.mlp', { layer });
  const slot = name.split('.').slice(layer === null ? 0 : 2).join('.');
  if (has(`stream.part.${slot}`)) return t(`stream.part.${slot}`, { layer });
  return t(`stream.kind.${kind}`);
}

const role = (line, group) => (group === 'block' ? 'stream' : ROLES[group === 'kind' ? line.name : line.kind]);

/** A signed bar from the common zero; `low` and `high` are the ends of all bars. */
function bar(value, { low, high }, of) {
  const span = high - low || 1;
  const zero = (0 - low) / span;
  const end = (value - low) / span;
  return el('span', { class: 'stream-bar', 'aria-hidden': 'true', data: { role: of } },
    el('span', { class: 'stream-bar-fill', style: `left: ${Math.min(zero, end) * 100}%; width: ${Math.abs(end - zero) * 100}%` }),
    el('span', { class: 'stream-bar-zero', style: `left: ${zero * 100}%` }));
}

function ledgerTable(book, state, opened, toggle) {
  const lines = linesOf(book, state);
  const along = book.request.direction !== null;
  const value = (line) => (along ? line.projection : line.share);
  const ends = { low: Math.min(0, ...lines.map(value)), high: Math.max(0, ...lines.map(value)) };
  const shown = opened ? lines : lines.slice(0, OPEN_ROWS);
  const number = (text) => el('td', { class: 'num' }, text);
  const row = (line) => el('tr', { data: { part: line.name } },
    el('th', { scope: 'row' }, author(line, state.group), el('code', {}, state.group === 'part' ? line.name : t('stream.ledger.parts', { count: line.count }))),
    el('td', { class: 'stream-bar-cell' }, bar(value(line), ends, role(line, state.group))),
    along ? number(compact(line.projection)) : null, number(percent(line.share)), number(compact(line.length)));
  const { total } = book;
  return [
    el('div', { class: 'card-scroll', tabindex: '0', role: 'region', 'aria-label': t('stream.ledger.table') },
      el('table', { class: 'card-table stream-ledger' },
        el('caption', { class: 'sr-only' }, t('stream.ledger.table')),
        el('thead', {}, el('tr', {}, ['author', 'bar', ...(along ? ['projection'] : []), 'share', 'length'].map((head) => el('th', { scope: 'col' }, t(`stream.ledger.head.${head === 'bar' ? (along ? 'bar_projection' : 'bar_share') : head}`))))),
        el('tbody', {}, shown.map(row)),
        el('tfoot', {}, el('tr', {}, el('th', { scope: 'row' }, t('stream.ledger.total', { count: book.parts.length })), el('td', {}),
          along ? number(compact(total.projection)) : null, number(percent(total.share)), number(compact(total.length)))))),
    lines.length > OPEN_ROWS ? el('button', { type: 'button', class: 'card-more', 'aria-expanded': String(opened), onclick: toggle }, opened ? t('stream.ledger.fewer') : t('stream.ledger.all', { count: lines.length })) : null,
  ];
}

function save(book, state) {
  const columns = ['name', 'kind', 'layer', 'head', 'count', 'share', 'projection', 'length'];
  saveText('addnorm-ledger.csv', csv(columns, linesOf(book, state).map((line) => columns.map((name) => line[name] ?? null))), 'text/csv');
}

/** What the direction may be: nothing, a dimension, a token that is likely here or stands in the text, a recorded vector. */
function directions(root, { trace, state, reply, set }) {
  const [kind, value] = state.direction ? [state.direction.split(':')[0], state.direction.slice(state.direction.indexOf(':') + 1)] : ['none', ''];
  const predicted = trace.predictions?.positions[state.position] ?? [];
  const known = [...predicted, ...reply.tokens.filter(({ special }) => !special)].filter((one, i, all) => all.findIndex(({ id }) => id === one.id) === i);
  const select = $('#direction', root);
  const kinds = ['none', 'dimension', ...(trace.predictions ? ['token'] : []), 'point'];
  put(select, kinds.map((name) => el('option', { value: name }, t(`stream.direction.${name}`))));
  select.value = kinds.includes(kind) ? kind : 'none';
  const starts = { none: null, dimension: `dimension:${trace.stream.outliers.dimensions[0]?.dimension ?? 0}`, token: `token:${known[0]?.id}`, point: `point:embed[${state.position}]` };
  select.onchange = () => set({ direction: starts[select.value] });
  const box = $('#direction-value', root);
  const labelled = (name, input) => el('label', { class: 'stream-field' }, el('span', {}, t(`stream.direction.${name}_label`)), input);
  if (kind === 'dimension') {
    const last = trace.model.d_model - 1;
    put(box, labelled('dimension', el('input', { type: 'number', id: 'direction-dimension', min: 0, max: last, value, inputmode: 'numeric', onchange: ({ target }) => { if (/^\d{1,6}$/.test(target.value)) set({ direction: `dimension:${target.value}` }); } })));
  } else if (kind === 'token') {
    const ids = known.some(({ id }) => String(id) === value) ? known : [{ id: value, label: t('stream.direction.token_id', { id: value }) }, ...known];
    const input = el('select', { id: 'direction-token', onchange: ({ target }) => set({ direction: `token:${target.value}` }) }, ids.map(({ id, label }) => el('option', { value: id }, label)));
    input.value = value;
    put(box, labelled('token', input));
  } else if (kind === 'point') {
    put(box, labelled('point', el('input', { type: 'text', id: 'direction-point', value, spellcheck: 'false', autocapitalize: 'off', onchange: ({ target }) => { if (DIRECTION.test(`point:${target.value.trim()}`)) set({ direction: `point:${target.value.trim()}` }); else target.setAttribute('aria-invalid', 'true'); } })));
  } else put(box);
}

const choice = (root, id, values, chosen, write, choose) => {
  const select = $(id, root);
  put(select, values.map((value) => el('option', { value }, write(value))));
  select.value = chosen;
  select.onchange = () => choose(select.value);
};

/** The controls, which follow the page's state before any reply is there. */
export function drawControls(root, view) {
  const { trace, state, at, set } = view;
  const words = new Map(statesOf(trace).map((one) => [one.point, placeWords(one)]));
  choice(root, '#state', [...words.keys()], at.point, (point) => words.get(point), (point) => set({ state: point }));
  choice(root, '#group', GROUPS, state.group, (name) => t(`stream.ledger.group.${name}`), (group) => set({ group }));
  choice(root, '#sort', SORTS, state.sort, (name) => t(`stream.ledger.sort.${name}`), (sort) => set({ sort }));
  // What is being typed there stays.
  if (!$('#direction-value', root).contains(document.activeElement) || view.changed === null) directions(root, view);
}

let opened = false;

export function drawLedger(root, { book, run, state, at, reply }) {
  const { frozen_scales: frozen, checks } = book;
  const check = checks.find(({ name }) => name === 'ledger');
  const stood = (scales) => scales.map(({ norm, scale }) => el('li', {}, el('code', {}, norm), ' ', el('span', { class: 'num' }, compact(scale))));
  const redraw = () => drawLedger(root, { book, run, state, at, reply });
  put($('#ledger-lead', root), rich('stream.ledger.lead', { name: run.name, pos: state.position, token: reply.tokens[state.position].label, place: placeWords(at), count: book.parts.length, length: compact(book.length) }));
  put($('#ledger-table', root), ledgerTable(book, state, opened, () => { opened = !opened; redraw(); $('.card-more', root).focus(); }));
  put($('#ledger-check', root),
    el('p', { class: check.ok ? 'stream-check' : 'notice is-loud', data: { ok: String(check.ok) } }, check.ok ? '✓ ' : '✗ ', t('stream.ledger.error', { error: compact(book.error, 2), limit: compact(check.limit, 1) })),
    el('p', { class: 'card-note' }, frozen.length ? rich('stream.ledger.frozen', { count: frozen.length }) : rich('stream.ledger.no_norm')),
    frozen.length ? el('details', {}, el('summary', {}, t('stream.ledger.scales', { count: frozen.length })), el('ul', { class: 'stream-scales' }, stood(frozen))) : null,
    book.request.direction ? el('p', { class: 'card-note' }, t('stream.ledger.direction_length', { length: compact(book.direction_length) })) : null,
    el('button', { type: 'button', class: 'plot-tool', 'aria-label': t('card.figure.csv', { name: t('stream.ledger.table') }), onclick: () => save(book, state) }, 'CSV'));
}
