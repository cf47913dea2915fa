/**
 * The frame round the card of the current step: where we are, heading, the four depths, the checks.
 * What stands inside is made by views/cards/ (one module for each kind of step); this module knows
 * no kind.
 *
 * The contract: `render(root, ctx)` of views/cards/index.js fills `root` for `ctx.frame` at the depth
 * `ctx.state.depth`. It may be asynchronous, must leave `root` complete without Plotly, and must not
 * write to `root` after `ctx.signal.aborted`. Heading, tabs and checks are not its business.
 *   trace   the reply of POST /api/v1/trace          frame   see frames.js
 *   state   {layer, head, position, depth, dim, norm, …}; position and head are in range here
 *   set     change the state: ctx.set({head: 3}), ctx.set({dim: 17}), ctx.set({position: 2})
 *   load    async (['blocks.0.resid_mid[3]', …]) => {entry: tensor}; also takes request options in
 *           an entry as the API does ({points, encoding, dtype, digits})
 *   t, rich, term   sentences: see i18n.js           lang    'ja' | 'en'
 *   append  run again with this token at the end of the text (predictions): ctx.append(piece)
 *   signal  aborted as soon as another card takes the place
 */

