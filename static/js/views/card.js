/**
 * The frame round the card of the current step: where we are, heading, the four depths, the checks.
 * What stands inside is made by views/cards/ (one module for each kind of step); this module knows
 * no kind.
 *
 * The contract: `render(root, ctx)` of views/cards/index.js fills `root` for `ctx.frame` at the depth
 * `ctx.state.depth`. It may be asynchronous, must leave `root` complete without Plotly, and must not
 * write to `root` after `ctx.signal.aborted`. Heading, tabs and checks are not its business.
 *   trace   the reply of POST /api/v1/trace          frame   see frames.js
 *   state   {layer, head, position, depth, dim, norm, …}; position and head are in range here
 *   set     change the state: ctx.set({head: 3}), ctx.set({dim: 17}), ctx.set({position: 2})
 *   load    async (['blocks.0.resid_mid[3]', …]) => {entry: tensor}; also takes request options in
 *           an entry as the API does ({points, encoding, dtype, digits})
 *   t, rich         sentences: see i18n.js           lang    'ja' | 'en'
 *   append  run again with this token at the end of the text (predictions): ctx.append(piece)
 *   signal  aborted as soon as another card takes the place
 */

import { $, $$, el, put } from '../dom.js';
import { lang, rich, t, term } from '../i18n.js';
import { DEPTHS } from '../state.js';
import { render } from './cards/index.js';
import { describe } from './tokens.js';

export function createCard({ set, append, explainError }) {
  const body = $('#card-body');
  const tabs = $$('[role="tab"]', $('#depths'));
  let controller = null;
  let shown = {};

  $('#depths').addEventListener('click', (event) => {
    const tab = event.target.closest('[role="tab"]');
    if (tab) set({ depth: tab.dataset.depth });
  });
  $('#depths').addEventListener('keydown', (event) => {
    const moves = { ArrowLeft: -1, ArrowRight: 1 };
    if (!(event.key in moves)) return;
    event.preventDefault();
    const at = tabs.indexOf(document.activeElement);
    const next = tabs[(at + moves[event.key] + tabs.length) % tabs.length];
    set({ depth: next.dataset.depth });
    next.focus();
  });

  function head({ trace, frame, state }) {
    const token = trace.tokens[state.position];
    put($('#where'),
      el('span', { class: 'place' }, frame.layer === null ? t(`where.${frame.slot}`) : t('where.block', { block: frame.layer })),
      el('span', { class: 'place' }, describe(token)),
      el('span', { class: 'place' }, term(`${trace.model.norm}_ln`, t(`norm.name.${trace.model.norm}`))));
    put($('#card-title'), t(frame.title));
    $('#card').dataset.kind = frame.kind;
    for (const tab of tabs) {
      const here = tab.dataset.depth === state.depth;
      tab.setAttribute('aria-selected', String(here));
      tab.tabIndex = here ? 0 : -1;
      if (here) body.setAttribute('aria-labelledby', tab.id);
    }
  }

  async function update(view) {
    controller?.abort();
    const mine = new AbortController();
    controller = mine;
    head(view);
    // Another component of the same card asks for nothing new, and all of it is still on the screen.
    const place = [view.frame.id, view.state.position, view.state.head, view.state.depth].join();
    if (view.trace !== shown.trace || place !== shown.place) view.tensors.forget();
    shown = { trace: view.trace, place };
    try {
      await render(body, {
        ...view, set, append, load: view.tensors.load, t, rich, lang: lang(), signal: mine.signal,
      });
    } catch (error) {
      if (mine.signal.aborted || error.name === 'AbortError') return;
      if (error.name !== 'ApiError') throw error;
      body.removeAttribute('aria-busy');
      put(body, el('div', { class: 'failed', role: 'alert' },
        el('p', {}, explainError(error)),
        el('button', { type: 'button', class: 'button', onclick: () => update(view) }, t('card.retry'))));
    }
  }

  return { update, depths: DEPTHS };
}
