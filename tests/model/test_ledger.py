"""The ledger: parts total the state, each part against NumPy, and shares over depth."""

import numpy as np
import pytest
import torch
from torch import Tensor

from model import hooks
from model.analysis.carried import carried
from model.analysis.ledger import is_needed, ledger
from model.config import ModelConfig
from model.errors import ModelError
from model.hooks import Recorder, recording
from model.inspections import Direction, inspect_ledger
from model.points import catalogue
from model.selection import Include
from model.trace import TraceRequest
from model.transformer import Transformer, with_weights

torch.set_num_threads(1)

NORMS = pytest.mark.parametrize("norm", ["pre", "post"])
N = 7


def config(norm="post", **changes) -> ModelConfig:
    sizes = {"d_model": 48, "n_heads": 6, "d_mlp": 80, "n_layers": 3, "n_ctx": 64, "d_vocab": 97}
    return ModelConfig(**{**sizes, "norm": norm, "unembed": True, **changes})


def uneven_weights(config: ModelConfig, dtype=torch.float32) -> dict[str, Tensor]:
    """Every parameter random, norms and biases too, so that nothing cancels or is left out."""
    draw = torch.Generator().manual_seed(7)
    with torch.device("meta"):
        shapes = {name: p.shape for name, p in Transformer(config).named_parameters()}
    return {
        name: (
            torch.randn(shape, generator=draw, dtype=torch.float64) * 0.3 + name.endswith(".w")
        ).to(dtype)
        for name, shape in shapes.items()
    }


def recorded(config: ModelConfig, weights: dict[str, Tensor], n: int = N):
    model = with_weights(config, weights)
    hooks.attach(model)
    ids = torch.randint(config.d_vocab, (n,), generator=torch.Generator().manual_seed(n))
    keep = frozenset(p for p in catalogue(config, n) if is_needed(p))
    with torch.no_grad(), recording(Recorder(keep)) as recorder:
        model(ids)
    return model, recorder


def states(config: ModelConfig, recorder: Recorder) -> list[str]:
    """Every vector of the model that a run names, under each of its names."""
    named = {step.output for step in recorder.steps} | recorder.same_as.keys()
    return [point for point in catalogue(config, N) if point in named]


@NORMS
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("final_norm", [False, True])
def test_parts_total_every_state_to_1e_12_in_float64(norm, causal, final_norm):
    torch.set_default_dtype(torch.float64)
    try:
        c = config(norm, causal=causal, final_norm=final_norm)
        model, recorder = recorded(c, uneven_weights(c, torch.float64))
    finally:
        torch.set_default_dtype(torch.float32)
    named = states(c, recorder)
    assert {"embed_sum", "blocks.0.attn_out", "blocks.1.resid_mid", "blocks.2.out"} <= set(named)
    for state in named:
        for pos in (0, N - 1):
            book = ledger(model, recorder, state, pos)
            assert book.error < 1e-12, state
            assert sum(part.share for part in book.parts) == pytest.approx(1, abs=1e-11)
            assert book.total.length == pytest.approx(book.length, rel=1e-11)


@NORMS
def test_parts_total_every_state_of_a_float32_run(norm):
    c = config(norm, n_layers=12)
    model, recorder = recorded(c, uneven_weights(c))
    some = states(c, recorder)[::7]
    assert max(ledger(model, recorder, state, 3).error for state in some) < 1e-5


def test_layer_norms_of_the_parts_do_not_total_the_layer_norm_of_the_sum():
    c = config("post")
    model, recorder = recorded(c, uneven_weights(c))
    book = ledger(model, recorder, "blocks.0.resid_mid", 2)
    assert book.error < 1e-5
    skip = recorder.values["embed_sum"][2].double()
    write = recorder.values["blocks.0.attn_out"][2].double()
    out = recorder.values["blocks.0.ln1.out"][2].double()
    wrong = sum(model.blocks[0].ln1.double()(part) for part in (skip, write))
    assert float((wrong - out).norm()) > 1


def numpy_of(tensor: Tensor) -> np.ndarray:
    return tensor.detach().double().numpy()


