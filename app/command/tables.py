"""Rows of plain values as aligned text; must not know what they mean."""

import unicodedata
from collections.abc import Sequence

SHOWN = 8
"""Numbers of a vector that stand in a line; the rest is counted."""


def heading(words: str) -> list[str]:
    return ["", words, "─" * _width(words)]


def table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> list[str]:
    """Columns as wide as their widest cell."""
    cells = [list(head), *([str(cell) for cell in row] for row in rows)]
    widths = [max(_width(row[column]) for row in cells) for column in range(len(head))]
    return [
        "  ".join(
            cell + " " * (width - _width(cell)) for cell, width in zip(row, widths, strict=True)
        ).rstrip()
        for row in cells
    ]


def vector(numbers: Sequence[float | None]) -> str:
    """The first numbers of a vector to six significant digits, and how many more there are."""
    shown = "  ".join(
        f"{number:10.6g}" if number is not None else f"{'–':>10}" for number in numbers[:SHOWN]
    )
    more = len(numbers) - SHOWN
    return f"{shown}  … +{more}" if more > 0 else shown


def _width(text: str) -> int:
    """Cells of a terminal: characters of East Asian scripts take two, combining ones none."""
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1
        for c in text
    )
