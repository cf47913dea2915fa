/**
 * The lab: each experiment with its question, a guess, its sizes, and what POST /experiments gives.
 * What is typed lives in the fragment. No number is made here.
 */

import { ApiError, get, listModels } from './api.js';
import { $, $$, copyText, el, put } from './dom.js';
import { count, fixed } from './format.js';
import { has, lang, onLanguageChange, rich, t } from './i18n.js';
import { postLines } from './lines.js';
import { announce } from './live.js';
import { purge } from './plot.js';
import { startFigures, table } from './views/cards/parts.js';
import { holdInView } from './views/in_view.js';
import { dotProducts, inputNorms, reach } from './views/lab/attention.js';
import { depth, initGradients } from './views/lab/gradients.js';
import { asCurl } from './views/share.js';
import { stacked } from './views/stacked.js';
import { errorWords, modelName } from './words.js';

const EXPERIMENTS = [initGradients, inputNorms, dotProducts, depth, reach];
const runs = new Map(); // id -> {reply, guess, controller}
const problems = new Map(); // experiment -> what went wrong, or null
let models = [];

const cardOf = (id) => $(`#${id}`);
const part = (id, name) => $(`[data-part="${name}"]`, cardOf(id));

// --- What is asked ------------------------------------------------------------------------------

function control(experiment, field) {
  const id = `${experiment.id}-${field.name}`;
  const options = field.kind === 'model' ? models.map(({ id: model }) => [model, modelName(model)]) : field.options;
  const value = field.value ?? (field.kind === 'text' ? t('lab.input.text') : '');
  const input = options
    ? el('select', { id, name: field.name }, options.map(([key, label]) => el('option', { value: key, selected: key === field.value }, label)))
    : el('input', { id, name: field.name, type: 'text', value, inputmode: field.kind === 'whole' ? 'numeric' : 'text', autocomplete: 'off', spellcheck: 'false', 'aria-describedby': `${experiment.id}-error` });
  return el('div', { class: `lab-field is-${field.kind}` }, el('label', { for: id }, t(`lab.field.${field.name}`)), input);
}

/** The body of the request, or an ApiError that says which field is wrong. */
function bodyOf(experiment) {
  const body = {};
  for (const field of experiment.fields) {
    const text = $(`#${experiment.id}-${field.name}`).value.trim();
    const parts = text.split(/[\s,、，]+/).filter(Boolean);
    if (field.kind === 'whole' || field.kind === 'list') {
      if (!parts.length || !parts.every((one) => /^\d{1,9}$/.test(one)) || (field.kind === 'whole' && parts.length > 1)) {
        throw new ApiError({ code: field.kind === 'list' ? 'not_list' : 'not_whole', field: field.name }, 422);
      }
      body[field.name] = field.kind === 'whole' ? Number(parts[0]) : parts.map(Number);
    } else if (text || field.kind === 'text') {
      body[field.name] = text;
    }
  }
  return body;
}

function writeFragment(experiment) {
  const params = new URLSearchParams({ run: experiment.id });
  for (const field of experiment.fields) {
    const { value } = $(`#${experiment.id}-${field.name}`);
    if (value !== String(field.value ?? '')) params.set(field.name, value);
  }
  history.replaceState(history.state, '', `${location.pathname}${location.search}#${params}`);
}

function readFragment() {
  const params = new URLSearchParams(location.hash.slice(1));
  const experiment = EXPERIMENTS.find(({ id }) => id === params.get('run'));
  if (!experiment) return;
  for (const { name } of experiment.fields) {
    const input = $(`#${experiment.id}-${name}`);
    if (params.has(name) && (input.tagName !== 'SELECT' || [...input.options].some(({ value }) => value === params.get(name)))) input.value = params.get(name);
  }
  holdInView(cardOf(experiment.id));
}

// --- A run --------------------------------------------------------------------------------------

