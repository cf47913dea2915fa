/** The placement, Post-LN or Pre-LN, and the choice of the model. Knows no run. */

import { $$, el, put } from '../dom.js';
import { t } from '../i18n.js';
import { modelName } from '../words.js';

export function createToggle(root, choose) {
  root.addEventListener('change', (event) => choose(event.target.value));
  return {
    /** `model`: the one that ran, if one did: a parallel one has no Post-LN. */
    update(norm, model = null) {
      for (const input of $$('input', root)) {
        input.checked = input.value === norm;
        input.disabled = model?.wiring === 'parallel' && input.value === 'post';
        input.closest('label').title = input.disabled ? t('norm.undefined') : '';
      }
    },
  };
}

/** Which of two trained placements the weights come from: a choice only where there are both. */
export function weightsChoice(model, chosen, choose) {
  if (model.norms.length < 2) return null;
  const choices = [['', t('weights.own')], ...model.norms.map((norm) => [norm, t('weights.of', { norm: t(`norm.name.${norm}`) })])];
  return el('label', { class: 'weights' }, el('span', {}, t('weights.label')),
    el('select', { id: 'weights', onchange: (event) => choose(event.target.value || null) },
      choices.map(([value, name]) => el('option', { value, selected: value === (chosen ?? '') }, name))));
}

function options(models) {
  return models.flatMap((model) => {
    const name = modelName(model.id);
    const plain = { value: model.id, name };
    if (model.kind !== 'random') return [plain];
    return [plain, { value: `${model.id}:paper`, name: t('model.size.paper', { name }) }];
  });
}

export function createModelSelect(select, choose) {
  select.addEventListener('change', () => {
    const [model, size = null] = select.value.split(':');
    choose({ model, size, weights: null });
  });
  return {
    update(models, { model, size }) {
      const value = size ? `${model}:${size}` : model;
      const wanted = options(models);
      put(select, wanted.map((one) => el('option', { value: one.value }, one.name)));
      select.value = value;
    },
  };
}
