/**
 * The page of costs: sizes at the left, what GET /cost counts for them at the right. The sizes live in
 * the fragment. No count is made here.
 */

import { ApiError, get, newestOnly, post } from './api.js';
import { binary, bytes, times } from './big.js';
import { $, $$, copyText, el, put } from './dom.js';
import { costLines } from './figures/costs.js';
import { count, percent } from './format.js';
import { lang, onLanguageChange, rich, t } from './i18n.js';
import { announce } from './live.js';
import { purge } from './plot.js';
import { figure, startFigures } from './views/cards/parts.js';
import { shortForms } from './views/cost/forms.js';
import { parametersSection, ratios } from './views/cost/parameters.js';
import { crossingsList, layersTable, restricting, sharesBars } from './views/cost/table.js';
import { sharesOf, tilesSection } from './views/cost/tiles.js';
import { holdWhatIsNamed } from './views/in_view.js';
import { stacked } from './views/stacked.js';
import { errorWords } from './words.js';

const START = { n_ctx: 512, d_model: 512, d_mlp: 2048, n_heads: 8, kernel: 5, radius: 32 };
const NAMES = Object.keys(START);
const WAIT_MS = 60;
const DRAW_AFTER_MS = 250;
const PATTERN = 'blocks.0.attn.pattern[0]';

/** Places of a slider: powers of two and the halves between them; odd widths for the kernel. */
const halves = (low, high) => {
  const found = [];
  for (let power = 1; power <= high; power *= 2) found.push(power, power * 1.5);
  return found.filter((value) => Number.isInteger(value) && value >= low && value <= high);
};
const PLACES = {
  n_ctx: halves(1, 131072), d_model: halves(8, 16384), d_mlp: halves(1, 65536), n_heads: [1, 2, 4, 8, 16, 32, 64],
  kernel: Array.from({ length: 31 }, (_, i) => 2 * i + 3), radius: halves(1, 4096),
};

let sizes = { ...START };
let reply = null;
let run = null;
let drawing = null;
let problem = null;
const requests = newestOnly();

const field = (name) => $(`[data-field="${name}"]`);

function readFragment() {
  const params = new URLSearchParams(location.hash.slice(1));
  sizes = { ...START };
  for (const name of NAMES) if (/^\d{1,6}$/.test(params.get(name) ?? '')) sizes[name] = Number(params.get(name));
}

