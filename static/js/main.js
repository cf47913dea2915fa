/**
 * The explorer: keeps state, run and views together. State changes; a run follows where text, model or
 * placement changed; the views follow. Makes no number and writes no sentence of its own.
 */

import { ApiError, get, newestOnly, post, tensorStore } from './api.js';
import { $, dataBlock, el, put } from './dom.js';
import { findFrame, framesOf, neighbourBox } from './frames.js';
import { lang, onLanguageChange, rich, t } from './i18n.js';
import { showKeys, startKeys } from './keys.js';
import { announce } from './live.js';
import { runOf } from './request.js';
import { createStore, EXPLORER_EMPTY, formatFragment, parseFragment } from './state.js';
import { createCard } from './views/card.js';
import { copy, startCopyMenu, toast } from './views/copying.js';
import { watchLoading } from './views/loading.js';
import { createProblem } from './views/problem.js';
import { createRiver, renderBlocks } from './views/river.js';
import { asCurl, asPython, requestOf } from './views/share.js';
import { createStepper } from './views/stepper.js';
import { createTextbox, remember } from './views/textbox.js';
import { createModelSelect, createToggle, weightsChoice } from './views/toggle.js';
import { createTokens, describe } from './views/tokens.js';
import { failedChecks, renderTrust } from './views/trust.js';
import { errorWords, flagWords, noteWords } from './words.js';

const VERIFY_AFTER_MS = 900;
const KEPT_RUNS = 6;
const SURELY_THERE = 0.6; // of the tokens that a text of so many bytes should have
const RUN_STATE = ['text', 'pair', 'model', 'norm', 'weights', 'size'];

const example = dataBlock('example-trace');
// The example brings the vectors of one position along: the page starts there.
const brought = /\[(\d+)\]$/.exec(Object.keys(example.tensors)[0] ?? '');
const asked = parseFragment(location.hash);
const store = createStore({
  ...EXPLORER_EMPTY,
  text: example.request.text,
  position: brought ? Number(brought[1]) : null,
  model: example.model.id,
  // Another model runs in its own placement unless the address says which.
  norm: (asked.model ?? example.model.id) === example.model.id ? example.model.norm : null,
  ...asked,
});

let run = null; // {trace, frames, tensors, verified}
let models = [example.model];
let verifyTimer = null;
const runs = new Map();
const runner = newestOnly();
const problem = createProblem(() => refresh());

// --- From state to a run ------------------------------------------------------------------------

function makeRun(trace) {
  return { trace, frames: framesOf(trace), tensors: tensorStore(trace, lang), verified: trace.not_checked.length === 0 };
}

function keep(key, made) {
  runs.delete(key);
  runs.set(key, made);
  if (runs.size > KEPT_RUNS) runs.delete(runs.keys().next().value);
}

const bytesOf = (text) => new TextEncoder().encode(text).length;

/**
 * What the card shows now will most likely be wanted again: it comes with the new run's summary.
 * A text that is much shorter may have no such position; it is not asked for what it may lack.
 */
function alsoWanted(body) {
  const before = run?.trace;
  if (!before || before.request.model !== body.model || body.config) return [];
  const expected = before.tokens.length * (bytesOf(body.text) / bytesOf(before.request.text));
  if (body.text !== before.request.text && shown().position >= SURELY_THERE * expected) return [];
  return [...run.tensors.asked.values()].filter((entry) => (entry.points ?? entry).startsWith('blocks.'));
}

/** The run, with what will be wanted; without it where the text turned out too short for that. */
async function traceOf(body, signal) {
  const include = alsoWanted(body);
  try {
    return await post('/trace', { ...body, include }, { lang: lang(), signal });
  } catch (error) {
    if (!include.length || error.code !== 'index_out_of_range') throw error;
    return post('/trace', { ...body, include: [] }, { lang: lang(), signal });
  }
}

async function refresh() {
  const { state } = store;
  const body = runOf(state);
  const key = JSON.stringify(body);
  problem.stopRetrying();
  clearTimeout(verifyTimer);
  if (runs.has(key)) {
    runner.abort();
    setBusy(false);
    adopt(key, runs.get(key));
    return;
  }
  if (!body.text.trim()) {
    runner.abort();
    setBusy(false);
    problem.show(new ApiError({ code: 'empty_text', field: 'text' }, 422));
    return;
  }
  setBusy(true);
  try {
    const trace = await runner.run((signal) => traceOf(body, signal));
    setBusy(false);
    adopt(key, makeRun(trace));
    remember(body.text);
  } catch (error) {
    if (error.name === 'AbortError') return;
    setBusy(false);
    problem.show(error);
  }
}

function adopt(key, made) {
  const isNew = run !== made;
  keep(key, made);
  run = made;
  problem.clear();
  // What was asked for as 'the model's own' is now known by name, and that is the same run.
  const named = { model: run.trace.model.id, norm: run.trace.model.norm };
  keep(JSON.stringify(runOf({ ...store.state, ...named })), made);
  store.set(named);
  draw();
  if (isNew) announce(t('live.traced', { tokens: run.trace.tokens.length, norm: run.trace.model.norm === 'pre' ? 'Pre-LN' : 'Post-LN' }));
  if (!run.verified) verifyTimer = setTimeout(whenIdle(verify), VERIFY_AFTER_MS);
}

