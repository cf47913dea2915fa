/** Asking for what the page shows: one run in each placement, and a ledger of each. Keeps replies; knows no element. */

import { post } from '../../api.js';

const KEPT = 24;
const replies = new Map(); // call and body -> {promise of its reply, signal that may end it}

const keyOf = (call, body) => `${call} ${JSON.stringify(body)}`;

function keep(key, promise, signal = null) {
  replies.delete(key);
  replies.set(key, { promise, signal });
  if (replies.size > KEPT) replies.delete(replies.keys().next().value);
  // What was refused, lost or left is asked for again the next time.
  promise.catch(() => { if (replies.get(key)?.promise === promise) replies.delete(key); });
  return promise;
}

/** A POST whose reply is kept: runs are pure, so the same body has the same reply. */
export function kept(call, body, { lang, signal = null }) {
  const key = keyOf(call, body);
  const found = replies.get(key);
  // One that is being given up has not failed yet, but will.
  if (found && !found.signal?.aborted) return keep(key, found.promise, found.signal);
  return keep(key, post(call, body, { lang, signal }), signal);
}

const other = (norm) => (norm === 'pre' ? 'post' : 'pre');

/**
 * The run that `body` names, with `runs`: it and the same text in the other placement, Post-LN first.
 * Post-LN of a parallel block is not defined, so such a model has one run. `sequential`: known beforehand.
 */
export async function bothRuns(body, sequential, options) {
  const ask = (norm) => kept('/trace', { ...body, norm }, options);
  let found = null;
  if (body.model === null || (sequential && body.norm)) {
    found = await Promise.all(['post', 'pre'].map(ask));
  } else {
    const mine = await ask(body.norm);
    found = mine.model.wiring === 'parallel' ? [mine] : [mine, await ask(other(mine.model.norm))];
  }
  // What was asked for as 'the model's own' is known by name from now on.
  for (const run of found) keep(keyOf('/trace', { ...body, model: run.model.id, norm: run.model.norm }), Promise.resolve(run));
  const runs = found.toSorted((a, b) => a.model.norm.localeCompare(b.model.norm));
  const wanted = body.norm ?? runs[0].model.default_norm;
  return { ...(runs.find(({ model }) => model.norm === wanted) ?? runs[0]), runs };
}
