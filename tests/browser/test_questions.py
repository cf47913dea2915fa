"""Each question has a guess, an answer, and links whose pages show what the answer says."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.long import long

AUDIT = (Path(__file__).parent / "audit.js").read_text("utf-8")

Open = Callable[..., Page]


@pytest.fixture
def questions(open_page: Open, server: str) -> Open:
    """`questions("#q3", lang="ja", width=390)` opens the page of questions."""

    def go(fragment: str = "", lang: str = "en", width: int = 1280, **options: Any) -> Page:
        size = {"width": width, "height": 860}
        page = open_page(base_url=server, viewport=size, **options)
        page.goto(f"/questions?lang={lang}{fragment}", wait_until="commit", timeout=120_000)
        expect(page.locator("html[data-ready]")).to_be_attached()
        return page

    return go


def words(page: Page, selector: str) -> str:
    return re.sub(r"\s+", " ", page.locator(selector).inner_text())


def run_experiment(page: Page, name: str) -> None:
    expect(page.locator("html[data-ready='lab']")).to_be_attached()
    page.locator(f"#{name} [data-action=run]").click()
    results = page.locator(f"#{name} [data-part=results] .lab-found")
    expect(results).to_be_visible(timeout=120_000)


# -- the list --------------------------------------------------------------------------------------


@pytest.mark.parametrize("lang", ["ja", long("en")])
def test_eight_questions_are_one_click_from_the_first_page(
    open_page: Open, server: str, lang: str
) -> None:
    page = open_page()
    page.goto(f"{server}/?lang={lang}")
    name = {"en": "Questions", "ja": "問い"}[lang]
    page.get_by_role("navigation").get_by_role("link", name=name, exact=True).click()
    expect(page.locator(".question")).to_have_count(8)
    expect(page.locator(".questions-small dt")).to_have_count(8)
    expect(page.locator("html")).to_have_attribute("lang", lang)


def test_a_guess_opens_the_answer_and_says_how_it_fared(questions: Open) -> None:
    page = questions()
    second = page.locator("#q2")
    answer = second.get_by_text("Both: they are two placements.")
    expect(answer).to_be_hidden()
    second.get_by_role("radio", name="the code").focus()
    page.keyboard.press("Space")
    expect(answer).to_be_visible()
    expect(second.locator(".question-verdict")).to_have_text("You guessed “the code”. Not so.")
    page.keyboard.press("ArrowDown")
    expect(second.locator(".question-verdict.is-right")).to_contain_text("“both”. That is it.")
    expect(page).to_have_url(re.compile("#q2$"))
    expect(page.locator("#live")).to_contain_text("That is it.")
    page.get_by_role("link", name="日本語").click()
    expect(second.locator(".question-verdict")).to_have_text("予想は「どちらも」。そのとおり。")
    expect(second.get_by_text("どちらも正しく、配置がちがう。")).to_be_visible()


def test_who_comes_back_finds_the_question_whose_link_was_followed(questions: Open) -> None:
    page = questions("", "ja", 390)
    page.locator("#q4 label").nth(0).click()
    page.locator("#q2 label").nth(2).click()
    page.locator("#q7 summary").click()
    page.locator("#q4 .question-answer a").first.click()
    expect(page).to_have_url(re.compile("/compare"))
    page.go_back()
    expect(page).to_have_url(re.compile("#q4$"))
    expect(page.locator("#q4 details[open]")).to_be_attached()
    expect(page.locator("#q4 h2")).to_be_in_viewport()
    expect(page.locator("#q4 input").nth(0)).to_be_checked()
    expect(page.locator("#q4 .question-verdict")).to_be_visible()
    expect(page.locator("#q4 .question-verdict")).to_contain_text("ちがう。")
    expect(page.locator("#q2 input").nth(2)).to_be_checked()
    expect(page.locator("#q2 .question-verdict")).to_contain_text("そのとおり。")


def test_a_link_to_a_question_opens_its_answer(questions: Open) -> None:
    page = questions("#q5", "ja")
    expect(page.locator("#q5 details[open]")).to_be_attached()
    expect(page.locator("#q5 h2")).to_be_in_viewport()
    expect(page.locator("details[open]")).to_have_count(1)


@pytest.mark.parametrize("lang", ["ja", long("en")])
@pytest.mark.parametrize("width", [1280, 390])
def test_every_answer_fits_and_has_names(questions: Open, lang: str, width: int) -> None:
    page = questions("", lang, width, color_scheme="dark" if lang == "ja" else "light")
    for summary in page.locator(".question summary").all():
        summary.click()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate(AUDIT) == []


# -- what the linked pages show --------------------------------------------------------------------


@pytest.fixture
def follow(questions: Open) -> Callable[[str, int, str], Page]:
    """`follow("q3", 0, "ja")` goes where the first link of question 3's answer leads."""

    def go(question: str, link: int, lang: str) -> Page:
        page = questions(f"#{question}", lang)
        page.locator(f"#{question} .question-answer li a").nth(link).click()
        expect(page.locator("html")).to_have_attribute("lang", lang)
        return page

    return go


