/**
 * Builds MathML nodes from a small notation: formulas that can be selected and read aloud.
 * Knows nothing of models or steps; text is set as text, never parsed as markup.
 *
 * m`\frac{x_i − μ}{\sqrt{σ^2 + ε}} ≈ ${'−0.5'}`: single letters are variables, "words" upright names,
 * `_` and `^` indices, `\frac{}{}` and `\sqrt{}` as in TeX. A value put in is a node, or a printed
 * number, which gets brackets where it is negative and comes after + − · or before an index.
 */

const SPACE = 'http://www.w3.org/1998/Math/MathML';

function node(name, children, attributes = {}) {
  const element = document.createElementNS(SPACE, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

const row = (children) => (children.length === 1 ? children[0] : node('mrow', children));
const operator = (sign) => node('mo', [sign]);

/** A printed number: `1e−5` becomes a power of ten, and the minus an operator, as MathML wants it. */
function number(digits) {
  if (isNegative(digits)) return node('mrow', [node('mo', ['\u2212'], { form: 'prefix' }), number(digits.slice(1))]);
  const [mantissa, exponent] = digits.split('e');
  if (exponent === undefined) return node('mn', [digits]);
  const power = node('msup', [node('mn', ['10']), number(exponent)]);
  return mantissa === '1' ? power : node('mrow', [node('mn', [mantissa]), operator('\u00b7'), power]);
}

const TOKEN = /\\\w+|"[^"]*"|[\d.]+|\p{L}|[^\s]/gu;

const isNegative = (digits) => /^[\u2212-]/.test(digits);
const bracketed = (digits) => node('mrow', [operator('('), number(digits), operator(')')]);

/** What stands at one level: up to the closing brace, or to the end. */
function parse(tokens) {
  const parts = [];
  let before = null;
  while (tokens.length && tokens[0] !== '}') {
    const [token, next] = tokens;
    const operand = typeof token === 'object' && !(token instanceof Node) && isNegative(token.value)
      && (['+', '−', '·'].includes(before) || next === '^' || next === '_');
    before = typeof token === 'string' ? token : null;
    if (operand) tokens.splice(0, 1, bracketed(token.value));
    parts.push(scripts(atom(tokens), tokens));
  }
  return parts;
}

function scripts(base, tokens) {
  const found = {};
  while (tokens[0] === '_' || tokens[0] === '^') found[tokens.shift()] = atom(tokens);
  const { _: below, '^': above } = found;
  if (base.textContent === '∑' && below) return node('munder', [base, below]);
  if (below && above) return node('msubsup', [base, below, above]);
  if (below || above) return node(below ? 'msub' : 'msup', [base, below ?? above]);
  return base;
}

function atom(tokens) {
  const token = tokens.shift();
  if (token instanceof Node) return token;
  if (typeof token === 'object') return number(token.value);
  if (token === '{') {
    const inside = parse(tokens);
    tokens.shift();
    return node('mrow', inside);
  }
  if (token === '\\frac') return node('mfrac', [atom(tokens), atom(tokens)]);
  if (token === '\\sqrt') return node('msqrt', [atom(tokens)]);
  if (token.startsWith('"')) return node('mi', [token.slice(1, -1)], { mathvariant: 'normal' });
  if (/^\d/.test(token)) return node('mn', [token]);
  return /^\p{L}/u.test(token) ? node('mi', [token]) : operator(token);
}

/** The notation above, as one node. */
export function m(strings, ...values) {
  const tokens = strings.raw.flatMap((part, i) => {
    const value = values[i];
    const put = value === undefined || value instanceof Node ? value : { value: String(value) };
    return [...(part.match(TOKEN) ?? []), ...(put ? [put] : [])];
  });
  return row(parse(tokens));
}

/** An upright name from elsewhere, such as a point's. */
export const name = (words) => node('mi', [words], { mathvariant: 'normal' });
/** A sign that is decided by the numbers: = or ≈. */
export const sign = operator;

/** Nodes or printed numbers as the terms of a sum. */
export const series = (parts) => node('mrow', parts.flatMap((part, i) => {
  if (part instanceof Node) return [...(i ? [operator('+')] : []), part];
  return i ? [operator('+'), isNegative(part) ? bracketed(part) : number(part)] : [number(part)];
}));

/** Lines of a derivation, [left, right], aligned between the two. */
export const formula = (lines) =>
  node('math', [node('mtable', lines.map(([left, right]) => node('mtr', [
    node('mtd', left ? [left] : [], { style: 'text-align: right; padding-right: 0' }),
    node('mtd', [right], { style: 'text-align: left; padding-left: 0.3em' }),
  ])), { displaystyle: 'true' })], { display: 'block' });

/** A formula inside a sentence. */
export const inline = (content) => node('math', [content], { displaystyle: 'true' });
