"""Budgets of the page of heads, measured in Chromium: `make bench`.

First the twin on 64 words, then a random encoder of 12 blocks of 12 heads on 512 tokens.
"""

import shutil
import statistics
import tempfile
import time
from pathlib import Path
from urllib.parse import quote

from bench_page import SERVE, row, text_of
from checkpoint_folders import BERT_WORDS, wide_bert
from conftest import CHROMIUM, CHROMIUM_FLAGS, serving
from playwright.sync_api import Page, sync_playwright

TOKENS = 512
OPENINGS = 24

# Long tasks are what keeps a page from answering a finger.
WATCH = """
  window.longest = 0;
  new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) {
      window.longest = Math.max(window.longest, duration);
    }
  }).observe({ type: 'longtask', buffered: true });
  new MutationObserver(() => {
    const now = performance.now();
    if (!window.firstGrid && document.querySelector('#grid canvas')) window.firstGrid = now;
    if (!window.firstChart && document.querySelector('.main-svg')) window.firstChart = now;
  }).observe(document, { childList: true, subtree: true });
"""

# From the end of the reply to the frame that shows the new grid.
GRID = """
  (text) => new Promise((resolve) => {
    const grid = document.querySelector('#grid');
    performance.clearResourceTimings();
    new MutationObserver((_, observer) => {
      if (!grid.querySelector('canvas')) return;
      observer.disconnect();
      requestAnimationFrame(() => {
        const now = performance.now();
        const all = performance.getEntriesByType('resource');
        const reply = all.find(({ name }) => /trace$/.test(name));
        resolve(now - reply.responseEnd);
      });
    }).observe(grid, { childList: true });
    const area = document.querySelector('#text');
    area.value = text;
    area.dispatchEvent(new InputEvent('input', { bubbles: true }));
    const enter = { key: 'Enter', bubbles: true, cancelable: true };
    area.dispatchEvent(new KeyboardEvent('keydown', enter));
  })
"""

# From the click on a head to the frame with its words and numbers, and to the one with its map.
OPEN = """
  (label) => new Promise((resolve) => {
    const opened = document.querySelector('#opened');
    let words = null;
    const started = performance.now();
    const observer = new MutationObserver(() => {
      if (words === null && opened.dataset.label === label) words = performance.now() - started;
      if (words === null || !opened.querySelector('.plot-area.is-drawn')) return;
      observer.disconnect();
      requestAnimationFrame(() => resolve([words, performance.now() - started]));
    });
    const all = { childList: true, subtree: true, attributes: true };
    observer.observe(opened, all);
    document.querySelector(`#tile-${label}`).click();
  })
"""


def of_64_words(page: Page) -> None:
    page.goto("/heads")
    page.wait_for_selector("#opened .main-svg", state="attached")
    after_reply = []
    with page.expect_response("**/api/v1/trace") as caught:
        after_reply.append(page.evaluate(GRID, text_of(64, 1)))
    size = caught.value.request.sizes()["responseBodySize"]
    row("first answer on the wire, 64 words", f"{size / 1000:.0f} KB", "120 KB")
    after_reply += [page.evaluate(GRID, text_of(64, number)) for number in range(2, 8)]
    row("reply to grid, 64 words, median", f"{statistics.median(after_reply):.0f} ms", "500 ms")
    page.wait_for_timeout(1000)
    labels = [f"L{layer}H{head}" for layer in range(4) for head in range(6)][:OPENINGS]
    page.evaluate(OPEN, labels[-1])
    times = []
    for label in labels:
        times.append(page.evaluate(OPEN, label))
        page.wait_for_timeout(120)
    report("opening a head", times)
    # As a hand does it: it comes to rest on a picture, and presses.
    times = []
    for label in labels:
        page.hover(f"#tile-{label}")
        page.wait_for_timeout(150)
        times.append(page.evaluate(OPEN, label))
    report("the same, pointed at before", times)


def report(title: str, times: list[list[float]]) -> None:
    for what, place in (("its words and numbers", 0), ("its map", 1)):
        ordered = sorted(one[place] for one in times)
        middle, late = ordered[len(ordered) // 2], ordered[int(len(ordered) * 0.95) - 1]
        row(f"{title}: {what}, median", f"{middle:.0f} ms", "150 ms")
        row(f"{title}: {what}, 95th percentile", f"{late:.0f} ms", "")


def of_512_tokens(page: Page) -> None:
    words = [word for word in BERT_WORDS if len(word) == 1]
    text = " ".join(words[(i * 5 + i // 7) % len(words)] for i in range(TOKENS - 2))
    sizes: list[int] = []
    page.on("requestfinished", lambda one: sizes.append(one.sizes()["responseBodySize"]))
    started = time.perf_counter()
    with page.expect_response("**/api/v1/trace", timeout=60_000):
        page.goto(f"/heads#model=wide&text={quote(text)}", wait_until="commit")
    row("12 × 12 heads, 512 tokens: reply", f"{time.perf_counter() - started:.1f} s", "20 s")
    page.wait_for_selector("#opened .main-svg", state="attached", timeout=60_000)
    page.wait_for_timeout(3000)
    grid, chart, longest = page.evaluate("[window.firstGrid, window.firstChart, window.longest]")
    row("the same: page to first pictures", f"{grid / 1000:.1f} s", "")
    row("the same: page to first chart", f"{chart / 1000:.1f} s", "5 s")
    row("the same: longest time without an answer", f"{longest:.0f} ms", "")
    row("the same: all on the wire, Plotly included", f"{sum(sizes) / 1e6:.1f} MB", "20 MB")


def main() -> None:
    """Measure and print."""
    executable = next(filter(None, map(shutil.which, CHROMIUM)), None)
    row("The page of heads, in Chromium", "measured", "budget")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        home = Path(folder)
        wide_bert(home / "models" / "wide")
        with serving([*SERVE, "--models", str(home / "models")], home) as base:
            browser = playwright.chromium.launch(
                executable_path=executable, args=list(CHROMIUM_FLAGS), headless=True
            )
            for measure in (of_64_words, of_512_tokens):
                page = browser.new_page(base_url=base, locale="en")
                page.add_init_script(WATCH)
                measure(page)
                page.close()
            browser.close()


if __name__ == "__main__":
    main()
