"""The geometry of the diagram: flipping the placement moves the norms and nothing else."""

from itertools import combinations
from typing import Any

import pytest

PLAN = {"first": False, "last": False, "final": False, "predictions": False, "seesLater": False}


def plan(river: bool, **changes: Any) -> dict[str, Any]:
    return {**PLAN, "onRiver": {"ln1": river, "ln2": river}, "earlier": 3, "later": 1, **changes}


LAYOUT = "m => m[name](plan)"
NAMES = ["layoutTall", "layoutFlat"]
SIZES = [{}, {"first": True}, {"last": True, "final": True}, {"last": True, "predictions": True}]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("size", SIZES, ids=["middle", "first", "last", "predicting"])
def test_only_the_norms_move_when_the_placement_flips(
    call: Any, name: str, size: dict[str, Any]
) -> None:
    post = call("views/river_layout.js", LAYOUT, name=name, plan=plan(True, **size))
    pre = call("views/river_layout.js", LAYOUT, name=name, plan=plan(False, **size))
    assert (post["width"], post["height"]) == (pre["width"], pre["height"])
    for group in ("paths", "nodes", "marks", "labels"):
        assert post[group].keys() == pre[group].keys()
    moved = {slot for slot in post["nodes"] if post["nodes"][slot] != pre["nodes"][slot]}
    assert moved == {"ln1", "ln2"}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("river", [True, False], ids=["post", "pre"])
@pytest.mark.parametrize("size", SIZES, ids=["middle", "first", "last", "predicting"])
def test_boxes_never_overlap_and_stay_inside(
    call: Any, name: str, river: bool, size: dict[str, Any]
) -> None:
    layout = call("views/river_layout.js", LAYOUT, name=name, plan=plan(river, **size))
    boxes = {slot: box for slot, box in layout["nodes"].items() if box["o"] > 0}
    for slot, box in boxes.items():
        assert box["x"] >= box["w"] / 2 and box["x"] + box["w"] / 2 <= layout["width"], slot
        assert box["y"] >= box["h"] / 2 and box["y"] + box["h"] / 2 <= layout["height"], slot
    for (one, a), (other, b) in combinations(boxes.items(), 2):
        apart = (
            abs(a["x"] - b["x"]) >= (a["w"] + b["w"]) / 2
            or abs(a["y"] - b["y"]) >= (a["h"] + b["h"]) / 2
        )
        assert apart, (one, other)


def test_norms_stand_on_the_river_in_post_and_at_the_mouths_in_pre(call: Any) -> None:
    for river in (True, False):
        layout = call("views/river_layout.js", LAYOUT, name="layoutTall", plan=plan(river))
        nodes = layout["nodes"]
        for norm, sublayer, add in (("ln1", "attn", "add1"), ("ln2", "mlp", "add2")):
            assert nodes[norm]["x"] == nodes[add if river else sublayer]["x"]
            # Read upwards: above the sum in Post-LN, below the sublayer in Pre-LN.
            if river:
                assert nodes[norm]["y"] < nodes[add]["y"]
            else:
                assert nodes[norm]["y"] > nodes[sublayer]["y"]


def test_key_and_value_come_from_every_river_that_may_be_seen(call: Any) -> None:
    masked = call("views/river_layout.js", LAYOUT, name="layoutTall", plan=plan(True))
    open_ = call(
        "views/river_layout.js", LAYOUT, name="layoutTall", plan=plan(True, seesLater=True)
    )

    def taps(layout: dict[str, Any], kind: str) -> int:
        return sum(mark.startswith(f"tap.{kind}") for mark in layout["marks"])

    assert (taps(masked, "q"), taps(masked, "k"), taps(masked, "v")) == (1, 4, 4)
    assert (taps(open_, "q"), taps(open_, "k"), taps(open_, "v")) == (1, 5, 5)


def test_half_way_every_number_is_half_way(call: Any) -> None:
    path = call("views/river_layout.js", "m => m.betweenPaths('M0 10L4 -2', 'M10 20L0 2', 0.5)")
    assert path == "M5 15L2 0"
