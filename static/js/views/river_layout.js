/**
 * Where everything of a block's diagram stands: pure geometry, no document, no run.
 *
 * Both placements give the same parts with the same kinds of path, so that a painter can move from
 * one to the other part by part: only the two LayerNorms change their place. Attention, FFN and the
 * two sums stand still; the room that a norm leaves stays empty.
 *
 * plan: {onRiver: {ln1, ln2}, parallel, vectors, embedNorm, first, last, final, predictions, earlier, later, seesLater}
 *   onRiver      whether that norm stands on the stream (Post-LN) or at a branch's mouth (Pre-LN)
 *   parallel     whether both branches read the same state and one Add takes both writes (always Pre-LN)
 *   vectors      what the first Add takes besides the token's vector: ['positions'], also 'types'; [] where
 *                there is no such Add
 *   embedNorm    whether a LayerNorm follows it
 *   first, last  whether this is the first, the last block: the embedding and the exit stand beside it
 *   final, predictions   whether the run has a final LayerNorm, predictions
 *   earlier, later       how many faint rivers stand before and after the chosen one
 *   seesLater    whether Attention reads from the later ones too
 *
 * A layout: {width, height, paths: {id: {d, role, o}}, nodes: {slot: {x, y, w, h, o, shape}},
 *            marks: {id: {x, y, role, o}}, labels: {id: {x, y, o}}}; o is opacity, x and y are centres.
 */

const TALL = {
  river: 126, branch: 268, width: 360, earlier: [32, 19, 6], later: [354],
  tap1: 13, ln1Mouth: 47, attn: 116, add1: 176, ln1River: 222,
  tap2: 256, ln2Mouth: 286, mlp: 341, add2: 386, ln2River: 432, top: 458, lane: 166,
};

const line = (...points) => points.map(([x, y], i) => `${i ? 'L' : 'M'}${x} ${y}`).join('');

/** An upward arrowhead whose tip is at (x, y). */
const headUp = (x, y) => `M${x - 4.5} ${y + 8}L${x} ${y}L${x + 4.5} ${y + 8}`;
const headLeft = (x, y) => `M${x + 8} ${y - 4.5}L${x} ${y}L${x + 8} ${y + 4.5}`;
const headRight = (x, y) => `M${x - 8} ${y - 4.5}L${x} ${y}L${x - 8} ${y + 4.5}`;
const headDown = (x, y) => `M${x - 4.5} ${y - 8}L${x} ${y}L${x + 4.5} ${y - 8}`;

/** From (x, y) sideways to x2, round a corner, then up or down to y2. */
function sideThenUp(x, y, x2, y2, r = 9) {
  const side = Math.sign(x2 - x) || 1;
  const turn = Math.min(r, Math.abs(y - y2));
  return `M${x} ${y}L${x2 - side * turn} ${y}Q${x2} ${y} ${x2} ${y - turn}L${x2} ${y2}`;
}

function upThenSide(x, y, x2, y2, r = 12) {
  const side = Math.sign(x2 - x) || 1;
  return `M${x} ${y}L${x} ${y2 + r}Q${x} ${y2} ${x + side * r} ${y2}L${x2} ${y2}`;
}

/** From (x, y), where a line came in sideways, up to y2 and sideways to x2. */
const upFromLane = (x, y, x2, y2, r = 9) => `Q${x - r} ${y} ${x - r} ${y - r}L${x - r} ${y2 + r}Q${x - r} ${y2} ${x - 2 * r} ${y2}L${x2} ${y2}`;

