/** The card of a LayerNorm: mean, variance, normalise, gamma and beta, and every position's statistics. */

import { el } from '../../dom.js';
import { distributions } from '../../figures/distributions.js';
import { positions } from '../../figures/positions.js';
import { brief, compact, decimalsFor, exactly, fixed, share } from '../../format.js';
import { formula, inline, m, series, sign } from '../../mathml.js';
import { facts, figure, following, formulaBox, hint, leading, note, vectorData, vectorTable } from './parts.js';
import { normNamed } from './run.js';

const equals = (value) => sign(exactly(value, compact(value)));

// A mean of 1e-9 is rounding, not a figure: it is written 0.0000.
const nearZero = (value) => (Math.abs(value) < 1e-6 ? fixed(value, 4) : compact(value));

const STAGES = ['mean', 'var', 'normalize', 'affine'];

/** The four stages with this token's figures; the one that the frame is about stands out. */
function ladder(view, one) {
  const { t } = view;
  const rows = {
    mean: [t('card.ln.mean'), [inline(m`μ ${equals(one.mean)} ${compact(one.mean)}`)]],
    var: [t('card.ln.variance'), [
      inline(m`σ^2 ${equals(one.var)} ${compact(one.var)}`),
      el('span', { class: 'card-note' }, t('card.ln.eps_share', { eps: brief(one.eps), share: share(one.epsShare) })),
    ]],
    normalize: [t('card.ln.normalize'), [
      inline(m`\frac{x − μ}{\sqrt{σ^2 + ε}}`),
      el('span', { class: 'card-note' }, t('card.ln.divisor', { scale: compact(one.scale) })),
    ]],
    affine: [t('card.ln.affine'), [
      inline(m`γ · n + β`),
      el('span', { class: 'card-note' }, t('card.ln.leaves', { mean: nearZero(one.outMean), var: compact(one.outVar) })),
    ]],
  };
  return el('ol', { class: 'card-ladder' }, STAGES.map((part) => el('li', {
    class: part === view.frame.part ? 'is-now' : null, 'aria-current': part === view.frame.part ? 'step' : null,
  }, el('b', {}, rows[part][0]), el('span', { class: 'card-ladder-value num' }, rows[part][1]))));
}

function spread(view, one, { x, normalized, out }) {
  const { t, frame, pos, label, trace } = view;
  const shown = Math.min(3, Math.max(1, STAGES.indexOf(frame.part)));
  const stages = [
    { title: t('card.ln.before'), values: x, mean: one.mean, deviation: Math.sqrt(one.var), colour: 'stream' },
    // The run reports no mean and variance of it: the bins of the stage before follow it, no line is drawn.
    { title: t('card.ln.normalized'), values: normalized, mean: null, deviation: null, binned: { mean: 0, deviation: 1 }, colour: 'norm' },
    { title: t('card.ln.after'), values: out, mean: one.outMean, deviation: Math.sqrt(one.outVar), colour: 'norm' },
  ].slice(0, shown);
  if (frame.part === 'mean') Object.assign(stages[0], { deviation: null, binned: { ...stages[0] } });
  return figure({
    name: t('card.ln.spread', { pos, token: label, count: trace.model.d_model }), t, file: `${frame.step.name}-${pos}`,
    caption: t(frame.part === 'mean' ? 'card.ln.spread_mean' : `card.ln.spread_caption_${shown}`),
    build: distributions({ stages, words: { components: t('card.ln.components') } }),
    height: 176,
    data: vectorData(t('card.component_head'), stages.map(({ title, values }) => [title, values])),
  });
}

function everyPosition(view, norm) {
  const { t, frame, pos, labels } = view;
  const leaving = frame.part === 'affine';
  const means = leaving ? norm.out_mean : norm.mean;
  const variances = leaving ? norm.out_var : norm.var;
  const name = t(leaving ? 'card.ln.positions_after' : 'card.ln.positions', { count: labels.length });
  const columns = [t('card.position_head'), t('card.token_head'), t('card.ln.mean'), t('card.ln.variance'), t('card.ln.scale'), t('card.ln.out_mean'), t('card.ln.out_var')];
  const rows = (write) => labels.map((label, i) => [i, label, ...[norm.mean[i], norm.var[i], norm.scale[i], norm.out_mean[i], norm.out_var[i]].map(write)]);
  return figure({
    name, t, file: `${frame.step.name}-positions`, caption: name, height: 200,
    build: positions({
      labels, means, deviations: variances.map((value) => (value === null ? null : Math.sqrt(value))), chosen: pos,
      words: { value: t('card.ln.mean_and_deviation'), position: t('card.position_head'), mean: t('card.ln.mean'), deviation: t('card.ln.deviation') },
    }),
    data: { columns, rows: rows(nearZero), exact: rows((value) => value) },
    onClick: (event) => view.set({ position: event.points[0].x }),
  });
}

