"""A reader compares both placements on one text: rivers, values, where they part, who does what."""

import json
import re
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.long import long

AUDIT = (Path(__file__).parent / "audit.js").read_text("utf-8")
TEXT = "The cat sat on the mat. The cat"
SIZES = {1280: {"width": 1280, "height": 860}, 390: {"width": 390, "height": 844}}

Open = Callable[..., Page]
Agrees = Callable[[str, float], bool]


def at_rest(page: Page) -> None:
    expect(page.locator("html[data-ready]")).to_be_attached()
    expect(page.locator("#busy")).to_be_hidden()
    expect(page.locator("#card-body > *").first).to_be_attached()
    expect(page.locator("#card-body[aria-busy]")).to_have_count(0)


@pytest.fixture
def compare(open_page: Open, server: str) -> Open:
    """`compare("step=add1", lang="ja")` opens the page with both runs of a text drawn."""

    def go(
        fragment: str = "",
        lang: str = "en",
        width: int = 1280,
        text: str = TEXT,
        base: str = server,
        **options: Any,
    ) -> Page:
        page = open_page(base_url=base, viewport=SIZES[width], **options)
        address = f"/compare?lang={lang}#text={quote(text)}&{fragment}"
        page.goto(address, wait_until="commit", timeout=120_000)
        at_rest(page)
        return page

    return go


