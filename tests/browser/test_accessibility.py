"""For readers without a mouse or without sight: names, focus, contrast, announcements."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.long import long

Check = Callable[..., Any]
AUDIT = (Path(__file__).parent / "audit.js").read_text("utf-8")
VIEWS = [
    ("ja", "light", 1280, "step=add1&depth=words"),
    ("en", "dark", 1280, "step=attn.softmax&depth=numbers"),
    ("ja", "dark", 390, "step=ln1.affine&depth=formula"),
    long("en", "light", 390, "step=mlp.act&depth=words"),
    long("ja", "dark", 1280, "step=attn.qkv&depth=code"),
    long("en", "light", 1280, "step=attn.out&depth=words"),
]


@pytest.mark.parametrize(("lang", "theme", "width", "view"), VIEWS)
def test_everything_has_a_name_and_can_be_read(
    explore: Check, lang: str, view: str, theme: Any, width: int
) -> None:
    size = {"width": width, "height": 860}
    page = explore(f"#model=textbook&norm=post&{view}", lang, color_scheme=theme, viewport=size)
    assert page.evaluate("document.documentElement.lang") == lang
    page.wait_for_timeout(600)
    assert page.evaluate(AUDIT) == []


def test_everything_is_reached_and_shown_by_the_tab_key(explore: Check) -> None:
    page = explore("#model=textbook&norm=post&step=add1&depth=words")
    reached: list[str] = []
    for _ in range(90):
        page.keyboard.press("Tab")
        here = page.evaluate(
            """() => {
                const e = document.activeElement;
                const s = getComputedStyle(e);
                const shape = e.querySelector?.('.shape');
                const face = e.parentElement?.querySelector('.face');
                const visible = s.outlineStyle !== 'none'
                    || (shape && getComputedStyle(shape).stroke === 'rgb(11, 87, 208)')
                    || (face && getComputedStyle(face).outlineStyle !== 'none')
                    || e.closest('.textbox:focus-within');
                const name = e.id || e.dataset.slot || e.dataset.index || e.name || e.tagName;
                return [name, Boolean(visible)];
            }"""
        )
        if here[0] == "BODY":
            break
        assert here[1], f"no visible focus on {here[0]}"
        reached.append(here[0])
    for wanted in (
        "text",
        "examples-open",
        "model",
        "norm",
        "add1",
        "attn",
        "ln1",
        "mlp",
        "previous",
    ):
        assert wanted in reached, wanted
    for wanted in ("depth-words", "play", "segments", "next", "theme", "keys-open"):
        assert wanted in reached, wanted


def test_changes_are_announced(explore: Check, settled: Check) -> None:
    page = explore("#text=The+cat&model=textbook&norm=post&step=add1&depth=words&position=0")
    live = page.locator("#live")
    page.keyboard.press("ArrowRight")
    expect(live).to_contain_text("LayerNorm ①")
    page.keyboard.press(".")
    expect(live).to_contain_text("Position 1")
    page.keyboard.press("h")
    expect(live).to_have_text("Head 1")
    page.keyboard.press("n")
    expect(live).to_contain_text("Pre-LN")
    settled(page)


def test_the_keys_are_listed_and_terms_explain_themselves(explore: Check) -> None:
    page = explore("#model=textbook&norm=post")
    page.keyboard.press("?")
    dialog = page.locator("#keys")
    expect(dialog).to_be_visible()
    assert dialog.locator("kbd").count() > 16
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    page.locator("#where .term").focus()
    page.keyboard.press("Enter")
    card = page.locator("#gloss")
    expect(card).to_contain_text("LayerNorm(x + F(x)): the order in the 2017 paper's figure.")
    page.keyboard.press("Escape")
    expect(card).to_be_hidden()


def test_keys_do_nothing_where_a_reader_types(explore: Check) -> None:
    page = explore("#model=textbook&norm=post&step=add1")
    page.locator("#text").focus()
    page.keyboard.type("n?h.]")
    expect(page.locator("#keys")).to_be_hidden()
    expect(page.locator("#card-title")).to_contain_text("Add ①: x + Attention(x)")


def test_every_term_of_the_page_has_its_explanation_in_both_languages(
    open_page: Callable[..., Page], server: str
) -> None:
    page = open_page(base_url=server)
    page.goto("/")
    for lang in ("ja", "en"):
        sentences = page.evaluate(
            "lang => fetch(`/locales/${lang}.json`).then((r) => r.json())", lang
        )
        used = {
            mark.split(")")[0]
            for sentence in sentences.values()
            for mark in sentence.split("](term:")[1:]
        }
        assert used
        for term in used:
            assert sentences[f"term.{term}.name"]
            assert sentences[f"term.{term}.line"]
