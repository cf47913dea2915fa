"""Where two recorded runs of one text differ, and by how much; must not run a model.

Differences are second minus first. Entries that are not finite in either run, such as hidden
scores, are left out and counted.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from model.tokenizer.cut import Vocabulary


@dataclass(frozen=True)
class PointDifference:
    """One point that both runs have with one shape.

    Attributes:
        largest, mean: of the absolute differences.
        relative: |second - first| / |first|, with |x| the root of the sum of squares.
        cosine: of both values at each position, or query [pos]; null where a position has one
            number only.
        left_out: entries that are not finite in one run or both.
    """

    point: str
    largest: float
    mean: float
    relative: float
    cosine: Tensor | None
    left_out: int


@dataclass(frozen=True)
class HeadDistance:
    """Jensen-Shannon distance of one head's rows, from 0 (equal) to 1 (no key in common).

    Attributes:
        mean: over the queries; ``largest``: and the ``query`` that has it.
    """

    layer: int
    head: int
    label: str
    mean: float
    largest: float
    query: int


@dataclass(frozen=True)
class TokenChange:
    """One token among the likeliest of either run, with its probability in both."""

    id: int
    piece: str
    label: str
    first: float
    second: float
    change: float


@dataclass(frozen=True)
class PredictionChange:
    """Attributes:
    same_top: whether both runs have the same first choice.
    distance: Jensen-Shannon distance of the two predictions over the whole vocabulary.
    tokens: the likeliest of either run, by the size of the change.
    """

    pos: int
    same_top: bool
    distance: float
    tokens: list[TokenChange]


def point_difference(point: str, axes: list[str], first: Tensor, second: Tensor) -> PointDifference:
    """Compare two values of one shape.

    Args:
        axes: names of the axes; ``pos`` or ``query`` is the one that the cosine keeps.
    """
    a, b, left_out = _both_finite(first, second)
    difference = b - a
    counted = a.numel() - left_out
    position = next(place for place, axis in enumerate(axes) if axis in ("pos", "query"))
    rows_a, rows_b = (x.movedim(position, 0).flatten(1) for x in (a, b))
    length = math.sqrt(_total(a.square()))
    return PointDifference(
        point=point,
        largest=float(difference.abs().max()),
        mean=_total(difference.abs()) / counted if counted else 0.0,
        relative=math.sqrt(_total(difference.square())) / length if length else math.nan,
        cosine=cosines(rows_a, rows_b) if rows_a.shape[1] > 1 else None,
        left_out=left_out,
    )


def _both_finite(first: Tensor, second: Tensor) -> tuple[Tensor, Tensor, int]:
    """Both values with 0 where either is not finite, and how many entries that are."""
    # A sum is finite if all its terms are: one pass without a temporary.
    if bool(first.sum().isfinite()) and bool(second.sum().isfinite()):
        return first, second, 0
    both = first.isfinite() & second.isfinite()
    a, b = torch.where(both, first, 0.0), torch.where(both, second, 0.0)
    return a, b, both.numel() - int(both.sum())


def _total(x: Tensor) -> float:
    return float(x.sum(dtype=torch.float64))


def cosines(a: Tensor, b: Tensor) -> Tensor:
    """Cosine of each row of one with that of the other; not a number where one is zero."""
    # In float64 from the start: squares of small or large float32 components leave its range.
    a, b = a.double(), b.double()
    products = [(x * y).sum(-1) for x, y in ((a, b), (a, a), (b, b))]
    cosine: Tensor = products[0] / (products[1] * products[2]).sqrt()
    return cosine.float()


def jensen_shannon(p: Tensor, q: Tensor) -> Tensor:
    """Distance of distributions along the last axis: the root of the divergence in bits.

    Source: Endres and Schindelin 2003, "A New Metric for Probability Distributions".
    """
    middle = (p + q) / 2
    # entr(p) = -p ln p, with 0 for 0: the divergence is H(middle) - (H(p) + H(q)) / 2.
    entropies = [torch.special.entr(x).sum(-1) for x in (middle, p, q)]
    divergence = entropies[0] - (entropies[1] + entropies[2]) / 2
    bits: Tensor = divergence / torch.log(torch.tensor(2.0, dtype=divergence.dtype))
    return bits.clamp(min=0).sqrt()


def head_distances(layer: int, first: Tensor, second: Tensor) -> list[HeadDistance]:
    """Distances of every head's patterns [head, query, key]."""
    by_query = jensen_shannon(first.double(), second.double())  # [head, query]
    largest = by_query.max(-1)
    return [
        HeadDistance(layer, head, f"L{layer}H{head}", mean, value, query)
        for head, (mean, value, query) in enumerate(
            zip(
                by_query.mean(-1).tolist(),
                largest.values.tolist(),
                largest.indices.tolist(),
                strict=True,
            )
        )
    ]


def prediction_changes(
    first: Tensor, second: Tensor, top_k: int, vocabulary: Vocabulary
) -> list[PredictionChange]:
    """How the predictions of the next token change at every position; logits [pos, d_vocab]."""
    return [
        _prediction_change(pos, first[pos].double(), second[pos].double(), top_k, vocabulary)
        for pos in range(len(first))
    ]


def _prediction_change(
    pos: int, first: Tensor, second: Tensor, top_k: int, vocabulary: Vocabulary
) -> PredictionChange:
    p, q = first.softmax(-1), second.softmax(-1)
    tops = [x.topk(min(top_k, len(x))).indices.tolist() for x in (first, second)]
    likely = list(dict.fromkeys(tops[0] + tops[1]))
    tokens = [
        TokenChange(
            id=token,
            piece=vocabulary.piece(token),
            label=vocabulary.label(token),
            first=float(p[token]),
            second=float(q[token]),
            change=float(q[token] - p[token]),
        )
        for token in likely
    ]
    tokens.sort(key=lambda token: -abs(token.change))
    return PredictionChange(pos, tops[0][0] == tops[1][0], float(jensen_shannon(p, q)), tokens)
