"""What an experiment gives: progress, named series, fits, papers; must not know any experiment."""

import math
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from torch import Tensor

Request = TypeVar("Request")


@dataclass(frozen=True)
class Progress:
    """How many of how many slices are done."""

    done: int
    total: int


@dataclass(frozen=True)
class Series:
    """Numbers with a name for each axis.

    Attributes:
        unit: what a number counts, such as ``layers`` or ``share``; null for a plain number.
        values: nested lists, a level for each axis; null where there is no finite number.
    """

    axes: list[str]
    unit: str | None
    values: Sequence[object]


@dataclass(frozen=True)
class Fit:
    """y ~ x^exponent, fitted to each seed by itself.

    Attributes:
        exponent: mean over the seeds, with its 95 % interval ``low`` to ``high`` (Student's t) and
            ``deviation``, the standard deviation over seeds; null for a single seed.
        predicted: what theory says of it.
    """

    x: str
    y: str
    exponent: float
    low: float | None
    high: float | None
    deviation: float | None
    seeds: int
    predicted: float | None


@dataclass(frozen=True)
class Paper:
    """Where a finding comes from, and the laws it predicts, in the names of the series."""

    authors: str
    year: int
    title: str
    where: str
    arxiv: str | None
    predicts: list[str]


@dataclass(frozen=True)
class Result(Generic[Request]):
    """The request with every default, and what came out; ``facts`` are single numbers."""

    request: Request
    paper: list[Paper]
    series: dict[str, Series]
    fit: list[Fit] = field(default_factory=list)
    facts: dict[str, float] = field(default_factory=dict)


Run = Generator[Progress, None, Result[Request]]


Outcome = TypeVar("Outcome")


def finish(run: Generator[Progress, None, Outcome]) -> Outcome:
    """All slices one after the other."""
    while True:
        try:
            next(run)
        except StopIteration as stop:
            result: Outcome = stop.value
            return result


def numbers(values: Tensor) -> list[object]:
    """A tensor as nested lists."""
    listed = _finite(values.double().tolist())
    assert isinstance(listed, list)
    return listed


def _finite(part: object) -> object:
    if isinstance(part, list):
        return [_finite(each) for each in part]
    return part if isinstance(part, float) and math.isfinite(part) else None
