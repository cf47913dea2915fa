"""What the README says is so: its tree, its commands, its examples and their printed results."""

import json
import re
import runpy
import shutil
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
BASE = "http://127.0.0.1:8000"


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)


def test_the_tree_is_what_the_modules_say_of_themselves():
    there = runpy.run_path(str(ROOT / "tests" / "readme_tree.py"))["tree"]()
    (told,) = blocks("text")
    assert told == there, "run: python tests/readme_tree.py"


def test_the_commands_exist():
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    told = set(re.findall(r"(?:^|`)make ([a-z]+)", README, re.MULTILINE))
    assert {"run", "test"} <= told <= targets


def test_the_pictures_are_there_and_small():
    pictures = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", README)
    assert len(pictures) >= 3
    for picture in pictures:
        assert (ROOT / picture).stat().st_size < 150_000


@pytest.mark.parametrize("path", re.findall(r"^\| `(/[a-z-]*)` \|", README, re.MULTILINE))
def test_the_page_is_served(server: str, path: str):
    with urllib.request.urlopen(server + path, timeout=60) as reply:
        assert reply.status == 200
        assert reply.headers.get_content_type() == "text/html"


def test_the_calls_told_are_calls_of_the_api(server: str):
    with urllib.request.urlopen(f"{server}/openapi.json", timeout=60) as reply:
        calls = {path.removeprefix("/api/v1") for path in json.load(reply)["paths"]}
    (section,) = re.findall(r"^## The API by example$(.*?)^## ", README, re.DOTALL | re.MULTILINE)
    told = set(re.findall(r"`(/[a-z-]+)`", section)) - {"/docs"}
    assert told and told <= calls


def test_files_that_are_pointed_at_are_there():
    for path in re.findall(r"`((?:model|app|static|templates|tests)/[\w./-]+)`", README):
        assert (ROOT / path).exists(), path


def curls() -> list[str]:
    return [block for block in blocks("sh") if block.startswith("curl ")]


def run_curl(block: str, server: str) -> Any:
    if shutil.which("curl") is None:
        pytest.skip("no curl on this machine")
    done = subprocess.run(
        ["sh", "-c", block.replace(BASE, server)], capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


def rounded(value: Any) -> Any:
    if isinstance(value, list):
        return [rounded(item) for item in value]
    return round(value, 6) if isinstance(value, float) else value


def test_add_norm_by_curl_gives_what_the_readme_prints(server: str):
    (block,) = [block for block in curls() if "/add-norm" in block]
    (printed,) = [json.loads(block) for block in blocks("json")]
    reply = run_curl(block, server)
    assert {name: rounded(reply[name]) for name in printed} == printed


def test_the_refused_text_has_the_errors_shape_and_a_japanese_sentence(server: str):
    (block,) = [block for block in curls() if '"text": ""' in block]
    error = run_curl(block, server)["error"]
    assert set(error) == {"code", "message", "field", "params"}
    assert error["field"] == "text"
    assert re.search(r"[\u3041-\u3096]", error["message"])


def test_every_curl_example_is_one_of_the_tested(server: str):
    assert len(curls()) == 2


def test_the_python_example_runs_and_prints_what_it_claims(server: str):
    (block,) = blocks("python")
    done = subprocess.run(
        [sys.executable, "-"],
        input=block.replace(BASE, server),
        capture_output=True,
        text=True,
        check=True,
    )
    labels, checks, difference = done.stdout.splitlines()
    assert "'猫'" in labels and "'␣cat'" in labels
    assert checks == "every check of this run: True"
    assert float(difference.removeprefix("largest difference: ")) < 1e-6


@pytest.mark.parametrize(
    "line",
    [
        line
        for block in blocks("sh")
        for line in block.splitlines()
        if line.startswith(("addnorm trace", "addnorm add-norm"))
    ],
)
def test_the_command_in_a_terminal_runs(line: str):
    command = line.replace("addnorm", f"'{sys.executable}' -m app", 1)
    done = subprocess.run(["sh", "-c", command], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()
    if "--json" in line:
        assert "blocks.0.resid_mid[0]" in json.loads(done.stdout)["tensors"]


def test_the_settings_told_are_the_settings_read():
    told = set(re.findall(r"`(ADDNORM_[A-Z_]+)`", README)) - {"ADDNORM_ARGS"}
    read = set()
    for path in (ROOT / "app").rglob("*.py"):
        read |= set(re.findall(r"\bADDNORM_[A-Z_]+\b", path.read_text(encoding="utf-8")))
    assert told == read
