"""What a request includes: entries become exact slices of points; must not need a run."""

import difflib
import math
import re
from dataclasses import dataclass

from model import limits
from model.config import Norm
from model.errors import ModelError
from model.points import PointSpec, canonical

_ENTRY = re.compile(r"([^\[\]]+)(?:\[([^\[\]]*)\])?")
_ITEM = re.compile(r"[0-9]{1,9}|(?:[0-9]{1,9})?:(?:[0-9]{1,9})?")


@dataclass(frozen=True)
class Include:
    """One entry of a request's ``include``; ``as_text`` if its numbers are sent as decimals."""

    points: str
    as_text: bool = True


@dataclass(frozen=True)
class Selection:
    """A slice of one point. ``entry`` is the place of its entry in the request."""

    key: str
    point: str
    index: tuple[int | slice, ...]
    axes: list[str]
    shape: list[int]
    entry: int

    @property
    def count(self) -> int:
        return math.prod(self.shape)


def select(includes: list[Include], points: dict[str, PointSpec], norm: Norm) -> list[Selection]:
    """Every slice that the entries name, in their order; a glob's points in the order of the run.

    Raises:
        ModelError: ``bad_selector``, ``unknown_point`` (with the nearest names),
            ``too_many_axes``, ``index_out_of_range``, ``too_much_asked``.
    """
    selections = [
        selection
        for entry, include in enumerate(includes)
        for selection in _select_one(include.points, points, norm, entry)
    ]
    as_text = sum(s.count for s in selections if includes[s.entry].as_text)
    count = sum(s.count for s in selections)
    for asked, limit in ((as_text, limits.MAX_NUMBERS_AS_TEXT), (count, limits.MAX_NUMBERS)):
        if asked > limit:
            raise ModelError("too_much_asked", field="include", count=asked, limit=limit)
    return selections


def _select_one(
    entry: str, points: dict[str, PointSpec], norm: Norm, place: int
) -> list[Selection]:
    match = _ENTRY.fullmatch(entry)
    if match is None:
        raise ModelError("bad_selector", field="include", entry=entry)
    pattern, selector = canonical(match[1], norm), match[2]
    names = _matching(pattern, points)
    if not names:
        nearest = difflib.get_close_matches(pattern, points, n=5, cutoff=0.4)
        raise ModelError("unknown_point", field="include", entry=entry, nearest=nearest)
    suffix = "" if selector is None else f"[{selector}]"
    items = [] if selector is None else [item.strip() for item in selector.split(",")]
    if not all(_ITEM.fullmatch(item) for item in items):
        raise ModelError("bad_selector", field="include", entry=entry)
    return [_slice(points[name], items, suffix, place) for name in names]


def _matching(pattern: str, points: dict[str, PointSpec]) -> list[str]:
    if "*" not in pattern:
        return [pattern] if pattern in points else []
    # A run of stars means what one star means, and would make the search slow.
    parts = re.split(r"\*+", pattern)
    glob = re.compile(".*".join(map(re.escape, parts)))
    return [name for name in points if glob.fullmatch(name)]


def _slice(point: PointSpec, items: list[str], suffix: str, entry: int) -> Selection:
    if len(items) > len(point.axes):
        raise ModelError(
            "too_many_axes", field="include", point=point.name, axes=point.axes, given=len(items)
        )
    index: list[int | slice] = []
    axes: list[str] = []
    shape: list[int] = []
    for place, (axis, size) in enumerate(zip(point.axes, point.shape, strict=True)):
        item = items[place] if place < len(items) else ":"
        if ":" not in item:
            index.append(_within(int(item), size - 1, axis, point))
            continue
        start, stop = item.split(":")
        first = _within(int(start or 0), size, axis, point)
        end = _within(int(stop) if stop else size, size, axis, point)
        index.append(slice(first, end))
        axes.append(axis)
        shape.append(max(0, end - first))
    return Selection(point.name + suffix, point.name, tuple(index), axes, shape, entry)


def _within(value: int, largest: int, axis: str, point: PointSpec) -> int:
    if value > largest:
        raise ModelError(
            "index_out_of_range",
            field="include",
            point=point.name,
            axis=axis,
            index=value,
            largest=largest,
        )
    return value
