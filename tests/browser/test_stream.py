"""A reader follows the stream over depth in both placements, and asks who wrote a state."""

import json
import re
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from playwright.sync_api import Page, expect

from tests.long import long

AUDIT = (Path(__file__).parent / "audit.js").read_text("utf-8")
SIZES = {1280: {"width": 1280, "height": 860}, 390: {"width": 390, "height": 844}}
TEXT = "おじいさんは山へ、おばあさんは川へ行きました。おじいさんは"
HOSTILE = "<b>bold</b> a<b &lt;b&gt; 007 7 007 x<br>y"

Open = Callable[..., Page]
Api = Callable[..., dict[str, Any]]


def drawn(page: Page) -> None:
    expect(page.locator("html[data-ready]")).to_be_attached()
    expect(page.locator("#busy")).to_be_hidden()
    expect(page.locator("#ledger[aria-busy]")).to_have_count(0)
    expect(page.locator("#ledger-table tbody tr").first).to_be_visible()
    for chart in ("#curves", "#maps", "#survival-figure"):
        expect(page.locator(f"{chart} .plot-area.is-drawn")).to_be_attached()


@pytest.fixture
def visit(open_page: Open, server: str) -> Open:
    """`visit("#position=4", lang="ja", width=390)` opens the page with its charts."""

    def go(
        fragment: str = "", lang: str = "en", width: int = 1280, base: str = server, **options: Any
    ) -> Page:
        page = open_page(base_url=base, viewport=SIZES[width], **options)
        page.goto(f"/stream?lang={lang}{fragment}", wait_until="commit", timeout=120_000)
        drawn(page)
        return page

    return go


def post(base: str, call: str, **body: Any) -> dict[str, Any]:
    request = urllib.request.Request(
        f"{base}/api/v1{call}", json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request) as reply:
        answer: dict[str, Any] = json.load(reply)
        return answer


@pytest.fixture(scope="module")
def api(server: str) -> Api:
    return lambda call, **body: post(server, call, **body)


def with_text(**fields: Any) -> str:
    return "#" + "&".join(f"{k}={quote(str(v))}" for k, v in {"text": TEXT, **fields}.items())


def text_of(page: Page, selector: str) -> str:
    return re.sub(r"\s+", " ", page.locator(selector).inner_text())


def chart(page: Page, selector: str) -> list[dict[str, Any]]:
    """The traces of a figure as the chart library holds them."""
    found: list[dict[str, Any]] = page.locator(f"{selector} .plot-area").evaluate(
        """(area) => area.data.map(({type, mode, x, y, z, zmin, zmax, name}) =>
            ({type, mode, x, y, z, zmin, zmax, name}))"""
    )
    return found


FIELDS: dict[str, tuple[str, str]] = {
    "length": ("states", "length"),
    "ratio": ("writes", "ratio"),
    "cosine": ("writes", "cosine"),
    "scale": ("norms", "scale"),
    "eps": ("norms", "eps_share"),
}


@pytest.mark.parametrize("quantity", ["length", *map(long, sorted(FIELDS.keys() - {"length"}))])
def test_curves_and_maps_hold_the_apis_numbers(visit: Open, api: Api, quantity: str) -> None:
    page = visit(with_text(quantity=quantity, position=4))
    lines = [t for t in chart(page, "#curves") if t["mode"] == "lines+markers"]
    panels = [t for t in chart(page, "#maps") if t["type"] == "heatmap"]
    assert [line["name"] for line in lines] == ["Post-LN", "Pre-LN"]
    of, field = FIELDS[quantity]
    for line, panel, norm in zip(lines, panels, ("post", "pre"), strict=True):
        run = api("/trace", text=TEXT, norm=norm)
        if of == "norms":
            known = run["layer_norms"]
        elif of == "writes":
            known = run["stream"]["writes"]
        else:
            points = run["stream"]["outliers"]["points"]
            known = [one for one in run["stream"]["states"] if one["point"] in points]
        assert line["y"] == [one[field][4] for one in known]
        assert [row for row in panel["z"] if any(v is not None for v in row)] == [
            one[field] for one in known
        ]
    assert panels[0]["zmin"] == panels[1]["zmin"]
    assert (
        panels[0]["zmax"]
        == panels[1]["zmax"]
        >= max(abs(v) for p in panels for row in p["z"] for v in row if v is not None)
    )


