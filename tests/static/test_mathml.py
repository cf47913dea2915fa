"""Formulas: MathML from a small notation, with brackets where a negative operand needs them."""

from typing import Any

import pytest

MATH = 'm => new XMLSerializer().serializeToString(m.m`{formula}`).replace(/ xmlns="[^"]*"/g, \'\')'


def markup(call: Any, formula: str, **values: Any) -> str:
    text: str = call("mathml.js", MATH.replace("{formula}", formula), **values)
    return text


def test_fractions_roots_and_indices_nest(call: Any) -> None:
    assert markup(call, r"\frac{x_i − μ}{\sqrt{σ^2 + ε}}") == (
        "<mfrac><mrow><msub><mi>x</mi><mi>i</mi></msub><mo>−</mo><mi>μ</mi></mrow>"
        "<mrow><msqrt><mrow><msup><mi>σ</mi><mn>2</mn></msup><mo>+</mo><mi>ε</mi></mrow></msqrt></mrow></mfrac>"
    )


@pytest.mark.parametrize(
    ("formula", "text"),
    [
        ("${a} + ${b} = ${b}", "0.5+(−0.25)=−0.25"),
        ("${b}^2", "(−0.25)2"),
        ("e^${b}", "e−0.25"),
        ("a · ${b} − ${b}", "a·(−0.25)−(−0.25)"),
    ],
)
def test_a_negative_number_has_brackets_only_as_an_operand(
    call: Any, formula: str, text: str
) -> None:
    shown = call("mathml.js", f"m => m.m`{formula}`.textContent", a="0.5", b="−0.25")
    assert shown == text


def test_a_power_of_ten_is_written_as_one(call: Any) -> None:
    assert markup(call, "ε + ${eps}", eps="1e−5") == (
        "<mrow><mi>ε</mi><mo>+</mo><msup><mn>10</mn>"
        '<mrow><mo form="prefix">−</mo><mn>5</mn></mrow></msup></mrow>'
    )


def test_markup_in_a_value_or_a_name_stays_text(call: Any) -> None:
    tags = call(
        "mathml.js",
        """m => [...m.m`${m.name('<img src=x>')} + ${'<b>1</b>'}`.querySelectorAll('*')]
            .map((e) => e.tagName)""",
    )
    assert set(tags) <= {"mi", "mo", "mn", "mrow"}
