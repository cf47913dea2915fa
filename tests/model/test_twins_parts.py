"""Fused arithmetic, optimiser, starting weights and scores against independent ones."""

import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from model.config import ModelConfig, Norm
from model.transformer import Transformer
from model.twins import fused, measures, scores, trigrams
from model.twins.batches import IGNORED
from model.twins.initial import untrained
from model.twins.muon import Muon
from model.twins.text import Tokens

NORMS: list[Norm] = ["pre", "post"]


def small(norm: Norm) -> Transformer:
    config = ModelConfig(
        d_model=24, n_heads=3, d_mlp=48, n_layers=2, n_ctx=32, d_vocab=300, norm=norm,
        causal=True, unembed=True,
    )  # fmt: skip
    return untrained(config, seed=3)


@pytest.mark.parametrize("norm", NORMS)
def test_fused_arithmetic_is_the_blocks_own(norm: Norm) -> None:
    model = small(norm).double()
    ids = torch.randint(300, (2, 20), generator=torch.Generator().manual_seed(0))
    difference = (model(ids) - fused.final_state(model, ids)).abs().max().detach()
    assert float(difference) < 1e-12


@pytest.mark.parametrize("norm", NORMS)
def test_loss_and_gradients_are_those_of_plain_cross_entropy(norm: Norm) -> None:
    model = small(norm).double()
    generator = torch.Generator().manual_seed(0)
    ids = torch.randint(300, (2, 20), generator=generator)
    targets = torch.randint(300, (2, 20), generator=generator)
    targets[0, :5] = IGNORED
    logits = model(ids) @ model.embed.weight.mT
    plain = F.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=IGNORED)
    plain.backward()
    expected = {name: p.grad.clone() for name, p in model.named_parameters()}
    model.zero_grad()
    loss = fused.loss(model, ids, targets, low_precision=False)
    loss.backward()
    assert loss.item() == pytest.approx(plain.item(), rel=1e-6)
    for name, parameter in model.named_parameters():
        torch.testing.assert_close(parameter.grad, expected[name], rtol=1e-5, atol=1e-8, msg=name)


def test_muon_steps_are_those_of_pytorch() -> None:
    generator = torch.Generator().manual_seed(0)
    shapes = [(24, 24), (48, 24), (24, 24), (24, 48)]
    start = [torch.randn(shape, generator=generator) for shape in shapes]
    ours = [torch.nn.Parameter(value.clone()) for value in start]
    theirs = [torch.nn.Parameter(value.clone()) for value in start]
    muon = Muon(ours, lr=0.02, weight_decay=0.05)
    peer = torch.optim.Muon(theirs, lr=0.02, weight_decay=0.05, momentum=0.95)
    for _ in range(3):
        for a, b in zip(ours, theirs, strict=True):
            a.grad = torch.randn(a.shape, generator=generator)
            b.grad = a.grad.clone()
        muon.step()
        peer.step()
    for a, b, was in zip(ours, theirs, start, strict=True):
        moved = (b - was).norm()
        # Both work in bfloat16 (8 bits): products in another order differ in the last ones.
        assert ((a - b).norm() / moved).item() < 0.02


def test_starting_weights_have_the_stated_spread() -> None:
    model = small("pre")
    assert model.embed.weight.std().item() == pytest.approx(0.02, rel=0.05)
    spread = {name: p.std().item() for name, p in model.named_parameters() if p.ndim == 2}
    assert spread["blocks.0.attn.W_Q.weight"] == pytest.approx(1 / math.sqrt(24), rel=0.15)
    assert spread["blocks.1.mlp.W_out.weight"] == pytest.approx(
        1 / math.sqrt(48) / math.sqrt(4), rel=0.15
    )
    assert (model.blocks[0].ln1.w == 1).all()
    assert (model.blocks[0].ln1.b == 0).all()


def test_twins_of_one_seed_start_from_the_same_weights() -> None:
    pre, post = (dict(small(norm).named_parameters()) for norm in NORMS)
    assert pre.keys() - post.keys() == {"ln_final.w", "ln_final.b"}
    for name, value in post.items():
        assert torch.equal(value, pre[name]), name


def test_a_head_on_the_previous_token_scores_one() -> None:
    n = 5
    pattern = torch.zeros(1, 1, 1, n, n)
    pattern[..., 0, 0] = 1
    pattern[..., range(1, n), range(n - 1)] = 1
    score = scores.previous_token(pattern)
    assert float(score.values) == 1.0
    # Even attention: 1/2, 1/3, 1/4, 1/5 for queries 1 to 4.
    assert score.chance == pytest.approx((1 / 2 + 1 / 3 + 1 / 4 + 1 / 5) / 4)


