/** The page /stream: one text, both placements, the stream over depth and what it is the sum of. */

import { ApiError } from './api.js';
import { $, el, put } from './dom.js';
import { lang, rich, t } from './i18n.js';
import { announce } from './live.js';
import { sameRun } from './request.js';
import { matching, oneOf } from './state.js';
import { inRange, startTextPage } from './text_page.js';
import { holdWhatIsNamed } from './views/in_view.js';
import { asCurl, asPython } from './views/share.js';
import { QUANTITIES, stateAt, stopAt } from './views/stream/depth.js';
import { DIRECTION, directionOf, drawControls, drawLedger, GROUPS, SORTS } from './views/stream/ledger.js';
import { drawOutliers } from './views/stream/outliers.js';
import { drawOverview, placeWords } from './views/stream/overview.js';
import { bothRuns, kept } from './views/stream/runs.js';
import { drawSurvival, KINDS } from './views/stream/survival.js';
import { errorWords, noteWords } from './words.js';

const WAIT_MS = 60; // a slider on its way passes many states
const OF_THE_LEDGER = ['position', 'state', 'direction', 'norm'];

let waiting = null;
let asked = 0;
let books = null; // the ledger of each run that is on the page

const nameOf = ({ model }) => {
  const name = t(`norm.name.${model.norm}`);
  return model.norm_is_trained === false ? t('stream.experiment', { norm: name }) : name;
};

const viewOf = (reply, state, changed) => {
  const runs = reply.runs.map((trace) => ({ trace, norm: trace.model.norm, name: nameOf(trace), experiment: trace.model.norm_is_trained === false }));
  return { reply, state, changed, runs, trace: reply, run: runs.find(({ trace }) => trace.model.norm === reply.model.norm), at: stateAt(reply, state.state), stop: stopAt(reply, runs, state.state), set: page.set };
};

/** What the ledger is asked for; the run beside it is asked for its shares over depth only. */
function ledgerBody({ state, at, reply }, { trace }) {
  const body = { ...sameRun(trace), pos: state.position };
  if (trace.model.norm !== reply.model.norm) return body;
  const direction = directionOf(state.direction);
  return { ...body, state: at.point, ...(direction ? { direction } : {}) };
}

async function fetchBooks(view) {
  const mine = ++asked;
  $('#ledger').setAttribute('aria-busy', 'true');
  try {
    const found = await Promise.all(view.runs.map((run) => kept('/ledger', ledgerBody(view, run), { lang: lang() })));
    if (mine !== asked) return;
    books = found;
    showProblem(null);
    drawBooks(view);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    if (mine === asked) showProblem(error);
  } finally {
    if (mine === asked) $('#ledger').removeAttribute('aria-busy');
  }
}

function showProblem(error) {
  const note = $('#ledger-problem');
  note.hidden = error === null;
  put(note, error ? [errorWords(error), ' ', el('button', { type: 'button', class: 'button', onclick: () => page.redraw() }, t('card.retry'))] : '');
  $('#ledger').classList.toggle('is-stale', error !== null);
}

function drawBooks(view) {
  const own = books[view.runs.indexOf(view.run)];
  drawLedger($('#ledger'), { ...view, book: own });
  drawSurvival($('#survival'), { ...view, books });
}

function drawAbout({ runs, reply }) {
  const experiment = runs.find((run) => run.experiment && run.norm !== reply.model.norm);
  put($('#runs-note'),
    el('p', {}, runs.length === 1 ? rich('stream.runs.parallel') : rich(`stream.runs.${kindOf(reply)}`)),
    experiment ? el('p', { class: 'notice is-loud' }, t('stream.runs.experiment', { norm: t(`norm.name.${experiment.norm}`) }), ' ', experiment.trace.model.notes.filter(({ code }) => /final_norm/.test(code)).map(noteWords).join(' ')) : null);
}

const kindOf = ({ model, request }) => (model.kind === 'trained' && request.weights === model.norm && model.norms.length > 1 ? 'trained' : model.kind === 'random' ? 'random' : 'one_trained');

function draw(reply, state, changed) {
  const view = viewOf(reply, state, changed);
  if (changed === null) {
    drawAbout(view);
    drawOutliers($('#outliers'), view);
  }
  drawControls($('#ledger'), view);
  drawOverview($('#overview'), view);
  clearTimeout(waiting);
  if (changed === null) fetchBooks(view);
  else if (OF_THE_LEDGER.some((name) => changed.has(name))) waiting = setTimeout(() => fetchBooks(view), WAIT_MS);
  else if (books) drawBooks(view);
  if (changed?.has('state')) announce(t('stream.announce.depth', { place: placeWords(view.stop) }));
}

/** The request of the ledger on the page. */
function body() {
  const view = viewOf(page.reply, inRange(page.store.state, page.reply), null);
  return ledgerBody(view, view.run);
}

const page = startTextPage({
  own: {
    quantity: oneOf(...Object.keys(QUANTITIES)), state: matching(/^[a-z0-9_.]{1,80}$/), kind: oneOf(...KINDS), group: oneOf(...GROUPS), sort: oneOf(...SORTS), direction: matching(DIRECTION),
  },
  initial: { quantity: 'length', kind: 'embed', group: 'part', sort: 'size' },
  ask: (run, state, signal) => bothRuns(run, page.models.some(({ id, wiring }) => id === run.model && wiring === 'sequential'), { lang: lang(), signal }),
  draw,
  said: (reply) => t('stream.announce.run', { count: reply.tokens.length }),
  copies: {
    'copy-curl': [() => asCurl(location.origin, body(), '/ledger'), 'copy.curl.done'],
    'copy-python': [() => asPython(location.origin, body(), '/ledger'), 'copy.python.done'],
  },
});

holdWhatIsNamed(['survival', 'ledger', 'outliers']);
