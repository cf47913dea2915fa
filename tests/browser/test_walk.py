"""Readers' journeys through the explorer: type, choose, step, flip, scrub, take the link along."""

import re
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.long import long

Check = Callable[..., Any]

TEXTS = {"en": "The cat sat.", "ja": "猫が縁側で眠っていた。"}
TITLES = {
    ("en", "post"): "Add ①: x + Attention(x)",
    ("en", "pre"): "Add ①: x + Attention(LayerNorm(x))",
    ("ja", "post"): "Add ①：x ＋ Attention(x)",
    ("ja", "pre"): "Add ①：x ＋ Attention(LayerNorm(x))",
}
MODEL = "model=textbook"


def fragment(page: Page) -> str:
    page.wait_for_timeout(250)  # the address follows a moment after the state
    found: str = page.evaluate("location.hash")
    return found


def figure(page: Page, slot: str) -> str:
    return page.locator(f'[data-slot="{slot}"]').text_content() or ""


@pytest.mark.parametrize(
    ("lang", "norm"), [("ja", "post"), long("en", "pre"), long("ja", "pre"), long("en", "post")]
)
def test_type_choose_and_step_through_a_block_with_the_keyboard(
    explore: Check, settled: Check, trace: Check, agrees: Check, lang: str, norm: str
) -> None:
    page = explore(f"#{MODEL}&norm={norm}&depth=numbers", lang)
    page.keyboard.press("/")
    page.keyboard.press("Control+A")
    page.keyboard.insert_text(TEXTS[lang])
    page.keyboard.press("Enter")
    expect(page.locator("#tokens .label").first).to_have_text(re.compile(f"^{TEXTS[lang][0]}"))
    settled(page)
    page.keyboard.press("Escape")

    reply = trace(text=TEXTS[lang], model="textbook", norm=norm)
    expect(page.locator("#tokens [role=radio]")).to_have_count(len(reply["tokens"]))
    page.locator('#tokens [aria-checked="true"]').focus()
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    expect(page.locator('#tokens [data-index="1"]')).to_have_attribute("aria-checked", "true")
    settled(page)
    lengths = {
        one["point"]: one["length"][1]
        for one in reply["stream"]["states"] + reply["stream"]["writes"]
    }
    sigma = {one["name"]: one["var"][1] ** 0.5 for one in reply["layer_norms"]}
    for slot, point in [
        ("add1", "blocks.0.resid_mid"),
        ("add2", "blocks.0.resid_post"),
        ("attn", "blocks.0.attn_out"),
        ("mlp", "blocks.0.mlp_out"),
    ]:
        shown = re.search(r"\|x\| ([\d.]+)", figure(page, slot))
        assert shown and agrees(shown[1], lengths[point]), slot
    for slot in ("ln1", "ln2"):
        shown = re.search(r"σ ([\d.]+)", figure(page, slot))
        assert shown and agrees(shown[1], sigma[f"blocks.0.{slot}"]), slot

    page.evaluate("document.activeElement.blur()")
    page.locator("#segments").focus()
    page.keyboard.press("Home")
    names = []
    while True:
        settled(page)
        names.append(page.locator("#step-name b").inner_text())
        if page.locator("#segments").get_attribute("aria-valuenow") == page.locator(
            "#segments"
        ).get_attribute("aria-valuemax"):
            break
        page.keyboard.press("ArrowRight")
    assert len(names) == len(set(names)) == 21
    first_norm = next(i for i, name in enumerate(names) if "LayerNorm ①" in name)
    assert (first_norm > names.index("Add ①")) is (norm == "post")
    page.keyboard.press("ArrowRight")
    expect(page.locator("#blocks b")).to_contain_text("1")
    assert "layer=1" in fragment(page)


def test_flipping_in_mid_step_keeps_step_token_block_and_depth(
    explore: Check, settled: Check, agrees: Check, trace: Check
) -> None:
    page = explore(
        f"#text=The+cat+sat.&{MODEL}&norm=post&layer=1&position=2&step=add1&depth=numbers"
    )
    for lang_norm, key in ((("en", "post"), "n"), (("en", "pre"), "n"), (("en", "post"), None)):
        expect(page.locator("#card-title")).to_have_text(TITLES[lang_norm])
        settled(page)
        reply = trace(
            text="The cat sat.",
            model="textbook",
            norm=lang_norm[1],
            include=[f"blocks.1.{p}[2]" for p in ("resid_pre", "attn_out", "resid_mid")],
        )
        rows = page.locator("#card-body tr[data-index]")
        for i in range(8):
            cells = rows.nth(i).locator("td").all_inner_texts()
            for cell, tensor in zip(cells, reply["tensors"].values(), strict=True):
                printed = re.sub(r"^[+=≈\s]+", "", cell)
                assert agrees(printed, tensor["values"][i]), (i, cell)
        state = fragment(page)
        for part in ("layer=1", "position=2", "step=add1", "depth=numbers", f"norm={lang_norm[1]}"):
            assert part in state
        if key:
            page.keyboard.press(key)