/** The block as a tower, read upwards as in the paper's figure. */
export function layoutTall(plan) {
  const g = TALL;
  const above = g.top + (plan.last ? 104 : 26);
  // Downwards from the first block: the norm of the embedding, its Add, the embedding itself.
  const norm0 = -35;
  const add0 = plan.embedNorm ? norm0 - 41 : -30;
  const embed = plan.vectors.length ? add0 - 40 : add0 - 5;
  const below = plan.first ? 28 - embed : 32;
  const height = above + below;
  const y = (u) => above - u;
  const paths = {};
  const nodes = {};
  const marks = {};
  const labels = {};

  const bottom = plan.first ? embed + 18 : -20;
  const top = plan.last ? g.top + 62 : g.top + 14;
  const others = [
    ...g.earlier.slice(0, plan.earlier).map((x, i) => ({ id: `before${i}`, x, seen: true })),
    ...g.later.slice(0, plan.later).map((x, i) => ({ id: `after${i}`, x, seen: plan.seesLater })),
  ];
  for (const other of others) {
    paths[`river.${other.id}`] = { d: line([other.x, y(bottom)], [other.x, y(top)]), role: 'other', o: other.seen ? 1 : 0.5 };
    labels[other.id] = { x: other.x, y: y(bottom) + 14, o: 1 };
    for (const [norm, mark, u] of [['ln1', 'add1', g.ln1River], ['ln2', 'add2', g.ln2River]]) {
      if (!plan.parallel || mark === 'add2') marks[`${other.id}.${mark}`] = { x: other.x, y: y(g[mark]), role: 'plus', o: 1 };
      marks[`${other.id}.${norm}`] = { x: other.x, y: y(u), role: 'norm', o: plan.onRiver[norm] ? 1 : 0 };
    }
  }
  paths.river = { d: line([g.river, y(bottom)], [g.river, y(top)]), role: 'stream', o: 1 };

  // Attention: Query from this river alone, Key and Value from every river that it may see.
  const mouth1 = plan.onRiver.ln1 ? y(g.attn) + 32 : y(g.ln1Mouth) + 18;
  const seen = others.filter((other) => other.seen);
  const lefts = seen.filter((other) => other.x < g.river).map((other) => other.x);
  const rights = seen.filter((other) => other.x > g.river).map((other) => other.x);
  const mouths = { q: g.branch - 50, k: g.branch, v: g.branch + 50 };
  for (const [name, u] of [['q', g.tap1 + 2], ['k', g.tap1 - 8], ['v', g.tap1 - 18]]) {
    const from = name === 'q' ? g.river : Math.min(g.river, ...lefts);
    paths[`${name}.in`] = { d: sideThenUp(from, y(u), mouths[name], mouth1), role: `attn ${name}`, o: 1 };
    paths[`${name}.tip`] = { d: headUp(mouths[name], mouth1), role: 'attn tip', o: 1 };
    paths[`${name}.up`] = {
      d: line([mouths[name], y(g.ln1Mouth) - 18], [mouths[name], y(g.attn) + 32]) + headUp(mouths[name], y(g.attn) + 32),
      role: 'attn tip', o: plan.onRiver.ln1 ? 0 : 1,
    };
    labels[name] = { x: mouths[name] + 7, y: y(g.attn) + 46, o: 1 };
    if (name === 'q') {
      marks['tap.q'] = { x: g.river, y: y(u), role: 'tap', o: 1 };
      continue;
    }
    if (rights.length) {
      paths[`${name}.right`] = { d: line([Math.max(...rights), y(u)], [mouths[name], y(u)]), role: `attn ${name}`, o: 1 };
    }
    for (const x of [g.river, ...lefts, ...rights]) marks[`tap.${name}.${x}`] = { x, y: y(u), role: 'tap', o: 1 };
  }
  const sums = plan.parallel ? { ln1: 'add', ln2: 'add' } : { ln1: 'add1', ln2: 'add2' };
  if (plan.parallel) {
    // Attention's write passes the FFN beside the river, on its way to the one sum.
    paths['attn.out'] = { d: upThenSide(g.branch, y(g.attn) - 32, g.lane, y(g.add1)) + upFromLane(g.lane, y(g.add1), g.river + 15, y(g.add2) + 5), role: 'attn', o: 1 };
    paths['attn.tip'] = { d: headLeft(g.river + 15, y(g.add2) + 5), role: 'attn tip', o: 1 };
  } else {
    paths['attn.out'] = { d: upThenSide(g.branch, y(g.attn) - 32, g.river + 15, y(g.add1)), role: 'attn', o: 1 };
    paths['attn.tip'] = { d: headLeft(g.river + 15, y(g.add1)), role: 'attn tip', o: 1 };
  }

  const mouth2 = plan.onRiver.ln2 ? y(g.mlp) + 19 : y(g.ln2Mouth) + 18;
  paths['mlp.in'] = { d: sideThenUp(g.river, y(g.tap2), g.branch, mouth2), role: 'mlp', o: 1 };
  paths['mlp.in.tip'] = { d: headUp(g.branch, mouth2), role: 'mlp tip', o: 1 };
  marks['tap.mlp'] = { x: g.river, y: y(g.tap2), role: 'tap mlp', o: 1 };
  paths['mlp.up'] = {
    d: line([g.branch, y(g.ln2Mouth) - 18], [g.branch, y(g.mlp) + 19]) + headUp(g.branch, y(g.mlp) + 19),
    role: 'mlp tip', o: plan.onRiver.ln2 ? 0 : 1,
  };
  const entry = y(g.add2) - (plan.parallel ? 5 : 0);
  paths['mlp.out'] = { d: upThenSide(g.branch, y(g.mlp) - 19, g.river + 15, entry), role: 'mlp', o: 1 };
  paths['mlp.tip'] = { d: headLeft(g.river + 15, entry), role: 'mlp tip', o: 1 };

  for (const [norm, add] of [['ln1', 'add1'], ['ln2', 'add2']]) {
    const river = plan.onRiver[norm];
    nodes[norm] = {
      x: river ? g.river : g.branch, y: y(river ? g[`${norm}River`] : g[`${norm}Mouth`]),
      w: 128, h: 36, o: 1, shape: 'box',
    };
    const [low, high] = [y(g[add]) + 20, y(g[`${norm}River`]) - 22];
    paths[`bracket.${norm}`] = { d: line([g.river - 66, low], [g.river - 72, low], [g.river - 72, high], [g.river - 66, high]), role: 'bracket', o: river ? 1 : 0 };
    labels[`bracket.${norm}`] = { x: g.river - 76, y: (low + high) / 2, o: river ? 1 : 0 };
    nodes[sums[norm]] = { x: g.river, y: y(g[add]), w: 30, h: 30, o: 1, shape: 'plus' };
  }
  nodes.attn = { x: g.branch, y: y(g.attn), w: 156, h: 64, o: 1, shape: 'box' };
  nodes.mlp = { x: g.branch, y: y(g.mlp), w: 156, h: 38, o: 1, shape: 'box' };

  if (plan.first) {
    nodes.embed = { x: g.river, y: y(embed), w: 128, h: 34, o: 1, shape: 'box' };
    if (plan.embedNorm) nodes.embed_ln = { x: g.river, y: y(norm0), w: 146, h: 36, o: 1, shape: 'box' };
    if (plan.vectors.length) nodes.positions = { x: g.river, y: y(add0), w: 26, h: 26, o: 1, shape: 'plus' };
    if (plan.vectors.includes('positions')) {
      paths['positions.in'] = { d: line([g.branch, y(add0)], [g.river + 13, y(add0)]), role: 'weight', o: 1 };
      paths['positions.tip'] = { d: headLeft(g.river + 13, y(add0)), role: 'weight tip', o: 1 };
      labels.positions = { x: g.branch + 4, y: y(add0) + 4, o: 1 };
    }
    if (plan.vectors.includes('types')) {
      paths['types.in'] = { d: line([g.river - 74, y(add0)], [g.river - 13, y(add0)]), role: 'weight', o: 1 };
      paths['types.tip'] = { d: headRight(g.river - 13, y(add0)), role: 'weight tip', o: 1 };
      labels.types = { x: g.river - 18, y: y(add0) - 6, o: 1 };
    }
  } else {
    labels.from = { x: g.river + 14, y: y(-20) + 2, o: 1 };
  }
  if (plan.last) {
    nodes.ln_final = { x: g.river, y: y(g.top + 32), w: 146, h: 36, o: plan.final ? 1 : 0, shape: 'box' };
    if (plan.predictions) nodes.unembed = { x: g.river + 42, y: y(g.top + 80), w: 212, h: 36, o: 1, shape: 'box' };
  } else {
    labels.to = { x: g.river + 14, y: y(g.top + 6), o: 1 };
    paths['river.tip'] = { d: headUp(g.river, y(top) - 6), role: 'stream tip', o: 1 };
  }
  return { width: g.width, height, paths, nodes, marks, labels };
}

