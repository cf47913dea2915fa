/**
 * What stands beside the text box when a run was refused or no server answered, and the way back.
 * Knows no run: `retry` is called when the server is there again.
 */

import { ApiError, get } from '../api.js';
import { $, put } from '../dom.js';
import { lang } from '../i18n.js';
import { errorWords } from '../words.js';

const RETRY_MS = 2000;

export function createProblem(retry) {
  let problem = null;
  let timer = null;

  function write() {
    const note = $('#text-error');
    note.hidden = !problem;
    note.dataset.code = problem?.code ?? '';
    put(note, problem ? errorWords(problem) : '');
    $('#text').setAttribute('aria-invalid', String(problem?.field === 'text'));
    document.body.classList.toggle('is-stale', Boolean(problem));
  }

  async function recover() {
    try {
      await get('/health', { lang: lang() });
      retry();
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      timer = setTimeout(recover, RETRY_MS);
    }
  }

  return {
    /** Say it; what is busy or lost is asked for again. Anything but an error of the API is thrown. */
    show(error) {
      if (!(error instanceof ApiError)) throw error;
      problem = error;
      write();
      if (error.code === 'offline' || error.status === 503) timer = setTimeout(recover, RETRY_MS);
    },
    clear() {
      problem = null;
      write();
    },
    /** A newer request is on its way: the old one is not tried again. */
    stopRetrying: () => clearTimeout(timer),
    write,
  };
}
