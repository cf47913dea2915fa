/**
 * The river: one block as a picture, drawn from the run's recorded steps. The residual stream is one
 * thick line; Attention and FFN are branches that read from it and write back at a sum.
 *
 * Each box shows a figure of this run at the chosen position and leads to its step. When the placement
 * changes, the same boxes travel to their new places. Knows no card and fetches nothing.
 */

import { el, put, reducedMotion, svg } from '../dom.js';
import { compact, fixed } from '../format.js';
import { slotOf, splitPoint } from '../frames.js';
import { t } from '../i18n.js';
import { betweenLayouts, layoutFlat, layoutTall } from './river_layout.js';

const TRAVEL_MS = 700;
const ROLES = { ln1: 'norm', ln2: 'norm', ln_final: 'norm', embed_ln: 'norm', attn: 'attn', mlp: 'mlp', embed: 'weight' };
const VECTORS = { positions: 'pos_embed', types: 'type_embed' };
const ease = (x) => (x < 0.5 ? 4 * x * x * x : 1 - (-2 * x + 2) ** 3 / 2);

/**
 * Whether a norm stands on the stream: unless what it gives is read by one branch alone, and by no sum
 * and no later block as the stream itself.
 */
export function standsOnRiver(trace, norm) {
  const same = new Map(trace.points.filter((point) => point.same_as).map((point) => [point.name, point.same_as]));
  const root = (point) => {
    let name = point;
    while (same.has(name)) name = same.get(name);
    return name;
  };
  const readers = trace.steps.filter((step) => step.inputs.some((input) => root(input) === root(norm.output)));
  return !(readers.length > 0 && readers.every((step) => step.kind === 'attention' || step.kind === 'mlp'));
}

/** What the geometry must know of a block of this run, seen from a position. */
export function planOf(trace, block, position) {
  const here = trace.steps.filter((step) => splitPoint(step.output).layer === block);
  const onRiver = {};
  for (const slot of ['ln1', 'ln2']) {
    const norm = here.find((step) => slotOf(step) === slot);
    onRiver[slot] = norm ? standsOnRiver(trace, norm) : true;
  }
  const n = trace.tokens.length;
  const firstAdd = trace.steps.find((step) => step.output === 'embed_sum');
  return {
    onRiver,
    parallel: here.some((step) => slotOf(step) === 'add'),
    vectors: Object.keys(VECTORS).filter((kind) => firstAdd?.inputs.includes(VECTORS[kind])),
    embedNorm: trace.steps.some((step) => slotOf(step) === 'embed_ln'),
    first: block === 0,
    last: block === trace.model.n_layers - 1,
    final: trace.steps.some((step) => slotOf(step) === 'ln_final'),
    predictions: trace.predictions !== null,
    earlier: Math.min(3, position),
    later: Math.min(1, n - 1 - position),
    seesLater: !trace.model.causal,
  };
}

/** The live figures of a block at a position: {slot: text}, from the summary of the run. */
export function figuresOf(trace, block, position) {
  const prefix = `blocks.${block}.`;
  const length = (list, point) => list.find((one) => one.point === point)?.length[position];
  const figures = {};
  const note = (slot, value) => {
    if (value !== undefined) figures[slot] = `|x| ${compact(value, 3)}`;
  };
  note('add1', length(trace.stream.states, `${prefix}resid_mid`));
  for (const sum of ['add2', 'add']) note(sum, length(trace.stream.states, `${prefix}resid_post`));
  note('attn', length(trace.stream.writes, `${prefix}attn_out`));
  note('mlp', length(trace.stream.writes, `${prefix}mlp_out`));
  note('from', length(trace.stream.states, `${prefix}resid_pre`));
  for (const norm of trace.layer_norms) {
    const { layer, name } = splitPoint(norm.name);
    if (layer === null || layer === block) {
      const sigma = norm.var[position] === null ? null : Math.sqrt(norm.var[position]);
      figures[name] = `μ ${short(norm.mean[position])} σ ${short(sigma)}`;
      figures[`${name}.sigma`] = `σ ${compact(sigma, 2)}`;
    }
  }
  const best = trace.predictions?.positions[position]?.[0];
  if (best) {
    figures.unembed = `${best.label} ${fixed(100 * best.probability, 1)} %`;
    figures['unembed.short'] = [...best.label].slice(0, 4).join('');
  }
  return figures;
}

