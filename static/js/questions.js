/**
 * The page /questions: a guess opens its answer, and the address says which answer is open. The words
 * and the links stand in the page; nothing is asked of the API.
 */

import { $, $$, put } from './dom.js';
import { onLanguageChange, t } from './i18n.js';
import { announce } from './live.js';

const answerOf = (question) => $('details', question);
const guessOf = (question) => $('input:checked', question)?.value ?? null;

/** Says how the guess fared, where one was made. */
function judge(question) {
  const guess = guessOf(question);
  const verdict = $('.question-verdict', question);
  verdict.hidden = guess === null;
  const right = guess === question.dataset.right;
  verdict.classList.toggle('is-right', right);
  const words = guess === null ? '' : t(right ? 'questions.right' : 'questions.wrong', { guess: $('input:checked + span', question).textContent });
  put(verdict, words);
  return words;
}

function remember(question) {
  history.replaceState(history.state, '', `${location.pathname}${location.search}#${question.id}`);
}

for (const question of $$('.question')) {
  question.addEventListener('change', (event) => {
    if (event.target.type !== 'radio') return;
    announce(judge(question));
    answerOf(question).open = true;
  });
  answerOf(question).addEventListener('toggle', () => answerOf(question).open && remember(question));
}

/** A link to a question opens its answer. */
function readFragment() {
  const id = location.hash.slice(1);
  const question = $$('.question').find((one) => one.id === id);
  if (!question) return;
  answerOf(question).open = true;
  question.scrollIntoView();
}

onLanguageChange(() => $$('.question').forEach(judge));
addEventListener('hashchange', readFragment);
readFragment();
document.documentElement.dataset.ready = 'yes';
