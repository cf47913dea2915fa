"""Planted heads are found and called by their name; random ones are not."""

import math

import pytest
import torch

from model import hooks
from model.analysis.heads import head_metrics
from model.analysis.induction import head_scores, repeated, row_shares
from model.analysis.naming import MARGIN, names_of, stands_out
from model.config import ModelConfig
from model.errors import ModelError
from model.hooks import Recorder, recording
from model.registry import Registry
from model.repetition import run_repetition
from model.run import RunRequest
from model.transformer import Transformer, with_weights
from model.twins.weights import training_record

torch.set_num_threads(1)

V, N = 16, 32  # vocabulary and positions: one component of the stream for each
SHARP = 60.0


def planted(norm: str) -> Transformer:
    """A previous-token head in layer 0 and an induction head in layer 1, weights set by hand.

    The stream has three parts: the token (V components), its place (N) and, written by the first
    head, the token before (V). The first head's query looks for the place before its own; the
    second's looks for its own token among the tokens before. Each layer's other head is even.
    """
    config = ModelConfig(
        d_model=V + N + V,
        n_heads=2,
        d_mlp=4,
        n_layers=2,
        n_ctx=N,
        d_vocab=V,
        norm=norm,
        positions="learned",
        causal=True,
        scale_embedding=False,
    )
    with torch.device("meta"):
        shapes = {name: p.shape for name, p in Transformer(config).named_parameters()}
    w = {name: torch.full(shape, float(name.endswith(".w"))) for name, shape in shapes.items()}
    token, place, before = torch.arange(V), V + torch.arange(N), V + N + torch.arange(V)
    w["embed.weight"][:, token] = torch.eye(V)
    w["pos_embed.weight"][:, place] = torch.eye(N)
    first, second = "blocks.0.attn.W_", "blocks.1.attn.W_"
    w[f"{first}Q.weight"][torch.arange(N - 1), place[1:]] = SHARP
    w[f"{first}K.weight"][torch.arange(N), place] = 1.0
    w[f"{first}V.weight"][torch.arange(V), token] = 1.0
    w[f"{first}O.weight"][before, torch.arange(V)] = 1.0
    w[f"{second}Q.weight"][torch.arange(V), token] = SHARP
    w[f"{second}K.weight"][torch.arange(V), before] = 1.0
    model = with_weights(config, w)
    hooks.attach(model)
    return model


def patterns_of(model: Transformer, ids: torch.Tensor) -> list[torch.Tensor]:
    names = [f"blocks.{layer}.attn.pattern" for layer in range(model.config.n_layers)]
    with torch.no_grad(), recording(Recorder(frozenset(names))) as recorder:
        model(ids)
    return [recorder.values[name] for name in names]


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_planted_heads_are_found_in_a_text_and_nothing_else_is(norm):
    ids = repeated(list(range(1, V)), [0], [], 12, 1, seed=2)[0]
    patterns = patterns_of(planted(norm), ids)
    special = [True] + [False] * (len(ids) - 1)
    found = {h.label: h for h in head_metrics(patterns, ids.tolist(), special, True)}
    assert found["L0H0"].names == ["previous_token"]
    assert found["L0H0"].metrics["previous_token"].value > 0.9
    assert found["L1H0"].names[0] == "induction"
    assert found["L1H0"].metrics["induction"].value > 0.9
    # Even attention scores exactly its chance level.
    for label in ("L0H1", "L1H1"):
        assert found[label].names == []
        for metric in found[label].metrics.values():
            assert metric.value == pytest.approx(metric.chance, abs=1e-6)


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_planted_heads_are_found_by_the_test_of_repeated_tokens(norm):
    ids = repeated(list(range(1, V)), [0], [], 12, 6, seed=5)
    model = planted(norm)
    rows = [row_shares(patterns_of(model, row), row, True) for row in ids]
    found = {h.label: h for h in head_scores(rows)}
    assert found["L0H0"].names == ["previous_token"]
    assert found["L1H0"].names == ["induction"]
    assert found["L0H1"].names == found["L1H1"].names == []
    even = found["L0H1"].scores["induction"]
    assert even.value == pytest.approx(even.chance, abs=1e-6)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("n", [9, 40])
def test_random_heads_have_no_name(causal, n):
    draw = torch.Generator().manual_seed(n)
    scores = 1.5 * torch.randn(300, n, n, generator=draw)
    if causal:
        scores = scores.masked_fill(torch.ones(n, n).triu(1).bool(), -math.inf)
    ids = [0, *torch.randint(1, 9, (n - 1,), generator=draw).tolist()]
    special = [True] + [False] * (n - 1)
    heads = head_metrics([scores.softmax(-1)], ids, special, causal)
    assert [h.names for h in heads] == [[]] * 300


def test_a_short_text_names_nothing():
    n = 6
    pattern = torch.eye(n).roll(-1, -1).tril()
    pattern[0, 0] = 1.0
    (head,) = head_metrics([pattern[None]], list(range(n)), [False] * n, True)
    assert head.metrics["previous_token"].value == 1
    assert head.names == []