def test_growth_and_reset_are_said_with_this_runs_figures(
    visit: Open, api: Api, numbers: Any, agrees: Any
) -> None:
    page = visit(with_text(position=5))
    post_words, pre_words = page.locator("#found p").all_inner_texts()
    pre = {
        s["point"]: s["length"][5] for s in api("/trace", text=TEXT, norm="pre")["stream"]["states"]
    }
    printed = [str(n) for n in re.findall(r"\d+\.\d+", pre_words)]
    assert agrees(printed[0], pre["blocks.0.resid_pre"])
    assert agrees(printed[1], pre["blocks.3.resid_post"])
    states = {
        s["point"]: s["length"][5]
        for s in api("/trace", text=TEXT, norm="post")["stream"]["states"]
    }
    outs = [length for point, length in states.items() if ".ln" in point]
    sums = [length for point, length in states.items() if "mid" in point or "post" in point]
    printed = re.findall(r"\d+\.\d+", post_words)
    for text, value in zip(printed, (min(sums), max(sums), min(outs), max(outs)), strict=True):
        assert agrees(text, value)
    assert "8 times" in post_words


@pytest.mark.long
def test_numbers_at_a_depth_are_the_apis(visit: Open, api: Api, agrees: Any) -> None:
    page = visit(with_text(position=3, state="blocks.2.resid_mid"))
    rows = {
        row.locator("th").inner_text(): row.locator("td").all_inner_texts()
        for row in page.locator("#numbers tbody tr").all()
    }
    for i, norm in enumerate(("post", "pre")):
        run = api("/trace", text=TEXT, norm=norm)
        write = next(w for w in run["stream"]["writes"] if w["point"] == "blocks.2.attn_out")
        reader = "blocks.2.ln1" if norm == "post" else "blocks.2.ln2"
        ln = next(one for one in run["layer_norms"] if one["name"] == reader)
        state = next(s for s in run["stream"]["states"] if s["point"] == "blocks.2.resid_mid")
        expected = [
            state["length"], write["length"], write["ratio"], write["cosine"],
            ln["mean"], ln["var"], ln["scale"], ln["eps_share"],
        ]  # fmt: skip
        shown = [cells[i] for cells in rows.values()]
        assert shown.pop(6).split()[0] == reader
        assert shown[:2] == ["block 2, Add ①", "blocks.2.resid_mid"]
        for text, values in zip(shown[2:], expected, strict=True):
            assert agrees(text, values[3])


@pytest.mark.parametrize("norm", ["post", long("pre")])
def test_the_ledgers_parts_total_the_state(visit: Open, api: Api, agrees: Any, norm: str) -> None:
    page = visit(with_text(norm=norm, position=4, sort="run"))
    page.locator("#ledger .card-more").click()
    book = api("/ledger", text=TEXT, norm=norm, pos=4)
    rows = page.locator("#ledger-table tbody tr")
    expect(rows).to_have_count(len(book["parts"]))
    cells = [row.locator("td.num").all_inner_texts() for row in rows.all()]
    names = [row.get_attribute("data-part") for row in rows.all()]
    assert names == [part["name"] for part in book["parts"]]
    for (share, length), part in zip(cells, book["parts"], strict=True):
        assert agrees(share.removesuffix(" %"), part["share"] * 100)
        assert agrees(length, part["length"])
    total = sum(float(s.removesuffix(" %").replace("\N{MINUS SIGN}", "-")) for s, _ in cells)
    assert total == pytest.approx(100, abs=0.05 * len(cells))
    share, length = page.locator("#ledger-table tfoot td.num").all_inner_texts()
    assert share == "100.0 %" and agrees(length, book["length"])
    assert agrees(re.findall(r"off by (\S+)", text_of(page, "#ledger-check"))[0], book["error"])
    page.locator("#ledger-check summary").click()
    scales = [line.split() for line in page.locator(".stream-scales li").all_inner_texts()]
    assert [name for name, _ in scales] == [one["norm"] for one in book["frozen_scales"]]
    for (_, value), one in zip(scales, book["frozen_scales"], strict=True):
        assert agrees(value, one["scale"])
    if norm == "post":
        assert len(scales) == 8
        assert "Only each norm’s divisor is held at this run’s value" in text_of(
            page, "#ledger-check"
        )


