/**
 * Vectors of one length as strips under each other on one colour axis: one figure, so that
 * skip + write = sum can be seen. Pure: numbers in, chart out.
 */

import { diverging, inkOn, stops } from '../colour.js';
import { decimalsFor, fixed } from '../format.js';
import { escapeLabel } from './axes.js';

export const STRIP_HEIGHT = 34;
export const STRIP_GAP = 38;
const NUMBER_ROOM = 64; // pixels of a component from which its number fits into it

/** Height in pixels of `n` strips with the gaps between them. */
export const stripsHeight = (n) => n * STRIP_HEIGHT + (n - 1) * STRIP_GAP;

/**
 * `strips`: [{name, values, factor}], `factor` (default 1) is how often a small vector is enlarged for
 * the eye; hover always tells the true value. `range`: the colour axis is −range..range.
 * `chosen`: the framed component, or null. `words`: {component}.
 */
export function strips({ strips: rows, range, chosen, words }) {
  return (width, style) => {
    const height = stripsHeight(rows.length);
    const data = rows.map(({ name, values, factor = 1 }, i) => ({
      type: 'heatmap',
      z: [values.map((value) => (value === null ? null : value * factor))],
      customdata: [values],
      x0: 0,
      dx: 1,
      y: [0],
      xaxis: 'x',
      yaxis: i === 0 ? 'y' : `y${i + 1}`,
      coloraxis: 'coloraxis',
      hoverongaps: false,
      hovertemplate: `${escapeLabel(name)}<br>${escapeLabel(words.component)} %{x}: <b>%{customdata:.6g}</b><extra></extra>`,
    }));
    const axes = {};
    const shapes = [];
    const annotations = [];
    const decimals = decimalsFor(rows.flatMap(({ values }) => values));
    const roomy = width / rows[0].values.length >= NUMBER_ROOM;
    rows.forEach(({ values, factor = 1 }, i) => {
      const top = 1 - (i * (STRIP_HEIGHT + STRIP_GAP)) / height;
      const bottom = Math.max(0, top - STRIP_HEIGHT / height);
      const id = i === 0 ? '' : String(i + 1);
      axes[`yaxis${id}`] = { domain: [bottom, top], visible: false, fixedrange: true, range: [-0.5, 0.5] };
      if (roomy) {
        values.forEach((value, component) => annotations.push({
          text: fixed(value, decimals), x: component, y: 0, xref: 'x', yref: `y${id}`, showarrow: false,
          font: { size: 13, color: inkOn(diverging((value * factor) / range, style.theme)) },
        }));
      }
      if (chosen !== null) {
        // A frame of at least a few pixels: one component of 512 is thinner than a line.
        const half = Math.max(0.5, (3.5 * rows[0].values.length) / Math.max(width, 1));
        shapes.push({
          type: 'rect', xref: 'x', yref: 'paper', x0: chosen - half, x1: chosen + half,
          y0: bottom, y1: top, line: { color: style.ink, width: 2 }, fillcolor: 'rgba(0,0,0,0)',
        });
      }
    });
    return {
      data,
      layout: {
        height,
        margin: { l: 0, r: 0, t: 0, b: 0, pad: 0 },
        xaxis: { visible: false, fixedrange: true, range: [-0.5, rows[0].values.length - 0.5], type: 'linear' },
        ...axes,
        coloraxis: { cmin: -range, cmax: range, cmid: 0, colorscale: stops('diverging', style.theme), showscale: false },
        shapes,
        annotations,
        hovermode: 'closest',
      },
    };
  };
}
