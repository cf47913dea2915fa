/**
 * The page /compare: one text through both placements, one cursor through both runs. Keeps state, runs
 * and views together; makes no number and writes no sentence of its own.
 */

import { ApiError, listModels, post, tensorStore } from './api.js';
import { $, $$, el, put } from './dom.js';
import { findFrame, framesOf, neighbourBox } from './frames.js';
import { visible } from './format.js';
import { lang, rich, t } from './i18n.js';
import { startKeys } from './keys.js';
import { announce } from './live.js';
import { purge } from './plot.js';
import { matching, oneOf, whole } from './state.js';
import { inRange, startTextPage } from './text_page.js';
import { startFigures } from './views/cards/parts.js';
import { drawParting, drawHeads, drawPredictions, MEASURES } from './views/compare/parting.js';
import { stepNodes } from './views/compare/values.js';
import { commonPoint, inRun, mergeWalks, stationsOf } from './views/compare/walk.js';
import { createRiver, renderBlocks } from './views/river.js';
import { asCurl, asPython } from './views/share.js';
import { createStepper } from './views/stepper.js';
import { weightsChoice } from './views/toggle.js';
import { describe } from './views/tokens.js';
import { errorWords, noteWords } from './words.js';

const PLACEMENTS = ['post', 'pre'];
// A link to the table below stays with it: what stands above comes later, and pushes it down.
let anchor = location.hash === '#who' ? $('#who') : null;
// Notes of a model that this page says in a sentence of its own.
const SAID_ELSEWHERE = ['random_weights', 'other_wiring', 'final_norm_missing', 'no_unembedding', 'decoder_only'];
const own = { step: matching(/^[a-z0-9_]+(\.[a-z0-9_]+)?$/), measure: oneOf(...MEASURES), dim: whole };

// --- The two runs -------------------------------------------------------------------------------

const requestOf = ({ text, text_pair: pair, ...run }) => ({
  text, ...(pair ? { text_pair: pair } : {}), runs: PLACEMENTS.map((norm) => ({ ...run, norm })),
});

/** Whether a model has one placement only: Attention and FFN side by side. */
async function isParallel(id) {
  if (!id) return false; // the server's default has both
  return (await listModels()).some((model) => model.id === id && model.wiring === 'parallel');
}

/** Both runs; of a model that has one placement only, that one. */
async function ask(body, state, signal) {
  const options = { lang: lang(), signal };
  if (!(await isParallel(body.model))) return shapeOf(await post('/compare', requestOf(body), options));
  const trace = await post('/trace', { ...body, norm: null, weights: null }, options);
  return shapeOf({ request: null, runs: [trace], difference: null });
}

/** What the page keeps of a reply: its runs with their frames and tensors, and the walk through both. */
function shapeOf(reply) {
  const sides = reply.runs.map((trace) => ({ trace, frames: framesOf(trace), load: tensorStore(trace, lang).load }));
  const walk = mergeWalks(sides.map(({ frames }) => frames));
  const differences = new Map();
  return {
    ...reply,
    // The placements are the page's own: neither is 'the' placement, and neither is announced as a warning.
    model: { ...reply.runs[0].model, norm: null, norm_is_trained: null },
    tokens: reply.runs[0].tokens,
    sides,
    walk,
    stations: reply.difference ? stationsOf(walk, reply.difference.points) : [],
    async loadDifference(entry) {
      if (!differences.has(entry)) {
        const asked = post('/compare', { ...reply.request, include: [entry] }, { lang: lang() });
        differences.set(entry, asked.then(({ tensors }) => tensors[entry], (error) => {
          differences.delete(entry);
          throw error;
        }));
      }
      return differences.get(entry);
    },
  };
}

// --- Drawing ------------------------------------------------------------------------------------

const frameOf = (reply, state) => findFrame(reply.walk, state.layer, state.step);
const labelsOf = (reply) => reply.tokens.map(({ label }) => visible(label));

