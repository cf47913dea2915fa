"""Modules of the pages of costs and experiments: large numbers, formulas, lines, charts."""

import math
from typing import Any

import pytest


@pytest.mark.parametrize(
    ("value", "binary", "english", "japanese"),
    [
        (512, None, None, None),
        (4608, "4.5 Ki", None, None),
        (262_144, "256 Ki", None, "26.2 万"),
        (1_048_576, "1 Mi", "1.05 million", "105 万"),
        (3_152_384, "3.01 Mi", "3.15 million", "315 万"),
        (569_868_288, "543.5 Mi", "570 million", "5.7 億"),
        (68_719_476_736, "64 Gi", "68.7 billion", "687 億"),
        (274_877_906_944, "256 Gi", "275 billion", "2,750 億"),
        (2**52, "4 Pi", "4,500 trillion", "4,500 兆"),
    ],
)
def test_large_numbers_have_a_binary_unit_and_words(
    call: Any, value: int, binary: str, english: str, japanese: str
) -> None:
    found = call(
        "big.js", "m => [m.binary(value), m.words(value, 'en'), m.words(value, 'ja')]", value=value
    )
    assert found == [binary, english, japanese]


def test_bytes_and_ratios(call: Any) -> None:
    written = call("big.js", "m => [m.bytes(274877906944), m.bytes(12609536), m.bytes(12)]")
    assert written == ["256 GiB", "12.0 MiB", "12 B"]
    ratios = call("big.js", "m => [m.times(32768), m.times(65536 / 3), m.times(256 / 7)]")
    assert ratios == ["32,768", "21,845.3", "36.6"]


@pytest.mark.parametrize(
    ("formula", "notation"),
    [
        ("4nd² + 2n²d", "4nd^{2} + 2n^{2}d"),
        ("2nd·d_ff", '2nd·d_{"ff"}'),
        ("⌈log_k(2n−1)⌉", '⌈"log"_k(2n−1)⌉'),
    ],
)
def test_formulas_of_the_api_become_mathml(call: Any, formula: str, notation: str) -> None:
    text, written = call(
        "views/cost/forms.js",
        "m => [m.formulaOf(formula).textContent, m.notation(formula)]",
        formula=formula,
    )
    assert written == notation
    assert text.replace(" ", "") == formula.translate({ord("²"): "2", ord("_"): None}).replace(
        " ", ""
    )


def test_a_derivation_shows_the_sizes_that_were_put_in(call: Any) -> None:
    counted = {
        "value": 805_306_368,
        "formula": "4nd² + 2n²d",
        "terms": [
            {"coefficient": 4, "powers": {"n": 1, "d": 2}, "part": None, "value": 536_870_912},
            {"coefficient": 2, "powers": {"n": 2, "d": 1}, "part": None, "value": 268_435_456},
        ],
    }
    text = call(
        "views/cost/forms.js",
        "m => m.derivation(counted, {n: 512, d: 512}).textContent.replaceAll(' ', '')",
        counted=counted,
    )
    assert text == "4nd2+2n2d=4·512·5122+2·5122·512=805,306,368"


LINES = """async (m) => {
    const encoder = new TextEncoder();
    const stream = new ReadableStream({
        start(controller) {
            for (const part of parts) controller.enqueue(encoder.encode(part));
            controller.close();
        },
    });
    const before = window.fetch;
    let accept;
    window.fetch = async (_, options) => {
        accept = options.headers.Accept;
        return new Response(stream, { status });
    };
    const reports = [];
    try {
        const result = await m.postLines('/experiments/x', {}, {
            lang: 'en', onProgress: (progress) => reports.push(progress.done),
        });
        return [accept, reports, result];
    } catch (error) {
        return [accept, reports, `${error.name} ${error.code}`];
    } finally {
        window.fetch = before;
    }
}"""