def test_an_induction_head_scores_one_and_chance_counts_every_earlier_follower() -> None:
    ids = torch.tensor([[7, 8, 9, 7, 8, 7]])
    # Query 3 (7): key 1. Query 4 (8): key 2. Query 5 (7): keys 1 and 4.
    pattern = torch.zeros(1, 1, 1, 6, 6)
    for query, keys in {0: [0], 1: [0], 2: [0], 3: [1], 4: [2], 5: [1, 4]}.items():
        pattern[..., query, keys] = 1 / len(keys)
    score = scores.induction(pattern, ids)
    assert float(score.values) == pytest.approx(1.0)
    assert score.chance == pytest.approx((1 / 4 + 1 / 5 + 2 / 6) / 3)


def test_scores_agree_with_the_product_s_head_metrics() -> None:
    from model.analysis.heads import head_metrics

    ids = torch.tensor([[3, 5, 3, 5, 5, 9]])
    generator = torch.Generator().manual_seed(0)
    scored = torch.randn(2, 1, 3, 6, 6, generator=generator)
    hidden = torch.ones(6, 6).triu(1).bool()
    pattern = scored.masked_fill(hidden, -math.inf).softmax(-1)  # [layer, row, head, query, key]
    metrics = head_metrics(list(pattern[:, 0]), ids[0].tolist(), [False] * 6, causal=True)
    for name, score in (
        ("previous_token", scores.previous_token(pattern)),
        ("induction", scores.induction(pattern, ids)),
    ):
        for head in metrics:
            product = head.metrics[name]
            value = float(score.values[head.layer, head.head])
            assert value == pytest.approx(product.value, rel=1e-5)
            assert score.chance == pytest.approx(product.chance, rel=1e-5)


def test_halves_leave_out_the_token_that_cannot_be_foreseen() -> None:
    losses = torch.tensor([[8.0, 10.0, 9.0, 1.0]])  # two tokens, said twice
    assert scores.halves(losses) == (9.0, 1.0)


def test_bits_per_byte_of_an_even_model_is_the_logarithm_of_the_vocabulary() -> None:
    model = small("post")
    with torch.no_grad():
        model.embed.weight.zero_()
    ids = np.arange(1, 101)
    text = Tokens(ids=ids, starts=np.array([0]))
    bits = measures.bits_per_byte(model, text, n_bytes=200, bos_id=0)
    assert bits == pytest.approx(100 * math.log2(300) / 200)


def test_bits_per_byte_scores_each_token_once_with_what_stands_before_it() -> None:
    model = small("pre")
    ids = np.random.default_rng(0).integers(1, 300, 20)
    text = Tokens(ids=ids, starts=np.array([0]))
    whole = torch.tensor([[0, *ids]])
    # 16 tokens from one window; the last four from a window that begins one token later.
    first = F.cross_entropy(model.unembed(model(whole[:, :16]))[0], whole[0, 1:17])
    window = torch.tensor([[0, *ids[1:20]]])
    last = F.cross_entropy(model.unembed(model(window[:, :-1]))[0, -4:], window[0, -4:])
    expected = float(16 * first + 4 * last) / math.log(2) / 40
    assert measures.bits_per_byte(model, text, 40, 0) == pytest.approx(expected, rel=1e-5)


def test_trigram_probabilities_are_witten_bell_s() -> None:
    model = trigrams.TrigramModel(*trigrams.count("abcabd"))
    # Triples abc, bca, cab, abd: third bytes c, a, b, d, once each.
    unigram = (1 + 4 / 256) / (4 + 4)
    pair = (1 + 2 * unigram) / (2 + 2)  # bc and bd
    three = (1 + 2 * pair) / (2 + 2)  # abc and abd
    a, b, c = b"abc"
    assert model.probability[a, b, c] == pytest.approx(three)
    assert model.bits_per_byte("abc") == pytest.approx(-math.log2(three))


def test_trigram_rows_sum_to_one_seen_or_not() -> None:
    model = trigrams.TrigramModel(*trigrams.count("to be or not to be"))
    sums = model.probability[[116, 200], [111, 1]].sum(-1)
    assert sums == pytest.approx([1.0, 1.0])


def test_trigram_counts_survive_their_file(tmp_path) -> None:
    triples, counts = trigrams.count("猫が山で歌いました。" * 3)
    trigrams.save(triples, counts, tmp_path / "t.npz")
    again = trigrams.load(tmp_path / "t.npz")
    assert np.array_equal(again[0], triples)
    assert np.array_equal(again[1], counts)
