"""What each attention head looks at, one formula averaged over queries; must not run a model.

Mean over the queries for which a metric is defined; special tokens count. With a the pattern, i the
query and j the key; allowed keys are 0..i under a causal mask, else all. ``chance`` is the same
formula with a = 1 / allowed keys.
"""

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Metric:
    """Value and chance level; both null where no query qualifies."""

    value: float | None
    chance: float | None


@dataclass(frozen=True)
class HeadMetrics:
    layer: int
    head: int
    label: str
    metrics: dict[str, Metric]


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
    # All metrics of a layer in one product: [head, n²] @ [n², metric].
    stacked = torch.stack([mask.flatten() for mask in masks.values()], dim=-1)
    # A distance of 0 is a value; any other mask without an entry means that no query qualifies.
    defined = [name == "mean_distance" or bool(mask.any()) for name, mask in masks.items()]
    chance = (even.flatten() @ stacked).tolist()
    many = allowed.sum(-1) >= 2  # queries with a choice
    return [
        HeadMetrics(layer, head, f"L{layer}H{head}", metrics)
        for layer, pattern in enumerate(patterns)
        for head, metrics in enumerate(
            _layer_metrics(pattern, list(masks), stacked, defined, chance, many, allowed)
        )
    ]


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
    """Weight of each a[i, j] in a metric [query, key], the mean over its queries included."""
    n = len(ids)
    i, j = torch.arange(n)[:, None], torch.arange(n)[None, :]
    seen = (j <= i) if causal else torch.ones(n, n, dtype=torch.bool)
    same = ids[:, None] == ids[None, :]
    # For induction a[i, j] counts where the token before j is the query's own: id[j-1] = id[i].
    after_same = torch.zeros(n, n, dtype=torch.bool)
    after_same[:, 1:] = same[:, :-1]
    chosen = {
        "previous_token": j == i - 1,
        "next_token": (j == i + 1) & (not causal),
        "self": i == j,
        "first_token": (j == 0) & (i >= 1),
        "same_token": same & (i != j) & seen,
        "induction": after_same & (j <= i),
        "special_share": special[None, :] & seen,
    }
    masks = {name: _mean_over_queries(mask.float()) for name, mask in chosen.items()}
    masks["mean_distance"] = (i - j).abs().float() / n
    return masks


def _mean_over_queries(mask: Tensor) -> Tensor:
    qualifying = mask.any(-1).sum().clamp(min=1)
    return mask / qualifying
