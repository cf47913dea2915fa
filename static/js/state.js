/**
 * What the page shows, as one flat object, and its spelling in the URL's fragment.
 *
 * The fragment never reaches a server or a log, so a text in a link stays between the two readers.
 * This module knows no model and no run: limits of layer, head and position are applied where the
 * run is known.
 *
 * State of every page with a text: text, pair (a second text, for models that read two), model, norm ('pre' | 'post' | null: the model's own), weights
 * (the placement they were trained in, or null: the one that runs), size (preset of the random model,
 * or null), layer, head, position. The explorer's own: step (a frame's key), depth, dim (the framed
 * component).
 */

export const DEPTHS = ['words', 'numbers', 'formula', 'code'];

export const EMPTY = Object.freeze({
  text: null,
  pair: null,
  model: null,
  size: null,
  norm: null,
  weights: null,
  layer: 0,
  head: 0,
  position: null,
});

export const EXPLORER_EMPTY = Object.freeze({ ...EMPTY, step: 'add1', depth: 'words', dim: null });

const STEP = /^[a-z0-9_]+(\.[a-z0-9_]+)?$/;

/** Readers of a field: what a fragment says, or null where that is nothing of the kind. */
export const whole = (value) => (/^\d{1,6}$/.test(value) ? Number(value) : null);
export const oneOf = (...values) => (value) => (values.includes(value) ? value : null);
export const matching = (pattern) => (value) => (pattern.test(value) ? value : null);
const anything = (value) => value;

const PLACEMENT = oneOf('pre', 'post');

/** The fields that pages share, in the order of their spelling. */
const FIELDS = {
  text: anything, pair: anything, model: anything, size: anything, norm: PLACEMENT, weights: PLACEMENT,
  layer: whole, head: whole, position: whole,
};

/** The explorer's own fields. */
export const EXPLORER = { step: matching(STEP), depth: oneOf(...DEPTHS), dim: whole };

/**
 * Read a fragment ('#text=…&layer=1'). Unknown or malformed parts are left out, never guessed.
 * `own`: the page's own fields, each with its reader.
 */
export function parseFragment(fragment, own = EXPLORER) {
  const readers = { ...FIELDS, ...own };
  const found = {};
  for (const [name, value] of new URLSearchParams(String(fragment).replace(/^#/, ''))) {
    const read = Object.hasOwn(readers, name) ? readers[name](value) : null;
    if (read !== null) found[name] = read;
  }
  return found;
}

/** Spell a state as a fragment, without the leading '#'. What is null is left out. */
export function formatFragment(state, own = EXPLORER) {
  const params = new URLSearchParams();
  for (const name of Object.keys({ ...FIELDS, ...own })) {
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