const rivers = PLACEMENTS.map((norm) => createRiver($(`#river-${norm} .river-picture`), {
  beside: true,
  choosePosition: (position) => page.set({ position }),
  choose(slot) {
    const state = inRange(page.store.state, page.reply);
    const frame = page.reply.walk.find((one) => one.slot === slot && one.block === state.layer);
    if (frame) goTo(frame);
  },
}));

const trainedIn = ({ norm_is_trained: trained, weights }) => {
  if (trained === null) return [t('compare.trained.random'), ''];
  if (trained) return [t('compare.trained.yes'), 'is-good'];
  return [t('compare.trained.no', { weights: t(`norm.name.${weights}`) }), 'is-loud'];
};

/** One placement: its name, whether the weights know it, its river, and where its final LayerNorm is. */
function drawSide(root, river, side, reply, state, frame) {
  root.hidden = !side;
  if (!side) return;
  const { trace } = side;
  const { norm } = trace.model;
  const [words, kind] = trainedIn(trace.model);
  put($('.side-trained', root), el('span', { class: `trained ${kind}` }, words));
  const other = reply.sides.find((one) => one !== side)?.trace;
  river.update({ trace, other, block: state.layer, position: state.position, frame: inRun(side.frames, frame)?.frame ?? frame });
  const last = trace.model.n_layers - 1;
  const final = side.frames.find((one) => one.slot === 'ln_final');
  put($('.side-note', root), rich(`compare.place.${norm}`), ' ',
    final
      ? el('button', { type: 'button', class: 'compare-jump', 'aria-current': frame.slot === 'ln_final' ? 'step' : null, onclick: () => goTo(final) }, t('compare.final.here', { block: last }))
      : el('span', {}, t('compare.final.none')));
  const notes = trace.model.notes.filter(({ code }) => !SAID_ELSEWHERE.includes(code));
  put($('.side-model', root), notes.map(noteWords).join(' '));
}

/** What is equal in both runs beside the text: the sentence that says how far the numbers may be compared. */
function weightsWords(reply) {
  const { model } = reply.runs[0];
  if (reply.runs.length === 1) return t('compare.weights.single');
  const used = reply.runs.map((run) => run.model.weights);
  if (model.kind === 'random') return t('compare.weights.random');
  if (used[0] !== used[1]) return t('compare.weights.twins');
  return t('compare.weights.shared', { norm: t(`norm.name.${used[0]}`) });
}

function drawWords(reply, state) {
  const choosing = document.activeElement?.id === 'weights';
  put($('#compare-words'), weightsWords(reply));
  put($('#compare-weights'), weightsChoice(reply.runs[0].model, state.weights, (weights) => page.set({ weights })));
  if (choosing) $('#weights')?.focus();
}

function drawCursor(reply, state, frame) {
  renderBlocks($('#blocks'), { layers: reply.model.n_layers, block: state.layer, choose: (layer) => page.set({ layer }) });
  const heads = reply.model.n_heads;
  const step = (offset, key) => el('button', {
    type: 'button', class: 'quiet', 'aria-label': t(key), title: t(key), data: { offset: String(offset) },
    disabled: state.head + offset < 0 || state.head + offset >= heads, onclick: () => page.set({ head: state.head + offset }),
  }, offset < 0 ? '‹' : '›');
  const root = $('#head-choice');
  const focused = root.contains(document.activeElement) ? document.activeElement.dataset.offset : null;
  root.hidden = frame.kind !== 'attention';
  put(root, step(-1, 'keys.previous_head'), el('p', { class: 'num' }, el('b', {}, t('live.head', { head: state.head })), el('span', {}, t('compare.heads.of', { heads }))), step(1, 'keys.next_head'));
  if (focused) (root.querySelector(`[data-offset="${focused}"]:enabled`) ?? root.querySelector('button:enabled'))?.focus();
}

let turn = 0;

