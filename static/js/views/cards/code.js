/** The lines of code that computed a step, as the run itself reports them. Knows no other card. */

import { el } from '../../dom.js';
import { leading, note } from './parts.js';

function listing({ file, first_line: first, lines }, t) {
  const indent = Math.min(...lines.filter((line) => line.trim()).map((line) => line.search(/\S/)));
  return el('figure', { class: 'card-code' },
    el('figcaption', {}, el('code', {}, file), ' ', el('span', { class: 'card-note num' }, t('card.code.lines', { first, last: first + lines.length - 1 }))),
    el('pre', { tabindex: '0', role: 'region', 'aria-label': file }, el('code', {}, lines.map((line, i) => {
      const text = line.slice(indent);
      const comment = text.search(/(^|\s)#/);
      return el('span', { class: 'card-code-line' },
        el('span', { class: 'card-code-number num', 'aria-hidden': 'true' }, String(first + i)),
        comment < 0 ? text : [text.slice(0, comment), el('span', { class: 'card-code-comment' }, text.slice(comment))], '\n');
    }))),
  );
}

export function code({ frame, trace, t }) {
  return [
    leading(t('card.code.lead')),
    frame.steps.map((step) => [
      listing(step.source, t),
      el('dl', { class: 'card-wiring' },
        el('dt', {}, t('card.code.reads')), el('dd', {}, step.inputs.length ? step.inputs.map((name) => el('code', {}, name)) : t('card.code.ids')),
        el('dt', {}, t('card.code.makes')), el('dd', {}, el('code', {}, step.output))),
    ]),
    note(t('card.code.norm', { norm: t(`norm.name.${trace.model.norm}`) })),
  ];
}
