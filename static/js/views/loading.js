/** While a run waits for the weights of a checkpoint: how far they are read. Knows no run. */

import { ApiError, get } from '../api.js';
import { $, put } from '../dom.js';
import { fixed } from '../format.js';
import { lang, t } from '../i18n.js';

const PATIENCE_MS = 500; // an answer within it needs no explanation
const AGAIN_MS = 400;
const MILLION = 1e6;

let timer = null;
let turn = 0;

async function look(model, mine) {
  try {
    const { state, done, total } = await get(`/models/${encodeURIComponent(model)}/loading`, { lang: lang() });
    if (mine !== turn) return;
    const note = $('#loading');
    note.hidden = state !== 'loading';
    put(note, state === 'loading' ? t('text.loading_model', { model, done: fixed(done / MILLION, 1), total: fixed(total / MILLION, 1) }) : '');
    if (state !== 'loaded') timer = setTimeout(look, AGAIN_MS, model, mine);
  } catch (error) {
    // The run itself will say what is wrong.
    if (!(error instanceof ApiError)) throw error;
  }
}

/** A run of `model` is on its way, or with null, no run is. */
export function watchLoading(model) {
  clearTimeout(timer);
  turn += 1;
  $('#loading').hidden = true;
  if (model) timer = setTimeout(look, PATIENCE_MS, model, turn);
}
