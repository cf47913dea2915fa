"""What a run does not prove is said on every page that shows its numbers, loudly and once."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect

Open = Callable[..., Page]

FLAG = {"code": "non_finite", "point": "blocks.0.resid_mid", "count": 3, "params": {}}


def spoil(run: dict[str, Any]) -> None:
    """A run of which the first sum is off, and which has a value that is no number."""
    next(one for one in run["checks"] if one["name"] == "add").update(ok=False, value=0.5)
    run["flags"] = [FLAG]


@pytest.fixture
def spoilt(open_page: Open, server: str) -> Iterator[Open]:
    """`spoilt("/stream", "pre")`: the page, its run in that placement spoilt on the way."""
    pages = []

    def go(path: str, norm: str | None = None, lang: str = "en") -> Page:
        page = open_page(base_url=server, viewport={"width": 1280, "height": 860})
        pages.append(page)

        def answer(route: Route) -> None:
            reply = route.fetch()
            body = reply.json()
            for run in body.get("runs", [body]):
                if norm in (None, run["model"]["norm"]):
                    spoil(run)
            route.fulfill(response=reply, json=body)

        for call in ("trace", "compare"):
            page.route(f"**/api/v1/{call}", answer)
        page.goto(f"{path}?lang={lang}#text=a%20b")
        expect(page.locator("html[data-ready]")).to_be_attached()
        return page

    yield go
    for page in pages:
        page.unroute_all(behavior="ignoreErrors")


def test_a_failed_check_is_said_above_the_heads(spoilt: Open) -> None:
    page = spoilt("/heads")
    alarm = page.locator("#notices [role=alert]")
    expect(alarm).to_have_count(1)
    expect(alarm).to_contain_text("Failed checks of this run: 1.")
    expect(alarm).to_contain_text("x + write = sum (error 0.50)")
    expect(page.locator("#notices")).to_contain_text("3 values of blocks.0.resid_mid")


@pytest.mark.parametrize("path", ["/stream", "/compare"])
@pytest.mark.parametrize(("norm", "name"), [("post", "Post-LN"), ("pre", "Pre-LN")])
def test_a_failed_check_of_one_of_two_runs_names_the_run(
    spoilt: Open, path: str, norm: str, name: str
) -> None:
    page = spoilt(path, norm)
    alarm = page.locator("#notices [role=alert]")
    expect(alarm).to_have_count(1)
    expect(alarm).to_contain_text(f"Failed checks of the {name} run: 1.")
    page.locator("[data-lang=ja]").click()
    expect(alarm).to_contain_text(f"{name} の実行の検査が 1 件不合格です")


@pytest.mark.parametrize("path", ["/stream", "/compare"])
def test_what_both_runs_say_is_said_once(spoilt: Open, path: str) -> None:
    page = spoilt(path)
    expect(page.locator("#notices [role=alert]")).to_have_count(2)
    expect(page.locator("#notices .notice", has_text="3 values")).to_have_count(1)


def test_the_explorer_says_a_failed_check_at_the_card_alone(spoilt: Open) -> None:
    page = spoilt("/")
    expect(page.locator("#card-flags [role=alert]")).to_have_count(1)
    expect(page.locator("#notices > *")).to_have_count(0)
