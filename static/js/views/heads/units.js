/** Units of a block's FFN: the strongest at a position, and the tokens that drive one. Knows replies of POST /units. */

import { el } from '../../dom.js';
import { compact, fixed, percent, visible } from '../../format.js';
import { picture } from '../../heat.js';
import { rich, t } from '../../i18n.js';
import { checkLine, effectCells, effectHeads, effectNote } from './writes.js';

const head = (columns, more = []) => el('thead', {}, el('tr', {}, columns.map((column) => el('th', { scope: 'col' }, t(`heads.units.column.${column}`))), more));
const scroll = (name, ...content) => el('div', { class: 'card-scroll', tabindex: '0', role: 'region', 'aria-label': name },
  el('table', { class: 'card-table' }, el('caption', { class: 'sr-only' }, name), ...content));

/** The units that write most at the position; `choose(unit)` looks at one over all tokens. */
export function strongest({ reply, unit, choose }) {
  const { strongest: found, tokens, request: { layer, pos }, logit_effect: effect } = reply;
  const name = t('heads.units.table', { layer, pos, token: visible(tokens[pos].label) });
  const rest = (title, one) => el('tr', {}, el('th', { scope: 'row' }, title), el('td', {}), el('td', {}), el('td', {}, fixed(one.write_length, 3)), el('td', {}), el('td', {}, percent(one.share)), effectCells(reply, null).map(() => el('td', {})));
  // With ReLU a unit that does not fire writes exactly nothing, and says nothing of this text.
  const firing = found.units.map((one, i) => [one, i]).filter(([one]) => one.write_length > 0);
  return [
    el('p', {}, rich('heads.units.lead', { pos, token: visible(tokens[pos].label), layer, active: found.active, count: found.d_mlp })),
    scroll(name, head(['unit', 'pre', 'activation', 'length', 'cosine', 'share'], effectHeads(reply)),
      el('tbody', {},
        firing.map(([one, i]) => el('tr', { class: one.unit === unit ? 'is-chosen' : null },
          el('th', { scope: 'row' }, el('button', { type: 'button', class: 'card-index', 'aria-pressed': String(one.unit === unit), 'aria-label': t('heads.units.open', { unit: one.unit }), onclick: () => choose(one.unit) }, String(one.unit))),
          el('td', {}, fixed(one.pre, 3)), el('td', {}, fixed(one.activation, 3)), el('td', {}, fixed(one.write_length, 3)), el('td', {}, fixed(one.cosine, 3)), el('td', {}, percent(one.share)), effectCells(reply, effect?.of_writes[i]))),
        found.rest.count ? rest(t('heads.units.rest', { count: found.rest.count }), found.rest) : null,
        rest('b_out', found.bias))),
    checkLine(reply.checks, 'units_writes', `blocks.${layer}.mlp_out`), effectNote(reply)];
}

/** One unit over the text: a strip of its activations, and the tokens that drive it. */
export function driving({ reply, close, choose }) {
  const { driving: found, tokens, request: { layer } } = reply;
  const most = Math.max(...found.activations.map(Math.abs)) || 1;
  const name = t('heads.units.driving', { unit: found.unit, layer });
  return el('section', { class: 'heads-unit', id: 'unit' }, el('h3', {}, name),
    el('p', { class: 'card-note' }, t('heads.units.driving_lead', { length: compact(found.direction_length, 3), range: compact(most, 3) })),
    el('div', { class: 'heads-unit-strip', role: 'img', 'aria-label': t('heads.units.strip', { unit: found.unit }) },
      picture({ columns: tokens.length, rows: 1, valueAt: (i) => found.activations[i], kind: 'diverging', range: most, name: null, className: 'heads-unit-picture' })),
    scroll(name, head(['token', 'pre', 'activation', 'length', 'cosine', 'share']),
      el('tbody', {}, found.tokens.map((one) => el('tr', {},
        el('th', { scope: 'row' }, el('button', { type: 'button', class: 'heads-key', 'aria-label': t('heads.row.choose', { at: one.pos, token: visible(tokens[one.pos].label) }), onclick: () => choose(one.pos) },
          el('span', { class: 'heads-key-label' }, visible(tokens[one.pos].label)), ' ', el('small', { class: 'num' }, String(one.pos)))),
        el('td', {}, fixed(one.pre, 3)), el('td', {}, fixed(one.activation, 3)), el('td', {}, fixed(one.write_length, 3)), el('td', {}, fixed(one.cosine, 3)), el('td', {}, percent(one.share)))))),
    el('button', { type: 'button', class: 'card-more', onclick: close }, t('heads.units.close')));
}