def named(shares: torch.Tensor, chance: float) -> bool:
    """Whether one head would be called after one metric with these shares [query]."""
    asked = torch.ones(1, len(shares), dtype=torch.bool)
    if not bool(stands_out((shares - chance).double()[None], asked)):
        return False
    return names_of({"induction": (float(shares.mean()), chance)}) == ["induction"]


@pytest.mark.parametrize("chance", [0.0, 0.2])
def test_a_name_needs_the_stated_share_of_the_room_above_chance(chance):
    needed = chance + MARGIN * (1 - chance)
    steady = torch.linspace(-0.01, 0.01, 20)
    assert named(steady + needed + 0.001, chance)
    assert not named(steady + needed - 0.001, chance)


def test_a_few_rows_name_nothing():
    # Three of nine, however far they lie above.
    uneven = torch.zeros(9)
    uneven[:3] = 1.0
    assert not named(uneven, 0.0)
    # A minority of many, although the mean clears the margin by many standard errors.
    minority = torch.zeros(400)
    minority[:180] = 1.0
    assert not named(minority, 0.0)
    assert named(1 - minority, 0.0)


def test_rows_say_the_same_tokens_twice_between_their_ends():
    ids = repeated([5, 6, 7, 8], [1], [2], 10, 4, seed=0)
    assert ids.shape == (4, 22)
    assert torch.equal(ids[:, 1:11], ids[:, 11:21])
    assert (ids[:, 0] == 1).all() and (ids[:, -1] == 2).all()
    assert set(ids[:, 1:21].unique().tolist()) <= {5, 6, 7, 8}
    assert torch.equal(ids, repeated([5, 6, 7, 8], [1], [2], 10, 4, seed=0))
    assert not torch.equal(ids, repeated([5, 6, 7, 8], [1], [2], 10, 4, seed=1))


def test_induction_scores_are_what_loops_compute():
    draw = torch.Generator().manual_seed(3)
    ids = torch.randint(4, (2, 9), generator=draw)
    scores = torch.randn(2, 3, 9, 9, generator=draw)
    pattern = scores.masked_fill(torch.ones(9, 9).triu(1).bool(), -math.inf).softmax(-1)
    found = head_scores([row_shares([pattern[row]], ids[row], True) for row in range(2)])
    for head in range(3):
        shares, even = [], []
        for row in range(2):
            for i in range(9):
                keys = [j for j in range(1, i + 1) if ids[row, j - 1] == ids[row, i]]
                if keys:
                    shares.append(sum(float(pattern[row, head, i, j]) for j in keys))
                    even.append(len(keys) / (i + 1))
        score = found[head].scores["induction"]
        assert score.value == pytest.approx(sum(shares) / len(shares), rel=1e-5)
        assert score.chance == pytest.approx(sum(even) / len(even), rel=1e-6)


@pytest.fixture(scope="module")
def registry():
    return Registry()


def test_a_random_model_has_no_induction_head(registry):
    config = {"d_model": 32, "n_layers": 2, "n_heads": 4, "d_mlp": 32, "causal": True}
    request = RunRequest("a", "textbook", None, None, config)
    report = run_repetition(registry, request, seed=1, rows=3)
    assert [head.names for head in report.heads] == [[]] * 8
    assert (report.segment, report.tokens, report.losses) == (48, 96, None)


def test_a_random_model_gains_nothing_from_a_repetition(one_model):
    report = run_repetition(one_model("gpt2"), RunRequest("a"), rows=2)
    assert report.segment == 31  # 64 positions, one of them <s>
    assert report.losses.second > report.losses.first - 1


def test_a_repetition_that_does_not_fit_is_refused(one_model):
    with pytest.raises(ModelError) as caught:
        run_repetition(one_model("gpt2"), RunRequest("a"), segment=40)
    assert caught.value.params == {"limit": 64, "length": 81}


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_the_twins_heads_are_those_that_their_record_names(registry, norm):
    report = run_repetition(registry, RunRequest("a", "twin", norm))
    record = training_record()
    known = {head["label"]: head for head in record["induction_heads"][norm]}
    named = {h.label: h for h in report.heads if "induction" in h.names}
    # The record lists induction heads of 0.4 or more; a name needs less, but clearly above chance.
    assert named.keys() >= known.keys()
    assert all(named[h].scores["induction"].value < 0.45 for h in named.keys() - known.keys())
    for label in known:
        head = named[label]
        # Other random tokens than the record's, in the same number.
        assert head.scores["induction"].value == pytest.approx(known[label]["value"], abs=0.05)
        assert head.scores["induction"].chance == pytest.approx(known[label]["chance"], abs=0.01)
    found = record["evaluation"][norm]["heads"]
    best = max(report.heads, key=lambda h: h.scores["previous_token"].value)
    assert best.label == found["previous_token"]["label"]
    assert "previous_token" in best.names
    assert report.losses.second == pytest.approx(found["repeated"]["second"], abs=0.5)
    assert report.losses.second < report.losses.first - 5
