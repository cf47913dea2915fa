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

/**
 * Start the keys of a page that walks through a run (text_page.js); before there is one, they move nothing.
 * A page without flip or depth leaves those keys alone, and does not show them.
 */
export function startKeys(page, { stepper, moveBox, flip, depth }) {
  const ofRun = (act) => () => page.reply && act();
  const move = (name, by) => () => page.move(name, by);
  known = {
    next: ofRun(() => stepper.move(1)),
    previous: ofRun(() => stepper.move(-1)),
    next_box: ofRun(() => moveBox(1)),
    previous_box: ofRun(() => moveBox(-1)),
    play: ofRun(stepper.toggle),
    flip: flip && ofRun(flip),
    next_token: move('position', 1),
    previous_token: move('position', -1),
    next_block: move('layer', 1),
    previous_block: move('layer', -1),
    next_head: move('head', 1),
    previous_head: move('head', -1),
    depth,
    text: page.textbox.focus,
    copy_link: page.copyLink,
    help: showKeys,
  };
  document.addEventListener('keydown', (event) => {
    if (event.defaultPrevented || event.isComposing || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.closest?.(OWN_KEYS)) return;
    // Space and Enter belong to the button that has the focus.
    if (event.key === ' ' && event.target.closest?.('button, a, summary, [role="button"], [role="slider"]')) return;
    const found = KEYS.find(([name, , test]) => known[name] && test(event));
    if (!found) return;
    event.preventDefault();
    known[found[0]](event);
  });
  $('#keys-open').addEventListener('click', showKeys);
}

export function showKeys() {
  put($('#keys-list'), KEYS.filter(([name]) => known[name]).map(([name, keys]) => el('div', {},
    el('dt', {}, keys.map((key) => el('kbd', {}, key))), el('dd', {}, t(`keys.${name}`)))));
  $('#keys').showModal();
}
