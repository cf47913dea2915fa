/**
 * The explorer: keeps state, run and views together. State changes; a run follows where text, model or
 * placement changed; the views follow. Makes no number and writes no sentence of its own.
 */

import { ApiError, post, tensorStore } from './api.js';
import { $, dataBlock, el, put } from './dom.js';
import { findFrame, framesOf, neighbourBox } from './frames.js';
import { lang, rich, t } from './i18n.js';
import { startKeys } from './keys.js';
import { announce } from './live.js';
import { runOf } from './request.js';
import { EXPLORER, EXPLORER_EMPTY, parseFragment } from './state.js';
import { inRange, startTextPage, whenIdle } from './text_page.js';
import { createCard } from './views/card.js';
import { toast } from './views/copying.js';
import { createRiver, renderBlocks } from './views/river.js';
import { asCurl, asPython, requestOf } from './views/share.js';
import { createStepper } from './views/stepper.js';
import { weightsChoice } from './views/toggle.js';
import { failedChecks, renderTrust } from './views/trust.js';
import { errorWords, flagWords, noteWords } from './words.js';

const VERIFY_AFTER_MS = 900;
const SURELY_THERE = 0.6; // of the tokens that a text of so many bytes should have

const example = dataBlock('example-trace');
// The example brings the vectors of one position along: the page starts there.
const brought = /\[(\d+)\]$/.exec(Object.keys(example.tensors)[0] ?? '');
const ofExample = { text: example.request.text, model: example.model.id, norm: example.model.norm };

let verifyTimer = null;

// --- From state to a run ------------------------------------------------------------------------

/** A trace with what the explorer makes of it; its checks, and flags of a point, are said at the card. */
const makeRun = (trace) => ({
  model: trace.model,
  tokens: trace.tokens,
  checks: [],
  flags: trace.flags.filter(({ point }) => point === null),
  trace,
  frames: framesOf(trace),
  tensors: tensorStore(trace, lang),
  verified: trace.not_checked.length === 0,
});

const bytesOf = (text) => new TextEncoder().encode(text).length;

/**
 * What the card shows now will most likely be wanted again: it comes with the new run's summary.
 * A text that is much shorter may have no such position; it is not asked for what it may lack.
 */
function alsoWanted(body) {
  const before = page.reply?.trace;
  if (!before || before.request.model !== body.model || body.config) return [];
  const expected = before.tokens.length * (bytesOf(body.text) / bytesOf(before.request.text));
  if (body.text !== before.request.text && shown().position >= SURELY_THERE * expected) return [];
  return [...page.reply.tensors.asked.values()].filter((entry) => (entry.points ?? entry).startsWith('blocks.'));
}

/** The run, with what will be wanted; without it where the text turned out too short for that. */
async function ask(body, _, signal) {
  clearTimeout(verifyTimer);
  const include = alsoWanted(body);
  try {
    return makeRun(await post('/trace', { ...body, include }, { lang: lang(), signal }));
  } catch (error) {
    if (!include.length || error.code !== 'index_out_of_range') throw error;
    return makeRun(await post('/trace', { ...body, include: [] }, { lang: lang(), signal }));
  }
}

function verifyLater(run) {
  clearTimeout(verifyTimer);
  if (!run.verified) verifyTimer = setTimeout(() => whenIdle(() => verify(run)), VERIFY_AFTER_MS);
}

async function verify(mine) {
  try {
    const reply = await post('/trace', { ...mine.trace.request, include: [], verify: true }, { lang: lang() });
    Object.assign(mine.trace, { checks: reply.checks, not_checked: reply.not_checked });
    mine.verified = true;
    if (page.reply === mine) drawTrust(mine, currentFrame(mine, shown()));
  } catch (error) {
    // Verification is a second look: a busy or lost server shows itself at the next real request.
    if (!(error instanceof ApiError)) throw error;
  }
}

// --- Drawing ------------------------------------------------------------------------------------

const shown = () => inRange(page.store.state, page.reply);

const currentFrame = (run, state) => findFrame(run.frames, state.layer, state.step);

const set = (patch) => page.set(patch);
const goTo = (frame) => set({ layer: frame.block, step: frame.key });

