/** Brings into view what an address names, while the page above it still grows. Knows no page. */

const LONGEST_MS = 8000; // by then figures stand; a slower one may push its neighbours
const BY_READER = ['wheel', 'touchstart', 'pointerdown', 'keydown'];

/** Bring `element` to the top and hold it there until the page has come to rest or the reader moves. */
export function holdInView(element) {
  const watch = new ResizeObserver(() => element.scrollIntoView({ behavior: 'instant' }));
  const stop = () => {
    watch.disconnect();
    for (const name of BY_READER) removeEventListener(name, stop);
  };
  for (const name of BY_READER) addEventListener(name, stop, { passive: true });
  setTimeout(stop, LONGEST_MS);
  watch.observe(document.body);
}

/** Hold what the address names with `see=id` or `#id`, where it is one of `ids`. */
export function holdWhatIsNamed(ids) {
  const fragment = location.hash.slice(1);
  const id = new URLSearchParams(fragment).get('see') ?? fragment;
  if (ids.includes(id)) holdInView(document.getElementById(id));
}
