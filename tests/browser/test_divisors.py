"""Models whose Attention differs from the paper's: numbers, formulas and words are their own."""

import json
import urllib.request
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

Open = Callable[..., Page]

TEXT = "A B C"
PAGES = {
    "/": "#card-body",
    "/heads": "#opened",
    "/compare": "#card-body",
}
SCALED = "&layer=1&head=0&position=0&step=attn.scaled&stage=scaled"
CELLS = "[...document.querySelectorAll('%s .js-plotly-plot')].map((one) => one.data[0].z)"


@pytest.fixture
def visit(open_page: Open, checkpoints: str) -> Open:
    """`visit("/heads", "by-layer", depth="formula")` opens the scaled scores of block 1."""

    def go(path: str, model: str, depth: str = "words", lang: str = "en", more: str = "") -> Page:
        page = open_page(base_url=checkpoints, viewport={"width": 1280, "height": 860})
        address = f"{path}?lang={lang}#text=A%20B%20C&model={model}{SCALED}&depth={depth}{more}"
        page.goto(address)
        expect(page.locator("html[data-ready]")).to_be_attached()
        expect(page.locator("#model")).to_have_value(model)
        expect(page.locator("#card-body[aria-busy], #opened[aria-busy]")).to_have_count(0)
        return page

    return go


def values(base: str, model: str, point: str) -> Any:
    body = {"text": TEXT, "model": model, "include": [point]}
    request = urllib.request.Request(
        f"{base}/api/v1/trace", json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request) as reply:
        answer: dict[str, Any] = json.load(reply)
    return answer["tensors"][point]["values"]


@pytest.mark.parametrize("path", PAGES)
@pytest.mark.parametrize(("model", "divisor"), [("by-layer", 2 * 2**0.5), ("undivided", 1.0)])
def test_what_the_mask_hides_next_is_divided_by_the_blocks_own_divisor(
    visit: Open, checkpoints: str, path: str, model: str, divisor: float
) -> None:
    page = visit(path, model)
    area = PAGES[path]
    expect(page.locator(f"{area} .plot-area.is-drawn").first).to_be_visible()
    cells = page.evaluate(CELLS % area)
    expected = values(checkpoints, model, "blocks.1.attn.dot[0]")
    assert abs(expected[0][1]) > 0.1, "the cell that the mask hides tells something"
    # Compare has the other placement beside it, with scores of its own.
    run = cells[-1]
    for row, products in zip(run, expected, strict=True):
        assert row == pytest.approx([one / divisor for one in products], abs=2e-4)


@pytest.mark.parametrize(
    ("model", "lang", "words"),
    [
        ("by-layer", "en", "divided by 2√2: in this model the block’s number"),
        ("by-layer", "ja", "ブロックの番号（1 から数える）"),
        ("undivided", "en", "This model does not divide"),
        ("undivided", "ja", "そのままスコアにする"),
    ],
)
def test_the_card_says_by_what_this_model_divides(
    visit: Open, model: str, lang: str, words: str
) -> None:
    page = visit("/", model, lang=lang)
    expect(page.locator("#card-body .card-lead")).to_contain_text(words)
    expect(page.locator("#card-title")).not_to_contain_text("√")
    head = visit("/heads", model, lang=lang)
    expect(head.locator("#opened figcaption").first).not_to_contain_text("√2 ≈")


def test_the_formula_divides_as_the_model_does(visit: Open) -> None:
    lines = ".card-formula mtr"
    by_layer = visit("/", "by-layer", "formula", more="&position=2")
    expect(by_layer.locator(f"{lines}:nth-child(1) mfrac > :last-child")).to_have_text("2·dk")
    expect(by_layer.locator(f"{lines}:nth-child(2) mfrac > :last-child")).to_have_text("2·2")
    expect(by_layer.locator(f"{lines} msqrt")).to_have_count(2)
    undivided = visit("/", "undivided", "formula", more="&position=2")
    expect(undivided.locator(lines)).to_have_count(2)
    expect(undivided.locator(f"{lines} mfrac")).to_have_count(0)


def test_the_dot_product_of_a_rotary_model_is_that_of_the_turned_vectors(
    visit: Open, checkpoints: str, numbers: Callable[[str], list[float]]
) -> None:
    page = visit("/", "neox", "formula", more="&layer=0&position=2&step=attn.dot")
    expect(page.locator("#card-body")).to_contain_text("rot_q, rot_k")
    written = page.locator(".card-formula mtr:nth-child(2)").text_content() or ""
    shares = values(checkpoints, "neox", "blocks.0.attn.pattern[0,2]")
    key = max(range(3), key=shares.__getitem__)
    q = values(checkpoints, "neox", "blocks.0.attn.rot_q[2,0]")
    k = values(checkpoints, "neox", f"blocks.0.attn.rot_k[{key},0]")
    printed = numbers(written.replace("(", " ").replace(")", " "))
    assert printed == pytest.approx([q[0], k[0], q[1], k[1]], abs=6e-4)


def test_a_bias_is_written_only_where_there_is_one(visit: Open) -> None:
    where = "&layer=0&position=1&step=attn."
    for model, has_bias in [("neox", True), ("neox-no-bias", False)]:
        for step in ("qkv", "out"):
            page = visit("/", model, "formula", more=f"{where}{step}")
            formula = page.locator(".card-formula").text_content() or ""
            assert ("+b" in formula) == has_bias, (model, step)
    expect(page.locator("#card-body .card-lead")).not_to_contain_text("b_O")
