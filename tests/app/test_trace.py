"""`POST /trace`: everything that was asked for, in its stated shape, the same on every call."""

import base64
import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from starlette.testclient import TestClient

from app.replies import TraceReply

MIXED = "猫が😀好き。The cat sat."
Tiny = Callable[..., Any]


def shape_of(values: Any) -> list[int]:
    shape = []
    while isinstance(values, list):
        shape.append(len(values))
        values = values[0] if values else None
    return shape


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_a_reply_has_the_documented_shape(tiny: Tiny, norm: str):
    reply = tiny(MIXED, norm=norm, include=["*"], verify=True)
    TraceReply.model_validate(reply, strict=True)
    assert all(check["ok"] for check in reply["checks"])
    assert reply["not_checked"] == []
    assert reply["flags"] == []


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_every_listed_point_can_be_included_in_its_stated_shape(tiny: Tiny, norm: str):
    summary = tiny(MIXED, norm=norm)
    names = [point["name"] for point in summary["points"]]
    tensors = tiny(MIXED, norm=norm, include=names, digits=4)["tensors"]
    assert list(tensors) == names
    for point in summary["points"]:
        tensor = tensors[point["name"]]
        assert (tensor["axes"], tensor["shape"]) == (point["axes"], point["shape"])
        assert shape_of(tensor["values"]) == point["shape"]


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_capture_is_whole_in_both_placements(tiny: Tiny, norm: str):
    reply = tiny("the cat sat on the mat", norm=norm, include=["blocks.*"])
    n = len(reply["tokens"])
    for layer in (0, 1):
        block = {
            name.removeprefix(f"blocks.{layer}."): tensor
            for name, tensor in reply["tensors"].items()
            if name.startswith(f"blocks.{layer}.")
        }
        assert block["attn.pattern"]["shape"] == [4, n, n]
        assert block["resid_mid"]["shape"] == block["resid_post"]["shape"] == [n, 64]
        assert block["mlp.post"]["shape"] == [n, 128]
        for norm_name in ("ln1", "ln2"):
            assert block[f"{norm_name}.mean"]["shape"] == [n, 1]
            assert block[f"{norm_name}.var"]["shape"] == [n, 1]
        assert "null" not in json.dumps({k: v["values"] for k, v in block.items()})


@pytest.mark.parametrize("fields", [{"model": "textbook"}, {}])
def test_rows_sum_to_1_and_five_calls_give_the_same_bytes(
    client: TestClient, fields: dict[str, str]
):
    body = {"text": "the cat sat", "include": ["*pattern"], **fields}
    replies = {client.post("/api/v1/trace", json=body).content for _ in range(5)}
    assert len(replies) == 1
    for tensor in json.loads(replies.pop())["tensors"].values():
        pattern = np.array(tensor["values"])
        assert np.abs(pattern.sum(-1) - 1).max() <= 1e-5
        assert pattern.min() >= 0 and pattern.max() <= 1


@pytest.mark.parametrize(
    "body",
    [
        {"text": "A cat."},
        {"text": "A cat.", "norm": "pre", "verify": True, "digits": 3},
        {"text": "猫", "model": "textbook", "config": {"d_model": 64}, "norm": "post"},
        {
            "text": "A",
            "encoding": "base64",
            "dtype": "uint8",
            "include": ["*pattern", {"points": "embed", "encoding": "text", "dtype": "float32"}],
        },
    ],
)
def test_the_request_as_understood_gives_the_same_reply(client: TestClient, body: dict[str, Any]):
    first = client.post("/api/v1/trace", json=body)
    assert first.status_code == 200, first.text
    understood = first.json()["request"]
    assert None not in (understood["model"], understood["norm"])
    again = client.post("/api/v1/trace", json=understood)
    assert again.content == first.content


def test_the_defaults_of_the_random_model_are_filled_in(client: TestClient):
    request = client.post("/api/v1/trace", json={"text": "A", "model": "textbook"}).json()[
        "request"
    ]
    assert request["config"] == {
        "d_model": 256, "n_heads": 8, "d_mlp": 1024, "n_layers": 4, "n_ctx": 256,
        "activation": "relu", "positions": "sinusoidal", "causal": False, "eps": 1e-5, "seed": 0,
    }  # fmt: skip


