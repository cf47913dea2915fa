/**
 * A page that runs a typed text: keeps its state in the address, asks the API where the run changed,
 * says what went wrong, and hands each answer to the page. Knows no figure.
 *
 * startTextPage({own, initial, given, ask, draw, said, placed, copies}) → the page (see its end)
 *   own      the page's own fields of the address, each with its reader (see state.js)
 *   initial  values of the state where the address says nothing
 *   given    {state, reply}: a run that the page brought along, and the state that it answers
 *   ask      async (body, state, signal) → reply with `model`, `tokens`, `checks` and `flags`, and with
 *            `runs` that have the last two where it shows several; `body` names the run
 *   draw     (reply, state, changed) → void; `changed` is the Set of names since the last drawing, or
 *            null for all (a new reply, another language)
 *   said     (reply) → the sentence for screen readers when a new reply is there
 *   placed   (reply, state) → the state as the address spells it; without it, as it was drawn
 *   copies   further entries of the menu for copying
 * The page's template includes _controls.html and _menus.html; toggle and tokens may be absent.
 */

import { ApiError, listModels, newestOnly } from './api.js';
import { $, el, put } from './dom.js';
import { onLanguageChange, t } from './i18n.js';
import { announce } from './live.js';
import { runOf } from './request.js';
import { createStore, formatFragment, parseFragment } from './state.js';
import { copy, startCopyMenu } from './views/copying.js';
import { watchLoading } from './views/loading.js';
import { createProblem } from './views/problem.js';
import { createTextbox, remember } from './views/textbox.js';
import { createModelSelect, createToggle } from './views/toggle.js';
import { createTokens, describe } from './views/tokens.js';
import { failedChecks } from './views/trust.js';
import { flagWords } from './words.js';

const RUN_STATE = ['text', 'pair', 'model', 'norm', 'weights', 'size'];
const KEPT_REPLIES = 6;
const MOST_FLAGS = 8; // what is not finite spoils every value after it; a failed check counts them all

const clamp = (value, size) => Math.min(size - 1, Math.max(0, value ?? size - 1));

/** A state as a run can show it: layer, head and position in range. */
export const inRange = (state, { model, tokens }) => ({
  ...state,
  layer: clamp(state.layer, model.n_layers),
  head: clamp(state.head, model.n_heads),
  position: clamp(state.position, tokens.length),
});

export const whenIdle = (task) => ('requestIdleCallback' in window ? requestIdleCallback(task) : setTimeout(task, 0));

