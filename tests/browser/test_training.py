"""The page of the twins' training: its figures are the record's, in both languages."""

import itertools
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
    whole = [
        [runs[norm]["record"]["steps"], runs[norm]["record"]["held_out"][language]]
        for norm in ("post", "pre")
        for language in ("en", "ja")
    ]
    # Below the whole record its last tenth, on a scale on which the ends of the lines part.
    first = next(i for i, step in enumerate(whole[0][0]) if step >= 0.9 * whole[0][0][-1])
    assert drawn == whole + [[steps[first:], values[first:]] for steps, values in whole]
    for _, values in whole:
        expect(
            page.locator("#loss .annotation", has_text=f"{values[-1]:.2f}").first
        ).to_be_visible()
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


@pytest.mark.parametrize("lang", ["ja", "en"])
def test_steps_on_a_phone_stand_upright_and_apart(
    open_page: Callable[..., Page], server: str, lang: str
):
    page = open_page(base_url=server, viewport={"width": 390, "height": 844})
    page.goto(f"/training?lang={lang}")
    expect(page.locator(".plot-area.is-drawn")).to_have_count(3)
    found = 0
    for axis in ("xtick", "x2tick", "x3tick", "x4tick"):
        for figure in page.locator(".plot-area").all():
            labels = figure.locator(f".{axis} text").all()
            for label in labels:
                assert "rotate(" not in (label.get_attribute("transform") or "")
            boxes = [box for label in labels if (box := label.bounding_box())]
            for before, after in itertools.pairwise(boxes):
                assert before["x"] + before["width"] <= after["x"]
            found += len(boxes)
    assert found > 15
    title = page.locator("#gradient .annotation", has_text="Pre-LN").bounding_box()
    upper = page.locator("#gradient .subplot.xy").bounding_box()
    assert title and upper and title["y"] > upper["y"] + upper["height"]
