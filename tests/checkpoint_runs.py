"""Runs of the folders that tests make, and the refusals they meet."""

from pathlib import Path

import pytest

from model.errors import ModelError
from model.registry import Registry
from model.trace import Include, Trace, TraceRequest, run_trace

# LayerNorm([1, 2, 3, 4]), whose mean is 2.5 and whose variance is 1.25, with eps 1e-12 and 1e-5.
A12 = [-1.3416408, -0.4472136, 0.4472136, 1.3416408]
A5 = [-1.3416354, -0.4472118, 0.4472118, 1.3416354]


def trace(models: Path, model: str, text: str, *include: str, **fields) -> Trace:
    entries = [Include(entry) for entry in include]
    return run_trace(Registry(models), TraceRequest(text, model, include=entries, **fields))


def values(models: Path, model: str, text: str, *include: str, **fields) -> list[list]:
    return [
        selected.value.tolist()
        for selected in trace(models, model, text, *include, **fields).tensors
    ]


def refusal(models: Path, model: str, text: str = "A", **fields) -> ModelError:
    with pytest.raises(ModelError) as caught:
        trace(models, model, text, **fields)
    return caught.value


def approx(expected, tolerance=1e-5):
    return pytest.approx(expected, abs=tolerance)
