/** What the experiments of the lab share: figures with their tables, names of the placements. */

import { compact, count } from '../../format.js';
import { t } from '../../i18n.js';
import { figure } from '../cards/parts.js';

export const PLACEMENTS = ['post', 'pre'].map((norm) => [norm, t(`norm.name.${norm}`)]);

/** A number of a series for reading; null is a dash. */
export const shown = (value) => (typeof value === 'number' ? compact(value, 4) : '–');

/** A number for a sentence: three digits, very large and small ones as `compact` writes them. */
export function told(value) {
  if (typeof value !== 'number') return '–';
  if (value === 0 || (Math.abs(value) >= 1e-3 && Math.abs(value) < 1e7)) return Math.abs(value) >= 1000 ? count(Math.round(value)) : String(Number(value.toPrecision(3)));
  return compact(value, 3);
}

/** A figure over one axis, with the same numbers as its table: `columns` [[name, values]]; `half`: two share a row. */
export function chart({ name, file, build, head, places, columns, half = false, height = 360 }) {
  const box = figure({
    name, file, build, t, height,
    data: {
      columns: [head, ...columns.map(([title]) => title)],
      rows: places.map((place, i) => [String(place), ...columns.map(([, values]) => shown(values[i]))]),
      exact: places.map((place, i) => [place, ...columns.map(([, values]) => values[i])]),
    },
  });
  if (half) box.classList.add('is-half');
  return box;
}

export const series = (reply, name) => reply.series[name].values;
export const span = (values) => ({ low: Math.min(...values), high: Math.max(...values) });
