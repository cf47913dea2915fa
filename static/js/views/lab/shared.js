/** What the experiments of the lab share: figures with their tables, names of the placements. */

import { compact, count, decimalsFor, fixed } from '../../format.js';
import { t } from '../../i18n.js';
import { figure } from '../cards/parts.js';

export const PLACEMENTS = ['post', 'pre'].map((norm) => [norm, t(`norm.name.${norm}`)]);

/** A number for a sentence: three digits, very large and small ones as `compact` writes them. */
export function told(value) {
  if (typeof value !== 'number') return '–';
  if (value === 0 || (Math.abs(value) >= 1e-3 && Math.abs(value) < 1e7)) return Math.abs(value) >= 1000 ? count(Math.round(value)) : String(Number(value.toPrecision(3)));
  return compact(value, 3);
}

/** One way of writing for a whole column: whole numbers, one number of decimals, or powers of ten over a wide range. */
function writing(values) {
  const sizes = values.filter((value) => typeof value === 'number' && value !== 0).map(Math.abs);
  if (sizes.every((size) => Number.isInteger(size) && size < 1e6)) return count;
  const [least, most] = [Math.min(...sizes), Math.max(...sizes)];
  if (most >= 1e6 || most < 1e-3 || most / least > 1e4) return told;
  const decimals = decimalsFor(values);
  return (value) => fixed(value, decimals);
}

/**
 * A figure over one axis, with the same numbers as its table: `columns` [[name, values, write]], `write` a
 * value as text where the column has its own way; `half`: two share a row.
 */
export function chart({ name, file, build, head, places, columns, half = false, height = 360 }) {
  const columnsAsText = columns.map(([, values, write = writing(values)]) => values.map((value) => (typeof value === 'number' ? write(value) : '–')));
  const box = figure({
    name, file, build, t, height,
    data: {
      columns: [head, ...columns.map(([title]) => title)],
      rows: places.map((place, i) => [String(place), ...columnsAsText.map((texts) => texts[i])]),
      exact: places.map((place, i) => [place, ...columns.map(([, values]) => values[i])]),
    },
  });
  if (half) box.classList.add('is-half');
  return box;
}

export const series = (reply, name) => reply.series[name].values;
export const span = (values) => ({ low: Math.min(...values), high: Math.max(...values) });