@NORMS
def test_each_part_is_what_numpy_computes(norm):
    c = config(norm, n_layers=2)
    weights = uneven_weights(c)
    model, recorder = recorded(c, weights)
    w = {name: numpy_of(value) for name, value in weights.items()}
    v = {name: numpy_of(value) for name, value in recorder.values.items()}
    pos, parts = 4, {}
    sublayers = [(layer, name) for layer in range(2) for name in ("attn", "mlp")]
    stream = {"embed": v["embed"][pos], "pos_embed": v["pos_embed"][pos]}

    def normed(vectors, name, x):
        scale = np.sqrt(np.var(x) + c.eps)
        gamma, beta = w[f"{name}.w"], w[f"{name}.b"]
        passed = {n: (u - u.mean()) / scale * gamma for n, u in vectors.items()}
        return passed | {f"{name}.b": beta}

    for layer, sublayer in sublayers:
        at = f"blocks.{layer}."
        if sublayer == "attn":
            matrix, z = w[f"{at}attn.W_O.weight"], v[f"{at}attn.z"][pos].reshape(-1)
            for head in range(c.n_heads):
                only = np.zeros_like(z)
                only[head * c.d_head : (head + 1) * c.d_head] = z[
                    head * c.d_head : (head + 1) * c.d_head
                ]
                stream[f"L{layer}H{head}"] = matrix @ only
            stream[f"{at}attn.b_O"] = w[f"{at}attn.W_O.bias"]
            total, ln = "resid_mid", "ln1"
        else:
            hidden = v[f"{at}mlp.post"][pos]
            stream[f"{at}mlp"] = w[f"{at}mlp.W_out.weight"] @ hidden
            stream[f"{at}mlp.b_out"] = w[f"{at}mlp.W_out.bias"]
            total, ln = "resid_post", "ln2"
        if norm == "post":
            stream = normed(stream, at + ln, v[at + total][pos])
    if norm == "pre":
        stream = normed(stream, "ln_final", v["blocks.1.resid_post"][pos])
    parts = stream

    state = "ln_final.out" if norm == "pre" else "blocks.1.ln2.out"
    direction = torch.randn(c.d_model, generator=torch.Generator().manual_seed(1))
    book = ledger(model, recorder, state, pos, direction)
    whole = v[state][pos]
    assert {part.name for part in book.parts} == parts.keys()
    for part in book.parts:
        u = parts[part.name]
        assert part.length == pytest.approx(np.linalg.norm(u), rel=1e-5)
        assert part.projection == pytest.approx(u @ numpy_of(direction), rel=1e-4, abs=1e-5)
        assert part.share == pytest.approx(u @ whole / (whole @ whole), rel=1e-4, abs=1e-6)
    assert book.total.projection == pytest.approx(whole @ numpy_of(direction), rel=1e-4)


@NORMS
def test_every_part_names_its_author(norm):
    c = config(norm, n_layers=2)
    model, recorder = recorded(c, uneven_weights(c))
    book = ledger(model, recorder, "blocks.1.out", 0)
    kinds: dict[str, int] = {}
    for part in book.parts:
        kinds[part.kind] = kinds.get(part.kind, 0) + 1
    betas = {"beta": 4} if norm == "post" else {}
    assert kinds == {"embed": 1, "pos_embed": 1, "head": 12, "mlp": 2, "bias": 4} | betas
    heads = [(part.layer, part.head) for part in book.parts if part.kind == "head"]
    assert sorted(heads) == [(layer, head) for layer in range(2) for head in range(6)]
    assert {part.name: part.layer for part in book.parts}["blocks.1.mlp.b_out"] == 1


@NORMS
def test_groups_are_their_parts_added_up(norm):
    c = config(norm, n_layers=2)
    model, recorder = recorded(c, uneven_weights(c))
    state = "ln_final.out" if norm == "pre" else "blocks.1.out"
    direction = torch.randn(c.d_model, generator=torch.Generator().manual_seed(1))
    axes = torch.eye(c.d_model, dtype=torch.float64)
    book = ledger(model, recorder, state, 4, direction)
    vectors: dict[str, list[float]] = {part.name: [] for part in book.parts}
    for axis in axes:
        for part in ledger(model, recorder, state, 4, axis).parts:
            vectors[part.name].append(part.projection)

    def place(part):
        if part.layer is not None:
            return f"blocks.{part.layer}"
        return "ln_final" if part.name == "ln_final.b" else "embedding"

    for groups, key in ((book.by_kind, lambda part: part.kind), (book.by_layer, place)):
        assert [one.name for one in groups] == list(dict.fromkeys(map(key, book.parts)))
        assert sum(one.share for one in groups) == pytest.approx(1)
        for one in groups:
            members = [part for part in book.parts if key(part) == one.name]
            added = np.sum([vectors[part.name] for part in members], axis=0)
            assert one.count == len(members)
            assert one.length == pytest.approx(np.linalg.norm(added), rel=1e-6)
            assert one.projection == pytest.approx(added @ numpy_of(direction), rel=1e-6)
            assert one.share == pytest.approx(sum(part.share for part in members), abs=1e-9)


