/**
 * Axes whose places are tokens: numeric axes with tick text, so that equal, numeric and blank labels
 * keep a row of their own, and labels show exactly what was typed. Pure: data in, chart layout out.
 */

import { shorten, visible } from '../format.js';

/** Text for a label: charts read labels as a small HTML, so markup must be spelled as entities. */
export const escapeLabel = (text) =>
  String(text).replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

const WIDE = /[\u1100-\u11ff\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe4f\uff00-\uff60\uffe0-\uffe6]|\p{Extended_Pictographic}/u;

/** About how wide a label is drawn, in pixels at `size`. Only room is made from it. */
export const labelWidth = (label, size = 12) =>
  Array.from(label).reduce((width, character) => width + (WIDE.test(character) ? size : size * 0.58), 0);

/** Which of `n` places carry a label when labels need `room` pixels and each place has `pitch`. */
export function labelled(n, pitch, room) {
  const every = Math.max(1, Math.ceil(room / Math.max(pitch, 0.01)));
  return Array.from({ length: Math.ceil(n / every) }, (_, i) => i * every);
}

/** A label as it is drawn on an axis: never blank, at most `limit` characters, safe. */
export const tick = (label, limit = 12) => escapeLabel(shorten(visible(label), limit));

/** What every token axis has: places are numbers, and the library may not guess a type or merge labels. */
export const tokenAxis = (labels, places, style, limit = 12) => ({
  type: 'linear',
  tickmode: 'array',
  tickvals: places,
  ticktext: places.map((i) => tick(labels[i], limit)),
  ticks: 'outside',
  ticklen: 4,
  tickcolor: 'rgba(0,0,0,0)',
  showgrid: false,
  zeroline: false,
  fixedrange: true,
  tickfont: { size: 12, color: style.ink },
  automargin: false,
});

/** A numeric axis in the page's ink, with a name. */
export const numberAxis = (title, style) => ({
  title: { text: escapeLabel(title), font: { size: 12, color: style.muted }, standoff: 6 },
  type: 'linear',
  gridcolor: style.line,
  zeroline: false,
  fixedrange: true,
  tickfont: { size: 11, color: style.muted },
  exponentformat: 'power',
  automargin: false,
});
