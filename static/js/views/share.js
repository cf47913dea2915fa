/**
 * What is on the screen as something to take along: a link, a curl command, a Python program.
 * Pure text; knows neither clipboard nor page.
 */

const quoteShell = (text) => `'${text.replaceAll("'", "'\\''")}'`;

/** The request that gives the numbers on the screen: the run, and the points its card shows. */
export const requestOf = (run, asked) => (asked.length ? { ...run, include: asked } : run);

export function asCurl(origin, body, call = '/trace') {
  return [
    `curl -s ${origin}/api/v1${call} \\`,
    "  -H 'Content-Type: application/json' \\",
    `  -d ${quoteShell(JSON.stringify(body))}`,
  ].join('\n');
}

/** JSON and Python differ in three words; outside of strings they are replaced. */
function asPythonLiteral(value, indent = '') {
  if (value === null) return 'None';
  if (value === true) return 'True';
  if (value === false) return 'False';
  if (typeof value !== 'object') return JSON.stringify(value);
  const inner = `${indent}    `;
  if (Array.isArray(value)) return `[${value.map((one) => asPythonLiteral(one, inner)).join(', ')}]`;
  const rows = Object.entries(value).map(([name, one]) => `${inner}${JSON.stringify(name)}: ${asPythonLiteral(one, inner)},\n`);
  return `{\n${rows.join('')}${indent}}`;
}

export function asPython(origin, body, call = '/trace') {
  return [
    'import json',
    'import urllib.request',
    '',
    `body = ${asPythonLiteral(body)}`,
    'request = urllib.request.Request(',
    `    ${JSON.stringify(`${origin}/api/v1${call}`)},`,
    '    data=json.dumps(body).encode(),',
    '    headers={"Content-Type": "application/json"},',
    ')',
    'reply = json.load(urllib.request.urlopen(request))',
    ...(call === '/trace'
      ? ['for name, tensor in reply["tensors"].items():', '    print(name, tensor["axes"], tensor["shape"])']
      : ['for name, value in reply.items():', '    print(name, str(value)[:100])']),
    '',
  ].join('\n');
}
