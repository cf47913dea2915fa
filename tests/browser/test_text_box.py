"""The text box: when it runs, and never under an input method; what it says when refused."""

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect

from tests.long import long

Check = Callable[..., Any]
MODEL = "model=textbook"


def requests_of(page: Page) -> list[str]:
    """Bodies of the runs asked for from here on; verifications are not runs."""
    sent: list[str] = []

    def note(request: Any) -> None:
        body = request.post_data or ""
        if request.url.endswith("/trace") and '"verify":true' not in body:
            sent.append(body)

    page.on("request", note)
    return sent


def test_nothing_happens_while_an_input_method_composes(explore: Check, settled: Check) -> None:
    page = explore(f"#{MODEL}&step=add1", "ja")
    page.locator("#text").focus()
    sent = requests_of(page)
    session = page.context.new_cdp_session(page)
    before = page.locator("#tokens").inner_text()
    for text in ("i", "い", "いn", "いぬ"):
        session.send(
            "Input.imeSetComposition", {"text": text, "selectionStart": 1, "selectionEnd": 1}
        )
        page.wait_for_timeout(160)
    # Enter chooses among the method's candidates; arrows and space move in them.
    for key in ("Enter", " ", "ArrowRight"):
        page.evaluate(
            """key => document.querySelector('#text').dispatchEvent(new KeyboardEvent('keydown',
                {key, isComposing: true, bubbles: true, cancelable: true}))""",
            key,
        )
    page.wait_for_timeout(300)
    assert sent == []
    assert page.locator("#tokens").inner_text() == before
    session.send("Input.insertText", {"text": "犬"})
    expect(page.locator("#tokens")).to_contain_text("犬")
    settled(page)
    # One run; a second look at it may follow when the page is idle.
    assert len([body for body in sent if '"verify":true' not in body]) == 1


def test_enter_runs_at_once_and_typing_waits_for_a_pause(explore: Check, settled: Check) -> None:
    page = explore(f"#{MODEL}")
    sent = requests_of(page)
    page.locator("#text").fill("")
    page.locator("#text").press_sequentially("The cat", delay=20)
    page.keyboard.press("Enter")
    expect(page.locator("#tokens")).to_contain_text("cat")
    settled(page)
    runs = [body for body in sent if '"include":[]' in body]
    assert 1 <= len(runs) <= 3
    assert '"text":"The cat"' in runs[-1]


@pytest.mark.long
def test_an_over_long_text_is_kept_and_both_numbers_are_said(
    explore: Check, settled: Check, expected_problems: list[str]
) -> None:
    expected_problems.append("status of 422")
    text = "cat! dog? " * 130
    for lang in ("ja", "en"):
        page = explore(f"#{MODEL}", lang)
        before = page.locator("#tokens").inner_text()
        page.locator("#text").fill(text)
        note = page.locator("#text-error")
        expect(note).to_be_visible()
        expect(note).to_contain_text("256")
        shown = note.inner_text().replace(",", "")
        assert any(len(part) >= 3 and part != "256" for part in _digits(shown))
        assert page.locator("#text").input_value() == text
        assert page.locator("#tokens").inner_text() == before
        expect(page.locator("#text")).to_have_attribute("aria-invalid", "true")
        page.locator("#text").fill("cat")
        expect(note).to_be_hidden()


def _digits(text: str) -> list[str]:
    return "".join(c if c.isdigit() else " " for c in text).split()


@pytest.mark.parametrize("text", ["\u3000", *map(long, ["", "   ", "\n\t"])])
def test_a_text_without_tokens_is_said_in_words(
    explore: Check, expected_problems: list[str], text: str
) -> None:
    expected_problems.append("status of 422")
    page = explore(f"#{MODEL}")
    page.locator("#text").fill(text)
    expect(page.locator("#text-error")).to_be_visible()
    assert page.locator("#text-error").get_attribute("data-code") == "empty_text"
    assert page.locator("#tokens [role=radio]").count() > 1


def test_a_lost_server_says_so_keeps_the_text_and_recovers_by_itself(
    explore: Check, settled: Check, expected_problems: list[str]
) -> None:
    expected_problems.append("net::ERR_")
    page = explore(f"#{MODEL}")
    lost = lambda route: route.abort("connectionrefused")  # noqa: E731
    page.route("**/api/**", lost)
    page.locator("#text").fill("A new text")
    note = page.locator("#text-error")
    expect(note).to_have_attribute("data-code", "offline")
    expect(note).to_be_visible()
    assert page.locator("#text").input_value() == "A new text"
    page.unroute("**/api/**", lost)
    expect(note).to_be_hidden(timeout=10_000)
    expect(page.locator("#tokens")).to_contain_text("new")
    settled(page)


def test_a_card_whose_numbers_do_not_come_says_so_and_tries_again(
    explore: Check, settled: Check, expected_problems: list[str]
) -> None:
    expected_problems.append("net::ERR_")
    page = explore(f"#text=cat&{MODEL}&step=add1")
    page.wait_for_timeout(1500)
    lost = lambda route: route.abort("connectionrefused")  # noqa: E731
    page.route("**/api/**", lost)
    page.keyboard.press("ArrowRight")
    again = page.locator("#card-body button", has_text="Try again")
    expect(again).to_be_visible()
    page.unroute("**/api/**", lost)
    again.click()
    expect(again).to_have_count(0)
    settled(page)


def test_a_failed_check_is_loud(explore: Check, settled: Check) -> None:
    def broken(route: Route) -> None:
        reply = route.fetch()
        body = reply.json()
        body["checks"][1] |= {"value": 0.25, "ok": False}
        route.fulfill(response=reply, json=body)

    page = explore(f"#{MODEL}")
    page.route("**/api/v1/trace", broken)
    page.locator("#text").fill("Another text.")
    alarm = page.locator("#card-flags [role=alert]")
    expect(alarm).to_be_visible()
    expect(alarm).to_contain_text("Failed checks of this run: 1.")
    expect(alarm).to_contain_text("0.25")
    expect(page.locator("#trust summary")).to_contain_text("failed")
    settled(page)


@pytest.mark.long
def test_examples_stand_in_both_languages_and_recent_texts_in_this_tab(
    explore: Check, settled: Check
) -> None:
    page = explore(f"#{MODEL}", "en")
    page.locator("#examples-open").click()
    menu = page.locator("#examples-menu")
    expect(menu.locator("[lang=ja]").first).to_be_visible()
    menu.locator("button", has_text="The quick brown fox").click()
    expect(page.locator("#tokens")).to_contain_text("quick")
    settled(page)
    page.locator("#text").fill("cat")
    expect(page.locator("#tokens")).not_to_contain_text("quick")
    settled(page)
    page.locator("#examples-open").click()
    expect(menu.locator("button", has_text="The quick brown fox")).to_have_count(2)
    other = explore(f"#{MODEL}", "en")
    other.locator("#examples-open").click()
    expect(other.locator("#examples-menu button", has_text="The quick brown fox")).to_have_count(1)
