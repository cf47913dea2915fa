"""Laws and intervals over seeds; must not know what was measured."""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from model.analysis.experiments.results import Fit


def power_law(
    x: Sequence[float], y: Tensor, names: tuple[str, str], predicted: float | None
) -> Fit | None:
    """Fit y [seed, x] ~ x^exponent by least squares on logarithms, seed by seed.

    None where there are fewer than two different x, or a y without a logarithm.
    """
    places = torch.tensor(list(x), dtype=torch.float64).log()
    centred = places - places.mean()
    spread = centred.square().sum()
    logarithms = y.double().log()
    if spread == 0 or not bool(logarithms.isfinite().all()):
        return None
    exponents = logarithms @ centred / spread  # [seed]
    n, mean = len(exponents), exponents.mean().item()
    if n == 1:
        return Fit(*names, mean, None, None, None, 1, predicted)
    deviation = exponents.std().item()
    half = student(n - 1) * deviation / math.sqrt(n)
    return Fit(*names, mean, mean - half, mean + half, deviation, n, predicted)


def interval(y: Tensor) -> tuple[Tensor, Tensor]:
    """Ends of the 95 % interval of the mean over seeds of y [seed, …]; NaN for a single seed."""
    n, mean = len(y), y.mean(0)
    if n == 1:
        return torch.full_like(mean, math.nan), torch.full_like(mean, math.nan)
    half = student(n - 1) * y.std(0) / math.sqrt(n)
    return mean - half, mean + half


def student(freedom: int, inside: float = 0.95) -> float:
    """The t within which lies the share ``inside`` of Student's distribution.

    With t = sqrt(freedom) · tan(a) that share is a finite sum in sin(a) and cos(a), here solved by
    halving. Source: Abramowitz and Stegun 1964, 26.7.3 and 26.7.4.
    """
    low, high = 0.0, math.pi / 2
    for _ in range(80):
        middle = (low + high) / 2
        if _share_inside(middle, freedom) < inside:
            low = middle
        else:
            high = middle
    return math.sqrt(freedom) * math.tan(low)


def _share_inside(angle: float, freedom: int) -> float:
    sine, cosine = math.sin(angle), math.cos(angle)
    if freedom == 1:
        return 2 * angle / math.pi
    is_even = freedom % 2 == 0
    term = total = 1.0 if is_even else cosine
    for factor in range(1 if is_even else 2, freedom - 2, 2):
        term *= cosine * cosine * factor / (factor + 1)
        total += term
    return sine * total if is_even else 2 * (angle + sine * total) / math.pi
