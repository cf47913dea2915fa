"""When a head may be called after a metric: only well above chance; must not know any text.

Four conditions, all of them:
- the metric exceeds its chance level by ``MARGIN``, as a share of the room above chance;
- the excess is at least ``ERRORS`` standard errors over the queries, so that no single row decides;
- at least ``QUERIES`` queries are asked, since a short text proves nothing;
- a majority of those queries are above their own chance level.

Nothing standing out is a valid finding: most heads have no name.
"""

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


def stands_out(excess: Tensor, asked: Tensor) -> Tensor:
    """Whether an excess over chance is more than an accident of a few rows [..., metric].

    Args:
        excess: share minus chance level [..., metric, query], zero where a query is not asked.
        asked: which queries a metric asks [metric, query].
    """
    n = asked.sum(-1)  # [metric]
    mean = excess.sum(-1) / n
    variance = ((excess - mean[..., None]) * asked).square().sum(-1) / (n - 1)
    most = (excess > 0).sum(-1) > n / 2
    return (n >= QUERIES) & most & (mean >= ERRORS * (variance / n).sqrt())


def names_of(outstanding: dict[str, tuple[float, float]]) -> list[str]:
    """Metrics that a head may be called after, the one farthest above chance first.

    Args:
        outstanding: value and chance level of each metric that stands out.
    """
    farthest = {
        name: (value - chance) / (1 - chance)
        for name, (value, chance) in outstanding.items()
        if name in NAMING_METRICS and chance < 1
    }
    cleared = [name for name in farthest if farthest[name] >= MARGIN]
    return sorted(cleared, key=lambda name: -farthest[name])