export function startTextPage({ own = {}, initial = {}, given, ask, draw, said, placed = (_, state) => state, copies = {} }) {
  const store = createStore({ text: t('example.default'), ...initial, ...parseFragment(location.hash, own) });
  const runner = newestOnly();
  const replies = new Map(); // what was asked for -> reply
  const problem = createProblem(() => refresh());
  let models = given ? [given.reply.model] : [];
  let reply = null;
  let writeTimer = null;

  const set = (patch) => store.set(patch);
  const keyOf = (state) => JSON.stringify(RUN_STATE.map((name) => state[name]));
  const textbox = createTextbox((text) => set({ text }), (pair) => set({ pair: pair || null }));
  const toggle = $('#toggle') ? createToggle($('#toggle'), (norm) => set({ norm })) : null;
  const modelSelect = createModelSelect($('#model'), (choice) => {
    // A model of one placement starts in it: the other wiring is an experiment that one asks for.
    const chosen = models.find((model) => model.id === choice.model);
    const pair = chosen?.text_pair ? store.state.pair : null;
    set(chosen?.norms.length === 1 ? { ...choice, pair, norm: null, weights: null } : { ...choice, pair });
  });
  const tokens = $('#tokens') ? createTokens($('#tokens'), (position) => set({ position })) : null;

  function setBusy(busy) {
    $('#busy').hidden = !busy;
    $('#main').setAttribute('aria-busy', String(busy));
    watchLoading(busy && models.find(({ id }) => id === store.state.model)?.kind !== 'trained' ? store.state.model : null);
  }

  /** What is on the page is what is asked for: nothing is on its way any more, and nothing is wrong. */
  function settle() {
    runner.abort();
    setBusy(false);
    problem.clear();
  }

  function keep(key, made) {
    replies.delete(key);
    replies.set(key, made);
    if (replies.size > KEPT_REPLIES) replies.delete(replies.keys().next().value);
  }

  function show(changed) {
    if (!reply) return;
    const state = inRange(store.state, reply);
    toggle?.update(store.state.norm, reply.model);
    modelSelect.update(models.length ? models : [reply.model], store.state);
    textbox.showPair(store.state.pair, reply.model.text_pair);
    tokens?.update(reply.tokens, state.position, changed === null);
    if (changed === null) drawNotices();
    draw(reply, state, changed);
  }

  function drawNotices() {
    const { runs = [reply] } = reply;
    const loud = (words) => el('p', { class: 'notice is-loud' }, words);
    put($('#notices'),
      reply.model.norm_is_trained === false ? loud(t('notice.other_wiring')) : null,
      runs.map(({ checks, model }) => failedChecks(checks, runs.length > 1 ? model.norm : null)),
      [...new Set(runs.flatMap(({ flags }) => flags.map(flagWords)))].slice(0, MOST_FLAGS).map(loud));
  }

  function adopt(made) {
    const isNew = reply !== made;
    reply = made;
    problem.clear();
    // What was asked for as 'the model's own' is now known by name, and that is the same run.
    const named = { model: reply.model.id, norm: reply.model.norm };
    keep(keyOf({ ...store.state, ...named }), made);
    store.set(named);
    document.documentElement.dataset.ready = 'yes';
    show(null);
    if (said && isNew) announce(said(reply));
  }

  async function refresh() {
    const { state } = store;
    const key = keyOf(state);
    const kept = replies.get(key);
    problem.stopRetrying();
    if (kept) {
      settle();
      adopt(kept);
      return;
    }
    if (!state.text.trim()) {
      settle();
      problem.show(new ApiError({ code: 'empty_text', field: 'text' }, 422));
      return;
    }
    setBusy(true);
    try {
      const made = await runner.run((signal) => ask(runOf(state), state, signal));
      setBusy(false);
      keep(key, made);
      adopt(made);
      remember(state.text);
    } catch (error) {
      if (error.name === 'AbortError') return;
      setBusy(false);
      problem.show(error);
    }
  }

  function writeAddress() {
    clearTimeout(writeTimer);
    const state = reply ? placed(reply, inRange(store.state, reply)) : store.state;
    history.replaceState(history.state, '', `${location.pathname}${location.search}#${formatFragment(state, own)}`);
  }

  function link() {
    writeAddress();
    return location.href;
  }

  store.listen((state, changed) => {
    clearTimeout(writeTimer);
    writeTimer = setTimeout(writeAddress, 150);
    if (RUN_STATE.some((name) => changed.has(name))) {
      toggle?.update(state.norm);
      // After an answer the names it filled in change too: then the reply is there already.
      if (!reply || replies.get(keyOf(state)) !== reply) refresh();
      else settle();
      return;
    }
    show(changed);
    if (reply && changed.has('position')) announce(describe(reply.tokens[inRange(state, reply).position]));
  });

  addEventListener('hashchange', () => {
    const found = parseFragment(location.hash, own);
    if (found.text !== undefined) textbox.show(found.text);
    if (found.text !== undefined) found.pair ??= null;
    set(found);
    // The link past the header leaves its own mark in the address: the view's comes back.
    if (Object.keys(found).length === 0) writeAddress();
  });
  onLanguageChange(() => {
    problem.write();
    show(null);
  });
  startCopyMenu({ 'copy-link': [link, 'copy.link.done'], ...copies });

  async function loadModels() {
    try {
      models = await listModels();
      if (reply) modelSelect.update(models, store.state);
    } catch (error) {
      // Without the list the model of the address still runs.
      if (!(error instanceof ApiError)) throw error;
    }
  }

  if (given) keep(keyOf({ ...store.state, ...given.state }), given.reply);
  if (models.length) modelSelect.update(models, store.state);
  toggle?.update(store.state.norm);
  textbox.show(store.state.text);
  // When the page has this object: its drawings use it.
  queueMicrotask(refresh);
  whenIdle(loadModels);
  return {
    store,
    set,
    textbox,
    redraw: () => show(null),
    /** One further or back in 'layer', 'head' or 'position', as far as the run goes. */
    move(name, offset) {
      if (!reply) return;
      const now = inRange(store.state, reply);
      set({ [name]: inRange({ ...now, [name]: now[name] + offset }, reply)[name] });
    },
    copyLink: () => copy(link(), 'copy.link.done'),
    get reply() {
      return reply;
    },
    get models() {
      return models;
    },
  };
}
