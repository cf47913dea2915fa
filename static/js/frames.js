/**
 * From the steps a run recorded to the finer frames a reader walks through.
 *
 * A pure function of the reply of POST /api/v1/trace: no document, no language, no arithmetic on
 * numbers. The order is the order of `trace.steps`, so the walk follows the wiring that ran:
 * Post-LN comes to LayerNorm after Add, Pre-LN before Attention.
 *
 * A frame:
 *   id      unique in the run: 'blocks.0.attn.scaled', 'embed', 'ln_final.mean'
 *   key     the id without its block: 'attn.scaled'. The URL holds it, and it is the same in both
 *           placements, so that flipping the placement keeps the step
 *   kind    'embed' | 'attention' | 'add' | 'layer_norm' | 'mlp' | 'unembed' (which card)
 *   part    embed: 'token' | 'positions' (position vector and its sum with the token's)
 *           attention: 'qkv' | 'dot' | 'scaled' | 'masked' (only under a mask) | 'softmax' | 'z' | 'out'
 *           add: 'add'
 *           layer_norm: 'mean' | 'var' | 'normalize' | 'affine'
 *           mlp: 'pre' | 'act' | 'out'
 *           unembed: 'predictions'
 *   slot    the box of the diagram: 'embed' | 'positions' | 'embed_ln' | 'ln1' | 'attn' | 'add1' | 'ln2'
 *           | 'mlp' | 'add2' | 'add' (of three inputs, in parallel wiring) | 'ln_final' | 'unembed'
 *   layer   number of the block from 0, or null outside the blocks
 *   block   number of the block whose walk shows it: the embedding before block 0, the final
 *           LayerNorm and the predictions after the last one
 *   prefix  'blocks.0.', or '' outside the blocks: prefix + 'attn.q' is a point's name
 *   step    the recorded step {name, kind, inputs, output, source}
 *   steps   every recorded step it stands for ('positions' stands for two)
 *   title   key of the heading, which follows the placement: 'frame.add.add1.post'
 *   name    key of the short name under the diagram: 'frame.short.attn.scaled'
 *   index   place in the whole walk, from 0
 */

import { divisorOf } from './scores.js';

const PARTS = {
  attention: ['qkv', 'dot', 'scaled', 'masked', 'softmax', 'z', 'out'],
  add: ['add'],
  layer_norm: ['mean', 'var', 'normalize', 'affine'],
  mlp: ['pre', 'act', 'out'],
  unembed: ['predictions'],
};

const SLOTS = {
  attn_out: 'attn',
  mlp_out: 'mlp',
  resid_mid: 'add1',
  resid_post: 'add2',
  embed_sum: 'positions',
  logits: 'unembed',
};

/** Split 'blocks.2.ln1.out' into {layer: 2, prefix: 'blocks.2.', name: 'ln1.out'}. */
export function splitPoint(point) {
  const match = /^(blocks\.(\d+)\.)(.+)$/.exec(point);
  return match
    ? { layer: Number(match[2]), prefix: match[1], name: match[3] }
    : { layer: null, prefix: '', name: point };
}

/** The box of the diagram that a recorded step is. */
export function slotOf(step) {
  const { name } = splitPoint(step.output);
  // In parallel wiring one Add takes what both sublayers write.
  if (name === 'resid_post' && step.inputs.length > 2) return 'add';
  return SLOTS[name] ?? name.split('.')[0];
}

function titleOf(kind, part, slot, norm, inputs) {
  if (part === 'positions' && inputs.includes('type_embed')) return 'frame.embed.types';
  if (kind === 'add') return `frame.add.${slot}.${norm}`;
  if (kind === 'layer_norm') return `frame.layer_norm.${slot}.${part}`;
  return `frame.${kind}.${part}`;
}

function makeFrame(trace, steps, kind, part, slot) {
  const step = steps[steps.length - 1];
  const { layer, prefix } = splitPoint(step.output);
  const single = kind === 'add' || kind === 'embed' || kind === 'unembed';
  const key = single ? slot : `${slot}.${part}`;
  // A heading that says 'divide by √d_k' is not true of every model.
  const other = part === 'scaled' && divisorOf(trace.model, layer).kind !== 'root' ? '.other' : '';
  return {
    id: prefix + key,
    key,
    kind,
    part,
    slot,
    layer,
    prefix,
    step,
    steps,
    title: titleOf(kind, part, slot, trace.model.norm, step.inputs) + other,
    name: `frame.short.${key}${other}`,
  };
}

function isMasked(trace, step) {
  if (trace.model.causal) return true;
  return (trace.request.interventions ?? []).some((change) => change.type === 'mask_token')
    && step.kind === 'attention';
}

/** All frames of a run, in the order of its steps. */
export function framesOf(trace) {
  const frames = [];
  let vectors = []; // embedding steps after the first wait for the Add that takes them in
  for (const step of trace.steps) {
    const slot = slotOf(step);
    if (step.kind === 'embed' && frames.length === 0) {
      frames.push(makeFrame(trace, [step], 'embed', 'token', 'embed'));
    } else if (step.kind === 'embed') {
      vectors.push(step);
    } else if (slot === 'positions') {
      frames.push(makeFrame(trace, [...vectors, step], 'embed', 'positions', slot));
      vectors = [];
    } else if (step.kind === 'unembed') {
      if (trace.predictions) frames.push(makeFrame(trace, [step], 'unembed', 'predictions', slot));
    } else {
      for (const part of PARTS[step.kind] ?? []) {
        if (part === 'masked' && !isMasked(trace, step)) continue;
        frames.push(makeFrame(trace, [step], step.kind, part, slot));
      }
    }
  }
  let block = 0;
  frames.forEach((frame, index) => {
    if (frame.layer !== null) block = frame.layer;
    frame.block = block;
    frame.index = index;
  });
  return frames;
}

/** The frames that the walk of one block shows. */
export function framesOfBlock(frames, block) {
  return frames.filter((frame) => frame.block === block);
}

/**
 * The frame of a block that a step key names. Where this run has no such step (the final LayerNorm
 * in Post-LN, predictions of an untrained model) the nearest one that stands in its place.
 */
export function findFrame(frames, block, key) {
  const here = framesOfBlock(frames, block);
  if (here.length === 0) return frames[0] ?? null;
  const exact = here.find((frame) => frame.key === key);
  if (exact) return exact;
  const slot = String(key).split('.')[0];
  const sameBox = here.filter((frame) => frame.slot === slot);
  if (sameBox.length) return sameBox[0];
  const sum = slot.startsWith('add') ? here.find((frame) => frame.kind === 'add') : null;
  if (sum) return sum;
  if (slot === 'ln_final' || slot === 'unembed') return here[here.length - 1];
  return here[0];
}

/** Neighbours in the whole walk: over the border of a block into the next one. */
export function neighbour(frames, frame, offset) {
  return frames[frame.index + offset] ?? null;
}

/** The first frame of the box after (offset 1) or before (offset -1) this one's box. */
export function neighbourBox(frames, frame, offset) {
  const sameBox = (other) => other && other.slot === frame.slot && other.layer === frame.layer;
  let index = frame.index;
  while (sameBox(frames[index])) index += offset;
  const other = frames[index];
  if (!other) return null;
  if (offset > 0) return other;
  return frames.find((one) => one.slot === other.slot && one.layer === other.layer);
}
