/** The page /stream. */

import { lang } from './i18n.js';
import { post } from './api.js';
import { startTextPage } from './text_page.js';

startTextPage({
  ask: (body, state, signal) => post('/trace', body, { lang: lang(), signal }),
  draw() {},
});
