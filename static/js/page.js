/** What all pages share: the switches of language and theme, and the glossary. Knows no page. */

import { $, $$ } from './dom.js';
import { lang, onLanguageChange, setLanguage } from './i18n.js';
import { announce } from './live.js';
import { startGlossary } from './views/glossary.js';

function withLanguage(address) {
  const url = new URL(address, location.href);
  url.searchParams.set('lang', lang());
  return url;
}

for (const link of $$('[data-lang]')) {
  link.addEventListener('click', async (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    // A page whose words the server wrote is asked for anew.
    if ($('[data-server-language]')) return;
    event.preventDefault();
    try {
      await setLanguage(link.dataset.lang);
    } catch {
      // Without the other catalogue the server may still have the page.
      location.assign(link.href + location.hash);
    }
  });
}

onLanguageChange(() => {
  for (const link of $$('[data-lang]')) {
    if (link.dataset.lang === lang()) link.setAttribute('aria-current', 'true');
    else link.removeAttribute('aria-current');
  }
  for (const link of $$('[data-lang-link]')) link.href = withLanguage(link.href).href;
  history.replaceState(history.state, '', withLanguage(location.href));
});

$('#theme')?.addEventListener('click', () => {
  const next = document.documentElement.dataset.theme === 'dark' ? 'light' : 'dark';
  document.documentElement.dataset.theme = next;
  try {
    localStorage.setItem('theme', next);
  } catch {
    // The choice then lasts as long as the page.
  }
});

startGlossary(announce);
