/** From a page's state to what the API is asked for. Knows no element of a page. */

/** The paper's own sizes, as a preset of the random model. */
export const PRESETS = { paper: { d_model: 512, n_heads: 8, d_mlp: 2048, n_layers: 6 } };

/** The run that a state names, as the fields that every call about a run takes. */
export function runOf({ text, pair, model, norm, weights, size }) {
  const body = { text, model, norm };
  if (pair?.trim()) body.text_pair = pair;
  if (weights) body.weights = weights;
  if (size && PRESETS[size]) body.config = PRESETS[size];
  return body;
}
