"""What a request may hold: loose types, odd numbers and broken text are refused, by field."""

from collections.abc import Callable
from typing import Any

import pytest
from starlette.testclient import TestClient

JSON = {"content-type": "application/json"}


@pytest.mark.parametrize(
    ("call", "body", "field"),
    [
        ("trace", b'{"text":"A","config":{"eps":NaN}}', "config.eps"),
        ("trace", b'{"text":"A","eps":NaN}', "eps"),
        ("trace", b'{"text":"A","eps":-Infinity}', "eps"),
        ("trace", b'{"text":"A","eps":1e400}', "eps"),
        ("trace", b'{"text":NaN}', "text"),
        ("trace", b"[NaN]", "[0]"),
        ("add-norm", b'{"x":[1,2],"update":[0,Infinity]}', "update[1]"),
        ("add-norm", b'{"x":[1,2],"update":[0,0],"eps":NaN}', "eps"),
    ],
)
def test_numbers_that_are_not_finite_are_refused(
    client: TestClient, refused: Callable[..., Any], call: str, body: bytes, field: str
):
    reply = client.post(f"/api/v1/{call}", content=body, headers=JSON)
    refused(reply, 422, "not_finite", field)


def test_a_number_in_quotes_is_no_number(client: TestClient, refused: Callable[..., Any]):
    body = {"x": [1, 2], "update": [1, 2], "eps": "NaN"}
    error = refused(client.post("/api/v1/add-norm", json=body), 422, "wrong_type", "eps")
    assert error["params"] == {"expected": "number"}


@pytest.mark.parametrize(
    ("body", "field"),
    [
        (rb'{"text":"\ud83d"}', "text"),
        (rb'{"text":"A \ude00 B"}', "text"),
        (rb'{"text":["\ud83d"]}', "text[0]"),
        (rb'{"model":"\udc00","text":"A"}', "model"),
        (rb'{"\ud83d":1,"text":"A"}', r"\ud83d"),
        (rb'{"text":"A","include":["\ud83d"]}', "include[0]"),
    ],
)
def test_half_a_pair_of_surrogates_is_refused(
    client: TestClient, refused: Callable[..., Any], body: bytes, field: str
):
    reply = client.post("/api/v1/trace", content=body, headers=JSON)
    refused(reply, 422, "lone_surrogate", field)


def test_a_whole_pair_is_a_character(client: TestClient, parse: Callable[[bytes], Any]):
    reply = client.post("/api/v1/trace", content=rb'{"text":"\ud83d\ude00"}', headers=JSON)
    assert reply.status_code == 200
    assert parse(reply.content)["request"]["text"] == "😀"


@pytest.mark.parametrize("value", [True, "1", 1.5, [1], {"a": 1}])
@pytest.mark.parametrize("field", ["digits", "config.d_model", "config.n_layers", "config.seed"])
def test_integers_are_not_made_of_other_things(
    client: TestClient, refused: Callable[..., Any], field: str, value: object
):
    outer, _, inner = field.partition(".")
    body = {"text": "A", outer: {inner: value} if inner else value}
    refused(client.post("/api/v1/trace", json=body), 422, "wrong_type", field)


@pytest.mark.parametrize("field", ["digits", "config.n_layers", "config.seed"])
def test_a_whole_number_may_be_written_with_a_point(client: TestClient, field: str):
    outer, _, inner = field.partition(".")

    def run(number: str) -> bytes:
        value = f'{{"{inner}": {number}}}' if inner else number
        body = f'{{"text": "A", "model": "textbook", "{outer}": {value}}}'
        reply = client.post("/api/v1/trace", content=body, headers=JSON)
        assert reply.status_code == 200, reply.text
        return reply.content

    assert run("2.0") == run("2")


@pytest.mark.parametrize("text", [5, True, None, ["A"], {"a": 1}])
def test_a_text_is_a_string(client: TestClient, refused: Callable[..., Any], text: object):
    reply = client.post("/api/v1/trace", json={"text": text})
    assert refused(reply, 422, "wrong_type", "text")["params"] == {"expected": "string"}


