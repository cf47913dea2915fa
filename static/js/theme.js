// Light or dark, before the first paint: the reader's choice, else the system's. The stylesheet knows
// only the attribute, so that the dark palette is written once.
(() => {
  const system = matchMedia('(prefers-color-scheme: dark)');
  const chosen = () => {
    try {
      return localStorage.getItem('theme');
    } catch {
      return null; // storage can be forbidden
    }
  };
  const apply = () => {
    document.documentElement.dataset.theme = chosen() ?? (system.matches ? 'dark' : 'light');
  };
  apply();
  system.addEventListener('change', apply);
})();
