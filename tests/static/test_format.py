"""How numbers and labels are written: a printed sum adds up, every label can be seen."""

import csv
import io
from typing import Any

import pytest

MINUS = "\N{MINUS SIGN}"
DASH = "\N{EM DASH}"


def test_numbers_carry_the_true_minus_and_zero_has_none(call: Any) -> None:
    printed = call("format.js", "m => [-1.25, -0.0004, 0, 2, null].map((v) => m.fixed(v, 2))")
    assert printed == [MINUS + "1.25", "0.00", "0.00", "2.00", DASH]


def test_a_figure_that_stands_alone_keeps_its_significant_digits(call: Any) -> None:
    values = [9.1234, 17.342, 0.012344, 4.83e-7, -1e-5, 0, 123456.7, None]
    printed = call("format.js", "m => v.map((one) => m.compact(one))", v=values)
    assert printed == [
        "9.123", "17.34", "0.01234", f"4.83e{MINUS}7", f"{MINUS}1e{MINUS}5", "0", "123457", DASH,
    ]  # fmt: skip


def test_typed_numbers_lose_zeros_at_the_end_only(call: Any) -> None:
    printed = call("format.js", "m => [1, 100, 0.5, 1e-5, 1.00001, 2000].map((v) => m.brief(v))")
    assert printed == ["1", "100", "0.5", f"1e{MINUS}5", "1", "2000"]


@pytest.mark.parametrize(
    ("terms", "total", "relation"),
    [
        ([0.812, -0.304], 0.508, "="),
        # 0.8124 - 0.3037 = 0.5087, but 0.812 - 0.304 is not 0.509.
        ([0.8124, -0.3037], 0.5087, "≈"),
        ([1 / 3, 1 / 3, 1 / 3], 1, "≈"),
        ([1.5, None], 1.5, "≈"),
    ],
)
def test_a_printed_sum_says_equals_only_where_its_digits_add_up(
    call: Any, terms: list[float | None], total: float, relation: str
) -> None:
    printed = call("format.js", "m => m.printedSum(terms, total, 3)", terms=terms, total=total)
    assert printed["relation"] == relation
    if relation == "=":
        digits = [round(float(t.replace(MINUS, "-")) * 1000) for t in printed["terms"]]
        assert sum(digits) == round(float(printed["total"]) * 1000)


def test_equals_stands_only_before_the_number_itself(call: Any) -> None:
    signs = call(
        "format.js",
        "m => [m.exactly(2, '2.000'), m.exactly(1 / 3, '0.3333'), m.exactly(-0.5, '−0.5')]",
    )
    assert signs == ["=", "≈", "="]


def test_a_tiny_share_is_no_zero(call: Any) -> None:
    assert call("format.js", "m => [0.5, 0.00000508, 0].map(m.share)") == [
        "50.0 %",
        "0.000508 %",
        "0 %",
    ]


def test_every_label_can_be_seen_and_white_space_differs(call: Any) -> None:
    labels = ["", " ", "\n", "\t", "\u3000", "  ", "a", "a\nb"]
    seen = call("format.js", "m => labels.map(m.visible)", labels=labels)
    assert all(one.strip() for one in seen)
    assert len(set(seen)) == len(labels)
    assert seen[6] == "a"


def test_a_csv_file_reads_back_cell_by_cell(call: Any) -> None:
    rows = [
        ["a,b", 'say "x"', 1.5],
        ["line\nbreak", "", -2e-07],
        ["猫", "<b>", 0.1],
        [None, "", 0.0],
    ]
    text = call("format.js", "m => m.csv(['x', 'y', 'z'], rows)", rows=rows)
    assert text.startswith("\ufeff")
    found = list(csv.reader(io.StringIO(text.removeprefix("\ufeff"), newline="")))
    assert found[0] == ["x", "y", "z"]
    assert [(a, b, float(c)) for a, b, c in found[1:]] == [(a or "", b, c) for a, b, c in rows]