@pytest.mark.long
def test_a_pre_ln_state_on_the_way_meets_no_norm(visit: Open) -> None:
    page = visit(with_text(norm="pre", state="blocks.2.resid_mid", position=4))
    assert "No LayerNorm stands on the way" in text_of(page, "#ledger-check")
    assert page.locator(".stream-scales").count() == 0


@pytest.mark.long
@pytest.mark.parametrize(("group", "field"), [("kind", "by_kind"), long("block", "by_layer")])
def test_groups_are_the_servers(visit: Open, api: Api, agrees: Any, group: str, field: str) -> None:
    page = visit(with_text(group=group, sort="run", position=4))
    lines = api("/ledger", text=TEXT, norm="post", pos=4)[field]
    rows = page.locator("#ledger-table tbody tr").all()
    assert [row.get_attribute("data-part") for row in rows] == [one["name"] for one in lines]
    for row, line in zip(rows, lines, strict=True):
        share, length = row.locator("td.num").all_inner_texts()
        assert agrees(share.removesuffix(" %"), line["share"] * 100)
        assert agrees(length, line["length"])


@pytest.mark.long
@pytest.mark.parametrize(
    ("written", "direction"),
    [
        ("dimension:17", {"dimension": 17}),
        long("token:300", {"token": 300}),
        long("point:blocks.1.attn.result[3,2]", {"point": "blocks.1.attn.result", "index": [3, 2]}),
    ],
)
def test_parts_are_projected_on_a_direction(
    visit: Open, api: Api, agrees: Any, written: str, direction: dict[str, Any]
) -> None:
    page = visit(with_text(direction=written, position=4, norm="pre"))
    book = api("/ledger", text=TEXT, norm="pre", pos=4, direction=direction)
    largest = sorted(book["parts"], key=lambda part: -abs(part["projection"]))[:20]
    rows = page.locator("#ledger-table tbody tr").all()
    assert [row.get_attribute("data-part") for row in rows] == [part["name"] for part in largest]
    for row, part in zip(rows, largest, strict=True):
        assert agrees(row.locator("td.num").first.inner_text(), part["projection"])
    total = page.locator("#ledger-table tfoot td.num").first.inner_text()
    assert agrees(total, book["total"]["projection"])


@pytest.mark.long
def test_bars_lie_on_the_side_of_their_sign(visit: Open) -> None:
    page = visit(with_text(position=4, norm="pre"))
    row = page.locator("#ledger-table tbody tr").filter(
        has=page.locator("code", has_text="ln_final.b")
    )
    zero = row.locator(".stream-bar-zero").bounding_box()
    fill = row.locator(".stream-bar-fill").bounding_box()
    assert zero and fill
    assert row.locator("td.num").first.inner_text().startswith("\N{MINUS SIGN}")
    assert fill["x"] + fill["width"] <= zero["x"] + 1


@pytest.mark.long
def test_shares_over_depth_are_the_ledgers(visit: Open, api: Api, agrees: Any) -> None:
    page = visit(with_text(position=4))
    lines = [t for t in chart(page, "#survival-figure") if t["mode"] == "lines+markers"]
    for line, norm in zip(lines, ("post", "pre"), strict=True):
        depth = api("/ledger", text=TEXT, norm=norm, pos=4)["depth"]
        assert line["y"] == [one["shares"]["embed"] for one in depth]
    post_words = page.locator("#survival-found p").first.inner_text()
    depth = api("/ledger", text=TEXT, norm="post", pos=4)["depth"]
    printed = re.findall(r"\N{MINUS SIGN}?\d+\.\d+(?= %)", post_words)
    assert agrees(printed[0], depth[0]["shares"]["embed"] * 100)
    assert agrees(printed[-1], depth[-1]["shares"]["embed"] * 100)
    page.locator("#kind").select_option("head")
    expect(page.locator("#survival-found")).to_contain_text("heads")
    drawn(page)
    lines = [t for t in chart(page, "#survival-figure") if t["mode"] == "lines+markers"]
    # Where no head has written yet, heads hold nothing.
    assert lines[0]["y"] == [one["shares"].get("head", 0) for one in depth]


