/**
 * The body of the card: which card a frame has, in which depth, and the order of showing it.
 * Knows nothing of what the cards say.
 *
 * A card is `async (view) => [nodes]`. `view` is the page's context (see views/card.js) and, made from it:
 *   pos, head, dim    chosen position, head and component, within the run's limits (dim may be null)
 *   token, label      the chosen token and its visible label; `labels` those of all positions
 *   depth             'words' | 'numbers' | 'formula'
 *   at(name)          the full name of a point of this frame's block: at('attn.q')
 *   get(...entries)   values of the entries, in order (base64 text where that was asked for)
 *   choose(i)         choose a component
 *   redraw()          show the card again after a choice that only the card knows
 */

import { put } from '../../dom.js';
import { visible } from '../../format.js';
import { purge } from '../../plot.js';
import { add } from './add.js';
import { attention } from './attention.js';
import { code } from './code.js';
import { embed } from './embed.js';
import { layerNorm } from './layer_norm.js';
import { mlp } from './mlp.js';
import { startFigures } from './parts.js';
import { unembed } from './unembed.js';

const CARDS = { embed, add, layer_norm: layerNorm, attention, mlp, unembed };

function viewOf(ctx) {
  const { trace, frame, state, load } = ctx;
  const { position: pos, head } = state;
  const labels = trace.tokens.map(({ label }) => visible(label));
  return {
    ...ctx,
    pos,
    head,
    dim: state.dim !== null && state.dim < trace.model.d_model ? state.dim : null,
    depth: state.depth,
    token: trace.tokens[pos],
    label: labels[pos],
    labels,
    at: (name) => frame.prefix + name,
    async get(...entries) {
      const tensors = await load(entries);
      return entries.map((entry) => tensors[entry.points ?? entry].values ?? tensors[entry.points ?? entry].base64);
    },
    choose: (i) => ctx.set({ dim: i }),
  };
}

const shown = new WeakMap(); // root -> the context it shows completely
const turns = new WeakMap(); // root -> number of its latest render: an earlier one that comes later is dropped

/** What had the focus inside `root`, to find it again in the new body. */
const focusKey = (root) =>
  root.contains(document.activeElement) ? document.activeElement.closest('[data-keep]')?.dataset.keep : null;

/** Another component of the same card: its parts follow, nothing is drawn anew. */
function followComponent(root, ctx) {
  const last = shown.get(root);
  if (!last || root.getAttribute('aria-busy')) return false;
  const same = ['trace', 'frame', 'lang'].every((name) => last[name] === ctx[name])
    && ['position', 'head', 'depth'].every((name) => last.state[name] === ctx.state[name]);
  const { dim } = viewOf(ctx);
  if (!same || last.state.dim === ctx.state.dim || dim === null) return false;
  root.querySelectorAll('.card-follows').forEach((part) => part.choose?.(dim));
  shown.set(root, ctx);
  return true;
}

/** Show the card of `ctx.frame` in `root`. Resolves when it is complete without charts. */
export async function render(root, ctx) {
  if (followComponent(root, ctx)) return;
  const turn = (turns.get(root) ?? 0) + 1;
  turns.set(root, turn);
  root.classList.add('card-body');
  root.setAttribute('aria-busy', 'true');
  const view = viewOf(ctx);
  view.redraw = () => {
    shown.delete(root);
    return render(root, ctx);
  };
  const nodes = view.depth === 'code' ? code(view) : await CARDS[ctx.frame.kind](view);
  if (turns.get(root) !== turn || ctx.signal?.aborted) return;
  const keep = focusKey(root);
  purge(root);
  put(root, nodes);
  root.removeAttribute('aria-busy');
  shown.set(root, ctx);
  if (keep) root.querySelector(`[data-keep="${CSS.escape(keep)}"]`)?.focus({ preventScroll: true });
  startFigures(root);
}
