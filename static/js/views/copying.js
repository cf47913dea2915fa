/** Copying a link or a program, and the short note that says so. Knows no run. */

import { $, copyText, put } from '../dom.js';
import { t } from '../i18n.js';

const SHOWN_MS = 2200;
let timer = null;

export function toast(message) {
  const box = $('#toast');
  box.hidden = false;
  put(box, message);
  clearTimeout(timer);
  timer = setTimeout(() => { box.hidden = true; }, SHOWN_MS);
}

export const copy = async (text, done) => toast(t((await copyText(text)) ? done : 'copy.failed'));

/** The menu of things to copy: `entries` {'copy-link': [() => text, key of the note]}. */
export function startCopyMenu(entries) {
  const menu = $('#copy-menu');
  for (const [id, [text, done]] of Object.entries(entries)) {
    $(`#${id}`).addEventListener('click', () => {
      menu.hidePopover();
      copy(text(), done);
    });
  }
  menu.addEventListener('toggle', (event) => {
    if (event.newState !== 'open') return;
    const at = $('[popovertarget="copy-menu"]').getBoundingClientRect();
    menu.style.top = `${at.bottom + 6}px`;
    menu.style.left = `${Math.max(12, Math.min(at.left, innerWidth - menu.offsetWidth - 12))}px`;
  });
}