def test_outlier_dimensions_are_named_and_lead_to_the_ledger(
    visit: Open, api: Api, agrees: Any
) -> None:
    page = visit(with_text(position=4))
    for norm in ("post", "pre"):
        found = api("/trace", text=TEXT, norm=norm)["stream"]["outliers"]
        box = page.locator(f".stream-outliers[data-norm='{norm}']")
        listed = [d for d in found["dimensions"] if d["outlier"]] or found["dimensions"][:3]
        rows = box.locator("tbody tr").all()
        assert len(rows) == len(listed)
        for row, one in zip(rows, listed, strict=True):
            name, cells = row.locator("th").inner_text(), row.locator("td").all_inner_texts()
            assert name == f"dimension {one['dimension']}"
            assert agrees(cells[0].removesuffix(" %"), max(one["share"]) * 100)
            assert cells[2] == f"{one['states']} / {len(found['points'])}"
        assert str(found["count"]) in box.locator("p").inner_text() or found["count"] == 0
    button = page.locator(".stream-outliers[data-norm='pre'] tbody button").first
    dimension = button.inner_text().split()[-1]
    button.click()
    expect(page.locator("#direction-dimension")).to_have_value(dimension)
    expect(page.locator("#ledger-lead")).to_contain_text("Pre-LN")


def test_everything_can_be_done_by_keyboard(visit: Open, api: Api, agrees: Any) -> None:
    page = visit(with_text(position=2))

    def reach(selector: str) -> None:
        for _ in range(80):
            page.keyboard.press("Tab")
            if page.locator(f"{selector}:focus").count():
                return
        pytest.fail(f"{selector} cannot be reached")

    reach("#tokens [role=radio]")
    page.keyboard.press("ArrowRight")
    expect(page.locator("#tokens [aria-checked=true]")).to_have_attribute("data-index", "3")
    reach("#quantity")
    page.keyboard.press("ArrowDown")
    expect(page.locator("#about")).to_contain_text("write")
    reach("#depth")
    page.keyboard.press("Home")
    expect(page.locator("#depth-place")).to_have_text("where block 0 begins")
    expect(page.locator("#depth")).to_have_attribute("aria-valuetext", "where block 0 begins")
    page.keyboard.press("ArrowRight")
    expect(page.locator("#depth-place")).to_have_text("block 0, Add ①")
    expect(page.locator("#live")).to_have_text("Depth: block 0, Add ①")
    expect(page.locator("#ledger-lead")).to_contain_text("block 0, Add ①")
    page.keyboard.press("End")
    expect(page.locator("#depth-place")).to_have_text("final LayerNorm")
    rows = page.locator("#numbers tbody tr")
    expect(rows.nth(0)).to_contain_text("block 3, LayerNorm ②")
    expect(rows.nth(0)).to_contain_text("final LayerNorm")
    expect(rows.nth(1)).to_contain_text("ln_final.out")
    page.keyboard.press("ArrowLeft")
    expect(page.locator("#depth-place")).to_have_text("block 3, LayerNorm ②")
    expect(rows.filter(has_text="its LayerNorm")).to_contain_text("ln_final (reads it)")
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    expect(page.locator("#ledger-lead")).to_contain_text("block 0, Add ①")
    reach("#group")
    page.keyboard.press("ArrowDown")
    expect(page.locator("#ledger-table tbody tr[data-part='head']")).to_be_visible()
    reach("#direction")
    page.keyboard.press("ArrowDown")
    reach("#direction-dimension")
    page.keyboard.press("Control+a")
    page.keyboard.type("17")
    page.keyboard.press("Enter")
    book = api(
        "/ledger", text=TEXT, norm="post", pos=3, state="blocks.0.resid_mid",
        direction={"dimension": 17},
    )  # fmt: skip
    total = page.locator("#ledger-table tfoot td.num").first
    expect(page).to_have_url(re.compile("direction=dimension%3A17"))
    drawn(page)
    assert agrees(total.inner_text(), book["total"]["projection"])


