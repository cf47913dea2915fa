/** Costs over the number of tokens, on logarithmic axes. Pure: numbers in, chart out. */

import { binary } from '../big.js';
import { count } from '../format.js';
import { escapeLabel } from './axes.js';

const decades = (low, high, base) => {
  const first = Math.ceil(Math.log(low) / Math.log(base));
  const last = Math.floor(Math.log(high) / Math.log(base));
  return Array.from({ length: Math.max(0, last - first + 1) }, (_, i) => base ** (first + i));
};

const logAxis = (title, style, values, text) => ({
  type: 'log', title: { text: escapeLabel(title), font: { size: 12, color: style.muted }, standoff: 8 },
  tickmode: 'array', tickvals: values, ticktext: values.map(text), gridcolor: style.line, zeroline: false, fixedrange: true,
  tickfont: { size: 11, color: style.muted },
});

/**
 * `lines`: [{name, values, colour, dash, width, runs}], `colour` a name in the look; one
 * that `runs` does not decide the height. `marks`: [{x, y, number, text}]: circles with a number in them.
 * `at`: the chosen n, a vertical line. `words`: {x, y}. `write`: how a value is written.
 */
export function costLines({ n, lines, marks = [], at, words, write }) {
  return (width, style) => {
    const small = width < 520;
    const all = lines.flatMap(({ values }) => values);
    const low = Math.min(...all);
    // A line that leaves the others far below runs out of the chart: the rest can be told apart.
    const high = Math.max(...lines.filter(({ runs }) => !runs).flatMap(({ values }) => values)) * 8;
    const span = [n[0], n.at(-1)];
    const data = lines.map(({ name, values, colour, dash = 'solid', width: thick = 2 }) => ({
      type: 'scatter', mode: 'lines', x: n, y: values, name: escapeLabel(name),
      line: { color: style[colour], dash, width: thick },
      customdata: values.map(write), hovertemplate: `n = %{x:,}<br>${escapeLabel(name)} <b>%{customdata}</b><extra></extra>`,
    }));
    if (marks.length) {
      // Crossings that nearly share a place would cover each other: the later one keeps its number beside it.
      const pixel = ({ x, y }) => [Math.log(x / n[0]) / Math.log(n.at(-1) / n[0]) * (width - 80), Math.log(y / low) / Math.log(high / low) * 360];
      const covering = marks.map((mark, i) => marks.slice(0, i).find((other) => Math.hypot(...pixel(mark).map((at, k) => at - pixel(other)[k])) < 20));
      data.push({
        type: 'scatter', mode: 'markers+text', x: marks.map(({ x }) => x), y: marks.map(({ y }) => y),
        text: marks.map(({ number }) => String(number)), textposition: covering.map((other, i) => (!other ? 'middle center' : marks[i].x < other.x ? 'top left' : 'bottom right')), textfont: { size: 11, color: style.ink },
        customdata: marks.map(({ text }) => escapeLabel(text)), hovertemplate: '%{text}: %{customdata}<extra></extra>',
        marker: { size: covering.map((other) => (other ? 9 : 18)), color: style.surface, line: { color: style.ink, width: 1.5 } }, showlegend: false,
      });
    }
    const legendRows = Math.ceil(lines.length / (small ? 1 : 3));
    const room = 22 * legendRows;
    return {
      data,
      layout: {
        height: 430 + room,
        margin: { l: 64, r: 16, t: 12, b: 52 + room },
        xaxis: { ...logAxis(words.x, style, decades(span[0], span[1], small ? 16 : 4), count), range: span.map(Math.log10) },
        yaxis: { ...logAxis(words.y, style, decades(low, high, 32), (value) => binary(value) ?? count(value)), range: [Math.log10(low) - 0.1, Math.log10(high) + 0.1] },
        showlegend: true,
        legend: { orientation: 'h', x: 0, y: -0.17, yref: 'paper', yanchor: 'top', font: { size: 12, color: style.ink }, itemclick: false, itemdoubleclick: false },
        shapes: [{ type: 'line', x0: at, x1: at, yref: 'paper', y0: 0, y1: 1, line: { color: style.muted, width: 1, dash: 'dot' } }],
        hovermode: 'closest',
      },
    };
  };
}
