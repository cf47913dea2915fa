"""Fetching a folder from a stand-in for a hub on this machine; never from a real one."""

import hashlib
import http.server
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from model.checkpoints.fetch import fetch
from model.errors import ModelError
from model.registry import Registry
from model.trace import TraceRequest, run_trace
from tests.checkpoint_folders import cf_bert, cf_gpt2, write_json

ROOT = Path(__file__).parent.parent.parent
COMMIT = "0123456789abcdef0123456789abcdef01234567"


class Hub(http.server.ThreadingHTTPServer):
    """Folders of a directory as models: their lists of files, and the files."""

    def __init__(self, root: Path) -> None:
        super().__init__(("127.0.0.1", 0), HubHandler)
        self.root = root
        self.sent: list[str] = []
        self.breaks: str | None = None

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class HubHandler(http.server.BaseHTTPRequestHandler):
    server: Hub

    def log_message(self, format: str, *args: object) -> None:
        pass

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        path = unquote(urlsplit(self.path).path).strip("/").split("/")
        if path[:2] == ["api", "models"] and len(path) >= 4:
            self.listing("/".join(path[2:4]))
        elif len(path) > 4 and path[2] == "resolve":
            self.file("/".join(path[:2]), "/".join(path[4:]))
        else:
            self.answer(404, b"{}")

    def listing(self, name: str) -> None:
        folder = self.server.root / name
        if not folder.is_dir():
            self.answer(404, b'{"error": "Repository not found"}', {"X-Error-Code": "RepoNotFound"})
            return
        files = sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file())
        siblings = [{"rfilename": file} for file in files]
        body = {"id": name, "modelId": name, "sha": COMMIT, "siblings": siblings, "tags": []}
        self.answer(200, json.dumps(body).encode(), {"Content-Type": "application/json"})

    def file(self, name: str, file: str) -> None:
        if file == self.server.breaks:
            self.answer(403, b"")
            return
        data = (self.server.root / name / file).read_bytes()
        if self.command == "GET":
            self.server.sent.append(file)
        etag = hashlib.sha256(data).hexdigest()
        self.answer(200, data, {"ETag": f'"{etag}"', "X-Repo-Commit": COMMIT})

    def answer(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for key, value in (headers or {}).items():
            self.send_header(key, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    # The library's own notes stay in the test's folder, and nothing of the user's is sent.
    monkeypatch.setenv("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    monkeypatch.setenv("HF_HUB_DISABLE_IMPLICIT_TOKEN", "1")
    server = Hub(tmp_path / "hub")
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()


def refusal(hub: Hub, name: str, models: Path) -> ModelError:
    with pytest.raises(ModelError) as caught:
        fetch(name, models, hub.address)
    # Whole or not at all: nothing is left behind, hidden or not.
    assert not models.is_dir() or os.listdir(models) == []
    return caught.value


def test_a_fetched_folder_is_a_model_that_runs(hub, tmp_path):
    cf_gpt2(hub.root / "org" / "small")
    (hub.root / "org" / "small" / "LICENSE").write_text("free")
    said: list[str] = []
    folder = fetch("org/small", tmp_path / "models", hub.address, said.append)
    assert folder == tmp_path / "models" / "small"
    files = sorted(os.listdir(folder))
    assert files == ["LICENSE", "config.json", "model.safetensors", "tokenizer.json"]
    # The weights come last.
    assert said == ["LICENSE", "config.json", "tokenizer.json", "model.safetensors"]
    t = run_trace(Registry(tmp_path / "models"), TraceRequest("A B A", "small"))
    assert [check for check in t.checks if not check.ok] == []
    assert os.listdir(tmp_path / "models") == ["small"]


def test_only_what_a_model_needs_is_fetched(hub, tmp_path):
    folder = cf_bert(hub.root / "org" / "bert")
    for name in ("pytorch_model.bin", "model.fp16.safetensors", "modeling.py", "onnx/model.onnx"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(b"x")
    fetch("org/bert", tmp_path / "models", hub.address)
    assert set(hub.sent) == {
        "config.json",
        "model.safetensors",
        "tokenizer_config.json",
        "vocab.txt",
    }


def test_a_model_that_cannot_be_run_is_refused_before_its_weights(hub, tmp_path):
    cf_bert(hub.root / "org" / "llama", model_type="llama")
    assert refusal(hub, "org/llama", tmp_path / "models").code == "architecture_not_supported"
    assert "model.safetensors" not in hub.sent
    folder = cf_bert(hub.root / "org" / "pickle")
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    assert refusal(hub, "org/pickle", tmp_path / "models").code == "only_safetensors"
    assert "pytorch_model.bin" not in hub.sent


def test_shards_are_those_of_the_index_and_of_its_folder(hub, tmp_path):
    folder = cf_gpt2(hub.root / "org" / "cut")
    (folder / "model.safetensors").rename(folder / "model-00001-of-00001.safetensors")
    index = {"weight_map": {"a": "model-00001-of-00001.safetensors", "b": "../../other/secret"}}
    write_json(folder / "model.safetensors.index.json", index)
    fetch("org/cut", tmp_path / "models", hub.address)
    assert hub.sent[-1] == "model-00001-of-00001.safetensors"
    assert not any("secret" in name for name in hub.sent)


@pytest.mark.parametrize(
    "name", ["", "..", "../x", "a/b/c", "a/..", "org/", "/x", "org/a b", "https://x/y", "a\\b"]
)
def test_a_name_that_is_no_models_name_is_refused_without_asking(hub, tmp_path, name):
    assert refusal(hub, name, tmp_path / "models").code == "bad_repository"
    assert hub.sent == []


def test_a_folder_that_is_there_is_left_alone(hub, tmp_path):
    cf_gpt2(hub.root / "org" / "gpt2")
    mine = cf_bert(tmp_path / "models" / "gpt2")
    before = (mine / "config.json").read_bytes()
    with pytest.raises(ModelError) as caught:
        fetch("org/gpt2", tmp_path / "models", hub.address)
    assert caught.value.code == "folder_exists"
    assert (mine / "config.json").read_bytes() == before


def test_what_fails_on_the_way_leaves_nothing(hub, tmp_path):
    cf_gpt2(hub.root / "org" / "gpt2")
    hub.breaks = "tokenizer.json"
    error = refusal(hub, "org/gpt2", tmp_path / "models")
    assert (error.code, error.params["repository"]) == ("fetch_failed", "org/gpt2")
    assert refusal(hub, "org/none", tmp_path / "models").code == "fetch_failed"


def test_no_hub_at_all_is_a_refusal(tmp_path):
    with pytest.raises(ModelError) as caught:
        fetch("org/gpt2", tmp_path / "models", "http://127.0.0.1:9")
    assert caught.value.code == "fetch_failed"
    assert os.listdir(tmp_path / "models") == []


def test_the_command_fetches_into_the_models_folder_and_says_so(hub, tmp_path):
    cf_gpt2(hub.root / "org" / "small")
    command = [sys.executable, "-m", "app", "--models", str(tmp_path / "models"), "fetch"]
    environment = {**os.environ, "HF_ENDPOINT": hub.address, "LANG": "en", "LC_ALL": "en"}

    def run(name: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*command, name], env=environment, cwd=ROOT, capture_output=True, text=True
        )

    done = run("org/small")
    assert done.returncode == 0, done.stderr
    assert str(tmp_path / "models" / "small") in done.stdout
    assert "model.safetensors" in done.stderr
    assert [entry.id for entry in Registry(tmp_path / "models").entries()][-1] == "small"
    again = run("org/small")
    assert again.returncode == 2
    assert "small" in again.stderr