@pytest.mark.parametrize(
    ("parts", "status", "reports", "end"),
    [
        (
            [
                '{"progress":{"done":1,"total":2}}\n{"prog',
                'ress":{"done":2,"total":2}}\n',
                '{"result":7}\n',
            ],
            200,
            [1, 2],
            7,
        ),
        (['{"progress":{"done":1,"total":2}}\n'], 200, [1], "ApiError offline"),
        (['{"error":{"code":"internal"}}\n'], 200, [], "ApiError internal"),
        (['{"error":{"code":"too_large","field":"seeds"}}'], 422, [], "ApiError too_large"),
        (["<html>"], 502, [], "ApiError unexpected_answer"),
    ],
)
def test_lines_of_progress_are_read_wherever_they_are_cut(
    call: Any, parts: list[str], status: int, reports: list[int], end: Any
) -> None:
    found = call("lines.js", LINES, parts=parts, status=status)
    assert found == ["application/x-ndjson", reports, end]


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (0, "0"),
        (1.0642, "1.06"),
        (363_841.2, "363,841"),
        (2_400_000.0, "2,400,000"),
        (2.448e9, "2.45e9"),
        (5.685e-13, "5.68e−13"),
        (None, "–"),
    ],
)
def test_numbers_in_sentences_have_three_digits(call: Any, value: float, told: str) -> None:
    assert call("views/lab/shared.js", "m => m.told(value)", value=value) == told


def test_a_chart_of_costs_marks_crossings_with_their_numbers(call: Any) -> None:
    figure = call(
        "figures/costs.js",
        """m => m.costLines({
            n: [16, 1024], at: 512, words: {x: 'n', y: 'multiply-adds'}, write: String,
            lines: [{name: 'a<b', values: [32, 4096], colour: 'attn'},
                    {name: 'far', values: [64, 1e15], colour: 'ink', runs: true}],
            marks: [{x: 128, y: 512, number: 3, text: 'n = 128'}],
        })(800, {attn: 'red', ink: 'black', surface: 'white', line: 'grey', muted: 'grey'})""",
    )
    lines, mark = figure["data"][:2], figure["data"][2]
    assert [line["name"] for line in lines] == ["a&lt;b", "far"]
    assert mark["text"] == ["3"]
    # The line that runs out of the chart does not flatten the others.
    assert figure["layout"]["yaxis"]["range"][1] < 6
    assert figure["layout"]["shapes"][0]["x0"] == 512


def test_circles_that_would_cover_each_other_stand_apart(call: Any) -> None:
    figure = call(
        "figures/costs.js",
        """m => m.costLines({
            n: [16, 65536], at: 512, words: {x: 'n', y: 'multiply-adds'}, write: String,
            lines: [{name: 'a', values: [1e6, 1e13], colour: 'attn'}],
            marks: [{x: 1024, y: 1e9, number: 1, text: 'n = 1,024'},
                    {x: 1100, y: 1.2e9, number: 2, text: 'n = 1,100'}],
        })(320, {attn: 'red', ink: 'black', surface: 'white', line: 'grey', muted: 'grey'})""",
    )
    _, aside, marks = figure["data"]
    assert marks["x"] == [1024, 1100] and marks["text"] == ["1", ""]
    # From the crossing itself a line leads to its circle, up and to the left.
    assert aside["x"][0] == 1100 and aside["y"][0] == 1.2e9
    assert aside["text"] == ["", "2", ""]
    across = math.log(1024 / aside["x"][1]) / math.log(65536 / 16) * (320 - 80)
    assert across > 15
    assert aside["y"][1] > 1.2e9


def test_curves_keep_gaps_bands_and_one_entry_per_name(call: Any) -> None:
    figure = call(
        "figures/curves.js",
        """m => m.curves({panels: ['left', 'right'].map((title) => ({
            title, x: [1, 2, 4], xTitle: 'x', yTitle: 'y', yKind: 'log',
            lines: [{name: 'post', colour: 'post', values: [1, null, 4], low: [1, 1, 1],
                     high: [4, 4, 4]}],
        }))})(800, {post: 'black', ink: 'black', line: 'grey', muted: 'grey'})""",
    )
    band, line, _, again = figure["data"]
    assert band["x"] == [1, 2, 4, 4, 2, 1]
    assert line["y"] == [1, None, 4] and line["connectgaps"] is False
    assert [line["showlegend"], again["showlegend"]] == [True, False]
    assert again["xaxis"] == "x2"


def test_a_map_leaves_exact_zeros_blank(call: Any) -> None:
    figure = call(
        "figures/curves.js",
        """m => m.logMap({values: [[0, 1e-6, 1]], x: [0, 1, 2], y: [1], xTitle: 'x', yTitle: 'y',
            least: 1e-9, words: {depth: 'd', position: 'p'},
        })(600, {theme: 'light', ink: '', line: '', muted: '', surface: ''})""",
    )
    (trace,) = figure["data"]
    assert trace["z"] == [[None, pytest.approx(-6), 0]]
    assert trace["customdata"][0][0] == "0"
