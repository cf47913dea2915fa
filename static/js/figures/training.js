/** Curves of a training record over its steps. Pure: numbers in, chart out. */

import { stops } from '../colour.js';
import { escapeLabel, numberAxis } from './axes.js';

// Labels of steps are wide: few of them, and never turned.
const stepAxis = (title, style, ticks = 0) => ({ ...numberAxis(title, style), tickformat: ',d', tickangle: 0, rangemode: 'tozero', ...(ticks ? { nticks: ticks } : {}) });

const LAST_PART = 0.1; // of the steps, in the panels of the end
const [WHOLE_HEIGHT, END_HEIGHT, BETWEEN] = [230, 190, 76];

/**
 * Losses over the steps, a column of panels for each language: the whole record, and below it the last
 * tenth on a scale of its own, on which lines that end close together part. `lines`: [{name, language,
 * steps, values, norm}], `norm` 'post' or 'pre'; `words`: {x, y, norms: {post, pre}, titles: {language:
 * [whole, end]}}; `write`: how the last value is written.
 */
export function curves({ lines, words, write }) {
  return (width, style) => {
    const languages = Object.keys(words.titles);
    const across = width >= 620;
    const rows = across ? 2 : 2 * languages.length;
    const heights = Array.from({ length: rows }, (_, row) => (row % 2 ? END_HEIGHT : WHOLE_HEIGHT));
    const inner = heights.reduce((sum, height) => sum + height, (rows - 1) * BETWEEN);
    const margin = { l: 58, r: 44, t: 30, b: 88 };
    const layout = {
      height: inner + margin.t + margin.b, margin, hovermode: 'closest', showlegend: true, annotations: [],
      legend: { orientation: 'h', x: 0, y: -50 / inner, yanchor: 'top', font: { size: 12, color: style.ink }, itemclick: false, itemdoubleclick: false },
    };
    const ends = lines.map(({ steps, values }) => {
      const first = steps.findIndex((step) => step >= steps.at(-1) * (1 - LAST_PART));
      return { steps: steps.slice(first), values: values.slice(first) };
    });
    const range = (values) => {
      const [low, high] = [Math.min(...values), Math.max(...values)];
      const margin = (high - low || 1) * 0.08;
      return [low - margin, high + margin];
    };
    const ranges = [range(lines.flatMap(({ values }) => values)), range(ends.flatMap(({ values }) => values))];
    const idOf = (language, end) => languages.indexOf(language) * 2 + end + 1;
    const axis = (id) => (id === 1 ? '' : String(id));
    languages.forEach((language, column) => [0, 1].forEach((end) => {
      const id = axis(idOf(language, end));
      const row = across ? end : column * 2 + end;
      const top = 1 - (heights.slice(0, row).reduce((sum, height) => sum + height, 0) + row * BETWEEN) / inner;
      const left = across ? column * 0.545 : 0;
      const { steps } = (end ? ends : lines)[lines.findIndex((line) => line.language === language)];
      layout[`xaxis${id}`] = {
        ...stepAxis(words.x, style, across ? 6 : 4), domain: across ? [left, left + 0.455] : [0, 1], anchor: `y${id}`, range: [steps[0], steps.at(-1)], ...(end ? { rangemode: 'normal' } : {}),
      };
      layout[`yaxis${id}`] = { ...numberAxis(column && across ? '' : words.y, style), nticks: 6, domain: [Math.max(0, top - heights[row] / inner), top], anchor: `x${id}`, range: ranges[end] };
      layout.annotations.push({
        text: `<b>${escapeLabel(words.titles[language][end])}</b>`, xref: `x${id} domain`, yref: `y${id} domain`, x: 0, y: 1, xanchor: 'left', yanchor: 'bottom', showarrow: false, yshift: 4, font: { size: 13, color: style.ink },
      });
    }));
    const draw = (line, { steps, values }, end) => ({
      type: 'scatter', mode: end ? 'lines+markers' : 'lines', x: steps, y: values, name: escapeLabel(words.norms[line.norm]), legendgroup: line.norm,
      showlegend: end === 0 && line.language === languages[0], xaxis: `x${axis(idOf(line.language, end))}`, yaxis: `y${axis(idOf(line.language, end))}`, cliponaxis: false,
      line: { color: style[line.norm], width: 2 }, marker: { size: 5, color: style[line.norm] },
      hovertemplate: `%{x:,}<br>${escapeLabel(line.name)} <b>%{y:.3f}</b><extra></extra>`,
    });
    for (const line of lines) {
      const last = line.values.at(-1);
      const higher = lines.some((other) => other.language === line.language && other !== line && other.values.at(-1) < last);
      const id = axis(idOf(line.language, 1));
      layout.annotations.push({
        text: `<b>${escapeLabel(write(last))}</b>`, xref: `x${id} domain`, yref: `y${id}`, x: 1, y: last, xanchor: 'left', yanchor: higher ? 'bottom' : 'top', yshift: higher ? -8 : 8, xshift: 6,
        showarrow: false, font: { size: 12, color: style[line.norm] },
      });
    }
    return { data: [...lines.map((line) => draw(line, line, 0)), ...lines.map((line, i) => draw(line, ends[i], 1))], layout };
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
      layout[`xaxis${id}`] = { ...stepAxis(words.x, style, stacked ? 4 : 6), domain: stacked ? [0, 1] : part(i), anchor: `y${id}` };
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
      height: 430, margin: { l: 118, r: 64, t: 30, b: 52 }, annotations: [],
      coloraxis: {
        cmin: low, cmax: high, colorscale: stops('sequential', style.theme),
        colorbar: { tickvals: ticks.map(Math.log10), ticktext: ticks.map(String), thickness: 12, len: 1, outlinewidth: 0, tickfont: { size: 11, color: style.muted } },
      },
    };
    const data = panels.map(({ norm, title, steps, rows }, i) => {
      const id = i ? '2' : '';
      layout[`xaxis${id}`] = {
        ...stepAxis(i ? words.x : '', style, width < 520 ? 3 : 8), anchor: `y${id}`, showgrid: false, showticklabels: i === 1, ticks: i ? 'outside' : '', range: [steps[0], steps.at(-1)],
      };
      layout[`yaxis${id}`] = {
        type: 'linear', tickmode: 'array', tickvals: rows.map((_, r) => r), ticktext: rows.map(({ name }) => escapeLabel(name)), fixedrange: true,
        showgrid: false, zeroline: false, domain: i ? [0, 0.41] : [0.59, 1], anchor: `x${id}`, tickfont: { size: 12, color: style.ink },
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
