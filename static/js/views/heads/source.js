/**
 * The numbers of one run that the page fetches as they are needed: one head's exact matrices, one query of
 * a block, thumbnails of a block. Knows requests and replies, no element.
 */

import { ApiError, post } from '../../api.js';
import { decodeBytes } from '../../heat.js';

const KEPT = 12; // exact matrices; one of 512 tokens takes 2 MB
/** Numbers of thumbnails that are asked for together, and that one reply may hold at all. */
export const MOST_BYTES = 2_000_000;
export const MOST_NUMBERS = 4_000_000;

const THUMBNAIL = { encoding: 'base64', dtype: 'uint8' };
const EXACT = { encoding: 'base64', dtype: 'float32' };

export const patternsOf = (layer = '*', heads = '') => ({ points: `blocks.${layer}.attn.pattern${heads}`, ...THUMBNAIL });

/** Rows of a matrix of float32 bytes; what is not finite was masked. */
function rowsOf({ base64, shape: [rows, columns] }) {
  const numbers = new Float32Array(decodeBytes(base64).buffer);
  return Array.from({ length: rows }, (_, i) => Array.from(numbers.subarray(i * columns, (i + 1) * columns), (value) => (Number.isFinite(value) ? value : null)));
}

/** Thumbnails out of a reply's tensors: label -> bytes [query, key]. */
export function thumbnailsOf(tensors) {
  const found = new Map();
  for (const { point, shape, base64, dtype } of Object.values(tensors)) {
    if (dtype !== 'uint8') continue;
    const bytes = decodeBytes(base64);
    const layer = Number(point.split('.')[1]);
    const size = shape.at(-1) ** 2;
    for (let head = 0; head < shape[0]; head += 1) found.set(`L${layer}H${head}`, bytes.subarray(head * size, (head + 1) * size));
  }
  return found;
}

/** Which matrices a stage is made of; the last two come from POST /heads itself. */
export const pointsOf = (stage, layer, head) => ({
  dot: ['dot'], scaled: ['dot', 'attn_scores'], masked: ['attn_scores'], softmax: ['pattern'], lengths: [], norm_based: [],
}[stage].map((name) => `blocks.${layer}.attn.${name}[${head}]`));

function unlessRefused(error) {
  if (!(error instanceof ApiError)) throw error;
}

export function createSource(run, languageOf) {
  const matrices = new Map();
  const queries = new Map();
  const maps = new Map();
  const ahead = new Map(); // asked for before it was needed: what -> promise
  const keep = (map, key, value) => {
    map.set(key, value);
    if (map.size > KEPT) map.delete(map.keys().next().value);
  };

  async function fetchOne({ layer, head, pos, stage }, signal) {
    const at = `${layer}.${pos}`;
    const points = pointsOf(stage, layer, head);
    const missing = points.filter((point) => !matrices.has(point));
    const wantsMaps = KINDS_OF_MAPS.has(stage) && !maps.has(`${layer}.${head}`);
    if (!queries.has(at) || missing.length || wantsMaps) {
      const body = { ...run, layer, pos, include: missing.map((name) => ({ points: name, ...EXACT })) };
      if (wantsMaps) body.head = head;
      const reply = await post('/heads', body, { lang: languageOf(), signal });
      for (const name of missing) keep(matrices, name, rowsOf(reply.tensors[name]));
      if (reply.maps) keep(maps, `${layer}.${head}`, reply.maps);
      keep(queries, at, reply);
    }
    return { query: queries.get(at), matrices: points.map((point) => matrices.get(point)), maps: maps.get(`${layer}.${head}`) ?? null };
  }

  return {
    run,
    /** The request that gives what is on the screen, as text anyone can read. */
    body: ({ layer, head, pos, stage }) => ({ ...run, layer, pos, ...(KINDS_OF_MAPS.has(stage) ? { head } : {}), include: pointsOf(stage, layer, head) }),
    /**
     * One query of a block, and the matrices of one head that `stage` shows, in one request:
     * {query: reply of POST /heads, matrices: [rows of each point of the stage], maps}.
     */
    async look(what, signal) {
      const key = JSON.stringify(what);
      // What a hand on its way to a head has asked for already is waited for.
      await ahead.get(key);
      return fetchOne(what, signal);
    },
    /** Ask for what will probably be looked at next; a refusal is said when it is looked at. */
    prepare(what) {
      const key = JSON.stringify(what);
      if (!ahead.has(key)) ahead.set(key, fetchOne(what).catch(unlessRefused).finally(() => ahead.delete(key)));
    },
    units: (body, signal) => post('/units', { ...run, ...body }, { lang: languageOf(), signal }),
    lens: (body, signal) => post('/lens', { ...run, ...body }, { lang: languageOf(), signal }),
    /** Thumbnails of one block, in as many requests as the limit of a reply asks for. */
    async thumbnails(layer, { n_heads, n_tokens }, signal) {
      const together = Math.max(1, Math.floor(MOST_NUMBERS / n_tokens ** 2));
      const found = new Map();
      for (let first = 0; first < n_heads; first += together) {
        const heads = Array.from({ length: Math.min(together, n_heads - first) }, (_, i) => first + i);
        const include = heads.length === n_heads ? [patternsOf(layer)] : heads.map((head) => patternsOf(layer, `[${head}]`));
        const { tensors } = await post('/heads', { ...run, layer, pos: 0, digits: 3, include }, { lang: languageOf(), signal });
        for (const [key, tensor] of Object.entries(tensors)) {
          const one = key.match(/\[(\d+)\]$/);
          if (one) found.set(`L${layer}H${one[1]}`, decodeBytes(tensor.base64));
          else for (const [label, bytes] of thumbnailsOf({ [key]: tensor })) found.set(label, bytes);
        }
      }
      return found;
    },
  };
}

const KINDS_OF_MAPS = new Set(['lengths', 'norm_based']);
