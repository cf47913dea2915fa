"""The twins as default model: texts, capture, repeatability, weights held fixed."""

from typing import Any

import pytest
from starlette.testclient import TestClient

from app.main import create_app

SENTENCE = "the cat sat on the mat"


@pytest.fixture(scope="module")
def client():
    with TestClient(create_app(), base_url="http://localhost") as client:
        yield client


def trace(client: TestClient, text: str = SENTENCE, **body: Any) -> Any:
    return client.post("/api/v1/trace", json={"text": text, **body})


@pytest.mark.parametrize("text", ["", "   ", "\n\t", "\u3000"])
def test_a_blank_text_is_refused_in_words(client: TestClient, text: str):
    reply = trace(client, text)
    assert reply.status_code == 422
    assert reply.json()["error"]["code"] == "empty_text"


def test_newline_tab_and_space_have_signs_of_their_own(client: TestClient):
    labels = [token["label"] for token in trace(client, "a\nb\tc d").json()["tokens"]]
    assert all(label.strip() for label in labels)
    assert {"↵", "⇥", "␣"} <= set("".join(labels))


def test_spans_cover_mixed_directions_in_logical_order(client: TestClient):
    text = "abc توْ def"
    tokens = trace(client, text).json()["tokens"]
    spans = [(token["start"], token["end"]) for token in tokens]
    assert spans == sorted(spans)
    covered = {place for start, end in spans for place in range(start, end)}
    assert covered >= {place for place, sign in enumerate(text) if sign != " "}
    assert all(token["text"] == text[token["start"] : token["end"]] for token in tokens)


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_capture_is_whole_and_checked(client: TestClient, norm: str):
    reply = trace(
        client, norm=norm, include=["*.resid_mid", "*.mlp.post", "*.pattern"], verify=True
    )
    found = reply.json()
    n = len(found["tokens"])
    assert found["model"]["id"] == "twin" and found["model"]["norm_is_trained"]
    shapes = {key: tensor["shape"] for key, tensor in found["tensors"].items()}
    for layer in range(4):
        assert shapes[f"blocks.{layer}.resid_mid"] == [n, 192]
        assert shapes[f"blocks.{layer}.mlp.post"] == [n, 768]
        pattern = found["tensors"][f"blocks.{layer}.attn.pattern"]["values"]
        for head in pattern:
            assert [sum(row) for row in head] == pytest.approx([1] * n, abs=1e-5)
    assert [len(norms["mean"]) for norms in found["layer_norms"]] == [n] * (8 + (norm == "pre"))
    assert all(check["ok"] for check in found["checks"])


def test_five_calls_give_the_same_bytes(client: TestClient):
    assert len({trace(client, include=["*.out"]).content for _ in range(5)}) == 1


def test_with_weights_fixed_both_placements_embed_alike(client: TestClient):
    pre, post = (
        trace(client, norm=norm, weights="post", include=["embed_sum"]).json()
        for norm in ("pre", "post")
    )
    assert pre["tensors"]["embed_sum"] == post["tensors"]["embed_sum"]
    assert (pre["model"]["norm_is_trained"], post["model"]["norm_is_trained"]) == (False, True)
