/**
 * Vectors as named strips under each other, all on one colour range: what Add, the embedding,
 * Attention and the FFN show. Knows no step; the cards give rows.
 */

import { sharedRange } from '../../colour.js';
import { el, put } from '../../dom.js';
import { escapeLabel } from '../../figures/axes.js';
import { STRIP_GAP, STRIP_HEIGHT, strips as stripsFigure, stripsHeight } from '../../figures/strips.js';
import { compact, decimalsFor, fixed, MINUS } from '../../format.js';
import { strip } from '../../heat.js';
import { figure, legend, vectorData } from './parts.js';

const FACTORS = [100, 50, 20, 10, 5, 2];

const largest = (values) => values.reduce((most, value) => Math.max(most, Math.abs(value ?? 0)), 0);

/** How often a small vector may be enlarged so that it still fits the range; 1 if it is not small. */
export function enlargement(values, range) {
  const size = largest(values);
  return size === 0 || size * 4 > range ? 1 : FACTORS.find((k) => k * size <= range) ?? 1;
}

/**
 * `rows`: [{name, point, role, values, length, sign, factor}]; `sign` stands before a row ('+', '=').
 * `over`: more that is laid over the drawing area. `dim`: the chosen component, or null where there is nothing to choose. `onDim(i)` hears a choice.
 * Returns the figure; `figure.choose(i)` moves the frames without drawing anew.
 */
export function stripsBlock({ rows, range = sharedRange(...rows.map(({ values }) => values)), dim, onDim, name, note, twin, file, t, over = [] }) {
  const size = rows[0].values.length;
  const height = stripsHeight(rows.length);
  const top = (i) => i * (STRIP_HEIGHT + STRIP_GAP);
  const decimals = decimalsFor(rows.flatMap(({ values }) => values));
  let chosen = dim;

  const canvases = rows.map(({ values, factor = 1 }, i) => {
    const canvas = strip(factor === 1 ? values : values.map((value) => value * factor), range, null);
    canvas.style.top = `${top(i)}px`;
    canvas.style.height = `${STRIP_HEIGHT}px`;
    return canvas;
  });
  const marks = chosen !== null ? rows.map((_, i) => el('span', { class: 'heat-frame', 'aria-hidden': 'true', style: `top: ${top(i) - 2}px; height: ${STRIP_HEIGHT + 4}px` })) : [];

  const words = { component: t('card.component_head') };
  const figureRows = rows.map((row) => ({ ...row, name: row.name + (row.factor > 1 ? ` × ${row.factor}` : '') }));
  const build = (exported) => (width, look) => stripsFigure({ strips: figureRows, range, chosen: exported ? chosen : null, words })(width, look);
  const exported = (width, look) => {
    const { data: traces, layout } = build(true)(width, look);
    // On the page the names stand beside the strips as text; a picture carries them itself.
    const annotations = figureRows.map((row, i) => ({
      text: escapeLabel(`${row.sign ? `${row.sign} ` : ''}${row.name}`), xref: 'paper', yref: 'paper', x: 0, y: 1 - top(i) / height,
      xanchor: 'left', yanchor: 'bottom', showarrow: false, font: { size: 12, color: look.ink },
    }));
    annotations.push({ text: `${MINUS}${range} … +${range}`, xref: 'paper', yref: 'paper', x: 1, y: 0, xanchor: 'right', yanchor: 'top', yshift: -4, showarrow: false, font: { size: 11, color: look.muted } });
    return { data: traces, layout: { ...layout, annotations: [...layout.annotations, ...annotations], margin: { l: 12, r: 12, t: 26, b: 26 }, height: height + 52 } };
  };

  const spoken = () => `${t('card.component', { i: chosen })}: ${rows.map((row) => `${row.name} ${fixed(row.values[chosen], decimals)}`).join(', ')}`;
  const slider = chosen !== null ? el('div', {
    class: 'heat-slider', role: 'slider', tabindex: '0', data: { keep: 'dim' }, 'aria-label': t('card.choose_component'),
    'aria-valuemin': '0', 'aria-valuemax': String(size - 1),
    onkeydown: (event) => {
      const jumps = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: 16, PageDown: -16, Home: -size, End: size };
      if (!(event.key in jumps) || event.ctrlKey || event.metaKey || event.altKey) return;
      // These keys also walk through the steps: here they walk through the components.
      event.preventDefault();
      event.stopPropagation();
      pick(Math.min(size - 1, Math.max(0, chosen + jumps[event.key])));
    },
  }) : null;

  const place = () => {
    marks.forEach((mark) => { mark.style.left = `${((chosen + 0.5) / size) * 100}%`; });
    slider?.setAttribute('aria-valuenow', String(chosen));
    slider?.setAttribute('aria-valuetext', spoken());
  };
  // Never thinner than 7 pixels: one component of 512 is thinner than a line.
  marks.forEach((mark) => { mark.style.width = `max(7px, calc(${100 / size}% + 3px))`; });
  if (chosen !== null) place();

  function pick(i) {
    chosen = i;
    place();
    onDim(i);
  }

  const box = figure({
    name, t, file, twin, build: build(false),
    data: vectorData(t('card.component_head'), rows.map(({ name: title, point, values }) => [point ?? title, values])), exported, before: canvases, over: [marks, slider, over], height,
    caption: legend('diverging', `${MINUS}${range}`, `+${range}`, note),
    onClick: dim === null ? undefined : (event) => pick(event.points[0].x),
  });
  box.classList.add('card-strips', 'card-follows');
  const stage = box.querySelector('.plot-stage');
  stage.style.height = `${height}px`;
  const names = rows.map((row, i) => [
    el('div', { class: 'card-strip-name', style: `--row: ${i}`, data: { role: row.role } },
      row.sign ? el('span', { class: 'card-operator' }, row.sign) : null,
      el('span', {}, el('b', {}, row.name), row.factor > 1 ? el('span', { class: 'card-factor' }, `× ${row.factor}`) : null,
        row.point ? el('code', {}, row.point) : null)),
    el('div', { class: 'card-strip-length num', style: `--row: ${i}` }, row.length === undefined ? '' : [el('span', { class: 'card-note' }, '|x| '), compact(row.length)]),
  ]);
  put(box, el('div', { class: 'card-strips-grid', style: `--rows: ${rows.length}` }, names, stage), [...box.children].filter((child) => child !== stage));
  box.choose = (i) => { chosen = i; place(); };
  return box;
}