def test_the_norm_boxes_travel_and_the_final_norm_appears(explore: Check) -> None:
    page = explore(f"#{MODEL}&norm=post&layer=3")
    x = "slot => document.querySelector(`[data-slot=${slot}] .shape`).getBoundingClientRect().x"
    before = {
        slot: page.evaluate(x, slot) for slot in ("ln1", "ln2", "attn", "mlp", "add1", "add2")
    }
    expect(page.locator('[data-slot="ln_final"]')).to_have_attribute("aria-hidden", "true")
    page.locator("#toggle").get_by_text("Pre-LN").click()
    expect(page.locator('[data-slot="ln_final"]')).not_to_have_attribute("aria-hidden", "true")
    page.wait_for_function(
        "x => document.querySelector('[data-slot=ln1] .shape').getBoundingClientRect().x > x + 60",
        arg=before["ln1"],
    )
    page.wait_for_timeout(800)
    after = {slot: page.evaluate(x, slot) for slot in before}
    assert {slot for slot in before if abs(after[slot] - before[slot]) > 1} == {"ln1", "ln2"}


def test_with_reduced_motion_the_boxes_are_there_at_once(explore: Check, settled: Check) -> None:
    page = explore(f"#{MODEL}&norm=post&layer=1", reduced_motion="reduce")
    places = """() => {
        window.places = [];
        const node = document.querySelector('[data-slot=ln1]');
        new MutationObserver(() => places.push(node.getAttribute('transform')))
            .observe(node, {attributeFilter: ['transform']});
    }"""
    page.evaluate(places)
    page.keyboard.press("n")
    expect(page.locator("#where")).to_contain_text("Pre-LN")
    settled(page)
    assert page.evaluate("new Set(places).size") == 1


def test_scrubbing_the_line_walks_the_block(explore: Check, settled: Check) -> None:
    page = explore(f"#{MODEL}&norm=post")
    bars = page.locator("#segments .segment")
    first, last = bars.first.bounding_box(), bars.last.bounding_box()
    assert first and last
    page.mouse.move(first["x"] + 2, first["y"] + 2)
    page.mouse.down()
    expect(page.locator("#segments")).to_have_attribute("aria-valuenow", "1")
    page.mouse.move(last["x"] + last["width"] / 2, last["y"] + 2, steps=8)
    page.mouse.up()
    settled(page)
    expect(page.locator("#segments")).to_have_attribute("aria-valuenow", "21")
    assert "step=ln2.affine" in fragment(page)


def test_play_walks_by_itself_and_any_step_stops_it(explore: Check) -> None:
    page = explore(f"#{MODEL}&norm=post&step=embed")
    page.locator("#play").click()
    expect(page.locator("#segments")).to_have_attribute("aria-valuenow", "2", timeout=5000)
    page.keyboard.press("ArrowLeft")
    expect(page.locator("#play")).to_have_attribute("aria-pressed", "false")
    expect(page.locator("#segments")).to_have_attribute("aria-valuenow", "1")


def test_the_depth_is_remembered(explore: Check, settled: Check) -> None:
    page = explore(f"#{MODEL}")
    page.keyboard.press("3")
    expect(page.locator("#depth-formula")).to_have_attribute("aria-selected", "true")
    settled(page)
    page.goto("/?lang=en")
    settled(page)
    expect(page.locator("#depth-formula")).to_have_attribute("aria-selected", "true")


@pytest.mark.parametrize("lang", ["ja", long("en")])
def test_a_link_shows_the_same_view_in_a_fresh_browser(
    explore: Check, settled: Check, lang: str
) -> None:
    page = explore(
        f"#text=A+猫+%26+<b>.&{MODEL}&norm=pre&layer=2&head=3&position=1&depth=numbers", lang
    )
    page.keyboard.press("Shift+ArrowRight")
    settled(page)
    copied = f"{fragment(page)}"
    view = """() => ['#where', '#card-title', '#step-name', '#tokens']
        .map((part) => document.querySelector(part).innerText)"""
    there = explore(copied, lang)
    assert there.evaluate(view) == page.evaluate(view)
    assert there.locator("#text").input_value() == "A 猫 & <b>."
    assert fragment(there) == copied


