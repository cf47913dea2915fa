/**
 * From what is typed on the bench to a request, and to plain Python. Pure: knows no document and no
 * sentence; a fault is {field, code, params}.
 */

const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;

/** Numbers in a text: separated by commas or white space, in brackets or not, full-width forms taken. */
export function parseNumbers(text) {
  const plain = text.normalize('NFKC').replace(/[\u2212\u2010-\u2015]/g, '-').replace(/[[\](){}、,;]/g, ' ');
  return plain.split(/\s+/).filter(Boolean).map((word) => {
    if (!NUMBER.test(word) || !Number.isFinite(Number(word))) throw new InputError('not_a_number', { text: word });
    return Number(word);
  });
}

/** Rows of numbers: one row a line, or split by `;` or by inner brackets. */
export function parseRows(text) {
  const lines = text.normalize('NFKC').replace(/\]\s*,?\s*\[/g, '\n').split(/[\n;]/);
  return lines.map(parseNumbers).filter((row) => row.length > 0);
}

export class InputError extends Error {
  constructor(code, params = {}, field = null) {
    super(code);
    Object.assign(this, { code, params, field });
  }
}

const MOST_ROWS = 32; // of a matrix that nobody typed

const identity = (n) => Array.from({ length: n }, (_, i) => Array.from({ length: n }, (__, j) => Number(i === j)).join(' ')).join('\n');

/** The matrix for these fields: what was typed, or where nothing was, ones on the diagonal: F(v) = v + b. */
export function matrixFor({ matrix, x }) {
  if (matrix.trim() && matrix !== identity(matrix.split('\n').length)) return matrix;
  try {
    const { length } = parseNumbers(x);
    return length > 0 && length <= MOST_ROWS ? identity(length) : matrix;
  } catch {
    return matrix;
  }
}

/** The request for typed `fields` {x, kind, update, matrix, bias, eps, gamma, beta}, without a placement. */
export function requestOf(fields) {
  const read = (field, parse) => {
    try {
      return parse(fields[field]);
    } catch (error) {
      error.field = field;
      throw error;
    }
  };
  const needed = (field, parse) => {
    const found = read(field, parse);
    if (found.length === 0) throw new InputError('empty', {}, field);
    return found;
  };
  const body = { x: needed('x', parseNumbers) };
  if (fields.kind === 'matrix') body.matrix = needed('matrix', parseRows);
  else body.update = needed('update', parseNumbers);
  const [eps, ...more] = needed('eps', parseNumbers);
  if (more.length) throw new InputError('one_number', {}, 'eps');
  body.eps = eps;
  for (const field of ['bias', 'gamma', 'beta']) {
    if (field === 'bias' && fields.kind !== 'matrix') continue;
    const found = read(field, parseNumbers);
    if (found.length) body[field] = found;
  }
  // A vector is often typed before the other: lengths that differ for a moment need no request.
  const lists = Object.entries(body).filter(([, value]) => Array.isArray(value));
  const rows = (body.matrix ?? []).map((row, i) => [`matrix[${i}]`, row]);
  for (const [name, vector] of [...lists, ...rows]) {
    if (vector.length !== body.x.length) throw new InputError('lengths_differ', { name, length: vector.length, expected: body.x.length }, name);
  }
  return body;
}

const list = (numbers) => `[${numbers.join(', ')}]`;

/** The same arithmetic in plain Python, both placements. */
export function asPython({ x, update, matrix, bias, eps, gamma, beta }) {
  const n = x.length;
  const lines = [
    'from math import sqrt', '',
    `x = ${list(x)}`,
    `eps = ${eps}`,
    `gamma = ${gamma ? list(gamma) : `[1] * ${n}`}`,
    `beta = ${beta ? list(beta) : `[0] * ${n}`}`,
  ];
  if (matrix) lines.push(`W = [${matrix.map(list).join(`,\n     `)}]`, `b = ${bias ? list(bias) : `[0] * ${n}`}`);
  else lines.push(`update = ${list(update)}`);
  lines.push(
    '', '',
    'def layer_norm(v):',
    '    mean = sum(v) / len(v)',
    '    var = sum((c - mean) ** 2 for c in v) / len(v)',
    '    scale = sqrt(var + eps)',
    '    return [g * (c - mean) / scale + o for c, g, o in zip(v, gamma, beta)]',
    '', '',
    'def F(v):',
    matrix ? '    return [sum(w * c for w, c in zip(row, v)) + o for row, o in zip(W, b)]' : '    return update',
    '', '',
    'def add(v, w):',
    '    return [a + b for a, b in zip(v, w)]',
    '', '',
    'post = layer_norm(add(x, F(x)))',
    'pre = add(x, F(layer_norm(x)))',
    'print(post)',
    'print(pre)', '',
  );
  return lines.join('\n');
}