function formulas(view, one, { x, normalized, out }) {
  const { t, frame, pos, label } = view;
  const d = x.length;
  const decimals = decimalsFor(x);
  const digits = (i) => fixed(x[i], decimals);
  const mean = compact(one.mean);
  const result = (value) => [null, m`${equals(value)} ${compact(value)}`];
  const square = (i) => m`{(${digits(i)} − ${mean})}^2`;
  const first = [0, 1, 2].slice(0, d).map(digits);
  const lines = {
    mean: () => [
      [m`μ`, m`= \frac{1}{d} ∑_i x_i`],
      [null, m`≈ \frac{${series([...first, sign('…'), digits(d - 1)])}}{${d}}`],
      result(one.mean),
    ],
    var: () => [
      [m`σ^2`, m`= \frac{1}{d} ∑_i {(x_i − μ)}^2`],
      [null, m`≈ \frac{${series([square(0), square(d > 1 ? 1 : 0), sign('…')])}}{${d}}`],
      result(one.var),
    ],
    normalize: (i) => [
      [m`n_i`, m`= \frac{x_i − μ}{\sqrt{σ^2 + ε}}`],
      [m`n_${i}`, m`≈ \frac{${digits(i)} − ${mean}}{\sqrt{${compact(one.var)} + ${brief(one.eps)}}}`],
      [null, m`≈ \frac{${digits(i)} − ${mean}}{${compact(one.scale)}}`],
      result(normalized[i]),
    ],
    affine: (i) => [
      [m`y_i`, m`= γ_i · n_i + β_i`],
      [m`y_${i}`, m`≈ γ_${i} · ${compact(normalized[i])} + β_${i}`],
      result(out[i]),
    ],
  };
  return [
    el('h3', {}, t('card.with_numbers', { pos, token: label })),
    following(view.dim ?? 0, (i) => formulaBox(formula(lines[frame.part](i)))),
    note(t(`card.ln.formula_${frame.part}`, { size: d, less: d - 1 })),
  ];
}

export async function layerNorm(view) {
  const { frame, trace, t, rich, pos, depth, label } = view;
  const { name, inputs } = frame.step;
  const norm = normNamed(trace, name);
  const [x, normalized, out] = await view.get(`${inputs[0]}[${pos}]`, `${name}.normalized[${pos}]`, `${name}.out[${pos}]`);
  const one = { eps: norm.eps, mean: norm.mean[pos], var: norm.var[pos], scale: norm.scale[pos], epsShare: norm.eps_share[pos], outMean: norm.out_mean[pos], outVar: norm.out_var[pos] };
  const untouched = out.every((value, i) => value === normalized[i]);
  const lead = leading(rich(`card.ln.lead.${frame.part}`, { pos, token: label, size: x.length }));
  const notes = [
    frame.part === 'affine' && untouched ? hint(t(trace.model.kind === 'random' ? 'card.ln.untrained' : 'card.ln.identity')) : null,
    one.var === 0 ? hint(t('card.ln.flat')) : null,
  ];
  if (depth === 'formula') return [lead, notes, formulas(view, one, { x, normalized, out })];

  const pictures = [spread(view, one, { x, normalized, out }), everyPosition(view, norm)];
  const place = note(rich(`card.ln.place.${trace.model.norm}`));
  if (depth === 'words') {
    return [lead, notes, ladder(view, one), pictures, frame.part === 'mean' ? note(rich('card.ln.batch_norm')) : place];
  }
  const columns = [
    { name: 'x', values: x, role: 'stream' },
    ...(['normalize', 'affine'].includes(frame.part) ? [{ name: t('card.ln.normalized'), values: normalized, role: 'norm' }] : []),
    ...(frame.part === 'affine' ? [{ name: t('card.ln.after'), values: out, role: 'norm' }] : []),
  ];
  return [lead, notes, ladder(view, one), pictures,
    vectorTable({ columns, chosen: view.dim ?? 0, t, name: t('card.ln.table', { pos, token: label }), onChoose: view.choose }),
    facts([
      { label: t('card.ln.mean'), value: compact(one.mean, 6), termId: 'mean' },
      { label: t('card.ln.variance'), value: compact(one.var, 6), termId: 'variance' },
      { label: 'ε', value: brief(one.eps), termId: 'epsilon' },
      { label: t('card.ln.scale'), value: compact(one.scale, 6), termId: 'scale' },
      { label: t('card.ln.out_mean'), value: nearZero(one.outMean) },
      { label: t('card.ln.out_var'), value: compact(one.outVar, 6) },
    ], 'norm')];
}
