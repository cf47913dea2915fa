"""The walk follows the wiring that ran; the expected orders are written out."""

from typing import Any

import pytest


def step(name: str, kind: str, inputs: list[str], output: str) -> dict[str, Any]:
    return {"name": name, "kind": kind, "inputs": inputs, "output": output, "source": None}


EMBEDDING = [
    step("embed", "embed", [], "embed"),
    step("pos_embed", "embed", [], "pos_embed"),
    step("embed_sum", "add", ["embed", "pos_embed"], "embed_sum"),
]


def post_block(layer: int, x: str) -> list[dict[str, Any]]:
    b = f"blocks.{layer}."
    return [
        step(f"{b}attn", "attention", [x], f"{b}attn_out"),
        step(f"{b}resid_mid", "add", [x, f"{b}attn_out"], f"{b}resid_mid"),
        step(f"{b}ln1", "layer_norm", [f"{b}resid_mid"], f"{b}ln1.out"),
        step(f"{b}mlp", "mlp", [f"{b}ln1.out"], f"{b}mlp_out"),
        step(f"{b}resid_post", "add", [f"{b}ln1.out", f"{b}mlp_out"], f"{b}resid_post"),
        step(f"{b}ln2", "layer_norm", [f"{b}resid_post"], f"{b}ln2.out"),
    ]


def pre_block(layer: int, x: str) -> list[dict[str, Any]]:
    b = f"blocks.{layer}."
    return [
        step(f"{b}ln1", "layer_norm", [x], f"{b}ln1.out"),
        step(f"{b}attn", "attention", [f"{b}ln1.out"], f"{b}attn_out"),
        step(f"{b}resid_mid", "add", [x, f"{b}attn_out"], f"{b}resid_mid"),
        step(f"{b}ln2", "layer_norm", [f"{b}resid_mid"], f"{b}ln2.out"),
        step(f"{b}mlp", "mlp", [f"{b}ln2.out"], f"{b}mlp_out"),
        step(f"{b}resid_post", "add", [f"{b}resid_mid", f"{b}mlp_out"], f"{b}resid_post"),
    ]


def reply(norm: str, layers: int = 1, **model: Any) -> dict[str, Any]:
    steps = list(EMBEDDING)
    points = [{"name": "blocks.0.resid_pre", "same_as": "embed_sum"}]
    x = "blocks.0.resid_pre"
    for layer in range(layers):
        steps += post_block(layer, x) if norm == "post" else pre_block(layer, x)
        end = "ln2.out" if norm == "post" else "resid_post"
        points.append({"name": f"blocks.{layer}.out", "same_as": f"blocks.{layer}.{end}"})
        x = f"blocks.{layer + 1}.resid_pre"
        points.append({"name": x, "same_as": f"blocks.{layer}.out"})
    if norm == "pre":
        steps.append(step("ln_final", "layer_norm", [f"blocks.{layers - 1}.out"], "ln_final.out"))
    predictions = model.pop("predictions", None)
    division = {"d_head": 4, "score_divisors": [2.0] * layers}
    if predictions:
        steps.append(step("unembed", "unembed", ["ln_final.out"], "logits"))
    return {
        "request": {"text": "a b"},
        "model": {"norm": norm, "causal": False, "n_layers": layers, **division, **model},
        "tokens": [{"index": i} for i in range(5)],
        "steps": steps,
        "points": points,
        "predictions": predictions,
    }


ATTENTION = ["attn.qkv", "attn.dot", "attn.scaled", "attn.softmax", "attn.z", "attn.out"]
MLP = ["mlp.pre", "mlp.act", "mlp.out"]


def norm(name: str) -> list[str]:
    return [f"{name}.{part}" for part in ("mean", "var", "normalize", "affine")]


ORDER = {
    "post": ["embed", "positions", *ATTENTION, "add1", *norm("ln1"), *MLP, "add2", *norm("ln2")],
    "pre": [
        *["embed", "positions", *norm("ln1"), *ATTENTION, "add1", *norm("ln2"), *MLP, "add2"],
        *norm("ln_final"),
    ],
}


@pytest.mark.parametrize("placement", ["post", "pre"])
def test_the_walk_has_the_order_of_the_wiring(call: Any, placement: str) -> None:
    frames = call("frames.js", "m => m.framesOf(trace)", trace=reply(placement))
    assert [frame["key"] for frame in frames] == ORDER[placement]
    assert [frame["index"] for frame in frames] == list(range(len(frames)))


def test_a_mask_is_a_step_only_where_there_is_one(call: Any) -> None:
    frames = call("frames.js", "m => m.framesOf(trace)", trace=reply("post", causal=True))
    keys = [frame["key"] for frame in frames]
    assert keys[keys.index("attn.scaled") + 1] == "attn.masked"
    assert keys[keys.index("attn.masked") + 1] == "attn.softmax"


