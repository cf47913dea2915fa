"""At 390 pixels: no sideways scrolling, the river first, the stepper under the thumb."""

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.long import long

Check = Callable[..., Any]
PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True}


@pytest.mark.parametrize("lang", ["ja", long("en")])
def test_no_step_scrolls_the_page_sideways(explore: Check, settled: Check, lang: str) -> None:
    page = explore("#model=textbook&norm=pre&layer=3&step=ln1.mean&depth=numbers", lang, **PHONE)
    for depth in ("numbers", "code"):
        page.locator(f"#depth-{depth}").click()
        page.locator("#segments").focus()
        page.keyboard.press("Home")
        for _ in range(30):
            settled(page)
            widths = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
            assert widths[0] <= widths[1], page.locator("#step-name").inner_text()
            if page.locator("#next").is_disabled():
                break
            page.keyboard.press("Shift+ArrowRight" if depth == "code" else "ArrowRight")
            page.locator("#segments").focus()


def test_a_short_river_lies_before_the_card_and_the_stepper_at_the_foot(explore: Check) -> None:
    page = explore("#model=textbook&norm=post", **PHONE)
    river = page.locator("#river-picture svg").bounding_box()
    card = page.locator("#card").bounding_box()
    stepper = page.locator(".stepper").bounding_box()
    assert river and card and stepper
    assert river["width"] > 2 * river["height"]
    assert river["y"] + river["height"] <= card["y"]
    assert stepper["y"] + stepper["height"] == pytest.approx(844, abs=1)
    for button in ("#previous", "#play", "#next"):
        box = page.locator(button).bounding_box()
        assert box and box["height"] >= 44 and box["width"] >= 44


def test_rotating_changes_the_picture_and_keeps_the_step(explore: Check, settled: Check) -> None:
    page = explore("#model=textbook&norm=post&layer=1&step=mlp.act", **PHONE)
    expect(page.locator("#river-picture svg.flat")).to_be_visible()
    page.set_viewport_size({"width": 1280, "height": 860})
    expect(page.locator("#river-picture svg.tall")).to_be_visible()
    expect(page.locator('[data-slot="mlp"]')).to_have_attribute("aria-current", "step")
    page.set_viewport_size({"width": 390, "height": 844})
    expect(page.locator("#river-picture svg.flat")).to_be_visible()
    settled(page)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
