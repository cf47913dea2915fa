"""The page of the twins' training: its figures are the record's, in both languages."""

import json
import urllib.request
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.long import long


@pytest.fixture(scope="module")
def record(server: str) -> dict[str, Any]:
    with urllib.request.urlopen(f"{server}/api/v1/models/twin/training") as reply:
        found: dict[str, Any] = json.load(reply)
    return found


@pytest.mark.parametrize("lang", ["ja", long("en")])
def test_what_is_drawn_is_the_record(
    open_page: Callable[..., Page], server: str, record: dict[str, Any], lang: str
):
    page = open_page(base_url=server, viewport={"width": 1280, "height": 860})
    page.goto(f"/training?lang={lang}")
    expect(page.locator(".plot-area.is-drawn")).to_have_count(3)
    drawn = page.evaluate(
        "[...document.querySelector('#loss .plot-area').data].map(({x, y}) => [[...x], [...y]])"
    )
    runs = record["runs"]
    assert drawn == [
        [runs[norm]["record"]["steps"], runs[norm]["record"]["held_out"][language]]
        for norm in ("post", "pre")
        for language in ("en", "ja")
    ]
    heads = page.evaluate(
        "[...document.querySelector('#scores .plot-area').data].map(({y}) => y.at(-1))"
    )
    assert heads == [
        score
        for norm in ("post", "pre")
        for layer in runs[norm]["record"]["induction"][-1]
        for score in layer
    ]
    bits = record["evaluation"]["post"]["bits_per_byte"]["sample"]["en"]
    expect(page.locator("#end")).to_contain_text(f"{bits:.3f}")


def test_the_choice_of_runs_and_scores_is_in_the_link(
    open_page: Callable[..., Page], server: str, record: dict[str, Any]
):
    page = open_page(base_url=server, viewport={"width": 390, "height": 844})
    page.goto("/training?lang=en")
    expect(page.locator(".plot-area.is-drawn")).to_have_count(3)
    page.get_by_role("button", name="no warm-up").press("Enter")
    page.get_by_role("button", name="Previous token").press("Enter")
    other = open_page(base_url=server, viewport={"width": 390, "height": 844})
    other.goto(page.url)
    expect(other.locator(".plot-area.is-drawn")).to_have_count(3)
    drawn = other.evaluate("[...document.querySelector('#loss .plot-area').data[2].y]")
    assert drawn == record["high_rate"][0]["pre"]["record"]["held_out"]["en"]
    expect(other.get_by_role("button", name="Previous token")).to_have_attribute(
        "aria-pressed", "true"
    )
    assert other.evaluate("document.documentElement.scrollWidth") <= 390