function writeFragment() {
  const params = new URLSearchParams();
  for (const name of NAMES) if (sizes[name] !== START[name]) params.set(name, sizes[name]);
  history.replaceState(history.state, '', `${location.pathname}${location.search}${params.size ? `#${params}` : ''}`);
}

const nearest = (places, value) => places.reduce((best, place, i) =>
  (Math.abs(Math.log(place / value)) < Math.abs(Math.log(places[best] / value)) ? i : best), 0);

function showSizes(except = null) {
  for (const name of NAMES) {
    const [range, number] = [$('input[type="range"]', field(name)), $('input[type="text"]', field(name))];
    if (range !== except) range.value = nearest(PLACES[name], sizes[name]);
    range.setAttribute('aria-valuetext', count(sizes[name]));
    if (number !== except) number.value = sizes[name];
  }
}

/** Say what is wrong beside the size it concerns; without one, above the results. */
function showError(error) {
  problem = error;
  for (const place of $$('.cost-error')) place.hidden = true;
  for (const input of $$('[aria-invalid]')) input.removeAttribute('aria-invalid');
  $('#results').classList.toggle('is-stale', error !== null);
  if (!error) return;
  const at = error.field && field(error.field);
  const place = at ? $('.cost-error', at) : $('#failed');
  put(place, errorWords(error, '.form'),
    at ? null : el('button', { type: 'button', class: 'button', onclick: ask }, t('card.retry')));
  place.hidden = false;
  if (at) $('input[type="text"]', at).setAttribute('aria-invalid', 'true');
}

async function ask() {
  writeFragment();
  try {
    reply = await requests.run((signal) => get(`/cost?${new URLSearchParams(sizes)}`, { lang: lang(), signal }));
  } catch (error) {
    if (error.name === 'AbortError') return;
    if (!(error instanceof ApiError)) throw error;
    showError(error);
    return;
  }
  showError(null);
  show();
}

// --- What is shown ------------------------------------------------------------------------------

const row = (name) => reply.rows.find((found) => found.name === name);

function glance() {
  const { parameters, symbols } = reply;
  const tile = (role, key, value, note) => el('div', { class: 'cost-tile-fact', data: { role } },
    el('dt', {}, rich(`cost.glance.${key}`)), el('dd', {}, el('b', { class: 'num' }, value), el('span', {}, note)));
  const block = row('block').multiply_adds.value;
  put($('#glance'),
    tile('weight', 'block', count(parameters.block.value), shortForms(parameters.block.value)),
    tile('weight', 'perceptron', binary(parameters.perceptron.value) ?? count(parameters.perceptron.value), t('cost.glance.perceptron_note', { times: times(parameters.to_block) })),
    tile('attn', 'operations', binary(block) ?? count(block), t('cost.glance.operations_note', { exact: count(block), flops: count(reply.flops) })),
    tile('attn', 'share', percent(reply.shares.find(({ n }) => n === symbols.n).share), t('cost.glance.share_note', { n: count(2 * symbols.d + symbols.d_ff) })));
}

function memoryTable() {
  const { memory } = reply;
  const rows = ['weights', 'vectors', 'hidden', 'maps', 'activations', 'perceptron'];
  return el('table', { class: 'card-table' },
    el('caption', { class: 'sr-only' }, t('cost.memory.title')),
    el('tbody', {}, rows.map((key) => el('tr', {}, el('th', { scope: 'row' }, rich(`cost.memory.${key}`)),
      el('td', { class: 'num' }, bytes(memory[key])), el('td', { class: 'num' }, count(memory[key]))))));
}

const LINES = [
  ['block', 'ink', 'solid', 3], ['self_attention', 'attn', 'solid', 2.5], ['pairs', 'attn', 'dot', 2], ['restricted_attention', 'attn', 'dash', 1.5],
  ['mlp', 'mlp', 'solid', 2.5], ['matrices', 'weight', 'dash', 2], ['convolution', 'muted', 'dash', 2], ['recurrent', 'muted', 'dot', 2], ['perceptron', 'muted', 'solid', 2],
];

const lineName = (name) => t(`cost.line.${name}`, { k: reply.symbols.k, w: reply.symbols.w });

function chart({ name, file, lines, marks, write, words, columns }) {
  const { n } = reply.curve;
  return figure({
    name, file, t, height: 420,
    build: costLines({ n, lines, marks, at: reply.symbols.n, words, write }),
    data: {
      columns: [t('cost.chart.n'), ...columns], rows: n.map((at, i) => [count(at), ...lines.map(({ values }) => count(values[i]))]),
      exact: n.map((at, i) => [at, ...lines.map(({ values }) => values[i])]),
    },
  });
}

function drawFigures() {
  const { curve, crossings } = reply;
  const lines = LINES.map(([key, colour, dash, width]) => ({ name: lineName(key), values: curve.lines[key], colour, dash, width, runs: key === 'perceptron' }));
  const marks = crossings.map(({ n, multiply_adds: y }, i) => ({ x: n, y, number: i + 1, text: `n = ${count(n)}` }))
    .filter(({ x }) => x !== null && x >= curve.n[0] && x <= curve.n.at(-1));
  const write = (value) => binary(value) ?? count(value);
  purge($('#results'));
  put($('#chart'), chart({
    name: t('cost.chart.name'), file: 'addnorm-cost', lines, marks, write, columns: LINES.map(([key]) => lineName(key)),
    words: { x: t('cost.chart.n'), y: t('cost.chart.multiply_adds') },
  }));
  const flat = (value) => curve.n.map(() => value);
  const memory = [
    { name: t('cost.memory.line.maps'), values: curve.map_bytes, colour: 'attn', width: 3 },
    { name: t('cost.memory.line.weights'), values: flat(reply.memory.weights), colour: 'weight', dash: 'dash' },
  ];
  put($('#memory-chart'), chart({
    name: t('cost.memory.chart'), file: 'addnorm-maps', lines: memory, write: bytes, columns: memory.map(({ name }) => name),
    words: { x: t('cost.chart.n'), y: t('cost.memory.bytes') },
  }));
  startFigures($('#results'));
}

function show() {
  const { symbols } = reply;
  glance();
  const opened = new Set($$('details[open]', $('#results')).map((details) => details.closest('section')?.id));
  put($('#parameters'), parametersSection(reply));
  put($('#ratios'), ratios(reply, { times }));
  tilesSection($('#tiles'), reply, run);
  put($('#table-lead'), rich('cost.table.lead', { n: count(symbols.n), d: count(symbols.d), d_ff: count(symbols.d_ff), heads: symbols.H }));
  put($('#table'), stacked(layersTable(reply)));
  put($('#restricting'), restricting(reply));
  put($('#symbols'), rich('cost.table.symbols', { r: count(symbols.r), p: count(symbols.p), n: symbols.n, w: symbols.w, m: symbols.m }));
  put($('#crossings'), crossingsList(reply));
  put($('#shares'), sharesBars(reply));
  put($('#memory'), memoryTable());
  put($('#api'), `GET /api/v1/cost?${new URLSearchParams(sizes)}`);
  for (const details of $$('details', $('#parameters'))) details.open = opened.has('parameters-section');
  $('#results').classList.remove('is-empty');
  clearTimeout(drawing);
  drawing = setTimeout(drawFigures, $('#chart').childElementCount ? DRAW_AFTER_MS : 0);
}

/** A real run for the third grid: one head of the first block, on a short text. */
async function fetchShares() {
  try {
    const trace = await post('/trace', { text: t('cost.tiles.text'), include: [PATTERN], digits: 4 }, { lang: lang() });
    run = sharesOf(trace, PATTERN);
    if (reply) tilesSection($('#tiles'), reply, run);
  } catch (error) {
    // The grid then says that it waits; everything else on the page is there.
    if (!(error instanceof ApiError)) throw error;
  }
}

// --- What is chosen -----------------------------------------------------------------------------

let waiting = null;
function choose(name, value, from) {
  sizes = { ...sizes, [name]: value };
  showSizes(from);
  clearTimeout(waiting);
  waiting = setTimeout(async () => {
    await ask();
    const block = reply && row('block').multiply_adds.value;
    if (reply) announce(t('cost.announce', { parameters: count(reply.parameters.block.value), operations: binary(block) ?? count(block) }));
  }, WAIT_MS);
}

for (const name of NAMES) {
  const [range, number] = [$('input[type="range"]', field(name)), $('input[type="text"]', field(name))];
  range.max = PLACES[name].length - 1;
  range.addEventListener('input', () => choose(name, PLACES[name][range.value], range));
  number.addEventListener('input', () => {
    if (/^\d{1,6}$/.test(number.value)) choose(name, Number(number.value), number);
    else showError(new ApiError({ code: 'not_whole', field: name }, 422));
  });
}

$('#reset').addEventListener('click', () => {
  sizes = { ...START };
  showSizes();
  ask();
});

$('#copy-link').addEventListener('click', async () => {
  announce(t((await copyText(location.href)) ? 'copy.link.done' : 'copy.failed'));
});

$('#form').addEventListener('submit', (event) => event.preventDefault());
window.addEventListener('hashchange', () => {
  readFragment();
  showSizes();
  ask();
});

onLanguageChange(() => {
  run = null;
  if (reply) show();
  if (problem) showError(problem);
  fetchShares();
});

readFragment();
holdWhatIsNamed($$('.cost-section').map(({ id }) => id));
showSizes();
ask();
fetchShares();
