"""`addnorm add-norm`: the reply of `POST /add-norm` in a terminal, as lines or as JSON."""

import argparse
import dataclasses
import math

from app.api.add_norm import stages
from app.command.body import Refused, checked
from app.command.tables import vector
from app.encode import to_json
from app.schemas import AddNormBody
from model.errors import ModelError


def main(options: argparse.Namespace, lang: str) -> int:
    """Print every stage; 2 where the request is refused."""
    try:
        numbers = {
            name: _numbers(name, getattr(options, name))
            for name in ("x", "update", "bias", "gamma", "beta")
        }
        values: dict[str, object] = {
            **numbers,
            "matrix": _matrix(options.matrix),
            "placement": options.placement,
            "eps": None if options.eps is None else _number("eps", options.eps),
        }
        result = stages(checked(AddNormBody, values))
    except ModelError as error:
        Refused(error.code, error.field, error.params).say(lang)
        return 2
    except Refused as error:
        error.say(lang)
        return 2
    if options.json:
        print(to_json(result).decode())
        return 0
    found = dataclasses.asdict(result)
    print(f"placement  {result.placement}    eps  {result.eps:g}")
    for name in ("x", *result.steps, "result"):
        value = found[name]
        print(f"{name:12} {vector(value if isinstance(value, list) else [value])}")
    for flag in result.flags:
        print(f"! {flag.code} {flag.stage} {flag.count}")
    return 0


def _numbers(field: str, text: str | None) -> list[float] | None:
    if text is None:
        return None
    return [_number(f"{field}[{place}]", part) for place, part in enumerate(text.split(","))]


def _matrix(text: str | None) -> list[list[float]] | None:
    """Rows separated by semicolons."""
    if text is None:
        return None
    rows = [_numbers(f"matrix[{place}]", row) for place, row in enumerate(text.split(";"))]
    return [row for row in rows if row is not None]


def _number(field: str, text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        raise Refused("wrong_type", field, {"expected": "number"}) from None
    if not math.isfinite(number):
        raise Refused("not_finite", field, {})
    return number
