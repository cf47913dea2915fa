/** One polite voice for screen readers; the newest message wins. Knows no page. */

let timer = null;

export function announce(message) {
  const region = document.getElementById('live');
  if (!region) return;
  clearTimeout(timer);
  // A pause lets quick steps pass unspoken, and makes a repeated message be heard.
  timer = setTimeout(() => {
    region.textContent = message;
  }, 250);
}