const FLAT = {
  river: 84, branch: 26, width: 372, height: 112,
  tap1: 10, ln1Mouth: 38, attn: 100, add1: 150, ln1River: 186,
  tap2: 212, ln2Mouth: 240, mlp: 286, add2: 322, ln2River: 356, end: 380, lane: 57,
};

/** The same block as a short strip, read from left to right: for a narrow screen. */
export function layoutFlat(plan) {
  const g = FLAT;
  const steps = [['embed', 36], ...(plan.vectors.length ? [['positions', 24]] : []), ...(plan.embedNorm ? [['embed_ln', 40]] : [])];
  const before = plan.first ? 1 + steps.reduce((width, [, own]) => width + own + 5, 0) : 6;
  const after = plan.last ? (plan.predictions ? 88 : 46) : 6;
  const x = (u) => u + before;
  const paths = {};
  const nodes = {};
  const marks = {};
  const labels = {};
  const width = g.width + before + after + 10;
  paths.river = { d: line([4, g.river], [width - 12, g.river]), role: 'stream', o: 1 };
  paths['river.tip'] = { d: headRight(width - 3, g.river), role: 'stream tip', o: 1 };

  const parts = [
    ['attn', 'ln1', g.tap1, g.attn, g.add1, 35],
    ['mlp', 'ln2', g.tap2, g.mlp, g.add2, 24],
  ];
  for (const [slot, norm, tap, centre, add, half] of parts) {
    const river = plan.onRiver[norm];
    const mouth = river ? centre - half : g[`${norm}Mouth`] - 20;
    const sum = plan.parallel ? 'add' : `add${norm.slice(2)}`;
    const passes = plan.parallel && slot === 'attn';
    // Two writes into one sum come down side by side; Attention's passes the FFN between it and the river.
    const down = x(plan.parallel ? g.add2 : add) + (plan.parallel ? (passes ? -5 : 5) : 0);
    paths[`${slot}.in`] = { d: `M${x(tap)} ${g.river}L${x(tap)} ${g.branch + 8}Q${x(tap)} ${g.branch} ${x(tap) + 8} ${g.branch}L${x(mouth)} ${g.branch}`, role: slot, o: 1 };
    paths[`${slot}.in.tip`] = { d: headRight(x(mouth), g.branch), role: `${slot} tip`, o: 1 };
    paths[`${slot}.up`] = { d: line([x(g[`${norm}Mouth`] + 20), g.branch], [x(centre - half), g.branch]), role: slot, o: river ? 0 : 1 };
    const turn = passes
      ? `M${x(centre + half)} ${g.branch}L${x(add) - 8} ${g.branch}Q${x(add)} ${g.branch} ${x(add)} ${g.branch + 8}L${x(add)} ${g.lane - 8}Q${x(add)} ${g.lane} ${x(add) + 8} ${g.lane}L${down - 8} ${g.lane}Q${down} ${g.lane} ${down} ${g.lane + 8}`
      : `M${x(centre + half)} ${g.branch}L${down - 8} ${g.branch}Q${down} ${g.branch} ${down} ${g.branch + 8}`;
    paths[`${slot}.out`] = { d: `${turn}L${down} ${g.river - 12}`, role: slot, o: 1 };
    paths[`${slot}.tip`] = { d: headDown(down, g.river - 12), role: `${slot} tip`, o: 1 };
    marks[`tap.${slot}`] = { x: x(tap), y: g.river, role: slot === 'mlp' ? 'tap mlp' : 'tap', o: 1 };
    nodes[slot] = { x: x(centre), y: g.branch, w: half * 2, h: 38, o: 1, shape: 'box' };
    nodes[norm] = {
      x: x(river ? g[`${norm}River`] : g[`${norm}Mouth`]), y: river ? g.river : g.branch,
      w: 40, h: 38, o: 1, shape: 'box',
    };
    nodes[sum] = { x: x(plan.parallel ? g.add2 : add), y: g.river, w: 24, h: 24, o: 1, shape: 'plus' };
  }
  if (plan.first) {
    let left = 6;
    for (const [slot, w] of steps) {
      nodes[slot] = slot === 'positions'
        ? { x: left + w / 2, y: g.river, w, h: w, o: 1, shape: 'plus' } : { x: left + w / 2, y: g.river, w, h: 38, o: 1, shape: 'box' };
      left += w + 5;
    }
  }
  if (plan.last) {
    nodes.ln_final = { x: x(g.end + 20), y: g.river, w: 40, h: 38, o: plan.final ? 1 : 0, shape: 'box' };
    if (plan.predictions) nodes.unembed = { x: x(g.end + 64), y: g.river, w: 36, h: 38, o: 1, shape: 'box' };
  }
  return { width, height: g.height, paths, nodes, marks, labels };
}