def answer(page: Page, question: str) -> str:
    return words(page, f"#{question} .question-answer")


Follow = Callable[[str, int, str], Page]


@pytest.mark.parametrize("lang", ["ja", long("en")])
def test_question_1_by_hand_has_the_mean_and_the_variance_of_the_answer(
    questions: Open, follow: Follow, lang: str
) -> None:
    said = answer(questions("#q1", lang), "q1")
    page = follow("q1", 2, lang)
    main = page.locator("#main")
    for figure in ("2.3333", "1.3889"):
        assert figure in said
    expect(main).to_contain_text("2.3333")
    expect(main).to_contain_text("1.3889")


@pytest.mark.long
@pytest.mark.parametrize("lang", ["ja", long("en")])
def test_question_1_shows_the_sum_and_three_distributions(follow: Follow, lang: str) -> None:
    page = follow("q1", 0, lang)
    expect(page.locator("#card-body .card-strip-name")).to_have_count(3)
    page = follow("q1", 1, lang)
    expect(page.locator("#card-body .card-ladder li")).to_have_count(4)
    drawn = page.locator("#card-body .plot-area.is-drawn").first
    expect(drawn).to_be_visible()
    axes = "(e) => Object.keys(e._fullLayout).filter((name) => /^xaxis/.test(name)).length"
    assert drawn.evaluate(axes) == 3


@pytest.mark.long
@pytest.mark.parametrize("lang", ["ja", long("en")])
def test_question_2_shows_both_placements_and_who_has_which(follow: Follow, lang: str) -> None:
    page = follow("q2", 0, lang)
    for norm in ("post", "pre"):
        expect(page.locator(f"#river-{norm} .is-moved")).to_have_count(2)
        expect(page.locator(f"#river-{norm} .side-formula code")).to_be_visible()
    page = follow("q2", 1, lang)
    expect(page.locator("#river-pre [data-slot=ln_final].is-active")).to_be_attached()
    page = follow("q2", 2, lang)
    expect(page.locator("#who-title")).to_be_in_viewport()
    for fact in ("f5c9b17e", "d5bdfcc8", "BERT", "GPT-2"):
        expect(page.locator("#who")).to_contain_text(fact)


@pytest.mark.long
@pytest.mark.parametrize("lang", ["ja", long("en")])
@pytest.mark.parametrize(
    ("link", "figures"),
    [(0, ["62.8", "2.3", "19.4", "20.8"]), (1, ["12.4", "9.0", "9.8"])],
    ids=["random", "twins"],
)
def test_question_3_shares_are_those_of_the_stream(
    questions: Open, follow: Follow, lang: str, link: int, figures: list[str]
) -> None:
    said = answer(questions("#q3", lang), "q3")
    survival = follow("q3", link, lang).locator("#survival")
    expect(survival.locator("#survival-found")).to_contain_text(
        "「である」" if lang == "ja" else "“である”"
    )
    survival.locator("summary").last.click()
    expect(survival.locator("tbody tr").first).to_be_visible()
    shares = re.findall(r"[\d.]+(?= ?%)", survival.inner_text())
    for figure in figures:
        assert f"{figure} %" in said
        assert figure in {f"{float(share):.1f}" for share in shares}, figure


@pytest.mark.long
@pytest.mark.parametrize("lang", ["ja", long("en")])
def test_question_4_shows_what_enters_and_that_lengths_differ_again(
    questions: Open, follow: Follow, lang: str
) -> None:
    said = answer(questions("#q4", lang), "q4")
    assert "22.6" in said and "13.86" in said
    page = follow("q4", 0, lang)
    expect(page.locator(".card-strip-name")).to_have_count(7)
    assert "attn.q" in words(page, "#card-body") and "attn.k" in words(page, "#card-body")
    page = follow("q4", 1, lang)
    run_experiment(page, "input-norms")
    expect(page.locator("#input-norms [data-part=results]")).to_contain_text("13.86")


