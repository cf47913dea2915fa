"""The stream over depth: ratios, the norms' divisors, and dimensions that stand out."""

import numpy as np
import pytest
import torch

from model.analysis.compare import cosines
from model.analysis.stream import State, lengths, outliers
from model.registry import Registry
from model.selection import Include
from model.trace import TraceRequest, run_trace

torch.set_num_threads(1)
D, N = 64, 40


def planted(states: int, times: dict[tuple[int, int], float]) -> tuple[list[State], dict]:
    """Normal noise; at (state, dimension) all components are so many standard deviations."""
    draw = torch.Generator().manual_seed(3)
    values = {f"s{i}": torch.randn(N, D, generator=draw) for i in range(states)}
    for (state, dimension), size in times.items():
        sign = torch.ones(N)
        sign[::3] = -1
        values[f"s{state}"][:, dimension] = size * sign
    return [State(point, value.norm(dim=-1)) for point, value in values.items()], values


def test_a_planted_dimension_is_found_with_its_share_and_where():
    states, values = planted(8, {(i, 17): 6.0 for i in (2, 3, 5)})
    found = outliers(states, values)
    assert float(found.threshold) == pytest.approx(9 / D)
    assert (found.count, found.least_states) == (1, 2)
    first = found.dimensions[0]
    assert (first.dimension, first.outlier, first.states) == (17, True, 3)
    for i, state in enumerate(found.points):
        x = values[state].double().numpy()
        share = x[:, 17] ** 2 / (x**2).sum(-1)
        assert float(first.share[i]) == pytest.approx(share.mean(), rel=1e-5)
        assert float(first.largest[i]) == pytest.approx(share.max(), rel=1e-5)
        assert first.pos[i] == int(share.argmax())
    assert [one.outlier for one in found.dimensions[1:]] == [False] * 7


def test_it_must_stand_out_at_a_quarter_of_the_states():
    for where, count in (((4,), 0), ((4, 6), 1)):
        states, values = planted(8, {(i, 5): 8.0 for i in where})
        found = outliers(states, values)
        assert found.count == count
        # What comes nearest is named all the same.
        assert (found.dimensions[0].dimension, found.dimensions[0].states) == (5, len(where))


def test_one_position_does_not_make_an_outlier_of_a_long_text():
    states, values = planted(4, {})
    for value in values.values():
        value[7, 9] = 10.0
    states = [State(point, value.norm(dim=-1)) for point, value in values.items()]
    found = outliers(states, values)
    assert found.count == 0
    nine = next(one for one in found.dimensions if one.dimension == 9)
    assert nine.pos == [7] * 4


def test_noise_has_no_outliers_whatever_its_length():
    for scale in (1e-20, 1.0, 1e20):
        _, values = planted(8, {})
        values = {point: value * scale for point, value in values.items()}
        states = [State(point, value.norm(dim=-1).double()) for point, value in values.items()]
        assert outliers(states, values).count == 0


def test_a_vector_without_length_gives_no_share():
    values = {"s0": torch.zeros(N, D)}
    found = outliers([State("s0", torch.zeros(N))], values)
    assert found.count == 0
    assert found.dimensions[0].share.tolist() == [0.0]


@pytest.mark.parametrize("family", ["post", "pre", "bert", "neox"])
def test_a_dimension_planted_in_a_model_is_named(one_model, family):
    registry = one_model(family)
    model = registry.runnable.hooked
    norms = [
        module
        for name, module in model.named_modules()
        if name.endswith(("ln1", "ln2", "embed_ln", "ln_final"))
    ]
    with torch.no_grad():
        kept = [(p, p.clone()) for p in model.parameters()]
        model.get_submodule("embed").weight[:, 11] = 40.0
        for norm in norms:
            norm.b[11] = 40.0
        try:
            stream = run_trace(registry, TraceRequest("the cat sat on the mat")).stream
        finally:
            for parameter, value in kept:
                parameter.copy_(value)
    assert stream.outliers.dimensions[0].dimension == 11
    assert stream.outliers.dimensions[0].outlier


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_states_are_counted_once(norm):
    stream = run_trace(Registry(), TraceRequest("a b", "textbook", norm)).stream
    points = stream.outliers.points
    assert points[0] == "blocks.0.resid_pre"
    assert "blocks.1.resid_pre" not in points
    assert len(points) == {"post": 1 + 4 * 4, "pre": 1 + 4 * 2 + 1}[norm]
    for one in stream.outliers.dimensions:
        assert len(one.share) == len(one.largest) == len(one.pos) == len(points)


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_ratio_scale_and_share_of_eps_are_what_numpy_computes(norm):
    request = TraceRequest("the cat sat", "textbook", norm, include=[Include("*")])
    trace = run_trace(Registry(), request)
    values = {one.point: one.value.double().numpy() for one in trace.tensors}
    for write in trace.stream.writes:
        length = np.linalg.norm(values[write.point], axis=-1)
        skip = np.linalg.norm(values[write.skip], axis=-1)
        assert write.ratio.tolist() == pytest.approx((length / skip).tolist(), rel=1e-5)
    for one in trace.layer_norms:
        var = values[one.input].var(-1)
        assert one.scale.tolist() == pytest.approx(np.sqrt(var + one.eps).tolist(), rel=1e-5)
        share = one.eps / (var + one.eps)
        assert one.eps_share.tolist() == pytest.approx(share.tolist(), rel=1e-5)


@pytest.mark.parametrize("scale", [1e-30, 1e-10, 1.0, 1e10, 1e30])
def test_lengths_and_cosines_hold_at_every_size_of_float32(scale):
    a = torch.tensor([[3.0, 4.0], [3.0, 4.0], [0.0, 0.0]]) * scale
    b = torch.tensor([[6.0, 8.0], [-4.0, 3.0], [1.0, 0.0]])
    assert lengths(a).tolist() == pytest.approx([5 * scale, 5 * scale, 0], rel=1e-6)
    found = cosines(a, b)
    assert found[:2].tolist() == pytest.approx([1, 0], abs=1e-7)
    # Nothing lies at no angle to anything: not 0, which would be a right angle.
    assert bool(found[2].isnan())
