"""Modules of the page of the stream: the axis of depth, its charts, lines of the ledger."""

import json
import urllib.request
from typing import Any

import pytest

STYLE = {
    "theme": "light", "ink": "#000", "muted": "#555", "line": "#ddd", "stream": "#06c",
    "post": "#111", "pre": "#64d", "surface": "#fff", "font": "sans",
}  # fmt: skip


@pytest.fixture(scope="module")
def traces(server: str) -> dict[str, dict[str, Any]]:
    def post(norm: str) -> dict[str, Any]:
        request = urllib.request.Request(
            f"{server}/api/v1/trace",
            json.dumps({"text": "The cat sat", "norm": norm}).encode(),
            {"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request) as reply:
            answer: dict[str, Any] = json.load(reply)
            return answer

    return {norm: post(norm) for norm in ("post", "pre")}


DEPTH = "views/stream/depth.js"


def test_states_of_both_placements_stand_on_one_axis(call: Any, traces: Any) -> None:
    found = call(
        DEPTH,
        "m => ['post', 'pre'].map((n) => m.statesOf(traces[n]).map((s) => [s.x, s.slot, s.layer]))",
        traces=traces,
    )
    post, pre = found
    assert post[:5] == [
        [0, "start", None],
        [2, "add1", 0],
        [3, "ln1", 0],
        [4, "add2", 0],
        [5, "ln2", 0],
    ]
    assert pre[:4] == [[0, "start", None], [2, "add1", 0], [4, "add2", 0], [7, "add1", 1]]
    assert post[-1] == [20, "ln2", 3]
    assert pre[-2:] == [[19, "add2", 3], [21, "ln_final", None]]
    assert {x for x, slot, _ in pre if slot.startswith("add")} == {
        x for x, slot, _ in post if slot.startswith("add")
    }


def test_norms_stand_before_the_sublayer_in_pre_and_after_the_add_in_post(
    call: Any, traces: Any
) -> None:
    post, pre = call(
        DEPTH,
        """m => ['post', 'pre'].map((n) =>
            m.seriesOf(traces[n], 'scale').map(({x, point}) => [point, x]))""",
        traces=traces,
    )
    assert post[:2] == [["blocks.0.ln1", 3], ["blocks.0.ln2", 5]]
    assert pre[:2] == [["blocks.0.ln1", 1], ["blocks.0.ln2", 3]]
    assert pre[-1] == ["ln_final", 21]


@pytest.mark.parametrize(
    ("quantity", "items", "field"),
    [
        ("length", lambda t: t["stream"]["states"], "length"),
        ("write", lambda t: t["stream"]["writes"], "length"),
        ("ratio", lambda t: t["stream"]["writes"], "ratio"),
        ("cosine", lambda t: t["stream"]["writes"], "cosine"),
        ("mean", lambda t: t["layer_norms"], "mean"),
        ("variance", lambda t: t["layer_norms"], "var"),
        ("scale", lambda t: t["layer_norms"], "scale"),
        ("eps", lambda t: t["layer_norms"], "eps_share"),
    ],
)
@pytest.mark.parametrize("norm", ["post", "pre"])
def test_a_series_is_the_summarys_own_numbers(
    call: Any, traces: Any, norm: str, quantity: str, items: Any, field: str
) -> None:
    trace = traces[norm]
    series = call(DEPTH, "m => m.seriesOf(trace, quantity)", trace=trace, quantity=quantity)
    known = {one.get("point", one.get("name")): one[field] for one in items(trace)}
    assert series
    for one in series:
        assert one["values"] == known[one["point"]]
    assert [one["x"] for one in series] == sorted(one["x"] for one in series)


@pytest.mark.parametrize(
    ("norm", "point", "state"),
    [
        ("post", None, "blocks.3.ln2.out"),
        ("pre", None, "ln_final.out"),
        ("pre", "blocks.1.resid_mid", "blocks.1.resid_mid"),
        ("pre", "blocks.2.resid_pre", "blocks.1.resid_post"),
        ("post", "blocks.2.resid_pre", "blocks.1.ln2.out"),
        ("post", "blocks.1.out", "blocks.1.ln2.out"),
        ("pre", "blocks.1.out", "blocks.1.resid_post"),
        ("pre", "blocks.1.ln1.out", "blocks.1.resid_mid"),
        ("pre", "blocks.1.ln2.out", "blocks.1.resid_post"),
        ("post", "ln_final.out", "blocks.3.ln2.out"),
        ("post", "nonsense", "blocks.3.ln2.out"),
        ("post", "blocks.99.resid_mid", "blocks.3.ln2.out"),
    ],
)
def test_a_state_of_a_link_is_found_in_either_placement(
    call: Any, traces: Any, norm: str, point: str | None, state: str
) -> None:
    found = call(DEPTH, "m => m.stateAt(trace, point).point", trace=traces[norm], point=point)
    assert found == state


def test_the_last_depth_is_the_final_norm_where_any_run_has_one(call: Any, traces: Any) -> None:
    script = """m => { const runs = ['post', 'pre'].map((n) => ({trace: traces[n]}));
        return ['post', 'pre'].map((n) => [
          m.stopsOf(traces[n], runs).slice(-2).map(({point}) => point),
          [null, 'ln_final', 'ln_final.out', 'blocks.1.resid_mid'].map(
            (point) => m.stopAt(traces[n], runs, point).point),
          m.stopsOf(traces[n], runs.slice(0, 1)).at(-1).point]); }"""
    post, pre = call(DEPTH, script, traces=traces)
    named = ["ln_final.out"] * 3 + ["blocks.1.resid_mid"]
    assert post == [["blocks.3.ln2.out", "ln_final.out"], named, "blocks.3.ln2.out"]
    assert pre == [["blocks.3.resid_post", "ln_final.out"], named, "ln_final.out"]


def test_around_a_state_stand_its_write_and_its_norm(call: Any, traces: Any) -> None:
    script = """m => Object.fromEntries(Object.entries(traces).map(([n, trace]) => [n,
        m.statesOf(trace).map((state) => { const a = m.aroundState(trace, state);
          return [state.point, a.writes.map((w) => w.point), a.norm && a.norm.name]; })]))"""
    found = call(DEPTH, script, traces=traces)
    post = {point: (writes, norm) for point, writes, norm in found["post"]}
    pre = {point: (writes, norm) for point, writes, norm in found["pre"]}
    assert post["blocks.1.resid_mid"] == (["blocks.1.attn_out"], "blocks.1.ln1")
    assert post["blocks.1.ln1.out"] == ([], "blocks.1.ln1")
    assert pre["blocks.1.resid_mid"] == (["blocks.1.attn_out"], "blocks.1.ln2")
    assert pre["blocks.0.resid_post"] == (["blocks.0.mlp_out"], "blocks.1.ln1")
    assert pre["blocks.3.resid_post"] == (["blocks.3.mlp_out"], "ln_final")
    assert pre["ln_final.out"] == ([], "ln_final")
    assert pre["blocks.0.resid_pre"][0] == ["pos_embed"]


def curve(call: Any, width: int = 900, **changes: Any) -> Any:
    points = [
        {"x": x, "label": f"<b>{x}</b>", "values": [float(x), 1.0, 2.0]} for x in (0, 2, 4, 7, 9)
    ]
    options = {
        "runs": [
            {"norm": "post", "name": "Post-LN", "experiment": False, "points": points},
            {"norm": "pre", "name": "Pre-LN (other wiring)", "experiment": True, "points": points},
        ],
        "chosen": 0, "cursor": 4, "zero": True,
        "blocks": [{"name": "block 0", "short": "0", "from": 0.5, "to": 5.5},
                   {"name": "block 1", "short": "1", "from": 5.5, "to": 10.5}],
        "ticks": [{"x": 2, "text": "Add"}, {"x": 4, "text": "Add"}],
        "words": {"value": "<i>length", "depth": "block"},
    } | changes  # fmt: skip
    return call(
        "figures/depth.js", "m => m.depthCurves(options)(width, style)",
        options=options, width=width, style=STYLE,
    )  # fmt: skip


@pytest.mark.parametrize("width", [1200, 900, 620, 340])
def test_names_at_the_ends_of_curves_have_room_and_do_not_touch(call: Any, width: int) -> None:
    spec = curve(call, width)
    names = [a for a in spec["layout"]["annotations"] if "-LN" in a["text"]]
    assert len(names) == 2
    margin = spec["layout"]["margin"]
    inner = spec["layout"]["height"] - margin["t"] - margin["b"]
    # Both curves end in one point, and yet:
    assert abs(names[0]["y"] - names[1]["y"]) * inner >= 15
    for name in names:
        if name["x"] == 1:
            assert margin["r"] >= 8 + len(name["text"]) * 7
        assert (name["y"] - 1) * inner <= margin["t"]


def test_placements_differ_by_marker_and_an_experiment_by_its_dashes(call: Any) -> None:
    lines = [d for d in curve(call)["data"] if d["mode"] == "lines+markers"]
    assert len({line["marker"]["symbol"] for line in lines}) == 2
    assert [line["line"]["dash"] for line in lines] == ["solid", "dash"]
    assert lines[0]["line"]["color"] == STYLE["post"]
    assert lines[0]["y"] == [0, 2, 4, 7, 9]
    assert "&lt;b&gt;0" in lines[0]["customdata"][0]
    assert "<i>" not in lines[0]["hovertemplate"]


def test_a_logarithmic_axis_leaves_zero_out(call: Any) -> None:
    spec = curve(call, zero=False, log=True)
    assert spec["layout"]["yaxis"]["type"] == "log"
    line = next(d for d in spec["data"] if d["mode"] == "lines+markers")
    assert line["y"][0] is None
    assert line["y"][1:] == [2, 4, 7, 9]


def test_many_tokens_become_a_band(call: Any) -> None:
    points = [{"x": x, "label": "", "values": [x + i for i in range(80)]} for x in (0, 2)]
    runs = [{"norm": "post", "name": "Post-LN", "experiment": False, "points": points}]
    band = curve(call, runs=runs)["data"][0]
    assert band["fill"] == "toself"
    assert band["y"] == [79, 81, 2, 0]


def maps(
    call: Any, width: int, labels: list[str], posts: Any = (0, 2, 3), pres: Any = (0, 2)
) -> Any:
    def panel(norm: str, xs: Any) -> dict[str, Any]:
        rows = [
            {"label": f"{norm}{x}", "x": x, "values": [float(x + i) for i in range(len(labels))]}
            for x in xs
        ]
        return {"title": norm, "norm": norm, "points": rows}

    options = {
        "panels": [panel("post", posts), panel("pre", pres)], "kind": "magnitude", "range": 6,
        "labels": labels, "chosen": 1, "cursor": 3, "words": {"value": "v", "position": "p"},
    }  # fmt: skip
    return call(
        "figures/depth_maps.js", "m => m.depthMaps(options)(width, style)",
        options=options, width=width, style=STYLE,
    )  # fmt: skip


def test_both_maps_have_one_range_and_one_depth_in_one_row(call: Any) -> None:
    spec = maps(call, 1000, ["a", "b"])
    first, second = (one for one in spec["data"] if one["type"] == "heatmap")
    written = [one for one in spec["data"] if one["type"] == "scatter"]
    assert [len(one["text"]) for one in written] == [6, 4]
    assert written[0]["text"][:3] == ["0.00", "1.00", "2.00"]
    assert (first["zmin"], first["zmax"]) == (second["zmin"], second["zmax"]) == (0, 6)
    assert first["z"] == [[0, 1], [2, 3], [3, 4]]
    assert second["z"] == [[0, 1], [2, 3], [None, None]]
    assert spec["layout"]["yaxis2"]["ticktext"] == ["pre0", "pre2"]
    narrow = maps(call, 340, ["a", "b"])
    assert narrow["data"][1]["z"] == [[0, 1], [2, 3]]


@pytest.mark.parametrize(
    "labels",
    [
        ["the", "cat", "the", "cat"],
        ["1", "2", "10"],
        ["<b>bold</b>", "&lt;b&gt;"],
        ["a", "\n", " "],
    ],
)
def test_every_token_has_its_column_and_shows_as_typed(call: Any, labels: list[str]) -> None:
    spec = maps(call, 1000, labels)
    axis = spec["layout"]["xaxis"]
    assert axis["type"] == "linear"
    assert axis["tickvals"] == list(range(len(labels)))
    assert all(text for text in axis["ticktext"])
    for label, text in zip(labels, axis["ticktext"], strict=True):
        assert "<" not in text
        if label.startswith("<"):
            assert text == label.replace("<", "&lt;").replace(">", "&gt;")


@pytest.mark.parametrize(
    ("written", "direction"),
    [
        (None, None),
        ("dimension:17", {"dimension": 17}),
        ("token:300", {"token": 300}),
        ("point:blocks.0.attn.result[3,2]", {"point": "blocks.0.attn.result", "index": [3, 2]}),
        ("point:embed[4]", {"point": "embed", "index": [4]}),
    ],
)
def test_a_direction_of_a_link_is_what_the_api_takes(
    call: Any, written: Any, direction: Any
) -> None:
    found = call(
        "views/stream/ledger.js",
        "m => [m.directionOf(written), written === null || m.DIRECTION.test(written)]",
        written=written,
    )
    assert found == [direction, True]


def test_lines_are_sorted_by_what_they_contribute(call: Any) -> None:
    parts = [
        {"name": "a", "share": 0.1, "projection": -9},
        {"name": "b", "share": -0.5, "projection": 1},
        {"name": "c", "share": 1.4, "projection": 0},
    ]
    book = {"parts": parts, "by_kind": parts[:1], "by_layer": parts[1:], "request": {}}
    script = """m => [['size', 'part'], ['run', 'part'], ['size', 'kind'], ['run', 'block']].map(
        ([sort, group]) => m.linesOf(book, {sort, group}).map((line) => line.name).join(''))"""
    none = book | {"request": {"direction": None}}
    along = book | {"request": {"direction": {"dimension": 1}}}
    module = "views/stream/ledger.js"
    assert call(module, script, book=none) == ["cba", "abc", "a", "bc"]
    assert call(module, script, book=along)[0] == "abc"
