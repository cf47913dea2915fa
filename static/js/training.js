/** The page of the twins' training: curves and figures out of the record that ships with them. */

import { ApiError, get } from './api.js';
import { $, $$, el, put } from './dom.js';
import { curves, gradientMaps, headCurves } from './figures/training.js';
import { count, fixed } from './format.js';
import { lang, onLanguageChange, rich, t } from './i18n.js';
import { announce } from './live.js';
import { purge } from './plot.js';
import { figure, startFigures, table } from './views/cards/parts.js';
import { stacked } from './views/stacked.js';
import { errorWords } from './words.js';

const NORMS = ['post', 'pre'];
const NAMES = Object.fromEntries(NORMS.map((norm) => [norm, t(`norm.name.${norm}`)]));
const STRONG = 0.4;

let record = null;
let problem = null;
const chosen = { run: 'shipped', score: 'induction' };

const runs = () => (chosen.run === 'shipped' ? record.runs : record.high_rate[0]);

function lossFigure() {
  const lines = NORMS.flatMap((norm) => Object.entries(runs()[norm].record.held_out).map(([language, values]) => ({
    name: t('training.loss.line', { norm: NAMES[norm], language: t(`training.language.${language}`) }),
    language, steps: runs()[norm].record.steps, values, norm,
  })));
  const { steps } = lines[0];
  const titles = Object.fromEntries([...new Set(lines.map(({ language }) => language))].map((language) => {
    const name = t(`training.language.${language}`);
    return [language, [name, t('training.loss.end', { language: name })]];
  }));
  return figure({
    name: t('training.loss.name'), file: `addnorm-training-loss-${chosen.run}`, t, height: 614,
    build: curves({ lines, write: (value) => fixed(value, 2), words: { x: t('training.steps'), y: t('training.loss.y'), norms: NAMES, titles } }),
    data: {
      columns: [t('training.steps'), ...lines.map(({ name }) => name)],
      rows: steps.map((step, i) => [count(step), ...lines.map(({ values }) => fixed(values[i], 3))]),
      exact: steps.map((step, i) => [step, ...lines.map(({ values }) => values[i])]),
    },
  });
}

function lossWords() {
  const { pre, post } = runs();
  const last = (run) => run.record.held_out.en.at(-1);
  // The shipped run at the step where this one ends.
  const usual = ({ record: { steps, held_out: { en } } }) => fixed(en[steps.indexOf(pre.steps_done)], 2);
  return rich(`training.loss.${chosen.run}`, {
    usual_pre: usual(record.runs.pre), usual_post: usual(record.runs.post),
    muon: pre.recipe.muon, adam: pre.recipe.adam, warm_up: pre.recipe.warm_up, steps: count(pre.steps_done),
    pre: fixed(last(pre), 2), post: fixed(last(post), 2),
  });
}

const headsOf = (norm) => {
  const { record: series } = record.runs[norm];
  return series[chosen.score][0].flatMap((heads, layer) => heads.map((_, head) => {
    const values = series[chosen.score].map((moment) => moment[layer][head]);
    return { label: `L${layer}H${head}`, layer, values, strong: values.at(-1) >= STRONG };
  }));
};

function scoresFigure() {
  const panels = NORMS.map((norm) => ({ norm, title: NAMES[norm], steps: record.runs[norm].record.steps, heads: headsOf(norm) }));
  const columns = panels.flatMap(({ norm, heads }) => heads.map(({ label }) => `${NAMES[norm]} ${label}`));
  const lines = panels.flatMap(({ heads }) => heads.map(({ values }) => values));
  const { steps } = panels[0];
  return figure({
    name: t(`training.scores.name.${chosen.score}`), file: `addnorm-training-${chosen.score}`, t, height: 330,
    build: headCurves({ panels, chance: record.chance[chosen.score], words: { x: t('training.steps'), y: t('training.scores.y') } }),
    data: {
      columns: [t('training.steps'), ...columns],
      rows: steps.map((step, i) => [count(step), ...lines.map((values) => fixed(values[i], 2))]),
      exact: steps.map((step, i) => [step, ...lines.map((values) => values[i])]),
    },
  });
}

function scoresWords() {
  const where = (norm) => {
    const strong = headsOf(norm).filter((head) => head.strong);
    return strong.length ? strong.map(({ label }) => label).join(t('training.list')) : t('training.scores.none');
  };
  return rich(`training.scores.${chosen.score}`, {
    post: where('post'), pre: where('pre'), chance: fixed(record.chance[chosen.score], 3), strong: STRONG,
  });
}

