/** The cards of the embedding: the token's vector, and the first sum, with the position's vector. */

import { el } from '../../dom.js';
import { compact, decimalsFor, fixed } from '../../format.js';
import { formula, fraction, id, name, operator, row, sub, sup, term } from '../../mathml.js';
import { facts, following, formulaBox, vectorTable } from './parts.js';
import { lengthOf } from './run.js';
import { stripsBlock } from './strips.js';

export async function embed(view) {
  const { frame, trace, t, rich, pos, depth, label, token } = view;
  const last = frame.steps.at(-1);
  const whole = frame.part === 'positions';
  const points = whole ? [...last.inputs, last.output] : [last.output];
  const values = await view.get(...points.map((point) => `${point}[${pos}]`));
  const dim = view.dim ?? 0;
  const decimals = decimalsFor(values.flat());
  const names = whole ? ['token', ...last.inputs.slice(1).map(() => 'position'), 'sum'] : ['token'];
  const lead = el('p', { class: 'card-lead' }, rich(`card.embed.lead.${frame.part}`, { pos, token: label, id: token.id, size: values[0].length, vocabulary: trace.model.d_vocab }));

  if (depth === 'formula') {
    const make = (i) => formulaBox(formula(whole
      ? [
        [sub(id('x'), row(String(pos), ',', String(i))), operator('='), sub(id('e'), String(i)), operator('+'), sub(id('p'), String(i))],
        [row(), operator('≈'), ...values.slice(0, -1).flatMap((vector, k) => [...(k ? [operator('+')] : []), term(fixed(vector[i], decimals))])],
        [row(), operator('≈'), term(fixed(values.at(-1)[i], decimals))],
      ]
      : [
        [id('e'), operator('='), sub(id('W'), id('E')), operator('['), String(token.id), operator(']')],
        [sub(id('e'), String(i)), operator('≈'), term(fixed(values[0][i], decimals))],
      ]));
    const sinusoidal = trace.request.config?.positions === 'sinusoidal';
    const waves = whole && sinusoidal ? formulaBox(formula(['sin', 'cos'].map((wave, k) => [
      sub(id('p'), k ? row('2', id('i'), operator('+'), '1') : row('2', id('i'))), operator('='), name(wave), operator('('),
      fraction(name('pos'), sup('10000', fraction(row('2', id('i')), id('d')))), operator(')'),
    ])), t('card.embed.waves')) : null;
    return [lead, following(dim, make), waves, el('p', { class: 'card-note' }, t(`card.embed.formula_${frame.part}`, { size: values[0].length }))];
  }
  const title = t(`card.embed.figure_${frame.part}`, { pos, token: label });
  const block = stripsBlock({
    rows: points.map((point, i) => ({
      name: t(`card.embed.${names[i]}`), point: `${point}[${pos}]`, role: names[i] === 'position' ? 'weight' : 'stream', values: values[i],
      length: lengthOf(trace, point, pos), sign: i === 0 ? '' : i === points.length - 1 ? '=' : '+',
    })),
    dim, onDim: view.choose, t, twin: depth === 'words', name: title, note: whole ? t('card.add.one_range') : null, file: `${last.output}-${pos}`,
    data: {
      columns: [t('card.component_head'), ...points],
      rows: values[0].map((_, i) => [i, ...values.map((vector) => fixed(vector[i], decimals))]),
      exact: values[0].map((_, i) => [i, ...values.map((vector) => vector[i])]),
    },
  });
  const columns = points.map((_, i) => ({
    name: t(`card.embed.${names[i]}`), values: values[i], role: names[i] === 'position' ? 'weight' : 'stream', sign: i === 0 ? null : i === points.length - 1 ? '=' : '+',
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
