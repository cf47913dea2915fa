"""Add & Norm by hand: the article's numbers, both placements, and PyTorch's LayerNorm as oracle."""

import math

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st

from model.add_norm import add_norm
from model.errors import ModelError


def test_post_ln_of_the_articles_numbers():
    r = add_norm([1, 2, 3], "post", 1e-5, update=[0.5, -0.5, 1])
    assert r.added == [1.5, 1.5, 4]
    assert r.mean == pytest.approx(7 / 3)
    assert r.var == pytest.approx(25 / 18)
    assert r.scale == pytest.approx(math.sqrt(25 / 18 + 1e-5))
    assert r.normalized == pytest.approx([-0.707104, -0.707104, 1.414208], abs=5e-7)
    assert r.out == r.normalized == r.result
    assert sum(v * v for v in r.normalized) / 3 == pytest.approx(0.9999928, abs=5e-8)
    assert r.steps[:2] == ["update", "added"]


def test_pre_ln_of_the_articles_numbers():
    r = add_norm([1, 2, 3], "pre", 1e-5, update=[0.5, -0.5, 1])
    assert r.out == pytest.approx([-1.224736, 0, 1.224736], abs=5e-7)
    assert r.f_input == r.out
    assert r.added == r.result == [1.5, 1.5, 4]
    assert r.steps[-2:] == ["update", "added"]


def test_eps_of_one_gives_exact_thirds():
    r = add_norm([0, 0, 0, 0], "post", 1.0, update=[1, 2, 3, 4])
    assert (r.var, r.scale) == (1.25, 1.5)
    assert r.out == pytest.approx([-1, -1 / 3, 1 / 3, 1])


def test_a_matrix_reads_x_in_post_and_the_normed_copy_in_pre():
    x, w, b = [1.0, 2.0, 4.0], [[1, 0, 0], [0, 2, 0], [1, 1, 1]], [0.5, 0.0, -1.0]
    v = torch.tensor(x, dtype=torch.float64)
    matrix = torch.tensor(w, dtype=torch.float64)
    bias = torch.tensor(b, dtype=torch.float64)
    post = add_norm(x, "post", 1e-5, matrix=w, bias=b)
    assert post.result == pytest.approx(F.layer_norm(v + matrix @ v + bias, (3,)).tolist())
    pre = add_norm(x, "pre", 1e-5, matrix=w, bias=b)
    expected = v + matrix @ F.layer_norm(v, (3,)) + bias
    assert pre.result == pytest.approx(expected.tolist())


numbers = st.floats(-1e6, 1e6, allow_nan=False)


@given(
    st.integers(1, 40).flatmap(
        lambda n: st.tuples(*[st.lists(numbers, min_size=n, max_size=n) for _ in range(4)])
    ),
    st.floats(1e-8, 10),
    st.sampled_from(["pre", "post"]),
)
def test_every_stage_follows_from_torch(vectors, eps, placement):
    x, update, gamma, beta = vectors
    r = add_norm(x, placement, eps, update=update, gamma=gamma, beta=beta)
    tx, tu, tg, tb = (torch.tensor(v, dtype=torch.float64) for v in vectors)
    read = tx + tu if placement == "post" else tx
    out = F.layer_norm(read, read.shape, tg, tb, eps)
    size = max(1.0, read.abs().max().item()) * max(1.0, tg.abs().max().item()) / math.sqrt(eps)
    assert r.out == pytest.approx(out.tolist(), rel=1e-9, abs=1e-12 * size)
    assert r.added == (tx + tu).tolist()
    assert r.var == pytest.approx(read.var(correction=0).item(), rel=1e-6, abs=1e-9 * size)


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"update": [1, 2]}, "lengths_differ"),
        ({"update": [1, 2, 3], "gamma": [1]}, "lengths_differ"),
        ({"update": [1, 2, 3], "beta": [1]}, "lengths_differ"),
        ({"matrix": [[1, 2, 3], [1, 2], [1, 2, 3]]}, "lengths_differ"),
        ({"matrix": [[1, 2, 3]]}, "lengths_differ"),
        ({"matrix": [[1, 0, 0]] * 3, "bias": [1]}, "lengths_differ"),
        ({}, "update_or_matrix"),
        ({"update": [1, 2, 3], "matrix": [[1, 0, 0]] * 3}, "update_or_matrix"),
        ({"update": [1, 2, 3], "bias": [1, 2, 3]}, "bias_without_matrix"),
    ],
)
def test_what_does_not_fit_is_refused(given, code):
    with pytest.raises(ModelError) as caught:
        add_norm([1, 2, 3], "post", 1e-5, **given)
    assert caught.value.code == code
    if code == "lengths_differ":
        assert {"length", "expected"} <= caught.value.params.keys()


def test_no_spread_and_no_eps_is_flagged():
    r = add_norm([2, 2], "post", 0.0, update=[0, 0])
    assert all(map(math.isnan, r.out))
    assert [(f.stage, f.count) for f in r.flags] == [("normalized", 2), ("out", 2)]
