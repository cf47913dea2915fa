/**
 * The page /heads: the grid of all heads of a run, one of them opened, another pinned beside it, and what
 * the block writes at the chosen position. Holds the parts together; knows no figure.
 */

import { ApiError, get, listModels, newestOnly, post } from './api.js';
import { $, el, put } from './dom.js';
import { visible } from './format.js';
import { lang, t } from './i18n.js';
import { announce } from './live.js';
import { purge } from './plot.js';
import { runOf, sameRun } from './request.js';
import { formatFragment, oneOf, parseFragment, whole } from './state.js';
import { inRange, startTextPage } from './text_page.js';
import { startFigures } from './views/cards/parts.js';
import { createGrid, describe, poolingOf } from './views/heads/grid.js';
import { byLabel, runTest, testPanel } from './views/heads/induction.js';
import { lensPanel } from './views/heads/lens.js';
import { STAGES } from './views/heads/map.js';
import { clearest, filtered, METRICS, NAMES, ordered, TESTED } from './views/heads/metrics.js';
import { openedPanel } from './views/heads/opened.js';
import { createSource, MOST_BYTES, MOST_NUMBERS, patternsOf, thumbnailsOf } from './views/heads/source.js';
import { definitions, metricLine, tools } from './views/heads/tools.js';
import { driving, strongest } from './views/heads/units.js';
import { writesPanel } from './views/heads/writes.js';
import { asCurl, asPython } from './views/share.js';
import { weightsChoice } from './views/toggle.js';
import { errorWords } from './words.js';

const pinReader = (value) => (value && Object.keys(parseFragment(value, {})).length ? value : null);
const OWN = {
  metric: oneOf(...METRICS, ...TESTED), sort: oneOf('value'), only: whole, named: oneOf('any', 'none', ...NAMES), stage: oneOf(...STAGES), as: oneOf('lines'),
  special: oneOf('hidden'), pieces: oneOf('merged'), range: oneOf('own'), scale: oneOf('log'), unit: whole, test: oneOf('yes'), pin: pinReader,
};
const INITIAL = {
  layer: null, head: null, metric: 'induction', sort: null, only: null, named: null, stage: 'softmax', as: null,
  special: null, pieces: null, range: null, scale: null, unit: null, test: null, pin: null,
};
const GRID = ['metric', 'sort', 'only', 'named', 'pin'];
const OPENED = ['layer', 'head', 'position', 'stage', 'as', 'special', 'pieces', 'range', 'scale', 'pin'];
const RETRY_MS = 2000;
const SHORT = 128; // tokens up to which a head is fetched before it is asked for
const LARGE = 6; // heads in a row from which the grid takes the whole width

let limits = null;
let thumbnails = new Map();
let test = { result: null, problem: null, busy: false };
let drawnReply = null;
let intention = null;
let openings = 0;
const opener = newestOnly();
const lower = { units: newestOnly(), lens: newestOnly(), driving: newestOnly() };
const sources = new Map();

/** The numbers of a run, kept while it is one of the last few. */
function sourceOf(run) {
  const key = JSON.stringify(run);
  const source = sources.get(key) ?? createSource(run, lang);
  sources.delete(key);
  sources.set(key, source);
  if (sources.size > 4) sources.delete(sources.keys().next().value);
  return source;
}

// --- The run --------------------------------------------------------------------------------------

/**
 * The pictures that the first reply brings: of all heads where they fit, by the most tokens that the text
 * can have; else of the block that is looked at.
 */
async function pictures(body, state) {
  const models = await listModels();
  const known = models.find(({ id }) => id === body.model) ?? models[0];
  const { n_layers: layers, n_heads: heads, n_ctx: most } = { ...known, ...body.config };
  const tokens = Math.min(most, new TextEncoder().encode(body.text + (body.text_pair ?? '')).length + 3);
  if (layers * heads * tokens ** 2 <= MOST_BYTES) return [patternsOf()];
  const layer = Math.min(layers - 1, state.only ?? state.layer ?? 0);
  return heads * tokens ** 2 <= MOST_NUMBERS ? [patternsOf(layer)] : [];
}

async function ask(body, state, signal) {
  return post('/trace', { ...body, digits: 5, include: await pictures(body, state) }, { lang: lang(), signal });
}

// --- The grid -------------------------------------------------------------------------------------

