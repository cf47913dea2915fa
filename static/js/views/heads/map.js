/** One head as a map, at a stage from q·k to shares and what they carry. Knows how it looks, not where it came from. */

import { sharedRange } from '../../colour.js';
import { el } from '../../dom.js';
import { pattern } from '../../figures/pattern.js';
import { compact, decimalsFor, fixed, MINUS, visible } from '../../format.js';
import { t } from '../../i18n.js';
import { divisorOf, unmasked } from '../../scores.js';
import { figure, legend } from '../cards/parts.js';
import { displayed, KINDS, logarithmic, lowest } from './display.js';

export const STAGES = Object.keys(KINDS);

const largestOf = (values) => {
  let largest = 0;
  for (const row of values) for (const value of row) if (value > largest) largest = value;
  return largest;
};

const divisor = ({ model, request }) => divisorOf(model, request.layer);

/** Name of a stage and what it is, for the block of `query`. */
export function stageWords(stage, query) {
  const { text, kind } = divisor(query);
  const about = stage === 'scaled' && kind !== 'root' ? `scores.${kind}` : `heads.stage.${stage}.about`;
  return [t(`heads.stage.${stage}`, { divisor: text }), t(about, { divisor: text })];
}

/** The values of a stage [query][key] out of what was fetched. */
function valuesOf({ stage, look }) {
  if (stage === 'scaled') {
    const [dots, scores] = look.matrices;
    return unmasked(scores, dots, divisor(look.query));
  }
  if (stage === 'lengths') return look.maps.weighted_lengths;
  if (stage === 'norm_based') return look.maps.norm_based;
  return look.matrices[0];
}

/** What of a head is on the screen: values, labels and positions after the reader's options. */
export function shown({ stage, look, options }) {
  const { model, tokens } = look.query;
  return displayed(valuesOf({ stage, look }), tokens, {
    stage, causal: model.causal, hide: options.special === 'hidden', merge: options.pieces === 'merged',
  });
}

/** The range of colours that several maps share. */
export function rangeOf(stage, maps, options) {
  if (KINDS[stage] === 'score') return sharedRange(...maps.flatMap(({ values }) => values));
  if (KINDS[stage] === 'share' && options.range !== 'own') return 1;
  return sharedRange([Math.max(...maps.map(({ values }) => largestOf(values)))]);
}

function caption({ stage, map, range, log, query }) {
  const kind = KINDS[stage] === 'score' ? 'diverging' : 'sequential';
  const bar = kind === 'diverging' ? legend(kind, `${MINUS}${range}`, `+${range}`)
    : legend(kind, log ? compact(lowest(range), 1) : '0', String(range), log ? t('heads.range.log_note') : null);
  const { text, value, kind: by } = divisor(query);
  const said = stage === 'scaled' && by !== 'root' ? `scores.${by}` : `heads.stage.${stage}.caption`;
  return [el('span', {}, t(said, { divisor: text, value: fixed(value, 2) }), ' ',
    map.renormalised ? el('b', { class: 'heads-mark' }, t('heads.special.mark')) : null, ' '), bar];
}

/** The chart. `map` from `shown`, `range` from `rangeOf`; `choose(position)` where a row is clicked. */
export function mapFigure({ stage, map, range, options, look, label, pos, choose }) {
  const kind = KINDS[stage] === 'score' ? 'diverging' : 'sequential';
  const log = options.scale === 'log' && kind === 'sequential';
  const what = t(`heads.stage.${stage}.value`);
  const names = map.labels.map((one, i) => `${map.positions[i]} ${visible(one)}`);
  const rows = (write) => map.values.map((row, i) => [names[i], ...row.map(write)]);
  const chosen = map.at(pos);
  return figure({
    name: t(stage === 'norm_based' ? 'heads.map.layer' : 'heads.map.name', { what, label, layer: look.query.request.layer }), t, height: 220, file: `${label}-${stage}`,
    caption: caption({ stage, map, range, log, query: look.query }),
    build: pattern({
      values: map.values, kind, range, labels: map.labels, chosen, decimals: KINDS[stage] === 'share' ? 2 : Math.min(2, decimalsFor(map.values.flat(), 3)),
      positions: map.positions.length === look.query.tokens.length ? null : map.positions, shade: log ? logarithmic(range) : null,
      words: { query: t('card.attn.query_axis'), key: t('card.attn.key_axis'), value: what },
    }),
    data: {
      columns: [t('card.attn.query_key'), ...names],
      rows: rows((value) => (value === null ? t('card.attn.hidden') : fixed(value, 3))), exact: rows((value) => value),
    },
    onClick: choose ? (event) => choose(map.positions[event.points[0].y]) : undefined,
  });
}