const NUMBER = /-?\d+(?:\.\d+)?(?:e-?\d+)?/g;

/** A path between two of one kind: each number of `a` on its way to that of `b`. */
export function betweenPaths(a, b, part) {
  const to = b.match(NUMBER) ?? [];
  let index = 0;
  return a.replace(NUMBER, (from) => {
    const target = Number(to[index++]);
    return String(Math.round((Number(from) + (target - Number(from)) * part) * 100) / 100);
  });
}

const FADED = { o: 0 };

function betweenParts(a, b, part) {
  const start = a ?? { ...b, ...FADED };
  const end = b ?? { ...a, ...FADED };
  const mixed = { ...end };
  for (const [name, value] of Object.entries(end)) {
    if (typeof value === 'number') mixed[name] = start[name] + (value - start[name]) * part;
  }
  if (end.d) mixed.d = betweenPaths(start.d, end.d, part);
  return mixed;
}

/** A layout between two: what stands in one alone fades in or out where it is. */
export function betweenLayouts(a, b, part) {
  const mixed = { width: b.width, height: b.height };
  for (const group of ['paths', 'nodes', 'marks', 'labels']) {
    mixed[group] = {};
    for (const id of new Set([...Object.keys(a[group]), ...Object.keys(b[group])])) {
      mixed[group][id] = betweenParts(a[group][id], b[group][id], part);
    }
  }
  return mixed;
}
