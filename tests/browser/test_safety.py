"""Markup in a text is text everywhere: in tokens, figures, links. Source: plotly/plotly.js#1307."""

from collections.abc import Callable
from typing import Any
from urllib.parse import quote

from playwright.sync_api import expect

Check = Callable[..., Any]

TEXTS = [
    "<img src=x onerror=window.PWN=1>",
    "<svg/onload=window.PWN=1>",
    '"><script>window.PWN=1</script>',
    "' onmouseover=window.PWN=1 x='",
    "<b>bold</b> a<b &lt;b&gt; x<br>y &amp;",
]


def test_markup_in_a_text_shows_literally_and_never_acts(explore: Check, settled: Check) -> None:
    page = explore("#model=textbook")
    for text in TEXTS:
        for view in ("step=embed&depth=words", "step=attn.softmax&depth=numbers"):
            link = f"#text={quote(text)}&model=textbook&norm=post&{view}"
            page.evaluate("link => { location.hash = link; }", link)
            expect(page.locator("#text")).to_have_value(text)
            expect(page.locator("#tokens")).to_contain_text(text[-2:].strip()[-1])
            settled(page)
            shown = "".join(page.locator("#tokens .label").all_inner_texts())
            assert shown.replace("␣", " ").replace(" ", "") == text.replace(" ", "")
            page.locator("#tokens [role=radio]").first.hover()
            assert page.evaluate("window.PWN") is None
            made = "main img, main script, [onerror], [onload], [onmouseover]"
            assert page.locator(made).count() == 0


def test_markup_in_a_model_name_or_address_never_acts(
    explore: Check, expected_problems: list[str]
) -> None:
    expected_problems.append("status of 404")
    evil = quote("<img src=x onerror=window.PWN=1>")
    page = explore("#step=add1")
    page.goto(f"/?lang=en&x={evil}#model={evil}&step={evil}&text={evil}")
    expect(page.locator("#text-error")).to_be_visible()
    assert page.evaluate("window.PWN") is None
    assert page.evaluate("document.querySelectorAll('main img').length") == 0