@pytest.mark.parametrize("text", ["", "   ", "\n\t", "\u3000", "\u2003 \u00a0"])
@pytest.mark.parametrize("fields", [{}, {"model": "textbook"}, {"norm": "pre"}])
def test_a_text_without_a_token_is_refused(
    client: TestClient, refused: Callable[..., Any], text: str, fields: dict[str, str]
):
    refused(client.post("/api/v1/trace", json={"text": text, **fields}), 422, "empty_text", "text")


@pytest.mark.parametrize(
    ("body", "code", "field"),
    [
        ({}, "missing_field", "text"),
        ({"text": "A", "txt": "B"}, "unknown_field", "txt"),
        ({"text": "A", "config": {"d_head": 8}}, "unknown_field", "config.d_head"),
        ({"text": "A", "norm": "Post"}, "not_one_of", "norm"),
        ({"text": "A", "digits": 0}, "too_small", "digits"),
        ({"text": "A", "digits": 9}, "too_large", "digits"),
        ({"text": "A", "config": {"n_layers": 25}}, "too_large", "config.n_layers"),
        ({"text": "A", "config": {"seed": -1}}, "too_small", "config.seed"),
        ({"text": "A", "config": {"eps": -1e-5}}, "too_small", "config.eps"),
        ({"text": "A", "config": []}, "wrong_type", "config"),
        ({"text": "A", "include": "embed"}, "wrong_type", "include"),
        ({"text": "A", "include": ["embed", 3]}, "wrong_type", "include[1]"),
        ({"text": "A", "include": [None]}, "wrong_type", "include[0]"),
        ({"text": "A", "include": [""]}, "too_few_characters", "include[0]"),
        ({"text": "A", "include": ["e" * 201]}, "too_many_characters", "include[0]"),
        ({"text": "A", "include": ["embed"] * 257}, "list_too_long", "include"),
        ({"text": "A", "include": [{}]}, "missing_field", "include[0].points"),
        ({"text": "A", "include": [{"points": 1}]}, "wrong_type", "include[0].points"),
        ({"text": "A", "include": [{"points": "embed", "x": 1}]}, "unknown_field", "include[0].x"),
        ({"text": "A", "verify": 1}, "wrong_type", "verify"),
        ({"text": "A", "encoding": "gzip"}, "not_one_of", "encoding"),
        ({"text": "A" * 8001}, "too_many_characters", "text"),
        ({"text": "A", "model": "a" * 5000}, "too_many_characters", "model"),
        ({"text": "A", "interventions": []}, "unknown_field", "interventions"),
        ([], "wrong_type", None),
        ("A", "wrong_type", None),
    ],
)
def test_a_fault_is_named_with_its_field(
    client: TestClient, refused: Callable[..., Any], body: object, code: str, field: str | None
):
    refused(client.post("/api/v1/trace", json=body), 422, code, field)


def test_a_body_of_null_is_no_object(client: TestClient, refused: Callable[..., Any]):
    reply = client.post("/api/v1/trace", content=b"null", headers=JSON)
    refused(reply, 422, "wrong_type")


@pytest.mark.parametrize(
    "content_type",
    [
        None,
        "text/plain",
        "application/x-www-form-urlencoded",
        "application/problem+json",
        "application/json; charset=utf-16",
        "application/jsonp",
        "",
    ],
)
def test_only_json_in_utf_8_is_taken(
    client: TestClient, refused: Callable[..., Any], content_type: str | None
):
    headers = {} if content_type is None else {"content-type": content_type}
    reply = client.post("/api/v1/trace", content=b'{"text":"A"}', headers=headers)
    refused(reply, 415, "unsupported_media_type")


@pytest.mark.parametrize("content_type", ["application/json; charset=UTF-8", "Application/JSON"])
def test_json_may_be_spelled_in_any_case(client: TestClient, content_type: str):
    headers = {"content-type": content_type}
    assert client.post("/api/v1/trace", content=b'{"text":"A"}', headers=headers).status_code == 200


