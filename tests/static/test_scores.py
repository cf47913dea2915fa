"""What q·k is divided by, as it is said and as hidden scores are made; values are written out."""

from math import sqrt
from typing import Any

import pytest

ROOT = sqrt(8)


@pytest.mark.parametrize(
    ("divisors", "layer", "text", "kind"),
    [
        ([ROOT, ROOT], 1, "√8", "root"),
        ([1.0, 1.0], 1, "1", "none"),
        ([ROOT, 2 * ROOT, 3 * ROOT], 0, "√8", "root"),
        ([ROOT, 2 * ROOT, 3 * ROOT], 2, "3√8", "layer"),
        ([1.0, 2.0, 3.0], 0, "1", "none"),
        ([1.0, 2.0, 3.0], 2, "3", "layer"),
    ],
)
def test_a_divisor_is_named_as_it_is(
    call: Any, divisors: list[float], layer: int, text: str, kind: str
) -> None:
    model = {"d_head": 8, "score_divisors": divisors}
    found = call("scores.js", "m => m.divisorOf(model, layer)", model=model, layer=layer)
    assert (found["text"], found["kind"]) == (text, kind)
    assert found["value"] == divisors[layer]


def test_a_hidden_score_is_the_dot_product_divided_and_the_others_stay(call: Any) -> None:
    found = call(
        "scores.js",
        "m => m.unmasked(scores, dots, {value: 4})",
        scores=[[0.25, None], [0.5, 0.75]],
        dots=[[1.0, 6.0], [2.0, 3.0]],
    )
    assert found == [[0.25, 1.5], [0.5, 0.75]]
