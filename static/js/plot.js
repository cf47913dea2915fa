/**
 * The one module that names Plotly: loads it when first needed, draws, resizes, exports and cleans up.
 * Knows no model and no words; figures come as plain data from figures/*.js.
 *
 * A figure is a function `(width, look) => ({data, layout})` with a fixed height in its layout. It is
 * called again when the width or the theme changes, so a chart drawn in a hidden place gets its size
 * when it is shown.
 */

import { currentTheme, onThemeChange } from './colour.js';
import { escapeLabel } from './figures/axes.js';

const SOURCE = '/plotly.min.js';
// Japanese faces are named before the generic one: exported pictures use the same list.
export const FONT = 'Inter, "Segoe UI", "Hiragino Sans", "Yu Gothic UI", "Noto Sans JP", "Noto Sans CJK JP", Meiryo, sans-serif';
const CONFIG = { displayModeBar: false, responsive: false, showTips: false };

let library = null;
const mounted = new Map(); // drawing area -> what ends it
const again = new WeakMap(); // drawing area -> what draws it anew

/** The library, asked for once. Rejects where it cannot be had; a later call asks again. */
export function ready() {
  library ??= new Promise((resolve, reject) => {
    if (window.Plotly) {
      resolve(window.Plotly);
      return;
    }
    // A script of the page that is still on its way; one that failed before is not waited for.
    const present = document.readyState === 'complete' ? null : document.querySelector(`script[src*="plotly.min.js"]`);
    const script = present ?? document.createElement('script');
    script.addEventListener('load', () => resolve(window.Plotly), { once: true });
    script.addEventListener('error', () => {
      script.remove();
      library = null;
      reject(new Error('charts_unavailable'));
    }, { once: true });
    if (!present) {
      script.src = SOURCE;
      script.async = true;
      document.head.append(script);
    }
  });
  return library;
}

const COLOURS = ['surface', 'ink', 'muted', 'line', 'stream', 'attn', 'mlp', 'norm', 'weight', 'post', 'pre'];

/** Colours and type of the page, for figures. */
export function look() {
  const style = getComputedStyle(document.documentElement);
  return { theme: currentTheme(), font: FONT, ...Object.fromEntries(COLOURS.map((name) => [name, style.getPropertyValue(`--${name}`).trim()])) };
}

function complete(figure, width) {
  const style = look();
  const { data, layout } = figure(width, style);
  return {
    data,
    layout: {
      autosize: false,
      width,
      paper_bgcolor: style.surface,
      plot_bgcolor: style.surface,
      font: { family: style.font, size: 12, color: style.ink },
      hoverlabel: {
        bgcolor: style.surface, bordercolor: style.muted, align: 'left', namelength: -1,
        font: { family: style.font, size: 12, color: style.ink },
      },
      showlegend: false,
      dragmode: false,
      ...layout,
    },
  };
}

function end(area) {
  mounted.get(area)?.();
  mounted.delete(area);
}

/** Draw `figure` into `area` and keep it at the area's width. Resolves when first drawn (or when gone), rejects where it cannot be. */
export async function draw(area, figure, { onClick } = {}) {
  const plotly = await ready();
  for (const other of mounted.keys()) if (!other.isConnected) end(other);
  if (!area.isConnected) return;
  end(area);
  let shown = 0;
  let waiting = 0;
  let first;
  let fail;
  const drawn = new Promise((resolve, reject) => { [first, fail] = [resolve, reject]; });

  const redraw = async () => {
    waiting = 0;
    const width = Math.floor(area.clientWidth);
    if (!area.isConnected) {
      end(area);
      first();
      return;
    }
    if (width < 1) return; // hidden: the observer reports the width when it is shown
    const { data, layout } = complete(figure, width);
    const isNew = shown === 0;
    shown = width;
    await plotly.react(area, data, layout, CONFIG);
    if (isNew) {
      if (onClick) area.on('plotly_click', onClick);
      area.classList.add('is-drawn');
      first();
    }
  };
  const failed = (error) => {
    // Whoever asked for a chart that was drawn once has stopped listening.
    if (area.classList.contains('is-drawn')) throw error;
    fail(error);
  };
  const ask = () => { waiting ||= requestAnimationFrame(() => redraw().catch(failed)); };
  const sizes = new ResizeObserver(() => {
    if (Math.floor(area.clientWidth) !== shown) ask();
  });
  const stopTheme = onThemeChange(ask);
  mounted.set(area, () => {
    cancelAnimationFrame(waiting);
    sizes.disconnect();
    stopTheme();
    plotly.purge(area);
    area.classList.remove('is-drawn');
    first();
  });
  again.set(area, ask);
  sizes.observe(area);
  ask();
  await drawn;
}

/** Ask the figures inside `root` for their data anew, as when a cursor in them has moved. */
export function refresh(root) {
  for (const area of mounted.keys()) if (root.contains(area)) again.get(area)();
}

/** End every figure inside `root`: call before its elements are thrown away. */
export function purge(root) {
  for (const area of mounted.keys()) if (root.contains(area) || !area.isConnected) end(area);
}

/** How many figures are alive, for tests of memory. */
export const alive = () => mounted.size;

/** The figure as the address of a picture, `format` 'png' or 'svg', with its name as a heading. */
export async function exportPicture(figure, { format, title, width = 720 }) {
  const plotly = await ready();
  const { data, layout } = complete(figure, width);
  const margin = { t: 8, r: 8, b: 8, l: 8, ...layout.margin };
  const added = 44;
  const picture = {
    data,
    layout: {
      ...layout,
      height: layout.height + added,
      margin: { ...margin, t: margin.t + added },
      title: { text: escapeLabel(title), x: 0.02, xanchor: 'left', yref: 'container', y: 1, yanchor: 'top', pad: { t: 14 }, font: { size: 15 } },
    },
    config: CONFIG,
  };
  return plotly.toImage(picture, { format, width, height: picture.layout.height, scale: format === 'png' ? 2 : 1 });
}
