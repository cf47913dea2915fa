/** Asking for what the page shows: one run in each placement, and a ledger of each. Keeps replies; knows no element. */

import { post } from '../../api.js';

const KEPT = 24;
const replies = new Map(); // call and body -> promise of its reply

/** A POST whose reply is kept: runs are pure, so the same body has the same reply. */
export function kept(call, body, { lang, signal }) {
  const key = `${call} ${JSON.stringify(body)}`;
  const found = replies.get(key) ?? post(call, body, { lang, signal });
  replies.delete(key);
  replies.set(key, found);
  if (replies.size > KEPT) replies.delete(replies.keys().next().value);
  // What was refused, lost or left is asked for again the next time.
  found.catch(() => { if (replies.get(key) === found) replies.delete(key); });
  return found;
}

const other = (norm) => (norm === 'pre' ? 'post' : 'pre');

/**
 * The run that `body` names, with `runs`: it and the same text in the other placement, Post-LN first.
 * Post-LN of a parallel block is not defined, so such a model has one run. `sequential`: known beforehand.
 */
export async function bothRuns(body, sequential, options) {
  const ask = (one) => kept('/trace', one, options);
  const second = (norm) => ask({ ...body, norm: other(norm) });
  let [mine, rest] = [null, null];
  if (sequential && body.norm) {
    [mine, rest] = await Promise.all([ask(body), second(body.norm)]);
  } else {
    mine = await ask(body);
    rest = mine.model.wiring === 'parallel' ? null : await second(mine.model.norm);
  }
  const runs = rest === null ? [mine] : mine.model.norm === 'post' ? [mine, rest] : [rest, mine];
  return { ...mine, runs };
}

/** The run of a reply as the fields of another call. */
export function sameRun({ request: { text, text_pair: pair, model, norm, weights, config } }) {
  return { text, ...(pair === null ? {} : { text_pair: pair }), model, norm, ...(weights === null ? {} : { weights }), ...(config === null ? {} : { config }) };
}
