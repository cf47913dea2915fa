"""The explorer's cards: numbers are the API's, charts have names, tables and files."""

import csv
import io
import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.long import long

TEXT = "猫が好き。The cat."
RUN = f"#text={TEXT}&model=textbook&position=2&head=3&layer=1"
# Embedding and positions 2, Attention 6 without a mask, FFN 3, two Adds, two LayerNorms of 4.
STEPS_OF_A_BLOCK = 21

Numbers = Callable[[str], list[float]]


def drawn(page: Page) -> None:
    for area in page.locator(".plot-area").all():
        expect(area).to_have_class(re.compile("is-drawn"))


@pytest.mark.parametrize(
    ("norm", "step", "sublayer"),
    [
        ("post", "add1", "attn_out"),
        ("pre", "add2", "mlp_out"),
        long("pre", "add1", "attn_out"),
        long("post", "add2", "mlp_out"),
    ],
)
def test_every_row_of_an_add_is_the_apis_and_adds_up_where_it_says_so(
    explore: Any, trace: Any, numbers: Numbers, agrees: Any, norm: str, step: str, sublayer: str
) -> None:
    page = explore(f"{RUN}&norm={norm}&step={step}&depth=numbers&dim=20")
    run = trace(text=TEXT, model="textbook", norm=norm)
    add = next(s for s in run["steps"] if s["inputs"][1:] == [f"blocks.1.{sublayer}"])
    names = [f"{point}[2]" for point in (*add["inputs"], add["output"])]
    api = trace(text=TEXT, model="textbook", norm=norm, include=names)["tensors"]
    page.get_by_role("button", name=re.compile(r"Show all \d+ components")).click()
    rows = page.locator(".card-vectors tbody tr[data-index]").all_inner_texts()
    assert len(rows) == 256
    for i, row in enumerate(rows):
        cells = re.split(r"\t", row)[1:]
        sign = "=" if "=" in row else "≈"
        printed = [re.sub(r"[+=≈\s]", "", cell) for cell in cells]
        for text, name in zip(printed, names, strict=True):
            assert agrees(text, api[name]["values"][i])
        a, b, c = (round(numbers(text)[0] * 1000) for text in printed)
        assert (a + b == c) == (sign == "="), row
    expect(page.locator(".card-vectors .is-chosen th")).to_have_text("20")


def check_charts(page: Page) -> None:
    drawn(page)
    figures = page.locator("figure.plot")
    assert 1 <= figures.count() <= 3
    for figure in figures.all():
        assert figure.locator(".plot-area").get_attribute("aria-label")
        assert figure.locator(".plot-tool").all_inner_texts() == ["PNG", "SVG", "CSV"]
        twin = figure.locator("details")
        if twin.count():
            twin.locator("summary").click()
            expect(twin.locator("tbody tr").first).to_be_visible()
        else:
            assert page.locator(".card-vectors").count() == 1


@pytest.mark.parametrize(("lang", "norm"), [("ja", "pre"), long("en", "post")])
def test_every_step_has_all_depths_and_charts_with_name_table_and_files(
    explore: Any, settled: Any, lang: str, norm: str
) -> None:
    page = explore(f"#text={TEXT}&model=textbook&norm={norm}&position=2&step=embed", lang=lang)
    body, seen = page.locator("#card-body"), set()
    while (title := page.locator("#card-title").inner_text()) not in seen:
        seen.add(title)
        for depth in ("words", "numbers", "formula", "code"):
            page.locator(f"#depth-{depth}").click()
            settled(page)
            text = body.inner_text()
            assert not re.search(r"NaN|undefined|\[object|card\.|[{}]", text), (title, depth)
            if depth in ("words", "numbers"):
                check_charts(page)
            elif depth == "formula":
                assert body.locator("math mtable").count() >= 1, title
            else:
                expect(body.locator("pre").first).to_contain_text("def forward")
                expect(body.locator("figcaption code").first).to_have_text("model/layers.py")
        if len(seen) == STEPS_OF_A_BLOCK:
            break
        page.locator("#card-title").focus()
        page.keyboard.press("ArrowRight")
        settled(page)
    assert len(seen) == STEPS_OF_A_BLOCK


def test_the_row_of_softmax_is_the_apis_and_its_sum_is_honest(
    explore: Any, trace: Any, numbers: Numbers, agrees: Any
) -> None:
    page = explore(f"{RUN}&norm=post&step=attn.softmax&depth=numbers")
    name = "blocks.1.attn.pattern[3,2]"
    row = trace(text=TEXT, model="textbook", norm="post", include=[name])["tensors"][name]["values"]
    shown = page.locator(".card-bars .card-bar-value").all_inner_texts()
    assert len(shown) == len(row)
    assert all(agrees(text, value) for text, value in zip(shown, row, strict=True))
    sentence = page.locator(".card-sum").inner_text()
    total = sum(round(numbers(text)[0] * 1000) for text in shown)
    assert (total == 1000) == ("=" in sentence)
    expect(page.locator(".card-head")).to_have_count(8)
    page.locator(".card-head").nth(5).click()
    expect(page.locator('.card-head[aria-pressed="true"]')).to_have_text("L1H5")
    expect(page).to_have_url(re.compile("head=5"))