const openHead = ({ layer, head }) => page.set({ layer, head });
const grid = createGrid($('#grid'), (head, byKey) => {
  openHead(head);
  focusOpened = byKey;
  if (byKey && !$('#opened').hasAttribute('aria-busy')) enterOpened();
  else if ($('#opened').getBoundingClientRect().top > innerHeight - 120) $('#opened').scrollIntoView({ block: 'start' });
}, intend);
let focusOpened = false;

/** Who opened a head from the keyboard goes on in it; Escape leads back to the grid. */
function enterOpened() {
  focusOpened = false;
  $('#opened-title')?.focus();
}
$('#opened').addEventListener('keydown', (event) => {
  if (event.key !== 'Escape' || event.defaultPrevented) return;
  event.preventDefault();
  $('#grid [tabindex="0"]')?.focus();
});
const labelOf = ({ layer, head }) => `L${layer}H${head}`;
const headOf = (reply, state) => reply.heads.find(({ layer, head }) => layer === state.layer && head === state.head);

function drawGrid(reply, state) {
  const tested = test.result && byLabel(test.result);
  const metric = TESTED.includes(state.metric) && !tested ? 'induction' : state.metric;
  const heads = ordered(filtered(reply.heads, state), { ...state, metric }, tested);
  const pinned = state.pin ? labelOf(parseFragment(state.pin, {})) : null;
  const size = reply.tokens.length;
  replace($('#grid-tools'), [tools({ state: { ...state, metric }, model: reply.model, tested, set: page.set }), metricLine({ metric, head: headOf(reply, state), tested })]);
  grid.draw({ heads, grouped: state.sort !== 'value', metric, tested, chosen: labelOf(state), pinned, thumbnails, size });
  const factor = poolingOf(size);
  put($('#grid-note'), [
    heads.length ? null : t('heads.none_left'),
    reply.heads.some(({ names }) => names.length) ? null : t('heads.nothing_stands_out'),
    factor > 1 ? t('heads.pooled', { factor }) : null,
    thumbnails.partial ? t('heads.by_block') : null,
  ].filter(Boolean).map((words) => el('p', { class: 'card-note' }, words)));
}

/** Pictures of the blocks on the screen where the text was too long for all of them at once. */
async function loadBlock(reply, state) {
  const mine = thumbnails;
  const layer = state.only ?? state.layer;
  if (!mine.partial || mine.has(`L${layer}H0`) || mine.waiting.has(layer)) return;
  mine.waiting.add(layer);
  try {
    const found = await sourceOf(sameRun(reply)).thumbnails(layer, { n_heads: reply.model.n_heads, n_tokens: reply.tokens.length });
    for (const [label, bytes] of found) mine.set(label, bytes);
    if (mine === thumbnails) grid.fill(mine, reply.tokens.length);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    put($('#grid-note'), el('p', { class: 'plot-status', role: 'alert' }, errorWords(error)));
  } finally {
    mine.waiting.delete(layer);
  }
}

function drawDefinitions(reply, state) {
  const open = $('#definitions details')?.open ?? false;
  put($('#definitions'), definitions({ head: headOf(reply, state), limits }));
  $('#definitions details').open = open;
}

// --- The test of repeated random tokens -----------------------------------------------------------

function drawTest() {
  replace($('#test'), testPanel({ ...test, run: () => page.set({ test: 'yes' }), open: openHead }), '#test-title');
}

async function startTest(reply) {
  const run = sameRun(reply);
  const key = JSON.stringify([run.model, run.norm, run.weights, run.config]);
  if (test.key === key) return;
  test = { result: null, problem: null, busy: true, key };
  drawTest();
  try {
    const result = await runTest(run);
    if (test.key !== key) return;
    test = { ...test, result, busy: false };
    announce(t('heads.test.said', { count: result.heads.filter(({ names }) => names.includes('induction')).length }));
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    if (test.key !== key) return;
    test = { result: null, problem: errorWords(error), busy: false, key: null };
  }
  drawTest();
  drawGrid(page.reply, stateNow());
}

/** A hand that rests on a head for a moment will open it: what it shows may be there by then. */
function intend({ layer, head }) {
  clearTimeout(intention);
  intention = setTimeout(() => {
    if (!page.reply || page.reply.tokens.length > SHORT) return;
    const { position: pos, stage } = stateNow();
    sourceOf(sameRun(page.reply)).prepare({ layer, head, pos, stage });
  }, 50);
}

// --- The opened head ------------------------------------------------------------------------------

