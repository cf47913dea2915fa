"""Two runs on one text, and where they differ; must not know how a request came or is answered.

Long texts in deep models have more values than fit in memory twice: what the summaries do not keep
is compared in groups, one pair of runs for each. Runs are pure, so a group's values are the same.
"""

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from model.analysis.compare import (
    HeadDistance,
    PointDifference,
    PredictionChange,
    head_distances,
    point_difference,
    prediction_changes,
)
from model.errors import ModelError
from model.points import PointSpec, canonical, layer_of
from model.registry import Registry
from model.run import Plan, plan
from model.selection import Include, select
from model.trace import Run, Selected, Trace, TraceRequest, run

# Numbers of one run that are held at a time beside its summary: 192 MB as float32.
GROUP_NUMBERS = 48_000_000
TOP_K = 5


@dataclass(frozen=True)
class Difference:
    """Second run against first.

    Attributes:
        same_tokens: whether both cut the text alike; if not, positions do not correspond.
        points: what both runs have in one shape, in the order of the first run.
        predictions: null with a ``reason``: ``no_unembedding``, ``different_tokens`` or
            ``different_vocabularies``.
    """

    same_tokens: bool
    points: list[PointDifference]
    heads: list[HeadDistance]
    predictions: list[PredictionChange] | None
    reason: str | None


@dataclass(frozen=True)
class Comparison:
    """Two traces without tensors, and their difference; ``tensors`` are second minus first."""

    traces: tuple[Trace, Trace]
    difference: Difference
    tensors: list[Selected]


def compare(
    registry: Registry,
    requests: tuple[TraceRequest, TraceRequest],
    include: list[Include],
    group_numbers: int = GROUP_NUMBERS,
) -> Comparison:
    """Run twice and compare.

    Args:
        requests: both on one text; their own ``include`` is not used.
        include: difference tensors that are wanted, of points that both have in one shape.

    Raises:
        ModelError: what a trace refuses; ``unknown_point`` for a point that is not in both, and
            ``shapes_differ`` for one that is, in another shape.
    """
    plans = plan(registry, requests[0]), plan(registry, requests[1])
    common = common_points(*plans)
    _refuse_other_shapes(include, common, plans)
    selections = select(include, common, plans[0].config.norm)
    keys = [Include(s.key, include[s.entry].as_text) for s in selections]
    names = [name for name in common if not name.endswith("attn.result")]
    # What fits is kept by the runs of the summaries themselves.
    also = names if _numbers(names, common) <= group_numbers else []
    first, second = (
        run(registry, replace(request, include=keys), lambda planned: also) for request in requests
    )
    with torch.no_grad():
        points = _differences(names, common, first, second, group_numbers)
        heads = _heads(common, first, second)
        predictions, reason = _predictions(first, second)
    difference = Difference(_same_tokens(first, second), points, heads, predictions, reason)
    tensors = [
        replace(a, value=b.value - a.value, entry=selection.entry)
        for a, b, selection in zip(
            first.trace.tensors, second.trace.tensors, selections, strict=True
        )
    ]
    traces = replace(first.trace, tensors=[]), replace(second.trace, tensors=[])
    return Comparison(traces, difference, tensors)


def _refuse_other_shapes(
    include: list[Include], common: dict[str, PointSpec], plans: tuple[Plan, Plan]
) -> None:
    """A point that both runs have, in other shapes, has no difference; say so by its name."""
    first, second = plans
    for entry in include:
        name = canonical(entry.points.partition("[")[0], first.config.norm)
        if name in first.points and name in second.points and name not in common:
            raise ModelError(
                "shapes_differ",
                field="include",
                point=name,
                first=first.points[name].shape,
                second=second.points[name].shape,
            )


def common_points(first: Plan, second: Plan) -> dict[str, PointSpec]:
    """Points that both runs have with the same axes and shape, in the order of the first."""
    return {
        name: spec
        for name, spec in first.points.items()
        if name in second.points
        and second.points[name].axes == spec.axes
        and second.points[name].shape == spec.shape
    }


def _numbers(names: Iterable[str], points: dict[str, PointSpec]) -> int:
    return sum(math.prod(points[name].shape) for name in names)


def _groups(
    names: Iterable[str], points: dict[str, PointSpec], group_numbers: int
) -> Iterator[list[str]]:
    """Names in order, cut where a group would hold too many numbers."""
    group: list[str] = []
    for name in names:
        if group and _numbers([*group, name], points) > group_numbers:
            yield group
            group = []
        group.append(name)
    if group:
        yield group


def _differences(
    names: list[str], common: dict[str, PointSpec], first: Run, second: Run, group_numbers: int
) -> list[PointDifference]:
    kept = first.recorder.values, second.recorder.values
    missing = [name for name in names if name not in kept[0] or name not in kept[1]]
    found = _compared([name for name in names if name not in set(missing)], common, *kept)
    for group in _groups(missing, common, group_numbers):
        values = (ran.planned.record(group).values for ran in (first, second))
        found |= _compared(group, common, *values)
    return [found[name] for name in names]


def _compared(
    names: list[str],
    common: dict[str, PointSpec],
    first: Mapping[str, Tensor],
    second: Mapping[str, Tensor],
) -> dict[str, PointDifference]:
    return {
        name: point_difference(name, common[name].axes, first[name], second[name]) for name in names
    }


def _heads(common: dict[str, PointSpec], first: Run, second: Run) -> list[HeadDistance]:
    return [
        distance
        for name in common
        if name.endswith("attn.pattern")
        for distance in head_distances(
            layer_of(name) or 0, first.recorder.values[name], second.recorder.values[name]
        )
    ]


def _predictions(first: Run, second: Run) -> tuple[list[PredictionChange] | None, str | None]:
    logits = [ran.recorder.values.get("logits") for ran in (first, second)]
    if logits[0] is None or logits[1] is None:
        return None, "no_unembedding"
    if not _same_vocabulary(first, second):
        return None, "different_vocabularies"
    if not _same_tokens(first, second):
        return None, "different_tokens"
    vocabulary = first.planned.runnable.tokenizer
    return prediction_changes(logits[0], logits[1], TOP_K, vocabulary), None


def _same_vocabulary(first: Run, second: Run) -> bool:
    a, b = first.planned, second.planned
    mine, other = a.runnable.tokenizer, b.runnable.tokenizer
    return a.config.d_vocab == b.config.d_vocab and (
        mine is other
        or all(mine.piece(token) == other.piece(token) for token in range(a.config.d_vocab))
    )


def _same_tokens(first: Run, second: Run) -> bool:
    cuts = [
        [(token.piece, token.start, token.end) for token in ran.trace.tokens]
        for ran in (first, second)
    ]
    return cuts[0] == cuts[1]