@pytest.fixture(scope="session")
def compared(server: str) -> Callable[..., dict[str, Any]]:
    """The reply of POST /compare for both placements."""

    def post(text: str = TEXT, base: str = server, **run: Any) -> dict[str, Any]:
        include = run.pop("include", [])
        runs = [{"norm": norm, **run} for norm in ("post", "pre")]
        request = urllib.request.Request(
            f"{base}/api/v1/compare",
            json.dumps({"text": text, "runs": runs, "include": include}).encode(),
            {"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request) as reply:
            answer: dict[str, Any] = json.load(reply)
            return answer

    return post


def slots(page: Page, norm: str, kind: str = "is-moved") -> set[str]:
    boxes = page.locator(f"#river-{norm} .node.{kind}")
    return {box.get_attribute("data-slot") or "" for box in boxes.all()}


def cells(row: Locator) -> list[str]:
    return [re.sub(r"\s+", " ", cell).strip() for cell in row.locator("td").all_inner_texts()]


def row_of(page: Page, table: str, name: str) -> list[str]:
    rows = page.locator(f"{table} tbody tr")
    return cells(rows.filter(has=page.get_by_role("rowheader", name=name, exact=True)))


def point(reply: dict[str, Any], name: str) -> dict[str, Any]:
    found: dict[str, Any] = next(
        one for one in reply["difference"]["points"] if one["point"] == name
    )
    return found


def measured(page: Page) -> dict[str, str]:
    facts = page.locator("#card-body .card-fact")
    pairs = [fact.inner_text().split("\n") for fact in facts.all()]
    return {name.strip(): value.strip() for name, value in pairs}


# -- the rivers ------------------------------------------------------------------------------------


def test_the_moved_boxes_are_marked_and_so_is_their_place_in_the_other(compare: Open) -> None:
    page = compare("layer=1&step=add1")
    for norm in ("post", "pre"):
        assert slots(page, norm) == {"ln1", "ln2"}
        expect(page.locator(f"#river-{norm} .ghost")).to_have_count(2)
    # A box of one river stands where the other has its ghost.
    box = page.locator("#river-post [data-slot=ln1]").get_attribute("transform") or ""
    x, y = (float(number) for number in re.findall(r"[\d.]+", box))
    ghosts = page.locator("#river-pre .ghost").evaluate_all(
        "all => all.map((e) => ['x', 'y', 'width', 'height'].map((n) => Number(e.getAttribute(n))))"
    )
    assert any(abs(a + w / 2 - x) < 1e-3 and abs(b + h / 2 - y) < 1e-3 for a, b, w, h in ghosts)


def test_the_final_norm_is_there_in_pre_ln_alone_and_leads_to_its_step(compare: Open) -> None:
    page = compare("layer=0&step=add1")
    expect(page.locator("#river-post .side-note")).to_contain_text("There is no final LayerNorm.")
    page.get_by_role("button", name="And one more, the final LayerNorm, after block 3.").click()
    at_rest(page)
    assert slots(page, "pre") == {"ln1", "ln2", "ln_final"}
    assert slots(page, "post") == {"ln1", "ln2"}
    expect(page.locator("#river-post .ghost")).to_have_count(3)
    assert slots(page, "pre", "is-active") == {"ln_final"}
    expect(page.locator("#card-title")).to_have_text("Final LayerNorm: mean")
    hint = page.locator("#card-body .card-hint")
    expect(hint).to_contain_text("Post-LN has no final LayerNorm.")
    expect(hint.locator("code")).to_have_text("blocks.3.ln2")
    assert "step=ln_final.mean" in page.url and "layer=3" in page.url


def test_one_cursor_moves_both_runs_by_the_keyboard_alone(compare: Open, compared: Any) -> None:
    page = compare("layer=0&step=add1&position=2")
    page.locator("body").press("ArrowRight")
    expect(page.locator("#card-title")).to_have_text("LayerNorm ①: mean")
    at_rest(page)
    for norm in ("post", "pre"):
        assert slots(page, norm, "is-active") == {"ln1"}
    for key in ("]", ".", "Shift+ArrowLeft", "Shift+ArrowLeft", "h"):
        page.keyboard.press(key)
    expect(page.locator("#card-title")).to_have_text("Attention: q, k, v")
    expect(page.locator("#where")).to_contain_text("Head 1")
    for part in ("layer=1", "position=3", "head=1", "step=attn.qkv"):
        expect(page).to_have_url(re.compile(part))
    at_rest(page)
    reply = compared()
    label = reply["runs"][0]["tokens"][3]["label"]
    expect(page.locator("#where")).to_contain_text(f"Position 3 “{label}”")
    for norm, run in zip(("post", "pre"), reply["runs"], strict=True):
        length = next(
            one for one in run["stream"]["states"] if one["point"] == "blocks.1.resid_mid"
        )["length"][3]
        expect(page.locator(f"#river-{norm} [data-slot=add1]")).to_contain_text(f"{length:.1f}")
    page.keyboard.press("?")
    keys = page.locator("#keys-list")
    expect(keys).to_contain_text("next step")
    expect(keys).not_to_contain_text("Formula")


# -- values ----------------------------------------------------------------------------------------


@pytest.mark.long
def test_lengths_of_an_add_are_those_of_both_runs(
    compare: Open, compared: Any, agrees: Agrees
) -> None:
    page = compare("layer=2&step=add2&position=4")
    reply = compared()
    for name, group, wanted in (
        ("Length of x, what was there", "states", None),
        ("Length of the write", "writes", "blocks.2.mlp_out"),
        ("Length of the sum", "states", "blocks.2.resid_post"),
    ):
        for i, (run, shown) in enumerate(
            zip(reply["runs"], row_of(page, ".compare-facts", name), strict=True)
        ):
            # Post-LN adds to what LayerNorm ① left, Pre-LN to the sum before.
            skip = ("blocks.2.ln1.out", "blocks.2.resid_mid")[i]
            entry = next(one for one in run["stream"][group] if one["point"] == (wanted or skip))
            assert agrees(shown, entry["length"][4]), name
    facts = measured(page)
    found = point(reply, "blocks.2.resid_post")
    assert agrees(facts["Relative difference |Pre − Post| / |Post|"], found["relative"])
    assert agrees(facts["Largest difference"], found["largest"])
    assert agrees(facts["Mean difference"], found["mean"])
    assert agrees(facts["Cosine at position 4"], found["cosine"][4])


@pytest.mark.long
def test_a_norm_says_what_it_reads_and_its_statistics_in_both(
    compare: Open, compared: Any, agrees: Agrees
) -> None:
    page = compare("layer=1&step=ln1.affine&position=3")
    assert row_of(page, ".compare-facts", "Reads") == ["blocks.1.resid_mid", "blocks.0.out"] or (
        row_of(page, ".compare-facts", "Reads") == ["blocks.1.resid_mid", "blocks.1.resid_pre"]
    )
    for name, field in (
        ("Mean μ", "mean"),
        ("Variance σ²", "var"),
        ("Divisor √(σ²+ε)", "scale"),
    ):
        for run, shown in zip(
            compared()["runs"], row_of(page, ".compare-facts", name), strict=True
        ):
            norm = next(one for one in run["layer_norms"] if one["name"] == "blocks.1.ln1")
            assert agrees(shown, norm[field][3]), name
    expect(page.locator("#card-body")).to_contain_text("The box that moved.")


def test_strips_of_both_runs_and_their_difference_have_one_range(
    compare: Open, compared: Any, trace: Callable[..., dict[str, Any]], agrees: Agrees
) -> None:
    page = compare("layer=0&step=add1&position=2&dim=5")
    names = page.locator(".card-strip-name").all_inner_texts()
    shown = [re.sub(r"\s+", " ", name).strip() for name in names]
    parts = ["blocks.0.resid_pre", "blocks.0.attn_out", "blocks.0.resid_mid"]
    expected = [f"{norm} {part}" for part in parts for norm in ("Post-LN", "Pre-LN")]
    assert [re.sub(r" × \d+", "", name) for name in shown] == [
        *expected,
        "Difference blocks.0.resid_mid",
    ]
    values = {
        norm: trace(text=TEXT, norm=norm, include=[f"{part}[2]" for part in parts])["tensors"]
        for norm in ("post", "pre")
    }
    entry = "blocks.0.resid_mid[2]"
    difference = compared(include=[entry])["tensors"][entry]["values"]
    everything = [
        *(abs(x) for one in values.values() for tensor in one.values() for x in tensor["values"]),
        *map(abs, difference),
    ]
    low, high = page.locator("#card-body .card-legend > .num").all_inner_texts()
    assert low[1:] == high[1:]
    assert max(everything) <= float(high) <= 1.1 * max(everything) + 0.1
    page.locator("#card-body summary").click()
    chosen = cells(page.locator("#card-body tr.is-chosen"))
    wanted = [
        *(values[norm][f"{part}[2]"]["values"][5] for part in parts for norm in ("post", "pre")),
        difference[5],
    ]
    assert all(agrees(cell, value) for cell, value in zip(chosen, wanted, strict=True))
    # Another component moves every frame and the row, and nothing is asked for.
    page.get_by_role("slider", name="Chosen component").press("ArrowRight")
    expect(page.locator("#card-body tr.is-chosen th")).to_have_text("6")
    expect(page).to_have_url(re.compile("dim=6"))


@pytest.mark.long
def test_maps_of_a_head_stand_beside_each_other_on_one_range(
    compare: Open, compared: Any, trace: Callable[..., dict[str, Any]], agrees: Agrees
) -> None:
    page = compare("layer=1&step=attn.softmax&head=2&position=3")
    expect(page.locator("#card-body .plot-area.is-drawn")).to_have_count(2)
    assert page.locator("#main .plot-area").count() <= 3
    for norm, title in (("post", "Post-LN"), ("pre", "Pre-LN")):
        figure = page.locator("#card-body figure.plot").filter(has_text=title)
        expect(figure.get_by_role("img", name=re.compile(f"{title}: .*L1H2")).first).to_be_visible()
        figure.get_by_text("The same numbers as a table").click()
        name = "blocks.1.attn.pattern[2]"
        weights = trace(text=TEXT, norm=norm, include=[name])["tensors"][name]["values"]
        for shown, value in zip(cells(figure.locator("tbody tr").nth(3)), weights[3], strict=True):
            assert agrees(shown, value)
    delta = page.get_by_role("img", name=re.compile("Difference of head L1H2"))
    expect(delta).to_be_visible()
    distance = next(
        one for one in compared()["difference"]["heads"] if (one["layer"], one["head"]) == (1, 2)
    )
    assert agrees(measured(page)["Distance of the head's patterns (0 to 1)"], distance["mean"])


# -- where the runs part ---------------------------------------------------------------------------


@pytest.mark.long
def test_the_chart_over_depth_has_every_point_in_its_table(
    compare: Open, compared: Any, agrees: Agrees
) -> None:
    page = compare("layer=0&step=add1&position=5")
    expect(page.locator("#depth-chart .plot-area.is-drawn")).to_be_visible()
    page.locator("#depth-chart").get_by_text("The same numbers as a table").click()
    rows = page.locator("#depth-chart tbody tr")
    points = compared()["difference"]["points"]
    assert rows.count() == len(points)
    for name in ("embed", "blocks.2.attn.pattern", "blocks.3.resid_post", "logits"):
        found = next(one for one in points if one["point"] == name)
        wanted = [found["relative"], found["largest"], found["mean"], found["cosine"][5]]
        shown = row_of(page, "#depth-chart", name)
        assert all(agrees(cell, value) for cell, value in zip(shown, wanted, strict=True)), name


@pytest.mark.long
def test_a_station_of_the_chart_moves_the_cursor(compare: Open, compared: Any) -> None:
    page = compare("layer=0&step=add1&position=5")
    station = page.get_by_role("button", name=re.compile(r"^Block 2\. FFN"))
    value = point(compared(), "blocks.2.mlp_out")["relative"]
    expect(station).to_contain_text(f"{value:.1f}")
    station.focus()
    station.press("Enter")
    at_rest(page)
    expect(page.locator("#card-title")).to_have_text("FFN: write")
    expect(page.locator("#blocks")).to_contain_text("Block 2")
    expect(page.locator(".station[aria-current]")).to_be_focused()
    page.get_by_role("radio", name="Largest difference").check()
    largest = point(compared(), "blocks.2.mlp_out")["largest"]
    expect(page.locator(".station[aria-current]")).to_contain_text(f"{largest:.2g}")
    expect(page).to_have_url(re.compile("measure=largest"))


@pytest.mark.long
def test_a_click_in_the_map_over_depth_moves_step_and_position(compare: Open) -> None:
    page = compare("layer=0&step=add1&position=5")
    area = page.locator("#depth-chart .plot-area.is-drawn")
    area.scroll_into_view_if_needed()
    at = area.evaluate(
        """(e) => {
            const { xaxis, yaxis2, _size } = e._fullLayout;
            return {x: _size.l + xaxis.d2p(2), y: yaxis2._offset + yaxis2.d2p(1)};
        }"""
    )
    area.click(position=at)
    at_rest(page)
    expect(page.locator("#card-title")).to_have_text("Attention: W_O")
    expect(page).to_have_url(re.compile("position=1(&|$)"))


@pytest.mark.long
def test_distances_of_heads_are_the_servers_and_lead_to_the_head(
    compare: Open, compared: Any, agrees: Agrees
) -> None:
    page = compare()
    buttons = page.locator(".compare-heads button")
    heads = compared()["difference"]["heads"]
    assert buttons.count() == len(heads) == 24
    for button, head in zip(buttons.all(), heads, strict=True):
        assert agrees(button.inner_text(), head["mean"])
        assert button.get_attribute("data-label") == head["label"]
    page.locator(".compare-heads [data-label=L2H4]").click()
    at_rest(page)
    expect(page.locator("#card-title")).to_have_text("Attention: softmax")
    expect(page.locator("#where")).to_contain_text("Head 4")
    expect(page.locator(".compare-heads [aria-current]")).to_have_attribute("data-label", "L2H4")


@pytest.mark.long
def test_changes_of_the_prediction_are_the_servers(
    compare: Open, compared: Any, numbers: Callable[[str], list[float]]
) -> None:
    page = compare("position=6")
    change = compared()["difference"]["predictions"][6]
    rows = page.locator("#prediction-changes tbody tr")
    assert rows.count() == len(change["tokens"])
    for row, token in zip(rows.all(), change["tokens"], strict=True):
        shown = numbers(" ".join(cells(row)))
        wanted = [100 * token[name] for name in ("first", "second", "change")]
        assert shown == pytest.approx(wanted, abs=0.00501)
    alike = sum(one["same_top"] for one in compared()["difference"]["predictions"])
    expect(page.locator("#prediction-changes")).to_contain_text(f"the same at {alike} of")


# -- which weights run -----------------------------------------------------------------------------


@pytest.mark.long
def test_textbook_says_that_only_the_wiring_differs(compare: Open, compared: Any) -> None:
    page = compare("model=textbook&step=add1&position=2")
    expect(page.locator("#compare-words")).to_contain_text("Only the wiring differs")
    station = page.get_by_role("button", name=re.compile("^embed"))
    assert point(compared(model="textbook"), "embed")["relative"] == 0
    expect(station).to_contain_text("0")
    expect(page.locator("#prediction-changes")).to_contain_text("predicts no tokens")
    for norm in ("post", "pre"):
        expect(page.locator(f"#river-{norm} .side-trained")).to_contain_text("Random weights")


@pytest.mark.long
@pytest.mark.parametrize("lang", ["ja", long("en")])
def test_weights_of_one_twin_in_both_placements_mark_the_experiment(
    compare: Open, lang: str
) -> None:
    page = compare("weights=post&step=add1", lang)
    words = {"en": "Other wiring: weights trained in Post-LN", "ja": "つなぎ替えた実行：Post-LN"}
    expect(page.locator("#river-pre .trained.is-loud")).to_contain_text(words[lang])
    expect(page.locator("#river-post .trained.is-good")).to_be_visible()
    shared = {"en": "Both runs have the same weights", "ja": "二つの実行の重みは同じ"}
    expect(page.locator("#compare-words")).to_contain_text(shared[lang])
    page.locator("#weights").select_option("")
    expect(page.locator(".trained.is-good")).to_have_count(2)


def test_a_checkpoint_stands_beside_the_marked_experiment(compare: Open, checkpoints: str) -> None:
    page = compare("model=bert&step=ln1.affine", text="A B C", base=checkpoints)
    expect(page.locator("#river-post .trained.is-good")).to_be_visible()
    expect(page.locator("#river-pre .trained.is-loud")).to_contain_text("trained in Post-LN")
    # BERT's weights have no final LayerNorm, and none is invented.
    expect(page.locator("#river-pre .side-note")).to_contain_text("There is no final LayerNorm.")
    page = compare("model=gpt2&step=add1", text="AB", base=checkpoints)
    expect(page.locator("#river-post .trained.is-loud")).to_contain_text("trained in Pre-LN")
    expect(page.locator("#river-post .side-model")).to_contain_text("not run in Post-LN")


def test_parallel_wiring_has_one_column_and_says_why(compare: Open, checkpoints: str) -> None:
    page = compare("model=neox&step=attn.out", text="AB", base=checkpoints)
    expect(page.locator("#compare-words")).to_contain_text("stand side by side")
    expect(page.locator("#compare-words")).to_contain_text("Post-LN")
    expect(page.locator("#river-post")).to_be_hidden()
    expect(page.locator("#river-pre")).to_be_visible()
    expect(page.locator("#difference")).to_be_hidden()
    expect(page.locator(".card-strip-name")).to_have_count(1)


# -- who places the norm where ---------------------------------------------------------------------


@pytest.mark.parametrize("lang", ["ja", long("en")])
def test_who_places_the_norm_where_has_a_source_in_every_row(compare: Open, lang: str) -> None:
    page = compare(lang=lang)
    rows = page.locator("#who tbody tr")
    places: dict[str, list[str]] = {}
    for row in rows.all():
        head = row.locator("th").inner_text()
        places.setdefault(row.get_attribute("data-place") or "", []).append(head)
        source = cells(row)[2]
        assert re.search(r"20(17|18|19|2\d)", source), head
    assert [name.split("（")[0].split(" (")[0] for name in places["post"]] == [
        "Transformer", "GPT", "BERT", "RoBERTa", "DistilBERT",
    ]  # fmt: skip
    assert places["pre"][-3:] == ["GPT-2", "GPT-3", "ViT"]
    assert places["rms"] == ["T5", "Llama"] and places["other"] == ["Gemma 2", "OLMo 2"]
    words = page.locator("#who").inner_text()
    for fact in ("f5c9b17e", "d5bdfcc8", "1809.10853", "1706.03762", "norm_first=False"):
        assert fact in words
    assert not re.search(r"\bthe first\b|最初の論文|初めて", words)
    assert page.locator("#who a").count() == 0


# -- links, languages, widths, refusals ------------------------------------------------------------


def test_a_link_shows_the_same_view_in_the_other_language(compare: Open, open_page: Open) -> None:
    page = compare("layer=2&step=attn.softmax&head=3&position=4&measure=mean")
    before = page.locator(".compare-heads td").all_inner_texts()
    page.get_by_role("link", name="日本語").click()
    expect(page.locator("h1")).to_have_text("Post-LN と Pre-LN を比べる")
    expect(page.locator("#card-title")).to_have_text("Attention：softmax")
    expect(page.locator("#who-title")).to_have_text("どのモデルが、どこに正規化を置いているか")
    at_rest(page)
    again = open_page(viewport=SIZES[1280])
    again.goto(page.url)
    at_rest(again)
    assert again.locator("#where").inner_text() == page.locator("#where").inner_text()
    assert again.locator(".compare-heads td").all_inner_texts() == before
    expect(again.get_by_role("radio", name="差の平均")).to_be_checked()


@pytest.mark.long
def test_the_link_to_the_table_stays_at_the_table(open_page: Open, server: str) -> None:
    page = open_page(viewport=SIZES[1280])
    page.goto(f"{server}/compare?lang=en#who")
    at_rest(page)
    expect(page.locator("#depth-chart .plot-area.is-drawn")).to_be_attached()
    expect(page.locator("#who-title")).to_be_in_viewport()


def test_the_stepper_takes_one_row_of_a_phone(compare: Open) -> None:
    page = compare(lang="ja", width=390)
    bar = page.locator(".stepper")
    box = bar.bounding_box()
    assert box and box["height"] <= 60
    for name in ("次", "前"):
        button = bar.get_by_role("button", name=name, exact=True).bounding_box()
        assert button and min(button["width"], button["height"]) >= 44
    before = page.locator("#step-name").inner_text()
    bar.get_by_role("button", name="次", exact=True).click()
    expect(page.locator("#step-name")).not_to_have_text(before)
    # The end of the page is not under it.
    page.evaluate("scrollTo(0, document.body.scrollHeight)")
    last = page.locator("#who > .card-note").bounding_box()
    assert last and last["y"] + last["height"] < 844 - box["height"]


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize(
    ("lang", "theme", "fragment"),
    [
        ("ja", "light", "step=add1"),
        long("en", "dark", "step=attn.softmax&layer=1"),
        long("ja", "dark", "step=ln_final.affine&layer=3"),
        long("en", "light", "step=unembed&layer=3&weights=pre"),
    ],
)
def test_everything_has_a_name_and_fits(
    compare: Open, lang: str, theme: Any, fragment: str, width: int
) -> None:
    page = compare(fragment, lang, width, color_scheme=theme)
    expect(page.locator("#depth-chart .plot-area.is-drawn")).to_be_attached()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate(AUDIT) == []


@pytest.mark.parametrize(
    "text",
    [
        "<b>x</b> <img src=x onerror=alert(1)>",
        *map(long, ["1 2 1 2 1 2", "a&amp;b &lt;i&gt;", "2020-01-01"]),
    ],
)
def test_tokens_show_as_typed_beside_the_map(compare: Open, text: str) -> None:
    page = compare("step=attn.softmax&layer=1", text=text)
    area = page.locator("#depth-chart .plot-area.is-drawn")
    expect(area).to_be_visible()
    drawn = area.evaluate(
        """(e) => ({
            ticks: [...e.querySelectorAll('.y2tick text')].map((one) => one.textContent),
            type: e._fullLayout.yaxis2.type,
            inner: e.querySelectorAll('.y2tick tspan, [style*="bold"], img').length,
        })"""
    )
    labels = page.locator("#tokens .label").all_inner_texts()
    whole = [label if len(label) <= 10 else f"{label[:9]}…" for label in labels]
    every = -(-len(whole) // len(drawn["ticks"]))  # where rows are low, not each has its label
    assert drawn["ticks"] == whole[::every] and drawn["type"] == "linear" and drawn["inner"] == 0


@pytest.mark.long
def test_a_text_that_cannot_run_is_refused_with_both_numbers(
    compare: Open, expected_problems: list[str]
) -> None:
    expected_problems.append("status of 422")
    page = compare()
    page.locator("#text").fill("word " * 400)
    page.locator("#text").press("Enter")
    error = page.locator("#text-error")
    expect(error).to_be_visible()
    found = [int(one) for one in re.findall(r"\d+", error.inner_text().replace(",", ""))]
    assert len(found) >= 2 and max(found) > 256
    page.locator("#text").fill(TEXT)
    page.locator("#text").press("Enter")
    expect(error).to_be_hidden()
    at_rest(page)


@pytest.mark.long
def test_a_text_taken_back_while_it_runs_leaves_what_is_shown(compare: Open) -> None:
    page = compare("position=2")
    before = page.locator("#tokens").inner_text()
    asked: list[Any] = []

    def hold(route: Any) -> None:
        asked.append(route)

    page.route("**/api/v1/compare", hold)
    page.locator("#text").fill("Something else")
    page.locator("#text").press("Enter")
    expect(page.locator("#busy")).to_be_visible()
    page.locator("#text").fill(TEXT)
    page.locator("#text").press("Enter")
    expect(page.locator("#busy")).to_be_hidden()
    assert len(asked) == 1
    page.wait_for_timeout(200)
    assert page.locator("#tokens").inner_text() == before


@pytest.mark.long
def test_the_copied_request_gives_the_differences_on_the_screen(
    compare: Open, compared: Any
) -> None:
    page = compare(
        "step=add1&layer=1&position=2", permissions=["clipboard-read", "clipboard-write"]
    )
    page.get_by_role("button", name="Copy", exact=True).click()
    page.locator("#copy-curl").click()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert "/api/v1/compare" in copied
    body = json.loads(copied.split("-d '")[1].rsplit("'", 1)[0])
    assert [run["norm"] for run in body["runs"]] == ["post", "pre"] and body["text"] == TEXT
