/** Curves of a training record over its steps. Pure: numbers in, chart out. */

import { stops } from '../colour.js';
import { escapeLabel, numberAxis } from './axes.js';

const stepAxis = (title, style) => ({ ...numberAxis(title, style), tickformat: ',d', rangemode: 'tozero' });

/** `lines`: [{name, steps, values, norm, dash, width}], `norm` 'post' or 'pre'; `words`: {x, y}. */
export function curves({ lines, words }) {
  return (width, style) => {
    const rows = Math.ceil(lines.length / (width < 520 ? 1 : 4));
    const room = 22 * rows;
    return {
      data: lines.map(({ name, steps, values, norm, dash = 'solid', width: thick = 2 }) => ({
        type: 'scatter', mode: 'lines', x: steps, y: values, name: escapeLabel(name),
        line: { color: style[norm], dash, width: thick },
        hovertemplate: `%{x:,}<br>${escapeLabel(name)} <b>%{y:.3f}</b><extra></extra>`,
      })),
      layout: {
        height: 330 + room,
        margin: { l: 58, r: 16, t: 12, b: 52 + room },
        xaxis: stepAxis(words.x, style),
        yaxis: numberAxis(words.y, style),
        showlegend: true,
        legend: { orientation: 'h', x: 0, y: -0.2, yanchor: 'top', font: { size: 12, color: style.ink }, itemclick: false, itemdoubleclick: false },
        hovermode: 'closest',
      },
    };
  };
}

/**
 * The scores of every head, one panel for each placement, on one scale. `panels`: [{norm, title, steps,
 * heads: [{label, values, strong}]}]: strong heads carry colour and name. `chance`: a dotted line.
 */
export function headCurves({ panels, chance, words }) {
  return (width, style) => {
    const stacked = width < 620;
    const gap = stacked ? 0.2 : 0.07;
    const part = (i) => [i === 0 ? 0 : 0.5 + gap / 2, i === 0 ? 0.5 - gap / 2 : 1];
    const layout = {
      height: stacked ? 560 : 330, margin: { l: 52, r: 14, t: 34, b: 48 }, hovermode: 'closest', annotations: [],
      shapes: panels.map((_, i) => ({
        type: 'line', xref: i ? 'x2 domain' : 'x domain', x0: 0, x1: 1, yref: i ? 'y2' : 'y', y0: chance, y1: chance,
        line: { color: style.muted, width: 1, dash: 'dot' },
      })),
    };
    const data = [];
    panels.forEach(({ norm, title, steps, heads }, i) => {
      const id = i ? '2' : '';
      layout[`xaxis${id}`] = { ...stepAxis(words.x, style), domain: stacked ? [0, 1] : part(i), anchor: `y${id}` };
      layout[`yaxis${id}`] = { ...numberAxis(i && !stacked ? '' : words.y, style), domain: stacked ? part(1 - i) : [0, 1], anchor: `x${id}`, range: [0, 1] };
      layout.annotations.push({
        text: `<b>${escapeLabel(title)}</b>`, xref: `x${id} domain`, yref: `y${id} domain`, x: 0, y: 1, yanchor: 'bottom', showarrow: false, yshift: 4, font: { size: 13, color: style[norm] },
      });
      for (const { label, values, strong } of heads) {
        data.push({
          type: 'scatter', mode: 'lines', x: steps, y: values, xaxis: `x${id}`, yaxis: `y${id}`,
          line: { color: strong ? style[norm] : style.muted, width: strong ? 2.5 : 1 }, opacity: strong ? 1 : 0.45,
          hovertemplate: `${escapeLabel(label)}<br>%{x:,}: <b>%{y:.2f}</b><extra></extra>`,
        });
      }
      // Names of heads that end close together would lie on each other: they stand in one line.
      const strong = heads.filter((head) => head.strong).sort((a, b) => b.values.at(-1) - a.values.at(-1));
      if (strong.length) {
        layout.annotations.push({
          text: strong.map(({ label }) => escapeLabel(label)).join(' '), xref: `x${id} domain`, yref: `y${id}`, x: 1, xanchor: 'right',
          y: Math.min(0.97, strong[0].values.at(-1)), yanchor: 'bottom', showarrow: false, yshift: 6, font: { size: 12, color: style[norm] },
        });
      }
    });
    return { data, layout };
  };
}

/** Gradient norms as two maps on one colour range: parts of the model as rows, steps as columns. */
export function gradientMaps({ panels, words }) {
  return (width, style) => {
    const all = panels.flatMap(({ rows }) => rows.flatMap(({ values }) => values)).filter((value) => value > 0).map(Math.log10);
    // The few largest, of the start, would leave one shade to all the others.
    const sorted = all.toSorted((a, b) => a - b);
    const [low, high] = [0.01, 0.99].map((part) => sorted[Math.round(part * (sorted.length - 1))]);
    const ticks = [-3, -2, -1, 0, 1, 2].flatMap((power) => [1, 2, 5].map((digit) => Number(`${digit}e${power}`))).filter((value) => Math.log10(value) >= low && Math.log10(value) <= high);
    const layout = {
      height: 400, margin: { l: 118, r: 64, t: 30, b: 48 }, annotations: [],
      coloraxis: {
        cmin: low, cmax: high, colorscale: stops('sequential', style.theme),
        colorbar: { tickvals: ticks.map(Math.log10), ticktext: ticks.map(String), thickness: 12, len: 1, outlinewidth: 0, tickfont: { size: 11, color: style.muted } },
      },
    };
    const data = panels.map(({ norm, title, steps, rows }, i) => {
      const id = i ? '2' : '';
      layout[`xaxis${id}`] = {
        ...stepAxis(i ? words.x : '', style), anchor: `y${id}`, showgrid: false, showticklabels: i === 1, range: [steps[0], steps.at(-1)],
      };
      layout[`yaxis${id}`] = {
        type: 'linear', tickmode: 'array', tickvals: rows.map((_, r) => r), ticktext: rows.map(({ name }) => escapeLabel(name)), fixedrange: true,
        showgrid: false, zeroline: false, domain: i ? [0, 0.42] : [0.58, 1], anchor: `x${id}`, tickfont: { size: 12, color: style.ink },
      };
      layout.annotations.push({
        text: `<b>${escapeLabel(title)}</b>`, xref: 'paper', yref: `y${id} domain`, x: 0, y: 1, xanchor: 'left', yanchor: 'bottom', showarrow: false, yshift: 4, font: { size: 13, color: style[norm] },
      });
      return {
        type: 'heatmap', coloraxis: 'coloraxis', xaxis: `x${id}`, yaxis: `y${id}`, x: steps, z: rows.map(({ values }) => values.map((value) => (value > 0 ? Math.log10(value) : null))),
        customdata: rows.map(({ values }) => values.map((value, s) => [steps[s], value])),
        hovertemplate: '%{y}<br>%{customdata[0]:,}: <b>%{customdata[1]:.4g}</b><extra></extra>', xgap: 0, ygap: 1,
      };
    });
    return { data, layout };
  };
}
