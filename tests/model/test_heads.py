"""Head metrics against the definitions written out as loops, and against closed forms."""

import math

import pytest
import torch

from model.analysis.heads import head_metrics

METRICS = [
    "previous_token",
    "next_token",
    "self",
    "first_token",
    "same_token",
    "induction",
    "entropy",
    "mean_distance",
    "special_share",
]


def by_loops(a, ids, special, causal):
    """The definitions, one query and one key at a time."""
    n = len(ids)

    def allowed(i):
        return range(i + 1) if causal else range(n)

    rows = {name: [] for name in METRICS}
    for i in range(n):
        if i >= 1:
            rows["previous_token"].append(a[i][i - 1])
            rows["first_token"].append(a[i][0])
        if not causal and i + 1 < n:
            rows["next_token"].append(a[i][i + 1])
        rows["self"].append(a[i][i])
        same = [j for j in allowed(i) if j != i and ids[j] == ids[i]]
        if same:
            rows["same_token"].append(sum(a[i][j] for j in same))
        after = [j + 1 for j in range(i) if j + 1 <= i and ids[j] == ids[i]]
        if after:
            rows["induction"].append(sum(a[i][j] for j in after))
        keys = len(allowed(i))
        if keys >= 2:
            entropy = -sum(p * math.log(p) for p in a[i] if p > 0)
            rows["entropy"].append(entropy / math.log(keys))
        rows["mean_distance"].append(sum(a[i][j] * abs(i - j) for j in allowed(i)))
        if any(special[j] for j in allowed(i)):
            rows["special_share"].append(sum(a[i][j] for j in allowed(i) if special[j]))
    return {name: sum(r) / len(r) if r else None for name, r in rows.items()}


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(
    ("ids", "special"),
    [
        ([0, 5, 7, 5, 7, 9, 5], [True] + [False] * 6),
        ([3, 4, 5], [False] * 3),
        ([8], [False]),
        ([6, 6], [False, False]),
        ([1, 2, 1, 2, 0], [False] * 4 + [True]),
    ],
)
def test_metrics_and_chance_levels_are_the_definitions(ids, special, causal):
    n = len(ids)
    scores = torch.randn(2, 3, n, n, generator=torch.Generator().manual_seed(n))
    hidden = torch.ones(n, n, dtype=torch.bool).triu(1) & causal
    patterns = scores.masked_fill(hidden, -math.inf).softmax(-1)
    even = torch.zeros(n, n).masked_fill(hidden, -math.inf).softmax(-1)
    chance = by_loops(even.tolist(), ids, special, causal)
    found = head_metrics(list(patterns), ids, special, causal)
    assert [(h.layer, h.head, h.label) for h in found][:4] == [
        (0, 0, "L0H0"),
        (0, 1, "L0H1"),
        (0, 2, "L0H2"),
        (1, 0, "L1H0"),
    ]
    for head in found:
        expected = by_loops(patterns[head.layer, head.head].tolist(), ids, special, causal)
        assert set(head.metrics) == set(METRICS)
        for name, metric in head.metrics.items():
            assert metric.value == pytest.approx(expected[name], abs=1e-6), name
            assert metric.chance == pytest.approx(chance[name], abs=1e-6), name


def test_an_even_causal_head_scores_exactly_its_chance_level():
    n = 12
    even = torch.ones(1, n, n).tril() / torch.arange(1, n + 1)[:, None]
    (head,) = head_metrics([even], [1, 2, 3, 4] * 3, [True] + [False] * 11, causal=True)
    for name, metric in head.metrics.items():
        assert metric.value == pytest.approx(metric.chance, abs=1e-6), name
    harmonic = sum(1 / i for i in range(2, n + 1)) / (n - 1)
    assert head.metrics["previous_token"].chance == pytest.approx(harmonic, abs=1e-6)


def test_a_planted_previous_token_head_scores_one():
    n = 6
    pattern = torch.zeros(1, n, n)
    pattern[0, 0, 0] = 1
    pattern[0, torch.arange(1, n), torch.arange(n - 1)] = 1
    (head,) = head_metrics([pattern], list(range(n)), [False] * n, causal=True)
    assert head.metrics["previous_token"].value == 1
    assert head.metrics["self"].value == pytest.approx(1 / n)
    assert head.metrics["entropy"].value == 0


def test_a_planted_induction_head_scores_one():
    ids = [4, 5, 6, 4, 5, 6]
    pattern = torch.zeros(1, 6, 6)
    for query, key in enumerate([0, 0, 0, 1, 2, 3]):
        pattern[0, query, key] = 1
    (head,) = head_metrics([pattern], ids, [False] * 6, causal=True)
    assert head.metrics["induction"].value == 1
