/** Curves, bands and maps of experiments, on linear or logarithmic axes. Pure: numbers in, chart out. */

import { stops } from '../colour.js';
import { escapeLabel, numberAxis } from './axes.js';

const axis = (title, kind, style, values) => ({
  ...numberAxis(title, style),
  ...(kind === 'log' ? { type: 'log', dtick: 'D1', exponentformat: 'power', ...logTicks(values) } : {}),
});

/** Ticks of a logarithmic axis: whole powers of ten, or of two where a few of them hold everything. */
function logTicks(values) {
  const finite = values.filter((value) => value > 0);
  const [low, high] = [Math.min(...finite), Math.max(...finite)];
  if (!finite.length || high / low > 4000) {
    const decades = Math.log10(high / low);
    return { tickmode: 'linear', tick0: 0, dtick: Math.max(1, Math.ceil(decades / 7)) };
  }
  const ticks = [];
  if (high / low < 12) {
    // Within a decade powers of two would be too few.
    for (let decade = 10 ** Math.floor(Math.log10(low)); decade <= high; decade *= 10) {
      ticks.push(...[1, 1.5, 2, 3, 5, 7].map((digit) => digit * decade).filter((tick) => tick >= low * 0.9 && tick <= high * 1.1));
    }
    return { tickmode: 'array', tickvals: ticks, ticktext: ticks.map((tick) => String(Number(tick.toPrecision(2)))) };
  }
  const factor = high / low > 64 ? 4 : 2;
  for (let tick = factor ** Math.floor(Math.log(low) / Math.log(factor)); tick <= high * 1.01; tick *= factor) if (tick >= low * 0.99) ticks.push(tick);
  return { tickmode: 'array', tickvals: ticks, ticktext: ticks.map((tick) => String(Number(tick.toPrecision(3)))) };
}

const range = (values, kind, low) => {
  const finite = values.filter((value) => Number.isFinite(value) && (kind !== 'log' || value > 0));
  if (!finite.length) return undefined;
  const [from, to] = [Math.min(...finite, ...(low === undefined ? [] : [low])), Math.max(...finite)];
  if (kind === 'log') {
    const margin = Math.max(0.08, Math.log10(to / from) * 0.04);
    return [Math.log10(from) - margin, Math.log10(to) + margin];
  }
  const margin = (to - from || Math.abs(to) || 1) * 0.05;
  return [from - margin, to + margin];
};

/**
 * `panels`: [{title, x, lines, xKind, yKind, xTitle, yTitle, low, mark, markName}] side by side where there is room.
 * A line: {name, values, x, colour, dash, low, high, only, size}; `low` and `high` are the ends of a band,
 * `only` 'markers' leaves out the line.
 * Lines of one name in several panels share one entry of the legend.
 */
