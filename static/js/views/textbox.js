/**
 * The text box: when what is typed becomes a text to run, and never while an input method is at work.
 * Its examples and the recent texts of this tab. Knows no run.
 */

import { $, el, put } from '../dom.js';
import { LANGUAGES, t } from '../i18n.js';

export const WAIT_MS = 120;
const RECENT = 'recent-texts';
const KEPT = 6;

/** Examples stand in both catalogues alike, under `example.<language>.<number>`. */
const EXAMPLE_NUMBERS = [0, 1, 2, 3];

function recent() {
  try {
    return JSON.parse(sessionStorage.getItem(RECENT) ?? '[]');
  } catch {
    return [];
  }
}

export function remember(text) {
  const list = [text, ...recent().filter((one) => one !== text)].slice(0, KEPT);
  try {
    sessionStorage.setItem(RECENT, JSON.stringify(list));
  } catch {
    // Storage may be full or forbidden: then nothing is remembered.
  }
}

/** When what is typed into `input` becomes a text: `run` gets it. `typed` is called at each change. */
function listenTo(input, run, typed) {
  let timer = null;
  let sent = null;
  let composing = false;

  function send() {
    clearTimeout(timer);
    if (input.value === sent) return;
    sent = input.value;
    run(sent);
  }

  function wait() {
    clearTimeout(timer);
    timer = setTimeout(send, WAIT_MS);
  }

  input.addEventListener('compositionstart', () => {
    composing = true;
    clearTimeout(timer);
  });
  input.addEventListener('compositionend', () => {
    composing = false;
    typed();
    wait();
  });
  input.addEventListener('input', (event) => {
    typed();
    if (event.isComposing || composing) clearTimeout(timer);
    else wait();
  });
  input.addEventListener('keydown', (event) => {
    // 229 is what browsers report for a key that the input method has taken.
    if (event.isComposing || composing || event.keyCode === 229) return;
    if (event.key === 'Enter' && !event.shiftKey) {
      event.preventDefault();
      send();
    } else if (event.key === 'Escape') {
      input.blur();
    }
  });
  return {
    send,
    show(text) {
      sent = text;
      if (input.value !== text) input.value = text;
    },
  };
}

/** `run(text)` and, for models that read two texts, `runPair(text)`. */
export function createTextbox(run, runPair) {
  const area = $('#text');
  const pair = $('#pair');
  const menu = $('#examples-menu');

  function fit() {
    area.style.height = 'auto';
    area.style.height = `${area.scrollHeight}px`;
  }

  const first = listenTo(area, run, fit);
  const second = listenTo(pair, runPair, () => {});
  $('#run').addEventListener('submit', (event) => event.preventDefault());
  addEventListener('resize', fit);

  function choose(text) {
    menu.hidePopover();
    area.value = text;
    fit();
    first.send();
    area.focus();
  }

  const entry = (text, lang = null) => el('button', { type: 'button', lang, onclick: () => choose(text) }, text);

  menu.addEventListener('beforetoggle', (event) => {
    if (event.newState !== 'open') return;
    const list = recent().filter((text) => text !== area.value);
    put(menu,
      LANGUAGES.map((code) => [el('h2', { lang: code }, t(`language.${code}`)),
        EXAMPLE_NUMBERS.map((i) => entry(t(`example.${code}.${i}`), code))]),
      list.length ? [el('h2', {}, t('text.recent')), list.map((text) => entry(text))] : null);
  });
  menu.addEventListener('toggle', (event) => {
    if (event.newState !== 'open') return;
    const at = $('#examples-open').getBoundingClientRect();
    menu.style.top = `${at.bottom + 6}px`;
    menu.style.left = `${Math.max(12, Math.min(at.right - menu.offsetWidth, innerWidth - menu.offsetWidth - 12))}px`;
  });

  return {
    focus: () => area.focus(),
    /** Show a text that has not been typed here (a link, the example). */
    show(text) {
      first.show(text);
      fit();
    },
    /** A second text, and whether this model reads one. */
    showPair(text, isOffered) {
      second.show(text ?? '');
      pair.hidden = !isOffered && !text;
    },
  };
}
