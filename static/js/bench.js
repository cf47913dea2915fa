/**
 * The bench: vectors typed by hand through Add & Norm in both placements, by POST /api/v1/add-norm.
 * What is typed lives in the fragment, so that a link shows the same view. No arithmetic here.
 */

import { ApiError, newestOnly, post } from './api.js';
import { asPython, InputError, matrixFor, requestOf } from './bench_input.js';
import { colourOf, currentTheme, css, inkOn, onThemeChange, sharedRange } from './colour.js';
import { $, $$, copyText, el, put } from './dom.js';
import { brief, compact, exactly, fixed, share } from './format.js';
import { lang, onLanguageChange, t, term } from './i18n.js';
import { announce } from './live.js';
import { inline, m, series, sign } from './mathml.js';
import { purge } from './plot.js';
import { startFigures } from './views/cards/parts.js';
import { stripsBlock } from './views/cards/strips.js';
import { errorWords } from './words.js';

const START = { x: '1, 2, 3', kind: 'update', update: '0.5, -0.5, 1', matrix: '', bias: '', eps: '1e-5', gamma: '', beta: '' };
const NAMES = Object.keys(START);
const EPSILONS = [1e-12, 1e-5, 1e-3, 0.1, 1];
const WAIT_MS = 150;
const SPELLED = 6; // components that are written out in a line

let fields = { ...START };
let answers = null;
const requests = newestOnly();

function readFragment() {
  const params = new URLSearchParams(location.hash.slice(1));
  const found = Object.fromEntries(NAMES.filter((name) => params.has(name)).map((name) => [name, params.get(name)]));
  if (found.kind !== 'matrix') found.kind = 'update';
  fields = { ...START, ...found };
  if (fields.kind === 'matrix') fields.matrix = matrixFor(fields);
  const from = params.get('from');
  $('#from').hidden = !from;
  if (from) put($('#from'), t('bench.from', { from }));
}