const whenIdle = (task) => () => ('requestIdleCallback' in window ? requestIdleCallback(task) : setTimeout(task, 0));

async function verify() {
  const mine = run;
  try {
    const reply = await post('/trace', { ...mine.trace.request, include: [], verify: true }, { lang: lang() });
    Object.assign(mine.trace, { checks: reply.checks, not_checked: reply.not_checked });
    mine.verified = true;
    if (run === mine) drawTrust();
  } catch (error) {
    // Verification is a second look: a busy or lost server shows itself at the next real request.
    if (!(error instanceof ApiError)) throw error;
  }
}

// --- Drawing ------------------------------------------------------------------------------------

function setBusy(busy) {
  $('#busy').hidden = !busy;
  $('#card').toggleAttribute('data-busy', busy);
  watchLoading(busy && models.find(({ id }) => id === store.state.model)?.kind !== 'trained' ? store.state.model : null);
}

const clamp = (value, size) => Math.min(size - 1, Math.max(0, value ?? size - 1));

/** The state as this run can show it: layer, head and position in range. */
function shown() {
  const { state } = store;
  const { model, tokens } = run.trace;
  return {
    ...state,
    layer: clamp(state.layer, model.n_layers),
    head: clamp(state.head, model.n_heads),
    position: clamp(state.position, tokens.length),
  };
}

const currentFrame = (state) => findFrame(run.frames, state.layer, state.step);

const set = (patch) => store.set(patch);
const goTo = (frame) => set({ layer: frame.block, step: frame.key });

const textbox = createTextbox((text) => set({ text }), (pair) => set({ pair: pair || null }));
const tokens = createTokens($('#tokens'), (position) => set({ position }));
const toggle = createToggle($('#toggle'), (norm) => set({ norm }));
const modelSelect = createModelSelect($('#model'), (choice) => {
  // A model of one placement starts in it: the other wiring is an experiment that one asks for.
  const chosen = models.find((model) => model.id === choice.model);
  const pair = chosen?.text_pair ? store.state.pair : null;
  set(chosen?.norms.length === 1 ? { ...choice, pair, norm: null, weights: null } : { ...choice, pair });
});
const stepper = createStepper(goTo);
const river = createRiver($('#river-picture'), {
  choosePosition: (position) => set({ position }),
  choose(slot) {
    const { layer } = shown();
    const frame = run.frames.find((one) => one.slot === slot && one.block === layer);
    if (frame) goTo(frame);
  },
});
const card = createCard({
  set,
  explainError: errorWords,
  append(piece) {
    if (/^<.*>$/.test(piece)) { // a single byte, or a special token: not a text that could be typed
      toast(t('text.not_appendable', { piece }));
      return;
    }
    const text = store.state.text + piece;
    textbox.show(text);
    set({ text, position: null });
  },
});

function drawRiver(state, frame) {
  const { trace } = run;
  river.update({ trace, block: state.layer, position: state.position, frame });
  renderBlocks($('#blocks'), {
    layers: trace.model.n_layers, block: state.layer,
    choose: (layer) => set({ layer }),
  });
  const said = trace.model.notes.map(noteWords);
  const wasChoosing = document.activeElement?.id === 'weights';
  put($('#river-place'), rich(`river.note.${trace.model.wiring === 'parallel' ? 'parallel' : trace.model.norm}`));
  put($('#river-note'), said.length ? el('p', {}, said.join(' ')) : null,
    weightsChoice(trace.model, store.state.weights, (weights) => set({ weights })));
  if (wasChoosing) $('#weights')?.focus();
}

function drawNotices() {
  const { model, flags } = run.trace;
  const notes = [];
  if (model.norm_is_trained === false) notes.push(el('p', { class: 'notice is-loud' }, t('notice.other_wiring')));
  for (const flag of flags.filter((one) => one.point === null)) notes.push(el('p', { class: 'notice is-loud' }, flagWords(flag)));
  put($('#notices'), notes);
}

function drawTrust() {
  const { trace, verified } = run;
  const frame = currentFrame(shown());
  renderTrust($('#trust'), { checks: trace.checks, notChecked: trace.not_checked, frame, verified });
  const points = new Set(frame.steps.flatMap((step) => [step.output, ...step.inputs]));
  const here = trace.flags.filter((flag) => flag.point !== null && (points.has(flag.point) || (frame.layer !== null && flag.point.startsWith(`${frame.prefix}${frame.slot}.`))));
  put($('#card-flags'), failedChecks(trace.checks), here.map((flag) => el('p', { class: 'notice is-loud' }, flagWords(flag))));
}

function draw({ force = false } = {}) {
  if (!run) return;
  const state = shown();
  const frame = currentFrame(state);
  toggle.update(store.state.norm, run.trace.model);
  modelSelect.update(models, state);
  textbox.showPair(store.state.pair, run.trace.model.text_pair);
  tokens.update(run.trace.tokens, state.position, force);
  drawNotices();
  drawRiver(state, frame);
  stepper.update(run.frames, frame);
  drawTrust();
  card.update({ trace: run.trace, frame, state, tensors: run.tensors });
}

