"""Units of the FFN against NumPy: their writes, the rest of them, and what drives one."""

import numpy as np
import pytest
import torch

from model.errors import ModelError
from model.inspections import inspect_units
from model.selection import Include
from model.trace import TraceRequest

torch.set_num_threads(1)

FAMILIES = ["post", "pre", "bert", "neox"]
TEXT = "the cat sat on the mat"
LAYER, POS = 2, 5


def inspected(registry, **options):
    request = TraceRequest(TEXT, include=[Include("*")])
    return inspect_units(registry, request, **{"layer": LAYER, **options})


class ByHand:
    def __init__(self, registry, report) -> None:
        values = {t.point: t.value.double().numpy() for t in report.trace.tensors}
        at = f"blocks.{LAYER}."
        mlp = registry.runnable.plain.get_submodule(f"{at}mlp")
        self.matrix, self.bias = mlp.W_out.weight.double().numpy(), mlp.W_out.bias.double().numpy()
        self.pre, self.post = values[f"{at}mlp.pre"], values[f"{at}mlp.post"]
        self.out = values[f"{at}mlp_out"]
        norm, wiring = registry.runnable.config.norm, registry.runnable.config.wiring
        skip = "resid_pre" if wiring == "parallel" else "resid_mid" if norm == "pre" else "ln1.out"
        self.skip = values[at + skip]

    def write(self, pos, unit):
        return self.post[pos, unit] * self.matrix[:, unit]

    def assert_is(self, found):
        write, out, skip = self.write(found.pos, found.unit), self.out[found.pos], None
        assert found.pre == pytest.approx(self.pre[found.pos, found.unit], rel=1e-6)
        assert found.activation == pytest.approx(self.post[found.pos, found.unit], rel=1e-6)
        assert found.write_length == pytest.approx(np.linalg.norm(write), rel=1e-6)
        assert found.share == pytest.approx(write @ out / (out @ out), rel=1e-5, abs=1e-9)
        skip = self.skip[found.pos]
        if found.write_length:
            cosine = write @ skip / np.linalg.norm(write) / np.linalg.norm(skip)
            assert found.cosine == pytest.approx(cosine, rel=1e-5, abs=1e-8)


@pytest.mark.parametrize("family", FAMILIES)
def test_the_strongest_units_are_those_that_numpy_finds(one_model, family):
    registry = one_model(family)
    report = inspected(registry, pos=POS, top_k=6)
    hand, found = ByHand(registry, report), report.strongest
    lengths = [np.linalg.norm(hand.write(POS, unit)) for unit in range(80)]
    assert [u.unit for u in found.units] == np.argsort(lengths)[::-1][:6].tolist()
    for unit in found.units:
        hand.assert_is(unit)
    assert (found.active, found.d_mlp) == ((hand.post[POS] > 0).sum(), 80)
    listed = {u.unit for u in found.units}
    rest = sum(hand.write(POS, unit) for unit in range(80) if unit not in listed)
    assert found.rest.count == 74
    assert found.rest.write_length == pytest.approx(np.linalg.norm(rest), rel=1e-5)
    assert found.bias.write_length == pytest.approx(np.linalg.norm(hand.bias), rel=1e-6)
    total = sum(u.share for u in found.units) + found.rest.share + found.bias.share
    assert total == pytest.approx(1, abs=1e-5)
    assert report.check.ok


@pytest.mark.parametrize("family", FAMILIES)
def test_the_tokens_that_drive_a_unit_come_by_activation(one_model, family):
    registry = one_model(family)
    report = inspected(registry, unit=0, top_k=4)
    hand, found = ByHand(registry, report), report.driving
    order = sorted(range(len(hand.post)), key=lambda pos: (-hand.post[pos, 0], pos))[:4]
    assert [token.pos for token in found.tokens] == order
    for token in found.tokens:
        hand.assert_is(token)
    assert found.activations.tolist() == pytest.approx(hand.post[:, 0].tolist(), rel=1e-6)
    assert found.direction_length == pytest.approx(np.linalg.norm(hand.matrix[:, 0]), rel=1e-6)
    assert (report.strongest, report.logit_effect, report.reason) == (None, None, "no_position")


def test_units_of_the_last_block_push_logits_as_numpy_computes(one_model):
    registry = one_model("pre")
    report = inspected(registry, pos=POS, top_k=3)
    hand, effect = ByHand(registry, report), report.logit_effect
    model = registry.runnable.plain
    whole = {t.point: t.value for t in report.trace.tensors}[f"blocks.{LAYER}.resid_post"][POS]
    scale = np.sqrt(whole.double().var(correction=0).item() + 1e-5)
    rows = model.unembed.table[effect.tokens].double().numpy()
    for place, unit in enumerate(report.strongest.units):
        write = hand.write(POS, unit.unit)
        passed = (write - write.mean()) / scale * model.ln_final.w.double().numpy()
        expected = (rows @ passed).tolist()
        assert effect.of_writes[place].tolist() == pytest.approx(expected, rel=1e-4, abs=1e-6)
    assert (effect.exact, effect.reason) == (False, "scale_held")


def test_without_an_unembedding_there_is_a_reason(one_model):
    report = inspected(one_model("bert", unembed=False), pos=0)
    assert (report.logit_effect, report.reason) == (None, "no_unembedding")


@pytest.mark.parametrize("options", [{}, {"pos": 1, "unit": 1}])
def test_exactly_one_of_position_and_unit_is_taken(one_model, options):
    with pytest.raises(ModelError) as caught:
        inspected(one_model("post"), **options)
    assert caught.value.code == "pos_or_unit"


@pytest.mark.parametrize(
    ("options", "field"), [({"unit": 80}, "unit"), ({"pos": 40}, "pos"), ({"layer": 3}, "layer")]
)
def test_what_the_run_does_not_have_is_refused(one_model, options, field):
    with pytest.raises(ModelError) as caught:
        inspected(one_model("post"), **{"pos": None if "unit" in options else 0, **options})
    assert (caught.value.code, caught.value.field) == ("no_such_index", field)
