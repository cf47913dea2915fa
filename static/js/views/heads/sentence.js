/** What a head does on this text, in plain sentences with this text's own words and figures. */

import { el } from '../../dom.js';
import { compact, fixed, MINUS, percent, visible } from '../../format.js';
import { lang, rich } from '../../i18n.js';
import { relation } from './display.js';
import { metricName, NAMES, printed } from './metrics.js';

const largest = (values) => values.reduce((best, value, i) => (value > values[best] ? i : best), 0);
const tokenAt = (tokens, i) => ({ token: visible(tokens[i].label), at: i });
/** What stands between two sentences of the language. */
const gap = () => (lang() === 'ja' ? '' : ' ');
const signed = (value) => (value < 0 ? `${MINUS}${compact(-value, 3)}` : `+${compact(value, 3)}`);

/** What the head may be called, over the whole text; or that nothing stands out, with the figure nearest to a name. */
export function overText(head) {
  const [name] = head.names;
  if (name) {
    const { value, chance } = head.metrics[name];
    return rich(`heads.named.${name}`, { label: head.label, value: percent(value, 0), chance: percent(chance, 0) });
  }
  const room = (metric) => (metric?.value !== null && metric.chance < 1 ? (metric.value - metric.chance) / (1 - metric.chance) : -Infinity);
  const nearest = NAMES.reduce((best, one) => (room(head.metrics[one]) > room(head.metrics[best]) ? one : best));
  if (room(head.metrics[nearest]) <= 0) return rich('heads.unnamed.even', { label: head.label });
  const { value, chance } = head.metrics[nearest];
  return rich('heads.unnamed', { label: head.label, metric: metricName(nearest), value: printed(nearest, value), chance: printed(nearest, chance) });
}

/** What the chosen query reads, from the row of weights. `preferred`: the relation that the head is named for. */
export function atQuery({ tokens, pos, weights, causal, preferred }) {
  const key = largest(weights);
  const allowed = causal ? pos + 1 : tokens.length;
  const words = { query: visible(tokens[pos].label), pos, key: visible(tokens[key].label), at: key, share: percent(weights[key], 0) };
  if (allowed === 1) return rich('heads.query.only', words);
  const kind = relation(tokens, pos, key, preferred);
  const sentence = [rich(`heads.query.${kind}`, words)];
  // Even attention would give each of the keys this much.
  if (weights[key] < 2 / allowed) sentence.push(gap(), rich('heads.query.spread', { even: percent(1 / allowed, 0) }));
  return sentence;
}

/** Beside the weight: what is really handed over, and whether it comes from the same key. */
export function handedOver({ tokens, weights, lengths }) {
  const [byWeight, byLength] = [largest(weights), largest(lengths)];
  const words = { ...tokenAt(tokens, byLength), length: fixed(lengths[byLength], 2), other: visible(tokens[byWeight].label), other_at: byWeight, other_length: fixed(lengths[byWeight], 2) };
  if (!lengths[byLength]) return rich('heads.length.none');
  return rich(byWeight === byLength ? 'heads.length.same' : 'heads.length.other', words);
}

/** What the model predicts here, and what this head's write adds to it. */
export function predicts({ query, head, tokens, weights }) {
  if (!query.predictions) return null;
  const [first] = query.predictions;
  const read = tokens[largest(weights)];
  const effect = query.logit_effect ? signed(query.logit_effect.of_writes[head][0]) : null;
  const words = { token: visible(first.label), probability: percent(first.probability), effect, label: query.heads[head].label };
  return [rich(read.id === first.id ? 'heads.predicts.same' : 'heads.predicts.other', words), effect === null ? null : [gap(), rich('heads.predicts.effect', words)]];
}

/** All of it. `named`: the head's metrics and names, or null where only the query is known (a pinned head). */
export function sentences({ named, query, head, causal }) {
  const { tokens, request: { pos } } = query;
  const { weights, weighted_lengths: lengths } = query.heads[head];
  return el('div', { class: 'heads-says' },
    named ? el('p', { class: 'heads-says-name' }, overText(named)) : null,
    el('p', {}, atQuery({ tokens, pos, weights, causal, preferred: named?.names[0] ?? null }), gap(), predicts({ query, head, tokens, weights })),
    el('p', {}, handedOver({ tokens, weights, lengths })));
}