// --- State and address --------------------------------------------------------------------------

let writeTimer = null;

function writeAddress() {
  clearTimeout(writeTimer);
  const state = run ? { ...store.state, step: currentFrame(shown()).key, layer: shown().layer } : store.state;
  history.replaceState(history.state, '', `${location.pathname}${location.search}#${formatFragment(state)}`);
}

store.listen((state, changed) => {
  clearTimeout(writeTimer);
  writeTimer = setTimeout(writeAddress, 150);
  if (RUN_STATE.some((name) => changed.has(name))) {
    toggle.update(state.norm);
    // After an answer the names it filled in change too: then the run is there already.
    if (!run || !isCurrent(state)) refresh();
    else settle();
    return;
  }
  if (!run) return;
  draw();
  const frame = currentFrame(shown());
  if (changed.has('step') || changed.has('layer')) announce(`${t('where.block_short', { block: shown().layer })} ${t(frame.name)}: ${t(frame.title)}`);
  else if (changed.has('position')) announce(describe(run.trace.tokens[shown().position]));
  else if (changed.has('head')) announce(t('live.head', { head: shown().head }));
  else if (changed.has('depth')) announce(t(`depth.${state.depth}`));
  if (changed.has('depth')) rememberDepth(state.depth);
});

/** What is on the page is what is asked for: nothing is on its way any more, and nothing is wrong. */
function settle() {
  runner.abort();
  setBusy(false);
  problem.clear();
}

const isCurrent = (state) => runs.get(JSON.stringify(runOf(state))) === run;

addEventListener('hashchange', () => {
  const found = parseFragment(location.hash);
  if (found.text !== undefined) textbox.show(found.text);
  if (found.text !== undefined) found.pair ??= null;
  set(found);
  // The link past the header leaves its own mark in the address: the view's comes back.
  if (Object.keys(found).length === 0) writeAddress();
});

function rememberDepth(depth) {
  try {
    localStorage.setItem('depth', depth);
  } catch {
    // Then it lasts as long as the page.
  }
}

function rememberedDepth() {
  try {
    return parseFragment(`depth=${localStorage.getItem('depth')}`);
  } catch {
    return {};
  }
}

// --- Copying, keys, language ----------------------------------------------------------------------

function link() {
  writeAddress();
  return location.href;
}

const request = () => requestOf(runOf(store.state), [...run.tensors.asked.values()]);
startCopyMenu({
  'copy-link': [link, 'copy.link.done'],
  'copy-curl': [() => asCurl(location.origin, request()), 'copy.curl.done'],
  'copy-python': [() => asPython(location.origin, request()), 'copy.python.done'],
});
$('#keys-open').addEventListener('click', showKeys);

function moveBox(offset) {
  const frame = neighbourBox(run.frames, currentFrame(shown()), offset);
  if (frame) goTo(frame);
}

const within = (value, size) => Math.min(size - 1, Math.max(0, value));
const movePosition = (offset) => set({ position: within(shown().position + offset, run.trace.tokens.length) });
const moveBlock = (offset) => set({ layer: within(shown().layer + offset, run.trace.model.n_layers) });
const moveHead = (offset) => set({ head: within(shown().head + offset, run.trace.model.n_heads) });

startKeys({
  next: () => stepper.move(1),
  previous: () => stepper.move(-1),
  next_box: () => moveBox(1),
  previous_box: () => moveBox(-1),
  play: () => stepper.toggle(),
  flip: () => {
    if (run.trace.model.wiring === 'parallel') toast(t('norm.undefined'));
    else set({ norm: store.state.norm === 'pre' ? 'post' : 'pre' });
  },
  next_token: () => movePosition(1),
  previous_token: () => movePosition(-1),
  next_block: () => moveBlock(1),
  previous_block: () => moveBlock(-1),
  next_head: () => moveHead(1),
  previous_head: () => moveHead(-1),
  depth: (event) => set({ depth: card.depths[Number(event.key) - 1] }),
  text: () => textbox.focus(),
  copy_link: () => copy(link(), 'copy.link.done'),
  help: showKeys,
});

onLanguageChange(() => {
  problem.write();
  draw({ force: true });
});
new MutationObserver(() => draw()).observe(document.documentElement, { attributeFilter: ['data-theme'] });

async function loadModels() {
  try {
    models = (await get('/models', { lang: lang() })).models;
    if (run) modelSelect.update(models, shown());
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
  }
}

// --- Start ----------------------------------------------------------------------------------------

if (!parseFragment(location.hash).depth) set(rememberedDepth());
textbox.show(store.state.text);
// The page brought the example's run along: no request is needed before the first numbers.
keep(JSON.stringify(runOf({ ...store.state, text: example.request.text, model: example.model.id, norm: example.model.norm, size: null })), makeRun(example));
modelSelect.update(models, store.state);
toggle.update(store.state.norm);
put($('#card-title'), t('live.loading'));
refresh();
whenIdle(loadModels)();
