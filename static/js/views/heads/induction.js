/** The test of repeated random tokens: its button, and what it found for each head. */

import { post } from '../../api.js';
import { el } from '../../dom.js';
import { fixed } from '../../format.js';
import { lang, rich, t } from '../../i18n.js';

const cache = new Map();

/** The reply of POST /heads/induction for a run, whatever its text. */
export async function runTest({ model, norm, weights, config }) {
  const body = { model, norm, seed: 0, ...(weights ? { weights } : {}), ...(config ? { config } : {}) };
  const key = JSON.stringify(body);
  if (!cache.has(key)) cache.set(key, await post('/heads/induction', body, { lang: lang() }));
  return cache.get(key);
}

export const byLabel = (reply) => new Map(reply.heads.map((head) => [head.label, head]));

/** `result`: the reply, null before the test, or an error's words. */
export function testPanel({ result, problem, busy, run, open }) {
  const button = el('button', { type: 'button', class: 'button', id: 'run-test', disabled: busy, onclick: run }, t(busy ? 'heads.test.busy' : 'heads.test.run'));
  const about = el('p', { class: 'card-note' }, rich('heads.test.about'));
  if (!result) return [el('h2', { id: 'test-title', tabindex: '-1' }, t('heads.test.title')), about, button, problem ? el('p', { class: 'plot-status', role: 'alert' }, problem) : null];
  const sorted = [...result.heads].sort((a, b) => b.scores.induction.value - a.scores.induction.value);
  const found = sorted.filter(({ names }) => names.includes('induction'));
  const { rows, segment } = result.request;
  const { chance } = sorted[0].scores.induction;
  const score = ({ value, error }) => `${fixed(value, 3)} ± ${fixed(error, 3)}`;
  const name = t('heads.test.table', { rows, segment });
  return [el('h2', { id: 'test-title', tabindex: '-1' }, t('heads.test.title')), about,
    el('p', { class: 'heads-found' }, found.length
      ? rich('heads.test.found', { heads: found.map(({ label, scores }) => `${label} (${fixed(scores.induction.value, 2)})`).join(t('heads.list_comma')), chance: fixed(chance, 3) })
      : rich('heads.test.nothing', { label: sorted[0].label, value: fixed(sorted[0].scores.induction.value, 3), chance: fixed(chance, 3) })),
    result.losses ? el('p', { class: 'card-note' }, t('heads.test.losses', { first: fixed(result.losses.first, 2), second: fixed(result.losses.second, 2) })) : null,
    el('div', { class: 'card-scroll heads-test-table', tabindex: '0', role: 'region', 'aria-label': name },
      el('table', { class: 'card-table' }, el('caption', { class: 'sr-only' }, name),
        el('thead', {}, el('tr', {}, ['head', 'induction', 'previous_token', 'name'].map((column) => el('th', { scope: 'col' }, t(`heads.test.column.${column}`))))),
        el('tbody', {}, sorted.map((head) => el('tr', {},
          el('th', { scope: 'row' }, el('button', { type: 'button', class: 'card-index', 'aria-label': t('heads.open', { label: head.label }), onclick: () => open(head) }, head.label)),
          el('td', {}, score(head.scores.induction)), el('td', {}, score(head.scores.previous_token)),
          el('td', {}, head.names.map((one) => t(`heads.named.short.${one}`)).join(t('heads.list_comma')) || '–')))))),
    el('p', { class: 'card-note' }, t('heads.test.note', { rows, segment, chance: fixed(chance, 3), previous: fixed(sorted[0].scores.previous_token.chance, 3) }))];
}
