"""The OpenAPI file tells the truth: no other status, no other body, and its own examples work."""

import json
from collections.abc import Callable
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.specs.openapi.checks import positive_data_acceptance
from starlette.testclient import TestClient

from app import i18n, openapi, replies, schemas
from app.main import create_app
from app.settings import Settings

APP = create_app(Settings(workers=2))
# A client of its own, since the file is read when the tests are collected.
schema = schemathesis.openapi.from_dict(openapi.document(APP, "en"))
schema.app = APP


REPLIES = {
    "/api/v1/health": replies.HealthReply,
    "/api/v1/limits": replies.LimitsReply,
    "/api/v1/models": replies.ModelsReply,
    "/api/v1/trace": replies.TraceReply,
    "/api/v1/add-norm": replies.AddNormReply,
}


# Experiments drawn at random would take minutes; they have tests of their own.
@schema.exclude(path_regex="/experiments/").parametrize()
@settings(max_examples=20, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
def test_replies_are_as_documented(case: schemathesis.Case):
    # Which sizes fit together and which points exist, no schema can say: such requests get a 422.
    case.call_and_validate(
        headers={"host": "localhost"}, excluded_checks=[positive_data_acceptance]
    )


def documented(document: dict[str, Any]) -> list[tuple[str, str, dict[str, Any]]]:
    return [
        (path, method, call)
        for path, methods in document["paths"].items()
        for method, call in methods.items()
    ]


def test_the_examples_of_the_file_work(client: TestClient, parse: Callable[[bytes], Any]):
    document = client.get("/openapi.json").json()
    calls = documented(document)
    assert {path for path, _, _ in calls} >= REPLIES.keys()
    for path, method, call in calls:
        content = call.get("requestBody", {}).get("content", {}).get("application/json", {})
        named = {
            part["name"]: part["schema"]["examples"][0]
            for part in call["parameters"]
            if part["in"] == "path"
        }
        query = {
            part["name"]: part["schema"]["examples"][0]
            for part in call["parameters"]
            if part["in"] == "query" and part["required"]
        }
        body = content.get("example")
        reply = client.request(method, path.format(**named), params=query, json=body)
        assert reply.status_code == 200, reply.text
        if path in REPLIES:
            REPLIES[path].model_validate(parse(reply.content), strict=True)


@pytest.mark.parametrize("lang", i18n.LANGUAGES)
def test_everything_in_the_file_is_described(client: TestClient, lang: str):
    document = client.get(f"/openapi.json?lang={lang}").json()
    assert document["openapi"].startswith("3.1")
    for path, _, call in documented(document):
        assert call["summary"] and call["description"], path
        for part in (*call["responses"].values(), *call["parameters"]):
            assert part["description"], path
    for name, described in document["components"]["schemas"].items():
        assert described["description"], name
        for field, of_field in described.get("properties", {}).items():
            assert of_field["description"], f"{name}.{field}"


@pytest.mark.parametrize("body", [schemas.TraceBody, schemas.AddNormBody, schemas.ConfigBody])
def test_every_field_of_a_request_has_an_example(body: type[schemas.Body]):
    assert [name for name, field in body.model_fields.items() if not field.examples] == []


def test_both_languages_describe_the_same_api(client: TestClient):
    def without_words(value: Any) -> Any:
        if isinstance(value, dict):
            return {
                key: without_words(part)
                for key, part in value.items()
                if key not in ("description", "summary") or isinstance(part, dict)
            }
        return [without_words(part) for part in value] if isinstance(value, list) else value

    en, ja = (client.get(f"/openapi.json?lang={lang}").json() for lang in ("en", "ja"))
    assert without_words(en) == without_words(ja)
    assert json.dumps(en) != json.dumps(ja)
