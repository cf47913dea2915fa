"""Journeys on the bench: typed numbers, both placements, refusals beside their fields, links."""

import json
import re
import urllib.request
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.long import long

Numbers = Callable[[str], list[float]]


@pytest.fixture
def bench(open_page: Callable[..., Page], server: str) -> Callable[..., Page]:
    """`bench("#x=1", lang="ja")` opens the bench in a browser without a past."""

    def go(fragment: str = "", lang: str = "en", **options: Any) -> Page:
        size = {"viewport": {"width": 1280, "height": 860}}
        page = open_page(base_url=server, **{**size, **options})
        page.goto(f"/add-norm?lang={lang}{fragment}")
        return page

    return go


@pytest.fixture(scope="session")
def answer(server: str) -> Callable[..., dict[str, Any]]:
    """`answer(x=[…], …)`: the reply of POST /add-norm."""

    def post(**body: Any) -> dict[str, Any]:
        request = urllib.request.Request(
            f"{server}/api/v1/add-norm",
            json.dumps(body).encode(),
            {"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request) as reply:
            found: dict[str, Any] = json.load(reply)
            return found

    return post


def stage(page: Page, placement: str, name: str) -> str:
    return page.locator(f'#{placement} [data-stage="{name}"] .bench-stage-value').inner_text()


@pytest.mark.parametrize("lang", ["ja", long("en")])
def test_the_bench_opens_on_the_worked_example_with_the_apis_numbers(
    bench: Any, answer: Any, numbers: Numbers, lang: str
) -> None:
    page = bench(lang=lang)
    for placement in ("post", "pre"):
        expect(page.locator(f'#{placement} [data-stage="out"]')).to_be_visible()
        api = answer(x=[1, 2, 3], update=[0.5, -0.5, 1], eps=1e-5, placement=placement)
        shown = page.locator(f"#{placement} .bench-steps > li")
        names = [item.get_attribute("data-stage") for item in shown.all()]
        assert names == api["steps"]
        for name in names:
            printed = numbers(stage(page, placement, name))
            expected = api[name]
            if isinstance(expected, list):
                assert printed == pytest.approx(expected, abs=5e-5), name
            else:
                assert printed[-1] == pytest.approx(expected, abs=5e-5), name
    assert numbers(stage(page, "post", "added")) == [1.5, 1.5, 4]
    assert numbers(stage(page, "post", "normalized")) == [-0.7071, -0.7071, 1.4142]


def test_another_vector_and_another_epsilon_change_every_stage(
    bench: Any, answer: Any, numbers: Numbers
) -> None:
    page = bench()
    expect(page.locator('#post [data-stage="out"]')).to_be_visible()
    page.get_by_label("x (the vector before the sublayer)").fill("2 -1 0.5 8")
    page.get_by_role("textbox", name="Output of F").fill("1, 1, 1, 1")
    page.locator("#eps").fill("0.5")
    page.locator("#gamma").fill("1 2 1 2")
    expect(page.locator('#post [data-stage="added"] .bench-stage-value')).to_have_text(
        "[3, 0, 1.5, 9]"
    )
    page.locator("#beta").fill("0 0 0 1")
    api = answer(
        x=[2, -1, 0.5, 8],
        update=[1, 1, 1, 1],
        eps=0.5,
        gamma=[1, 2, 1, 2],
        beta=[0, 0, 0, 1],
        placement="post",
    )
    expect(page.locator('#post [data-stage="out"] .bench-stage-value')).to_contain_text(
        f"{api['out'][3]:.4f}".rstrip("0")
    )
    assert numbers(stage(page, "post", "out")) == pytest.approx(api["out"], abs=5e-5)
    rows = page.locator(".bench-epsilons tbody tr")
    expect(rows).to_have_count(6)
    expect(page.locator(".bench-epsilons .is-chosen th")).to_have_text("0.5")
    for row in rows.all():
        cells = row.locator("td").all_inner_texts()
        text = row.locator("th").inner_text()
        assert text
        shrunk = numbers(" ".join(cells[2:]))
        assert len(shrunk) == 4
    first, last = (
        numbers(" ".join(row.locator("td").all_inner_texts()[2:]))
        for row in (rows.first, rows.last)
    )
    assert all(abs(b) < abs(a) for a, b in zip(first, last, strict=True))


def test_a_matrix_makes_pre_ln_read_the_normalised_copy(
    bench: Any, answer: Any, numbers: Numbers
) -> None:
    page = bench()
    page.get_by_label("F(v) = Wv + b").check()
    page.locator("#matrix").fill("1 0 0\n0 1 0\n0 0 2")
    page.locator("#bias").fill("0 0 1")
    body = {
        "x": [1, 2, 3],
        "matrix": [[1, 0, 0], [0, 1, 0], [0, 0, 2]],
        "bias": [0, 0, 1],
        "eps": 1e-5,
    }
    for placement in ("post", "pre"):
        api = answer(**body, placement=placement)
        expect(
            page.locator(f'#{placement} [data-stage="update"] .bench-stage-value')
        ).to_contain_text(f"{api['update'][2]:.4f}".rstrip("0").rstrip("."))
        assert numbers(stage(page, placement, "update")) == pytest.approx(api["update"], abs=5e-5)


@pytest.mark.parametrize(
    ("lang", "words"),
    [("en", ["length 2", "has 3"]), ("ja", ["2", "3"])],
)
def test_unequal_lengths_are_said_beside_the_field_with_both_numbers(
    bench: Any, lang: str, words: list[str]
) -> None:
    page = bench("#update=1, 2", lang=lang)
    error = page.locator("#update-error")
    expect(error).to_be_visible()
    for word in words:
        expect(error).to_contain_text(word)
    expect(page.locator("#update")).to_have_attribute("aria-invalid", "true")
    page.locator("#update").fill("1, 2, 3")
    expect(error).to_be_hidden()
    expect(page.locator('#post [data-stage="added"] .bench-stage-value')).to_have_text("[2, 4, 6]")


def test_a_word_is_refused_without_asking_the_server_and_kept(bench: Any) -> None:
    page = bench("#x=1, zwei, 3")
    expect(page.locator("#x-error")).to_have_text("“zwei” is not a number.")
    expect(page.locator("#x")).to_have_value("1, zwei, 3")
    expect(page.locator("#post")).not_to_be_visible()


def test_equal_components_without_epsilon_are_explained_and_with_it_become_zero(bench: Any) -> None:
    page = bench("#x=1, 1&update=1, 1&eps=0")
    expect(page.locator("#post .card-hint")).to_contain_text("no finite numbers")
    page.locator("#eps").fill("1e-5")
    expect(page.locator('#post [data-stage="out"] .bench-stage-value')).to_have_text("[0, 0]")
    expect(page.locator("#post .card-hint")).to_have_count(0)


def test_a_link_shows_the_same_view_and_start_again_returns_to_the_example(bench: Any) -> None:
    page = bench()
    page.locator("#x").fill("4 5")
    page.locator("#update").fill("1 1")
    expect(page.locator('#pre [data-stage="added"] .bench-stage-value')).to_have_text("[5, 6]")
    link = page.url
    other = bench(link[link.index("#") :])
    expect(other.locator('#pre [data-stage="added"] .bench-stage-value')).to_have_text("[5, 6]")
    expect(other.locator("#x")).to_have_value("4 5")
    other.get_by_role("button", name="Start again").click()
    expect(other.locator('#pre [data-stage="added"] .bench-stage-value')).to_have_text(
        "[1.5, 1.5, 4]"
    )
    assert "#" not in other.url


def test_the_vectors_of_a_token_come_over_from_the_explorer(
    explore: Any, trace: Any, numbers: Numbers
) -> None:
    page = explore("#text=The cat&model=textbook&norm=post&step=add1&position=1&depth=words")
    page.get_by_role("link", name=re.compile("bench")).last.click()
    expect(page.locator("#from")).to_be_visible()
    names = [f"blocks.0.{point}[1]" for point in ("resid_pre", "attn_out", "resid_mid", "ln1.out")]
    api = trace(text="The cat", model="textbook", norm="post", include=names)["tensors"]
    for field, name in (("x", names[0]), ("update", names[1])):
        typed = numbers(page.locator(f"#{field}").input_value())
        assert typed == pytest.approx(api[name]["values"], abs=0)
    expect(page.locator('#post [data-stage="out"]')).to_be_visible()
    assert numbers(stage(page, "post", "added")) == pytest.approx(
        api[names[2]]["values"][:6], abs=5e-4
    )
    assert numbers(stage(page, "post", "out")) == pytest.approx(
        api[names[3]]["values"][:6], abs=5e-4
    )


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_shows_the_bench_without_sideways_scrolling(bench: Any, scheme: str) -> None:
    page = bench("", "ja", viewport={"width": 390, "height": 844}, color_scheme=scheme)
    expect(page.locator("#post .plot-area.is-drawn")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    widths = page.evaluate(
        """[...document.querySelectorAll('.plot-area')].map((area) =>
            area.clientWidth - area.querySelector('.main-svg').getBoundingClientRect().width)"""
    )
    assert all(abs(gap) <= 2 for gap in widths)


def test_the_language_changes_in_place_and_keeps_what_was_typed(bench: Any) -> None:
    page = bench("#x=7, 8, 9")
    expect(page.locator('#post [data-stage="mean"]')).to_contain_text("Mean of x + F(x)")
    page.get_by_role("link", name="日本語").click()
    expect(page.locator('#post [data-stage="mean"]')).to_contain_text("x + F(x) の平均")
    expect(page.locator("h1")).to_have_text("Add & Norm を試す")
    expect(page.locator("#x")).to_have_value("7, 8, 9")


def test_a_matrix_starts_as_ones_on_the_diagonal_and_follows_the_size_of_x(bench: Any) -> None:
    page = bench()
    expect(page.locator('#post [data-stage="out"]')).to_be_visible()
    page.get_by_label("F(v) = Wv + b").check()
    expect(page.locator("#matrix")).to_have_value("1 0 0\n0 1 0\n0 0 1")
    added = page.locator('#post [data-stage="added"] .bench-stage-value')
    expect(added).to_have_text("[2, 4, 6]")
    page.locator("#x").fill("3 5")
    expect(page.locator("#matrix")).to_have_value("1 0\n0 1")
    expect(added).to_have_text("[6, 10]")
    page.locator("#matrix").fill("2 0\n0 1")
    expect(added).to_have_text("[9, 10]")
    page.locator("#x").fill("3 5 7")
    expect(page.locator("#matrix")).to_have_value("2 0\n0 1")
    expect(page.locator("#matrix-error")).to_be_visible()


@pytest.mark.parametrize(("lang", "said"), [("ja", "前の入力の結果"), long("en", "last input")])
def test_results_that_do_not_answer_what_is_typed_are_marked(
    bench: Any, lang: str, said: str
) -> None:
    page = bench(lang=lang)
    expect(page.locator('#post [data-stage="out"]')).to_be_visible()
    stale = page.locator("#stale")
    expect(stale).to_be_hidden()
    page.locator("#x").fill("1, あ, 3")
    expect(stale).to_contain_text(said)
    page.locator("#x").fill("1, 5, 3")
    expect(stale).to_be_hidden()


def test_vectors_of_a_run_come_with_the_word_that_its_gamma_and_beta_do_not(bench: Any) -> None:
    page = bench("#x=1, 2&update=1, 1&from=here")
    expect(page.locator("#from")).to_contain_text("here")
    expect(page.locator("#from")).to_contain_text("γ = 1 and β = 0")
