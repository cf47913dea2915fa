"""Differences of two runs against NumPy, written out for small distributions, and in groups."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from model.analysis.compare import head_distances, jensen_shannon, point_difference
from model.comparison import compare
from model.errors import ModelError
from model.registry import Registry
from model.selection import Include
from model.trace import TraceRequest, run_trace

torch.set_num_threads(1)

TINY = {"d_model": 32, "n_layers": 2, "n_heads": 4, "d_mlp": 48}
TEXT = "the cat sat on the mat"


@pytest.fixture(scope="module")
def registry():
    return Registry()


def request(norm="post", **config):
    return TraceRequest(TEXT, "textbook", norm, None, {**TINY, **config})


def test_distance_of_small_distributions():
    p = torch.tensor([[1.0, 0.0], [0.5, 0.5], [1.0, 0.0]], dtype=torch.float64)
    q = torch.tensor([[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]], dtype=torch.float64)
    assert jensen_shannon(p, q).tolist() == pytest.approx([0, 0, 1])
    # H(3/4, 1/4) - (H(1/2, 1/2) + 0) / 2 in bits.
    middle = -(0.75 * math.log2(0.75) + 0.25 * math.log2(0.25))
    found = jensen_shannon(torch.tensor([0.5, 0.5]).double(), torch.tensor([1.0, 0.0]).double())
    assert float(found) == pytest.approx(math.sqrt(middle - 0.5))


def test_a_head_whose_rows_turn_round_is_as_far_as_can_be():
    first = torch.eye(3)[None].repeat(2, 1, 1)
    second = first.clone()
    second[1, 2] = torch.tensor([1.0, 0.0, 0.0])
    same, turned = head_distances(5, first, second)
    assert (same.label, same.mean, same.largest) == ("L5H0", 0.0, 0.0)
    assert (turned.label, turned.largest, turned.query) == ("L5H1", 1.0, 2)
    assert turned.mean == pytest.approx(1 / 3)


def test_entries_that_are_not_finite_are_left_out_and_counted():
    first = torch.tensor([[1.0, -math.inf], [2.0, 2.0]])
    second = torch.tensor([[4.0, -math.inf], [2.0, math.nan]])
    found = point_difference("x", ["pos", "d_model"], first, second)
    assert (found.largest, found.left_out) == (3.0, 2)
    assert found.mean == pytest.approx(1.5)
    assert found.relative == pytest.approx(3 / math.sqrt(5))
    assert found.cosine.tolist() == pytest.approx([1, 1])


def test_every_common_point_is_compared_as_numpy_does(registry):
    requests = (request("post"), request("pre"))
    found = compare(registry, requests, [])
    traces = [run_trace(registry, replace(r, include=[Include("*")])) for r in requests]
    a, b = ({t.point: t.value.double().numpy() for t in trace.tensors} for trace in traces)
    names = [p.name for p in traces[0].points if p.name in b and not p.name.endswith("result")]
    assert [d.point for d in found.difference.points] == names
    assert "ln_final.out" not in names
    axes = {p.name: p.axes for p in traces[0].points}
    for d in found.difference.points:
        x, y = a[d.point], b[d.point]
        assert d.largest == pytest.approx(np.abs(y - x).max(), rel=1e-6)
        assert d.mean == pytest.approx(np.abs(y - x).mean(), rel=1e-6)
        if np.linalg.norm(x):
            assert d.relative == pytest.approx(np.linalg.norm(y - x) / np.linalg.norm(x), rel=1e-6)
        if axes[d.point][-1] == "1":
            assert d.cosine is None
            continue
        if "query" in axes[d.point]:
            x, y = np.moveaxis(x, 1, 0), np.moveaxis(y, 1, 0)
        x, y = x.reshape(len(x), -1), y.reshape(len(y), -1)
        expected = (x * y).sum(1) / np.linalg.norm(x, axis=1) / np.linalg.norm(y, axis=1)
        assert d.cosine.tolist() == pytest.approx(expected.tolist(), abs=1e-6)
    # The embedding is the same in both placements, the first sum is not.
    by_name = {d.point: d for d in found.difference.points}
    assert by_name["embed_sum"].largest == 0
    assert by_name["blocks.0.resid_mid"].relative > 0.01


@pytest.mark.parametrize("group_numbers", [1, 3000])
def test_points_in_groups_give_the_same_numbers(registry, group_numbers):
    requests = (request("post"), request("post", seed=1))
    whole = compare(registry, requests, []).difference
    parts = compare(registry, requests, [], group_numbers=group_numbers).difference
    assert [p.point for p in whole.points] == [p.point for p in parts.points]
    for a, b in zip(whole.points, parts.points, strict=True):
        assert (a.largest, a.mean, a.left_out) == (b.largest, b.mean, b.left_out)
    assert whole.heads == parts.heads


def test_difference_tensors_are_second_minus_first(registry):
    entries = [Include("blocks.*.resid_mid[2]"), Include("blocks.0.attn.result[1,3]")]
    requests = (request("post"), request("pre"))
    found = compare(registry, requests, entries)
    a, b = (run_trace(registry, replace(r, include=entries)).tensors for r in requests)
    assert [t.key for t in found.tensors] == [t.key for t in a]
    assert [t.entry for t in found.tensors] == [0, 0, 1]
    for difference, x, y in zip(found.tensors, a, b, strict=True):
        assert torch.equal(difference.value, y.value - x.value)


def test_a_run_against_itself_has_no_difference(registry):
    found = compare(registry, (request(), request()), []).difference
    assert {d.largest for d in found.points} == {0.0}
    assert {h.largest for h in found.heads} == {0.0}
    assert found.same_tokens
    assert (found.predictions, found.reason) == (None, "no_unembedding")


def test_a_point_that_only_one_run_has_is_refused(registry):
    with pytest.raises(ModelError) as caught:
        compare(registry, (request("pre"), request("post")), [Include("ln_final.out")])
    assert caught.value.code == "unknown_point"
    with pytest.raises(ModelError):
        compare(registry, (request(), request(d_model=64)), [Include("blocks.0.out")])


def test_models_of_other_sizes_share_the_points_of_one_shape(registry):
    found = compare(registry, (request(), request(d_model=64)), []).difference
    shared = {d.point for d in found.points}
    assert "blocks.0.attn.pattern" in shared and "blocks.0.ln1.scale" in shared
    assert "blocks.0.out" not in shared


class TwoModels(Registry):
    """Gives one model for Post-LN and another for Pre-LN."""

    def __init__(self, post, pre) -> None:
        self.models = {"post": post.runnable, "pre": pre.runnable}

    def load(self, model, norm, *_):
        return self.models[norm]


def test_changes_of_the_likeliest_tokens(one_model):
    registry = TwoModels(one_model("post"), one_model("pre"))
    requests = (TraceRequest(TEXT, norm="post"), TraceRequest(TEXT, norm="pre"))
    found = compare(registry, requests, [])
    changes, traces = found.difference.predictions, found.traces
    runs = [
        {t.point: t.value for t in run_trace(registry, replace(r, include=[Include("*")])).tensors}
        for r in requests
    ]
    assert len(changes) == len(traces[0].tokens)
    for change, *tops in zip(changes, *(t.predictions.positions for t in traces), strict=True):
        ids = [[best.id for best in top] for top in tops]
        assert change.same_top == (ids[0][0] == ids[1][0])
        assert {token.id for token in change.tokens} == {*ids[0], *ids[1]}
        p, q = (run["logits"][change.pos].double().softmax(-1) for run in runs)
        for token in change.tokens:
            assert token.first == pytest.approx(float(p[token.id]), rel=1e-6)
            assert token.change == pytest.approx(float(q[token.id] - p[token.id]), rel=1e-6)
        sizes = [abs(token.change) for token in change.tokens]
        assert sizes == sorted(sizes, reverse=True)
        assert change.distance == pytest.approx(float(jensen_shannon(p, q)), rel=1e-9)
