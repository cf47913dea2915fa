"""Folders of models over HTTP: listed, run, refused, and never a way out of the models' folder."""

import os
import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from app.main import create_app
from app.replies import ModelsReply, TraceReply
from app.settings import DEFAULT_MODELS, Settings
from tests.checkpoint_folders import bert_tensors, cf_bert, cf_gpt2

TRACE = "/api/v1/trace"
TINY = {"d_model": 64, "n_layers": 2, "n_heads": 4, "d_mlp": 128}
# Numbers that no folder inside has.
SECRET_EPS = 0.4375


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    parent = tmp_path_factory.mktemp("checkpoints")
    inside = parent / "models"
    cf_bert(inside / "CF-BERT")
    cf_gpt2(inside / "CF-GPT2")
    cf_bert(inside / "llama", model_type="llama")
    broken = bert_tensors()
    del broken["encoder.layer.0.output.LayerNorm.weight"]
    cf_bert(inside / "broken", broken)
    cf_bert(parent / "outside" / "secret", layer_norm_eps=SECRET_EPS)
    return inside


@pytest.fixture(scope="module")
def server(models: Path) -> Iterator[TestClient]:
    app = create_app(Settings(workers=2, models_dir=models))
    yield TestClient(app, base_url="http://localhost", raise_server_exceptions=False)


@pytest.fixture
def run(server: TestClient, parse: Callable[[bytes], Any]) -> Callable[..., Any]:
    def trace(text: str, model: str, **fields: Any) -> Any:
        reply = server.post(TRACE, json={"text": text, "model": model, **fields})
        assert reply.status_code == 200, reply.text
        return TraceReply.model_validate(parse(reply.content)).model_dump()

    return trace


def test_folders_are_listed_behind_our_own_models(server, parse):
    listed = ModelsReply.model_validate(parse(server.get("/api/v1/models").content))
    kinds = [model.kind == "checkpoint" for model in listed.models]
    assert kinds == sorted(kinds)
    assert {"CF-BERT", "CF-GPT2", "broken"} <= {model.id for model in listed.models}
    bert = next(model for model in listed.models if model.id == "CF-BERT")
    assert (bert.kind, bert.text_pair, bert.licence) == ("checkpoint", True, None)


@pytest.mark.parametrize(("lang", "word"), [("en", "not supported"), ("ja", "対応していません")])
def test_what_cannot_be_run_is_listed_with_the_reason_in_words(server, lang, word):
    (one,) = server.get(f"/api/v1/models?lang={lang}").json()["unsupported"]
    assert (one["id"], one["code"]) == ("llama", "architecture_not_supported")
    assert one["params"]["model_type"] == "llama"
    assert word in one["reason"]
    assert "llama" in one["reason"]
    refused = server.post(f"{TRACE}?lang={lang}", json={"text": "A", "model": "llama"})
    assert refused.status_code == 422
    assert refused.json()["error"]["message"] == one["reason"]


def test_a_run_of_a_folder_is_a_reply_like_any_other(run):
    reply = run("A A B", "CF-BERT", include=["blocks.0.attn.pattern"])
    assert reply["predictions"] is None
    assert reply["model"]["norm_is_trained"] is True
    assert all(check["ok"] for check in reply["checks"])
    values = reply["tensors"]["blocks.0.attn.pattern"]["values"]
    assert values[1][4] == pytest.approx([0.2] * 5, abs=1e-6)


def test_the_request_as_understood_gives_the_same_reply(server):
    body = {"text": "A A", "text_pair": "B", "model": "CF-BERT", "include": ["blocks.0.out"]}
    first = server.post(TRACE, json=body).json()
    assert (first["request"]["text_pair"], first["request"]["weights"]) == ("B", "post")
    assert [token["segment"] for token in first["tokens"]] == [0, 0, 0, 0, 1, 1]
    again = server.post(TRACE, json={k: v for k, v in first["request"].items() if v is not None})
    assert again.json() == first


@pytest.mark.parametrize("text", ["", "   ", "\n\t", "\u3000"])
@pytest.mark.parametrize("model", ["CF-BERT", "CF-GPT2"])
def test_a_text_without_tokens_is_refused_by_every_model(server, refused, text, model):
    reply = server.post(TRACE, json={"text": text, "model": model})
    refused(reply, 422, "empty_text", "text")


def test_one_past_the_position_limit_says_both_numbers_and_the_next_request_works(server, run):
    reply = server.post(TRACE, json={"text": "A" + " A" * 16, "model": "CF-GPT2"})
    assert reply.status_code == 422
    error = reply.json()["error"]
    assert error["params"] == {"limit": 16, "length": 17}
    assert "16" in error["message"]
    assert "17" in error["message"]
    assert len(run("A" + " A" * 15, "CF-GPT2")["tokens"]) == 16


