"""A reader counts what a block costs, and guesses before an experiment runs."""

import json
import re
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.long import long

AUDIT = (Path(__file__).parent / "audit.js").read_text("utf-8")
SIZES = {1280: {"width": 1280, "height": 860}, 390: {"width": 390, "height": 844}}

Open = Callable[..., Page]


@pytest.fixture
def visit(open_page: Open, server: str) -> Open:
    """`visit("/cost", "#n_ctx=1024", lang="ja", width=390)` opens a page with its numbers."""

    def go(
        path: str, fragment: str = "", lang: str = "en", width: int = 1280, **options: Any
    ) -> Page:
        page = open_page(base_url=server, viewport=SIZES[width], **options)
        page.goto(f"{path}?lang={lang}{fragment}", wait_until="commit", timeout=120_000)
        ready = "#results:not(.is-empty)" if path == "/cost" else "html[data-ready='lab']"
        expect(page.locator(ready)).to_be_attached()
        return page

    return go


def text_of(page: Page, selector: str) -> str:
    return re.sub(r"\s+", " ", page.locator(selector).inner_text())


@pytest.mark.parametrize("lang", ["ja", long("en")])
def test_question_7_is_answered_with_its_derivation(visit: Open, lang: str) -> None:
    page = visit("/cost", lang=lang)
    sums = text_of(page, "#parameters").replace(" ", "")
    for figure in (
        "1,048,576",
        "2,097,152",
        "3,145,728",
        "4,608",
        "2,048",
        "3,152,384",
        "0.15%",
        "0.06%",
    ):
        assert figure in sums, figure
    against = text_of(page, "#tiles-section")
    for figure in ("68,719,476,736", "32,768", "21,845.3", "21,799.2", "36.6", "274,877,906,944"):
        assert figure in against, figure
    forms = "about 3.15 million, 3.01 Mi" if lang == "en" else "約 315 万、3.01 Mi"
    assert forms in text_of(page, "#parameters")
    memory = text_of(page, "#memory")
    assert "256 GiB" in memory and "12.0 MiB" in memory


@pytest.mark.parametrize("lang", ["ja", long("en")])
def test_question_8_is_answered_in_both_ways_of_counting(visit: Open, lang: str) -> None:
    page = visit("/cost", lang=lang)

    def cells(row: str) -> list[str]:
        found = page.locator(f"[data-row='{row}'] td").all_inner_texts()
        return [re.sub(r"\s+", " ", cell) for cell in found]

    _, whole, pairs, _, path = cells("self_attention")
    assert "768 Mi" in whole and "805,306,368" in whole
    assert "256 Mi" in pairs
    assert path.startswith("1")
    assert "1.75 Gi" in cells("block")[1]
    assert "640 Mi" in cells("convolution")[1]
    assert "256" in cells("convolution")[4] and "5" in cells("convolution")[4]
    assert "543.5 Mi" in cells("restricted_attention")[1]
    assert cells("restricted_attention")[4].startswith("16")
    assert cells("recurrent")[3].startswith("512")
    assert "257 Mi" in cells("cross_attention")[1]
    assert page.locator("#table tbody tr[data-row]").count() == 18
    assert "= 32,224" in text_of(page, "#symbols")
    crossings = page.locator("#crossings li").all_inner_texts()
    for crossing, n in zip(crossings, ("512", "1,280", "256", "1,024", "3,072"), strict=True):
        assert n in crossing
    for share in ("4.0 %", "14.3 %", "25.0 %", "57.1 %"):
        assert share in text_of(page, "#shares")


@pytest.mark.long
def test_every_figure_follows_the_sizes_and_the_link_keeps_them(visit: Open, server: str) -> None:
    page = visit("/cost")
    page.locator("#n_ctx").fill("1024")
    expect(page.locator("#ratios")).to_contain_text("1,099,511,627,776")
    page.locator("#d_model-range").focus()
    page.keyboard.press("ArrowLeft")
    expect(page.locator("#d_model")).to_have_value("384")
    query = "n_ctx=1024&d_model=384&d_mlp=2048&n_heads=8&kernel=5&radius=32"
    with urllib.request.urlopen(f"{server}/api/v1/cost?{query}") as reply:
        found = json.load(reply)
    block = found["parameters"]["block"]["value"]
    expect(page.locator("#glance")).to_contain_text(f"{block:,}")
    again = visit("/cost", page.evaluate("location.hash"))
    expect(again.locator("#glance")).to_contain_text(f"{block:,}")
    page.get_by_role("button", name="The paper's sizes").click()
    expect(page.locator("#glance")).to_contain_text("3,152,384")