def test_a_link_shows_the_same_view(visit: Open) -> None:
    fragment = with_text(
        position=4, norm="pre", quantity="cosine", state="blocks.1.resid_mid", kind="mlp",
        group="kind", sort="run", direction="dimension:8",
    )  # fmt: skip
    first = visit(fragment)
    parts = ["#found", "#numbers", "#survival-found", "#ledger-lead", "#ledger-table"]
    seen = [text_of(first, part) for part in parts]
    first.locator("#depth").focus()
    first.keyboard.press("End")
    first.keyboard.press("Home")
    for _ in range(3):
        first.keyboard.press("ArrowRight")
    expect(first).to_have_url(re.compile(r"state=blocks.1.resid_mid"))
    drawn(first)
    second = visit("#" + first.url.partition("#")[2])
    assert [text_of(second, part) for part in parts] == seen
    assert second.locator("#quantity").input_value() == "cosine"
    assert second.locator("input[name=norm]:checked").input_value() == "pre"


@pytest.mark.long
def test_the_placement_changes_the_ledger_and_keeps_the_depth(visit: Open) -> None:
    page = visit(with_text(position=4, state="blocks.1.ln1.out"))
    expect(page.locator("#ledger-lead")).to_contain_text("block 1, LayerNorm ①")
    page.locator("input[name=norm][value=pre]").check(force=True)
    expect(page.locator("#ledger-lead")).to_contain_text("Pre-LN")
    expect(page.locator("#depth-place")).to_have_text("block 1, Add ①")


@pytest.mark.parametrize("lang", ["ja", long("en")])
def test_the_language_changes_in_place(visit: Open, lang: str) -> None:
    page = visit(with_text(position=4), lang=lang)
    table = page.locator("#ledger-table td.num").all_inner_texts()
    other = "ja" if lang == "en" else "en"
    page.locator(f"[data-lang={other}]").click()
    words = {"en": "What happens to the stream", "ja": "ストリームは、深くなるとどうなるか"}[other]
    expect(page.locator("#overview-title")).to_contain_text(words)
    expect(page.locator("#ledger-lead")).to_contain_text(
        {"en": "position 4", "ja": "位置 4"}[other]
    )
    drawn(page)
    assert page.locator("#ledger-table td.num").all_inner_texts() == table
    assert not re.search(r"\b(stream|card)\.\w+\.", page.locator("main").inner_text())
    assert not re.search(r"\{\w+\}", page.locator("main").inner_text())


@pytest.mark.parametrize(
    ("width", "lang", "scheme"),
    [
        (1280, "en", "light"),
        (390, "ja", "dark"),
        *(long(width, "en", "dark") for width in (1280, 390)),
        *(long(width, "ja", "light") for width in (1280, 390)),
        long(390, "en", "light"),
        long(1280, "ja", "dark"),
    ],
)
def test_the_page_holds_what_every_reader_needs(
    visit: Open, width: int, lang: str, scheme: str
) -> None:
    still = {"color_scheme": scheme, "reduced_motion": "reduce"}
    page = visit(with_text(direction="dimension:8"), lang=lang, width=width, **still)
    assert page.evaluate(AUDIT) == []
    wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
    assert wide <= 0


@pytest.mark.long
def test_on_a_phone_bars_and_figures_of_the_ledger_are_in_sight(visit: Open) -> None:
    page = visit(with_text(norm="post"), width=390)
    cell = page.locator("#ledger-table tbody tr").first.locator("td.num").last.bounding_box()
    assert cell and cell["x"] + cell["width"] <= 390
    for selector in ("#curves", "#maps", "#survival-figure"):
        box = page.locator(f"{selector} .plot-area").bounding_box()
        assert box and box["x"] >= 0 and box["x"] + box["width"] <= 390