def test_norms_are_held_where_the_stream_meets_them():
    for norm, state, held in (
        ("pre", "blocks.1.out", []),
        ("pre", "ln_final.out", ["ln_final"]),
        ("pre", "blocks.1.ln1.out", ["blocks.1.ln1"]),
        ("post", "blocks.0.resid_mid", []),
        ("post", "blocks.1.resid_mid", ["blocks.0.ln1", "blocks.0.ln2"]),
        ("post", "blocks.1.attn_out", []),
    ):
        c = config(norm, n_layers=2)
        model, recorder = recorded(c, uneven_weights(c))
        frozen = ledger(model, recorder, state, 1).frozen_scales
        assert [one.norm for one in frozen] == held
        for one in frozen:
            assert one.scale == pytest.approx(float(recorder.values[f"{one.norm}.scale"][1]))


def test_a_state_without_length_is_the_sum_of_its_parts_and_has_no_shares():
    c = config(positions="learned")
    weights = uneven_weights(c)
    weights |= {
        name: torch.zeros_like(weights[name]) for name in ("embed.weight", "pos_embed.weight")
    }
    model, recorder = recorded(c, weights)
    book = ledger(model, recorder, "blocks.0.resid_pre", 1)
    assert (book.length, book.total.length, book.error) == (0, 0, 0)
    assert all(np.isnan(part.share) for part in book.parts)
    assert ledger(model, recorder, "blocks.0.ln1.out", 1).error < 1e-5


def test_a_point_that_no_step_makes_is_refused():
    c = config()
    model, recorder = recorded(c, uneven_weights(c))
    with pytest.raises(KeyError):
        ledger(model, recorder, "blocks.0.attn.q", 0)


@NORMS
def test_what_is_carried_to_the_end_is_its_part_of_the_end(norm):
    c = config(norm)
    model, recorder = recorded(c, uneven_weights(c))
    end = "ln_final.out" if norm == "pre" else "blocks.2.out"
    direction = torch.eye(c.d_model)[5]
    book = ledger(model, recorder, end, 3, direction)
    z = recorder.values["blocks.1.attn.z"][3]
    weight = model.blocks[1].attn.W_O.weight.view(c.d_model, c.n_heads, c.d_head)
    writes = torch.stack([weight[:, h] @ z[h] for h in range(c.n_heads)])
    vectors, met = carried(model, recorder, 3, "blocks.1.attn_out", writes, end)
    expected = [p.projection for p in book.parts if p.kind == "head" and p.layer == 1]
    assert vectors[:, 5].tolist() == pytest.approx(expected, rel=1e-5, abs=1e-7)
    after = ["blocks.1.ln1", "blocks.1.ln2", "blocks.2.ln1", "blocks.2.ln2"]
    assert met == (["ln_final"] if norm == "pre" else after)


def xavier_shares(norm: str, seed: int) -> list[float]:
    """Share of 16 random vectors after block 1, 4, 8 and 12; the average of every third."""
    c = ModelConfig(
        d_model=128,
        n_heads=8,
        d_mlp=512,
        n_layers=12,
        n_ctx=16,
        d_vocab=16,
        norm=norm,
        positions="learned",
        scale_embedding=False,
    )
    draw = torch.Generator().manual_seed(seed)
    with torch.device("meta"):
        shapes = {name: p.shape for name, p in Transformer(c).named_parameters()}
    weights = {}
    for name, shape in shapes.items():
        weights[name] = torch.full(shape, float(name.endswith(".w")))
        if name == "embed.weight":
            weights[name] = torch.randn(shape, generator=draw)
        elif len(shape) == 2 and name != "pos_embed.weight":
            # PyTorch draws Q, K and V as one matrix [3 d_model, d_model]: half the variance.
            gain = 0.5**0.5 if name[-8:-7] in "QKV" else 1.0
            torch.nn.init.xavier_uniform_(weights[name], gain, generator=draw)
    model = with_weights(c, weights)
    hooks.attach(model)
    keep = frozenset(p for p in catalogue(c, 16) if is_needed(p))
    with torch.no_grad(), recording(Recorder(keep)) as recorder:
        model(torch.arange(16))
    after = tuple(f"blocks.{layer}.out" for layer in (0, 3, 7, 11))
    rows = [
        [s.shares["embed"] for s in ledger(model, recorder, after[-1], pos, depth=after).depth]
        for pos in range(0, 16, 3)
    ]
    return np.mean(rows, axis=0).tolist()


@pytest.mark.parametrize(
    ("norm", "shares"),
    [("post", [0.74, 0.21, 0.026, 0.002]), ("pre", [0.74, 0.37, 0.20, 0.13])],
)
def test_the_first_input_fades_faster_in_post_ln(norm, shares):
    measured = np.mean([xavier_shares(norm, seed) for seed in range(4)], axis=0)
    assert measured.tolist() == pytest.approx(shares, rel=0.15, abs=0.004)


FAMILIES = ["post", "pre", "pre_without_final_norm", "bert", "gpt2", "neox", "without_bias"]
TEXT = "the cat sat on the mat"