def test_a_broken_folder_is_a_refusal_that_names_the_tensor(server, refused):
    reply = server.post(TRACE, json={"text": "A", "model": "broken"})
    error = refused(reply, 422, "tensor_missing", "model")
    name = "encoder.layer.0.output.LayerNorm.weight"
    assert error["params"] == {"tensor": name, "shape": [4]}
    assert name in error["message"]


def test_a_checkpoint_takes_no_sizes(server, refused):
    body = {"text": "A", "model": "CF-BERT", "config": {"d_model": 8}}
    refused(server.post(TRACE, json=body), 422, "config_not_offered", "config")


def test_a_folder_in_the_other_wiring_says_so(run):
    reply = run("A A B", "CF-BERT", norm="pre", include=["blocks.0.resid_mid[1]"])
    assert (reply["model"]["norm"], reply["model"]["weights"]) == ("pre", "post")
    assert reply["model"]["norm_is_trained"] is False
    values = reply["tensors"]["blocks.0.resid_mid[1]"]["values"]
    assert values == pytest.approx([-1.6099689, -0.5366563, 0.5366563, 1.6099689], abs=1e-5)


def test_parallel_requests_keep_their_model_and_placement(server):
    bodies = [
        {"text": "A B A", "model": "textbook", "config": TINY, "norm": "pre", "include": ["*.out"]},
        {
            "text": "A B A",
            "model": "textbook",
            "config": TINY,
            "norm": "post",
            "include": ["*.out"],
        },
        {"text": "A B A", "model": "CF-BERT", "include": ["*"]},
        {"text": "A B A", "model": "CF-GPT2", "include": ["*"]},
    ] * 3
    alone = [server.post(TRACE, json=body).json() for body in bodies[:4]]
    with ThreadPoolExecutor(12) as pool:
        replies = list(pool.map(lambda body: server.post(TRACE, json=body), bodies))
    for place, reply in enumerate(replies):
        assert reply.status_code == 200
        assert reply.json() == alone[place % 4]


CLIMBS = [
    "../secret", "..%2fsecret", "..\\secret", "OUTSIDE/secret", "a/../../secret", "~/x",
    "file://OUTSIDE/secret", "../outside/secret", ".", "..", "", "CON", "CF-BERT/", "cf-bert",
]  # fmt: skip


@pytest.mark.parametrize("name", CLIMBS)
def test_names_that_climb_out_get_the_same_body_whether_there_is_something_or_not(
    server, models, name
):
    outside = models.parent / "outside"
    model = name.replace("OUTSIDE", str(outside))
    before = server.post(TRACE, json={"text": "A", "model": model})
    moved = models.parent / "moved"
    outside.rename(moved)
    try:
        without = server.post(TRACE, json={"text": "A", "model": model})
    finally:
        moved.rename(outside)
    assert before.status_code == without.status_code == 404
    assert before.content == without.content
    assert str(SECRET_EPS) not in before.text


def test_a_name_that_is_too_long_is_refused(server):
    assert server.post(TRACE, json={"text": "A", "model": "a" * 5000}).status_code == 422


@pytest.mark.parametrize(
    "path",
    [
        "/static/../outside/secret/config.json",
        "/static/%2e%2e/outside/secret/config.json",
        "/static/%252e%252e/outside/secret/config.json",
        "/api/v1/models/../../outside/secret",
        "/locales/..%2f..%2foutside.json",
    ],
)
def test_paths_that_climb_out_lead_nowhere(server, path):
    reply = server.get(path)
    assert reply.status_code == 404
    assert "layer_norm_eps" not in reply.text
    assert str(SECRET_EPS) not in reply.text


def test_the_secret_folder_is_never_listed(server):
    assert "secret" not in server.get("/api/v1/models").text


def test_no_reply_holds_a_path(server, models):
    for reply in (
        server.get("/api/v1/models"),
        server.post(TRACE, json={"text": "A", "model": "llama"}),
        server.post(TRACE, json={"text": "A", "model": "broken"}),
        server.post(TRACE, json={"text": "A", "model": "CF-BERT"}),
    ):
        assert str(models) not in reply.text
        assert str(models.parent) not in reply.text


def test_a_folder_that_comes_or_goes_while_serving_is_noticed(server, models, run):
    cf_bert(models / "new", layer_norm_eps=0.25)
    assert run("A", "new")["layer_norms"][0]["eps"] == 0.25
    first = run("A B", "new", include=["*"])
    shutil.rmtree(models / "new")
    after = run("A B", "new", include=["*"])
    assert after["tensors"] == first["tensors"]
    assert "folder_gone" in [note["code"] for note in after["model"]["notes"]]


def test_the_models_folder_comes_from_the_environment_or_the_home_folder():
    home = Path(os.path.expanduser(DEFAULT_MODELS))
    assert Settings.from_environment({}).models_dir == home
    assert Settings.from_environment({"ADDNORM_MODELS": "/some/where"}).models_dir == Path(
        "/some/where"
    )
    assert Settings.from_environment({"ADDNORM_MODELS": "~/m"}).models_dir == Path.home() / "m"
