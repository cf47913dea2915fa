/**
 * One walk through two runs: which steps there are, where each run has them, and which values of a step
 * stand beside each other. Pure: frames and summaries in, plain data out.
 */

/**
 * The frames of both runs as one walk, in the order of the first; what the second alone has (the final
 * LayerNorm of Pre-LN) comes before the predictions.
 */
export function mergeWalks(walks) {
  const merged = [...walks[0]];
  const known = new Set(merged.map((frame) => frame.id));
  for (const frame of walks.slice(1).flat()) {
    if (known.has(frame.id)) continue;
    const exit = merged.findIndex((other) => other.kind === 'unembed');
    merged.splice(exit < 0 ? merged.length : exit, 0, frame);
    known.add(frame.id);
  }
  return merged.map((frame, index) => ({ ...frame, index }));
}

/**
 * A frame of the walk in one run: {frame, own}. Where the run has no such step, what stands in its place:
 * for the final LayerNorm the last LayerNorm of the run; `own` is false then. Null where nothing does.
 */
export function inRun(frames, wanted) {
  const own = frames.find((frame) => frame.id === wanted.id);
  if (own) return { frame: own, own: true };
  if (wanted.slot !== 'ln_final') return null;
  const instead = frames.filter((frame) => frame.kind === 'layer_norm' && frame.part === wanted.part).at(-1);
  return instead ? { frame: instead, own: false } : null;
}

const row = (role, point, axes = '') => ({ role, point, axes });

const PART_OF_FFN = { pre: ['mlp.pre'], act: ['mlp.pre', 'mlp.post'], out: ['mlp_out'] };
const MAPS = { dot: 'attn.dot', scaled: 'attn.attn_scores', masked: 'attn.attn_scores', softmax: 'attn.pattern' };

/** The map of a head that a frame shows, or null where it shows vectors. */
export const mapOf = (frame) => (frame.kind === 'attention' && MAPS[frame.part] ? frame.prefix + MAPS[frame.part] : null);

/**
 * The vectors of one position that a frame shows: [{role, point, axes}], in reading order; `axes` picks
 * the head where the vector is a head's.
 */
export function vectorsOf(frame, head) {
  const { kind, part, prefix, step } = frame;
  const inputs = (role) => step.inputs.map((point) => row(role, point));
  if (kind === 'embed') return part === 'token' ? [row('weight', step.output)] : [...inputs('weight'), row('stream', step.output)];
  if (kind === 'add') {
    const [skip, ...writes] = step.inputs;
    return [row('stream', skip), ...writes.map((point) => row(point.includes('mlp') ? 'mlp' : 'attn', point)), row('stream', step.output)];
  }
  if (kind === 'layer_norm') {
    if (part === 'mean' || part === 'var') return inputs('stream');
    if (part === 'normalize') return [...inputs('stream'), row('norm', `${step.name}.normalized`)];
    return [row('norm', `${step.name}.normalized`), row('norm', step.output)];
  }
  if (kind === 'mlp') return PART_OF_FFN[part].map((name) => row('mlp', prefix + name));
  if (part === 'qkv') return ['q', 'k', 'v'].map((name) => row('attn', `${prefix}attn.${name}`, `,${head}`));
  if (part === 'z') return [row('attn', `${prefix}attn.z`, `,${head}`)];
  if (part === 'out') return [row('attn', step.output)];
  return [];
}

/** The value of a step that both runs have under one name, for the difference; null where they have none. */
export function commonPoint(first, second, points) {
  if (!first?.own || !second?.own) return null;
  const point = mapOf(first.frame) ?? vectorsOf(first.frame, 0).at(-1)?.point;
  const there = mapOf(second.frame) ?? vectorsOf(second.frame, 0).at(-1)?.point;
  return point && point === there && points.some((one) => one.point === point) ? point : null;
}

const RESULT = { embed: 'embed', positions: 'embed_sum', unembed: 'logits' };
const ROLE = { layer_norm: 'norm', attention: 'attn', mlp: 'mlp', add: 'stream', embed: 'weight', unembed: 'stream' };

/**
 * What each box of the walk gives, in the order of the walk, where both runs have it in one shape:
 * [{id, slot, layer, role, frame, difference}]: the stations of the chart over depth.
 */
export function stationsOf(merged, points) {
  const byPoint = new Map(points.map((one) => [one.point, one]));
  const stations = [];
  merged.forEach((frame, i) => {
    const next = merged[i + 1];
    if (next && next.slot === frame.slot && next.layer === frame.layer) return; // the last frame of a box
    const difference = byPoint.get(RESULT[frame.slot] ?? frame.step.output);
    if (!difference) return;
    stations.push({ id: frame.id, slot: frame.slot, layer: frame.layer, role: ROLE[frame.kind], frame, difference });
  });
  return stations;
}

/** The station of the box that a frame belongs to, or -1. */
export const stationOf = (stations, frame) =>
  stations.findIndex((one) => one.slot === frame.slot && one.layer === frame.layer);
