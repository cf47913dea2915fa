/**
 * One head as lines from each query (left) to the keys (right) that it reads. A token with the focus or
 * under the pointer shows its own lines and figures. Knows places and words, no request.
 */

import { css, currentTheme, sequential } from '../../colour.js';
import { el, put, svg } from '../../dom.js';
import { headLines, partners, ROW } from '../../figures/head_lines.js';
import { fixed, shorten, visible } from '../../format.js';
import { t } from '../../i18n.js';
import { FONT } from '../../plot.js';
import { downloads, tableTwin } from '../cards/parts.js';

const WIDTH = 240; // of the space between the two columns, in units of the drawing
const TOLD = 3;

const path = ({ y1, y2 }, from = 0, to = WIDTH) => `M${from} ${y1}C${(from + to) / 2} ${y1} ${(from + to) / 2} ${y2} ${to} ${y2}`;
const thickness = (strength) => (0.6 + 3.4 * strength).toFixed(2);

/** The picture by itself, tokens included, as a file. */
function standalone({ lines, height, labels, name }) {
  const style = getComputedStyle(document.documentElement);
  const ink = style.getPropertyValue('--ink').trim();
  const column = 150;
  const words = (x, anchor) => labels.map((label, i) => svg('text', { x, y: i * ROW + ROW / 2 + 5, 'text-anchor': anchor, fill: ink }, `${i} ${shorten(visible(label), 14)}`));
  const root = svg('svg', { xmlns: 'http://www.w3.org/2000/svg', width: WIDTH + 2 * column, height: height + 30, viewBox: `0 -30 ${WIDTH + 2 * column} ${height + 30}`, 'font-family': FONT, 'font-size': 13 },
    svg('rect', { x: 0, y: -30, width: '100%', height: '100%', fill: style.getPropertyValue('--surface').trim() }),
    svg('text', { x: 8, y: -10, fill: ink, 'font-weight': 'bold' }, name),
    words(column - 8, 'end'), words(column + WIDTH + 8, 'start'),
    lines.map((line) => svg('path', { d: path(line, column, column + WIDTH), fill: 'none', stroke: css(sequential(1, currentTheme())), 'stroke-opacity': line.strength.toFixed(3), 'stroke-width': thickness(line.strength) })));
  return new XMLSerializer().serializeToString(root);
}