function partName(part) {
  const block = /^blocks\.(\d+)$/.exec(part);
  return block ? t('training.part.block', { layer: block[1] }) : t(`training.part.${part}`);
}

function gradientFigure() {
  const panels = NORMS.map((norm) => {
    const { parts, steps, gradient } = record.runs[norm].record;
    return { norm, title: NAMES[norm], steps, rows: parts.map((part, p) => ({ name: partName(part), values: gradient.map((moment) => moment[p]) })) };
  });
  const columns = panels.flatMap(({ norm, rows }) => rows.map(({ name }) => `${NAMES[norm]} ${name}`));
  const lines = panels.flatMap(({ rows }) => rows.map(({ values }) => values));
  const { steps } = panels[0];
  return figure({
    name: t('training.gradient.name'), file: 'addnorm-training-gradient', t, height: 430,
    build: gradientMaps({ panels, words: { x: t('training.steps') } }),
    data: {
      columns: [t('training.steps'), ...columns],
      rows: steps.map((step, i) => [count(step), ...lines.map((values) => fixed(values[i], 4))]),
      exact: steps.map((step, i) => [step, ...lines.map((values) => values[i])]),
    },
  });
}

function endTable() {
  const { evaluation } = record;
  const of = (norm) => evaluation[norm];
  const both = (write) => NORMS.map((norm) => write(of(norm)));
  const head = ({ label, value }) => t('label.value', { name: label, value: fixed(value, 2) });
  const rows = Object.keys(evaluation.texts).flatMap((text) => Object.keys(evaluation.texts[text]).map((language) => [
    t('training.end.bits', { text: t(`training.text.${text}`), language: t(`training.language.${language}`) }),
    ...both(({ bits_per_byte: bits }) => fixed(bits[text][language], 3)), fixed(evaluation.trigrams[text][language], 3),
  ]));
  return table(
    [t('training.end.what'), NAMES.post, NAMES.pre, t('training.end.beside')],
    [
      ...rows,
      [t('training.end.previous_token'), ...both(({ heads }) => head(heads.previous_token)), fixed(record.chance.previous_token, 3)],
      [t('training.end.induction'), ...both(({ heads }) => head(heads.induction)), fixed(record.chance.induction, 3)],
      [t('training.end.repeated'), ...both(({ heads }) => `${fixed(heads.repeated.first, 2)} → ${fixed(heads.repeated.second, 2)}`), '–'],
      [t('training.end.steps'), ...NORMS.map((norm) => count(record.runs[norm].steps_done)), '–'],
    ],
    t('training.end.title'),
  );
}

function show() {
  purge($('#main'));
  put($('#loss-words'), lossWords());
  put($('#loss'), lossFigure());
  for (const note of $$('.training-of')) put(note, t('training.of_twins', { steps: count(record.runs.pre.steps_done) }));
  put($('#scores-words'), scoresWords());
  put($('#scores'), scoresFigure());
  put($('#gradient'), gradientFigure());
  put($('#end'), stacked(endTable()));
  startFigures($('#main'));
}

function choose(group, option) {
  chosen[group] = option;
  for (const button of $$('[data-choice]', $(`#${group}`))) button.setAttribute('aria-pressed', String(button.dataset.choice === option));
  history.replaceState(history.state, '', `${location.pathname}${location.search}#${new URLSearchParams(chosen)}`);
  if (record) {
    show();
    announce(t(`training.${group}.${option}`));
  }
}

function readFragment() {
  const params = new URLSearchParams(location.hash.slice(1));
  for (const group of Object.keys(chosen)) {
    const options = $$('[data-choice]', $(`#${group}`)).map((button) => button.dataset.choice);
    if (options.includes(params.get(group))) choose(group, params.get(group));
  }
}

async function load() {
  try {
    record = await get('/models/twin/training', { lang: lang() });
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    problem = error;
    showProblem();
    return;
  }
  problem = null;
  $('#failed').hidden = true;
  show();
}

function showProblem() {
  put($('#failed'), errorWords(problem, '.form'), ' ',
    el('button', { type: 'button', class: 'button', onclick: load }, t('card.retry')));
  $('#failed').hidden = false;
}

for (const group of Object.keys(chosen)) {
  for (const button of $$('[data-choice]', $(`#${group}`))) button.addEventListener('click', () => choose(group, button.dataset.choice));
}
onLanguageChange(() => {
  if (record) show();
  else if (problem) showProblem();
});
addEventListener('hashchange', readFragment);
readFragment();
load();
