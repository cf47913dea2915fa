/** A POST whose reply comes line by line. Knows no experiment; refusals leave here as ApiError. */

import { ApiError, connected, reach } from './api.js';

/** Calls `onProgress({done, total})` for every line of progress; resolves to the result. */
export async function postLines(path, body, { lang, signal, onProgress }) {
  const response = await reach(path, { body, lang, signal, accept: 'application/x-ndjson' });
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (;;) {
    const { value, done } = await connected(reader.read());
    const lines = (rest + (value ?? '')).split('\n');
    rest = lines.pop();
    for (const line of lines.filter(Boolean).map((text) => JSON.parse(text))) {
      if (line.progress) onProgress(line.progress);
      if (line.error) throw new ApiError(line.error, 500);
      if (line.result) return line.result;
    }
    // A stream that ends without a result was cut off.
    if (done) throw new ApiError({ code: 'offline' }, 0);
  }
}
