/**
 * Which colour a number has: one diverging scale for signed values, one sequential scale for shares.
 * Knows no page and no chart library; both the canvas pictures and the charts ask here.
 *
 * Neither end of the diverging scale is the colour of a role (stream, writes, norm, weights), so a sign
 * can never be taken for a source. Zero is the neutral middle, whatever the range.
 */

// From zero outwards. Lightness changes in one direction only, so that size can be read without hue.
const NEGATIVE = {
  light: [[245, 244, 241], [222, 201, 174], [178, 138, 90], [104, 62, 22]],
  dark: [[38, 42, 46], [84, 65, 46], [154, 114, 72], [240, 200, 152]],
};
const POSITIVE = {
  light: [[245, 244, 241], [184, 206, 209], [108, 152, 159], [28, 74, 84]],
  dark: [[38, 42, 46], [50, 76, 84], [88, 138, 148], [172, 222, 230]],
};
// Shares of attention run from the page's own surface to the colour of Attention.
const SHARE = {
  light: [[250, 249, 247], [248, 217, 196], [234, 154, 99], [213, 94, 0]],
  dark: [[32, 36, 40], [88, 54, 36], [170, 88, 36], [255, 158, 84]],
};
const MISSING = { light: [214, 216, 220], dark: [78, 82, 88] };

function between(stops, t) {
  const place = Math.min(1, Math.max(0, t)) * (stops.length - 1);
  const i = Math.min(stops.length - 2, Math.floor(place));
  const part = place - i;
  return stops[i].map((from, c) => Math.round(from + (stops[i + 1][c] - from) * part));
}

export const css = ([r, g, b]) => `rgb(${r}, ${g}, ${b})`;

/** Colour of t in −1..1; t beyond the ends takes the end's colour. */
export const diverging = (t, theme) => between((t < 0 ? NEGATIVE : POSITIVE)[theme], Math.abs(t));

/** Colour of a share in 0..1. */
export const sequential = (t, theme) => between(SHARE[theme], t);

/** Colour of a value: `kind` is 'diverging' (range = largest magnitude), 'sequential' (shares of attention, 0..range) or 'magnitude' (0..range). */
export function colourOf(value, kind, range, theme) {
  if (typeof value !== 'number' || !Number.isFinite(value)) return MISSING[theme];
  const t = range > 0 ? value / range : 0;
  return kind === 'sequential' ? sequential(t, theme) : diverging(t, theme);
}

/** The scale as pairs of place (0..1) and colour, as charts and gradients take it. */
export function stops(kind, theme, steps = 24) {
  return Array.from({ length: steps + 1 }, (_, i) => {
    const place = i / steps;
    const colour = kind === 'sequential' ? sequential(place, theme) : diverging(kind === 'magnitude' ? place : 2 * place - 1, theme);
    return [place, css(colour)];
  });
}

/** The scale as a CSS gradient, left to right. */
export const gradient = (kind, theme) =>
  `linear-gradient(to right, ${stops(kind, theme, 12).map(([p, c]) => `${c} ${(p * 100).toFixed(1)}%`).join(', ')})`;

/**
 * Range shared by all `arrays`: their largest magnitude, rounded up to two digits so that the printed
 * range is the range that is drawn. 1 when everything is zero.
 */
export function sharedRange(...arrays) {
  let largest = 0;
  for (const array of arrays) {
    for (const value of array) if (Number.isFinite(value)) largest = Math.max(largest, Math.abs(value));
  }
  if (largest === 0) return 1;
  const unit = 10 ** (Math.floor(Math.log10(largest)) - 1);
  return Number((Math.ceil(largest / unit - 1e-9) * unit).toPrecision(2));
}

/** Dark or light ink, whichever can be read on `rgb` (WCAG relative luminance). */
export function inkOn(rgb) {
  const [r, g, b] = rgb.map((c) => (c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.179 ? '#000000' : '#ffffff';
}

/** The theme in force: the page's own choice, else the system's. */
export function currentTheme() {
  const chosen = document.documentElement.dataset.theme;
  if (chosen === 'dark' || chosen === 'light') return chosen;
  return matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light';
}

/** Calls back after every change of theme; returns the function that ends it. */
export function onThemeChange(callback) {
  const system = matchMedia('(prefers-color-scheme: dark)');
  const observer = new MutationObserver(callback);
  observer.observe(document.documentElement, { attributes: true, attributeFilter: ['data-theme'] });
  system.addEventListener('change', callback);
  return () => {
    observer.disconnect();
    system.removeEventListener('change', callback);
  };
}
