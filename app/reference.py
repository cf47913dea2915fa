"""The OpenAPI file as rows for the page `/docs`; must not know languages or templates."""

import json
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Row:
    """One field of a body or reply; ``depth`` is how far inside it stands."""

    name: str
    type: str
    limits: str
    default: str | None
    example: str | None
    required: bool
    description: str
    depth: int


@dataclass(frozen=True)
class Refusal:
    status: str
    description: str


@dataclass(frozen=True)
class Call:
    id: str
    method: str
    path: str
    summary: str
    description: str
    parameters: list[Row]
    body: list[Row]
    example: str | None
    reply: list[Row]
    refusals: list[Refusal]


def of(document: dict[str, Any]) -> list[Call]:
    """Every call, in the order of the file."""
    schemas = document["components"]["schemas"]
    return [
        _call(path, method, call, schemas)
        for path, methods in document["paths"].items()
        for method, call in methods.items()
    ]


def _call(path: str, method: str, call: dict[str, Any], schemas: dict[str, Any]) -> Call:
    content = call.get("requestBody", {}).get("content", {}).get("application/json", {})
    reply = call["responses"]["200"]["content"]["application/json"]["schema"]
    return Call(
        id=call["operationId"],
        method=method.upper(),
        path=path,
        summary=call["summary"],
        description=call["description"],
        parameters=[
            _row(p["name"], {**p["schema"], "description": p["description"]}, p["required"], 0)
            for p in call["parameters"]
        ],
        body=_rows(content.get("schema", {}), schemas, 0),
        example=_json(content["example"]) if "example" in content else None,
        reply=_rows(reply, schemas, 0),
        refusals=[
            Refusal(status, refusal["description"])
            for status, refusal in call["responses"].items()
            if status != "200"
        ],
    )


def _rows(schema: dict[str, Any], schemas: dict[str, Any], depth: int) -> list[Row]:
    """The fields of an object, each followed by those of the objects it holds."""
    rows = []
    for name in _objects(schema):
        properties = schemas[name].get("properties", {})
        required = schemas[name].get("required", [])
        for field, of_field in properties.items():
            rows.append(_row(field, of_field, field in required, depth))
            rows += _rows(of_field, schemas, depth + 1)
    return rows


def _objects(schema: dict[str, Any]) -> list[str]:
    """Names of the schemas that a field's value may be or hold."""
    if "$ref" in schema:
        return [schema["$ref"].rpartition("/")[2]]
    inner = [*schema.get("anyOf", []), *schema.get("oneOf", [])]
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            inner.append(schema[key])
    return [name for part in inner for name in _objects(part)]


def _row(name: str, schema: dict[str, Any], required: bool, depth: int) -> Row:
    examples = schema.get("examples", [])
    return Row(
        name=name,
        type=_type(schema),
        limits=_limits(schema),
        default=_json(schema["default"]) if "default" in schema else None,
        example=_json(examples[0]) if examples else None,
        required=required,
        description=schema.get("description", ""),
        depth=depth,
    )


def _type(schema: dict[str, Any]) -> str:
    if "$ref" in schema:
        return "object"
    if "enum" in schema or "const" in schema:
        return " | ".join(map(_json, schema.get("enum", [schema.get("const")])))
    parts = [*schema.get("anyOf", []), *schema.get("oneOf", [])]
    if parts:
        return " | ".join(dict.fromkeys(_type(part) for part in parts))
    kind = schema.get("type", "any")
    if kind == "array":
        inner = _type(schema.get("items", {}))
        return f"array of {inner}" if "|" not in inner else f"array of ({inner})"
    return str(kind)


def _limits(schema: dict[str, Any]) -> str:
    """Bounds in JSON Schema's own words."""
    for part in [*schema.get("anyOf", []), *schema.get("oneOf", [])]:
        if found := _limits(part):
            return found
    low, high = schema.get("minimum"), schema.get("maximum")
    if low is not None and high is not None:
        return f"{_number(low)} … {_number(high)}"
    keys = ("minLength", "maxLength", "minItems", "maxItems")
    return ", ".join(f"{key} {schema[key]:,}" for key in keys if key in schema)


def _number(value: float) -> str:
    return f"{int(value):,}" if value == int(value) else str(value)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
