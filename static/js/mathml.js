/**
 * Builds MathML nodes: formulas that can be selected and read aloud.
 * Knows nothing of models or steps; text is set as text, never parsed.
 */

const SPACE = 'http://www.w3.org/1998/Math/MathML';

function node(name, children, attributes = {}) {
  const element = document.createElementNS(SPACE, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

/** Strings become operators or numbers, `mi`-like names must be made with `id` or `name`. */
const lift = (part) => {
  if (typeof part !== 'string') return part;
  return /^[\u2212-]?[\d.]/.test(part) ? number(part) : operator(part);
};

export const id = (letter) => node('mi', [letter]);
export const name = (words) => node('mi', [words], { mathvariant: 'normal' });
export const text = (words) => node('mtext', [words]);
export const number = (digits) => {
  // A minus is an operator in MathML; inside <mn> some readers drop it.
  if (/^[\u2212-]/.test(digits)) return row(node('mo', ['\u2212'], { form: 'prefix' }), node('mn', [digits.slice(1)]));
  return node('mn', [digits]);
};
export const operator = (sign) => node('mo', [sign]);
export const row = (...parts) => node('mrow', parts.map(lift));
export const group = (...parts) => row(operator('('), ...parts, operator(')'));
export const fraction = (over, under) => node('mfrac', [lift(over), lift(under)]);
export const root = (...parts) => node('msqrt', parts.map(lift));
export const sub = (base, below) => node('msub', [lift(base), lift(below)]);
export const sup = (base, above) => node('msup', [lift(base), lift(above)]);
export const subsup = (base, below, above) => node('msubsup', [lift(base), lift(below), lift(above)]);
export const under = (base, below) => node('munder', [lift(base), lift(below)]);

/** Sign of a sum over `index`. */
export const sum = (index, ...parts) => row(under(operator('∑'), index), ...parts);

/** A number as an operand: in brackets when negative. */
export const term = (digits) => (/^[\u2212-]/.test(digits) ? group(number(digits)) : number(digits));

/** One formula on lines of its own: each line is a list of parts, aligned at its first relation sign. */
export function formula(lines) {
  const rows = lines.map(([left, ...right]) =>
    node('mtr', [
      node('mtd', [row(left)], { style: 'text-align: right; padding-right: 0' }),
      node('mtd', [row(...right)], { style: 'text-align: left; padding-left: 0.2em' }),
    ]),
  );
  return node('math', [node('mtable', rows, { displaystyle: 'true' })], { display: 'block' });
}

/** A formula inside a sentence. */
export const inline = (...parts) => node('math', parts.map(lift));
