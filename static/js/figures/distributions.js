/**
 * How the components of one vector are spread, at several stages of a LayerNorm: a histogram each,
 * with the line of the mean and the band of one standard deviation. Pure: numbers in, chart out;
 * mean and deviation are given, never computed here.
 */

import { escapeLabel, numberAxis } from './axes.js';

const PANEL = 118;
const BETWEEN = 54;
// Bins a quarter of a standard deviation wide, counted from the mean: normalising then keeps every count.
const BINS_PER_DEVIATION = 4;

function bins(values, { mean, deviation }) {
  if (mean === null || !(deviation > 0) || values.length === 0) return {};
  const size = deviation / BINS_PER_DEVIATION;
  const furthest = values.reduce((most, value) => Math.max(most, Math.abs(value - mean)), 0);
  const reach = Math.ceil(furthest / size + 1e-6) * size;
  // Beyond forty deviations bins would be thinner than a pixel.
  return furthest > 40 * deviation ? {} : { xbins: { start: mean - reach, end: mean + reach, size } };
}

/**
 * `stages`: [{title, values, mean, deviation, colour}] (`colour` a role's name in the look; `binned`:
 * {mean, deviation} that bins are made from where those are not to be drawn).
 * `words`: {components}. Panels stand side by side where there is room.
 */
export function distributions({ stages, words }) {
  return (width, style) => {
    const across = width >= 560;
    const n = stages.length;
    const margin = { l: 38, r: 8, t: 26, b: 26 };
    const height = across ? 176 : margin.t + margin.b + n * PANEL + (n - 1) * BETWEEN;
    const inner = height - margin.t - margin.b;
    const layout = { height, margin, shapes: [], annotations: [], bargap: 0.06, hovermode: 'closest' };
    const data = [];
    stages.forEach(({ title, values, mean, deviation, binned = { mean, deviation }, colour }, i) => {
      const id = i === 0 ? '' : String(i + 1);
      const [x, y] = [`x${id}`, `y${id}`];
      const domainX = across ? [i / n + (i ? 0.035 : 0), (i + 1) / n - 0.005] : [0, 1];
      const top = across ? 1 : 1 - (i * (PANEL + BETWEEN)) / inner;
      const bottom = across ? 0 : Math.max(0, top - PANEL / inner);
      const finite = values.filter((value) => value !== null);
      data.push({
        type: 'histogram', x: finite, xaxis: x, yaxis: y, nbinsx: 36, ...bins(finite, binned), name: escapeLabel(title),
        marker: { color: style[colour], opacity: style.theme === 'dark' ? 0.75 : 0.6 },
        hovertemplate: `%{x}<br>${escapeLabel(words.components)} %{y}<extra></extra>`,
      });
      layout[`xaxis${id}`] = { ...numberAxis('', style), domain: domainX, anchor: y, nticks: 6, showgrid: false };
      layout[`yaxis${id}`] = {
        ...numberAxis(i === 0 || !across ? words.components : '', style), domain: [bottom, top], anchor: x, nticks: 4, rangemode: 'tozero',
      };
      layout[`yaxis${id}`].title.standoff = 2;
      if (mean !== null && deviation !== null) {
        layout.shapes.push({
          type: 'rect', xref: x, yref: `${y} domain`, x0: mean - deviation, x1: mean + deviation, y0: 0, y1: 1,
          fillcolor: style[colour], opacity: 0.14, line: { width: 0 }, layer: 'below',
        });
      }
      if (mean !== null) {
        layout.shapes.push({
          type: 'line', xref: x, yref: `${y} domain`, x0: mean, x1: mean, y0: 0, y1: 1, line: { color: style.ink, width: 2 },
        });
      }
      layout.annotations.push({
        text: escapeLabel(title), xref: 'paper', yref: 'paper', x: domainX[0], y: top, xanchor: 'left', yanchor: 'bottom',
        showarrow: false, yshift: 4, font: { size: 12, color: style.ink },
      });
    });
    return { data, layout };
  };
}
