"""When a head may be called after a metric: only well above chance; must not know any text.

Four conditions, all of them:
- the metric exceeds its chance level by ``MARGIN``, as a share of the room above chance;
- the excess is at least ``ERRORS`` standard errors over the queries, so that no single row decides;
- at least ``QUERIES`` queries are asked, since a short text proves nothing;
- a majority of those queries are above their own chance level.

Nothing standing out is a valid finding: most heads have no name.
"""

import math

import torch
from torch import Tensor

MARGIN = 0.25
ERRORS = 5.0
QUERIES = 8

# What a head can be called after; entropy and distance say how it spreads, not where it looks.
NAMING_METRICS = (
    "previous_token",
    "next_token",
    "self",
    "first_token",
    "same_token",
    "induction",
    "special_share",
)


def clears_margin(value: float | None, chance: float | None) -> bool:
    """Whether a metric exceeds chance by enough to be looked at further."""
    if value is None or chance is None or chance >= 1:
        return False
    return value - chance >= MARGIN * (1 - chance)


def stands_out(pattern: Tensor, mask: Tensor, even: Tensor) -> bool:
    """Whether one head's excess over chance is more than an accident of a few rows.

    Args:
        pattern: of the head [query, key].
        mask: which keys the metric counts [query, key]; queries without any are not asked.
        even: the pattern of even attention [query, key].
    """
    asked = mask.any(-1)
    n = int(asked.sum())
    if n < QUERIES:
        return False
    excess = ((pattern - even) * mask)[asked].sum(-1).double()  # [query]
    mean = float(excess.mean())
    error = float(excess.std()) / math.sqrt(n)
    most = int((excess > 0).sum()) > n / 2
    return most and mean >= ERRORS * error


def names_of(
    values: dict[str, tuple[float | None, float | None]],
    pattern: Tensor,
    masks: dict[str, Tensor],
    even: Tensor,
) -> list[str]:
    """Metrics that a head may be called after, the one farthest above chance first.

    Args:
        values: value and chance level of each metric.
        masks: boolean [query, key] by metric.
    """
    found: list[tuple[float, str]] = []
    for name in NAMING_METRICS:
        value, chance = values[name]
        if value is None or chance is None or not clears_margin(value, chance):
            continue
        if stands_out(pattern, masks[name], even):
            found.append(((value - chance) / (1 - chance), name))
    return [name for _, name in sorted(found, key=lambda one: -one[0])]


def is_named(excess: Tensor) -> bool:
    """The same rule for excesses over chance that come from several texts [query]."""
    n = excess.numel()
    error = float(excess.std()) / math.sqrt(n) if n > 1 else torch.inf
    return n >= QUERIES and float(excess.mean()) >= max(MARGIN, ERRORS * error)
