// What a page must hold for readers who use a screen reader, a keyboard or tired eyes. Gives a list of
// faults, empty if there is none. Rules: WCAG 2.2 AA, as far as a script can decide them.
(() => {
  const faults = [];
  const say = (rule, element) => faults.push(`${rule}: ${element.outerHTML.slice(0, 120)}`);
  const shown = (element) => element.checkVisibility({ opacityProperty: true, visibilityProperty: true })
    && !element.closest('[aria-hidden="true"], [hidden]');
  const named = (element) => {
    const by = element.getAttribute('aria-labelledby');
    if (by) return by.split(' ').map((id) => document.getElementById(id)?.textContent ?? '').join('').trim();
    return element.getAttribute('aria-label')?.trim() || [...(element.labels ?? [])].map((label) => label.textContent).join('').trim()
      || element.textContent.trim() || element.getAttribute('title');
  };

  // 4.1.2: what can be used has a name, and roles that need a value have one.
  const usable = 'a[href], button, input:not([type=hidden]), select, textarea, summary, [role=button], [role=radio], [role=tab], [role=slider], [role=img], [role=dialog], [role=radiogroup], [role=tablist], [role=region], [role=group], [role=tabpanel]';
  for (const element of document.querySelectorAll(usable)) if (shown(element) && !named(element)) say('no name', element);
  for (const slider of document.querySelectorAll('[role=slider]')) if (!slider.hasAttribute('aria-valuenow') || !slider.hasAttribute('aria-valuetext')) say('slider without value', slider);
  for (const tab of document.querySelectorAll('[role=tab]')) if (!tab.hasAttribute('aria-selected')) say('tab without state', tab);
  for (const radio of document.querySelectorAll('[role=radio]')) if (!radio.hasAttribute('aria-checked')) say('radio without state', radio);
  for (const group of document.querySelectorAll('[role=radiogroup]')) if (group.querySelectorAll('[tabindex="0"]').length > 1) say('more than one stop', group);

  // References and ids.
  const ids = [...document.querySelectorAll('[id]')].map((element) => element.id);
  for (const id of ids.filter((id, i) => ids.indexOf(id) !== i)) say('id twice', document.getElementById(id));
  for (const name of ['aria-labelledby', 'aria-controls', 'aria-describedby', 'for']) {
    for (const element of document.querySelectorAll(`[${name}]`)) {
      for (const id of element.getAttribute(name).split(' ')) if (!document.getElementById(id)) say(`${name} leads nowhere`, element);
    }
  }
  for (const image of document.querySelectorAll('img:not([alt])')) say('no alt', image);
  if (document.querySelectorAll('main').length !== 1) say('not one main', document.body);
  if (document.querySelectorAll('h1').length !== 1) say('not one h1', document.body);
  if (!document.querySelector('[aria-live]')) say('nothing announces', document.body);

  // 1.4.3: text against what lies behind it, 4.5 to 1, or 3 to 1 where it is large.
  const channel = (c) => (c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4);
  const luminance = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
  const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
  const rgba = (colour) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  };
  const behind = (element) => {
    for (let one = element; one; one = one.parentElement) {
      const colour = rgba(getComputedStyle(one).backgroundColor);
      if (colour[3] > 0.99) return colour;
    }
    return rgba(getComputedStyle(document.body).backgroundColor);
  };
  const ratio = (a, b) => {
    const [high, low] = [luminance(a), luminance(b)].sort((x, y) => y - x);
    return (high + 0.05) / (low + 0.05);
  };
  const words = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = words.nextNode(); node; node = words.nextNode()) {
    const element = node.parentElement;
    if (!node.data.trim() || !shown(element) || element.closest('script, style, :disabled, .sr-only, .js-plotly-plot')) continue;
    const style = getComputedStyle(element);
    const isDrawn = element instanceof SVGElement;
    const ink = rgba(isDrawn ? style.fill : style.color);
    const large = parseFloat(style.fontSize) >= 24 || (parseFloat(style.fontSize) >= 18.66 && Number(style.fontWeight) >= 700);
    const box = isDrawn ? element.closest('.node')?.querySelector('rect.shape') : null;
    const ground = box ? rgba(getComputedStyle(box).fill) : behind(element);
    const found = ratio(ink, ground);
    if (found < (large ? 3 : 4.5)) say(`contrast ${found.toFixed(2)}`, element);
  }
  return [...new Set(faults)];
})()
