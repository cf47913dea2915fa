"""Heads' writes and norm-based attention against NumPy, key by key and head by head."""

import numpy as np
import pytest
import torch

from model.errors import ModelError
from model.inspections import HeadsReport, inspect_heads
from model.selection import Include
from model.trace import TraceRequest

torch.set_num_threads(1)

FAMILIES = ["post", "pre", "pre_without_final_norm", "bert", "gpt2", "neox", "without_bias"]
TEXT = "the cat sat on the mat"
LAYER, POS = 1, 4


def inspected(registry, head=None, layer=LAYER, pos=POS) -> HeadsReport:
    request = TraceRequest(TEXT, include=[Include("*")])
    return inspect_heads(registry, request, layer, pos, head)


class ByHand:
    """The definitions in float64, with loops over queries, keys and heads."""

    def __init__(self, registry, report: HeadsReport, layer=LAYER) -> None:
        self.c = c = registry.runnable.config
        self.w = {n: p.double().numpy() for n, p in registry.runnable.plain.named_parameters()}
        self.v = {t.point: t.value.double().numpy() for t in report.trace.tensors}
        self.at = at = f"blocks.{layer}."
        self.n = len(report.trace.tokens)
        self.a, v = self.v[at + "attn.pattern"], self.v[at + "attn.v"]
        w_o = self.w[at + "attn.W_O.weight"]
        size = c.d_head
        # What key j hands to any query through head h, before the weight.
        self.f = np.array(
            [
                [w_o[:, h * size : (h + 1) * size] @ v[j, h] for h in range(c.n_heads)]
                for j in range(self.n)
            ]
        )
        self.bias = self.w.get(at + "attn.W_O.bias", np.zeros(c.d_model))
        self.skip = self.v[at + "resid_pre"]
        self.out = self.v[at + "attn_out"]

    def write(self, head, pos):
        return sum(self.a[head, pos, j] * self.f[j, head] for j in range(self.n))

    def contribution(self, query, key):
        """Of one key to one query, over all heads, skip included, before the norm."""
        total = sum(self.a[h, query, key] * self.f[key, h] for h in range(self.c.n_heads))
        return total + self.skip[query] if key == query else total

    def normed(self, x, query):
        if self.c.norm == "pre":
            return x
        whole = self.v[self.at + "resid_mid"][query]
        scale = np.sqrt(whole.var() + self.c.eps)
        return (x - x.mean()) / scale * self.w[self.at + "ln1.w"]

    def mixing_ratio(self, query):
        others = [self.contribution(query, j) for j in range(self.n) if j != query]
        far = self.normed(sum(others, np.zeros(self.c.d_model)), query)
        near = self.normed(self.contribution(query, query), query)
        return length(far) / (length(far) + length(near))


def length(x):
    return float(np.sqrt((x**2).sum()))


def cosine(x, y):
    return float(x @ y / length(x) / length(y))


@pytest.mark.parametrize("family", FAMILIES)
def test_every_figure_of_a_head_is_what_numpy_computes(one_model, family):
    registry = one_model(family)
    report = inspected(registry)
    hand = ByHand(registry, report)
    assert [head.label for head in report.heads] == [f"L1H{h}" for h in range(6)]
    for head in report.heads:
        write = hand.write(head.head, POS)
        assert head.write_length == pytest.approx(length(write), rel=1e-5)
        assert head.cosine == pytest.approx(cosine(write, hand.skip[POS]), abs=1e-5)
        expected = write @ hand.out[POS] / length(hand.out[POS]) ** 2
        assert head.share == pytest.approx(expected, abs=1e-5)
        weights = hand.a[head.head, POS]
        lengths = [length(hand.f[j, head.head]) for j in range(hand.n)]
        assert head.weights.tolist() == pytest.approx(weights.tolist(), rel=1e-6)
        assert head.value_lengths.tolist() == pytest.approx(lengths, rel=1e-5)
        assert head.weighted_lengths.tolist() == pytest.approx(weights * lengths, rel=1e-5)


@pytest.mark.parametrize("family", FAMILIES)
def test_writes_and_bias_make_attn_out(one_model, family):
    report = inspected(one_model(family))
    assert report.check.ok and report.check.value < 1e-5
    shares = sum(head.share for head in report.heads) + (report.bias.share if report.bias else 0)
    assert shares == pytest.approx(1, abs=1e-5)
    assert (report.bias is None) == (family == "without_bias")
    # Without its bias the sum would not hold.
    if report.bias is not None:
        assert report.bias.write_length > 0.1


