"""What tests share: a running server on 127.0.0.1 and one Chromium for the whole session.

A page fails its test on any console message, page error or request to another host.
"""

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

ROOT = Path(__file__).parent.parent
CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
CHROMIUM_FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    # Nothing but this machine can be reached, whatever a page asks for.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)
START_SECONDS = 60


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--long", action="store_true", help="run the long journeys, and them alone")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Run the tests in a browser last: Playwright keeps an event loop in the main thread."""
    is_wanted = config.getoption("--long")
    left_out = [item for item in items if bool(item.get_closest_marker("long")) != is_wanted]
    if is_wanted or not any("::" in argument for argument in config.args):
        items[:] = [item for item in items if item not in set(left_out)]
        config.hook.pytest_deselected(items=left_out)
    items.sort(key=lambda item: "browser" in getattr(item, "fixturenames", ()))


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextmanager
def serving(
    command: list[str], home: Path, cwd: Path = ROOT, port: int = 0, **env: str
) -> Iterator[str]:
    """Run `command` (with `{port}` in it) in its own process; yield its base URL once healthy."""
    port = port or free_port()
    base = f"http://127.0.0.1:{port}"
    log = home / f"server-{port}.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [part.format(port=port) for part in command],
            cwd=cwd,
            env={**os.environ, "HOME": str(home), **env},
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        deadline = time.monotonic() + START_SECONDS
        while True:
            try:
                with urllib.request.urlopen(f"{base}/api/v1/health", timeout=5):
                    break
            except (urllib.error.URLError, OSError):
                if process.poll() is not None or time.monotonic() > deadline:
                    pytest.fail(f"the server did not start:\n{log.read_text(errors='replace')}")
                time.sleep(0.05)
        yield base
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


Serve = Callable[..., AbstractContextManager[str]]


@pytest.fixture(scope="session")
def serve() -> Serve:
    """For tests that need a server of their own: `with serve(command, home) as base_url`."""
    return serving


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Base URL of an addnorm that serves from the source tree, as FastAPI users start it."""
    command = [sys.executable, "-m", "uvicorn", "app.main:app"]
    command += ["--host", "127.0.0.1", "--port", "{port}", "--no-access-log"]
    with serving(command, tmp_path_factory.mktemp("home")) as base:
        yield base


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """The system's Chromium, one process for all tests."""
    executable = next(filter(None, map(shutil.which, CHROMIUM)), None)
    if executable is None:
        if os.environ.get("CI"):
            pytest.fail("no Chromium on this machine")
        pytest.skip("no Chromium on this machine")
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(
            executable_path=executable, args=list(CHROMIUM_FLAGS), headless=True
        )
        yield chromium
        chromium.close()


def watch(context: BrowserContext, problems: list[str]) -> None:
    """Write down whatever a quiet page would not do."""

    def on_request(request: Any) -> None:
        url = urlsplit(request.url)
        if url.scheme not in ("data", "blob", "about") and url.hostname != "127.0.0.1":
            problems.append(f"request to another host: {request.url}")

    context.on("request", on_request)
    context.on("console", lambda message: problems.append(f"{message.type}: {message.text}"))
    context.on("weberror", lambda error: problems.append(f"error: {error.error}"))


@pytest.fixture
def expected_problems() -> list[str]:
    """Parts of messages that a test provokes: `expected_problems.append("status of 422")`."""
    return []


@pytest.fixture
def open_page(browser: Browser, expected_problems: list[str]) -> Iterator[Callable[..., Page]]:
    """`open_page(locale="ja", color_scheme="dark", viewport={...})` gives a page of its own.

    The keywords are those of Playwright's `new_context`; `base_url` makes `page.goto("/")` work.
    """
    contexts: list[BrowserContext] = []
    problems: list[str] = []

    def make(**options: Any) -> Page:
        context = browser.new_context(**{"locale": "en", **options})
        contexts.append(context)
        watch(context, problems)
        return context.new_page()

    yield make
    for context in contexts:
        context.close()
    unexpected = [p for p in problems if not any(part in p for part in expected_problems)]
    assert unexpected == []


@pytest.fixture
def page(open_page: Callable[..., Page], server: str) -> Page:
    """An English page of 1280 by 800; `page.goto("/")` goes to the server."""
    return open_page(base_url=server, viewport={"width": 1280, "height": 800})
