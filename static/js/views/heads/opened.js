/**
 * The opened head: what it does in plain words, its map or lines at a stage, the chosen query's row; with a
 * pinned head beside it, both on one scale. Knows what was fetched, not how.
 */

import { el } from '../../dom.js';
import { shorten } from '../../format.js';
import { t } from '../../i18n.js';
import { modelName } from '../../words.js';
import { KINDS } from './display.js';
import { linesFigure } from './lines.js';
import { mapFigure, rangeOf, shown, STAGES, stageWords } from './map.js';
import { nameOf } from './grid.js';
import { writtenRow } from './row.js';
import { sentences } from './sentence.js';

const radios = (name, label, options, value, choose) => el('fieldset', { class: 'heads-choice' }, el('legend', { class: 'sr-only' }, label),
  options.map(([key, words, description]) => el('label', { title: description }, el('input', { type: 'radio', name, value: key, checked: key === value, onchange: () => choose(key) }), el('span', {}, words))));

const tick = (id, label, checked, disabled, change) => el('label', { class: disabled ? 'heads-tick is-off' : 'heads-tick' },
  el('input', { type: 'checkbox', id, checked, disabled, onchange: (event) => change(event.target.checked) }), el('span', {}, label));

/** What may be changed of the picture, never of the numbers. */
function options({ state, model, tokens, set }) {
  const kind = KINDS[state.stage];
  const pieces = tokens.some(({ part }) => part !== null);
  return el('div', { class: 'heads-options', role: 'group', 'aria-label': t('heads.options') },
    el('span', { class: 'heads-options-name' }, t('heads.options')),
    tick('hide-special', t('heads.options.special'), state.special === 'hidden', !tokens.some(({ special }) => special), (on) => set({ special: on ? 'hidden' : null })),
    tick('merge-pieces', t('heads.options.pieces'), state.pieces === 'merged', !pieces || kind !== 'share', (on) => set({ pieces: on ? 'merged' : null })),
    tick('own-range', t('heads.options.range'), state.range === 'own' || kind !== 'share', kind !== 'share', (on) => set({ range: on ? 'own' : null })),
    tick('log-range', t('heads.options.log'), state.scale === 'log' && kind !== 'score', kind === 'score', (on) => set({ scale: on ? 'log' : null })));
}

/** Which run a head belongs to, in one line. */
export const runLine = ({ model, request }) => t('heads.run', {
  model: modelName(model.id), norm: t(`norm.name.${model.norm}`), text: shorten(request.text, 40),
  weights: model.weights && model.weights !== model.norm ? t('heads.run.weights', { norm: t(`norm.name.${model.weights}`) }) : '',
});

/**
 * `now` and `pin`: {look, layer, head, label, pos} as fetched (pin null), `named`: the head's metrics.
 * `act`: {set, open, pin, unpin, choose}.
 */
export function openedPanel({ state, now, pin, named, act }) {
  const { query } = now.look;
  const { model, tokens } = query;
  const { stage } = state;
  const one = shown({ stage, look: now.look, options: state });
  const other = pin ? shown({ stage, look: pin.look, options: state }) : null;
  const range = rangeOf(stage, other ? [one, other] : [one], state);
  const asLines = state.as === 'lines' && KINDS[stage] !== 'score';
  const sideOf = (which) => (pin ? t('heads.side.title', { label: which.label, side: t(which === pin ? 'heads.side.pinned' : 'heads.side.opened') }) : which.label);
  const figureOf = (which, map, choose) => (asLines
    ? linesFigure({ map, range, label: sideOf(which), pos: which.pos, what: t(`heads.stage.${stage}.value`), choose })
    : mapFigure({ stage, map, range, options: state, look: which.look, label: sideOf(which), pos: which.pos, choose }));
  const title = named && nameOf(named);
  const step = (change) => {
    const i = now.layer * model.n_heads + now.head + change;
    const count = model.n_layers * model.n_heads;
    const at = (i + count) % count;
    act.open({ layer: Math.floor(at / model.n_heads), head: at % model.n_heads });
  };
  const pinned = pin && pin.label === now.label && runLine(pin.look.query) === runLine(query);
  return [
    el('header', { class: 'heads-opened-head' },
      el('h2', { id: 'opened-title', tabindex: '-1' }, el('span', { class: 'num' }, now.label), title ? ` ${title}` : null),
      el('p', { class: 'card-note' }, t('heads.opened.place', { layer: now.layer, head: now.head, layers: model.n_layers, heads: model.n_heads })),
      el('div', { class: 'heads-opened-tools' },
        el('button', { type: 'button', class: 'button', id: 'previous-head', 'aria-label': t('heads.previous'), onclick: () => step(-1) }, '‹'),
        el('button', { type: 'button', class: 'button', id: 'next-head', 'aria-label': t('heads.next'), onclick: () => step(1) }, '›'),
        el('button', { type: 'button', class: 'button', id: 'pin', disabled: Boolean(pinned), onclick: act.pin }, t('heads.pin')),
        pin ? el('button', { type: 'button', class: 'button', id: 'unpin', onclick: act.unpin }, t('heads.unpin', { label: pin.label })) : null)),
    sentences({ named, query, head: now.head, causal: model.causal }),
    el('div', { class: 'heads-bar-of-choices' },
      radios('stage', t('heads.stage'), STAGES.map((name) => [name, ...stageWords(name, query)]), stage, (next) => act.set({ stage: next })),
      radios('as', t('heads.as'), [['map', t('heads.as.map')], ['lines', t('heads.as.lines')]], asLines ? 'lines' : 'map', (next) => act.set(next === 'lines' ? { as: 'lines', ...(KINDS[stage] === 'score' ? { stage: 'softmax' } : {}) } : { as: null }))),
    options({ state, model, tokens, set: act.set }),
    el('div', { class: pin ? 'heads-maps is-pair' : 'heads-maps' },
      el('div', { class: 'heads-side' }, pin ? [el('h3', {}, now.label, ' ', el('small', {}, t('heads.side.opened'))), el('p', { class: 'card-note' }, runLine(query))] : null, figureOf(now, one, act.choose),
        pin ? null : writtenRow({ query, head: now.head, choose: act.choose })),
      pin ? el('div', { class: 'heads-side is-pinned' }, el('h3', {}, pin.label, ' ', el('small', {}, t('heads.side.pinned'))), el('p', { class: 'card-note' }, runLine(pin.look.query)), figureOf(pin, other, null),
        sentences({ named: null, query: pin.look.query, head: pin.head, causal: pin.look.query.model.causal })) : null),
    pin ? el('p', { class: 'card-note' }, t('heads.common_scale')) : null,
    pin ? writtenRow({ query, head: now.head, choose: act.choose }) : null,
  ];
}