def test_a_step_that_does_not_divide_by_the_root_does_not_say_so(call: Any) -> None:
    trace = reply("post", layers=2, score_divisors=[2.0, 4.0])
    first, second = (
        frame
        for frame in call("frames.js", "m => m.framesOf(trace)", trace=trace)
        if frame["key"] == "attn.scaled"
    )
    assert first["title"] == "frame.attention.scaled"
    assert first["name"] == "frame.short.attn.scaled"
    assert second["title"] == "frame.attention.scaled.other"
    assert second["name"] == "frame.short.attn.scaled.other"


def test_predictions_come_last_and_only_where_there_are_some(call: Any) -> None:
    trace = reply("pre", predictions={"top_k": 5, "positions": []})
    frames = call("frames.js", "m => m.framesOf(trace)", trace=trace)
    assert frames[-1]["key"] == "unembed"
    without = call("frames.js", "m => m.framesOf(trace)", trace=reply("pre"))
    assert without[-1]["key"] == "ln_final.affine"


def test_a_frame_names_its_block_its_point_prefix_and_its_recorded_step(call: Any) -> None:
    frames = call("frames.js", "m => m.framesOf(trace)", trace=reply("post", layers=2))
    frame = next(f for f in frames if f["id"] == "blocks.1.attn.scaled")
    assert (frame["layer"], frame["block"], frame["prefix"]) == (1, 1, "blocks.1.")
    assert (frame["kind"], frame["part"], frame["slot"]) == ("attention", "scaled", "attn")
    assert frame["step"]["output"] == "blocks.1.attn_out"
    positions = next(f for f in frames if f["key"] == "positions")
    assert [s["output"] for s in positions["steps"]] == ["pos_embed", "embed_sum"]


def test_embedding_is_walked_with_the_first_block_and_the_exit_with_the_last(call: Any) -> None:
    frames = call("frames.js", "m => m.framesOf(trace)", trace=reply("pre", layers=2))
    blocks = {frame["key"]: frame["block"] for frame in frames}
    assert blocks["embed"] == 0
    assert blocks["ln_final.mean"] == 1


def test_the_title_of_an_add_follows_the_placement(call: Any) -> None:
    for placement in ("post", "pre"):
        frames = call("frames.js", "m => m.framesOf(trace)", trace=reply(placement))
        titles = [f["title"] for f in frames if f["kind"] == "add"]
        assert titles == [f"frame.add.add1.{placement}", f"frame.add.add2.{placement}"]


def test_flipping_keeps_the_step_and_falls_back_to_its_neighbourhood(call: Any) -> None:
    find = "m => m.findFrame(m.framesOf(trace), 0, key).key"
    post = reply("post")
    assert call("frames.js", find, trace=post, key="attn.softmax") == "attn.softmax"
    assert call("frames.js", find, trace=post, key="attn.masked") == "attn.qkv"
    assert call("frames.js", find, trace=post, key="ln_final.var") == "ln2.affine"
    assert call("frames.js", find, trace=post, key="nonsense") == "embed"


def test_next_goes_over_the_border_of_a_block_and_stops_at_the_ends(call: Any) -> None:
    walk = """m => {
        const frames = m.framesOf(trace);
        const last0 = frames.filter((f) => f.block === 0).at(-1);
        return [m.neighbour(frames, last0, 1).id, m.neighbour(frames, frames[0], -1),
                m.neighbour(frames, frames.at(-1), 1)];
    }"""
    assert call("frames.js", walk, trace=reply("post", layers=2)) == [
        "blocks.1.attn.qkv",
        None,
        None,
    ]


def test_box_by_box_lands_on_the_first_step_of_each_box(call: Any) -> None:
    walk = """m => {
        const frames = m.framesOf(trace);
        const from = frames.find((f) => f.key === 'ln1.var');
        return [m.neighbourBox(frames, from, 1).key, m.neighbourBox(frames, from, -1).key];
    }"""
    assert call("frames.js", walk, trace=reply("post")) == ["mlp.pre", "add1"]
    assert call("frames.js", walk, trace=reply("pre")) == ["attn.qkv", "positions"]


@pytest.mark.parametrize(("placement", "on_river"), [("post", True), ("pre", False)])
def test_norms_stand_on_the_river_or_at_the_mouths_as_the_wiring_says(
    call: Any, placement: str, on_river: bool
) -> None:
    for layer in (0, 1):
        plan = call(
            "views/river.js",
            "m => m.planOf(trace, layer, 4)",
            trace=reply(placement, layers=2),
            layer=layer,
        )
        assert plan["onRiver"] == {"ln1": on_river, "ln2": on_river}
    assert plan["final"] is (placement == "pre")
    assert (plan["first"], plan["last"], plan["earlier"], plan["later"]) == (False, True, 3, 0)
