"""What the forms' pages say of a refusal: a sentence of theirs, in the language that is read."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, Route, expect

Open = Callable[..., Page]

# The page, the call that fails, what sends it, and where it is said.
FORMS = [
    ("/cost", "**/api/v1/cost?*", None, "#failed"),
    ("/training", "**/api/v1/models/twin/training", None, "#failed"),
    ("/add-norm", "**/api/v1/add-norm", None, "#failed"),
    ("/lab", "**/api/v1/experiments/depth", "#depth [data-action=run]", "#depth-error"),
]
BUSY = {
    "en": "All workers are busy",
    "ja": "待ち行列もいっぱい",
}


@pytest.mark.parametrize(("path", "call", "press", "place"), FORMS)
def test_a_refusal_is_said_by_its_code_and_follows_the_language(
    open_page: Open,
    server: str,
    expected_problems: list[str],
    path: str,
    call: str,
    press: str | None,
    place: str,
) -> None:
    expected_problems.append("status of 503")

    def refuse(route: Route) -> None:
        error = {"code": "busy", "message": "words of the server", "field": None, "params": {}}
        route.fulfill(status=503, json={"error": error})

    page = open_page(base_url=server)
    page.route(call, refuse)
    page.goto(f"{path}?lang=en")
    if press:
        page.locator(press).click()
    expect(page.locator(place)).to_contain_text(BUSY["en"])
    page.locator("[data-lang=ja]").click()
    expect(page.locator(place)).to_contain_text(BUSY["ja"])
    expect(page.locator(place)).not_to_contain_text("words of the server")


@pytest.mark.parametrize(
    ("path", "field", "press", "place"),
    [
        ("/cost", "#n_heads", None, "#n_heads-error"),
        ("/lab", "#depth-seed", "#depth [data-action=run]", "#depth-error"),
    ],
)
def test_what_was_typed_wrong_is_still_said_in_another_language(
    open_page: Open, server: str, path: str, field: str, press: str | None, place: str
) -> None:
    page = open_page(base_url=server)
    page.goto(f"{path}?lang=en")
    page.locator(field).fill("x")
    if press:
        page.locator(press).click()
    expect(page.locator(place)).to_contain_text("Type a whole number.")
    page.locator("[data-lang=ja]").click()
    expect(page.locator(place)).to_contain_text("整数を入力してください。")
    expect(page.locator(field)).to_have_value("x")


def test_a_lost_server_keeps_what_was_typed(
    open_page: Open, server: str, expected_problems: list[str]
) -> None:
    expected_problems.append("net::ERR_FAILED")
    page = open_page(base_url=server)
    page.goto("/cost?lang=en")
    expect(page.locator("#glance")).to_contain_text("3,152,384")
    page.route("**/api/v1/cost?*", lambda route: route.abort())
    page.locator("#n_heads").fill("4")
    expect(page.locator("#failed")).to_contain_text("What you typed is kept.")