def test_the_statistics_of_every_position_are_the_apis(
    explore: Any, trace: Any, agrees: Any
) -> None:
    page = explore(f"{RUN}&norm=post&step=ln1.mean&depth=words")
    run = trace(text=TEXT, model="textbook", norm="post")
    norm = next(one for one in run["layer_norms"] if one["name"] == "blocks.1.ln1")
    twin = page.locator("figure.plot details").last
    twin.locator("summary").click()
    rows = twin.locator("tbody tr").all_inner_texts()
    assert len(rows) == len(run["tokens"])
    for i, row in enumerate(rows):
        cells = row.split("\t")
        assert cells[1] == run["tokens"][i]["label"]
        assert agrees(cells[2], norm["mean"][i])
        assert agrees(cells[3], norm["var"][i])


def test_an_untrained_model_says_that_gamma_and_beta_change_nothing(explore: Any) -> None:
    page = explore(f"{RUN}&step=ln1.affine&depth=words")
    expect(page.locator(".card-hint")).to_contain_text("this model is untrained")


def test_arrow_keys_move_the_framed_component_and_not_the_step(explore: Any) -> None:
    page = explore(f"{RUN}&step=add1&depth=numbers&dim=3")
    slider = page.get_by_role("slider", name=re.compile("component"))
    slider.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    expect(slider).to_have_attribute("aria-valuenow", "5")
    expect(page.locator(".card-vectors .is-chosen th")).to_have_text("5")
    expect(page.locator(".card-equation")).to_contain_text("Component 5")
    expect(page).to_have_url(re.compile("step=add1.*dim=5"))
    left = page.locator(".heat-frame").first.evaluate("(frame) => parseFloat(frame.style.left)")
    assert left == pytest.approx(100 * 5.5 / 256, abs=1e-3)


def test_files_hold_the_numbers_and_the_picture(explore: Any, trace: Any) -> None:
    page = explore(f"{RUN}&norm=post&step=add1&depth=words")
    drawn(page)
    with page.expect_download() as started:
        page.locator(".plot-tool", has_text="CSV").click()
    text = started.value.path().read_text(encoding="utf-8-sig")
    table = list(csv.reader(io.StringIO(text)))
    assert table[0][1:] == [f"blocks.1.{p}[2]" for p in ("resid_pre", "attn_out", "resid_mid")]
    name = table[0][3]
    api = trace(text=TEXT, model="textbook", norm="post", include=[name])["tensors"][name]["values"]
    assert [float(row[3]) for row in table[1:]] == api
    for kind, start in (("PNG", b"\x89PNG"), ("SVG", b"<svg")):
        with page.expect_download() as started:
            page.locator(".plot-tool", has_text=kind).click()
        assert started.value.suggested_filename.endswith(kind.lower())
        assert started.value.path().read_bytes().startswith(start)


def test_charts_follow_the_width_and_the_theme(explore: Any) -> None:
    page = explore(f"{RUN}&step=ln1.affine&depth=words")
    drawn(page)
    for width in (390, 1280):
        page.set_viewport_size({"width": width, "height": 844})
        page.wait_for_timeout(600)
        gaps = page.evaluate(
            """[...document.querySelectorAll('.plot-area')].map((area) =>
                area.clientWidth - area.querySelector('.main-svg').getBoundingClientRect().width)"""
        )
        assert all(abs(gap) <= 2 for gap in gaps)
        assert page.evaluate("document.documentElement.scrollWidth") == width
    background = "getComputedStyle(document.querySelector('.plot-area .main-svg')).backgroundColor"
    before = page.evaluate(background)
    page.locator("#theme").click()
    page.wait_for_timeout(600)
    assert page.evaluate(background) != before


def test_walking_on_leaves_no_chart_behind(explore: Any, settled: Any) -> None:
    page = explore(f"{RUN}&step=attn.qkv&depth=words")
    for _ in range(12):
        page.keyboard.press("ArrowRight")
        settled(page)
    drawn(page)
    alive = page.evaluate(
        """() => {
            const page = document.querySelector('script[src*="explorer.js"]').src;
            return import(page.replace('explorer.js', 'plot.js')).then((m) => m.alive());
        }"""
    )
    assert alive == page.locator(".plot-area").count()


def test_markup_in_a_text_stays_text_in_cards_charts_and_tables(explore: Any) -> None:
    text = "<img src=x onerror=window.PWN=1>"
    page = explore(f"#text={text}&model=textbook&step=attn.softmax&depth=numbers&position=1")
    drawn(page)
    page.locator("figure.plot details summary").first.click()
    assert page.evaluate("window.PWN ?? null") is None
    assert page.locator("#card-body img").count() == 0
