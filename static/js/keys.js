/**
 * The keyboard of pages that walk through a block: which key does what, as one table that the page also shows.
 * Keys act nowhere where they have a meaning of their own: in text, in lists, in open dialogues.
 */

import { $, el, put } from './dom.js';
import { t } from './i18n.js';

const OWN_KEYS = 'input, textarea, select, dialog, [role="radiogroup"], [role="tablist"], [contenteditable], [popover]:popover-open';

/** [keys shown, sentence, test of the event]: the order is that of the list. */
export const KEYS = [
  ['next', ['→'], (e) => e.key === 'ArrowRight' && !e.shiftKey],
  ['previous', ['←'], (e) => e.key === 'ArrowLeft' && !e.shiftKey],
  ['next_box', ['Shift', '→'], (e) => e.key === 'ArrowRight' && e.shiftKey],
  ['previous_box', ['Shift', '←'], (e) => e.key === 'ArrowLeft' && e.shiftKey],
  ['play', ['Space'], (e) => e.key === ' '],
  ['flip', ['N'], (e) => e.key.toLowerCase() === 'n'],
  ['next_token', ['.'], (e) => e.key === '.'],
  ['previous_token', [','], (e) => e.key === ','],
  ['next_block', [']'], (e) => e.key === ']'],
  ['previous_block', ['['], (e) => e.key === '['],
  ['next_head', ['H'], (e) => e.key === 'h'],
  ['previous_head', ['Shift', 'H'], (e) => e.key === 'H'],
  ['depth', ['1', '2', '3', '4'], (e) => /^[1-4]$/.test(e.key)],
  ['text', ['/'], (e) => e.key === '/'],
  ['copy_link', ['L'], (e) => e.key.toLowerCase() === 'l'],
  ['help', ['?'], (e) => e.key === '?'],
];

let known = {};

/** `actions`: {name: f(event)}; a page without an action leaves that key alone, and does not show it. */
export function startKeys(actions) {
  known = actions;
  document.addEventListener('keydown', (event) => {
    if (event.defaultPrevented || event.isComposing || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.closest?.(OWN_KEYS)) return;
    // Space and Enter belong to the button that has the focus.
    if (event.key === ' ' && event.target.closest?.('button, a, summary, [role="button"], [role="slider"]')) return;
    const found = KEYS.find(([name, , test]) => name in actions && test(event));
    if (!found) return;
    event.preventDefault();
    actions[found[0]](event);
  });
}

export function showKeys() {
  put($('#keys-list'), KEYS.filter(([name]) => name in known).map(([name, keys]) => el('div', {},
    el('dt', {}, keys.map((key) => el('kbd', {}, key))), el('dd', {}, t(`keys.${name}`)))));
  $('#keys').showModal();
}
