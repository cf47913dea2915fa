"""Weights of one twin in the other wiring: chosen on the page, marked, in the link, by the API."""

import json
import re
import urllib.request
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.long import long


def predictions(server: str, **body: Any) -> list[str]:
    request = urllib.request.Request(
        f"{server}/api/v1/trace",
        json.dumps({"text": "The cat sat on the", **body}).encode(),
        {"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request) as reply:
        trace = json.load(reply)
    return [f"{100 * p['probability']:.1f}" for p in trace["predictions"]["positions"][-1]]


@pytest.mark.parametrize("lang", ["ja", long("en")])
def test_the_other_twins_weights_are_a_marked_experiment(
    open_page: Callable[..., Page], server: str, lang: str
):
    page = open_page(base_url=server, viewport={"width": 1280, "height": 860})
    page.goto(f"/?lang={lang}#text=The+cat+sat+on+the&norm=pre&layer=3&position=5&step=unembed")
    bars = page.locator("#card .card-bar-value")
    trained = predictions(server, norm="pre")
    expect(bars.first).to_contain_text(trained[0])
    expect(page.locator("#notices")).to_be_empty()

    page.locator("#weights").focus()
    page.locator("#weights").select_option("post")
    crossed = predictions(server, norm="pre", weights="post")
    assert crossed != trained
    expect(bars.first).to_contain_text(crossed[0])
    expect(page.locator("#notices .is-loud")).to_be_visible()
    expect(page.locator("#weights")).to_be_focused()

    expect(page).to_have_url(re.compile("weights=post"))
    other = open_page(base_url=server, viewport={"width": 1280, "height": 860})
    other.goto(page.url)
    expect(other.locator("#card .card-bar-value").first).to_contain_text(crossed[0])
    # In the placement that they were trained in, the same weights are no experiment.
    other.locator("#toggle input[value=post]").check(force=True)
    expect(other.locator("#notices")).to_be_empty()


def test_a_link_that_names_other_weights_alone_does_not_show_the_example_that_came_along(
    open_page: Callable[..., Page], server: str
):
    page = open_page(base_url=server, viewport={"width": 1280, "height": 860})
    page.goto("/?lang=en")
    own = page.locator("#toggle input:checked").get_attribute("value")
    other = open_page(base_url=server, viewport={"width": 1280, "height": 860})
    other.goto(f"/?lang=en#weights={'pre' if own == 'post' else 'post'}")
    expect(other.locator("#notices .is-loud")).to_be_visible()
