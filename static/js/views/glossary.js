/**
 * The plain explanation of a term, beside the word that asked for it. One popover for all pages; any
 * element with data-term opens it. Knows where words stand, not what they mean.
 */

import { el, put } from '../dom.js';
import { t } from '../i18n.js';

/** Names of the API for a term, where it has one. */
const POINTS = {
  block: 'blocks.L', write: 'attn_out, mlp_out', residual_stream: 'resid_pre, resid_mid, resid_post',
  layer_norm: 'ln1, ln2', mean: 'ln1.mean', variance: 'ln1.var', scale: 'ln1.scale', normalized: 'ln1.normalized',
  gamma_beta: 'ln1.w, ln1.b', final_layer_norm: 'ln_final', token_embedding: 'embed',
  positional_encoding: 'pos_embed', query_key_value: 'attn.q, attn.k, attn.v', dot_product: 'attn.dot',
  scaling: 'attn.attn_scores', attention_weight: 'attn.pattern', head_output: 'attn.z', output_matrix: 'attn.result',
  ffn: 'mlp', activation: 'mlp.post', epsilon: 'eps',
};

function placeBeside(card, button) {
  const at = button.getBoundingClientRect();
  const { offsetWidth: width, offsetHeight: height } = card;
  const below = at.bottom + 8 + height < innerHeight;
  card.style.left = `${Math.max(12, Math.min(at.left, innerWidth - width - 12))}px`;
  card.style.top = `${below ? at.bottom + 8 : Math.max(12, at.top - height - 8)}px`;
}

export function startGlossary(announce) {
  const card = el('div', { class: 'gloss', popover: 'auto', id: 'gloss', role: 'dialog', 'aria-labelledby': 'gloss-name' },
    el('h2', { id: 'gloss-name' }));
  document.body.append(card);
  document.addEventListener('click', (event) => {
    const button = event.target.closest('[data-term]');
    if (!button) return;
    const id = button.dataset.term;
    const [name, line] = [t(`term.${id}.name`), t(`term.${id}.line`)];
    put(card, el('h2', { id: 'gloss-name' }, name), el('p', {}, line), POINTS[id] ? el('code', {}, POINTS[id]) : null);
    card.showPopover();
    placeBeside(card, button);
    announce(t('label.value', { name, value: line }));
  });
}