const stateNow = () => shownState(page.reply, page.store.state);

/** The state with a head in it: where none was asked for, the clearest of this text. */
function shownState(reply, state) {
  const { layer, head } = state.layer === null || state.head === null ? clearest(reply.heads) : state;
  return inRange({ ...state, layer, head }, reply);
}

async function lookAt(source, { layer, head, pos, stage }, signal) {
  return { look: await source.look({ layer, head, pos, stage }, signal), layer, head, pos, label: labelOf({ layer, head }) };
}

/** The pinned head of its own run; its position is its own too. */
function pinnedOf(state) {
  const found = { ...INITIAL, pair: null, weights: null, size: null, norm: null, model: null, ...parseFragment(state.pin, {}) };
  return { run: runOf(found), layer: found.layer ?? 0, head: found.head ?? 0, pos: found.position ?? 0 };
}

const act = {
  set: (patch) => page.set(patch),
  open: openHead,
  choose: (position) => page.set({ position }),
  pin() {
    const { text, pair, model, norm, weights, size, layer, head, position } = stateNow();
    page.set({ pin: formatFragment({ text, pair, model, norm, weights, size, layer, head, position }, {}) });
    announce(t('heads.pinned.said', { label: labelOf({ layer, head }) }));
  },
  unpin: () => page.set({ pin: null }),
};

async function drawOpened(reply, state) {
  const root = $('#opened');
  openings += 1;
  const mine = openings;
  root.setAttribute('aria-busy', 'true');
  try {
    const [now, pin] = await opener.run((signal) => {
      const pinned = state.pin ? pinnedOf(state) : null;
      return Promise.all([
        lookAt(sourceOf(sameRun(reply)), { layer: state.layer, head: state.head, pos: state.position, stage: state.stage }, signal),
        pinned ? lookAt(sourceOf(pinned.run), { ...pinned, stage: state.stage }, signal) : null,
      ]);
    });
    if (mine !== openings) return;
    replace(root, openedPanel({ state, now, pin, named: headOf(reply, state), act }), '#opened-title');
    startFigures(root);
    replace($('#writes-body'), writesPanel({ query: now.look.query, head: state.head, open: openHead }));
    root.removeAttribute('aria-busy');
    root.dataset.label = now.label;
    if (focusOpened) enterOpened();
  } catch (error) {
    if (error.name === 'AbortError') return;
    root.removeAttribute('aria-busy');
    if (!(error instanceof ApiError)) throw error;
    put(root, el('p', { class: 'plot-status', role: 'alert' }, errorWords(error)),
      state.pin ? el('button', { type: 'button', class: 'button', onclick: act.unpin }, t('heads.unpin_any')) : null);
    if (error.code !== 'offline' && error.status !== 503) return;
    // What is busy or lost is asked for again, as long as nothing else is wanted.
    setTimeout(() => mine === openings && drawOpened(page.reply, stateNow()), RETRY_MS);
  }
}

/** Put `content` into `root`; the control that had the focus there has it again, or `otherwise` gets it. */
function replace(root, content, otherwise = null) {
  const held = root.contains(document.activeElement) ? document.activeElement : null;
  const { id, name, value } = held ?? {};
  const label = held?.getAttribute('aria-label');
  purge(root);
  put(root, content);
  if (!held) return;
  const same = [...root.querySelectorAll('button, input, select, summary, [tabindex]')].find((one) => !one.disabled
    && (id ? one.id === id : name ? one.name === name && one.value === value : label && one.getAttribute('aria-label') === label));
  (same ?? $(otherwise))?.focus({ preventScroll: true });
}

// --- What is fetched when it is looked at ---------------------------------------------------------

const seen = new IntersectionObserver((entries) => {
  for (const { target, isIntersecting } of entries) if (isIntersecting) fillLower(target.dataset.part);
}, { rootMargin: '200px' });
const stale = new Set();

