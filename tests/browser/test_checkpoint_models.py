"""Checkpoints on the page: the diagram shows the steps that ran, charts every token as it is."""

import re
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import pytest
from playwright.sync_api import Page, expect

from tests.checkpoint_folders import HARD_TEXTS
from tests.long import long

Open = Callable[..., Page]

CHART = """
() => {
  const chart = document.querySelector('#card-body .js-plotly-plot');
  const texts = (axis) => [...chart.querySelectorAll(`.${axis}tick text`)];
  const plot = chart.querySelector('.bglayer .bg, .plot .heatmaplayer image');
  const box = plot.getBoundingClientRect();
  const { z } = chart.calcdata[0][0];
  return {
    rows: z.length,
    columns: z.map((row) => row.length),
    first: [...z[0]].map((value) => value ?? null),
    x: texts('x').map((one) => one.textContent),
    y: texts('y').map((one) => one.textContent),
    bold: texts('x').filter((one) => one.querySelector('[style*="bold"]')).length,
    lines: texts('x').filter((one) => one.querySelectorAll('tspan.line').length > 1).length,
    yrange: [...chart._fullLayout.yaxis.range],
    width: chart._fullLayout._size.w,
    plot: [box.width, box.height],
    names: chart._fullLayout.annotations.map((one) => one.text),
  };
}
"""


@pytest.fixture
def look(open_page: Open, checkpoints: str, settled: Callable[[Page], None]) -> Open:
    """`look("bert", "A A B", "step=…")` opens a checkpoint's view."""

    def go(model: str, text: str, fragment: str = "", lang: str = "en", width: int = 1280) -> Page:
        page = open_page(base_url=checkpoints, viewport={"width": width, "height": 860})
        page.goto(f"/?lang={lang}#text={quote(text)}&model={model}&{fragment}")
        expect(page.locator("#model")).to_have_value(model)
        settled(page)
        return page

    return go


def chart(page: Page) -> dict[str, Any]:
    expect(page.locator("#card-body .plot-area.is-drawn").first).to_be_visible()
    drawn: dict[str, Any] = page.evaluate(CHART)
    return drawn


@pytest.mark.parametrize("text", [HARD_TEXTS[-1], *map(long, HARD_TEXTS[:-1])])
def test_each_token_has_a_row_and_a_column_and_shows_as_typed(look: Open, text: str) -> None:
    page = look("words", text, "step=attn.softmax&position=0")
    drawn = chart(page)
    words = text.split()
    assert drawn["rows"] == len(words) and set(drawn["columns"]) == {len(words)}
    shown = [word if len(word) <= 12 else f"{word[:11]}…" for word in words]
    assert drawn["x"] == shown and drawn["y"] == shown
    assert drawn["bold"] == drawn["lines"] == 0
    assert page.locator("#tokens .label").all_inner_texts() == words


def test_blank_tokens_keep_their_tick_and_the_map_its_size(look: Open) -> None:
    blank = chart(look("gpt2", "a\n\n b", "step=attn.softmax&position=0"))
    plain = chart(look("gpt2", "abcde", "step=attn.softmax&position=0"))
    assert blank["rows"] == plain["rows"] == 5
    assert all(label.strip() for label in blank["x"]) and len(blank["x"]) == 5
    assert blank["plot"] == plain["plot"]


def test_the_first_query_is_on_top_and_the_axes_are_named(look: Open) -> None:
    page = look("gpt2", "A B A", "step=attn.softmax&position=0")
    drawn = chart(page)
    assert drawn["first"] == [1, 0, 0]
    low, high = drawn["yrange"]
    assert low > high, "row 0 is at the top"
    names = " ".join(drawn["names"]).lower()
    assert "query" in names and "key" in names


def boxes(page: Page) -> set[str]:
    return set(
        page.locator("#river-picture [data-slot]:not([aria-hidden])").evaluate_all(
            "nodes => nodes.map((node) => node.dataset.slot)"
        )
    )


