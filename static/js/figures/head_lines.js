/**
 * The row-to-row view of one head: a line from each query (left) to each key (right) that it reads.
 * Pure: numbers in, places and strengths of lines out.
 */

export const ROW = 28; // pixels from one token to the next

/**
 * `values` [query][key], null where nothing may be read; `range` the value of the strongest line.
 * Lines below `least` of the range are left out, and of each query all but the `most` largest.
 * Returns {height, lines: [{query, key, value, strength, y1, y2}], left_out}; weak lines first, so that
 * strong ones lie on top.
 */
export function headLines({ values, range, most = 12, least = 0.01 }) {
  const middle = (i) => i * ROW + ROW / 2;
  let positive = 0;
  const lines = values.flatMap((row, query) => {
    const keys = row.map((_, key) => key).filter((key) => row[key] > 0);
    positive += keys.length;
    return keys.filter((key) => row[key] >= least * range).sort((a, b) => row[b] - row[a]).slice(0, most)
      .map((key) => ({ query, key, value: row[key], strength: Math.min(1, row[key] / range), y1: middle(query), y2: middle(key) }));
  });
  lines.sort((a, b) => a.value - b.value);
  return { height: values.length * ROW, lines, left_out: positive - lines.length };
}

/** What one token reads, or what reads it: [{other, value}], the largest first. */
export function partners({ values }, side, at) {
  const line = side === 'query' ? values[at].map((value, other) => ({ other, value })) : values.map((row, other) => ({ other, value: row[at] }));
  return line.filter(({ value }) => value !== null && value > 0).sort((a, b) => b.value - a.value);
}
