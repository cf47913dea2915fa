"""The OpenAPI 3.1 file in either language: FastAPI's, completed with what every call may answer.

Descriptions are sentences of the catalogue, by the names of schema and field. Must not know how a
call is answered.
"""

import copy
from functools import lru_cache
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from app import i18n, limits, replies, schemas, schemas_analysis, schemas_lab
from app.errors import STATUS
from app.experiments import LINES

API_VERSION = "1"

EVERY_CALL = (403, 413, 421, 500)
CALLS_WITH_BODY = (408, 415, 422, 503)
MORE: dict[str, tuple[int, ...]] = {
    "trace": (404,),
    "training": (404, 422, 503),
    "loading": (404, 422),
    "parameters": (404, 422, 503),
    "cost": (422, 503),
    "input_norms": (404,),
    **dict.fromkeys(schemas_analysis.BODIES, (404,)),
}
"""Further refusals of a call, by its operation id."""

BODIES: dict[str, type[BaseModel]] = {
    "trace": schemas.TraceBody,
    "add_norm": schemas.AddNormBody,
    **schemas_analysis.BODIES,
    **schemas_lab.BODIES,
}

SAME_FIELDS = {
    "ConfigReply": "ConfigBody",
    "IncludeReply": "IncludeBody",
    "ModelAsRunReply": "ModelReply",
    "TraceRequestReply": "TraceBody",
    **schemas_analysis.SAME_FIELDS,
    **schemas_lab.SAME_FIELDS,
}
"""Schemas whose fields mean what another's of the same name do."""

_ERROR = "#/components/schemas/ErrorReply"


def document(app: FastAPI, lang: str) -> dict[str, Any]:
    """The file in a language; made again when the catalogue has changed."""
    sentences = i18n.catalogue(lang)
    known: dict[str, tuple[int, dict[str, Any]]] = app.state.openapi_documents
    if lang not in known or known[lang][0] != id(sentences):
        known[lang] = (id(sentences), _made(app, sentences))
    return known[lang][1]


def _made(app: FastAPI, sentences: dict[str, str]) -> dict[str, Any]:
    made = copy.deepcopy(_bare(app))
    made["info"]["description"] = sentences.get("api.description", "")
    for path in made["paths"].values():
        for call in path.values():
            _complete_call(call, sentences)
    for name, schema in made["components"]["schemas"].items():
        _describe(name, schema, sentences)
    return made


@lru_cache(maxsize=4)
def _bare(app: FastAPI) -> dict[str, Any]:
    """Paths and schemas without words."""
    made = get_openapi(
        title="addnorm", version=API_VERSION, openapi_version="3.1.0", routes=app.routes
    )
    made["info"]["license"] = {"name": "MIT", "identifier": "MIT"}
    components = made["components"]["schemas"]
    for unused in ("HTTPValidationError", "ValidationError"):
        components.pop(unused, None)
    _, errors = models_json_schema(
        [(replies.ErrorReply, "serialization")], ref_template="#/components/schemas/{model}"
    )
    components.update(errors["$defs"])
    return made


def _complete_call(call: dict[str, Any], sentences: dict[str, str]) -> None:
    name = call["operationId"]
    call["summary"] = sentences.get(f"api.call.{name}.summary", "")
    call["description"] = sentences.get(f"api.call.{name}.description", "")
    for parameter in call.setdefault("parameters", []):
        parameter["schema"].pop("title", None)
        described = sentences.get(f"api.parameter.{name}.{parameter['name']}", "")
        parameter["description"] = described
    call["parameters"].append(
        {
            "name": "lang",
            "in": "query",
            "required": False,
            "description": sentences.get("api.parameter.lang", ""),
            "schema": {"type": "string", "examples": list(i18n.LANGUAGES)},
        }
    )
    body = call.get("requestBody")
    if body is not None:
        body["content"]["application/json"]["example"] = schemas.example_of(BODIES[name])
    call["responses"] = {"200": call["responses"]["200"]} | {
        str(status): _refusal(status, sentences)
        for status in sorted({*EVERY_CALL, *(CALLS_WITH_BODY if body else ()), *MORE.get(name, ())})
    }
    reply = call["responses"]["200"]
    reply["description"] = sentences.get(f"api.call.{name}.reply", "")
    if name in schemas_lab.BODIES:
        reply["content"][LINES] = {"schema": {"type": "string"}}


def _refusal(status: int, sentences: dict[str, str]) -> dict[str, Any]:
    codes = sorted(code for code, found in STATUS.items() if found == status)
    described = sentences.get(f"api.status.{status}", "")
    refusal: dict[str, Any] = {
        "description": described + (f" ({', '.join(codes)})" if codes else ""),
        "content": {
            "application/json": {"schema": {"$ref": _ERROR}},
            "text/html": {"schema": {"type": "string"}},
        },
    }
    if status == 503:
        refusal["headers"] = {
            "Retry-After": {
                "description": sentences.get("api.header.retry_after", ""),
                "schema": {"type": "integer", "examples": [limits.RETRY_SECONDS]},
            }
        }
    return refusal


def _describe(name: str, schema: dict[str, Any], sentences: dict[str, str]) -> None:
    schema.pop("title", None)
    schema["description"] = sentences.get(f"api.{name}", "")
    for field, of_field in schema.get("properties", {}).items():
        of_field.pop("title", None)
        of_field["description"] = _of_field(name, field, sentences)


def _of_field(name: str | None, field: str, sentences: dict[str, str]) -> str:
    """The sentence of a field, from the schema itself or the nearest one that means the same."""
    while name is not None:
        if found := sentences.get(f"api.{name}.{field}"):
            return found
        name = SAME_FIELDS.get(name)
    return ""