@pytest.mark.parametrize("width", [1280, 390])
def test_a_parallel_block_has_one_sum_of_three_that_adds_up(
    look: Open, numbers: Callable[[str], list[float]], width: int
) -> None:
    page = look("neox", "A B A", "step=add&position=1&depth=numbers", width=width)
    assert boxes(page) >= {"embed", "ln1", "attn", "ln2", "mlp", "add", "ln_final"}
    assert not boxes(page) & {"add1", "add2", "positions", "embed_ln"}
    rows = page.locator("#card-body .card-vectors tbody tr:not(.card-gap)").all_inner_texts()
    assert len(rows) == 8
    for row in rows:
        _, x, attention, ffn, total = numbers(row)
        assert x + attention + ffn == pytest.approx(total, abs=0.0021)
    expect(page.locator("#card-title")).to_contain_text("Attention(LayerNorm(x)) + FFN")
    # Post-LN of this wiring is undefined: it cannot be chosen, by pointer or key.
    expect(page.locator("#toggle input[value=post]")).to_be_disabled()
    page.locator("body").press("n")
    expect(page.locator("#toast")).to_contain_text("Post-LN is not defined")
    expect(page.locator("#toggle input[value=pre]")).to_be_checked()


def test_a_bert_shows_its_segments_and_the_norm_of_its_embedding(look: Open) -> None:
    page = look("bert", "A A B", "step=positions&position=1")
    assert boxes(page) >= {"embed", "positions", "embed_ln", "ln1", "ln2", "add1", "add2"}
    expect(page.locator("#card-body")).to_contain_text("type_embed[1]")
    page.locator("#river-picture [data-slot=embed_ln]").click()
    expect(page.locator("#card-title")).to_contain_text("LayerNorm of the embedding")


def test_a_second_text_is_typed_where_the_model_reads_two(look: Open, settled: Any) -> None:
    page = look("bert", "A B", "step=positions&position=0")
    pair = page.locator("#pair")
    expect(pair).to_be_visible()
    pair.fill("B")
    pair.press("Enter")
    expect(page.locator("#tokens .label")).to_have_text(["[CLS]", "A", "B", "[SEP]", "B", "[SEP]"])
    expect(page).to_have_url(re.compile("[#&]pair=B&"))
    page.locator("#tokens [role=radio]").nth(4).click()
    expect(page.locator("#card-body")).to_contain_text("segment 1")
    # A model that reads one text has no second field, and nothing of it stays in the address.
    page.locator("#model").select_option("gpt2")
    expect(pair).to_be_hidden()
    settled(page)
    expect(page).to_have_url(re.compile("^[^#]*#((?!pair=).)*model=gpt2((?!pair=).)*$"))


def test_the_other_wiring_of_a_checkpoint_is_marked_as_an_experiment(look: Open) -> None:
    page = look("bert", "A A B", "step=add1&position=1")
    expect(page.locator("#notices .is-loud")).to_have_count(0)
    page.locator("#toggle label", has_text="Pre-LN").click()
    expect(page.locator("#notices .is-loud")).to_be_visible()
    expect(page.locator("#river-picture [data-slot=ln_final]:not([aria-hidden])")).to_have_count(0)


def test_while_weights_are_read_the_page_says_how_far(look: Open) -> None:
    page = look("gpt2", "A", "step=add1")
    waits: list[Any] = []
    page.route("**/api/v1/trace", lambda route: waits.append(route))
    answer = {"state": "loading", "done": 1_500_000, "total": 6_000_000}
    page.route("**/models/bert/loading", lambda route: route.fulfill(json=answer))
    page.locator("#model").select_option("bert")
    note = page.locator("#loading")
    expect(note).to_contain_text("1.5 of 6.0 million")
    for route in waits:
        route.continue_()
    page.unroute("**/api/v1/trace")
    expect(note).to_be_hidden()
