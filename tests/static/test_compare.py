"""One walk through two runs, and the chart of where they part; expected values are written out."""

from typing import Any

Step = dict[str, Any]
DIVISION = {"d_head": 4, "score_divisors": [2.0]}


def step(name: str, kind: str, inputs: list[str], output: str) -> Step:
    return {"name": name, "kind": kind, "inputs": inputs, "output": output, "source": None}


def norm(name: str, reads: str) -> Step:
    return step(name, "layer_norm", [reads], f"{name}.out")


def run(placement: str) -> dict[str, Any]:
    """One block, as the API reports its steps."""
    b = "blocks.0."
    attn, mid = step(f"{b}attn", "attention", ["x"], f"{b}attn_out"), f"{b}resid_mid"
    mlp = step(f"{b}mlp", "mlp", ["x"], f"{b}mlp_out")
    add1 = step(mid, "add", ["embed", f"{b}attn_out"], mid)
    add2 = step(f"{b}resid_post", "add", [mid, f"{b}mlp_out"], f"{b}resid_post")
    first = step("embed", "embed", [], "embed")
    exit_ = step("logits", "unembed", [f"{b}resid_post"], "logits")
    if placement == "post":
        middle = [attn, add1, norm(f"{b}ln1", mid), mlp, add2, norm(f"{b}ln2", f"{b}resid_post")]
    else:
        middle = [norm(f"{b}ln1", "embed"), attn, add1, norm(f"{b}ln2", mid), mlp, add2]
        middle.append(norm("ln_final", f"{b}resid_post"))
    return {
        "steps": [first, *middle, exit_],
        "model": {"norm": placement, "causal": True, "n_layers": 1, **DIVISION},
        "request": {"interventions": []},
        "predictions": {},
    }


WALK = """async (m) => {
    const { framesOf } = await import('/static/js/frames.js');
    const walks = runs.map(framesOf);
    const merged = m.mergeWalks(walks);
"""


def walk(call: Any, body: str, **values: Any) -> Any:
    return call(
        "views/compare/walk.js", WALK + body + "}", runs=[run("post"), run("pre")], **values
    )


def test_the_walk_is_that_of_the_first_with_the_final_norm_before_the_exit(call: Any) -> None:
    found = walk(call, "return merged.map(({ id, index }) => [id, index]);")
    assert [index for _, index in found] == list(range(len(found)))
    boxes = list(dict.fromkeys(name.removeprefix("blocks.0.").split(".")[0] for name, _ in found))
    assert boxes == [
        "embed", "attn", "add1", "ln1", "mlp", "add2", "ln2", "ln_final", "unembed",
    ]  # fmt: skip
    assert len({name for name, _ in found}) == len(found)


def test_a_frame_is_found_in_each_run_and_the_final_norm_has_a_stand_in(call: Any) -> None:
    found = walk(
        call,
        """
        const at = (key) => walks.map((frames) => {
            const one = m.inRun(frames, merged.find((frame) => frame.key === key));
            return one && [one.frame.id, one.own];
        });
        return ['add1', 'ln_final.var', 'ln1.affine'].map(at);""",
    )
    assert found == [
        [["blocks.0.add1", True], ["blocks.0.add1", True]],
        [["blocks.0.ln2.var", False], ["ln_final.var", True]],
        [["blocks.0.ln1.affine", True], ["blocks.0.ln1.affine", True]],
    ]


def test_a_difference_is_measured_only_where_both_have_the_value_under_one_name(call: Any) -> None:
    points = [
        {"point": name}
        for name in ("blocks.0.resid_mid", "blocks.0.ln1.out", "blocks.0.attn.pattern", "embed")
    ]
    found = walk(
        call,
        """
        const keys = ['add1', 'ln1.mean', 'ln1.affine', 'attn.softmax', 'ln_final.affine',
            'mlp.out'];
        return keys.map((key) => {
            const frame = merged.find((one) => one.key === key);
            return m.commonPoint(...walks.map((frames) => m.inRun(frames, frame)), points);
        });""",
        points=points,
    )
    # The norm's input is another vector in each run: there is nothing to subtract.
    assert found == [
        "blocks.0.resid_mid", None, "blocks.0.ln1.out", "blocks.0.attn.pattern", None, None,
    ]  # fmt: skip


def test_stations_are_what_each_box_gives_in_the_order_of_the_walk(call: Any) -> None:
    names = ["logits", "blocks.0.attn_out", "blocks.0.resid_mid", "blocks.0.ln1.out", "embed"]
    found = walk(
        call,
        """
        const stations = m.stationsOf(merged, points);
        const scaled = merged.find(({ key }) => key === 'attn.scaled');
        const ffn = merged.find(({ slot }) => slot === 'mlp');
        return [stations.map((one) => [one.difference.point, one.role, one.layer, one.frame.key]),
            m.stationOf(stations, scaled), m.stationOf(stations, ffn)];""",
        points=[{"point": name} for name in names],
    )
    assert found == [
        [
            ["embed", "weight", None, "embed"],
            ["blocks.0.attn_out", "attn", 0, "attn.out"],
            ["blocks.0.resid_mid", "stream", 0, "add1"],
            ["blocks.0.ln1.out", "norm", 0, "ln1.affine"],
            ["logits", "stream", None, "unembed"],
        ],
        1,
        -1,
    ]


PARTING = """async (m) => {
    const figure = m.parting({
        stations, labels, chosen: {station: 1, position: 0},
        words: {value: 'value', cosine: 'cosine', position: 'position', block: '<b>block'},
    });
    const style = {theme: 'light', ink: '#000', line: '#ccc', muted: '#666'};
    const { data, layout } = figure(600, {...style, stream: '#00f', attn: '#f00'});
    const [bars, map] = data;
    return {
        bars: bars.y, colours: bars.marker.color, names: bars.customdata,
        z: map.z, y: map.y, range: [map.zmin, map.zmax],
        ticks: layout.yaxis2.ticktext, type: layout.yaxis2.type,
        blocks: layout.annotations.map((one) => one.text),
    };
}"""


def test_the_chart_escapes_names_and_keeps_equal_tokens_apart(call: Any) -> None:
    stations = [
        {"name": "<i>x", "role": "stream", "block": None, "value": 0.5, "cosines": [1, 0, -1]},
        {"name": "a", "role": "attn", "block": 0, "value": None, "cosines": None},
        {"name": "b", "role": "stream", "block": 0, "value": 2, "cosines": [0.5, None, 0.25]},
    ]
    found = call("figures/parting.js", PARTING, stations=stations, labels=["1", "1", "<b>"])
    assert found["bars"] == [0.5, None, 2]
    assert found["colours"] == ["#00f", "#f00", "#00f"]
    assert found["z"] == [[1, None, 0.5], [0, None, None], [-1, None, 0.25]]
    assert found["y"] == [0, 1, 2] and found["type"] == "linear"
    assert found["ticks"] == ["1", "1", "&lt;b&gt;"]
    assert found["range"] == [-1, 1]
    assert found["names"][0] == "&lt;i&gt;x"
    assert found["blocks"] == ["&lt;b&gt;block 0"]