const LOWER = {
  async units(reply, state, signal) {
    const source = sourceOf(sameRun(reply));
    const answer = await source.units({ layer: state.layer, pos: state.position, top_k: 10 }, signal);
    const one = state.unit === null || state.unit >= answer.strongest.d_mlp ? null : await source.units({ layer: state.layer, unit: state.unit, top_k: 10 }, signal);
    return [strongest({ reply: answer, unit: state.unit, choose: (unit) => page.set({ unit }) }),
      one ? driving({ reply: one, close: () => page.set({ unit: null }), choose: act.choose }) : null];
  },
  async lens(reply, state, signal) {
    if (!reply.predictions) return el('p', { class: 'card-note' }, t(reply.model.kind === 'random' ? 'heads.lens.none_random' : 'heads.lens.none'));
    const answer = await sourceOf(sameRun(reply)).lens({ pos: state.position, top_k: 3 }, signal);
    const followed = answer.states.at(-1).top.find(({ id }) => id === answer.token)?.label ?? String(answer.token);
    return lensPanel({ reply: answer, followed: visible(followed) });
  },
};

async function fillLower(part) {
  const { reply } = page;
  if (!reply || !stale.has(part)) return;
  stale.delete(part);
  const root = $(`#${part}-body`);
  root.setAttribute('aria-busy', 'true');
  try {
    const content = await lower[part].run((signal) => LOWER[part](reply, stateNow(), signal));
    replace(root, content);
    startFigures(root);
  } catch (error) {
    if (error.name === 'AbortError') return;
    if (!(error instanceof ApiError)) throw error;
    put(root, el('p', { class: 'plot-status', role: 'alert' }, errorWords(error)));
  }
  root.removeAttribute('aria-busy');
}

/** What a part shows is no longer what was asked for: it is made anew when it is on the screen. */
function outdate(parts) {
  for (const part of parts) {
    stale.add(part);
    const section = $(`[data-part="${part}"]`);
    seen.unobserve(section);
    seen.observe(section);
  }
}

// --- All of it ------------------------------------------------------------------------------------

function adopt(reply) {
  drawnReply = reply;
  thumbnails = thumbnailsOf(reply.tensors);
  thumbnails.partial = thumbnails.size < reply.heads.length;
  thumbnails.waiting = new Set();
  const { n_heads: heads } = reply.model;
  $('#stage').classList.toggle('is-wide', heads > LARGE);
  $('#stage').style.setProperty('--across', String(Math.min(heads, 12)));
  const key = JSON.stringify([reply.request.model, reply.request.norm, reply.request.weights ?? undefined, reply.request.config ?? undefined]);
  if (test.key !== key) test = { result: null, problem: null, busy: false };
}

function draw(reply, _, changed) {
  const state = shownState(reply, page.store.state);
  if (reply !== drawnReply) adopt(reply);
  const any = (names) => changed === null || names.some((name) => changed.has(name));
  if (page.store.state.layer === null || page.store.state.head === null) {
    // The head that the page chose is part of the view, and so of its address.
    queueMicrotask(() => page.set({ layer: state.layer, head: state.head }));
    if (changed !== null) return;
  }
  $('#stage').classList.toggle('is-paired', state.pin !== null);
  if (any(GRID)) drawGrid(reply, state);
  else if (any(['layer', 'head'])) grid.mark(labelOf(state));
  if (changed === null) {
    drawDefinitions(reply, state);
    drawTest();
    put($('#weights-choice'), weightsChoice(reply.model, page.store.state.weights, (weights) => page.set({ weights })));
  }
  if (state.test === 'yes' && any(['test'])) startTest(reply);
  if (any(['layer', 'head', 'only'])) loadBlock(reply, state);
  if (any(OPENED)) drawOpened(reply, state);
  if (any(['layer', 'position', 'unit'])) outdate(['units']);
  if (any(['position'])) outdate(['lens']);
  if (changed !== null && any(['layer', 'head'])) announce(describe(headOf(reply, state), state.metric, null));
}

const onScreen = () => {
  const state = stateNow();
  return sourceOf(sameRun(page.reply)).body({ layer: state.layer, head: state.head, pos: state.position, stage: state.stage });
};

const page = startTextPage({
  own: OWN,
  initial: { ...INITIAL, text: t('heads.example') },
  ask,
  draw,
  said: (reply) => t('heads.said', { tokens: reply.tokens.length, heads: reply.heads.length, named: reply.heads.filter(({ names }) => names.length).length }),
  copies: {
    'copy-curl': [() => asCurl(location.origin, onScreen(), '/heads'), 'copy.curl.done'],
    'copy-python': [() => asPython(location.origin, onScreen(), '/heads'), 'copy.python.done'],
  },
});

async function loadLimits() {
  try {
    limits = await get('/limits', { lang: lang() });
    if (page.reply) drawDefinitions(page.reply, stateNow());
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
  }
}
loadLimits();