def test_sizes_that_do_not_fit_are_refused_beside_their_field(
    visit: Open, expected_problems: list[str]
) -> None:
    expected_problems.append("status of 422")
    page = visit("/cost")
    page.locator("#n_heads").fill("7")
    error = page.locator("#n_heads-error")
    expect(error).to_contain_text("512 cannot be divided among 7 heads")
    expect(page.locator("#n_heads")).to_have_attribute("aria-invalid", "true")
    page.locator("#n_heads").fill("x")
    expect(error).to_have_text("Type a whole number.")
    page.locator("#n_heads").fill("4")
    expect(error).to_be_hidden()
    expect(page.locator("#glance")).to_contain_text("3,152,384")


def test_the_third_grid_shows_the_shares_of_a_real_run(visit: Open, server: str) -> None:
    page = visit("/cost")
    tiles = page.locator(".cost-tiles").nth(2).locator(".cost-tile")
    expect(tiles).to_have_count(36)
    body = {"text": "The cat sat on the mat.", "include": ["blocks.0.attn.pattern[0]"]}
    request = urllib.request.Request(
        f"{server}/api/v1/trace", json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request) as reply:
        pattern = json.load(reply)["tensors"]["blocks.0.attn.pattern[0]"]["values"]
    for place, printed in enumerate(tiles.all_inner_texts()):
        share = pattern[place // 6][place % 6] or 0
        assert abs(float(printed.rstrip("W") or 0) - share) <= 0.0051


def test_charts_are_drawn_with_the_numbers_of_the_api(visit: Open) -> None:
    page = visit("/cost")
    expect(page.locator(".plot-area.is-drawn")).to_have_count(2)
    drawn = page.evaluate(
        "[...document.querySelector('#chart .plot-area').data].map(({x, y}) => [[...x], [...y]])"
    )
    at = drawn[0][0].index(512)
    assert drawn[0][1][at] == 1_879_048_192
    assert drawn[-1][0] == [512, 1280, 256, 1024, 3072]


@pytest.mark.parametrize("lang", ["ja", "en"])
@pytest.mark.parametrize("width", [1280, 390])
def test_the_table_of_layers_needs_no_scrolling(visit: Open, lang: str, width: int) -> None:
    page = visit("/cost", lang=lang, width=width)
    table = page.locator("#table")
    assert table.evaluate(
        "(e) => [e.scrollWidth - e.clientWidth, e.scrollHeight - e.clientHeight]"
    ) == [0, 0]
    note = table.locator("[data-row=convolution] td:last-child .cost-exact")
    box, frame = note.bounding_box(), table.bounding_box()
    assert box and frame and box["x"] + box["width"] <= frame["x"] + frame["width"]
    shade = table.evaluate("(e) => getComputedStyle(e).backgroundImage")
    assert (shade == "none") == (width == 390)


def test_tables_of_the_lab_are_cards_on_a_phone(visit: Open) -> None:
    page = visit("/lab", lang="ja", width=390)
    page.locator("#input-norms [data-action='run']").click()
    tables = page.locator("#input-norms .lab-table .card-scroll, #training .card-scroll")
    expect(page.locator("#training tbody tr")).to_have_count(2)
    expect(tables).to_have_count(3)
    for table in tables.all():
        assert table.evaluate("(e) => e.scrollWidth - e.clientWidth") == 0
        assert table.locator("td:not([data-label])").count() == 0


def test_an_experiment_runs_after_a_guess_and_shows_what_it_found(visit: Open) -> None:
    page = visit("/lab")
    card = page.locator("#reach")
    expect(card.locator(".lab-found")).to_have_count(0)
    card.get_by_label("vanishingly small").check()
    card.get_by_label("depths").fill("3, 4, 5")
    card.get_by_label("positions").fill("9")
    card.get_by_label("window w").fill("2")
    card.get_by_label("seeds", exact=True).fill("1")
    card.get_by_role("button", name="Run").click()
    found = card.locator(".lab-found")
    expect(found).to_contain_text("You guessed: At that depth the influence exists")
    expect(found.locator(".is-right")).to_contain_text("The figures agree.")
    card.get_by_label("well connected").check()
    expect(found.locator(".is-wrong")).to_contain_text("otherwise: At that depth the influence")
    expect(found).to_contain_text("below 4 blocks the influence is exactly 0")
    expect(card.locator(".plot-area.is-drawn")).to_have_count(3)
    card.get_by_text("The same numbers as a table").first.click()
    rows = card.locator(".card-table").first.locator("tbody tr")
    assert rows.nth(0).locator("td").nth(0).inner_text() == "0"
    card.get_by_text("The same numbers from the API").click()
    call = card.locator("pre code").inner_text()
    assert "/api/v1/experiments/reach" in call and '"n_ctx":9' in call
    page.get_by_role("link", name="日本語").click()
    expect(found).to_contain_text("結果はちがう：その深さでは、影響はあるが")
    expect(found).to_contain_text("4 段より浅いとき、影響はちょうど 0")


def test_a_long_experiment_reports_progress_and_can_be_stopped(visit: Open) -> None:
    page = visit("/lab")
    card = page.locator("#init-gradients")
    card.get_by_label("seeds", exact=True).fill("60")
    card.get_by_role("button", name="Run").click()
    expect(card.locator("[data-part='progress']")).to_contain_text("of 720 steps")
    card.get_by_role("button", name="Stop").click()
    expect(card.get_by_role("button", name="Run")).to_be_visible()
    expect(card.locator("progress")).to_be_hidden()
    expect(card.locator(".lab-found")).to_have_count(0)
    expect(page.locator("#live")).to_have_text("Stopped.")


def test_what_cannot_be_run_is_said_beside_the_field(
    visit: Open, expected_problems: list[str]
) -> None:
    expected_problems.append("status of 422")
    page = visit("/lab")
    card = page.locator("#init-gradients")
    depths = card.get_by_label("depths")
    depths.fill("2, x")
    card.get_by_role("button", name="Run").click()
    error = page.locator("#init-gradients-error")
    expect(error).to_contain_text("Type whole numbers")
    depths.fill("2, 99")
    card.get_by_role("button", name="Run").click()
    expect(error).to_contain_text("at most 48")
    expect(depths).to_have_attribute("aria-invalid", "true")


def test_first_inputs_are_those_of_the_listed_models(visit: Open) -> None:
    page = visit("/lab", "#run=input-norms&model=textbook&norm=pre")
    card = page.locator("#input-norms")
    expect(card.get_by_label("model")).to_have_value("textbook")
    card.get_by_role("button", name="Run").click()
    expect(card.locator(".lab-found")).to_contain_text("√d_model = 16.00 before γ and β, not 1")
    tables = card.locator(".lab-table")
    expect(tables.nth(0)).to_contain_text("through blocks.0.ln1")
    expect(tables.nth(0)).to_contain_text("16.000 (√d_model = 16.000)")
    expect(tables.nth(1)).to_contain_text("6,144")


def test_the_twins_training_is_told_and_linked(visit: Open) -> None:
    page = visit("/lab")
    card = page.locator("#training")
    expect(card.locator("tbody tr")).to_have_count(2)
    expect(card.get_by_role("link")).to_have_attribute("href", re.compile("/training"))


@pytest.mark.parametrize(
    ("path", "lang", "theme", "width"),
    [
        ("/cost", "ja", "light", 1280),
        ("/cost", "en", "dark", 390),
        ("/lab", "ja", "dark", 390),
        ("/lab", "en", "light", 1280),
    ],
)
def test_both_pages_can_be_read_by_everyone(
    visit: Open, path: str, lang: str, theme: str, width: int
) -> None:
    page = visit(path, lang=lang, width=width, color_scheme=theme)
    if path == "/lab":
        card = page.locator("#dot-product-variance")
        card.locator("[data-action='run']").click()
        expect(card.locator(".plot-area.is-drawn")).to_have_count(2)
    else:
        expect(page.locator(".plot-area.is-drawn")).to_have_count(2)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate(AUDIT) == []
    unknown = page.evaluate(
        "[...document.querySelectorAll('main *')].filter((e) => !e.children.length"
        " && /^(cost|lab|term)[.]/.test(e.textContent)).map((e) => e.textContent)"
    )
    assert unknown == []
