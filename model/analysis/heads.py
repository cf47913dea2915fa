"""What each attention head looks at, one formula averaged over queries; must not run a model.

Mean over the queries for which a metric is defined; special tokens count. With a the pattern, i the
query and j the key; allowed keys are 0..i under a causal mask, else all. ``chance`` is the same
formula with a = 1 / allowed keys.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from model.analysis.naming import names_of


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
    even = allowed / allowed.sum(-1, keepdim=True)
    masks = _masks(torch.tensor(ids), torch.tensor(special), causal)
    weights = _weights(masks)
    # All metrics of a layer in one product: [head, n²] @ [n², metric].
    stacked = torch.stack([weight.flatten() for weight in weights.values()], dim=-1)
    # A distance of 0 is a value; any other mask without an entry means that no query qualifies.
    defined = [name not in masks or bool(masks[name].any()) for name in weights]
    chance = (even.flatten() @ stacked).tolist()
    many = allowed.sum(-1) >= 2  # queries with a choice
    return [
        HeadMetrics(
            layer, head, f"L{layer}H{head}", metrics, _names(metrics, pattern[head], masks, even)
        )
        for layer, pattern in enumerate(patterns)
        for head, metrics in enumerate(
            _layer_metrics(pattern, list(weights), stacked, defined, chance, many, allowed)
        )
    ]


def _names(
    metrics: dict[str, Metric], pattern: Tensor, masks: dict[str, Tensor], even: Tensor
) -> list[str]:
    values = {name: (metric.value, metric.chance) for name, metric in metrics.items()}
    return names_of(values, pattern, masks, even)


def _layer_metrics(
    pattern: Tensor,
    names: list[str],
    stacked: Tensor,
    defined: list[bool],
    chance: list[float],
    many: Tensor,
    allowed: Tensor,
) -> list[dict[str, Metric]]:
    values = (pattern.flatten(1) @ stacked).tolist()  # [head, metric]
    entropies: list[float | None] = [None] * len(values)
    if bool(many.any()):
        row = torch.special.entr(pattern[:, many]).sum(-1)  # [head, query]
        entropies = (row / allowed.sum(-1)[many].log()).mean(-1).tolist()
    result = []
    for row_values, entropy in zip(values, entropies, strict=True):
        metrics = {
            name: Metric(value, even) if is_defined else Metric(None, None)
            for name, value, even, is_defined in zip(
                names, row_values, chance, defined, strict=True
            )
        }
        metrics["entropy"] = Metric(entropy, None if entropy is None else 1.0)
        result.append(metrics)
    return result


def _masks(ids: Tensor, special: Tensor, causal: bool) -> dict[str, Tensor]:
    """Which a[i, j] a metric counts [query, key]."""
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
    }


def induction_mask(ids: Tensor) -> Tensor:
    """Whether key j follows an earlier occurrence of the query's token: id[j-1] = id[i], j <= i.

    ids [..., pos] to [..., query, key].

    Source: Olsson et al. 2022, "In-context Learning and Induction Heads".
    """
    after_same = ids[..., :, None] == ids.roll(1, -1)[..., None, :]
    after_same[..., 0] = False
    return after_same.tril()


def _weights(masks: dict[str, Tensor]) -> dict[str, Tensor]:
    """Weight of each a[i, j] in a metric [query, key], the mean over its queries included."""
    weights = {}
    for name, mask in masks.items():
        qualifying = mask.any(-1).sum().clamp(min=1)
        weights[name] = mask.float() / qualifying
    n = len(masks["self"])
    place = torch.arange(n)
    weights["mean_distance"] = (place[:, None] - place[None, :]).abs().float() / n
    return weights
