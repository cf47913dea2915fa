/**
 * The statistics of every position: its mean as a dot, one standard deviation to each side as a bar.
 * Pure: numbers in, chart out.
 */

import { escapeLabel, labelled, labelWidth, numberAxis, tokenAxis } from './axes.js';
import { shorten, visible } from '../format.js';

/** `labels`, `means`, `deviations` by position; `chosen` is drawn in full colour. `words`: {value, position, mean, deviation}. */
export function positions({ labels, means, deviations, chosen, words }) {
  return (width, style) => {
    const n = labels.length;
    const margin = { l: 52, r: 10, t: 10, b: 30 };
    const pitch = (width - margin.l - margin.r) / Math.max(n, 1);
    const widest = Math.max(...labels.map((label) => labelWidth(shorten(visible(label), 8))), 12);
    const turned = widest > pitch - 4;
    const places = labelled(n, pitch, turned ? 14 : 0);
    if (turned) margin.b = Math.min(96, widest * 0.8 + 26);
    // One trace for each colour: bars of an error are coloured by the trace, not by the point.
    const only = (keep) => labels.map((_, i) => i).filter(keep);
    const trace = (indices, colour, size) => ({
      type: 'scatter', mode: 'markers', x: indices, y: indices.map((i) => means[i]),
      marker: { color: style.surface, size, symbol: 'circle', line: { color: colour, width: n > 60 ? 1 : 2.5 } },
      error_y: { type: 'data', array: indices.map((i) => deviations[i]), color: colour, thickness: n > 60 ? 1.5 : 5, width: 0 },
      customdata: indices.map((i) => [escapeLabel(visible(labels[i])), deviations[i]]),
      hovertemplate: `${escapeLabel(words.position)} %{x} %{customdata[0]}<br>${escapeLabel(words.mean)} %{y:.4g}<br>${escapeLabel(words.deviation)} %{customdata[1]:.4g}<extra></extra>`,
    });
    return {
      data: [trace(only((i) => i !== chosen), style.muted, n > 60 ? 4 : 9),
        trace(only((i) => i === chosen), style.norm, 12)],
      layout: {
        height: 170 + margin.b,
        margin,
        xaxis: { ...tokenAxis(labels, places, style, 8), range: [-0.6, n - 0.4], tickangle: turned ? -50 : 0 },
        yaxis: { ...numberAxis(words.value, style), zeroline: true, zerolinecolor: style.muted },
        hovermode: 'closest',
      },
    };
  };
}