@pytest.mark.long
@pytest.mark.parametrize("lang", ["ja", long("en")])
def test_question_5_divides_by_the_root_of_the_heads_size(follow: Follow, lang: str) -> None:
    page = follow("q5", 1, lang)
    expect(page.locator("#card-body")).to_contain_text("32")
    page = follow("q5", 0, lang)
    run_experiment(page, "dot-product-variance")
    found = page.locator("#dot-product-variance [data-part=results]")
    expect(found).to_contain_text("64")
    expect(found).to_contain_text("8.0")


@pytest.mark.parametrize("lang", ["ja", long("en")])
def test_question_6_losses_are_those_of_the_record(
    questions: Open, follow: Follow, lang: str
) -> None:
    said = answer(questions("#q6", lang), "q6")
    page = follow("q6", 1, lang)
    for figure in ("3.49", "3.44"):
        assert figure in said
        expect(page.locator("#main")).to_contain_text(figure)


@pytest.mark.parametrize("lang", ["ja", long("en")])
def test_questions_7_and_8_figures_stand_on_the_page_of_costs(
    questions: Open, follow: Follow, lang: str
) -> None:
    page = questions("", lang)
    for question in ("q7", "q8"):
        page.locator(f"#{question} summary").click()
    said = {question: answer(page, question) for question in ("q7", "q8")}
    costs = follow("q7", 0, lang)
    expect(costs.locator("#results:not(.is-empty)")).to_be_attached()
    main = words(costs, "#main")
    for question, figures in (
        ("q7", ("3,145,728", "3,152,384", "64 Gi", "32,768")),
        ("q8", ("1.75 Gi", "640 Mi", "16")),
    ):
        for figure in figures:
            assert figure in said[question] and figure in main, figure
    reach = follow("q8", 1, lang)
    expect(reach.locator("#reach")).to_be_in_viewport()


TOP = "element => Math.round(element.getBoundingClientRect().top)"


@pytest.mark.parametrize(
    ("question", "link", "place"),
    [
        ("q3", 1, "#survival"),
        ("q7", 0, "#parameters-section"),
        ("q8", 0, "#table-section"),
        long("q2", 2, "#who"),
        long("q3", 0, "#survival"),
        long("q3", 2, "#depth"),
    ],
)
def test_a_link_brings_into_view_what_it_names(
    follow: Follow, question: str, link: int, place: str
) -> None:
    page = follow(question, link, "ja")
    expect(page.locator("#main[aria-busy=true], .is-empty")).to_have_count(0)
    named = page.locator(place)
    for _ in range(200):
        if abs(named.evaluate(TOP)) < 200:
            break
        page.wait_for_timeout(50)
    assert abs(named.evaluate(TOP)) < 200


def test_a_reader_who_scrolls_is_not_held_where_a_link_led(open_page: Open, server: str) -> None:
    page = open_page(viewport={"width": 1280, "height": 860})
    page.goto(f"{server}/stream?lang=en#see=survival")
    expect(page.locator("#survival-figure .is-drawn")).to_be_visible()
    page.mouse.move(400, 400)
    page.mouse.wheel(0, -10_000)
    expect(page.locator("h1")).to_be_in_viewport()
    page.locator("#survival summary").last.click()
    page.evaluate("scrollTo(0, 0)")
    page.locator("#quantity").select_option("mean")
    expect(page.locator("h1")).to_be_in_viewport()


SMALL = {
    "arrows": ("#card-body", "Query"),
    "heads": ("#card-body", "W_O"),
    "weights": ("#tiles-section", "FFN"),
    "where": ("#card-title", re.compile("Key|q·k")),
    "final": ("#card-title", "LayerNorm"),
    "cross": ("#main", "Add & Norm"),
    "gamma": ("#card-body", "γ"),
    "batch": ("#card-body", "BatchNorm"),
}


@pytest.mark.long
@pytest.mark.parametrize("lang", ["ja", long("en")])
def test_a_smaller_question_leads_to_where_it_is_seen(questions: Open, lang: str) -> None:
    page = questions("", lang)
    for name, (place, seen) in SMALL.items():
        page.locator(f"#small-{name} a").click()
        expect(page.locator(place)).to_contain_text(seen)
        page.go_back()
