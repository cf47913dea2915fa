/** The card of the predictions: the likeliest next tokens, or why there are none. */

import { compact, percent, visible } from '../../format.js';
import { formula, m, name } from '../../mathml.js';
import { bars, formulaBox, hint, leading, note, scrolling, table } from './parts.js';

export async function unembed(view) {
  const { trace, t, rich, pos, depth, label } = view;
  if (!trace.predictions) {
    return [leading(t(trace.model.kind === 'random' ? 'card.unembed.none_random' : 'card.unembed.none'))];
  }
  const top = trace.predictions.positions[pos];
  const untrained = trace.model.norm_is_trained === false;
  const lead = leading(rich('card.unembed.lead', { pos, token: label }));
  const warning = untrained ? hint(t('card.unembed.other_wiring')) : null;
  if (depth === 'formula') {
    const [first] = top;
    return [lead, warning, formulaBox(formula([
      [m`ℓ`, m`= W_U · x`],
      [m`p_t`, m`= \frac{e^{ℓ_t}}{∑_u e^{ℓ_u}}`],
      [m`p_${name(visible(first.label))}`, m`≈ \frac{e^${compact(first.logit)}}{∑_u e^{ℓ_u}} ≈ ${compact(first.probability)}`],
    ]), t('card.unembed.formula', { vocabulary: trace.model.d_vocab }))];
  }
  const rows = top.map((one) => [visible(one.label), String(one.id), compact(one.logit), percent(one.probability)]);
  return [lead, warning,
    bars(top.map((one) => ({
      label: visible(one.label), note: String(one.id), value: percent(one.probability), share: one.probability,
      action: () => view.append(one.piece), description: t('card.unembed.append', { token: visible(one.label), probability: percent(one.probability) }),
    })), 'stream'),
    note(t('card.unembed.click')),
    depth === 'numbers' ? scrolling(t('card.unembed.table'), table([t('card.token_head'), 'id', 'logit', t('card.unembed.probability')], rows, t('card.unembed.table'))) : null];
}
