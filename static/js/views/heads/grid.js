/**
 * The grid of all heads: one small picture, one figure and one name each. A listbox of one tab stop: arrow
 * keys move, Enter or a click opens. Knows what a head shows, not how it was computed.
 */

import { $$, el, put } from '../../dom.js';
import { t } from '../../i18n.js';
import { thumbnail } from '../../heat.js';
import { pooled } from './display.js';
import { figureOf, metricName, printed } from './metrics.js';

const tileName = (head) => (head.names.length ? t(`heads.named.tile.${head.names[0]}`) : '');
export const nameOf = (head) => (head.names.length ? t(`heads.named.short.${head.names[0]}`) : '');

/** What a screen reader hears, and a pointer sees, of a head. */
export function describe(head, metric, tested) {
  const figure = figureOf(head, metric, tested);
  const names = head.names.map((name) => t(`heads.named.short.${name}`)).join(t('heads.list_comma'));
  const { layer, label } = head;
  // What is seen comes first: who speaks to the page says what is written on it.
  const shown = [label, printed(metric, figure?.value), tileName(head)].filter(Boolean).join(' ');
  return [
    t('heads.tile', { shown, layer, head: head.head }), t('heads.tile.figure', { metric: metricName(metric), chance: printed(metric, figure?.chance) }), names || t('heads.tile.unnamed'),
  ].join(t('heads.list_stop'));
}

/** `open(head, byKey)` opens one; `intend(head)` hears that one is about to be opened. */
export function createGrid(root, open, intend) {
  let pictures = new Map(); // label -> canvas, of one set of thumbnails
  let drawnFrom = null;
  let focused = null;

  const tiles = () => $$('[role="option"]', root);

  function picture(label, bytes, size) {
    if (!bytes) return el('span', { class: 'heads-blank', 'aria-hidden': 'true' });
    if (!pictures.has(label)) {
      const small = pooled(bytes, size);
      pictures.set(label, thumbnail(small.bytes, small.size, null));
    }
    return pictures.get(label);
  }

  function tile(head, view) {
    const { metric, tested, chosen, pinned, thumbnails, size } = view;
    const words = describe(head, metric, tested);
    return el('div', {
      role: 'option', class: 'heads-tile', id: `tile-${head.label}`, title: words, 'aria-label': pinned === head.label ? `${words}${t('heads.list_stop')}${t('heads.tile.pinned')}` : words,
      'aria-selected': String(head.label === chosen), tabindex: '-1', data: { label: head.label }, onclick: (event) => open(head, event.detail === 0), onfocus: () => intend(head), onpointerenter: () => intend(head),
    },
    picture(head.label, thumbnails.get(head.label), size),
    el('span', { class: 'heads-tile-line num' }, el('b', {}, head.label), ' ', el('span', {}, printed(metric, figureOf(head, metric, tested)?.value))), ' ',
    el('span', { class: 'heads-tile-name' }, tileName(head)));
  }

  function setStop(element) {
    for (const one of tiles()) one.tabIndex = one === element ? 0 : -1;
    focused = element?.dataset.label ?? null;
  }

  /** The tile above or below: of the nearest line, the one nearest across. */
  function across(from, direction) {
    const at = from.getBoundingClientRect();
    const places = tiles().map((element) => ({ element, box: element.getBoundingClientRect() }))
      .filter(({ box }) => (direction > 0 ? box.top > at.top + 4 : box.top < at.top - 4));
    if (!places.length) return null;
    const line = places.reduce((best, { box }) => (Math.abs(box.top - at.top) < Math.abs(best - at.top) ? box.top : best), Infinity);
    return places.filter(({ box }) => Math.abs(box.top - line) < 4)
      .reduce((best, one) => (Math.abs(one.box.left - at.left) < Math.abs(best.box.left - at.left) ? one : best)).element;
  }

  root.addEventListener('keydown', (event) => {
    const from = event.target.closest('[role="option"]');
    if (!from || event.altKey || event.ctrlKey || event.metaKey) return;
    const all = tiles();
    const i = all.indexOf(from);
    const moves = {
      ArrowLeft: () => all[i - 1], ArrowRight: () => all[i + 1], ArrowUp: () => across(from, -1), ArrowDown: () => across(from, 1),
      Home: () => all[0], End: () => all.at(-1), Enter: () => { from.click(); }, ' ': () => { from.click(); },
    };
    if (!moves[event.key]) return;
    event.preventDefault();
    const next = moves[event.key]();
    if (next) {
      setStop(next);
      next.focus();
    }
  });

  return {
    /** `view`: {heads, grouped, metric, tested, chosen, pinned, thumbnails, size}. */
    draw(view) {
      if (drawnFrom !== view.thumbnails) {
        drawnFrom = view.thumbnails;
        pictures = new Map();
      }
      const hadFocus = root.contains(document.activeElement) ? focused : null;
      const layers = [...new Set(view.heads.map(({ layer }) => layer))];
      const group = (layer) => el('div', { role: 'group', class: 'heads-row', 'aria-label': t('heads.block', { layer }) },
        el('span', { class: 'heads-row-name num', 'aria-hidden': 'true' }, t('heads.block.short', { layer })),
        el('div', { class: 'heads-tiles', role: 'presentation' }, view.heads.filter((head) => head.layer === layer).map((head) => tile(head, view))));
      put(root, view.grouped ? layers.map(group) : el('div', { class: 'heads-tiles', role: 'presentation' }, view.heads.map((head) => tile(head, view))));
      const all = tiles();
      const stop = all.find((one) => one.dataset.label === (hadFocus ?? view.chosen)) ?? all[0];
      if (stop) setStop(stop);
      if (hadFocus && stop) stop.focus({ preventScroll: true });
    },
    /** Another head was opened: only the mark moves. */
    mark(chosen) {
      for (const one of tiles()) one.setAttribute('aria-selected', String(one.dataset.label === chosen));
      const element = tiles().find((one) => one.dataset.label === chosen);
      if (element) setStop(element);
    },
    /** Thumbnails that came later take their places. */
    fill(thumbnails, size) {
      for (const one of tiles()) {
        const blank = one.querySelector('.heads-blank');
        if (blank && thumbnails.has(one.dataset.label)) blank.replaceWith(picture(one.dataset.label, thumbnails.get(one.dataset.label), size));
      }
    },
  };
}

/** A thumbnail's cell stands for so many pairs to an edge. */
export const poolingOf = (size) => Math.ceil(size / 96);