def test_a_text_that_is_too_long_is_refused_with_both_numbers(
    client: TestClient, refused: Callable[..., Any]
):
    # Characters are counted before the text is cut into tokens, tokens before the run.
    reply = client.post("/api/v1/trace", json={"text": "A" * 200_000})
    error = refused(reply, 422, "too_many_characters", "text")
    assert error["params"] == {"limit": 8000, "length": 200_000}
    body = {"text": "a b c d e f g h", "model": "textbook", "config": {"n_ctx": 4}}
    error = refused(client.post("/api/v1/trace", json=body), 422, "text_too_long", "text")
    assert error["params"] == {"limit": 4, "length": 8}
    assert "8" in error["message"] and "4" in error["message"]


@pytest.mark.parametrize(
    "name",
    ["../secret", "..%2fsecret", "..\\secret", "/etc/secret", "a/../../secret", "~/x", ".", "",
     "file:///etc/secret", "CON", "no-such-model", "{limit}", "<img src=x>"],
)  # fmt: skip
def test_an_unknown_model_is_a_404_whatever_its_name(
    client: TestClient, refused: Callable[..., Any], name: str
):
    reply = client.post("/api/v1/trace", json={"text": "A", "model": name})
    assert reply.status_code == 404
    error = reply.json()["error"]
    assert (error["code"], error["params"]) == ("unknown_model", {"model": name})


def test_a_refused_request_leaves_nothing_behind(client: TestClient, tiny: Callable[..., Any]):
    first = tiny("the cat sat")
    for _ in range(20):
        for wrong in (
            {"config": {"n_layers": 99}},
            {"include": ["blocks.99.out"]},
            {"include": ["blocks.0.attn.pattern[99]"]},
            {"text": "word " * 300},
        ):
            body = {"text": "the cat sat", **wrong}
            assert client.post("/api/v1/trace", json=body).status_code == 422
        assert tiny("the cat sat") == first


def test_a_parameter_is_the_number_that_the_run_used(client: TestClient):
    at = "/api/v1/models/twin/parameters"
    single = client.get(at, params={"name": "blocks.0.ln1.w", "index": "5", "norm": "pre"}).json()
    assert (single["axes"], single["shape"], single["learned"]) == ([], [], True)
    body = {"text": "猫", "norm": "pre", "include": ["blocks.0.ln1.normalized[1]"]}
    body["include"] += ["blocks.0.ln1.out[1]"]
    trace = client.post("/api/v1/trace", json=body).json()
    normalized, out = (tensor["values"][5] for tensor in trace["tensors"].values())
    beta = client.get(at, params={"name": "blocks.0.ln1.b", "index": "5", "norm": "pre"}).json()
    assert normalized * single["value"] + beta["value"] == pytest.approx(out, rel=1e-5)
    whole = client.get(at, params={"name": "blocks.0.ln1.w", "norm": "pre"}).json()
    assert whole["shape"] == [192] and whole["value"][5] == single["value"]


@pytest.mark.parametrize(
    ("query", "code", "field"),
    [
        ("", "missing_field", "name"),
        ("name=W_E&name=W_E", "duplicate_key", "name"),
        ("name=W_E&size=3", "unknown_field", "size"),
        ("name=W_P", "unknown_parameter", "name"),
        ("name=W_E&index=-1", "bad_selector", "index"),
        ("name=W_E&index=1&norm=rms", "not_one_of", "norm"),
        ("name=W_E&index=10000000", "index_out_of_range", "index"),
    ],
)
def test_a_parameter_that_cannot_be_is_refused(
    client: TestClient, query: str, code: str, field: str
):
    reply = client.get(f"/api/v1/models/twin/parameters?{query}")
    assert reply.status_code == 422
    assert (reply.json()["error"]["code"], reply.json()["error"]["field"]) == (code, field)


def test_parameters_of_no_model_are_not_found(client: TestClient):
    reply = client.get("/api/v1/models/nothing/parameters?name=W_E&index=0")
    assert (reply.status_code, reply.json()["error"]["code"]) == (404, "unknown_model")
