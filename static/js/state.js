/**
 * What the page shows, as one flat object, and its spelling in the URL's fragment.
 *
 * The fragment never reaches a server or a log, so a text in a link stays between the two readers.
 * This module knows no model and no run: limits of layer, head and position are applied where the
 * run is known.
 *
 * State: text, model, norm ('pre' | 'post' | null: the model's own), weights (the placement they were
 * trained in, or null: the one that runs), size (preset of the random model, or null), layer, head, position, step (a frame's key), depth, dim (the framed component).
 */

export const DEPTHS = ['words', 'numbers', 'formula', 'code'];

export const EMPTY = Object.freeze({
  text: null,
  model: null,
  size: null,
  norm: null,
  weights: null,
  layer: 0,
  head: 0,
  position: null,
  step: 'add1',
  depth: 'words',
  dim: null,
});

const WHOLE = ['layer', 'head', 'position', 'dim'];
const ORDER = ['text', 'model', 'size', 'norm', 'weights', 'layer', 'head', 'position', 'step', 'depth', 'dim'];
const STEP = /^[a-z0-9_]+(\.[a-z0-9_]+)?$/;

function readWhole(value) {
  return /^\d{1,6}$/.test(value) ? Number(value) : null;
}

/** Read a fragment ('#text=…&layer=1'). Unknown or malformed parts are left out, never guessed. */
export function parseFragment(fragment) {
  const found = {};
  const params = new URLSearchParams(String(fragment).replace(/^#/, ''));
  for (const [name, value] of params) {
    if (WHOLE.includes(name)) {
      const number = readWhole(value);
      if (number !== null) found[name] = number;
    } else if (name === 'norm' || name === 'weights') {
      if (value === 'pre' || value === 'post') found[name] = value;
    } else if (name === 'depth') {
      if (DEPTHS.includes(value)) found.depth = value;
    } else if (name === 'step') {
      if (STEP.test(value)) found.step = value;
    } else if (name === 'text' || name === 'model' || name === 'size') {
      found[name] = value;
    }
  }
  return found;
}

/** Spell a state as a fragment, without the leading '#'. What is null is left out. */
export function formatFragment(state) {
  const params = new URLSearchParams();
  for (const name of ORDER) {
    const value = state[name];
    if (value !== null && value !== undefined) params.set(name, String(value));
  }
  return params.toString();
}

/** A small store: read `state`, change it with `set(patch)`, hear of it with `listen(f)`. */
export function createStore(initial) {
  let state = { ...EMPTY, ...initial };
  const listeners = new Set();
  return {
    get state() {
      return state;
    },
    set(patch) {
      const changed = Object.keys(patch).filter((name) => patch[name] !== state[name]);
      if (changed.length === 0) return;
      state = { ...state, ...patch };
      for (const listener of listeners) listener(state, new Set(changed));
    },
    listen(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}