def test_each_box_of_the_river_leads_to_its_step(explore: Check, settled: Check) -> None:
    page = explore(f"#{MODEL}&norm=post&layer=1")
    for slot, step in (("mlp", "mlp.pre"), ("ln2", "ln2.mean"), ("attn", "attn.qkv")):
        page.locator(f'[data-slot="{slot}"]').focus()
        page.keyboard.press("Enter")
        expect(page.locator(f'[data-slot="{slot}"]')).to_have_attribute("aria-current", "step")
        settled(page)
        assert f"step={step}" in fragment(page)


def test_language_and_theme_change_in_place(explore: Check, settled: Check) -> None:
    page = explore(f"#{MODEL}&norm=post&step=ln1.var&position=1", "en")
    page.evaluate("window.sameDocument = true")
    page.locator("[data-lang=ja]").click()
    expect(page.locator("html")).to_have_attribute("lang", "ja")
    expect(page.locator("#card-title")).to_have_text("LayerNorm ①：分散 σ² を求める")
    page.locator("#theme").click()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    settled(page)
    assert page.evaluate("window.sameDocument") is True
    assert "?lang=ja#" in page.url
    assert "step=ln1.var" in fragment(page)
    left = page.evaluate(
        """() => [...document.querySelectorAll('[data-i18n]')]
            .filter((e) => e.textContent === e.dataset.i18n).map((e) => e.dataset.i18n)"""
    )
    assert left == []


def test_positions_blocks_and_heads_have_one_number_everywhere(
    explore: Check, settled: Check, trace: Check
) -> None:
    text = "The cat sat."
    page = explore(f"#text={text}&{MODEL}&norm=post&layer=2&step=attn.softmax&position=1&head=0")
    page.keyboard.press("h")
    settled(page)
    assert "head=1" in fragment(page)
    token = trace(text=text, model="textbook")["tokens"][1]
    expect(page.locator('#tokens [aria-checked="true"] .index')).to_have_text(str(token["index"]))
    expect(page.locator("#where")).to_contain_text("Block 2")
    expect(page.locator("#where")).to_contain_text(f"Position {token['index']}")
    expect(page.locator("#blocks")).to_contain_text("counted from 0")
    copy = page.evaluate(
        """async () => {
            navigator.clipboard.writeText = async (text) => { window.copied = text; };
            document.querySelector('#copy-curl').click();
            await new Promise((done) => setTimeout(done, 100));
            return window.copied;
        }"""
    )
    assert "blocks.2.attn.pattern" in copy


def test_the_first_view_needs_no_request_for_its_numbers(
    open_page: Callable[..., Page], server: str, settled: Check
) -> None:
    page = open_page(base_url=server, viewport={"width": 1280, "height": 860})
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.post_data or ""))
    page.goto("/?lang=en")
    settled(page)
    expect(page.locator("#card-title")).to_have_text(TITLES["en", "post"])
    first = [body for body in asked if body and '"verify":true' not in body]
    assert first == []


@pytest.mark.long
def test_going_back_to_what_was_seen_asks_for_nothing(explore: Check, settled: Check) -> None:
    page = explore(f"#text=The+cat.&{MODEL}&norm=post&step=ln1.mean")
    for key, norm in (("ArrowRight", "Post-LN"), ("ArrowLeft", "Post-LN"), ("n", "Pre-LN")):
        page.keyboard.press(key)
        expect(page.locator("#where")).to_contain_text(norm)
        settled(page)
    asked: list[str] = []

    def note(request: Any) -> None:
        body = request.post_data or ""
        if request.url.endswith("/trace") and '"verify":true' not in body:
            asked.append(body)

    page.on("request", note)
    for norm in ("Post-LN", "Pre-LN"):
        page.keyboard.press("n")
        expect(page.locator("#where")).to_contain_text(norm)
        settled(page)
    assert asked == []


def test_steps_of_the_walk_meet_without_gap(explore: Check) -> None:
    page = explore(f"#{MODEL}&norm=pre&step=embed")
    seen = []
    for _ in range(24):
        seen.append(page.locator("#step-name").inner_text())
        page.keyboard.press("ArrowRight")
    assert all(one != other for one, other in pairwise(seen))
