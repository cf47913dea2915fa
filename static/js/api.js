/**
 * Talking to the API: one request at a time for a text, small ones for more of the same run.
 * Knows no element of the page; errors leave here as objects, never as sentences.
 */

const PREFIX = '/api/v1';

/** A refusal of the API, or 'offline' when no server answered. */
export class ApiError extends Error {
  constructor({ code, message = '', field = null, params = {} }, status) {
    super(message || code);
    this.name = 'ApiError';
    Object.assign(this, { code, field, params, status });
  }
}

async function call(path, options, lang) {
  let response;
  try {
    response = await fetch(`${PREFIX}${path}`, {
      ...options,
      headers: { ...options.headers, 'Accept-Language': lang },
    });
  } catch (error) {
    if (error.name === 'AbortError') throw error;
    throw new ApiError({ code: 'offline' }, 0);
  }
  const body = await response.json().catch((error) => {
    if (error.name === 'AbortError') throw error;
    return null;
  });
  if (response.ok && body) return body;
  throw new ApiError(body?.error ?? { code: 'unexpected_answer', params: { status: response.status } }, response.status);
}

export const get = (path, { lang = 'en', signal } = {}) => call(path, { signal }, lang);

export const post = (path, body, { lang = 'en', signal } = {}) =>
  call(path, { method: 'POST', body: JSON.stringify(body), signal, headers: { 'Content-Type': 'application/json' } }, lang);

/** Runs the newest of many asked-for tasks; each earlier one is aborted. `task` takes an AbortSignal. */
export function newestOnly() {
  let controller = null;
  return {
    async run(task) {
      controller?.abort();
      const mine = new AbortController();
      controller = mine;
      try {
        return await task(mine.signal);
      } finally {
        if (controller === mine) controller = null;
      }
    },
    abort() {
      controller?.abort();
      controller = null;
    },
  };
}

/** 'blocks.0.attn.pattern[3]' as {base: 'blocks.0.attn.pattern', selector: '[3]'}. */
export function splitSelector(entry) {
  const at = entry.indexOf('[');
  return at < 0 ? { base: entry, selector: '' } : { base: entry.slice(0, at), selector: entry.slice(at) };
}

function sliceTensor(tensor, selector) {
  const chosen = selector.slice(1, -1).split(',').map((part) => part.trim());
  if (!chosen.every((part) => part === ':' || /^\d+$/.test(part))) return null;
  const pick = (values, parts) => {
    if (parts.length === 0) return values;
    const [first, ...rest] = parts;
    return first === ':' ? values.map((row) => pick(row, rest)) : pick(values[Number(first)], rest);
  };
  const kept = (_, axis) => chosen[axis] === undefined || chosen[axis] === ':';
  return {
    ...tensor,
    axes: tensor.axes.filter(kept),
    shape: tensor.shape.filter(kept),
    values: pick(tensor.values, chosen),
  };
}

/**
 * The tensors of one run. `load(entries)` resolves to {points: tensor} for include entries such as
 * 'blocks.0.resid_mid[3]' or {points, encoding, dtype, digits}; what the run already brought, or an
 * earlier load fetched, is not asked for again. `asked` holds what has been asked for since
 * `forget()`: that is what is on the screen.
 */
export function tensorStore(trace, languageOf) {
  const known = new Map(Object.entries(trace.tensors ?? {}));
  const waiting = new Map();
  const asked = new Map();
  const pointsOf = (entry) => (typeof entry === 'string' ? entry : entry.points);
  const keyOf = (entry) => (typeof entry === 'string' ? entry : JSON.stringify(entry));

  function find(entry) {
    const key = keyOf(entry);
    if (known.has(key)) return known.get(key);
    const { base, selector } = splitSelector(pointsOf(entry));
    const whole = typeof entry === 'string' && selector ? known.get(base) : null;
    const slice = whole?.values ? sliceTensor(whole, selector) : null;
    if (slice) known.set(key, slice);
    return slice;
  }

  async function fetchAll(entries) {
    const body = { ...trace.request, include: entries, verify: false };
    const reply = await post('/trace', body, { lang: languageOf() });
    for (const entry of entries) known.set(keyOf(entry), reply.tensors[pointsOf(entry)]);
  }

  return {
    asked,
    forget: () => asked.clear(),
    async load(entries) {
      for (const entry of entries) asked.set(keyOf(entry), entry);
      const missing = entries.filter((entry) => !find(entry) && !waiting.has(keyOf(entry)));
      if (missing.length) {
        const request = fetchAll(missing).finally(() => missing.forEach((entry) => waiting.delete(keyOf(entry))));
        missing.forEach((entry) => waiting.set(keyOf(entry), request));
      }
      await Promise.all(entries.map((entry) => waiting.get(keyOf(entry))).filter(Boolean));
      return Object.fromEntries(entries.map((entry) => [pointsOf(entry), find(entry)]));
    },
  };
}
