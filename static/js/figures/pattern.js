/**
 * The map of one head: queries downwards (query 0 on top), keys to the right. Pure: numbers in, chart out.
 */

import { colourOf, inkOn, stops } from '../colour.js';
import { fixed, shorten, visible } from '../format.js';
import { escapeLabel, labelled, labelWidth, tokenAxis } from './axes.js';

const LARGEST_CELL = 46;
const WRITTEN_UP_TO = 12; // cells of larger maps have no room for a number
const NAMED_UP_TO = 128; // beyond, hover tells positions only: names for n² cells would weigh megabytes

/** What a pointer is told of a cell: names and places, and the value itself even where its logarithm is drawn. */
function hovered({ values, safe, positions, shade, words }) {
  const named = safe.length <= NAMED_UP_TO;
  const place = (i) => positions?.[i] ?? i;
  const parts = (query, key, value) => [...(named ? [safe[query], safe[key]] : []), place(query), place(key), ...(shade ? [value] : [])];
  const at = named ? 2 : 0;
  const [query, key, value] = [words.query, words.key, words.value].map(escapeLabel);
  const number = `${value} <b>%{${shade ? `customdata[${at + 2}]` : 'z'}:.4g}</b><extra></extra>`;
  if (!named && !positions && !shade) return { hovertemplate: `${query} %{y:d}<br>${key} %{x:d}<br>${number}` };
  const name = (i) => (named ? `: %{customdata[${i}]}` : '');
  return {
    customdata: values.map((line, i) => line.map((cell, j) => parts(i, j, cell))),
    hovertemplate: `${query}${name(0)} %{customdata[${at}]}<br>${key}${name(1)} %{customdata[${at + 1}]}<br>${number}`,
  };
}

/**
 * `values` [query][key], null where masked; `kind`, `range` as in colour.js; `labels` of the rows and
 * columns, `positions` their places in the text where some were left out; `chosen` the framed row.
 * `shade` gives the place of a value on the range where that is not the value itself (a logarithm).
 * `words`: {query, key, value}.
 */
export function pattern({ values, kind, range, labels, positions = null, chosen, decimals, words, shade = null }) {
  return (width, style) => {
    const n = labels.length;
    const narrow = width < 480;
    const limit = narrow && n > WRITTEN_UP_TO ? 6 : 12;
    const names = labels.map((label) => shorten(visible(label), limit));
    const widest = Math.max(...names.map((label) => labelWidth(label)), 12);
    const left = Math.ceil(widest) + 38;
    const cellBeside = (right) => Math.min(LARGEST_CELL, (width - left - right) / n);
    const turned = widest > cellBeside(10) - 4;
    // A turned label leans out to the right of its column: the last one needs room there.
    const right = turned ? Math.max(10, Math.ceil(labelWidth(names.at(-1)) * 0.64) - 4) : 10;
    const cell = cellBeside(right);
    const head = (turned ? Math.min(100, widest * 0.78 + 14) : 20) + 26;
    const side = cell * n;
    const margin = { l: left, r: Math.max(right, width - left - side), t: head, b: 4 };
    const places = labelled(n, cell, 11);
    const tickfont = { size: Math.round(Math.min(12, Math.max(9, cell * 0.8))), color: style.ink };
    const inset = 1 / cell; // a frame on the border of the map would lose half its line
    const written = n <= WRITTEN_UP_TO && cell >= 26;
    const annotations = [
      { text: escapeLabel(words.key), xref: 'paper', yref: 'paper', x: 0, y: 1, xanchor: 'left', yanchor: 'bottom', yshift: head - 20, showarrow: false, font: { size: 12, color: style.muted } },
      { text: escapeLabel(words.query), xref: 'paper', yref: 'paper', x: 0, y: 0.5, xanchor: 'center', yanchor: 'middle', xshift: -left + 10, textangle: -90, showarrow: false, font: { size: 12, color: style.muted } },
    ];
    if (written) {
      values.forEach((line, query) => line.forEach((value, key) => {
        if (value === null) return;
        annotations.push({
          text: value === 0 ? '0' : fixed(value, decimals), x: key, y: query, xref: 'x', yref: 'y', showarrow: false,
          font: { size: cell >= 38 ? 11 : 9, color: inkOn(colourOf(shade ? shade(value) : value, kind, range, style.theme)) },
        });
      }));
    }
    const safe = labels.map((label) => escapeLabel(visible(label)));
    const hover = hovered({ values, safe, positions, shade, words });
    return {
      data: [{
        type: 'heatmap',
        z: shade ? values.map((line) => line.map((value) => (value === null ? null : shade(value)))) : values,
        x: labels.map((_, i) => i),
        y: labels.map((_, i) => i),
        zmin: kind === 'sequential' ? 0 : -range,
        zmax: range,
        colorscale: stops(kind, style.theme),
        showscale: false,
        xgap: cell > 8 ? 1 : 0,
        ygap: cell > 8 ? 1 : 0,
        hoverongaps: false,
        ...hover,
      }],
      layout: {
        height: Math.ceil(side + margin.t + margin.b),
        margin,
        // Labels are shortened to fit: the library need not measure each of them.
        xaxis: { ...tokenAxis(labels, places, style, limit), ticklabeloverflow: 'allow', tickfont, range: [-0.5, n - 0.5], side: 'top', tickangle: turned ? -50 : 0 },
        yaxis: { ...tokenAxis(labels, places, style, limit), ticklabeloverflow: 'allow', tickfont, range: [n - 0.5, -0.5] },
        annotations,
        shapes: chosen === null ? [] : [{
          type: 'rect', xref: 'x', yref: 'y', x0: inset - 0.5, x1: n - 0.5 - inset, y0: chosen - 0.5 + inset, y1: chosen + 0.5 - inset,
          line: { color: style.ink, width: 2 }, fillcolor: 'rgba(0,0,0,0)',
        }],
        hovermode: 'closest',
      },
    };
  };
}
