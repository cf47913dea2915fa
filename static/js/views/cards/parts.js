/**
 * What all cards are made of: figures with their table twin and downloads, tables of vectors, facts.
 * Knows no step of a run; gets numbers and words from the cards.
 */

import { el, put } from '../../dom.js';
import { csv, decimalsFor, fixed, relation } from '../../format.js';
import { term } from '../../i18n.js';
import { picture } from '../../heat.js';
import { draw, exportPicture } from '../../plot.js';

export const OPEN_ROWS = 8;

/** Hand the reader a file whose content is at `address`. */
export function save(name, address) {
  const link = el('a', { href: address, download: name });
  document.body.append(link);
  link.click();
  link.remove();
}

export function saveText(name, text, type) {
  const address = URL.createObjectURL(new Blob([text], { type }));
  save(name, address);
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}

/** A table of plain cells; numbers are given as text. `columns`: names; the first cell of a row names it. */
export function table(columns, rows, caption) {
  return el('table', { class: 'card-table' },
    caption ? el('caption', { class: 'sr-only' }, caption) : null,
    el('thead', {}, el('tr', {}, columns.map((name) => el('th', { scope: 'col' }, name)))),
    el('tbody', {}, rows.map(([first, ...rest]) =>
      el('tr', {}, el('th', { scope: 'row' }, first), rest.map((cell) => el('td', {}, cell))))),
  );
}

const paragraph = (kind) => (...words) => el('p', { class: `card-${kind}` }, words);
/** A card's first sentence, what one should know beside it, and what one should not miss. */
export const [leading, note, hint] = ['lead', 'note', 'hint'].map(paragraph);

/** What may be wider than the page, in a frame that scrolls by keyboard as well. */
export const scrolling = (name, content, more = '') =>
  el('div', { class: `card-scroll ${more}`.trim(), tabindex: '0', role: 'group', 'aria-label': name }, content);

/** A figure's numbers as a table: those of large maps have tens of thousands of cells, so it is made when asked for. */
export function tableTwin({ name, columns, rows, t }) {
  const twin = el('details', { class: 'plot-twin' }, el('summary', {}, t('card.figure.table')));
  twin.addEventListener('toggle', () => {
    if (twin.open && twin.children.length === 1) twin.append(scrolling(name, table(columns, rows, name)));
  });
  return twin;
}

/** Say that there is no picture. That the library could not be had is all there is to say; anything else is a fault. */
const without = (status, t) => (error) => {
  put(status, t('card.figure.unavailable'));
  if (error.message !== 'charts_unavailable') throw error;
};

/** The buttons that hand over a figure as PNG, SVG and CSV. `picture(format)` resolves to the picture's address. */
export function downloads({ name, file, picture, columns, rows, status, t }) {
  const tool = (format, action) => {
    const words = t(`card.figure.${format}`, { name });
    return el('button', { type: 'button', class: 'plot-tool', 'aria-label': words, title: words, onclick: action }, format.toUpperCase());
  };
  const drawn = (format) => tool(format, () => picture(format).then((address) => save(`${file}.${format}`, address)).catch(without(status, t)));
  return el('div', { class: 'plot-tools' }, drawn('png'), drawn('svg'),
    tool('csv', () => saveText(`${file}.csv`, csv(columns, rows), 'text/csv')));
}

/** Vectors of one length as the table and file of a figure: `vectors` [[name, values]], a row for each component. */
export function vectorData(head, vectors) {
  const decimals = decimalsFor(vectors.flatMap(([, values]) => values));
  const rows = (write) => vectors[0][1].map((_, i) => [i, ...vectors.map(([, values]) => write(values[i]))]);
  return { columns: [head, ...vectors.map(([name]) => name)], rows: rows((value) => fixed(value, decimals)), exact: rows((value) => value) };
}

const starts = new WeakMap();

/** Draw the figures of `root`, which must be on the page. */
export const startFigures = (root) =>
  root.querySelectorAll('.plot').forEach((figure) => starts.get(figure)?.());

/**
 * A chart with all that belongs to it.
 * `name`: what it shows, in one line. `build`: (width, look) => figure. `exported`: the same with what the
 * page draws over it. `before`: elements that stand there until (and unless) the chart library comes.
 * `data`: {columns, rows} the same numbers, as text to read (`rows`) and exactly (`exact`) for the CSV file.
 * `twin`: false where the card already shows this table. `file`: name of downloads without ending.
 */
export function figure({ name, caption = null, build, exported = build, before = [], over = [], data, twin = true, file, onClick, t, height }) {
  const area = el('div', { class: 'plot-area', role: 'img', 'aria-label': name });
  if (height) area.style.minHeight = `${height}px`;
  const status = el('p', { class: 'plot-status', role: 'status' });
  const picture = (format) => exportPicture(exported, { format, title: name, width: Math.max(560, area.clientWidth) });
  const tools = downloads({ name, file, picture, columns: data.columns, rows: data.exact ?? data.rows, status, t });
  const box = el('figure', { class: 'plot' },
    el('div', { class: 'plot-stage' }, before, area, over),
    status,
    el('figcaption', { class: 'plot-caption' }, el('span', {}, caption ?? name), tools),
    twin ? tableTwin({ name, ...data, t }) : null,
  );
  starts.set(box, () => draw(area, build, { onClick }).catch(without(status, t)));
  return box;
}

