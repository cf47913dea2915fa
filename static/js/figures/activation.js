/**
 * The activation function as a curve, and the FFN's units as points on it. Pure: numbers in, chart out.
 * The points are the run's own values; the curve is the function itself, drawn for comparison.
 */

import { escapeLabel, numberAxis } from './axes.js';

/** Error function, to 1.2e-7 (a Chebyshev fit of erfc: Numerical Recipes, section 6.2). */
function erf(x) {
  const t = 1 / (1 + 0.5 * Math.abs(x));
  const fit = [-1.26551223, 1.00002368, 0.37409196, 0.09678418, -0.18628806, 0.27886807, -1.13520398, 1.48851587, -0.82215223, 0.17087277];
  const power = fit.reduceRight((sum, coefficient) => sum * t + coefficient, 0);
  const rest = t * Math.exp(-x * x + power);
  return x >= 0 ? 1 - rest : rest - 1;
}

export const FUNCTIONS = {
  relu: (x) => Math.max(0, x),
  gelu: (x) => 0.5 * x * (1 + erf(x / Math.SQRT2)),
  gelu_new: (x) => 0.5 * x * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3))),
};

/**
 * `before`, `after`: values of all units; `strong`: units drawn larger. `name`: the activation's name
 * in the API (a function not known here has points and no curve). `words`: {before, after, unit}.
 */
export function activation({ before, after, strong, name, words }) {
  return (width, style) => {
    const units = before.map((_, i) => i).filter((i) => before[i] !== null && after[i] !== null);
    const low = Math.min(-1, ...units.map((i) => before[i]));
    const high = Math.max(1, ...units.map((i) => before[i]));
    const pad = (high - low) * 0.05;
    const f = FUNCTIONS[name];
    const xs = Array.from({ length: 161 }, (_, i) => low - pad + ((high - low + 2 * pad) * i) / 160);
    const marked = new Set(strong);
    const points = (indices, size, opacity) => ({
      type: 'scatter', mode: 'markers', x: indices.map((i) => before[i]), y: indices.map((i) => after[i]), customdata: indices,
      marker: { color: style.mlp, size, opacity, line: { width: size > 8 ? 1.5 : 0, color: style.surface } },
      hovertemplate: `${escapeLabel(words.unit)} %{customdata}<br>${escapeLabel(words.before)} %{x:.4g}<br>${escapeLabel(words.after)} %{y:.4g}<extra></extra>`,
    });
    const data = [points(units.filter((i) => !marked.has(i)), 5, 0.45), points(units.filter((i) => marked.has(i)), 10, 1)];
    if (f) data.unshift({ type: 'scatter', mode: 'lines', x: xs, y: xs.map(f), line: { color: style.muted, width: 1.5 }, hoverinfo: 'skip' });
    return {
      data,
      layout: {
        height: 250,
        margin: { l: 52, r: 10, t: 8, b: 46 },
        xaxis: { ...numberAxis(words.before, style), zeroline: true, zerolinecolor: style.muted, range: [low - pad, high + pad] },
        yaxis: { ...numberAxis(words.after, style), zeroline: true, zerolinecolor: style.muted },
        hovermode: 'closest',
      },
    };
  };
}
