/** Logit lens: what each state of the stream would predict at one position. Knows one reply of POST /lens. */

import { el } from '../../dom.js';
import { curves } from '../../figures/curves.js';
import { count, fixed, share, visible } from '../../format.js';
import { rich, t } from '../../i18n.js';
import { figure } from '../cards/parts.js';
import { checkLine } from './writes.js';


export function lensPanel({ reply, followed }) {
  const { states, tokens, model, request: { pos } } = reply;
  const words = { pos, token: visible(tokens[pos].label), followed: visible(followed) };
  const name = t('heads.lens.table', words);
  const places = states.map((_, i) => i);
  return [
    el('p', {}, rich(model.norm === 'post' ? 'heads.lens.lead_post' : 'heads.lens.lead_pre', words)),
    figure({
      name: t('heads.lens.figure', words), t, file: `lens-${pos}`, height: 360, twin: false,
      build: curves({ panels: [
        { title: t('heads.lens.rank'), x: places, yKind: 'log', xTitle: t('heads.lens.state'), yTitle: t('heads.lens.rank'), lines: [{ name: t('heads.lens.rank_of', words), colour: 'stream', values: states.map(({ rank }) => rank) }] },
        { title: t('heads.lens.probability'), x: places, xTitle: t('heads.lens.state'), yTitle: t('heads.lens.probability'), yRange: [-0.03, 1.03], lines: [{ name: t('heads.lens.probability_of', words), colour: 'attn', values: states.map(({ probability }) => probability) }] },
      ] }),
      data: {
        columns: [t('heads.lens.state'), 'point', 'norm', t('heads.lens.rank'), t('heads.lens.probability')],
        rows: [], exact: states.map((state, i) => [i, state.point, state.norm, state.rank, state.probability]),
      },
    }),
    el('div', { class: 'card-scroll', tabindex: '0', role: 'region', 'aria-label': name },
      el('table', { class: 'card-table heads-lens-table' }, el('caption', { class: 'sr-only' }, name),
        el('thead', {}, el('tr', {}, ['number', 'state', 'norm', 'top', 'rank', 'probability'].map((column) => el('th', { scope: 'col', class: ['state', 'norm', 'top'].includes(column) ? 'is-left' : null }, t(`heads.lens.${column}`))))),
        el('tbody', {}, states.map((state, i) => el('tr', {},
          el('td', {}, String(i)), el('th', { scope: 'row', class: 'is-left' }, el('code', {}, state.point)), el('td', { class: 'is-left' }, state.norm === null ? t('heads.lens.no_norm') : el('code', {}, state.norm)),
          el('td', { class: 'is-words' }, state.top.map((one) => el('span', { class: 'heads-lens-token' }, el('bdi', {}, visible(one.label)), ' ', el('small', { class: 'num' }, share(one.probability))))),
          el('td', {}, count(state.rank)), el('td', {}, fixed(state.probability, 4))))))),
    checkLine(reply.checks, 'lens_last_state', 'logits'),
    el('p', { class: 'card-note' }, t('heads.lens.source'))];
}