def test_numbers_are_the_shortest_decimals_of_their_float32(client: TestClient):
    body = {"text": "cat", "include": ["embed", {"points": "embed[0]", "encoding": "base64"}]}
    reply = client.post("/api/v1/trace", json=body)
    exact = np.frombuffer(base64.b64decode(reply.json()["tensors"]["embed[0]"]["base64"]), "<f4")
    text = reply.text.partition('"embed":{')[2].partition('"values":[[')[2].partition("]")[0]
    written = text.split(",")
    assert [np.float32(number) for number in written] == exact.tolist()
    assert max(len(number.lstrip("-").replace(".", "").split("e")[0]) for number in written) <= 11
    for number in json.loads(reply.content)["heads"][0]["metrics"].values():
        assert number["value"] is None or len(repr(number["value"])) <= 13


def test_digits_round_every_measured_number(client: TestClient):
    body = {"text": "the cat sat", "model": "textbook", "include": ["blocks.0.out"]}
    full = client.post("/api/v1/trace", json=body).json()
    short = client.post("/api/v1/trace", json={**body, "digits": 3}).json()
    for part in ("tensors", "layer_norms", "stream", "heads"):
        for a, b in zip(numbers_of(full[part]), numbers_of(short[part]), strict=True):
            assert b == float(f"{a:.2e}")
    assert full["checks"] == short["checks"]


def numbers_of(value: Any) -> list[float]:
    if isinstance(value, dict):
        return [n for key, part in value.items() if key != "eps" for n in numbers_of(part)]
    if isinstance(value, list):
        return [number for part in value for number in numbers_of(part)]
    return [value] if isinstance(value, float) else []


def test_an_entry_may_have_a_format_of_its_own(client: TestClient):
    body = {
        "text": "the cat",
        "model": "textbook",
        "digits": 2,
        "include": [
            "blocks.*.attn.pattern",
            {"points": "blocks.1.attn.pattern", "encoding": "base64", "dtype": "uint8"},
            {"points": "embed[0]", "digits": None},
            {"points": "embed[:,0]", "digits": 1},
        ],
    }
    tensors = client.post("/api/v1/trace", json=body).json()["tensors"]
    text = np.array(tensors["blocks.0.attn.pattern"]["values"])
    assert np.array_equal(text, [[[float(f"{v:.1e}") for v in r] for r in h] for h in text])
    packed = tensors["blocks.1.attn.pattern"]
    assert (packed["dtype"], "values" in packed) == ("uint8", False)
    bytes_ = np.frombuffer(base64.b64decode(packed["base64"]), np.uint8)
    assert bytes_.size == math.prod(packed["shape"])
    body["include"] = [{"points": "blocks.1.attn.pattern", "digits": None}]
    exact = client.post("/api/v1/trace", json=body).json()["tensors"]["blocks.1.attn.pattern"]
    assert np.array_equal(bytes_, np.rint(np.array(exact["values"]).ravel() * 255))
    assert any(len(repr(value)) > 6 for value in tensors["embed[0]"]["values"])
    assert all(value == float(f"{value:.0e}") for value in tensors["embed[:,0]"]["values"])


@pytest.mark.parametrize(
    ("fields", "code", "field"),
    [
        ({"include": ["embed"], "dtype": "uint8"}, "dtype_needs_base64", "dtype"),
        (
            {"include": ["embed"], "dtype": "uint8", "encoding": "base64"},
            "uint8_is_for_patterns",
            "dtype",
        ),
        (
            {"include": ["embed", {"points": "*", "dtype": "uint8", "encoding": "base64"}]},
            "uint8_is_for_patterns",
            "include[1].dtype",
        ),
        (
            {"include": [{"points": "*pattern", "dtype": "uint8"}]},
            "dtype_needs_base64",
            "include[0].dtype",
        ),
    ],
)
def test_a_format_that_cannot_hold_the_numbers_is_refused(
    client: TestClient, refused: Callable[..., Any], fields: dict[str, Any], code: str, field: str
):
    refused(client.post("/api/v1/trace", json={"text": "A", **fields}), 422, code, field)


