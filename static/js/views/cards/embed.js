/** The cards of the embedding: the token's vector, and the first sum, with the position's vector. */

import { compact, count, decimalsFor, fixed } from '../../format.js';
import { formula, m, name, series } from '../../mathml.js';
import { facts, following, formulaBox, leading, note, vectorTable } from './parts.js';
import { lengthOf } from './run.js';
import { stripsBlock } from './strips.js';

const VECTORS = { embed: 'token', pos_embed: 'position', type_embed: 'type' };
const LETTERS = { token: 'e', position: 'p', type: 's' };
const isAdded = (kind) => kind === 'position' || kind === 'type';

export async function embed(view) {
  const { frame, trace, t, rich, pos, depth, label, token } = view;
  const last = frame.steps.at(-1);
  const whole = frame.part === 'positions';
  const points = whole ? [...last.inputs, last.output] : [last.output];
  const values = await view.get(...points.map((point) => `${point}[${pos}]`));
  const dim = view.dim ?? 0;
  const decimals = decimalsFor(values.flat());
  const names = whole ? [...last.inputs.map((point) => VECTORS[point]), 'sum'] : ['token'];
  const hasTypes = names.includes('type');
  const lead = leading(rich(`card.embed.lead.${hasTypes ? 'types' : frame.part}`, { pos, token: label, id: token.id, size: values[0].length, vocabulary: count(trace.model.d_vocab), segment: token.segment ?? 0 }));

  if (depth === 'formula') {
    const printed = (k, i) => fixed(values[k][i], decimals);
    const make = (i) => formulaBox(formula(whole
      ? [
        [m`x_{${pos},${i}}`, m`= ${series(names.slice(0, -1).map((one) => m`${name(LETTERS[one])}_${i}`))}`],
        [null, m`≈ ${series(values.slice(0, -1).map((_, k) => printed(k, i)))}`],
        [null, m`≈ ${printed(values.length - 1, i)}`],
      ]
      : [[m`e`, m`= W_E[${token.id}]`], [m`e_${i}`, m`≈ ${printed(0, i)}`]]));
    const sinusoidal = trace.request.config?.positions === 'sinusoidal';
    const waves = whole && sinusoidal ? formulaBox(formula([
      [m`p_{2i}`, m`= "sin"(\frac{"pos"}{10000^{2i/d}})`], [m`p_{2i+1}`, m`= "cos"(\frac{"pos"}{10000^{2i/d}})`],
    ]), t('card.embed.waves')) : null;
    return [lead, following(dim, make), waves, note(t(`card.embed.formula_${frame.part}`, { size: values[0].length }))];
  }
  const title = t(`card.embed.figure_${hasTypes ? 'types' : frame.part}`, { pos, token: label });
  const block = stripsBlock({
    rows: points.map((point, i) => ({
      name: t(`card.embed.${names[i]}`), point: `${point}[${pos}]`, role: isAdded(names[i]) ? 'weight' : 'stream', values: values[i],
      length: lengthOf(trace, point, pos), sign: i === 0 ? '' : i === points.length - 1 ? '=' : '+',
    })),
    dim, onDim: view.choose, t, twin: depth === 'words', name: title, note: whole ? t('card.add.one_range') : null, file: `${last.output}-${pos}`,
  });
  const columns = points.map((_, i) => ({
    name: t(`card.embed.${names[i]}`), values: values[i], role: isAdded(names[i]) ? 'weight' : 'stream', sign: i === 0 ? null : i === points.length - 1 ? '=' : '+',
  }));
  const length = lengthOf(trace, last.output, pos);
  return [lead, block,
    depth === 'numbers' ? vectorTable({ columns, chosen: dim, sum: whole, t, name: title, onChoose: view.choose }) : null,
    facts([
      { label: t('card.embed.token_text'), value: label, termId: 'token' },
      { label: t('card.embed.id'), value: String(token.id) },
      token.parts ? { label: t('card.embed.part'), value: t('card.embed.part_of', { part: token.part, parts: token.parts }) } : null,
      { label: t('card.embed.position_fact'), value: String(pos), termId: 'position' },
      { label: 'd_model', value: String(values[0].length), termId: 'd_model' },
      whole && length !== undefined ? { label: '|x|', value: compact(length), termId: 'length' } : null,
    ])];
}
