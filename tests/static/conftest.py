"""The page's own modules, imported in a blank page of the server and called from Python."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Route

Call = Callable[..., Any]

BLANK = """<!doctype html><html lang="en"><title>blank</title><link rel="icon" href="data:,">
<div id="live"></div><script type="application/json" id="catalogue">{catalogue}</script></html>"""


@pytest.fixture(scope="session")
def blank(browser: Browser, server: str) -> Iterator[Page]:
    """One page for all tests of modules; each test loads it anew."""
    context = browser.new_context(base_url=server, viewport={"width": 1280, "height": 800})
    yield context.new_page()
    context.close()


@pytest.fixture
def catalogue() -> dict[str, str]:
    """The sentences that the blank page carries; a test may put some there before it calls."""
    return {}


@pytest.fixture
def call(blank: Page, catalogue: dict[str, str]) -> Iterator[Call]:
    """`call("frames.js", "m => m.framesOf(trace)", trace=reply)` calls an imported module."""
    opened = False

    def serve(route: Route) -> None:
        body = BLANK.format(catalogue=json.dumps(catalogue).replace("<", "\\u003c"))
        route.fulfill(body=body, content_type="text/html")

    def run(module: str, function: str, **values: Any) -> Any:
        nonlocal opened
        if not opened:
            blank.goto("/blank")
            opened = True
        names = ", ".join(values)
        return blank.evaluate(
            f"""async ([module, values]) => {{
                const m = await import('/static/js/' + module);
                const {{ {names} }} = values;
                return ({function})(m);
            }}""",
            [module, values],
        )

    blank.route("**/blank", serve)
    yield run
    blank.unroute("**/blank")
