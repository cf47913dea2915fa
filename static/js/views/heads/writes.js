/** What every head of a block writes at one position, and what the writes add to the predictions. Knows one reply. */

import { el } from '../../dom.js';
import { compact, fixed, MINUS, percent, visible } from '../../format.js';
import { rich, t } from '../../i18n.js';

const signed = (value) => (value < 0 ? `${MINUS}${fixed(-value, 3)}` : `+${fixed(value, 3)}`);

/** The line of a check of this run: what was compared, and whether it held. */
export function checkLine(checks, name, point) {
  const check = checks.find((one) => one.name === name && one.point === point);
  if (!check) return null;
  const words = t(`check.${name}.within`, { value: compact(check.value, 2), limit: compact(check.limit, 2) });
  return el('p', { class: check.ok ? 'heads-check' : 'heads-check is-bad', role: check.ok ? null : 'alert' },
    el('span', { 'aria-hidden': 'true' }, check.ok ? '✓' : '✗'), ' ', el('span', { class: 'sr-only' }, t(check.ok ? 'check.passed' : 'check.failed')), words);
}

/** Why an effect is not exact, or is not there. */
export function effectNote({ logit_effect: effect, reason }) {
  if (!effect) return el('p', { class: 'card-note' }, t(`heads.no_effect.${reason}`));
  if (effect.exact) return el('p', { class: 'card-note' }, t('heads.effect.exact'));
  return el('p', { class: 'card-note' }, el('b', { class: 'heads-mark' }, t('heads.effect.not_exact')), ' ', t(`heads.effect.${effect.reason}`, { norms: effect.frozen_norms.join(', ') }));
}

export const effectHeads = (query) => (query.logit_effect ? query.predictions.map((one) => el('th', { scope: 'col', class: 'is-effect' }, visible(one.label), el('small', {}, percent(one.probability, 0)))) : []);
export const effectCells = (query, row) => (query.logit_effect && row ? row.map((value) => el('td', { class: 'is-effect' }, signed(value))) : query.logit_effect ? query.predictions.map(() => el('td', { class: 'is-effect' }, '–')) : []);

/** `query`: reply of POST /heads; `head` the opened one; `open(head)` opens another of the block. */
export function writesPanel({ query, head, open }) {
  const { heads, bias, logit_effect: effect, request: { layer, pos }, tokens } = query;
  const most = Math.max(...heads.map(({ write_length: length }) => length), bias?.write_length ?? 0) || 1;
  const name = t('heads.writes.table', { layer, pos, token: visible(tokens[pos].label) });
  const lengthCell = (length) => el('td', {}, el('span', { class: 'heads-bar', 'aria-hidden': 'true' }, el('span', { style: `width: ${((length / most) * 100).toFixed(1)}%` })), fixed(length, 3));
  const row = (title, one, effects, chosen) => el('tr', { class: chosen ? 'is-chosen' : null }, el('th', { scope: 'row' }, title),
    lengthCell(one.write_length), el('td', {}, fixed(one.cosine, 3)), el('td', {}, percent(one.share)), effectCells(query, effects));
  const shares = [...heads, ...(bias ? [bias] : [])].map(({ share }) => share);
  // Where attn_out is 0 there is nothing to have a share of.
  const total = shares.includes(null) ? null : shares.reduce((sum, one) => sum + one, 0);
  return [
    el('p', {}, rich(`heads.writes.lead${bias ? '' : '.no_bias'}`, { pos, token: visible(tokens[pos].label), layer })),
    el('div', { class: 'card-scroll', tabindex: '0', role: 'region', 'aria-label': name },
      el('table', { class: 'card-table heads-writes-table' }, el('caption', { class: 'sr-only' }, name),
        el('thead', {},
          effect ? el('tr', {}, el('td', { colspan: 4 }), el('th', { scope: 'colgroup', colspan: query.predictions.length, class: 'is-effect' }, t(effect.exact ? 'heads.effect.title' : 'heads.effect.title_not_exact'))) : null,
          el('tr', {}, ['head', 'length', 'cosine', 'share'].map((column) => el('th', { scope: 'col' }, t(`heads.writes.column.${column}`))), effectHeads(query))),
        el('tbody', {},
          heads.map((one) => row(el('button', { type: 'button', class: 'card-index', 'aria-pressed': String(one.head === head), 'aria-label': t('heads.open', { label: one.label }), onclick: () => open({ layer, head: one.head }) }, one.label),
            one, effect?.of_writes[one.head], one.head === head)),
          bias ? row('b_O', bias, effect?.of_bias, false) : null),
        el('tfoot', {}, el('tr', {}, el('th', { scope: 'row' }, t('heads.writes.total')), el('td', {}), el('td', {}), el('td', {}, percent(total)), effectCells(query, null).map(() => el('td', {})))))),
    checkLine(query.checks, 'heads_writes', `blocks.${layer}.attn_out`),
    effectNote(query)];
}