def inspected(registry, include=(), **options):
    request = TraceRequest(TEXT, include=[Include(entry) for entry in include])
    return inspect_ledger(registry, request, **{"pos": 3, **options})


@pytest.mark.parametrize("family", FAMILIES)
def test_parts_total_the_state_in_every_family(one_model, family):
    registry = one_model(family)
    for state in (None, "blocks.0.resid_post", "blocks.1.hook_resid_pre", "blocks.2.ln2.out"):
        report = inspected(registry, state=state)
        assert report.check.ok and report.ledger.error < 1e-5
        for one in report.ledger.depth:
            assert sum(one.shares.values()) == pytest.approx(1, abs=1e-4), one.point
    embeddings = {"bert": {"embed", "pos_embed", "type_embed"}, "neox": {"embed"}}
    kinds = {part.kind for part in report.ledger.parts}
    others = {"head", "mlp", "bias", "beta"}
    assert kinds - others == embeddings.get(family, {"embed", "pos_embed"})
    assert kinds >= others


@pytest.mark.parametrize("family", FAMILIES)
def test_projected_on_a_token_the_parts_total_its_logit(one_model, family):
    registry = one_model(family)
    report = inspected(registry, direction=Direction(token=300), include=["logits[3]"])
    logit = float(report.trace.tensors[0].value[300])
    assert report.ledger.total.projection == pytest.approx(logit, rel=1e-4, abs=1e-4)
    projections = [part.projection for part in report.ledger.parts]
    assert sum(projections) == pytest.approx(logit, rel=1e-4, abs=1e-4)
    row = registry.runnable.plain.unembed.table[300]
    assert report.direction_length == pytest.approx(float(row.norm()), rel=1e-5)


def test_projected_on_a_dimension_the_parts_total_that_component(one_model):
    state = "blocks.1.resid_mid"
    report = inspected(
        one_model("post"), state=state, direction=Direction(dimension=7), include=[f"{state}[3,7]"]
    )
    component = float(report.trace.tensors[0].value)
    assert sum(p.projection for p in report.ledger.parts) == pytest.approx(component, abs=1e-4)
    assert report.direction_length == 1


@pytest.mark.parametrize(
    ("point", "index"),
    [("blocks.1.ln2.out", (2,)), ("blocks.0.attn.hook_result", (5, 1)), ("embed", (0,))],
)
def test_parts_are_projected_on_a_recorded_vector(one_model, point, index):
    inner = ",".join(map(str, index))
    registry = one_model("post")
    include = [f"{point}[{inner}]", "blocks.2.ln2.out[3]"]
    report = inspected(registry, direction=Direction(point=point, index=index), include=include)
    vector, state = (t.value.double() for t in report.trace.tensors)
    expected = float(vector @ state)
    assert report.ledger.total.projection == pytest.approx(expected, rel=1e-4, abs=1e-4)


def test_depth_lists_every_distinct_state_once(one_model):
    points = [one.point for one in inspected(one_model("post")).ledger.depth]
    assert points[:4] == [
        "blocks.0.resid_pre",
        "blocks.0.resid_mid",
        "blocks.0.ln1.out",
        "blocks.0.resid_post",
    ]
    assert len(points) == len(set(points)) == 1 + 4 * 3


@pytest.mark.parametrize(
    ("options", "code", "field"),
    [
        ({"pos": 60}, "no_such_index", "pos"),
        ({"state": "blocks.0.attn.q"}, "not_a_state", "state"),
        ({"state": "blocks.0.ln1.normalized"}, "not_a_state", "state"),
        ({"state": "nothing"}, "not_a_state", "state"),
        ({"direction": Direction()}, "one_direction", "direction"),
        ({"direction": Direction(token=1, dimension=1)}, "one_direction", "direction"),
        ({"direction": Direction(token=10**6)}, "no_such_index", "direction.token"),
        ({"direction": Direction(dimension=48)}, "no_such_index", "direction.dimension"),
        ({"direction": Direction(point="nothing")}, "unknown_point", "direction.point"),
        ({"direction": Direction(point="embed")}, "not_a_vector", "direction.index"),
        ({"direction": Direction(point="embed", index=(1, 2))}, "not_a_vector", "direction.index"),
        (
            {"direction": Direction(point="embed", index=(99,))},
            "index_out_of_range",
            "direction.index",
        ),
    ],
)
def test_what_cannot_be_asked_is_refused_with_its_field(one_model, options, code, field):
    with pytest.raises(ModelError) as caught:
        inspected(one_model("post"), **options)
    assert (caught.value.code, caught.value.field) == (code, field)


def test_a_token_is_no_direction_without_an_unembedding(one_model):
    with pytest.raises(ModelError) as caught:
        inspected(one_model("pre", unembed=False), direction=Direction(token=1))
    assert caught.value.code == "no_unembedding"