function showError(experiment, error) {
  problems.set(experiment, error);
  const place = $(`#${experiment.id}-error`);
  for (const input of $$('[aria-invalid]', cardOf(experiment.id))) input.removeAttribute('aria-invalid');
  place.hidden = error === null;
  if (error === null) return;
  const name = error.field?.replace(/[.[].*$/, '');
  const message = errorWords(error, '.form');
  put(place, name && has(`lab.field.${name}`) ? t('label.value', { name: t(`lab.field.${name}`), value: message }) : message);
  if (name) $(`#${experiment.id}-${name}`)?.setAttribute('aria-invalid', 'true');
}

function showProgress(experiment, progress) {
  const bar = $('progress', cardOf(experiment.id));
  bar.hidden = progress === null;
  const text = part(experiment.id, 'progress');
  if (progress === null) {
    put(text, '');
    return;
  }
  bar.max = progress.total || 1;
  bar.value = progress.done;
  put(text, progress.total ? t('lab.progress', { done: count(progress.done), total: count(progress.total) }) : t('lab.starting'));
}

const setRunning = (experiment, isRunning) => {
  $('[data-action="run"]', cardOf(experiment.id)).hidden = isRunning;
  $('[data-action="stop"]', cardOf(experiment.id)).hidden = !isRunning;
};

async function start(experiment) {
  showError(experiment, null);
  let body;
  try {
    body = bodyOf(experiment);
  } catch (error) {
    showError(experiment, error);
    return;
  }
  writeFragment(experiment);
  const controller = new AbortController();
  const run = { ...runs.get(experiment.id), controller };
  runs.set(experiment.id, run);
  setRunning(experiment, true);
  showProgress(experiment, { done: 0, total: 0 });
  try {
    run.reply = await postLines(`/experiments/${experiment.id}`, body, { lang: lang(), signal: controller.signal, onProgress: (progress) => showProgress(experiment, progress) });
    run.body = body;
    show(experiment);
    announce(t('lab.done', { title: t(`lab.${experiment.id}.title`) }));
  } catch (error) {
    if (error.name === 'AbortError') announce(t('lab.stopped'));
    else if (error instanceof ApiError) showError(experiment, error);
    else throw error;
  } finally {
    setRunning(experiment, false);
    showProgress(experiment, null);
  }
}

/** How the guess fared; `right` names the one that the figures bear out, or is null where they decide nothing. */
function verdict({ id }, guess, right) {
  const words = (one) => t(`lab.${id}.guess.${one}`);
  if (!guess) return el('p', { class: 'lab-guessed' }, t('lab.not_guessed'));
  const fared = right === null ? 'open' : guess === right ? 'right' : 'wrong';
  return el('p', { class: `lab-guessed is-${fared}` }, t(`lab.guessed.${fared}`, { guess: words(guess), right: right && words(right) }));
}

/** Results with the guess beside them; made again when the language changes. */
function show(experiment) {
  const { reply, body } = runs.get(experiment.id);
  const guess = $(`input[name="${experiment.id}-guess"]:checked`)?.value;
  const results = part(experiment.id, 'results');
  purge(results);
  put(results,
    el('div', { class: 'lab-found' },
      verdict(experiment, guess, experiment.right(reply)),
      experiment.found(reply).map((sentence) => el('p', {}, sentence))),
    el('div', { class: 'lab-figures' }, experiment.show(reply)),
    el('details', { class: 'plot-twin' }, el('summary', {}, t('lab.api')),
      el('pre', { tabindex: '0', role: 'region', 'aria-label': t('lab.api') }, el('code', {}, asCurl(location.origin, reply.request ?? body, `/experiments/${experiment.id}`))),
      el('p', { class: 'card-note' }, t('lab.seconds', { seconds: fixed(reply.seconds, 1) }))));
  startFigures(results);
}

// --- The cards ----------------------------------------------------------------------------------

/** Everything of a card but its results; what was typed and guessed stays. */
function makeCard(experiment) {
  const { id } = experiment;
  const typed = Object.fromEntries($$('input:not([type="radio"]), select', cardOf(id)).map((input) => [input.id, input.value]));
  const before = $(`input[name="${id}-guess"]:checked`)?.value;
  put(part(id, 'guess'), el('fieldset', { class: 'lab-guess' }, el('legend', {}, t('lab.guess')), experiment.guesses.map((guess) => el('label', {},
    el('input', { type: 'radio', name: `${id}-guess`, value: guess, checked: guess === before, onchange: () => runs.get(id)?.reply && show(experiment) }),
    el('span', {}, rich(`lab.${id}.guess.${guess}`))))));
  put(part(id, 'fields'), experiment.fields.map((field) => control(experiment, field)));
  for (const [name, value] of Object.entries(typed)) {
    const input = document.getElementById(name);
    // A text that the page itself had put there follows the language.
    if (input && value && !input.name.startsWith('text')) input.value = value;
  }
  put(part(id, 'lead'), rich(`lab.${id}.lead`));
  put(part(id, 'paper'), rich(`lab.${id}.paper`));
}

function listen(experiment) {
  const card = cardOf(experiment.id);
  $('form', card).addEventListener('submit', (event) => {
    event.preventDefault();
    start(experiment);
  });
  // Before this a press would send the form to the server, which has no such page.
  $('[data-action="run"]', card).disabled = false;
  $('[data-action="stop"]', card).addEventListener('click', () => runs.get(experiment.id).controller.abort());
  $('[data-action="link"]', card).addEventListener('click', async () => {
    writeFragment(experiment);
    announce(t((await copyText(location.href)) ? 'copy.link.done' : 'copy.failed'));
  });
}

/** The twins' own training: its record's end, and the way to all of it. */
async function showTraining() {
  put($('[data-part="lead"]', $('#training')), rich('lab.training.lead'));
  put($('[data-part="paper"]', $('#training')), rich('lab.training.paper'));
  const place = $('[data-part="results"]', $('#training'));
  try {
    const record = await get('/models/twin/training', { lang: lang() });
    const sets = [['shipped', record.runs], ...record.high_rate.map((pair) => ['high_rate', pair])];
    const last = (run, language) => fixed(run.record.held_out[language].at(-1), 2);
    put(place,
      el('div', { class: 'card-scroll', tabindex: '0', role: 'region', 'aria-label': t('lab.training.table') }, stacked(table(
        ['what', 'steps', 'post_en', 'pre_en', 'post_ja', 'pre_ja'].map((key) => t(`lab.training.${key}`)),
        sets.map(([key, pair]) => [t(`lab.training.${key}`), count(pair.post.steps_done), last(pair.post, 'en'), last(pair.pre, 'en'), last(pair.post, 'ja'), last(pair.pre, 'ja')]),
        t('lab.training.table')))),
      el('p', { class: 'card-note' }, t('lab.training.note')));
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    put(place, el('p', { class: 'card-note' }, errorWords(error, '.form')));
  }
}

async function begin() {
  try {
    models = await listModels();
  } catch (error) {
    // Without the list the server's default model runs.
    if (!(error instanceof ApiError)) throw error;
  }
  for (const experiment of EXPERIMENTS) {
    makeCard(experiment);
    listen(experiment);
  }
  document.documentElement.dataset.ready = 'lab';
  readFragment();
  showTraining();
}

onLanguageChange(() => {
  for (const experiment of EXPERIMENTS) {
    makeCard(experiment);
    if (runs.get(experiment.id)?.reply) show(experiment);
    showError(experiment, problems.get(experiment) ?? null);
  }
  showTraining();
});
window.addEventListener('hashchange', readFragment);
begin();