@pytest.mark.long
def test_a_refused_direction_is_said_beside_the_ledger(
    visit: Open, expected_problems: list[str]
) -> None:
    expected_problems.append("status of 422")
    page = visit(with_text(position=4))
    page.locator("#direction").select_option("point")
    drawn(page)
    box = page.locator("#direction-point")
    box.fill("blocks.9.resid_mid[2]")
    box.press("Enter")
    expect(page.locator("#ledger-problem")).to_contain_text("blocks.9.resid_mid")
    page.locator("#direction").select_option("none")
    expect(page.locator("#ledger-problem")).to_be_hidden()
    expect(page.locator("#ledger-table")).to_have_css("opacity", "1")


@pytest.mark.long
def test_a_text_that_is_too_long_is_refused_with_both_numbers(
    open_page: Open, server: str, expected_problems: list[str]
) -> None:
    expected_problems.append("status of 422")
    page = open_page(base_url=server, viewport=SIZES[1280])
    page.goto("/stream?lang=en#text=" + "the%20" * 700, wait_until="commit")
    expect(page.locator("#text-error")).to_contain_text(re.compile(r"\d.*\d"))
    page.locator("#text").fill("the cat")
    drawn(page)
    page.locator("#text").fill(" ")
    expect(page.locator("#text-error")).to_be_visible()


@pytest.mark.long
def test_random_weights_say_that_only_the_placement_differs(visit: Open) -> None:
    page = visit("#model=textbook&text=the+cat+sat+on+the+mat")
    assert "same random weights" in text_of(page, "#runs-note")
    post_words, pre_words = page.locator("#found p").all_inner_texts()
    assert "Pre-LN only adds" in pre_words and "Post-LN is reset 8 times" in post_words
    assert page.locator("#direction option").all_inner_texts()[-1].startswith("a recorded")


# -- checkpoints -------------------------------------------------------------------------------


def test_a_checkpoints_other_wiring_is_marked(visit: Open, checkpoints: str) -> None:
    page = visit("#model=bert&text=A+A+B&position=1", base=checkpoints)
    assert page.locator("input[name=norm]:checked").input_value() == "post"
    assert "Pre-LN is an experiment here" in text_of(page, "#runs-note")
    lines = [t for t in chart(page, "#curves") if t["mode"] == "lines+markers"]
    assert [line["name"] for line in lines] == ["Post-LN", "Pre-LN (other wiring)"]
    names = [row.get_attribute("data-part") for row in page.locator("#ledger-table tbody tr").all()]
    assert {"embed", "pos_embed", "type_embed", "embed_ln.b"} <= set(names)
    # Through the embedding's norm and both of the block's.
    assert "3" in page.locator("#ledger-check summary").inner_text()
    page.locator("input[name=norm][value=pre]").check(force=True)
    expect(page.locator("#notices")).to_contain_text("experiment")
    expect(page.locator("#ledger-lead")).to_contain_text("Pre-LN (other wiring)")


@pytest.mark.long
def test_gpt2_runs_in_its_own_placement_first(visit: Open, checkpoints: str, agrees: Any) -> None:
    page = visit("#model=gpt2&text=A+B", base=checkpoints)
    assert page.locator("input[name=norm]:checked").input_value() == "pre"
    assert "Post-LN is an experiment here" in text_of(page, "#runs-note")
    book = post(checkpoints, "/ledger", text="A B", model="gpt2", norm="pre", pos=1)
    assert agrees(page.locator("#ledger-table tfoot td.num").last.inner_text(), book["length"])


@pytest.mark.long
def test_parallel_wiring_has_one_placement_and_says_so(visit: Open, checkpoints: str) -> None:
    page = visit("#model=neox&text=A+B+A", base=checkpoints)
    assert "Post-LN is not defined for such a block" in text_of(page, "#runs-note")
    lines = [t for t in chart(page, "#curves") if t["mode"] == "lines+markers"]
    assert [line["name"] for line in lines] == ["Pre-LN"]
    page.locator("#state").select_option("blocks.0.resid_post")
    expect(page.locator("#depth-place")).to_have_text("block 0, Add")
    book = post(
        checkpoints, "/ledger", text="A B A", model="neox", pos=2, state="blocks.0.resid_post"
    )
    drawn(page)
    rows = page.locator("#ledger-table tbody tr")
    expect(rows).to_have_count(len(book["parts"]))
    writes = page.locator("#numbers tbody tr").nth(3).locator("td").inner_text()
    assert "and" in writes  # one Add takes two writes


