"""Journeys that are told again with other values: CI runs the first ones, `make proof` the rest."""

from typing import Any

import pytest


def long(*values: Any) -> Any:
    """A parameter set that only `make proof` runs."""
    return pytest.param(*values, marks=pytest.mark.long)
