/**
 * The n × n grid of d × d tiles three times: which tile of a layer's one large matrix is which weight.
 * The shares in the third one are those of a run of POST /trace, never made up.
 */

import { colourOf, css, currentTheme, inkOn, onThemeChange } from '../../colour.js';
import { el, put } from '../../dom.js';
import { fixed, shorten, visible } from '../../format.js';
import { rich, t } from '../../i18n.js';
import { modelName } from '../../words.js';
import { derivation, forms, shortForms } from './forms.js';

const SHOWN = 6; // tiles to a side that stay legible on a phone

const DIGITS = '₀₁₂₃₄₅₆₇₈₉';
const index = (i, j) => `${DIGITS[i]}${DIGITS[j]}`;

/** A grid; `tile(i, j)` gives {text, kind, share} for the tile from position j to position i. */
function grid(name, labels, tile) {
  const size = labels.length;
  const cells = [];
  for (let i = 0; i < size; i += 1) {
    cells.push(el('span', { class: 'cost-tile-label' }, labels[i]));
    for (let j = 0; j < size; j += 1) {
      const { text, kind, share = null } = tile(i, j);
      const cell = el('span', { class: `cost-tile is-${kind}` }, text);
      if (share !== null) paint(cell, share);
      cells.push(cell);
    }
  }
  return el('div', { class: 'cost-tiles', role: 'img', 'aria-label': name, style: `--tiles: ${size}` },
    el('span', {}), labels.map((label) => el('span', { class: 'cost-tile-label' }, label)), cells);
}

function paint(cell, share) {
  const apply = () => {
    const rgb = colourOf(share, 'sequential', 1, currentTheme());
    cell.style.background = css(rgb);
    cell.style.color = inkOn(rgb);
  };
  apply();
  painted.add({ cell, apply });
}

const painted = new Set();
onThemeChange(() => {
  for (const entry of painted) {
    if (entry.cell.isConnected) entry.apply();
    else painted.delete(entry);
  }
});

const figure = (key, name, picture, facts) => el('figure', { class: 'cost-tile-figure' },
  el('figcaption', {}, el('h3', {}, t(`cost.tiles.${key}`)), el('p', {}, rich(`cost.tiles.${key}_line`))),
  picture, facts.map((fact) => el('p', { class: 'card-note' }, fact)));

/** `run`: {tokens, shares} of one head, or null while it is on its way. */
export function tilesSection(root, reply, run) {
  const { parameters, symbols } = reply;
  const positions = Array.from({ length: run ? run.tokens.length : SHOWN }, (_, i) => i);
  const plain = positions.map(String);
  const one = (i, j) => (i === j ? { text: 'W', kind: 'same' } : { text: '0', kind: 'none' });
  const labels = run ? run.tokens.map((label) => shorten(visible(label), 4)) : plain;
  put(root,
    el('p', {}, rich('cost.tiles.lead', { n: symbols.n, d: symbols.d, shown: positions.length })),
    el('div', { class: 'cost-tile-row' },
      figure('perceptron', 'perceptron', grid(t('cost.tiles.perceptron'), plain, (i, j) => ({ text: `W${index(i, j)}`, kind: 'own' })),
        [[derivation(parameters.perceptron, symbols), ' ', shortForms(parameters.perceptron.value)]]),
      figure('mlp', 'mlp', grid(t('cost.tiles.mlp'), plain, one), [t('cost.tiles.mlp_count', { count: forms(parameters.mlp.value), n: symbols.n })]),
      figure('attention', 'attention',
        run ? grid(t('cost.tiles.attention'), labels, (i, j) => {
          const share = run.shares[i][j] ?? 0;
          return { text: share === 0 ? '0' : `${fixed(share, 2).replace(/^0/, '')}W`, kind: 'share', share };
        }) : el('p', { class: 'card-note' }, t('cost.tiles.waiting')),
        [t('cost.tiles.attention_count', { count: forms(parameters.attention.value) }), ...(run ? [t('cost.tiles.attention_source', { model: modelName(run.model), text: run.text })] : [])])));
}

/** One head's shares for a short text, cut to as many positions as are shown. */
export function sharesOf(trace, point) {
  const tokens = trace.tokens.slice(0, SHOWN);
  const pattern = trace.tensors[point].values;
  return {
    text: trace.request.text, model: trace.model.id,
    tokens: tokens.map(({ label }) => label),
    shares: tokens.map((_, i) => tokens.map((__, j) => pattern[i][j])),
  };
}
