/** What is asked of the grid: the figure, the order, filters, and how each figure is defined. Knows no run. */

import { el } from '../../dom.js';
import { rich, t } from '../../i18n.js';
import { FORMULAS, METRICS, metricName, NAMES, printed, TESTED } from './metrics.js';

function select(id, label, options, value, choose) {
  return el('div', { class: 'heads-select' }, el('label', { for: id }, label),
    el('select', { id, onchange: (event) => choose(event.target.value) },
      options.map(([key, name]) => el('option', { value: key, selected: key === value }, name))));
}

/** The selects over the grid. `set` takes a patch of the page's state. */
export function tools({ state, model, tested, set }) {
  const metrics = [...METRICS, ...(tested ? TESTED : [])];
  const layers = Array.from({ length: model.n_layers }, (_, layer) => [String(layer), t('heads.block', { layer })]);
  const orNull = (value) => (value === '' ? null : value);
  return el('div', { class: 'heads-tools' },
    select('metric', t('heads.tools.metric'), metrics.map((name) => [name, metricName(name)]), state.metric, (metric) => set({ metric })),
    select('sort', t('heads.tools.sort'), [['', t('heads.sort.layer')], ['value', t('heads.sort.value')]], state.sort ?? '', (sort) => set({ sort: orNull(sort) })),
    select('only', t('heads.tools.layer'), [['', t('heads.filter.all')], ...layers], state.only === null ? '' : String(state.only), (only) => set({ only: only === '' ? null : Number(only) })),
    select('named', t('heads.tools.name'), [['', t('heads.filter.all')], ['any', t('heads.filter.named')], ['none', t('heads.filter.unnamed')], ...NAMES.map((name) => [name, t(`heads.named.short.${name}`)])],
      state.named ?? '', (named) => set({ named: orNull(named) })));
}

/** The chosen figure in words, with its chance level on this text. */
export function metricLine({ metric, head, tested }) {
  const isTest = TESTED.includes(metric);
  const base = isTest ? metric.slice('test_'.length) : metric;
  const chance = isTest ? tested?.get(head.label)?.scores[base]?.chance : head.metrics[base]?.chance;
  return el('p', { class: 'heads-metric' }, rich('heads.metric.line', {
    metric: metricName(metric), words: t(`heads.define.${base}`), source: t(`heads.source.${base}`),
    chance: chance === null || chance === undefined ? t('heads.no_query') : t(isTest ? 'heads.chance.test' : 'heads.chance', { chance: printed(base, chance) }),
  }));
}

/** All figures: definition, formula, chance level on this text, source; and when a head gets a name. */
export function definitions({ head, limits }) {
  const scroll = el('div', { class: 'card-scroll', tabindex: '0', role: 'region', 'aria-label': t('heads.define.title') },
    el('table', { class: 'card-table heads-define' },
      el('thead', {}, el('tr', {}, ['metric', 'words', 'formula', 'chance', 'source'].map((column) => el('th', { scope: 'col' }, t(`heads.define.column.${column}`))))),
      el('tbody', {}, METRICS.map((name) => el('tr', {},
        el('th', { scope: 'row' }, metricName(name)), el('td', { class: 'is-words' }, t(`heads.define.${name}`)), el('td', {}, el('code', {}, FORMULAS[name])),
        el('td', { class: 'num' }, printed(name, head.metrics[name]?.chance)), el('td', {}, t(`heads.source.${name}`)))))));
  return el('details', { class: 'heads-more' }, el('summary', {}, t('heads.define.title')), scroll,
    el('p', { class: 'card-note' }, t('heads.define.note')),
    limits ? el('p', { class: 'card-note' }, t('heads.define.naming', { margin: Math.round(limits.name_margin * 100), errors: limits.name_errors, queries: limits.name_queries })) : null);
}