@pytest.mark.parametrize("family", FAMILIES)
def test_norm_based_attention_is_what_numpy_computes(one_model, family):
    registry = one_model(family)
    report = inspected(registry)
    hand, found = ByHand(registry, report), report.norm_based
    keys = range(hand.n)
    plain = [
        length(sum(hand.a[h, POS, j] * hand.f[j, h] for h in range(hand.c.n_heads))) for j in keys
    ]
    residual = [length(hand.contribution(POS, j)) for j in keys]
    normed = [length(hand.normed(hand.contribution(POS, j), POS)) for j in keys]
    assert found.attention.tolist() == pytest.approx(plain, rel=1e-5, abs=1e-7)
    assert found.with_residual.tolist() == pytest.approx(residual, rel=1e-5, abs=1e-7)
    assert found.with_norm.tolist() == pytest.approx(normed, rel=1e-5, abs=1e-7)
    ratios = [hand.mixing_ratio(i) for i in keys]
    assert found.mixing_ratios.tolist() == pytest.approx(ratios, rel=1e-4, abs=1e-5)
    assert found.mixing_ratio == pytest.approx(ratios[POS], rel=1e-4)
    assert found.norm == "blocks.1.ln1"
    assert found.norm_on_sum == (hand.c.norm == "post")


@pytest.mark.parametrize("family", ["post", "pre", "bert", "neox"])
def test_maps_over_all_queries_are_what_numpy_computes(one_model, family):
    registry = one_model(family)
    report = inspected(registry, head=3)
    hand, maps = ByHand(registry, report), report.maps
    pairs = [(i, j) for i in range(hand.n) for j in range(hand.n)]
    weighted = [hand.a[3, i, j] * length(hand.f[j, 3]) for i, j in pairs]
    based = [length(hand.normed(hand.contribution(i, j), i)) for i, j in pairs]
    assert maps.head == 3
    assert maps.weighted_lengths.flatten().tolist() == pytest.approx(weighted, rel=1e-5, abs=1e-7)
    assert maps.norm_based.flatten().tolist() == pytest.approx(based, rel=1e-4, abs=1e-6)
    assert maps.norm_based[POS].tolist() == pytest.approx(
        report.norm_based.with_norm.tolist(), rel=1e-4, abs=1e-6
    )


def test_the_first_token_of_a_causal_model_mixes_nothing(one_model):
    report = inspected(one_model("gpt2"), pos=0)
    assert report.norm_based.mixing_ratio == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize("family", FAMILIES)
def test_effects_on_logits_are_the_parts_of_the_logit_that_the_writes_make(one_model, family):
    """In the last block nothing is read after the write: removing it linearly is exact."""
    registry = one_model(family, n_layers=1)
    report = inspected(registry, layer=0)
    hand, effect = ByHand(registry, report, layer=0), report.logit_effect
    c, unembed = registry.runnable.config, registry.runnable.plain.unembed
    assert effect.tokens == [best.id for best in report.trace.predictions.positions[POS]]

    def passed(x, name, state):
        whole = hand.v[state][POS]
        scale = np.sqrt(whole.var() + c.eps)
        return (x - x.mean()) / scale * hand.w[f"{name}.w"]

    rows = unembed.table[effect.tokens].double().numpy()
    norms = {
        "post": [("blocks.0.ln1", "blocks.0.resid_mid"), ("blocks.0.ln2", "blocks.0.resid_post")],
        "pre": [("ln_final", "blocks.0.resid_post")] if c.has_final_norm else [],
    }[c.norm]
    for head in range(c.n_heads):
        x = hand.write(head, POS)
        for name, state in norms:
            x = passed(x, name, state)
        assert effect.of_writes[head].tolist() == pytest.approx((rows @ x).tolist(), rel=1e-4)
    assert effect.frozen_norms == [name for name, _ in norms]
    assert (effect.exact, effect.reason) == ((False, "scale_held") if norms else (True, None))
    assert (effect.of_bias is None) == (family == "without_bias")


def test_without_an_unembedding_there_is_no_effect_but_a_reason(one_model):
    report = inspected(one_model("bert", unembed=False))
    assert (report.logit_effect, report.reason) == (None, "no_unembedding")


@pytest.mark.parametrize(("field", "where"), [("layer", (3, 0, None)), ("pos", (0, 99, None))])
def test_a_place_that_the_run_does_not_have_is_refused(one_model, field, where):
    layer, pos, head = where
    with pytest.raises(ModelError) as caught:
        inspected(one_model("post"), head, layer, pos)
    assert (caught.value.code, caught.value.field) == ("no_such_index", field)
    assert caught.value.params["index"] > caught.value.params["largest"]


def test_a_head_that_the_model_does_not_have_is_refused(one_model):
    with pytest.raises(ModelError) as caught:
        inspected(one_model("post"), head=6)
    assert caught.value.params == {"name": "head", "index": 6, "largest": 5}
