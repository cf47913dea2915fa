"""What is typed on the bench: many spellings of numbers are read, a fault names field and word."""

import contextlib
import io
import json
from typing import Any

import pytest


@pytest.mark.parametrize(
    "text",
    ["1, -2, 0.5", "1 -2 .5", "[1, -2, 5e-1]", "１，−２、０．５", "1;-2;0.5", "\t1\n-2\n0.50 "],
)
def test_numbers_are_read_in_every_usual_spelling(call: Any, text: str) -> None:
    assert call("bench_input.js", "m => m.parseNumbers(text)", text=text) == [1, -2, 0.5]


@pytest.mark.parametrize("word", ["a", "1e", "0x10", "NaN", "Infinity", "1e999", "1.2.3", "--1"])
def test_what_is_no_finite_number_is_refused_by_name(call: Any, word: str) -> None:
    found = call(
        "bench_input.js",
        """m => { try { return m.parseNumbers(`1, ${word}`); }
                 catch (error) { return [error.code, error.params.text]; } }""",
        word=word,
    )
    assert found == ["not_a_number", word]


@pytest.mark.parametrize("text", ["1 2\n3 4", "[[1, 2], [3, 4]]", "1, 2; 3, 4", "1 2\n\n3 4\n"])
def test_a_matrix_is_read_row_by_row(call: Any, text: str) -> None:
    assert call("bench_input.js", "m => m.parseRows(text)", text=text) == [[1, 2], [3, 4]]


START = {
    "x": "1, 2, 3", "kind": "update", "update": "0.5, -0.5, 1", "matrix": "", "bias": "",
    "eps": "1e-5", "gamma": "", "beta": "",
}  # fmt: skip

REQUEST = """m => { try { return m.requestOf(fields); }
                    catch (error) { return [error.field, error.code]; } }"""


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({}, {"x": [1, 2, 3], "update": [0.5, -0.5, 1], "eps": 1e-5}),
        ({"kind": "matrix", "matrix": "2", "x": "3"}, {"x": [3], "matrix": [[2]], "eps": 1e-5}),
        ({"kind": "matrix", "matrix": "1 2\n3", "x": "1 2"}, ["matrix[1]", "lengths_differ"]),
        ({"kind": "matrix", "matrix": "1 2 3"}, ["matrix", "lengths_differ"]),
        ({"update": "1 2"}, ["update", "lengths_differ"]),
        ({"bias": "9"}, {"x": [1, 2, 3], "update": [0.5, -0.5, 1], "eps": 1e-5}),
        (
            {"gamma": "2 2 2", "eps": "0"},
            {"x": [1, 2, 3], "update": [0.5, -0.5, 1], "eps": 0, "gamma": [2, 2, 2]},
        ),
        ({"x": " "}, ["x", "empty"]),
        ({"kind": "matrix"}, ["matrix", "empty"]),
        ({"eps": "1 2"}, ["eps", "one_number"]),
        ({"beta": "b"}, ["beta", "not_a_number"]),
    ],
)  # fmt: skip
def test_fields_become_a_request_or_a_fault_of_one_field(
    call: Any, changed: dict[str, str], expected: Any
) -> None:
    assert call("bench_input.js", REQUEST, fields={**START, **changed}) == expected


@pytest.mark.parametrize(
    "body",
    [
        {"x": [1, 2, 3], "update": [0.5, -0.5, 1], "eps": 1e-5},
        {"x": [1, -2], "update": [0, 4], "eps": 0.5, "gamma": [2, 3], "beta": [0.25, -1]},
        {"x": [1, -2], "matrix": [[1, 2], [0, -1]], "bias": [0.5, 0], "eps": 1e-12},
    ],
)
def test_the_copied_python_gives_what_the_model_gives(call: Any, body: dict[str, Any]) -> None:
    from model.add_norm import add_norm

    program = call("bench_input.js", "m => m.asPython(body)", body=body)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(program, {})
    post, pre = map(json.loads, printed.getvalue().splitlines())
    vectors = {name: body.get(name) for name in ("update", "matrix", "bias", "gamma", "beta")}
    assert post == pytest.approx(add_norm(body["x"], "post", body["eps"], **vectors).result)
    assert pre == pytest.approx(add_norm(body["x"], "pre", body["eps"], **vectors).result)
