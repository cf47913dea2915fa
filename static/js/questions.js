/**
 * The page /questions: a guess opens its answer, and the address says which answer is open. The guesses
 * stay with the entry of the history, so that who follows a link and comes back finds them. The words and
 * the links stand in the page; nothing is asked of the API.
 */

import { $, $$, put } from './dom.js';
import { onLanguageChange, t } from './i18n.js';
import { announce } from './live.js';
import { holdInView } from './views/in_view.js';

const questions = $$('.question');
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

/** The address names `place`; the guesses are kept beside it. */
function remember(place) {
  const guesses = Object.fromEntries(questions.map((question) => [question.id, guessOf(question)]));
  history.replaceState({ ...history.state, guesses }, '', `${location.pathname}${location.search}#${place.id}`);
}

function restoreGuesses() {
  for (const [id, guess] of Object.entries(history.state?.guesses ?? {})) {
    const input = guess && $(`input[name="${id}-guess"][value="${guess}"]`);
    if (input) input.checked = true;
  }
  questions.forEach(judge);
}

for (const question of questions) {
  question.addEventListener('change', (event) => {
    if (event.target.type !== 'radio') return;
    announce(judge(question));
    answerOf(question).open = true;
    remember(question);
  });
  answerOf(question).addEventListener('toggle', () => answerOf(question).open && remember(question));
}

// Whichever answer was opened last, who comes back comes back to the one whose link was followed.
$('#main').addEventListener('click', (event) => {
  const place = event.target.closest('a') && event.target.closest('.question, .questions-small dl > div');
  if (!place) return;
  remember(place);
  history.scrollRestoration = 'manual';
});

/** A link to a question opens its answer. */
function readFragment() {
  const place = $$('.question, .questions-small dl > div').find(({ id }) => id === location.hash.slice(1));
  if (!place) return;
  if (questions.includes(place)) answerOf(place).open = true;
  holdInView(place);
}

onLanguageChange(() => questions.forEach(judge));
addEventListener('hashchange', readFragment);
// A browser may put back the guesses of a form only once the page stands.
addEventListener('pageshow', () => questions.forEach(judge));
restoreGuesses();
readFragment();
document.documentElement.dataset.ready = 'yes';
