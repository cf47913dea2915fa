"""The wheel, installed into an environment of its own and started elsewhere, serves every file."""

import json
import os
import re
import subprocess
import sys
import sysconfig
import urllib.request
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urljoin, urlsplit

import pytest

from app.pages import PAGES

ROOT = Path(__file__).parent.parent
ADDRESSES = (*PAGES, "/?lang=ja", "/docs")
LINKS = {
    "text/html": re.compile(r'(?:href|src)="([^"#]+)"'),
    "text/css": re.compile(r"""url\(['"]?([^'")]+)['"]?\)"""),
    "text/javascript": re.compile(r"""^import\b[^'"]*['"]([^'"]+)['"]""", re.MULTILINE),
}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(out)]
    subprocess.run([*command, str(ROOT)], check=True, capture_output=True, text=True)
    (built,) = out.glob("addnorm-*.whl")
    return built


@pytest.fixture(scope="module")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A new environment with the wheel in it; the dependencies are those that are here already."""
    folder = tmp_path_factory.mktemp("venv")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    python = str(folder / "bin" / "python")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", python]
    subprocess.run(
        [*pip, "install", "--quiet", "--no-deps", "--no-index", str(wheel)],
        check=True,
        capture_output=True,
    )
    (site_packages,) = folder.glob("lib/python*/site-packages")
    (site_packages / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return folder


@pytest.fixture(scope="module")
def elsewhere() -> dict[str, str]:
    """Process environment in which nothing points at the source tree."""
    return {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}


@pytest.fixture(scope="module")
def installed(
    environment: Path, serve: Callable[..., Any], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    command = [str(environment / "bin" / "addnorm"), "--host", "127.0.0.1", "--port", "{port}"]
    home = tmp_path_factory.mktemp("home")
    for folder in environment.glob("lib/python*/site-packages/*"):
        if folder.name in ("app", "model"):
            subprocess.run(["chmod", "-R", "a-w", str(folder)], check=True)
    try:
        with serve(command, home, cwd=Path("/"), PYTHONPATH="") as base:
            yield base
    finally:
        subprocess.run(["chmod", "-R", "u+w", str(environment)], check=True)


def get(url: str) -> tuple[int, str, bytes]:
    with urllib.request.urlopen(url, timeout=60) as reply:
        return reply.status, reply.headers.get_content_type(), reply.read()


def test_the_wheel_holds_pages_weights_and_words_but_no_tests(wheel: Path):
    names = set(zipfile.ZipFile(wheel).namelist())
    for folder, inside in (("static", "app/static"), ("templates", "app/templates")):
        files = {
            f"{inside}/{path.relative_to(ROOT / folder).as_posix()}"
            for path in (ROOT / folder).rglob("*")
            if path.is_file()
        }
        assert files and files <= names
    assert {"model/tokenizer/tokenizer.json", "app/locales/en.json", "app/locales/ja.json"} <= names
    weights = {path.relative_to(ROOT).as_posix() for path in ROOT.glob("model/**/*.safetensors")}
    assert weights <= names
    assert not {name for name in names if name.startswith(("tests", "static", "templates"))}
    assert any(name.endswith("licenses/LICENSE") for name in names)


def test_the_source_tree_is_not_needed(environment: Path, elsewhere: dict[str, str]):
    code = "import app, model; print(app.__file__); print(model.__file__)"
    run = subprocess.run(
        [str(environment / "bin" / "python"), "-c", code],
        cwd="/",
        env=elsewhere,
        check=True,
        capture_output=True,
        text=True,
    )
    for file in run.stdout.split():
        assert Path(file).is_relative_to(environment)


def test_each_page_and_everything_it_links_is_served(installed: str):
    waiting = [urljoin(installed, page) for page in ADDRESSES]
    seen: dict[str, str] = {}
    while waiting:
        url = waiting.pop()
        if url in seen:
            continue
        status, kind, body = get(url)
        assert status == 200, url
        assert body, url
        seen[url] = kind
        if kind not in LINKS or "plotly" in url:  # 4.8 MB that link nothing
            continue
        for link in LINKS[kind].findall(body.decode()):
            target = urljoin(url, link.replace("&amp;", "&"))
            local = urlsplit(target).netloc == urlsplit(installed).netloc
            if local and urlsplit(target).scheme == "http":
                waiting.append(target)
    paths = {urlsplit(url).path for url in seen}
    assert "/plotly.min.js" in paths
    assert any(path.endswith(".css") for path in paths)
    assert len([path for path in paths if path.endswith(".js")]) > 20


def test_a_text_runs_and_nothing_is_written_into_the_installation(
    installed: str, environment: Path
):
    before = sorted(str(path) for path in environment.rglob("*"))
    body = {"text": "猫が😀好き。The cat sat.", "model": "textbook"}
    body["config"] = {"d_model": 64, "n_layers": 2, "n_heads": 4, "d_mlp": 128}
    request = urllib.request.Request(
        f"{installed}/api/v1/trace",
        json.dumps(body).encode(),
        {"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=60) as reply:
        trace = json.load(reply)
    assert all(check["ok"] for check in trace["checks"])
    assert len(trace["tokens"]) == 13
    assert sorted(str(path) for path in environment.rglob("*")) == before


def test_the_command_answers_without_a_server(environment: Path, elsewhere: dict[str, str]):
    run = subprocess.run(
        [
            *(str(environment / "bin" / "addnorm"), "trace", "The cat sat.", "--norm", "post"),
            *("--include", "blocks.0.ln1.*", "--json"),
        ],
        cwd="/",
        env=elsewhere,
        check=True,
        capture_output=True,
        text=True,
    )
    trace = json.loads(run.stdout)
    assert trace["request"]["norm"] == "post"
    assert {"blocks.0.ln1.mean", "blocks.0.ln1.out"} <= set(trace["tensors"])
