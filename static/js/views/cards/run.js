/** Looking things up in a run's summary by point. Knows no card and does no arithmetic. */

const names = new WeakMap();

/** The first name that the tensor of `point` bore in this run. */
export function canonical(trace, point) {
  if (!names.has(trace)) names.set(trace, new Map(trace.points.map(({ name, same_as: before }) => [name, before])));
  const earlier = names.get(trace);
  let name = point;
  while (earlier.get(name)) name = earlier.get(name);
  return name;
}

const same = (trace, a, b) => canonical(trace, a) === canonical(trace, b);

/** Length of a state or a write of the stream at a position; undefined where the run has none. */
export function lengthOf(trace, point, pos) {
  const found = [...trace.stream.states, ...trace.stream.writes].find((entry) => same(trace, entry.point, point));
  return found?.length[pos];
}

/** What was written where: {point, skip, sum, length, cosine} of each write of the Add that makes `sum`. */
export const writesInto = (trace, sum) => trace.stream.writes.filter((entry) => same(trace, entry.sum, sum));

/** The statistics of the LayerNorm that reads `point`, if one does. */
export const normReading = (trace, point) => trace.layer_norms.find(({ input }) => same(trace, input, point));

/** The statistics of the LayerNorm called `name`. */
export const normNamed = (trace, name) => trace.layer_norms.find((norm) => norm.name === name);