/** The card of the step: complete before it shows, and dropped where a later step overtook it. */
async function drawCard(reply, state, frame) {
  turn += 1;
  const mine = turn;
  const body = $('#card-body');
  put($('#where'),
    el('span', { class: 'place' }, frame.layer === null ? t(`where.${frame.slot}`) : t('where.block', { block: frame.layer })),
    el('span', { class: 'place' }, describe(reply.tokens[state.position])),
    frame.kind === 'attention' ? el('span', { class: 'place' }, t('live.head', { head: state.head })) : null);
  put($('#card-title'), t(frame.name));
  body.setAttribute('aria-busy', 'true');
  const found = reply.sides.map((side) => ({ ...side, found: inRun(side.frames, frame) }));
  const common = reply.difference && found.length === 2 ? commonPoint(found[0].found, found[1].found, reply.difference.points) : null;
  let nodes;
  try {
    nodes = await stepNodes({ reply, sides: found, state, frame, common, labels: labelsOf(reply), set: page.set, loadDifference: reply.loadDifference });
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    nodes = [el('div', { class: 'failed' }, el('p', {}, errorWords(error)),
      el('button', { type: 'button', class: 'button', onclick: () => page.redraw() }, t('card.retry')))];
  }
  if (turn !== mine) return;
  const kept = body.contains(document.activeElement) ? document.activeElement.closest('[data-keep]')?.dataset.keep : null;
  purge(body);
  put(body, nodes);
  body.removeAttribute('aria-busy');
  if (kept) body.querySelector(`[data-keep="${kept}"]`)?.focus({ preventScroll: true });
  startFigures(body);
}

function drawDifference(reply, state, frame) {
  $('#difference').hidden = !reply.difference;
  if (!reply.difference) return;
  const view = { reply, stations: reply.stations, state, labels: labelsOf(reply), frame, set: page.set };
  drawParting($('#depth-chart'), view);
  drawHeads($('#head-distances'), view);
  drawPredictions($('#prediction-changes'), view);
}

function draw(reply, state, changed) {
  const frame = frameOf(reply, state);
  const only = (name) => changed?.size === 1 && changed.has(name);
  if (only('dim')) {
    for (const part of $$('.card-follows', $('#card-body'))) part.choose?.(state.dim);
    return;
  }
  if (only('measure')) {
    drawDifference(reply, state, frame);
    return;
  }
  $('#main').classList.toggle('is-single', reply.sides.length === 1);
  drawWords(reply, page.store.state);
  drawCursor(reply, state, frame);
  PLACEMENTS.forEach((norm, i) => drawSide($(`#river-${norm}`), rivers[i], reply.sides.find(({ trace }) => trace.model.norm === norm), reply, state, frame));
  stepper.update(reply.walk, frame);
  const card = drawCard(reply, state, frame);
  drawDifference(reply, state, frame);
  if (anchor) card.then(() => { anchor?.scrollIntoView(); anchor = null; });
  if (changed && (changed.has('step') || changed.has('layer'))) announce(`${t('where.block_short', { block: state.layer })} ${t(frame.name)}`);
  else if (changed?.has('head')) announce(t('live.head', { head: state.head }));
}

// --- State, keys, copying -----------------------------------------------------------------------

const goTo = (frame) => page.set({ layer: frame.block, step: frame.key });
const stepper = createStepper(goTo);

const page = startTextPage({
  own, initial: { step: 'add1', measure: null, dim: null }, ask, draw,
  said: (reply) => t('compare.said', { tokens: reply.tokens.length }),
  copies: {
    'copy-curl': [() => asCurl(location.origin, shared(), sharedCall()), 'copy.curl.done'],
    'copy-python': [() => asPython(location.origin, shared(), sharedCall()), 'copy.python.done'],
  },
});

const sharedCall = () => (page.reply.request ? '/compare' : '/trace');

/** The request that gives the numbers on the screen. */
function shared() {
  const { reply } = page;
  if (!reply.request) return reply.runs[0].request;
  const given = (fields) => Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null));
  const { text, text_pair: pair, runs } = reply.request;
  return given({ text, text_pair: pair, runs: runs.map(given) });
}

const shown = () => inRange(page.store.state, page.reply);

function moveBox(offset) {
  const frame = neighbourBox(page.reply.walk, frameOf(page.reply, shown()), offset);
  if (frame) goTo(frame);
}

startKeys(page, { stepper, moveBox });