/** Two decimals where they say something, else two digits. */
const short = (value) => (Math.abs(value) >= 0.095 || value === null ? fixed(value, 2) : compact(value, 2));

const SHORT_NAMES = { ln1: 'LN ①', ln2: 'LN ②', ln_final: 'LN', embed_ln: 'LN', attn: 'Attention', mlp: 'FFN' };

/**
 * The diagram in `root`. `choose(slot)` and `choosePosition(i)` are called on a click. With `beside` the
 * run of the other placement stands next to it (`view.other`): boxes that stand elsewhere there are
 * marked, and so is the place where they stand.
 */
export function createRiver(root, { choose, choosePosition, beside = false }) {
  let drawn = null; // {layout, flat, key}
  let travel = 0;
  const wide = matchMedia('(min-width: 761px)');
  let latest = null;
  wide.addEventListener('change', () => latest && update(latest));

  function figure(slot, flat) {
    const text = (flat && (latest.figures[`${slot}.sigma`] ?? latest.figures[`${slot}.short`])) || latest.figures[slot];
    if (!text) return '';
    return flat ? text.replace('|x| ', '') : text;
  }

  function nodeText(slot, node, flat) {
    const name = flat ? SHORT_NAMES[slot] ?? t(`river.short.${slot}`) : t(`river.${slot}`);
    const left = -node.w / 2 + 11;
    if (node.shape === 'plus') {
      const size = node.w / 2;
      const parts = [svg('path', { class: 'plus', d: `M${-size * 0.5} 0H${size * 0.5}M0 ${-size * 0.5}V${size * 0.5}` })];
      if (flat) return [...parts, svg('text', { class: 'figure', x: 0, y: size + 13, 'text-anchor': 'middle' }, figure(slot, true))];
      parts.push(svg('text', { class: 'name', x: size + 9, y: slot === 'add' ? -13 : -8 }, `${name} `,
        svg('tspan', { class: 'figure', dx: 3 }, figure(slot, false))));
      return parts;
    }
    if (flat) {
      return [svg('text', { class: 'name', x: 0, y: -2, 'text-anchor': 'middle' }, name),
        svg('text', { class: 'figure', x: 0, y: 12, 'text-anchor': 'middle' }, figure(slot, true))];
    }
    if (slot === 'attn') {
      const cell = node.w / 3;
      return [
        svg('text', { class: 'name', x: left, y: -14 }, name),
        svg('text', { class: 'figure', x: node.w / 2 - 11, y: -14, 'text-anchor': 'end' }, figure(slot, false)),
        svg('text', { class: 'figure', x: left, y: 3 }, t('river.heads', { n: latest.trace.model.n_heads, d: latest.trace.model.d_head })),
        svg('path', { class: 'rule', d: `M${-node.w / 2} 12H${node.w / 2}M${-cell / 2} 12V${node.h / 2}M${cell / 2} 12V${node.h / 2}` }),
        [-1, 0, 1].map((i) => svg('text', { class: 'linear', x: i * cell, y: 26, 'text-anchor': 'middle', 'aria-hidden': 'true' }, 'Linear')),
      ];
    }
    if (slot === 'mlp') {
      return [svg('text', { class: 'name', x: left, y: -3 }, name),
        svg('text', { class: 'figure', x: node.w / 2 - 11, y: -3, 'text-anchor': 'end' }, figure(slot, false)),
        svg('text', { class: 'figure', x: left, y: 12 }, t('river.units', { n: latest.trace.model.d_mlp }))];
    }
    return [svg('text', { class: 'name', x: left, y: figure(slot, false) ? -3 : 4 }, name),
      svg('text', { class: 'figure', x: left, y: 12 }, figure(slot, false))];
  }

  function labelContent(id) {
    const { trace, block, position, figures } = latest;
    const point = (name) => svg('tspan', { class: 'point', dx: 6 }, name);
    if (id === 'from') return [t('river.from'), point(`blocks.${block}.resid_pre`), svg('tspan', { class: 'figure', dx: 6 }, figures.from ?? '')];
    if (id === 'to') return [t('river.to'), point(`blocks.${block}.out`)];
    if (id === 'positions') return [t('river.position_vectors')];
    if (id === 'types') return [t('river.type_vectors')];
    if (id.startsWith('bracket')) return ['Add & Norm'];
    if (id.startsWith('before')) return [String(position - 1 - Number(id.slice(6)))];
    if (id.startsWith('after')) return [String(position + 1 + Number(id.slice(5)))];
    return [id.toUpperCase()];
  }

  function classOfNode(slot) {
    const active = latest.frame.slot === slot && (latest.frame.layer === latest.block || latest.frame.layer === null);
    return `node ${ROLES[slot] ?? 'stream'} ${active ? 'is-active' : ''}`;
  }

  function build(layout, flat) {
    const parts = { paths: {}, nodes: {}, marks: {}, labels: {} };
    const layers = { back: svg('g', { 'aria-hidden': 'true' }), front: svg('g', {}) };
    const ghosts = svg('g', { 'aria-hidden': 'true' });
    for (const [id, path] of Object.entries(layout.paths)) {
      parts.paths[id] = svg('path', { class: `line ${path.role}` });
      layers.back.append(parts.paths[id]);
    }
    for (const [id, mark] of Object.entries(layout.marks)) {
      const shape = mark.role === 'norm'
        ? svg('rect', { x: -5, y: -2.5, width: 10, height: 5, rx: 2 })
        : svg('circle', { r: mark.role === 'plus' ? 3.5 : 2.6 });
      parts.marks[id] = svg('g', { class: `mark ${mark.role}` }, shape);
      layers.back.append(parts.marks[id]);
    }
    for (const id of Object.keys(layout.labels)) {
      parts.labels[id] = svg('text', { class: `label label-${id.split('.')[0].replace(/\d+$/, '')}` });
      layers.back.append(parts.labels[id]);
    }
    for (const [slot, node] of Object.entries(layout.nodes)) {
      const shape = node.shape === 'plus'
        ? svg('circle', { class: 'shape', r: node.w / 2 })
        : svg('rect', { class: 'shape', x: -node.w / 2, y: -node.h / 2, width: node.w, height: node.h, rx: flat ? 7 : 9 });
      const group = svg('g', {
        role: 'button', tabindex: '0', data: { slot },
        onclick: () => choose(slot),
        onkeydown: (event) => {
          if (event.key !== 'Enter' && event.key !== ' ') return;
          event.preventDefault();
          choose(slot);
        },
      }, shape, svg('g', { class: 'inside' }));
      parts.nodes[slot] = group;
      layers.front.append(group);
    }
    const picture = svg('svg', { class: flat ? 'flat' : 'tall', viewBox: `0 0 ${layout.width} ${layout.height}`, role: 'group' }, layers.back, ghosts, layers.front);
    picture.style.setProperty('--ratio', String(layout.width / layout.height));
    for (const [id, path] of Object.entries(parts.paths)) {
      const match = /^river\.(before|after)(\d)$/.exec(id);
      if (match) path.addEventListener('click', () => choosePosition(otherPosition(match[1], Number(match[2]))));
    }
    put(root, picture);
    return { parts, picture, front: layers.front, ghosts };
  }

  /** The Tab key goes through the boxes as the block is read: upwards, or from left to right. */
  function arrange(layout, built, flat) {
    const order = Object.keys(layout.nodes).sort((a, b) => (flat
      ? layout.nodes[a].x - layout.nodes[b].x : layout.nodes[b].y - layout.nodes[a].y));
    if (built.order === order.join()) return;
    built.order = order.join();
    const focused = built.front.contains(document.activeElement) ? document.activeElement : null;
    built.front.append(...order.map((slot) => built.parts.nodes[slot]));
    focused?.focus({ preventScroll: true });
  }

  const otherPosition = (side, i) => (side === 'before' ? latest.position - 1 - i : latest.position + 1 + i);

  function place(layout, { parts }) {
    for (const [id, path] of Object.entries(layout.paths)) {
      parts.paths[id].setAttribute('d', path.d);
      parts.paths[id].setAttribute('opacity', path.o);
    }
    for (const group of ['marks', 'nodes', 'labels']) {
      for (const [id, part] of Object.entries(layout[group])) {
        const element = parts[group][id];
        const turn = id.startsWith('bracket') ? ' rotate(-90)' : '';
        element.setAttribute('transform', `translate(${part.x} ${part.y})${turn}`);
        element.setAttribute('opacity', part.o);
        if (group === 'nodes') element.classList.toggle('is-gone', part.o === 0);
      }
    }
  }

  function write(layout, built, flat) {
    const { parts, picture } = built;
    arrange(layout, built, flat);
    picture.setAttribute('aria-label', t('river.picture', { block: latest.block, norm: t(`norm.name.${latest.trace.model.norm}`) }));
    for (const [slot, group] of Object.entries(parts.nodes)) {
      const active = classOfNode(slot);
      group.setAttribute('class', active);
      group.toggleAttribute('aria-current', active.includes('is-active'));
      if (active.includes('is-active')) group.setAttribute('aria-current', 'step');
      const gone = layout.nodes[slot].o === 0;
      group.setAttribute('tabindex', gone ? '-1' : '0');
      if (gone) group.setAttribute('aria-hidden', 'true');
      else group.removeAttribute('aria-hidden');
      // Spaces between the texts: together they are the name of the box.
      put(group.querySelector('.inside'), [nodeText(slot, layout.nodes[slot], flat)].flat(Infinity).flatMap((part) => [part, ' ']));
      if (flat && layout.nodes[slot].shape === 'plus') group.setAttribute('aria-label', `${t(`river.${slot}`)} ${figure(slot, true)}`.trim());
    }
    for (const [id, text] of Object.entries(parts.labels)) put(text, labelContent(id));
    if (beside) mark(layout, built, flat);
  }

  /** Marks the norms that the other placement has elsewhere, or not at all, and their places there. */
  function mark(layout, built, flat) {
    const { block, position, other } = latest;
    const there = other ? (flat ? layoutFlat : layoutTall)(planOf(other, block, position)).nodes : {};
    const ghosts = [];
    for (const [slot, node] of Object.entries(layout.nodes)) {
      const counterpart = there[slot];
      const moved = Boolean(counterpart) && ROLES[slot] === 'norm' && ['x', 'y', 'o'].some((name) => counterpart[name] !== node[name]);
      built.parts.nodes[slot].classList.toggle('is-moved', moved && node.o > 0);
      if (moved && counterpart.o > 0) ghosts.push(counterpart);
    }
    put(built.ghosts, ghosts.map(({ x, y, w, h }) => svg('rect', { class: 'ghost', x: x - w / 2, y: y - h / 2, width: w, height: h, rx: flat ? 7 : 9 })));
  }

  function animate(from, to, built) {
    cancelAnimationFrame(travel);
    const start = performance.now();
    const tick = (now) => {
      const part = Math.min(1, Math.max(0, (now - start) / TRAVEL_MS));
      const layout = part === 1 ? to : betweenLayouts(from, to, ease(part));
      place(layout, built);
      drawn.layout = layout;
      if (part < 1) travel = requestAnimationFrame(tick);
    };
    travel = requestAnimationFrame(tick);
  }

  function update(view) {
    latest = view;
    view.figures = figuresOf(view.trace, view.block, view.position);
    const flat = !wide.matches;
    const plan = planOf(view.trace, view.block, view.position);
    const layout = (flat ? layoutFlat : layoutTall)(plan);
    // One picture is reused as long as it has the same parts: then the parts can travel.
    const key = JSON.stringify([flat, ...['paths', 'nodes', 'marks', 'labels'].map((group) => Object.keys(layout[group]))]);
    if (drawn?.key === key) {
      const moved = JSON.stringify(drawn.plan) !== JSON.stringify(plan);
      write(layout, drawn.built, flat);
      if (moved && !reducedMotion()) animate(drawn.layout, layout, drawn.built);
      else if (moved) place(layout, drawn.built);
      drawn.plan = plan;
      return;
    }
    cancelAnimationFrame(travel);
    const built = build(layout, flat);
    drawn = { key, layout, built, plan };
    write(layout, built, flat);
    place(layout, built);
  }

  return { update };
}

/** The choice of the block, counted from 0 in words that cannot be read as a fraction. */
export function renderBlocks(root, { layers, block, choose }) {
  const step = (offset, key) => el('button', {
    type: 'button', class: 'quiet', disabled: block + offset < 0 || block + offset >= layers,
    'aria-label': t(key), title: t(key), data: { offset: String(offset) },
    onclick: () => choose(block + offset, offset),
  }, offset < 0 ? '‹' : '›');
  const focused = root.contains(document.activeElement) ? document.activeElement.dataset.offset : null;
  put(root, step(-1, 'blocks.previous'),
    el('p', { class: 'num' }, el('b', {}, t('blocks.name', { block })), el('span', {}, t('blocks.of', { layers }))),
    step(1, 'blocks.next'));
  if (focused) (root.querySelector(`[data-offset="${focused}"]:enabled`) ?? root.querySelector('button:enabled'))?.focus();
}
