/** A POST whose reply comes line by line. Knows no experiment; refusals leave here as ApiError. */

import { ApiError } from './api.js';

/** Calls `onProgress({done, total})` for every line of progress; resolves to the result. */
export async function postLines(path, body, { lang, signal, onProgress }) {
  let response;
  try {
    response = await fetch(`/api/v1${path}`, {
      method: 'POST', body: JSON.stringify(body), signal,
      headers: { 'Content-Type': 'application/json', Accept: 'application/x-ndjson', 'Accept-Language': lang },
    });
  } catch (error) {
    if (error.name === 'AbortError') throw error;
    throw new ApiError({ code: 'offline' }, 0);
  }
  if (!response.ok) {
    const refusal = await response.json().catch(() => null);
    throw new ApiError(refusal?.error ?? { code: 'unexpected_answer', params: { status: response.status } }, response.status);
  }
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (;;) {
    const { value, done } = await reader.read().catch((error) => {
      if (error.name === 'AbortError') throw error;
      throw new ApiError({ code: 'offline' }, 0);
    });
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
