"""Folders that cannot be run: each listed with its reason, over HTTP, and none hides another."""

import json
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from app.main import create_app
from app.settings import Settings
from tests.checkpoint_folders import cf_bert, cf_gpt2, neox, write_json

FAR = 10**30


def client_of(models: Path) -> TestClient:
    app = create_app(Settings(workers=1, models_dir=models))
    return TestClient(app, base_url="http://localhost", raise_server_exceptions=False)


def settings(**values: Any) -> Callable[[Path], Any]:
    return lambda folder: write_json(folder / "tokenizer_config.json", values)


def japanese(**values: Any) -> Callable[[Path], Any]:
    return settings(tokenizer_class="BertJapaneseTokenizer", **values)


# How the folder is made, what is changed in it, and what is said of it.
REFUSED: list[tuple[Callable[..., Path], dict[str, Any], Callable[[Path], Any] | None, str]] = [
    (cf_bert, {"position_embedding_type": "relative_key"}, None, "config_not_supported"),
    (cf_bert, {"is_decoder": True}, None, "config_not_supported"),
    (cf_bert, {"hidden_act": "swish"}, None, "config_not_supported"),
    (cf_bert, {"layer_norm_eps": -1}, None, "config_value"),
    (cf_bert, {"layer_norm_eps": [1]}, None, "config_value"),
    (cf_bert, {"layer_norm_eps": 10**400}, None, "config_value"),
    (cf_bert, {"hidden_size": FAR}, None, "config_value"),
    (cf_bert, {"model_type": "llama"}, None, "architecture_not_supported"),
    (
        cf_bert,
        {"hidden_size": 2**31 - 1, "num_hidden_layers": 2**31 - 1, "num_attention_heads": 1},
        None,
        "checkpoint_too_large",
    ),
    (neox, {"rotary_pct": 1e308}, None, "rotary_dims"),
    (neox, {"rotary_pct": FAR}, None, "rotary_dims"),
    (neox, {"rope_parameters": [1]}, None, "config_value"),
    (cf_bert, {}, japanese(word_tokenizer_type="sudachi"), "tokenizer_setting"),
    (cf_bert, {}, japanese(word_tokenizer_type="mecab", mecab_kwargs=[1]), "tokenizer_setting"),
    (
        cf_bert,
        {},
        lambda folder: (folder / "config.json").write_text('{"model_type": "bert", "\\ud800": 1}'),
        "json_unreadable",
    ),
]


@pytest.mark.parametrize(
    ("make", "changes", "spoil", "code"),
    REFUSED,
    ids=[f"{i}-{r[3]}" for i, r in enumerate(REFUSED)],
)
def test_a_folder_that_is_refused_is_listed_with_the_reason_and_hides_no_other(
    tmp_path: Path,
    make: Callable[..., Path],
    changes: dict[str, Any],
    spoil: Callable[[Path], Any] | None,
    code: str,
):
    cf_bert(tmp_path / "good")
    folder = make(tmp_path / "x", **changes)
    if spoil:
        spoil(folder)
    client = client_of(tmp_path)
    for lang in ("en", "ja"):
        reply = client.get(f"/api/v1/models?lang={lang}")
        assert reply.status_code == 200, reply.text
        assert "good" in {model["id"] for model in reply.json()["models"]}
        (listed,) = reply.json()["unsupported"]
        assert (listed["id"], listed["code"]) == ("x", code)
        assert "{" not in listed["reason"], "a parameter without its value"
        run = client.post(f"/api/v1/trace?lang={lang}", json={"text": "A", "model": "x"})
        assert (run.status_code, run.json()["error"]["message"]) == (422, listed["reason"])
        assert client.get(f"/api/v1/models/x/loading?lang={lang}").status_code == 422


def header_of(folder: Path, **entry: Any) -> None:
    """A weight file whose header describes the table of words so."""
    header = json.dumps({"bert.embeddings.word_embeddings.weight": entry}).encode()
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(header)) + header)


@pytest.mark.parametrize(
    ("spoil", "code"),
    [
        (
            lambda f: header_of(f, dtype="F32", shape=[2**70, 4], data_offsets=[0, 2**74]),
            "tensor_truncated",
        ),
        (
            lambda f: header_of(f, dtype="F64", shape=[2**70, 4], data_offsets=[0, 0]),
            "tensor_shape",
        ),
        (lambda f: write_json(f / "added_tokens.json", {"<far>": FAR}), "token_ids_differ"),
        (
            lambda f: (f / "added_tokens.json").write_text('{"\\ud800": 11}'),
            "json_unreadable",
        ),
    ],
)
def test_what_is_found_on_loading_is_refused_by_name(
    tmp_path: Path, spoil: Callable[[Path], Any], code: str
):
    spoil(cf_bert(tmp_path / "x"))
    reply = client_of(tmp_path).post("/api/v1/trace", json={"text": "A", "model": "x"})
    assert (reply.status_code, reply.json()["error"]["code"]) == (422, code)


def test_a_folder_that_nobody_foresaw_is_listed_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    cf_bert(tmp_path / "good")
    cf_gpt2(tmp_path / "odd")

    def fail(folder: Any) -> None:
        raise ZeroDivisionError

    from model.checkpoints import collection

    plain = collection.listed
    monkeypatch.setattr(
        collection, "listed", lambda folder: fail(folder) if folder.id == "odd" else plain(folder)
    )
    reply = client_of(tmp_path).get("/api/v1/models")
    assert [one["code"] for one in reply.json()["unsupported"]] == ["folder_unreadable"]
    assert "good" in {model["id"] for model in reply.json()["models"]}


@pytest.mark.parametrize("name", ["x\u3000y", "x\u00a0y", "猫" * 85, "a" * 255])
def test_a_folder_may_be_called_whatever_is_text(tmp_path: Path, name: str):
    cf_bert(tmp_path / name)
    client = client_of(tmp_path)
    assert name in {model["id"] for model in client.get("/api/v1/models").json()["models"]}
    reply = client.post("/api/v1/trace", json={"text": "A", "model": name})
    assert reply.status_code == 200 and reply.json()["model"]["id"] == name


def test_a_text_that_the_tokenizer_cannot_cut_is_refused_in_words(tmp_path: Path):
    from tests.checkpoint_folders import BERT_WORDS, bert_tensors

    words = [word for word in BERT_WORDS if word != "[UNK]"]
    cf_bert(tmp_path / "x", bert_tensors(words=words), words=words, vocab_size=len(words))
    client = client_of(tmp_path)
    reply = client.post("/api/v1/trace", json={"text": "猫", "model": "x"})
    assert (reply.status_code, reply.json()["error"]["code"]) == (422, "text_not_tokenizable")
    assert client.post("/api/v1/trace", json={"text": "A", "model": "x"}).status_code == 200


def test_a_point_of_another_shape_in_the_other_run_is_named_so(tmp_path: Path):
    cf_bert(tmp_path / "bert")
    cf_gpt2(tmp_path / "gpt2")
    body = {
        "text": "A B",
        "runs": [{"model": "bert"}, {"model": "gpt2"}],
        "include": ["blocks.0.attn.pattern"],
    }
    error = client_of(tmp_path).post("/api/v1/compare", json=body).json()["error"]
    assert (error["code"], error["field"]) == ("shapes_differ", "include")
    assert error["params"]["point"] == "blocks.0.attn.pattern"
