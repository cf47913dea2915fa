"""How q·k spreads with a head's size, and what softmax makes of it; must not know any model."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from model.analysis.experiments.fits import power_law
from model.analysis.experiments.results import Paper, Progress, Result, Run, Series, numbers
from model.analysis.experiments.stacks import generator, refuse_multiply_adds, seeds_of

PAPER = Paper(
    authors="Vaswani et al.",
    year=2017,
    title="Attention Is All You Need",
    where="section 3.2.1, footnote 4",
    arxiv="1706.03762",
    predicts=["variance = d_head"],
)

# A row counts as saturated from this largest weight on.
SATURATED = 0.99

# What the dot product is divided by: nothing, the root of the head's size, the root of d_model.
DIVISORS = ("none", "sqrt_d_head", "sqrt_d_model")

MEASURES = {
    "largest_weight": "share",
    "entropy": "share",
    "saturated": "share",
    "jacobian_p10": None,
    "jacobian_median": None,
    "jacobian_largest": None,
}
# What a number of the softmax costs, measured in multiply-adds of a matrix product: three divisors,
# and for each a dozen passes in float64.
PASSES = 1500


@dataclass(frozen=True)
class DotProductVarianceRequest:
    """``samples``: rows of the softmax for each seed and size, in texts of ``n_keys`` positions."""

    d_heads: tuple[int, ...] = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
    n_heads: int = 8
    n_keys: int = 64
    samples: int = 512
    seed: int = 0
    seeds: int = 8


def dot_products(d_head: int, n_keys: int, rows: int, draw: torch.Generator) -> Tensor:
    """q·k of independent standard normal components [row, key].

    Rows come in texts: as many queries as keys see the same keys.
    """
    texts = []
    for first in range(0, rows, n_keys):
        q = torch.randn(min(n_keys, rows - first), d_head, generator=draw)
        k = torch.randn(n_keys, d_head, generator=draw)
        texts.append(q @ k.mT)
    return torch.cat(texts)


def of_softmax(scores: Tensor) -> dict[str, Tensor]:
    """What softmax makes of rows [row, key]: one number for each measure."""
    weights = scores.double().softmax(-1)
    largest = weights.amax(-1)
    entropy = torch.special.entr(weights).sum(-1) / math.log(scores.shape[-1])
    # The Jacobian of a softmax is diag(a) - a aᵀ; this is its Frobenius norm, squared.
    squares, cubes = weights.square().sum(-1), weights.pow(3).sum(-1)
    jacobian = (squares - 2 * cubes + squares.square()).clamp(min=0).sqrt()
    return {
        "largest_weight": largest.mean(),
        "entropy": entropy.mean(),
        "saturated": (largest > SATURATED).double().mean(),
        "jacobian_p10": jacobian.quantile(0.1),
        "jacobian_median": jacobian.median(),
        "jacobian_largest": jacobian.max(),
    }


def run(request: DotProductVarianceRequest) -> Run[DotProductVarianceRequest]:
    """Draw, divide in three ways, and measure, for every seed and size.

    Raises:
        ModelError: ``experiment_too_large``.
    """
    numbers_each = request.samples * request.n_keys
    refuse_multiply_adds(
        request.seeds * sum(numbers_each * (d_head + PASSES) for d_head in request.d_heads)
    )
    shape = (request.seeds, len(request.d_heads))
    variance = torch.empty(shape, dtype=torch.float64)
    measured = {
        (divisor, measure): torch.empty(shape, dtype=torch.float64)
        for divisor in DIVISORS
        for measure in MEASURES
    }
    done, total = 0, request.seeds * len(request.d_heads)
    for row, seed in enumerate(seeds_of(request.seed, request.seeds)):
        draw = generator(seed)
        for column, d_head in enumerate(request.d_heads):
            dot = dot_products(d_head, request.n_keys, request.samples, draw)
            variance[row, column] = dot.double().var(correction=0)
            for divisor in DIVISORS:
                for measure, value in of_softmax(dot / _size(divisor, d_head, request)).items():
                    measured[divisor, measure][row, column] = value
            done += 1
            yield Progress(done, total)
    return _result(request, variance, measured)


def _size(divisor: str, d_head: int, request: DotProductVarianceRequest) -> float:
    if divisor == "none":
        return 1.0
    return math.sqrt(d_head if divisor == "sqrt_d_head" else d_head * request.n_heads)


def _result(
    request: DotProductVarianceRequest,
    variance: Tensor,
    measured: dict[tuple[str, str], Tensor],
) -> Result[DotProductVarianceRequest]:
    axis = ["d_head"]
    series = {
        "d_head": Series(axis, "components", list(request.d_heads)),
        "seed": Series(["seed"], None, list(seeds_of(request.seed, request.seeds))),
        "variance": Series(["seed", "d_head"], None, numbers(variance)),
        "variance_mean": Series(axis, None, numbers(variance.mean(0))),
        "variance_predicted": Series(axis, None, [float(d) for d in request.d_heads]),
    }
    for divisor in DIVISORS:
        sizes = torch.tensor([_size(divisor, d, request) for d in request.d_heads])
        deviation = variance.mean(0).sqrt() / sizes
        series[f"{divisor}.deviation"] = Series(axis, None, numbers(deviation))
        for measure, unit in MEASURES.items():
            mean = measured[divisor, measure].mean(0)
            series[f"{divisor}.{measure}"] = Series(axis, unit, numbers(mean))
    fit = power_law(request.d_heads, variance, ("d_head", "variance"), 1.0)
    return Result(request, [PAPER], series, [fit] if fit else [], {"saturated_from": SATURATED})
