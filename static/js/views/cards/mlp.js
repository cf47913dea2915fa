/** The card of the FFN: its units before and after the activation, and what it writes. */

import { activation } from '../../figures/activation.js';
import { distributions } from '../../figures/distributions.js';
import { compact, count } from '../../format.js';
import { formula, m, name } from '../../mathml.js';
import { bars, facts, figure, formulaBox, leading, note, section, vectorData, vectorTable } from './parts.js';
import { lengthOf } from './run.js';
import { stripsBlock } from './strips.js';

const STRONGEST = 8;
const NAMES = { relu: 'ReLU', gelu: 'GELU', gelu_new: 'GELU (tanh)' };

const strongestOf = (values, number) =>
  values.map((_, u) => u).sort((a, b) => Math.abs(values[b] ?? 0) - Math.abs(values[a] ?? 0)).slice(0, number);

function formulas(view, before, after, out) {
  const { frame, trace } = view;
  const unit = strongestOf(after, 1)[0];
  const reads = trace.model.norm === 'pre' ? m`"LayerNorm"(x)` : m`x`;
  const act = name(NAMES[trace.model.activation] ?? trace.model.activation);
  const dim = view.dim ?? 0;
  return formula({
    pre: [[m`h`, m`= W_"in" · ${reads} + b_"in"`], [m`h_${unit}`, m`≈ ${compact(before[unit])}`]],
    act: [
      [m`a`, m`= ${act}(h)`],
      [m`a_${unit}`, m`≈ ${act.cloneNode(true)}(${compact(before[unit])})`],
      [null, m`≈ ${compact(after[unit])}`],
    ],
    out: [[m`"FFN"`, m`= W_"out" · a + b_"out"`], [m`"FFN"_${dim}`, m`≈ ${compact(out[dim])}`]],
  }[frame.part]);
}

export async function mlp(view) {
  const { frame, trace, t, rich, pos, depth, label } = view;
  const { d_model: size, d_mlp: units, activation: code } = trace.model;
  const act = NAMES[code] ?? code;
  const made = `${frame.step.output}[${pos}]`;
  const [before, after, out] = await view.get(`${view.at('mlp.pre')}[${pos}]`, `${view.at('mlp.post')}[${pos}]`, made);
  const title = t(`card.mlp.${frame.part}_figure`, { pos, token: label, units, act });
  const length = lengthOf(trace, frame.step.output, pos);
  const lead = leading(rich(`card.mlp.lead.${frame.part}`, { pos, token: label, size, units, act, times: String(Number((units / size).toPrecision(3))) }));
  if (depth === 'formula') {
    return [lead, formulaBox(formulas(view, before, after, out), t('card.mlp.formula_note', { pos, token: label })),
      note(t(`card.mlp.formula_${frame.part}`, { size, units }))];
  }
  const strong = strongestOf(after, STRONGEST).filter((u) => after[u]); // ReLU leaves most units at exactly 0
  const most = Math.abs(after[strong[0]] ?? 0);
  const list = section(t('card.mlp.strongest', { count: strong.length }), bars(strong.map((u) => ({
    label: t('card.mlp.unit_n', { unit: u }), note: compact(before[u], 3), value: compact(after[u], 3), share: most ? Math.abs(after[u]) / most : 0,
  })), 'mlp'), note(t('card.mlp.strongest_note')));
  const positive = before.filter((value) => value > 0).length;
  const numbers = facts([
    { label: 'd_mlp', value: count(units) },
    { label: t('card.mlp.positive'), value: `${count(positive)} / ${count(units)}` },
    { label: t('card.mlp.activation'), value: act, termId: 'activation' },
    { label: t('card.mlp.length'), value: compact(length), termId: 'length' },
  ], 'mlp');

  if (frame.part === 'pre') {
    return [lead, figure({
      name: title, t, file: `${view.at('mlp.pre')}-${pos}`, height: 176,
      build: distributions({ stages: [{ title: 'mlp.pre', values: before, mean: null, deviation: null, colour: 'mlp' }], words: { components: t('card.mlp.units') } }),
      data: vectorData(t('card.mlp.unit'), [['mlp.pre', before]]),
    }), note(rich('card.mlp.position_wise')), depth === 'numbers' ? [
      vectorTable({ columns: [{ name: 'mlp.pre', values: before, role: 'mlp' }], chosen: null, t, name: title }), numbers] : null];
  }
  if (frame.part === 'act') {
    return [lead, figure({
      name: title, t, file: `${view.at('mlp.post')}-${pos}`, height: 250,
      build: activation({ before, after, strong, name: code, words: { before: t('card.mlp.before'), after: t('card.mlp.after'), unit: t('card.mlp.unit') } }),
      data: vectorData(t('card.mlp.unit'), [['mlp.pre', before], ['mlp.post', after]]),
    }), list, depth === 'numbers' ? numbers : null];
  }
  return [lead, stripsBlock({
    rows: [{ name: trace.model.norm === 'pre' ? 'FFN(LayerNorm(x))' : 'FFN(x)', point: made, role: 'mlp', values: out, length }],
    dim: view.dim ?? 0, onDim: view.choose, t, twin: depth === 'words', file: `${frame.step.output}-${pos}`, name: title,
  }), note(rich('card.mlp.next')), depth === 'numbers' ? [
    vectorTable({ columns: [{ name: 'FFN(x)', values: out, role: 'mlp' }], chosen: view.dim ?? 0, t, name: title, onChoose: view.choose }), numbers] : null];
}