/** The address of the picture in `format`, 'png' or 'svg'. */
async function pictureOf(source, format, height) {
  const address = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(source)}`;
  if (format === 'svg') return address;
  const image = new Image();
  image.src = address;
  await image.decode();
  const canvas = el('canvas', { width: 2 * (WIDTH + 300), height: 2 * (height + 30) });
  canvas.getContext('2d').drawImage(image, 0, 0, canvas.width, canvas.height);
  return canvas.toDataURL('image/png');
}

/** `map` as from map.js; `choose(position)` where a query is taken; `range`: value of the thickest line. */
export function linesFigure({ map, range, label, pos, what, choose }) {
  const { values, labels, positions } = map;
  const n = labels.length;
  const drawing = headLines({ values, range, most: n > 40 ? 4 : 12 });
  const name = t('heads.lines.name', { label, what });
  const chosen = map.at(pos) ?? 0;
  const picture = svg('svg', { class: 'heads-lines-picture', viewBox: `0 0 ${WIDTH} ${drawing.height}`, preserveAspectRatio: 'none', role: 'img', 'aria-label': name, style: `height: ${drawing.height}px` });
  const paths = drawing.lines.map((line) => svg('path', { d: path(line), 'stroke-opacity': line.strength.toFixed(3), 'stroke-width': thickness(line.strength), 'vector-effect': 'non-scaling-stroke' }));
  picture.append(...paths);
  const figures = { query: [], key: [] };
  const buttons = { query: [], key: [] };

  const told = (side, i) => {
    const list = partners({ values }, side, i).slice(0, TOLD).map(({ other, value }) => `${positions[other]} “${visible(labels[other])}” ${fixed(value, 2)}`);
    return t(`heads.lines.${side}`, { at: positions[i], token: visible(labels[i]), list: list.join(t('heads.list_comma')) || t('heads.lines.nothing') });
  };

  function light(side, i) {
    const other = side === 'query' ? 'key' : 'query';
    drawing.lines.forEach((line, at) => paths[at].setAttribute('class', line[side] === i ? 'is-lit' : 'is-faint'));
    const by = new Map(partners({ values }, side, i).map((one) => [one.other, one.value]));
    for (const [which, list] of Object.entries(figures)) list.forEach((node, at) => put(node, which === other && by.get(at) >= 0.005 ? fixed(by.get(at), 2) : ''));
    for (const [which, list] of Object.entries(buttons)) list.forEach((node, at) => node.classList.toggle('is-lit', which === side && at === i));
  }

  function column(side) {
    const list = el('div', { class: `heads-lines-column is-${side}`, role: 'toolbar', 'aria-orientation': 'vertical', 'aria-label': t(side === 'query' ? 'heads.lines.queries' : 'heads.lines.keys') });
    labels.forEach((one, i) => {
      const figure = el('span', { class: 'heads-lines-figure num', 'aria-hidden': 'true' });
      const button = el('button', {
        type: 'button', class: 'heads-lines-token', tabindex: i === chosen ? '0' : '-1', title: `${positions[i]} ${visible(one)}`, 'aria-label': told(side, i),
        onfocus: () => light(side, i), onpointerenter: () => light(side, i), onclick: () => choose?.(positions[i]),
      }, el('span', { class: 'heads-lines-label' }, visible(one)), ' ', el('small', { class: 'num' }, String(positions[i])));
      figures[side].push(figure);
      buttons[side].push(button);
      list.append(side === 'query' ? el('div', { role: 'presentation' }, figure, button) : el('div', { role: 'presentation' }, button, figure));
    });
    list.addEventListener('keydown', (event) => {
      const at = buttons[side].indexOf(event.target);
      const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: n - 1 }[event.key];
      const across = { ArrowLeft: 'query', ArrowRight: 'key' }[event.key];
      const next = across ? buttons[across][at] : buttons[side][to];
      if (to === undefined && !across) return;
      event.preventDefault();
      if (!next) return;
      for (const one of next.parentElement.parentElement.querySelectorAll('button')) one.tabIndex = one === next ? 0 : -1;
      next.focus();
    });
    return list;
  }

  const [left, right] = [column('query'), column('key')];
  const stage = el('div', { class: 'heads-lines', onpointerleave: () => light('query', chosen) }, left, picture, right);
  light('query', chosen);
  const heads = labels.map((one, i) => `${positions[i]} ${visible(one)}`);
  const columns = [t('card.attn.query_key'), ...heads];
  const rows = (write) => values.map((row, i) => [heads[i], ...row.map(write)]);
  const status = el('p', { class: 'plot-status', role: 'status' });
  const saved = (format) => pictureOf(standalone({ ...drawing, labels, name }), format, drawing.height);
  return el('figure', { class: 'plot heads-lines-figure-box' },
    el('div', { class: 'heads-lines-heads', 'aria-hidden': 'true' }, el('span', {}, t('card.attn.query_axis')), el('span', {}, t('card.attn.key_axis'))),
    el('div', { class: 'heads-lines-scroll' }, stage),
    el('figcaption', { class: 'plot-caption' },
      el('span', {}, t('heads.lines.caption'), ' ', drawing.left_out ? t('heads.lines.left_out', { count: drawing.left_out }) : '', map.renormalised ? el('b', { class: 'heads-mark' }, ` ${t('heads.special.mark')}`) : null),
      downloads({ name, file: `${label}-lines`, picture: saved, columns, rows: rows((value) => value), status, t })),
    status,
    tableTwin({ name, columns, rows: rows((value) => (value === null ? t('card.attn.hidden') : fixed(value, 3))), t }));
}
