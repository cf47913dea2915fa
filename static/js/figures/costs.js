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

const PLOT_HEIGHT = 366;
const CIRCLE = 22; // a circle and its edge, in pixels
const ASIDE = 30;

/** For each place [x, y] in pixels, where its circle goes if others are in the way, or null where it can stay. */
function apart(places) {
  const near = (a, b) => Math.hypot(a[0] - b[0], a[1] - b[1]) < CIRCLE;
  const covers = places.map((place, i) => places.slice(0, i).some((other) => near(place, other)));
  const taken = places.filter((_, i) => !covers[i]);
  return places.map(([x, y], i) => {
    if (!covers[i]) return null;
    // Up and to the left first: there the lines leave most room.
    const around = [3, 2, 4, 7, 6, 5, 1, 0].map((eighth) => [x + ASIDE * Math.cos(eighth * Math.PI / 4), y + ASIDE * Math.sin(eighth * Math.PI / 4)]);
    const found = around.find((place) => !taken.some((other) => near(place, other))) ?? around[0];
    taken.push(found);
    return found;
  });
}

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
      // Circles that would cover each other: the later one steps aside, and a line leads it back to a dot.
      const perPixel = [Math.log(n.at(-1) / n[0]) / (width - 80), (Math.log(high / low) + 0.2 * Math.LN10) / PLOT_HEIGHT];
      const circles = apart(marks.map(({ x, y }) => [Math.log(x) / perPixel[0], Math.log(y) / perPixel[1]]));
      const asides = marks.flatMap((mark, i) => (circles[i] ? [{ ...mark, at: circles[i].map((place, k) => Math.exp(place * perPixel[k])) }] : []));
      const circle = { color: style.surface, line: { color: style.ink, width: 1.5 } };
      const write = { textfont: { size: 11, color: style.ink }, hovertemplate: '%{customdata}<extra></extra>', showlegend: false };
      const hover = ({ number, text }) => `${number}: ${escapeLabel(text)}`;
      if (asides.length) {
        data.push({
          type: 'scatter', mode: 'lines+markers+text', x: asides.flatMap(({ x, at }) => [x, at[0], null]), y: asides.flatMap(({ y, at }) => [y, at[1], null]),
          text: asides.flatMap(({ number }) => ['', String(number), '']), customdata: asides.flatMap((mark) => [hover(mark), hover(mark), '']), ...write,
          line: { color: style.ink, width: 1 }, marker: { ...circle, size: asides.flatMap(() => [6, 18, 0]), opacity: 1 },
        });
      }
      data.push({
        type: 'scatter', mode: 'markers+text', x: marks.map(({ x }) => x), y: marks.map(({ y }) => y), text: marks.map(({ number }, i) => (circles[i] ? '' : String(number))),
        customdata: marks.map(hover), ...write, marker: { ...circle, opacity: 1, size: circles.map((aside) => (aside ? 6 : 18)), color: circles.map((aside) => (aside ? style.ink : style.surface)) },
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
