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

/** What a promise of the connection gives; where it breaks off, that no server answered. */
export const connected = (promise) => promise.catch((error) => {
  throw error.name === 'AbortError' ? error : new ApiError({ code: 'offline' }, 0);
});

const asJson = (response) => response.json().catch((error) => {
  if (error.name === 'AbortError') throw error;
  return null;
});

const refused = (body, { status }) => new ApiError(body?.error ?? { code: 'unexpected_answer', params: { status } }, status);

/** The response of a call that was not refused; a POST where there is a `body`. */
export async function reach(path, { body, lang = 'en', signal, accept = 'application/json' } = {}) {
  const response = await connected(fetch(`${PREFIX}${path}`, {
    method: body ? 'POST' : 'GET', body: JSON.stringify(body), signal,
    headers: { Accept: accept, 'Accept-Language': lang, ...(body && { 'Content-Type': 'application/json' }) },
  }));
  if (!response.ok) throw refused(await asJson(response), response);
  return response;
}

/** `options`: {lang, signal}. */
export async function get(path, options) {
  const response = await reach(path, options);
  const body = await asJson(response);
  if (!body) throw refused(null, response);
  return body;
}

export const post = (path, body, options) => get(path, { ...options, body });

let models = null;

/** Entries of the models that there are, asked for once on a page; a refusal is not kept. */
export function listModels() {
  models ??= get('/models').then((reply) => reply.models).catch((error) => {
    models = null;
    throw error;
  });
  return models;
}

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
  const pointsOf = (entry) => entry.points ?? entry;
  const keyOf = (entry) => (entry.points ? JSON.stringify(entry) : entry);

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
      const missing = entries.filter((entry) => !known.has(keyOf(entry)) && !waiting.has(keyOf(entry)));
      if (missing.length) {
        const request = fetchAll(missing).finally(() => missing.forEach((entry) => waiting.delete(keyOf(entry))));
        missing.forEach((entry) => waiting.set(keyOf(entry), request));
      }
      await Promise.all(entries.map((entry) => waiting.get(keyOf(entry))).filter(Boolean));
      return Object.fromEntries(entries.map((entry) => [pointsOf(entry), known.get(keyOf(entry))]));
    },
  };
}
