/**
 * The map of one head: queries downwards (query 0 on top), keys to the right. Pure: numbers in, chart out.
 */

import { colourOf, inkOn, stops } from '../colour.js';
import { fixed, shorten, visible } from '../format.js';
import { escapeLabel, labelled, labelWidth, tokenAxis } from './axes.js';

const LARGEST_CELL = 46;
const WRITTEN_UP_TO = 12; // cells of larger maps have no room for a number
const NAMED_UP_TO = 128; // beyond, hover tells positions only: names for n² cells would weigh megabytes

/**
 * `values` [query][key], null where masked; `kind`, `range` as in colour.js; `labels` by position;
 * `chosen` the framed query. `words`: {query, key, value, masked}.
 */
export function pattern({ values, kind, range, labels, chosen, decimals, words }) {
  return (width, style) => {
    const n = labels.length;
    const narrow = width < 480;
    const limit = narrow ? 6 : 12;
    const names = labels.map((label) => shorten(visible(label), limit));
    const widest = Math.max(...names.map((label) => labelWidth(label)), 12);
    const left = Math.ceil(widest) + 38;
    const cell = Math.min(LARGEST_CELL, (width - left - 10) / n);
    const turned = widest > cell - 4;
    const head = (turned ? Math.min(100, widest * 0.78 + 14) : 20) + 26;
    const side = cell * n;
    const margin = { l: left, r: Math.max(0, width - left - side), t: head, b: 4 };
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
          font: { size: cell >= 38 ? 11 : 9, color: inkOn(colourOf(value, kind, range, style.theme)) },
        });
      }));
    }
    const named = n <= NAMED_UP_TO;
    const where = (axis, i) => (named ? `%{customdata[${i}]} (%{${axis}:d})` : `%{${axis}:d}`);
    const safe = labels.map((label) => escapeLabel(visible(label)));
    return {
      data: [{
        type: 'heatmap',
        z: values,
        x: labels.map((_, i) => i),
        y: labels.map((_, i) => i),
        customdata: named ? values.map((line, query) => line.map((_, key) => [safe[query], safe[key], query, key])) : undefined,
        zmin: kind === 'sequential' ? 0 : -range,
        zmax: range,
        colorscale: stops(kind, style.theme),
        showscale: false,
        xgap: cell > 8 ? 1 : 0,
        ygap: cell > 8 ? 1 : 0,
        hoverongaps: false,
        hovertemplate: named
          ? `${escapeLabel(words.query)}: %{customdata[0]} %{customdata[2]}<br>${escapeLabel(words.key)}: %{customdata[1]} %{customdata[3]}<br>${escapeLabel(words.value)} <b>%{z:.4g}</b><extra></extra>`
          : `${escapeLabel(words.query)} ${where('y', 0)}<br>${escapeLabel(words.key)} ${where('x', 1)}<br>${escapeLabel(words.value)} <b>%{z:.4g}</b><extra></extra>`,
      }],
      layout: {
        height: Math.ceil(side + margin.t + margin.b),
        margin,
        xaxis: { ...tokenAxis(labels, places, style, limit), tickfont, range: [-0.5, n - 0.5], side: 'top', tickangle: turned ? -50 : 0 },
        yaxis: { ...tokenAxis(labels, places, style, limit), tickfont, range: [n - 0.5, -0.5] },
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
