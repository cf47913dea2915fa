/**
 * The stepper at the foot: back, play, on, and a line of segments to scrub along. It walks the frames
 * of one block and, at its end, goes on into the next. Knows frames, no numbers.
 */

import { $, el, put } from '../dom.js';
import { framesOfBlock, neighbour } from '../frames.js';
import { t } from '../i18n.js';

const PLAY_MS = 2200;
const ROLES = { attention: 'attn', mlp: 'mlp', layer_norm: 'norm', embed: 'weight', add: 'stream', unembed: 'stream' };

export function createStepper(go) {
  const previous = $('#previous');
  const next = $('#next');
  const play = $('#play');
  const segments = $('#segments');
  const name = $('#step-name');
  let frames = [];
  let frame = null;
  let shown = '';
  let timer = null;

  const move = (offset) => {
    const other = neighbour(frames, frame, offset);
    if (other) go(other);
    return Boolean(other);
  };

  function setPlaying(on) {
    clearInterval(timer);
    timer = on ? setInterval(() => move(1) || setPlaying(false), PLAY_MS) : null;
    play.setAttribute('aria-pressed', String(on));
    play.title = t(on ? 'stepper.pause' : 'stepper.play');
    put(play, el('span', { class: on ? 'icon-pause' : 'icon-play', 'aria-hidden': 'true' }),
      el('span', { class: 'sr-only' }, play.title));
  }

  const stop = () => timer && setPlaying(false);
  const here = () => framesOfBlock(frames, frame.block);

  function scrub(event) {
    const box = segments.getBoundingClientRect();
    const list = here();
    const bars = [...segments.children];
    // The bars are not equally far apart: take the one under the pointer, else the nearest.
    const at = Math.min(Math.max(event.clientX, box.left), box.right);
    const distance = (bar) => {
      const { left, right } = bar.getBoundingClientRect();
      return Math.max(left - at, at - right, 0);
    };
    let best = 0;
    bars.forEach((bar, i) => {
      if (distance(bar) < distance(bars[best])) best = i;
    });
    if (list[best] && list[best] !== frame) go(list[best]);
  }

  segments.addEventListener('pointerdown', (event) => {
    stop();
    segments.setPointerCapture(event.pointerId);
    scrub(event);
  });
  segments.addEventListener('pointermove', (event) => {
    if (segments.hasPointerCapture(event.pointerId)) scrub(event);
  });
  segments.addEventListener('keydown', (event) => {
    const list = here();
    const ends = { Home: list[0], End: list[list.length - 1] };
    const moves = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1 };
    if (event.key in ends) go(ends[event.key]);
    else if (event.key in moves) move(moves[event.key]);
    else return;
    event.preventDefault();
    event.stopPropagation();
    stop();
  });
  previous.addEventListener('click', () => { stop(); move(-1); });
  next.addEventListener('click', () => { stop(); move(1); });
  play.addEventListener('click', () => setPlaying(!timer));

  return {
    move(offset) {
      stop();
      move(offset);
    },
    toggle: () => setPlaying(!timer),
    update(newFrames, newFrame) {
      frames = newFrames;
      frame = newFrame;
      const list = here();
      const at = list.indexOf(frame);
      const key = list.map((one) => one.id).join();
      if (key !== shown) {
        shown = key;
        put(segments, list.map((one, i) => el('span', {
          class: `segment ${ROLES[one.kind]} ${i > 0 && list[i - 1].slot !== one.slot ? 'is-first' : ''}`,
        })));
      }
      [...segments.children].forEach((bar, i) => {
        bar.classList.toggle('is-done', i < at);
        bar.classList.toggle('is-here', i === at);
      });
      const words = t('stepper.count', { step: at + 1, steps: list.length });
      put(name, el('span', { class: 'count' }, words), el('b', {}, t(frame.name)));
      segments.setAttribute('aria-valuemin', '1');
      segments.setAttribute('aria-valuemax', String(list.length));
      segments.setAttribute('aria-valuenow', String(at + 1));
      segments.setAttribute('aria-valuetext', `${words} ${t(frame.name)}`);
      previous.disabled = !neighbour(frames, frame, -1);
      next.disabled = !neighbour(frames, frame, 1);
      if (next.disabled) stop();
      setPlaying(Boolean(timer));
    },
  };
}
