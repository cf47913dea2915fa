/** From a page's state to what the API is asked for. Knows no element of a page. */

/** The paper's own sizes, as a preset of the random model. */
export const PRESETS = { paper: { d_model: 512, n_heads: 8, d_mlp: 2048, n_layers: 6 } };

const run = ({ text, model, norm, ...more }) => ({ text, model, norm, ...Object.fromEntries(Object.entries(more).filter(([, value]) => value)) });

/** The run that a state names, as the fields that every call about a run takes. */
export const runOf = ({ text, pair, model, norm, weights, size }) =>
  run({ text, model, norm, text_pair: pair?.trim() && pair, weights, config: PRESETS[size] });

/** The run of a reply, as the fields of another call. */
export const sameRun = ({ request: { text, text_pair, model, norm, weights, config } }) =>
  run({ text, model, norm, text_pair, weights, config });
