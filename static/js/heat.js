/**
 * Small pictures of numbers on <canvas>: a strip for one vector, a thumbnail for one head.
 * One picture cell is one number and is stretched by CSS, so a picture needs no layout of its own.
 * Knows no model and no chart library; colours come from colour.js alone.
 */

import { colourOf, currentTheme, onThemeChange } from './colour.js';

// Pictures on the page, each with the function that paints it again after a change of theme.
const painted = new Set();
let watching = false;

function keepPainted(canvas, paint) {
  for (const entry of painted) if (!entry.canvas.deref()?.isConnected && entry.shown) painted.delete(entry);
  const entry = { canvas: new WeakRef(canvas), paint, shown: false };
  painted.add(entry);
  requestAnimationFrame(() => { entry.shown = canvas.isConnected; });
  if (watching) return;
  watching = true;
  onThemeChange(() => painted.forEach((one) => one.canvas.deref() && one.paint()));
}

/**
 * A canvas of `columns` × `rows` cells. `valueAt(i)` gives cell i, row by row, row 0 on top.
 * `kind` and `range` as in colour.js. `name` is what a screen reader says.
 */
export function picture({ columns, rows, valueAt, kind, range, name, className }) {
  const canvas = document.createElement('canvas');
  canvas.width = columns;
  canvas.height = rows;
  canvas.className = className;
  if (name) {
    canvas.setAttribute('role', 'img');
    canvas.setAttribute('aria-label', name);
  } else {
    canvas.setAttribute('aria-hidden', 'true');
  }
  const paint = () => {
    const theme = currentTheme();
    const context = canvas.getContext('2d');
    const image = context.createImageData(columns, rows);
    for (let i = 0; i < columns * rows; i += 1) {
      const [r, g, b] = colourOf(valueAt(i), kind, range, theme);
      image.data.set([r, g, b, 255], 4 * i);
    }
    context.putImageData(image, 0, 0);
  };
  paint();
  keepPainted(canvas, paint);
  return canvas;
}

/** One vector as a strip of coloured cells on the range −range..range. */
export const strip = (values, range, name) =>
  picture({
    columns: values.length, rows: 1, valueAt: (i) => values[i], kind: 'diverging', range, name,
    className: 'heat-strip',
  });

/** The pattern of one head, from bytes 0..255 [query, key]; query 0 on top, key 0 at the left. */
export const thumbnail = (bytes, size, name) =>
  picture({
    columns: size, rows: size, valueAt: (i) => bytes[i], kind: 'sequential', range: 255, name,
    className: 'heat-thumbnail',
  });

/** The bytes of a base64 text. */
export function decodeBytes(base64) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(base64);
  const binary = atob(base64);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i += 1) bytes[i] = binary.charCodeAt(i);
  return bytes;
}
