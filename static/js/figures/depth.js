/**
 * Curves over depth, one for each placement, with their names at their ends. Pure: numbers in, chart out.
 *
 * A placement is known by its marker and its name as well as by its colour; every other token runs along
 * faintly, or as a band where they are many.
 */

import { escapeLabel, labelWidth, numberAxis } from './axes.js';

const FAINT_UP_TO = 48;
const MARKERS = { post: 'circle', pre: 'diamond-open' };
const NAME_HEIGHT = 17;

/** Names at the ends of lines, moved apart where they would cover each other: [{y, …}] in pixels. */
export function apart(ends, room) {
  const sorted = [...ends].sort((a, b) => a.y - b.y);
  for (let i = 1; i < sorted.length; i += 1) sorted[i].y = Math.max(sorted[i].y, sorted[i - 1].y + NAME_HEIGHT);
  const over = sorted.length ? Math.max(0, sorted.at(-1).y - room) : 0;
  return sorted.map((end) => ({ ...end, y: end.y - over }));
}

function axisRange(values, { log, zero }) {
  const finite = values.filter((value) => Number.isFinite(value) && (!log || value > 0));
  if (!finite.length) return log ? [-1, 0] : [0, 1];
  const [low, high] = [Math.min(...finite), Math.max(...finite)];
  if (log) return [Math.log10(low) - 0.15, Math.log10(high) + 0.15];
  const from = zero ? Math.min(0, low) : low;
  const margin = (high - from || Math.abs(high) || 1) * 0.06;
  return [zero && from === 0 ? 0 : from - margin, high + margin];
}

const faint = (run, chosen, colour) => {
  const others = run.points[0].values.map((_, i) => i).filter((i) => i !== chosen);
  if (!others.length) return [];
  const x = run.points.map((point) => point.x);
  if (others.length > FAINT_UP_TO) {
    const ends = run.points.map(({ values }) => values.filter(Number.isFinite));
    return [{
      type: 'scatter', mode: 'lines', x: [...x, ...x.toReversed()], hoverinfo: 'skip', fill: 'toself', fillcolor: colour, opacity: 0.13, line: { width: 0 },
      y: [...ends.map((values) => Math.max(...values)), ...ends.map((values) => Math.min(...values)).toReversed()],
    }];
  }
  return [{
    type: 'scatter', mode: 'lines', hoverinfo: 'skip', opacity: 0.2, line: { color: colour, width: 1, dash: run.experiment ? 'dot' : 'solid' },
    x: others.flatMap(() => [...x, null]), y: others.flatMap((i) => [...run.points.map(({ values }) => values[i]), null]),
  }];
};

/**
 * `runs`: [{norm, name, experiment, points: [{x, label, values}]}]; `chosen`: index into values;
 * `cursor`: x of the chosen depth; `blocks`: [{name, short, from, to}]; `ticks`: [{x, text}];
 * `words`: {value, depth}; `zero`: the axis holds 0; `log`: it is logarithmic; `percent`: shares.
 */