function writeFragment() {
  const params = new URLSearchParams();
  for (const name of NAMES) if (fields[name] !== START[name]) params.set(name, fields[name]);
  const kept = new URLSearchParams(location.hash.slice(1)).get('from');
  if (kept && params.size) params.set('from', kept);
  history.replaceState(history.state, '', `${location.pathname}${location.search}${params.size ? `#${params}` : ''}`);
}

function showFields() {
  for (const name of NAMES) {
    if (name === 'kind') $(`[name="kind"][value="${fields.kind}"]`).checked = true;
    else if ($(`#${name}`).value !== fields[name]) $(`#${name}`).value = fields[name];
  }
  for (const kind of ['update', 'matrix']) $(`#kind-${kind}`).hidden = fields.kind !== kind;
}

/** Say what is wrong beside the field it concerns; without a field, above the results. */
function showError(error) {
  for (const place of $$('.bench-error')) place.hidden = true;
  for (const input of $$('[aria-invalid]')) input.removeAttribute('aria-invalid');
  $('.bench-results').classList.toggle('is-stale', error !== null);
  $('.bench-results').classList.toggle('is-empty', answers === null);
  $('#stale').hidden = error === null || answers === null;
  if (!error) return;
  const field = error.field?.replace(/[.[].*$/, '') ?? null;
  const place = (field && document.getElementById(`${field}-error`)) || $('#failed');
  const sentence = error instanceof InputError ? t(`${error.code === 'lengths_differ' ? 'error' : 'bench.error'}.${error.code}`, error.params)
    : errorWords(error, '.form');
  put(place, sentence, place.id === 'failed' ? el('button', { type: 'button', class: 'button', onclick: run }, t('card.retry')) : null);
  place.hidden = false;
  if (field) document.getElementById(field)?.setAttribute('aria-invalid', 'true');
}

async function run() {
  writeFragment();
  let body;
  try {
    body = requestOf(fields);
  } catch (error) {
    requests.abort();
    showError(error);
    return;
  }
  try {
    answers = await requests.run(async (signal) => {
      const ask = (more) => post('/add-norm', { ...body, ...more }, { lang: lang(), signal });
      const epsilons = [...new Set([...EPSILONS, body.eps])].sort((a, b) => a - b);
      // One request first: a refusal is then said once.
      const atPost = await ask({ placement: 'post' });
      const [atPre, ...others] = await Promise.all([ask({ placement: 'pre' }), ...epsilons.map((eps) => ask({ placement: 'post', eps }))]);
      return { body, post: atPost, pre: atPre, epsilons: others };
    });
  } catch (error) {
    if (error.name === 'AbortError') return;
    if (!(error instanceof ApiError)) throw error;
    showError(error);
    return;
  }
  showError(null);
  showAnswers();
  announce(t('bench.announce', { post: spell(answers.post.result), pre: spell(answers.pre.result) }));
}

const spell = (values) => {
  const first = values.slice(0, SPELLED).map((value) => brief(value));
  return `[${[...first, ...(values.length > SPELLED ? ['…'] : [])].join(', ')}]`;
};

/** Which vector the strips of a placement show, in the order of its steps. */
const STRIPS = {
  post: [['x', 'stream', ''], ['update', 'mlp', '+'], ['added', 'stream', '='], ['normalized', 'norm', ''], ['out', 'norm', '']],
  pre: [['x', 'stream', ''], ['normalized', 'norm', ''], ['out', 'norm', ''], ['update', 'mlp', ''], ['added', 'stream', '']],
};

const READS = { post: { update: 'F(x)', added: 'x + F(x)', v: 'x + F(x)' }, pre: { update: 'F(LayerNorm(x))', added: 'x + F(LayerNorm(x))', v: 'x' } };

function stageOf(name, placement, answer) {
  const value = answer[name];
  const source = placement === 'post' ? answer.added : answer.x;
  const result = (left) => [left && inline(left), inline(m`${sign(exactly(value, brief(value)))} ${brief(value)}`)];
  const few = source.length <= SPELLED;
  if (name === 'mean') return result(few ? m`μ = \frac{${series(source.map((one) => brief(one)))}}{${source.length}}` : m`μ`);
  if (name === 'var') {
    return result(few ? m`σ^2 ${sign(answer.centred.every((one) => exactly(one, brief(one, 4)) === '=') ? '=' : '≈')} \frac{${series(answer.centred.map((one) => m`${brief(one, 4)}^2`))}}{${source.length}}` : m`σ^2`);
  }
  if (name === 'scale') return result(m`\sqrt{σ^2 + ε} ≈ \sqrt{${brief(answer.var)} + ${brief(answer.eps)}}`);
  return el('span', { class: 'num' }, spell(value));
}

function placementView(placement) {
  const answer = answers[placement];
  const result = placement === 'post' ? 'out' : 'added';
  const name = (stage) => READS[placement][stage] ?? t(`bench.stage.${stage}`, { v: READS[placement].v });
  const rows = STRIPS[placement].map(([stage, role, mark]) => ({ name: stage === 'x' ? 'x' : name(stage), point: stage, role, sign: mark, values: answer[stage] }));
  const steps = answer.steps.map((stage) => el('li', { class: stage === result ? 'is-result' : null, data: { stage } },
    el('span', { class: 'bench-stage-name' }, t(`bench.stage.${stage}`, { v: READS[placement].v }), el('code', {}, stage)),
    el('span', { class: 'bench-stage-value' }, stageOf(stage, placement, answer))));
  return [
    stripsBlock({
      rows, range: sharedRange(...['post', 'pre'].flatMap((one) => STRIPS[one].map(([stage]) => answers[one][stage]))), dim: null, t, file: `add-norm-${placement}`,
      name: t(`bench.figure.${placement}`), note: t('bench.one_range'), twin: answer.x.length > SPELLED,
    }),
    el('ol', { class: 'bench-steps' }, steps),
    el('p', { class: 'bench-result', role: 'note' }, el('b', {}, t(`bench.leaves.${placement}`)), ' ', el('span', { class: 'num' }, spell(answer.result))),
    answer.flags.length ? el('p', { class: 'card-hint' }, t('bench.not_finite')) : null,
  ];
}

function epsilonTable() {
  const theme = currentTheme();
  const all = answers.epsilons;
  const range = sharedRange(...all.map(({ normalized }) => normalized));
  const size = Math.min(SPELLED, answers.body.x.length);
  const head = ['ε', t('bench.eps_share'), term('scale', t('bench.stage.scale')), ...Array.from({ length: size }, (_, i) => t('bench.component', { i }))];
  return el('div', { class: 'card-scroll', tabindex: '0', role: 'group', 'aria-label': t('bench.epsilons') }, el('table', { class: 'card-table bench-epsilons' },
    el('caption', { class: 'sr-only' }, t('bench.epsilons')),
    el('thead', {}, el('tr', {}, head.map((one) => el('th', { scope: 'col' }, one)))),
    el('tbody', {}, all.map((answer) => el('tr', { class: answer.eps === answers.body.eps ? 'is-chosen' : null },
      el('th', { scope: 'row' }, inline(m`${brief(answer.eps)}`)),
      el('td', {}, share(answer.eps / (answer.var + answer.eps))),
      el('td', {}, compact(answer.scale, 6)),
      answer.normalized.slice(0, size).map((value) => {
        const colour = colourOf(value, 'diverging', range, theme);
        return el('td', { style: `background: ${css(colour)}; color: ${inkOn(colour)}` }, fixed(value, 5));
      }))))));
}

function showAnswers() {
  if (!answers) return;
  for (const placement of ['post', 'pre']) {
    const root = $(`#${placement}-stages`);
    purge(root);
    put(root, placementView(placement));
    startFigures(root);
  }
  put($('#epsilons'), epsilonTable());
  put($('#python'), asPython(answers.body));
}

let timer = null;

function changed(event) {
  if (event.isComposing) return;
  const { name, value } = event.target;
  if (!NAMES.includes(name)) return;
  fields = { ...fields, [name]: value };
  if (fields.kind === 'matrix' && name !== 'matrix') fields.matrix = matrixFor(fields);
  if (name === 'kind' || name === 'x') showFields();
  clearTimeout(timer);
  timer = setTimeout(run, name === 'kind' ? 0 : WAIT_MS);
}

function start() {
  $('#form').addEventListener('input', changed);
  $('#form').addEventListener('compositionend', changed);
  $('#form').addEventListener('submit', (event) => { event.preventDefault(); run(); });
  $('#form').addEventListener('keydown', (event) => {
    // One line of numbers: Enter computes at once. The matrix has lines of its own.
    if (event.key === 'Enter' && !event.isComposing && event.target.id !== 'matrix' && event.target.matches('textarea, input')) {
      event.preventDefault();
      clearTimeout(timer);
      run();
    }
  });
  for (const button of $$('[data-eps]')) {
    button.addEventListener('click', () => {
      fields = { ...fields, eps: button.dataset.eps };
      showFields();
      run();
    });
  }
  $('#reset').addEventListener('click', () => {
    history.replaceState(history.state, '', location.pathname + location.search);
    readFragment();
    showFields();
    run();
  });
  const copied = [
    ['copy-link', () => location.href, 'copy.link', 'copy.link.done'],
    ['copy-python', () => $('#python').textContent, 'bench.copy', 'copy.python.done'],
  ];
  for (const [id, text, words, done] of copied) {
    const button = $(`#${id}`);
    button.addEventListener('click', async () => {
      const said = t((await copyText(text())) ? done : 'copy.failed');
      announce(said);
      put(button, said);
      setTimeout(() => put(button, t(words)), 1600);
    });
  }
  addEventListener('hashchange', () => { readFragment(); showFields(); run(); });
  onLanguageChange(() => { readFragment(); run(); });
  onThemeChange(() => answers && put($('#epsilons'), epsilonTable()));
  readFragment();
  showFields();
  run();
}

start();
