/** The strip of tokens: one is chosen, by a click or with the arrow keys. Knows only tokens. */

import { el, put } from '../dom.js';
import { t } from '../i18n.js';

/** What a screen reader hears, and a pointer sees, of a token. */
export function describe(token) {
  const words = t('tokens.one', { index: token.index, label: token.label });
  return token.part === null ? words : `${words} ${t('tokens.part', { part: token.part, parts: token.parts })}`;
}

export function createTokens(root, choose) {
  let tokens = [];
  let chosen = 0;

  function item(token) {
    return el('button', {
      type: 'button', role: 'radio', class: `token ${token.special ? 'is-special' : ''}`,
      title: describe(token), 'aria-label': describe(token), data: { index: String(token.index) },
      onclick: () => choose(token.index),
    },
    el('span', { class: 'label' }, token.label),
    el('span', { class: 'index num' }, String(token.index), token.part === null ? null : ` · ${token.part}/${token.parts}`));
  }

  function mark() {
    for (const button of root.children) {
      const here = Number(button.dataset.index) === chosen;
      button.setAttribute('aria-checked', String(here));
      button.tabIndex = here ? 0 : -1;
    }
    const current = root.children[chosen];
    if (!current) return;
    // Only the strip scrolls, never the page.
    const left = current.offsetLeft - root.offsetLeft;
    if (left < root.scrollLeft || left + current.offsetWidth > root.scrollLeft + root.clientWidth) {
      root.scrollLeft = left - (root.clientWidth - current.offsetWidth) / 2;
    }
  }

  root.addEventListener('keydown', (event) => {
    const moves = { ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1, Home: -Infinity, End: Infinity };
    if (!(event.key in moves) || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    const next = Math.min(tokens.length - 1, Math.max(0, chosen + moves[event.key]));
    choose(next);
    root.children[next]?.focus({ preventScroll: true });
  });

  return {
    update(newTokens, position, force = false) {
      chosen = position;
      if (newTokens !== tokens || force) {
        const hadFocus = root.contains(document.activeElement);
        tokens = newTokens;
        put(root, tokens.map(item));
        if (hadFocus) root.children[chosen]?.focus({ preventScroll: true });
      }
      mark();
    },
  };
}