@pytest.mark.parametrize("lang", ["ja", long("en")])
def test_tokens_show_as_typed_wherever_they_stand(visit: Open, checkpoints: str, lang: str) -> None:
    fragment = f"#model=words&text={quote(HOSTILE)}&position=0"
    page = visit(fragment, base=checkpoints, lang=lang)
    words = HOSTILE.split()
    ticks = page.locator("#maps .xtick text").all_text_contents()
    shown = [text for text in ticks if text]
    assert shown[: len(words)] == words
    assert page.locator("#maps .xtick [style*=bold]").count() == 0
    assert "<b>bold</b>" in text_of(page, "#found")
    assert "<b>bold</b>" in text_of(page, "#ledger-lead")
    assert len(chart(page, "#maps")[0]["z"][0]) == len(words)
    page.locator("#maps .plot-twin summary").click()
    heads = page.locator("#maps .plot-twin th[scope=col]").all_inner_texts()
    assert heads[2:] == [f"{i} {word}" for i, word in enumerate(words)]


@pytest.mark.long
def test_the_placement_may_change_while_a_text_is_on_its_way(visit: Open) -> None:
    page = visit(with_text(position=4))
    held: list[Any] = []
    page.route("**/api/v1/trace", lambda route: held.append(route))
    page.locator("#text").fill("the cat sat")
    expect(page.locator("#busy")).to_be_visible()
    page.locator("input[name=norm][value=pre]").check(force=True)
    # Lets go those that were given up and those that took their place.
    page.unroute("**/api/v1/trace")
    expect(page.locator("#tokens button").last).to_contain_text("sat")
    drawn(page)
    expect(page.locator("#ledger-lead")).to_contain_text("Pre-LN")


@pytest.mark.long
def test_what_is_copied_asks_for_this_ledger(visit: Open, api: Api) -> None:
    page = visit(with_text(position=4, norm="pre", state="blocks.1.out", direction="dimension:8"))
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    for button, start in (("#copy-curl", "curl -s"), ("#copy-python", "import json")):
        page.locator("[popovertarget=copy-menu]").click()
        page.locator(button).click()
        copied = page.evaluate("navigator.clipboard.readText()")
        assert copied.startswith(start) and "/api/v1/ledger" in copied
        if button == "#copy-curl":
            body = json.loads(re.findall(r"-d '(.*)'", copied)[0])
            assert body["state"] == "blocks.1.resid_post"
            book = api("/ledger", **body)
            shown = page.locator("#ledger-table tfoot td.num").first.inner_text()
            assert shown == f"{book['total']['projection']:.4g}".replace("-", "\N{MINUS SIGN}")


@pytest.mark.long
def test_a_lost_server_is_said_and_found_again(visit: Open, expected_problems: list[str]) -> None:
    expected_problems.append("Failed to load resource")
    page = visit(with_text(position=4))
    page.route("**/api/v1/ledger", lambda route: route.abort())
    page.locator("#tokens [data-index='2']").click()
    expect(page.locator("#ledger-problem button")).to_be_visible()
    page.unroute("**/api/v1/ledger")
    page.locator("#ledger-problem button").click()
    expect(page.locator("#ledger-lead")).to_contain_text("position 2")
    expect(page.locator("#ledger-problem")).to_be_hidden()
    drawn(page)


@pytest.mark.long
def test_a_zero_vector_is_met_exactly(visit: Open, checkpoints: str) -> None:
    page = visit("#model=bert&text=A&position=0&state=blocks.0.resid_pre", base=checkpoints)
    assert page.locator("#ledger-table tfoot td.num").last.inner_text() == "0"
    expect(page.locator(".stream-check")).to_have_attribute("data-ok", "true")
