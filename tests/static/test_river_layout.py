"""The geometry of the diagram: flipping the placement moves the norms and nothing else."""

import re
from itertools import combinations
from typing import Any

import pytest

PLAN = {
    "first": False,
    "last": False,
    "final": False,
    "predictions": False,
    "seesLater": False,
    "parallel": False,
    "vectors": ["positions"],
    "embedNorm": False,
}


def plan(river: bool, **changes: Any) -> dict[str, Any]:
    return {**PLAN, "onRiver": {"ln1": river, "ln2": river}, "earlier": 3, "later": 1, **changes}


LAYOUT = "m => m[name](plan)"
NAMES = ["layoutTall", "layoutFlat"]
SIZES: list[dict[str, Any]] = [
    {},
    {"first": True},
    {"last": True, "final": True},
    {"last": True, "predictions": True},
    {"first": True, "embedNorm": True, "vectors": ["positions", "types"]},
    {"first": True, "vectors": []},
]
SIZE_NAMES = ["middle", "first", "last", "predicting", "embedding norm", "no positions"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("size", SIZES, ids=SIZE_NAMES)
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
@pytest.mark.parametrize("size", SIZES, ids=SIZE_NAMES)
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


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("size", SIZES, ids=SIZE_NAMES)
def test_a_parallel_block_has_one_sum_and_two_writes_into_it(
    call: Any, name: str, size: dict[str, Any]
) -> None:
    layout = call(
        "views/river_layout.js", LAYOUT, name=name, plan=plan(False, parallel=True, **size)
    )
    nodes = layout["nodes"]
    assert {slot for slot in nodes if slot.startswith("add")} == {"add"}
    # Both tips stand at the sum's edge, apart from each other.
    tips = [layout["paths"][f"{one}.tip"]["d"] for one in ("attn", "mlp")]
    assert tips[0] != tips[1]
    points = [[float(n) for n in re.findall(r"-?[0-9.]+", tip)][2:4] for tip in tips]
    for x, y in points:
        assert (x - nodes["add"]["x"]) ** 2 + (y - nodes["add"]["y"]) ** 2 < 20**2


@pytest.mark.parametrize("name", NAMES)
def test_the_embedding_shows_the_steps_that_ran(call: Any, name: str) -> None:
    def nodes(**changes: Any) -> set[str]:
        layout = call(
            "views/river_layout.js", LAYOUT, name=name, plan=plan(True, first=True, **changes)
        )
        return set(layout["nodes"]) - {"attn", "mlp", "ln1", "ln2", "add1", "add2"}

    assert nodes() == {"embed", "positions"}
    assert nodes(vectors=[]) == {"embed"}
    assert nodes(embedNorm=True) == {"embed", "positions", "embed_ln"}
