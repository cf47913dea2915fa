"""Budgets of the page, measured in Chromium against a server of this machine: `make bench`."""

import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from conftest import CHROMIUM, CHROMIUM_FLAGS, ROOT, free_port, serving
from playwright.sync_api import Page, sync_playwright

from app.pages import PAGES

SERVE = [sys.executable, "-m", "app", "--host", "127.0.0.1", "--port", "{port}"]
WORDS = (
    "the",
    "cat",
    "sat",
    "on",
    "a",
    "mat",
    "dog",
    "went",
    "to",
    "see",
    "old",
    "king",
    "of",
    "hill",
)
REPAINTS = 40
RUNS_IN_ONE_PAGE = 100

# Times count from the start of the navigation. A chart is what Plotly draws.

WATCH_START = """
  new MutationObserver(() => {
    const now = performance.now();
    const body = document.querySelector('#card-body');
    if (!window.firstNumbers && body && /\\d/.test(body.textContent)) window.firstNumbers = now;
    if (!window.firstChart && document.querySelector('.main-svg')) window.firstChart = now;
  }).observe(document, { childList: true, subtree: true });
"""

# From Enter to the frame that shows the last change of tokens, river and card; what Plotly adds to
# a card that is complete without it does not count, nor does the second look at the run.
TYPE = """
  (text) => new Promise((resolve) => {
    const area = document.querySelector('#text');
    let painted = null;
    let quiet = null;
    const started = performance.now();
    const watched = document.querySelectorAll('#tokens, #river-picture, #card-body');
    const ofPlotly = ({ target }) => target.closest?.('.js-plotly-plot, .plot-container');
    const observer = new MutationObserver((changes) => {
      if (changes.every(ofPlotly)) return;
      requestAnimationFrame(() => { painted = performance.now() - started; });
      clearTimeout(quiet);
      quiet = setTimeout(() => { observer.disconnect(); resolve(painted); }, 300);
    });
    const all = { childList: true, subtree: true, characterData: true };
    for (const element of watched) observer.observe(element, all);
    area.value = text;
    area.dispatchEvent(new InputEvent('input', { bubbles: true }));
    const enter = { key: 'Enter', bubbles: true, cancelable: true };
    area.dispatchEvent(new KeyboardEvent('keydown', enter));
  })
"""


def row(what: str, measured: str, budget: str) -> None:
    print(f"{what:58}  {measured:>12}  {budget:>10}", flush=True)


def text_of(words: int, number: int) -> str:
    """A text of one token a word, other words for each number."""
    return " ".join(WORDS[(number * 7 + i * (1 + number % 5)) % len(WORDS)] for i in range(words))


def cold_start() -> None:
    port = free_port()
    command = [part.format(port=port) for part in SERVE]
    started = time.perf_counter()
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL)
    try:
        while True:
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=30) as reply:
                    reply.read()
                break
            except OSError:
                time.sleep(0.02)
    finally:
        seconds = time.perf_counter() - started
        process.terminate()
        process.wait()
    row("cold start to a served page", f"{seconds:.2f} s", "4 s")


def first_looks(page: Page) -> None:
    numbers, charts = [], []
    for _ in range(5):
        page.goto("/")
        page.wait_for_selector(".main-svg", state="attached")
        numbers.append(page.evaluate("window.firstNumbers"))
        charts.append(page.evaluate("window.firstChart"))
    row("page to first numbers", f"{statistics.median(numbers) / 1000:.2f} s", "0.8 s")
    row("page to first chart", f"{statistics.median(charts) / 1000:.2f} s", "2.5 s")


def repaint(page: Page) -> None:
    page.goto("/")
    page.wait_for_selector(".main-svg", state="attached")
    milliseconds = sorted(page.evaluate(TYPE, text_of(32, number)) for number in range(REPAINTS))
    middle, late = milliseconds[REPAINTS // 2], milliseconds[int(REPAINTS * 0.95) - 1]
    row("request to repaint, 32 words, median", f"{middle:.0f} ms", "")
    row("request to repaint, 32 words, 95th percentile", f"{late:.0f} ms", "150 ms")


def first_answer(page: Page) -> None:
    page.goto("/")
    page.wait_for_selector(".main-svg", state="attached")
    with page.expect_response("**/api/v1/trace") as caught:
        page.evaluate(TYPE, text_of(64, 1))
    request = caught.value.request
    size = request.sizes()["responseBodySize"]
    row("first answer on the wire, 64 words", f"{size / 1000:.0f} KB", "120 KB")


def memory_of_page(page: Page) -> None:
    tools = page.context.new_cdp_session(page)

    def used() -> float:
        tools.send("HeapProfiler.collectGarbage")
        counters = tools.send("Runtime.getHeapUsage")
        return float(counters["usedSize"]) / 1e6

    page.goto("/")
    page.wait_for_selector(".main-svg", state="attached")
    for number in range(20):
        page.evaluate(TYPE, text_of(20, number))
    before = used()
    for number in range(20, 20 + RUNS_IN_ONE_PAGE):
        page.evaluate(TYPE, text_of(20, number))
    after = used()
    row(
        f"page memory after 20 and {20 + RUNS_IN_ONE_PAGE} runs",
        f"{before:.0f}, {after:.0f} MB",
        "flat",
    )


def size_of_own_files(page: Page) -> None:
    """What each page loads of our own scripts and style sheets, as browsers count them."""
    sizes = {}
    for path in (*PAGES, "/docs"):
        page.goto(path, wait_until="networkidle")
        sizes[path] = page.evaluate(
            """() => performance.getEntriesByType('resource')
                .filter((entry) => /[/]static[/].*[.](js|css)$/.test(entry.name))
                .reduce((sum, entry) => sum + entry.decodedBodySize, 0)"""
        )
    for path, size in sizes.items():
        row(f"own JavaScript and CSS of {path}", f"{size / 1000:.0f} KB", "200 KB")


def many_readers(base: str) -> None:
    """Forty people who each send a text of their own, at the same time."""

    def one(number: int) -> float:
        body = json.dumps({"text": text_of(32, number)}).encode()
        headers = {"Content-Type": "application/json", "Accept-Encoding": "gzip"}
        started = time.perf_counter()
        request = urllib.request.Request(f"{base}/api/v1/trace", body, headers)
        with urllib.request.urlopen(request, timeout=60) as reply:
            reply.read()
        return time.perf_counter() - started

    with ThreadPoolExecutor(40) as pool:
        seconds = sorted(pool.map(one, range(200)))
    row("40 readers at once, 95th percentile", f"{seconds[189]:.2f} s", "1.5 s")


def main() -> None:
    """Measure and print."""
    executable = next(filter(None, map(shutil.which, CHROMIUM)), None)
    print()
    row("The page, in Chromium", "measured", "budget")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        home = Path(folder)
        cold_start()
        with serving(SERVE, home) as base:
            browser = playwright.chromium.launch(
                executable_path=executable, args=list(CHROMIUM_FLAGS), headless=True
            )
            page = browser.new_page(base_url=base, locale="en")
            page.add_init_script(WATCH_START)
            size_of_own_files(page)
            first_looks(page)
            first_answer(page)
            repaint(page)
            memory_of_page(page)
            browser.close()
            many_readers(base)


if __name__ == "__main__":
    main()