export function curves({ panels }) {
  return (width, style) => {
    const across = width >= 620 && panels.length > 1;
    const each = 290;
    const named = [...new Set(panels.flatMap(({ lines }) => lines.map(({ name }) => name)))];
    const perRow = Math.max(1, Math.floor(width / 250));
    const legend = 20 * Math.ceil(named.length / perRow) + 14;
    const gap = 74;
    const rows = across ? 1 : panels.length;
    const margin = { l: 62, r: 14, t: 28, b: 46 + legend };
    const inner = rows * each + (rows - 1) * gap;
    const layout = {
      height: inner + margin.t + margin.b, margin, hovermode: 'closest', showlegend: true, annotations: [], shapes: [],
      legend: { orientation: 'h', x: 0, xanchor: 'left', y: -52 / inner, yref: 'paper', yanchor: 'top', font: { size: 12, color: style.ink }, itemclick: false, itemdoubleclick: false },
    };
    const data = [];
    const seen = new Set();
    panels.forEach((panel, i) => {
      const id = i === 0 ? '' : String(i + 1);
      const domainX = across ? [i / panels.length + (i ? 0.09 : 0), (i + 1) / panels.length] : [0, 1];
      const top = across ? 1 : 1 - (i * (each + gap)) / inner;
      const bottom = across ? 0 : Math.max(0, top - each / inner);
      const [xs, ys] = [panel.lines.flatMap((line) => line.x ?? panel.x), panel.lines.flatMap(({ values, low = [], high = [] }) => [...values, ...low, ...high])];
      for (const line of panel.lines) {
        const x = line.x ?? panel.x;
        if (line.low) {
          data.push({
            type: 'scatter', mode: 'lines', x: [...x, ...[...x].reverse()], y: [...line.high, ...[...line.low].reverse()], fill: 'toself',
            fillcolor: style[line.colour], opacity: 0.18, line: { width: 0 }, hoverinfo: 'skip', showlegend: false, xaxis: `x${id}`, yaxis: `y${id}`,
          });
        }
        data.push({
          type: 'scatter', mode: line.only ?? (line.dash ? 'lines' : 'lines+markers'), x, y: line.values, name: escapeLabel(line.name), legendgroup: line.name,
          showlegend: !seen.has(line.name), xaxis: `x${id}`, yaxis: `y${id}`, connectgaps: false, cliponaxis: false,
          line: { color: style[line.colour], dash: line.dash ?? 'solid', width: line.dash ? 1.6 : 2.4 }, marker: { size: line.size ?? (line.only ? 4 : 6), color: style[line.colour], opacity: line.only ? 0.45 : 1 },
          hovertemplate: `${escapeLabel(panel.xTitle)} %{x}<br>${escapeLabel(line.name)} <b>%{y:.4g}</b><extra></extra>`,
        });
        seen.add(line.name);
      }
      layout[`xaxis${id}`] = { ...axis(panel.xTitle, panel.xKind, style, xs), domain: domainX, anchor: `y${id}`, range: range(xs, panel.xKind) };
      layout[`yaxis${id}`] = { ...axis(panel.yTitle, panel.yKind, style, ys), domain: [bottom, top], anchor: `x${id}`, range: panel.yRange ?? range(ys, panel.yKind, panel.low) };
      if (panel.title) layout.annotations.push({
        text: escapeLabel(panel.title), xref: 'paper', yref: 'paper', x: domainX[0], y: top, xanchor: 'left', yanchor: 'bottom', yshift: 6, showarrow: false,
        font: { size: 12.5, color: style.ink },
      });
      if (panel.mark !== undefined) {
        layout.shapes.push({ type: 'line', xref: `x${id}`, yref: `y${id} domain`, x0: panel.mark, x1: panel.mark, y0: 0, y1: 1, line: { color: style.muted, width: 1, dash: 'dot' } });
        layout.annotations.push({
          text: escapeLabel(panel.markName), xref: `x${id}`, yref: `y${id} domain`, x: panel.xKind === 'log' ? Math.log10(panel.mark) : panel.mark, y: 0, xanchor: 'left', yanchor: 'bottom', xshift: 4, yshift: 2,
          showarrow: false, font: { size: 12, color: style.muted },
        });
      }
    });
    return { data, layout };
  };
}

/** A map [row][column] of positive numbers on a logarithmic colour scale from `least` to 1; zero stays empty. */
export function logMap({ values, x, y, xTitle, yTitle, least, words }) {
  return (width, style) => {
    const logs = values.map((row) => row.map((value) => (value > 0 ? Math.max(Math.log10(value), Math.log10(least)) : null)));
    const ticks = Array.from({ length: Math.floor(-Math.log10(least) / 3) + 1 }, (_, i) => -3 * i);
    return {
      data: [{
        type: 'heatmap', z: logs, x, y, customdata: values.map((row) => row.map((value) => (value === 0 ? '0' : value.toPrecision(2)))),
        colorscale: stops('sequential', style.theme), zmin: Math.log10(least), zmax: 0, hoverongaps: false, xgap: 0.5, ygap: 0.5,
        colorbar: { tickvals: ticks, ticktext: ticks.map((tick) => (tick === 0 ? '1' : `10<sup>${tick}</sup>`)), thickness: 12, outlinewidth: 0, tickfont: { size: 11, color: style.muted } },
        hovertemplate: `${escapeLabel(words.depth)} %{y}<br>${escapeLabel(words.position)} %{x}<br><b>%{customdata}</b><extra></extra>`,
      }],
      layout: {
        height: 340, margin: { l: 56, r: 8, t: 8, b: 48 }, plot_bgcolor: style.surface,
        xaxis: { ...numberAxis(xTitle, style), showgrid: false }, yaxis: { ...numberAxis(yTitle, style), showgrid: false, autorange: 'reversed' },
      },
    };
  };
}