const stepper = createStepper(goTo);
const river = createRiver($('#river-picture'), {
  choosePosition: (position) => set({ position }),
  choose(slot) {
    const { layer } = shown();
    const frame = page.reply.frames.find((one) => one.slot === slot && one.block === layer);
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
    const text = page.store.state.text + piece;
    page.textbox.show(text);
    set({ text, position: null });
  },
});

function drawRiver({ trace }, state, frame) {
  river.update({ trace, block: state.layer, position: state.position, frame });
  renderBlocks($('#blocks'), {
    layers: trace.model.n_layers, block: state.layer,
    choose: (layer) => set({ layer }),
  });
  const said = trace.model.notes.map(noteWords);
  const wasChoosing = document.activeElement?.id === 'weights';
  put($('#river-place'), rich(`river.note.${trace.model.wiring === 'parallel' ? 'parallel' : trace.model.norm}`));
  put($('#river-note'), said.length ? el('p', {}, said.join(' ')) : null,
    weightsChoice(trace.model, page.store.state.weights, (weights) => set({ weights })));
  if (wasChoosing) $('#weights')?.focus();
}

function drawTrust({ trace, verified }, frame) {
  renderTrust($('#trust'), { checks: trace.checks, notChecked: trace.not_checked, frame, verified });
  const points = new Set(frame.steps.flatMap((step) => [step.output, ...step.inputs]));
  const here = trace.flags.filter((flag) => flag.point !== null && (points.has(flag.point) || (frame.layer !== null && flag.point.startsWith(`${frame.prefix}${frame.slot}.`))));
  put($('#card-flags'), failedChecks(trace.checks), here.map((flag) => el('p', { class: 'notice is-loud' }, flagWords(flag))));
}

function draw(run, state, changed) {
  const frame = currentFrame(run, state);
  drawRiver(run, state, frame);
  stepper.update(run.frames, frame);
  drawTrust(run, frame);
  card.update({ trace: run.trace, frame, state, tensors: run.tensors });
  if (changed === null) verifyLater(run);
  else sayMove(state, frame, changed);
}

/** What a step aside leads to, for screen readers; the choice of another token is said by every page. */
function sayMove(state, frame, changed) {
  if (changed.has('step') || changed.has('layer')) announce(t('label.value', { name: `${t('where.block_short', { block: state.layer })} ${t(frame.name)}`, value: t(frame.title) }));
  else if (changed.has('head')) announce(t('live.head', { head: state.head }));
  else if (changed.has('depth')) announce(t(`depth.${state.depth}`));
  if (changed.has('depth')) rememberDepth(state.depth);
}

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

// --- The page -------------------------------------------------------------------------------------

const asked = parseFragment(location.hash);
const request = () => requestOf(runOf(page.store.state), [...(page.reply?.tensors.asked.values() ?? [])]);

put($('#card-title'), t('live.loading'));
const page = startTextPage({
  own: EXPLORER,
  initial: {
    ...EXPLORER_EMPTY,
    ...ofExample,
    position: brought && Number(brought[1]),
    // Another model runs in its own placement unless the address says which.
    norm: (asked.model ?? ofExample.model) === ofExample.model ? ofExample.norm : null,
    ...rememberedDepth(),
  },
  // No request is needed before the first numbers.
  given: { state: { pair: null, weights: null, size: null, ...ofExample }, reply: makeRun(example) },
  ask,
  draw,
  said: ({ trace }) => t('live.traced', { tokens: trace.tokens.length, norm: t(`norm.name.${trace.model.norm}`) }),
  placed(run, state) {
    const frame = currentFrame(run, state);
    return { ...state, step: frame.key, position: page.store.state.position };
  },
  copies: {
    'copy-curl': [() => asCurl(location.origin, request()), 'copy.curl.done'],
    'copy-python': [() => asPython(location.origin, request()), 'copy.python.done'],
  },
});
function moveBox(offset) {
  const frame = neighbourBox(page.reply.frames, currentFrame(page.reply, shown()), offset);
  if (frame) goTo(frame);
}

startKeys(page, {
  stepper,
  moveBox,
  flip() {
    if (page.reply.model.wiring === 'parallel') toast(t('norm.undefined'));
    else set({ norm: page.store.state.norm === 'pre' ? 'post' : 'pre' });
  },
  depth: (event) => set({ depth: card.depths[Number(event.key) - 1] }),
});

new MutationObserver(page.redraw).observe(document.documentElement, { attributeFilter: ['data-theme'] });