/** The colour range: a bar between its printed ends. `kind` as in colour.js. */
export const legend = (kind, low, high, note) => el('span', { class: 'card-legend' },
  el('span', { class: 'num' }, low),
  picture({ columns: 41, rows: 1, kind, range: 40, valueAt: (i) => (kind === 'diverging' ? 2 * (i - 20) : i), name: null, className: 'card-legend-bar' }),
  el('span', { class: 'num' }, high), note ? el('span', { class: 'card-note' }, note) : null);

/** A part that is made again when another component is chosen: `make(i)` gives nodes. */
export function following(chosen, make) {
  const box = el('div', { class: 'card-follows' }, make(chosen));
  box.choose = (i) => put(box, make(i));
  return box;
}

/** Facts: [{label, value, termId, role}] as a list of name and figure; `common`: the role of those that name none. */
export const facts = (list, common = null) => el('dl', { class: 'card-facts' },
  list.filter(Boolean).map(({ label, value, termId, role = common }) => el('div', { class: 'card-fact', data: role ? { role } : {} },
    el('dt', {}, termId ? term(termId, label) : label), el('dd', { class: 'num' }, value))));

/**
 * Vectors of one length as columns, components as rows. The first eight and the chosen one are open, a
 * button opens all. `columns`: [{name, values, sign}]; with `sum`, a row reads as an equation and says
 * '=' only where the printed digits add up.
 */
export function vectorTable({ columns, chosen, sum = false, t, name, onChoose }) {
  const size = columns[0].values.length;
  const decimals = decimalsFor(columns.flatMap(({ values }) => values));
  const body = el('tbody');
  const makeRow = (i) => {
    const printed = columns.map(({ values }) => fixed(values[i], decimals));
    const sign = sum ? relation(printed.slice(0, -1), printed.at(-1)) : null;
    const cells = printed.map((text, c) => el('td', { class: 'num' },
      columns[c].sign ? el('span', { class: 'card-sign' }, c === columns.length - 1 && sign ? sign : columns[c].sign) : null, text));
    const index = onChoose
      ? el('button', { type: 'button', class: 'card-index', 'aria-pressed': String(i === chosen), 'aria-label': t('card.component', { i }), onclick: () => onChoose(i) }, String(i))
      : String(i);
    return el('tr', { class: i === chosen ? 'is-chosen' : null, data: { index: i } }, el('th', { scope: 'row', class: 'num' }, index), cells);
  };
  const gap = () => el('tr', { class: 'card-gap', 'aria-hidden': 'true' }, el('td', { colspan: columns.length + 1 }, '⋮'));
  let all = false;
  const fill = () => {
    const first = Array.from({ length: all ? size : Math.min(size, OPEN_ROWS) }, (_, i) => makeRow(i));
    const later = !all && chosen !== null && chosen >= OPEN_ROWS ? [chosen > OPEN_ROWS ? gap() : null, makeRow(chosen)] : [];
    const rest = !all && size > OPEN_ROWS && chosen !== size - 1 ? [gap()] : [];
    put(body, first, later, rest);
  };
  fill();
  const scroll = scrolling(name, el('table', { class: 'card-table card-vectors' },
    el('caption', { class: 'sr-only' }, name),
    el('thead', {}, el('tr', {}, el('th', { scope: 'col' }, t('card.component_head')), columns.map(({ name: title, role }) => el('th', { scope: 'col', data: role ? { role } : {} }, title)))),
    body));
  const more = size > OPEN_ROWS ? el('button', {
    type: 'button', class: 'card-more', 'aria-expanded': 'false',
    onclick: () => {
      all = !all;
      more.setAttribute('aria-expanded', String(all));
      put(more, all ? t('card.rows_fewer') : t('card.rows_all', { count: size }));
      fill();
    },
  }, t('card.rows_all', { count: size })) : null;
  const box = el('div', { class: 'card-vector-box card-follows' }, scroll, more);
  box.choose = (i) => { chosen = i; fill(); };
  return box;
}

/** Shares or sizes as bars: [{label, note, value, share, marked, action, description}]; `value` is text, `share` 0..1. */
export const bars = (list, role) => el('ol', { class: 'card-bars', data: { role } },
  list.map(({ label, note = '', value, share, marked = false, action = null, description = null }) => {
    const inside = [
      el('span', { class: 'card-bar-label' }, label, note ? el('small', { class: 'num' }, note) : null),
      el('span', { class: 'card-bar-track', 'aria-hidden': 'true' }, el('span', { class: 'card-bar-fill', style: `width: ${Math.max(0, Math.min(1, share)) * 100}%` })),
      el('span', { class: 'card-bar-value num' }, value),
    ];
    return el('li', { class: marked ? 'is-chosen' : null }, action
      ? el('button', { type: 'button', class: 'card-bar', 'aria-label': description, onclick: action }, inside)
      : el('div', { class: 'card-bar' }, inside));
  }));

/** A part of a card with a heading of its own. */
export const section = (title, ...content) => el('section', { class: 'card-section' }, el('h3', {}, title), ...content);

/** A formula in its frame, with what it says in words. */
export const formulaBox = (math, said = null) => el('div', { class: 'card-formula' },
  el('div', { class: 'card-formula-scroll', tabindex: '0', role: 'group' }, math), said ? note(said) : null);
