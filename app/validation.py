"""Pydantic's findings to code, field and numbers; must not know sentences or statuses."""

from collections.abc import Mapping, Sequence
from typing import Any

_TYPES = {
    "string_type": "string",
    "int_type": "integer",
    "int_from_float": "integer",
    "int_parsing": "integer",
    "float_type": "number",
    "float_parsing": "number",
    "bool_type": "boolean",
    "bool_parsing": "boolean",
    "list_type": "array",
    "dict_type": "object",
    "model_type": "object",
    "model_attributes_type": "object",
    "union_tag_invalid": "string_or_object",
    "union_tag_not_found": "string_or_object",
}

_BOUNDS = {"greater_than_equal": ("ge", "too_small"), "less_than_equal": ("le", "too_large")}


def problem_fields(
    errors: Sequence[Any], body: object
) -> tuple[str, str | None, Mapping[str, object]]:
    """Code, field and params of the first finding: one fault at a time is mended most easily."""
    error = errors[0]
    kind, context, given = error["type"], error.get("ctx", {}), error.get("input")
    field = _path(error["loc"], body, kind)
    if kind == "missing" and field is None:
        # The body itself is null.
        return "wrong_type", None, {"expected": "object"}
    if kind == "missing":
        return "missing_field", field, {}
    if kind == "extra_forbidden":
        return "unknown_field", field, {}
    if kind in _TYPES:
        return "wrong_type", field, {"expected": _TYPES[kind]}
    if kind in _BOUNDS:
        name, code = _BOUNDS[kind]
        return code, field, {"limit": context[name]}
    if kind == "literal_error":
        return "not_one_of", field, {"allowed": _allowed(context["expected"])}
    if kind in ("string_too_long", "string_too_short"):
        code = "too_many_characters" if kind == "string_too_long" else "too_few_characters"
        limit = context.get("max_length", context.get("min_length"))
        length = len(given) if isinstance(given, str) else 0
        return code, field, {"limit": limit, "length": length}
    if kind in ("too_long", "too_short"):
        code = "list_too_long" if kind == "too_long" else "list_too_short"
        limit = context.get("max_length", context.get("min_length"))
        return code, field, {"limit": limit, "length": context["actual_length"]}
    return "invalid_value", field, {}


def _allowed(expected: str) -> list[str]:
    """Pydantic says "'pre' or 'post'"; a program wants the values."""
    return [part.strip().strip("'") for part in expected.replace(" or ", ", ").split(",")]


def _path(location: Sequence[str | int], body: object, kind: str) -> str | None:
    """`include[0].points`: steps that the data has not, such as union members, drop out."""
    path = ""
    value = body
    steps = [step for step in location if step not in ("body", "query", "path")]
    for place, step in enumerate(steps):
        is_last_and_absent = place == len(steps) - 1 and kind == "missing"
        if isinstance(step, int):
            path += f"[{step}]"
            value = value[step] if isinstance(value, list) and step < len(value) else None
        elif is_last_and_absent or (isinstance(value, dict) and step in value) or body is None:
            path += f".{step}" if path else step
            value = value.get(step) if isinstance(value, dict) else None
    return path or None
