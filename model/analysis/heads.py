"""What each attention head looks at, one formula averaged over queries; must not run a model.

Mean over the queries for which a metric is defined; special tokens count. With a the pattern, i the
query and j the key; allowed keys are 0..i under a causal mask, else all. ``chance`` is the same
formula with a = 1 / allowed keys.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from model.analysis.naming import names_of, stands_out


@dataclass(frozen=True)
class Metric:
    """Value and chance level; both null where no query qualifies."""

    value: float | None
    chance: float | None


@dataclass(frozen=True)
class HeadMetrics:
    """Metrics of one head, and those that it may be called after (``naming``), the clearest first.

    No name means that nothing stands out.
    """

    layer: int
    head: int
    label: str
    metrics: dict[str, Metric]
    names: list[str]


def head_metrics(
    patterns: list[Tensor], ids: list[int], special: list[bool], causal: bool
) -> list[HeadMetrics]:
    """Metrics of every head.

    Args:
        patterns: one tensor [head, query, key] per layer, rows summing to 1.
        ids: token ids [pos].
        special: whether a token stands for no text [pos].
        causal: whether later keys were hidden.
    """
    n = len(ids)
    allowed = torch.ones(n, n).tril() if causal else torch.ones(n, n)  # [query, key]
    counted = _counted(torch.tensor(ids), torch.tensor(special), causal)
    names = list(counted)
    asked = torch.stack([of.any(-1) for of in counted.values()])  # [metric, query]
    # No pair of tokens lies at any distance from itself, and yet 0 is a distance.
    asked[names.index("mean_distance")] = True
    by_query = torch.stack(list(counted.values()), dim=-1).float()  # [query, key, metric]
    even = _shares((allowed / allowed.sum(-1, keepdim=True))[None], by_query)[0]
    shares = torch.stack([_shares(pattern, by_query) for pattern in patterns])
    n_asked = asked.sum(-1)  # [metric]
    defined = (n_asked > 0).tolist()
    values = (shares.sum(-1) / n_asked).tolist()  # [layer, head, metric]
    chances = (even.sum(-1) / n_asked).tolist()
    clear = stands_out(shares.double() - even.double(), asked).tolist()
    entropies = _entropies(patterns, allowed)
    found = []
    for layer, of_layer in enumerate(values):
        for head, row in enumerate(of_layer):
            metrics = {
                name: Metric(value, chance) if is_defined else Metric(None, None)
                for name, value, chance, is_defined in zip(
                    names, row, chances, defined, strict=True
                )
            }
            metrics["entropy"] = entropies[layer][head]
            outstanding = {
                name: (row[place], chances[place])
                for place, name in enumerate(names)
                if clear[layer][head][place]
            }
            label = f"L{layer}H{head}"
            found.append(HeadMetrics(layer, head, label, metrics, names_of(outstanding)))
    return found


def _shares(pattern: Tensor, by_query: Tensor) -> Tensor:
    """What each query gives to the keys that a metric counts [head, metric, query].

    Args:
        pattern: [head, query, key].
        by_query: how much each key counts [query, key, metric].
    """
    return (pattern.transpose(0, 1) @ by_query).permute(1, 2, 0)


def _entropies(patterns: list[Tensor], allowed: Tensor) -> list[list[Metric]]:
    """Entropy of each head's rows over that of an even row, for queries with a choice."""
    choices = allowed.sum(-1)  # [query]
    many = choices >= 2
    if not bool(many.any()):
        return [[Metric(None, None)] * len(pattern) for pattern in patterns]
    most = choices[many].log()
    return [
        [Metric(value, 1.0) for value in (rows.sum(-1) / most).mean(-1).tolist()]
        for rows in (torch.special.entr(pattern[:, many]) for pattern in patterns)
    ]


def _counted(ids: Tensor, special: Tensor, causal: bool) -> dict[str, Tensor]:
    """How much a[i, j] counts in each metric [query, key]: whether it does, or its distance."""
    n = len(ids)
    i, j = torch.arange(n)[:, None], torch.arange(n)[None, :]
    seen = (j <= i) if causal else torch.ones(n, n, dtype=torch.bool)
    return {
        "previous_token": j == i - 1,
        "next_token": (j == i + 1) & (not causal),
        "self": i == j,
        "first_token": (j == 0) & (i >= 1),
        "same_token": (ids[:, None] == ids[None, :]) & (i != j) & seen,
        "induction": induction_mask(ids),
        "special_share": special[None, :] & seen,
        "mean_distance": (i - j).abs(),
    }


def induction_mask(ids: Tensor) -> Tensor:
    """Whether key j follows an earlier occurrence of the query's token: id[j-1] = id[i], j <= i.

    ids [..., pos] to [..., query, key].

    Source: Olsson et al. 2022, "In-context Learning and Induction Heads".
    """
    after_same = ids[..., :, None] == ids.roll(1, -1)[..., None, :]
    after_same[..., 0] = False
    return after_same.tril()
