/** The card of the predictions: the likeliest next tokens, or why there are none. */

import { el } from '../../dom.js';
import { compact, percent, visible } from '../../format.js';
import { formula, m, name } from '../../mathml.js';
import { bars, formulaBox, table } from './parts.js';

export async function unembed(view) {
  const { trace, t, rich, pos, depth, label } = view;
  if (!trace.predictions) {
    return [el('p', { class: 'card-lead' }, t(trace.model.kind === 'random' ? 'card.unembed.none_random' : 'card.unembed.none'))];
  }
  const top = trace.predictions.positions[pos];
  const untrained = trace.model.norm_is_trained === false;
  const lead = el('p', { class: 'card-lead' }, rich('card.unembed.lead', { pos, token: label }));
  const note = untrained ? el('p', { class: 'card-hint' }, t('card.unembed.other_wiring')) : null;
  if (depth === 'formula') {
    const [first] = top;
    return [lead, note, formulaBox(formula([
      [m`ℓ`, m`= W_U · x`],
      [m`p_t`, m`= \frac{e^{ℓ_t}}{∑_u e^{ℓ_u}}`],
      [m`p_${name(visible(first.label))}`, m`≈ \frac{e^${compact(first.logit)}}{∑_u e^{ℓ_u}} ≈ ${compact(first.probability)}`],
    ]), t('card.unembed.formula', { vocabulary: trace.model.d_vocab }))];
  }
  const rows = top.map((one) => [visible(one.label), String(one.id), compact(one.logit), percent(one.probability)]);
  return [lead, note,
    bars(top.map((one) => ({
      label: visible(one.label), note: String(one.id), value: percent(one.probability), share: one.probability,
      action: () => view.append(one.piece), description: t('card.unembed.append', { token: visible(one.label), probability: percent(one.probability) }),
    })), 'stream'),
    el('p', { class: 'card-note' }, t('card.unembed.click')),
    depth === 'numbers' ? el('div', { class: 'card-scroll', tabindex: '0', role: 'region', 'aria-label': t('card.unembed.table') }, table([t('card.token_head'), 'id', 'logit', t('card.unembed.probability')], rows, t('card.unembed.table'))) : null];
}
