/**
 * Where along the depth two runs part: a bar for what each box gives, and under it the cosine of both
 * runs' values at every position. Pure: numbers in, chart out.
 */

import { stops } from '../colour.js';
import { shorten, visible } from '../format.js';
import { escapeLabel, labelled, labelWidth, numberAxis, tokenAxis } from './axes.js';

const BARS = 96;
const GAP = 30;
const ROW = 15; // pixels of a position where there is room for its label
const TALLEST = 300;
const LONGEST = 10; // characters of a token's label beside the map

/**
 * `stations`: [{name, role, block, value, cosines}]; `block` null outside the blocks. `labels` by
 * position. `chosen`: {station, position}. `words`: {value, cosine, position, block}.
 */
export function parting({ stations, labels, chosen, words }) {
  return (width, style) => {
    const n = labels.length;
    const pitch = Math.min(ROW, Math.max(2, TALLEST / n));
    const map = Math.ceil(pitch * n);
    const left = Math.max(46, ...labels.map((label) => labelWidth(shorten(visible(label), LONGEST), 11))) + 10;
    const height = BARS + GAP + map;
    const x = stations.map((_, i) => i);
    const blocks = stations.flatMap(({ block }, i) => (block !== null && block !== (stations[i - 1]?.block ?? null) ? [i] : []));
    const every = Math.ceil((blocks.length * (labelWidth(`${words.block} 10`, 12) + 8)) / Math.max(1, width - left));
    const names = stations.map(({ name }) => escapeLabel(name));
    const safe = labels.map((label) => escapeLabel(visible(label)));
    const largest = Math.max(...stations.map(({ value }) => value ?? 0)) || 1;
    const box = (shape) => ({ type: 'rect', xref: 'x', line: { color: style.ink, width: 1.5 }, fillcolor: 'rgba(0,0,0,0)', ...shape });
    return {
      data: [
        {
          type: 'bar', x, y: stations.map(({ value }) => value), xaxis: 'x', yaxis: 'y', customdata: names, width: 0.78,
          marker: { color: stations.map(({ role }) => style[role]), line: { width: 0 } },
          hovertemplate: `%{customdata}<br>${escapeLabel(words.value)} <b>%{y:.4g}</b><extra></extra>`,
        },
        {
          type: 'heatmap', x, y: labels.map((_, i) => i), z: labels.map((_, i) => stations.map(({ cosines }) => cosines?.[i] ?? null)),
          customdata: labels.map((_, i) => names.map((name) => [name, safe[i], i])),
          xaxis: 'x', yaxis: 'y2', zmin: -1, zmax: 1, colorscale: stops('diverging', style.theme), showscale: false, hoverongaps: false,
          xgap: 1, ygap: pitch > 6 ? 1 : 0,
          hovertemplate: `%{customdata[0]}<br>${escapeLabel(words.position)} %{customdata[2]} %{customdata[1]}<br>${escapeLabel(words.cosine)} <b>%{z:.4f}</b><extra></extra>`,
        },
      ],
      layout: {
        height: height + 12,
        margin: { l: Math.ceil(left), r: 8, t: 8, b: 4 },
        xaxis: { type: 'linear', range: [-0.5, stations.length - 0.5], showgrid: false, zeroline: false, showticklabels: false, ticks: '', fixedrange: true, anchor: 'y2' },
        yaxis: { ...numberAxis('', style), domain: [1 - BARS / height, 1], range: [0, largest * 1.06], nticks: 4 },
        yaxis2: { ...tokenAxis(labels, labelled(n, pitch, 13), style, LONGEST), tickfont: { size: 11, color: style.ink }, domain: [0, map / height], range: [n - 0.5, -0.5] },
        shapes: [
          ...blocks.map((i) => ({ type: 'line', xref: 'x', yref: 'paper', x0: i - 0.5, x1: i - 0.5, y0: 0, y1: 1, line: { color: style.line, width: 1 }, layer: 'below' })),
          ...(chosen.station < 0 ? [] : [box({ yref: 'paper', x0: chosen.station - 0.5, x1: chosen.station + 0.5, y0: 0, y1: 1 })]),
          box({ yref: 'y2', x0: -0.5, x1: stations.length - 0.5, y0: chosen.position - 0.5, y1: chosen.position + 0.5 }),
        ],
        annotations: blocks.filter((_, i) => i % every === 0).map((i) => ({
          text: escapeLabel(`${words.block} ${stations[i].block}`), xref: 'x', yref: 'paper', x: i - 0.5, y: map / height, xanchor: 'left', yanchor: 'bottom', yshift: 5, xshift: 3,
          showarrow: false, font: { size: 12, color: style.muted },
        })),
        hovermode: 'closest',
        bargap: 0,
      },
    };
  };
}
