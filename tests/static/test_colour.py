"""Colours of numbers: zero is neutral, no sign is a role's colour, size shows without hue."""

import re
from pathlib import Path
from typing import Any

import pytest

BASE = Path(__file__).parents[2] / "static/css/base.css"
ROLES = ("stream", "attn", "mlp", "norm", "weight")
THEMES = ("light", "dark")


def luminance(rgb: list[float]) -> float:
    """Relative luminance, as WCAG 2 defines it."""
    linear = [
        c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in (v / 255 for v in rgb)
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(a: list[float], b: list[float]) -> float:
    high, low = sorted((luminance(a), luminance(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def role_colours(theme: str) -> dict[str, list[float]]:
    css = BASE.read_text()
    light, dark = css.split('data-theme="dark"', 1)
    block = light if theme == "light" else dark
    found = {}
    for role in ROLES:
        match = re.search(rf"--{role}: #([0-9a-f]{{6}});", block)
        assert match, role
        found[role] = [int(match[1][i : i + 2], 16) for i in (0, 2, 4)]
    return found


@pytest.mark.parametrize("theme", THEMES)
def test_zero_is_neutral_and_the_signs_part_from_there(call: Any, theme: str) -> None:
    zero, minus, plus = call(
        "colour.js", "m => [0, -1, 1].map((v) => m.diverging(v, theme))", theme=theme
    )
    assert max(zero) - min(zero) <= 8
    assert contrast(zero, minus) > 4.5
    assert contrast(zero, plus) > 4.5
    assert minus[0] > minus[2], "brown below zero"
    assert plus[2] > plus[0], "teal-grey above zero"


@pytest.mark.parametrize("theme", THEMES)
def test_no_end_of_the_scale_is_the_colour_of_a_role(call: Any, theme: str) -> None:
    ends = call("colour.js", "m => [m.diverging(-1, theme), m.diverging(1, theme)]", theme=theme)
    for role, colour in role_colours(theme).items():
        for end in ends:
            distance = sum((a - b) ** 2 for a, b in zip(colour, end, strict=True)) ** 0.5
            assert distance > 60, role


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("side", [-1, 1])
def test_lightness_changes_in_one_direction_from_zero_outwards(
    call: Any, theme: str, side: int
) -> None:
    colours = call(
        "colour.js",
        "m => Array.from({length: 41}, (_, i) => m.diverging(side * i / 40, theme))",
        theme=theme,
        side=side,
    )
    steps = [luminance(colour) for colour in colours]
    assert steps == sorted(steps, reverse=theme == "light")


@pytest.mark.parametrize("theme", THEMES)
def test_ink_can_be_read_on_every_colour(call: Any, theme: str) -> None:
    pairs = call(
        "colour.js",
        """m => Array.from({length: 81}, (_, i) => i / 40 - 1).flatMap((v) =>
            [m.diverging(v, theme), m.sequential(v ** 2, theme)].map((c) => [c, m.inkOn(c)]))""",
        theme=theme,
    )
    for colour, ink in pairs:
        rgb = [int(ink[i : i + 2], 16) for i in (1, 3, 5)]
        assert contrast(colour, rgb) >= 4.5, (colour, ink)


def test_one_range_covers_all_operands_and_prints_as_it_is_drawn(call: Any) -> None:
    ranges = call(
        "colour.js",
        """m => [[[1, -2], [0.5, 3.21]], [[-0.0421]], [[0, null]], [[4.7]]]
            .map((operands) => m.sharedRange(...operands))""",
    )
    assert ranges == [3.3, 0.043, 1, 4.7]


def test_a_value_that_is_not_finite_has_a_colour_of_its_own(call: Any) -> None:
    missing, *others = call(
        "colour.js",
        "m => [null, -1, -0.5, 0, 0.5].map((v) => m.colourOf(v, 'diverging', 1, 'light').join())",
    )
    assert missing not in others