def test_hidden_scores_are_null_in_text_and_minus_infinity_in_base64(tiny: Tiny):
    config = {"d_model": 64, "n_layers": 1, "n_heads": 4, "causal": True}
    entries = ["blocks.0.attn.attn_scores[0]"]
    entries += [{"points": "blocks.0.attn.attn_scores[1]", "encoding": "base64"}]
    reply = tiny("a b c", config=config, include=entries)
    text, packed = reply["tensors"].values()
    assert text["masked_by"] == packed["masked_by"] == "causal"
    n = text["shape"][0]
    hidden = [[value is None for value in row] for row in text["values"]]
    assert hidden == [[key > query for key in range(n)] for query in range(n)]
    scores = np.frombuffer(base64.b64decode(packed["base64"]), "<f4").reshape(n, n)
    assert np.array_equal(np.isneginf(scores), hidden)
    assert reply["flags"] == []


def test_a_name_of_transformerlens_gives_the_same_tensor(tiny: Tiny):
    ours = tiny("the cat", norm="post", include=["blocks.0.attn.pattern", "blocks.0.out"])
    theirs = tiny(
        "the cat",
        norm="post",
        include=["blocks.0.attn.hook_pattern", "blocks.0.hook_normalized_resid_post"],
    )
    assert ours["tensors"] == theirs["tensors"]


def test_more_numbers_than_the_limit_are_refused_before_the_run(
    client: TestClient, refused: Callable[..., Any]
):
    body = {"text": "word " * 250, "model": "textbook", "include": ["*"]}
    error = refused(client.post("/api/v1/trace", json=body), 422, "too_much_asked", "include")
    assert error["params"]["count"] > error["params"]["limit"] == 2_000_000
    packed = client.post("/api/v1/trace", json={**body, "encoding": "base64"})
    error = refused(packed, 422, "too_much_asked", "include")
    assert error["params"]["limit"] == 4_000_000


def test_an_unknown_point_comes_with_its_neighbours(
    client: TestClient, refused: Callable[..., Any]
):
    body = {"text": "A", "include": ["blocks.0.atn.patern"]}
    error = refused(client.post("/api/v1/trace", json=body), 422, "unknown_point", "include")
    assert "blocks.0.attn.pattern" in error["params"]["nearest"]


def test_numbers_that_are_not_finite_are_null_and_flagged(tiny: Tiny):
    # With one component per head group and eps 0, equal components have no spread to divide by.
    config = {"d_model": 2, "n_heads": 1, "n_layers": 1, "eps": 0.0, "activation": "relu"}
    reply = tiny("a b c d e f g h", config=config, include=["*"])
    for flag in reply["flags"]:
        assert flag["code"] == "non_finite"
        values = json.dumps(reply["tensors"][flag["point"]]["values"])
        assert values.count("null") == flag["count"]


def test_gzip_is_the_same_reply(client: TestClient):
    body = {"text": "the cat"}
    plain = client.post("/api/v1/trace", json=body, headers={"accept-encoding": "identity"})
    packed = client.post("/api/v1/trace", json=body, headers={"accept-encoding": "gzip"})
    assert "content-encoding" not in plain.headers
    assert packed.headers["content-encoding"] == "gzip"
    assert packed.content == plain.content


def test_offsets_cover_the_text_in_code_points(tiny: Tiny):
    text = "abc توْ def 猫が😀\n\tx"
    tokens = [token for token in tiny(text)["tokens"] if not token["special"]]
    covered = set()
    for token in tokens:
        assert text[token["start"] : token["end"]] == token["text"]
        assert token["label"].strip() and "\ufffd" not in token["label"]
        covered |= set(range(token["start"], token["end"]))
    assert covered == set(range(len(text)))
    starts = [token["start"] for token in tokens]
    assert starts == sorted(starts)
