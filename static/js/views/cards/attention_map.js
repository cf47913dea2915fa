/** The map of one head, from q·k to the attention weights, and the chosen query's row beside it. */

import { sharedRange } from '../../colour.js';
import { el } from '../../dom.js';
import { pattern } from '../../figures/pattern.js';
import { decimalsFor, fixed, MINUS, printedSum, shorten } from '../../format.js';
import { divisorOf, unmasked } from '../../scores.js';
import { bars, figure, legend, note, scrolling, section, table } from './parts.js';

const LONGEST_ROW = 12; // keys that are written out
const SMALL_MAP = 20; // tokens of a map that leaves room for the row beside it

export const total = (numbers) => numbers.reduce((sum, value) => sum + value, 0);

/** Positions by falling weight. */
export const byWeight = (weights) => weights.map((_, j) => j).sort((a, b) => weights[b] - weights[a]);

/** `values` [query][key], null where hidden; `kind` as in colour.js; `what` they are and a `caption`. */
function map(view, { values, kind = 'diverging', what, caption, point }) {
  const { t, pos, labels, frame } = view;
  const shares = kind === 'sequential';
  const range = shares ? 1 : sharedRange(...values);
  const heads = labels.map((label, i) => `${i} ${label}`);
  const words = { query: t('card.attn.query_axis'), key: t('card.attn.key_axis'), value: what };
  const rows = (write) => values.map((line, i) => [heads[i], ...line.map(write)]);
  return figure({
    name: t('card.attn.map', { what, label: `L${frame.layer}H${view.head}` }), t, file: `${view.at(point)}-${view.head}`, height: 220,
    caption: [el('span', {}, caption, ' '), shares ? legend(kind, '0', '1') : legend(kind, `${MINUS}${range}`, `+${range}`)],
    build: pattern({ values, kind, range, labels, chosen: pos, decimals: shares ? 2 : Math.min(2, decimalsFor(values.flat(), 3)), words }),
    data: {
      columns: [t('card.attn.query_key'), ...heads],
      rows: rows((value) => (value === null ? t('card.attn.hidden') : fixed(value, 3))),
      exact: rows((value) => value),
    },
    onClick: (event) => view.set({ position: event.points[0].y }),
  });
}

/** A small map and the row stand side by side where there is room; a large map takes all of it. */
const beside = (view, left, right) => (right
  ? el('div', { class: 'card-pair' }, el('div', { class: view.labels.length <= SMALL_MAP ? 'card-pair-inner is-small' : 'card-pair-inner' }, left, right))
  : left);

/** Which keys of a row are written out, in order, and the rest: all, or the largest ones. */
function largestKeys(row) {
  const keys = byWeight(row).filter((j) => row[j] !== null);
  const shown = keys.length > LONGEST_ROW ? LONGEST_ROW - 1 : keys.length;
  return { keys: keys.slice(0, shown).sort((a, b) => a - b), rest: keys.slice(shown) };
}

/** The row of the chosen token: bars, and the same figures as a sum that is 1. */
function writtenRow(view, weights) {
  const { t, labels, pos, label, trace } = view;
  const { keys, rest } = largestKeys(weights.map((weight, j) => (trace.model.causal && j > pos ? null : weight)));
  const others = rest.length ? [total(rest.map((j) => weights[j]))] : [];
  const printed = printedSum([...keys.map((j) => weights[j]), ...others], total(weights), 3);
  return section(t('card.attn.row', { pos, token: label }),
    bars([
      ...keys.map((j, i) => ({ label: shorten(labels[j], 14), note: String(j), value: printed.terms[i], share: weights[j], marked: j === pos })),
      ...others.map((share) => ({ label: t('card.attn.rest', { count: rest.length }), value: printed.terms.at(-1), share })),
    ], 'attn'),
    el('p', { class: 'card-sum num' }, `${printed.terms.join(' + ')} ${printed.relation} `, el('b', {}, printed.total)));
}

/** The chosen query's row of dot products and scores, beside each other. */
function scoreTable(view, dots, scores) {
  const { t, labels, pos, label, trace, depth, frame } = view;
  if (depth !== 'numbers') return null;
  const decimals = decimalsFor(dots, 4);
  const { keys, rest } = largestKeys(dots);
  const title = t('card.attn.row', { pos, token: label });
  return section(title,
    scrolling(title, table(
      [t('card.attn.key_axis'), 'q·k', t('card.attn.divided', { divisor: divisorOf(trace.model, frame.layer).text })],
      keys.map((j) => [`${j} ${labels[j]}`, fixed(dots[j], decimals), scores[j] === null ? t('card.attn.hidden') : fixed(scores[j], decimals)]))),
    rest.length ? note(t('card.attn.only_largest', { shown: keys.length, count: dots.length })) : null);
}

export async function dot(view) {
  const [values] = await view.get(view.at(`attn.dot[${view.head}]`));
  return map(view, { values, what: 'q·k', caption: view.t('card.attn.dot_caption'), point: 'attn.dot' });
}

async function scores(view, caption, point, divisor = null) {
  const [dots, hidden] = await view.get(view.at(`attn.dot[${view.head}]`), view.at(`attn.attn_scores[${view.head}]`));
  const values = divisor ? unmasked(hidden, dots, divisor) : hidden;
  return beside(view, map(view, { values, what: view.t('card.attn.score'), caption, point }), scoreTable(view, dots[view.pos], values[view.pos]));
}

export const scaled = (view) => {
  const divisor = divisorOf(view.trace.model, view.frame.layer);
  return scores(view, view.t(divisor.kind === 'none' ? 'card.attn.dot_caption' : 'card.attn.scaled_caption', { divisor: divisor.text }), 'attn.scaled', divisor);
};

export const masked = (view) => scores(view, view.t('card.attn.masked_caption'), 'attn.attn_scores');

export async function softmax(view) {
  const { t, pos, head } = view;
  const [values] = await view.get(view.at(`attn.pattern[${head}]`));
  return beside(view,
    map(view, { values, kind: 'sequential', what: t('card.attn.weight'), caption: t('card.attn.softmax_caption'), point: 'attn.pattern' }),
    writtenRow(view, values[pos]));
}