export function depthCurves({ runs, chosen, cursor, blocks, ticks, words, zero = false, log = false, percent = false }) {
  return (width, style) => {
    const narrow = width < 560;
    const widest = Math.max(...runs.map(({ name }) => labelWidth(name, 13)));
    const margin = { l: narrow ? 48 : 62, r: Math.ceil(widest) + 16, t: 12, b: 62 };
    if (narrow) Object.assign(margin, { r: 12, t: 16 + NAME_HEIGHT * runs.length });
    const height = narrow ? 330 + NAME_HEIGHT * runs.length : 360;
    const inner = { width: width - margin.l - margin.r, height: height - margin.t - margin.b };
    const all = runs.flatMap(({ points }) => points.flatMap(({ values }) => values));
    const range = axisRange(all, { log, zero });
    const xs = runs.flatMap(({ points }) => points.map(({ x }) => x));
    const [from, to] = [Math.min(...xs, cursor ?? Infinity) - 0.6, Math.max(...xs, cursor ?? -Infinity) + 0.6];
    const pitch = inner.width / (to - from);
    const annotations = [];
    const add = (text, place) => annotations.push({ text: escapeLabel(text), showarrow: false, font: { size: 12, color: style.muted }, ...place });
    const blockRoom = Math.max(...blocks.map(({ name }) => labelWidth(name, 12))) + 8;
    const written = blocks.every(({ from: a, to: b }) => (b - a) * pitch >= blockRoom);
    const every = Math.max(1, Math.ceil(22 / Math.max(1, (blocks[0].to - blocks[0].from) * pitch)));
    const shown = ticks.filter(() => (ticks.length > 1 ? Math.abs(ticks[1].x - ticks[0].x) : 1) * pitch >= 42);
    blocks.forEach((block, i) => {
      if (written || i % every === 0) add(written ? block.name : block.short, { x: (block.from + block.to) / 2, xref: 'x', y: 0, yref: 'paper', yanchor: 'top', yshift: shown.length ? -22 : -6 });
    });
    if (!written) add(words.depth, { x: 1, xref: 'paper', xanchor: 'right', y: 0, yref: 'paper', yanchor: 'top', yshift: shown.length ? -40 : -24 });
    const pixel = (value) => {
      const place = log ? Math.log10(value) : value;
      return inner.height * (1 - (place - range[0]) / (range[1] - range[0]));
    };
    const drawn = runs.filter(({ points }) => Number.isFinite(points.at(-1).values[chosen]) && (!log || points.at(-1).values[chosen] > 0));
    const ends = narrow
      ? runs.map((run, i) => ({ run, y: -10 - NAME_HEIGHT * (runs.length - 1 - i) }))
      : apart(drawn.map((run) => ({ run, y: pixel(run.points.at(-1).values[chosen]) })), inner.height);
    for (const { run, y } of ends) {
      const text = narrow ? `${run.norm === 'post' ? '●' : '◇'} ${run.name}` : run.name;
      add(text, { x: narrow ? 0 : 1, xref: 'paper', xanchor: 'left', xshift: narrow ? 0 : 8, y: 1 - y / inner.height, yref: 'paper', yanchor: 'middle', font: { size: 13, color: style[run.norm], weight: 700 } });
    }
    const format = percent ? '%{y:.1%}' : '%{y:.4g}';
    const line = (run) => ({
      type: 'scatter', mode: 'lines+markers', x: run.points.map(({ x }) => x), y: run.points.map(({ values }) => (log && values[chosen] <= 0 ? null : values[chosen])), name: escapeLabel(run.name),
      line: { color: style[run.norm], width: 2.6, dash: run.experiment ? 'dash' : 'solid' },
      marker: { size: 8, symbol: MARKERS[run.norm], color: style[run.norm], line: { width: 2, color: style[run.norm] } },
      customdata: run.points.map(({ label }) => escapeLabel(label)),
      hovertemplate: `<b>${escapeLabel(run.name)}</b><br>%{customdata}<br>${escapeLabel(words.value)} <b>${format}</b><extra></extra>`,
    });
    return {
      data: [...runs.flatMap((run) => faint(run, chosen, style[run.norm])), ...runs.map(line)],
      layout: {
        height, margin, annotations, hovermode: 'closest',
        xaxis: { type: 'linear', range: [from, to], tickmode: 'array', tickvals: shown.map(({ x }) => x), ticktext: shown.map(({ text }) => escapeLabel(text)), tickangle: 0, tickfont: { size: 11, color: style.muted }, showgrid: false, zeroline: false, fixedrange: true },
        yaxis: { ...numberAxis(narrow ? '' : words.value, style), ...(log ? { type: 'log', dtick: 1 } : {}), ...(percent ? { tickformat: '.0%' } : {}), zeroline: range[0] < 0 && !log, zerolinecolor: style.muted, zerolinewidth: 1, range },
        shapes: [
          ...blocks.filter((_, i) => i % 2 === 0).map((block) => ({ type: 'rect', layer: 'below', xref: 'x', yref: 'paper', x0: block.from, x1: block.to, y0: 0, y1: 1, line: { width: 0 }, fillcolor: style.muted, opacity: 0.07 })),
          ...(cursor === null ? [] : [{ type: 'line', xref: 'x', yref: 'paper', x0: cursor, x1: cursor, y0: 0, y1: 1, line: { color: style.stream, width: 1.5, dash: 'dot' } }]),
        ],
      },
    };
  };
}
