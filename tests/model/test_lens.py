"""The logit lens against NumPy, and against the model's own prediction at the last state."""

import numpy as np
import pytest
import torch

from model.errors import ModelError
from model.inspections import inspect_lens
from model.selection import Include
from model.trace import TraceRequest

torch.set_num_threads(1)

TEXT = "the cat sat on the mat"
POS = 4


def inspected(registry, **options):
    request = TraceRequest(TEXT, include=[Include("*")])
    return inspect_lens(registry, request, **{"pos": POS, **options})


# Every state that a family has, and the norm that leads it out.
WAYS = {
    "post": [
        ("embed_sum", None),
        *[
            (f"blocks.{layer}.{state}", f"blocks.{layer}.{norm}")
            for layer in range(3)
            for state, norm in (("resid_mid", "ln1"), ("resid_post", "ln2"))
        ],
    ],
    "pre": [
        ("embed_sum", "ln_final"),
        *[
            (f"blocks.{layer}.{state}", "ln_final")
            for layer in range(3)
            for state in ("resid_mid", "resid_post")
        ],
    ],
    "neox": [
        ("embed", "ln_final"),
        *[(f"blocks.{layer}.resid_post", "ln_final") for layer in range(3)],
    ],
}
WAYS["bert"] = [("embed_ln.out", "embed_ln"), *WAYS["post"][1:]]
WAYS["pre_without_final_norm"] = [(point, None) for point, _ in WAYS["pre"]]


@pytest.mark.parametrize("family", WAYS)
def test_every_state_leaves_as_numpy_computes_it(one_model, family):
    registry = one_model(family)
    report = inspected(registry, top_k=3)
    assert [(state.point, state.norm) for state in report.states] == WAYS[family]
    model, eps = registry.runnable.plain, registry.runnable.config.eps
    values = {t.point: t.value.double().numpy() for t in report.trace.tensors}
    table = model.unembed.table.double().numpy()
    for state in report.states:
        x = values[state.point][POS]
        if state.norm is not None and state.norm != "embed_ln":
            norm = model.get_submodule(state.norm)
            x = (x - x.mean()) / np.sqrt(x.var() + eps)
            x = x * norm.w.double().numpy() + norm.b.double().numpy()
        logits = table @ x
        shares = np.exp(logits - logits.max())
        shares /= shares.sum()
        order = np.argsort(-logits)
        assert [token.id for token in state.top] == order[:3].tolist()
        for token in state.top:
            assert token.logit == pytest.approx(logits[token.id], rel=1e-4)
            assert token.probability == pytest.approx(shares[token.id], rel=1e-3)
        assert state.rank == 1 + order.tolist().index(report.token)
        assert state.logit == pytest.approx(logits[report.token], rel=1e-3, abs=1e-4)
        assert state.probability == pytest.approx(shares[report.token], rel=1e-3, abs=1e-12)
        entropy = -(shares * np.log(shares, where=shares > 0, out=np.zeros_like(shares))).sum()
        assert state.entropy == pytest.approx(entropy, rel=1e-3, abs=1e-6)


@pytest.mark.parametrize("family", [*WAYS, "without_bias"])
def test_the_last_state_predicts_what_the_model_does(one_model, family):
    report = inspected(one_model(family))
    own = report.trace.predictions.positions[POS]
    assert report.check.ok
    assert report.token == own[0].id
    assert report.states[-1].rank == 1
    assert [token.id for token in report.states[-1].top] == [token.id for token in own]
    assert report.states[-1].top[0].probability == pytest.approx(own[0].probability, rel=1e-4)


def test_any_token_can_be_followed(one_model):
    report = inspected(one_model("pre"), token=300)
    assert report.token == 300
    assert report.states[-1].rank > 1


def test_without_an_unembedding_there_is_a_reason(one_model):
    report = inspected(one_model("post", unembed=False))
    assert (report.states, report.reason, report.check) == (None, "no_unembedding", None)


@pytest.mark.parametrize(("options", "field"), [({"pos": 50}, "pos"), ({"token": 10**6}, "token")])
def test_what_the_run_does_not_have_is_refused(one_model, options, field):
    with pytest.raises(ModelError) as caught:
        inspected(one_model("post"), **options)
    assert (caught.value.code, caught.value.field) == ("no_such_index", field)
