/**
 * What the run proves of itself: the checks that concern the step on the screen, as ticks with their
 * error, and all of them on request. A failed one is loud. Knows the shape of checks, no step.
 */

import { $, el, put } from '../dom.js';
import { compact } from '../format.js';
import { has, t } from '../i18n.js';

/** A check in words, with its error and, unless it must be exact, what is allowed. */
export function sentence(check) {
  const key = [check.limit === 0 ? '' : '.within', ''].map((way) => `check.${check.name}${way}`).find(has);
  const params = { value: compact(check.value, 2), limit: compact(check.limit, 2), point: check.point ?? '' };
  return key ? t(key, params) : `${check.name} ${params.value}`;
}

const nameOf = ({ name }) => (has(`check.${name}.name`) ? t(`check.${name}.name`) : name);

/** The checks of the box on the screen and of the block that it belongs to. */
export function concerning(checks, frame) {
  const own = new Set(frame.steps.map((step) => step.output));
  if (frame.kind === 'attention') own.add(`${frame.prefix}attn.pattern`);
  if (frame.layer !== null) own.add(`${frame.prefix}out`);
  return checks.filter((check) => own.has(check.point));
}

function tick(check, tag = 'li') {
  return el(tag, { class: check.ok ? 'tick' : 'tick is-bad' },
    el('span', { class: 'mark', 'aria-hidden': 'true' }, check.ok ? '✓' : '✗'),
    el('span', { class: 'sr-only' }, t(check.ok ? 'check.passed' : 'check.failed')),
    el('span', { class: 'num' }, sentence(check)));
}

function table(checks, notChecked) {
  return [
    el('div', { class: 'checks-scroll', tabindex: '0', role: 'region', 'aria-label': t('trust.all') },
      el('table', { class: 'checks' },
        el('thead', {}, el('tr', {}, ['what', 'point', 'error', 'limit'].map((name) => el('th', { scope: 'col' }, t(`trust.${name}`))))),
        el('tbody', {}, checks.map((check) => el('tr', { class: check.ok ? '' : 'is-bad' },
          el('th', { scope: 'row' }, `${check.ok ? '✓' : '✗'} ${nameOf(check)}`),
          el('td', {}, el('code', {}, check.point ?? '')),
          el('td', { class: 'num' }, compact(check.value, 2)),
          el('td', { class: 'num' }, compact(check.limit, 2))))))),
    notChecked.length ? el('p', { class: 'muted' }, t('trust.not_checked', { names: notChecked.map(nameOf).join(t('trust.comma')) })) : null,
  ];
}

/** The line under the card. `verified`: whether the costly checks have come in. */
export function renderTrust(root, { checks, notChecked, frame, verified }) {
  const open = $('details', root)?.open ?? false;
  const bad = checks.filter((check) => !check.ok);
  const summary = bad.length
    ? t('trust.some_failed', { bad: bad.length, all: checks.length })
    : t(verified ? 'trust.all_passed' : 'trust.passed_so_far', { all: checks.length });
  put(root,
    el('ul', { class: 'ticks' }, concerning(checks, frame).map((check) => tick(check))),
    el('details', { class: bad.length ? 'is-bad' : '', open }, el('summary', {}, summary), table(checks, verified ? [] : notChecked)));
}

/** Failed checks, loud, before anything else; empty when there is none. `norm`: which of two runs they are of. */
export function failedChecks(checks, norm = null) {
  const bad = checks.filter((check) => !check.ok);
  if (bad.length === 0) return null;
  return el('div', { class: 'alarm', role: 'alert' },
    el('b', {}, norm ? t('trust.alarm.of', { bad: bad.length, norm: t(`norm.name.${norm}`) }) : t('trust.alarm', { bad: bad.length })),
    el('ul', {}, bad.slice(0, 5).map((check) => tick(check))));
}
