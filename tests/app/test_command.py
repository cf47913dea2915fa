"""The command `addnorm` gives the API's numbers in a terminal, and says plainly what it refuses."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from app import i18n
from app.__main__ import main
from app.command.tables import table, vector
from app.command.trace import tables_of

ROOT = Path(__file__).parent.parent.parent
TINY = '{"d_model": 64, "n_heads": 4, "n_layers": 2}'


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    status = main(list(arguments))
    out, err = capsys.readouterr()
    return status, out, err


@pytest.fixture(autouse=True)
def english(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", "C.UTF-8")


def test_trace_as_json_is_the_reply_of_the_api(
    capsys: pytest.CaptureFixture[str], client: TestClient
):
    arguments = ["trace", "猫が好き", "--model", "textbook", "--norm", "pre", "--config", TINY]
    arguments += ["--include", "blocks.0.ln1.*", "--include", "embed[0]", "--digits", "4", "--json"]
    status, out, _ = run(capsys, *arguments)
    body = {
        "text": "猫が好き",
        "model": "textbook",
        "norm": "pre",
        "config": json.loads(TINY),
        "include": ["blocks.0.ln1.*", "embed[0]"],
        "digits": 4,
    }
    assert status == 0
    assert json.loads(out) == client.post("/api/v1/trace", json=body).json()


def test_trace_as_tables_shows_the_numbers(capsys: pytest.CaptureFixture[str], client: TestClient):
    arguments = ["trace", "the cat", "--model", "textbook", "--config", TINY, "--norm", "post"]
    status, out, _ = run(capsys, *arguments, "--include", "blocks.0.ln1.*")
    assert status == 0
    body = {"text": "the cat", "model": "textbook", "config": json.loads(TINY), "norm": "post"}
    reply: Any = client.post(
        "/api/v1/trace", json={**body, "include": ["blocks.0.ln1.mean"]}
    ).json()
    for key in ("mean", "var", "scale", "normalized", "out"):
        assert f"blocks.0.ln1.{key}  [" in out
    assert f"{reply['tensors']['blocks.0.ln1.mean']['values'][0][0]:.6g}" in out
    assert all(token["label"] in out for token in reply["tokens"])
    assert "✗" not in out and out.count("✓") == len(reply["checks"])


def test_a_check_whose_value_is_no_number_is_shown_as_failed(
    client: TestClient,
):
    body = {"text": "the cat", "model": "textbook", "config": json.loads(TINY)}
    reply: Any = client.post("/api/v1/trace", json=body).json()
    reply["checks"][-1] |= {"value": None, "ok": False}
    lines = tables_of(reply, "en")
    (failed,) = [line for line in lines if "✗" in line]
    assert failed.split()[0] == reply["checks"][-1]["name"] and "—" in failed


def test_add_norm_prints_the_articles_numbers(capsys: pytest.CaptureFixture[str]):
    arguments = ["add-norm", "--x", "1,2,3", "--update", "0.5,-0.5,1", "--eps", "1e-5"]
    status, out, _ = run(capsys, *arguments, "--placement", "post")
    assert status == 0
    rows = {line.split()[0]: line.split()[1:] for line in out.splitlines()}
    assert rows["added"] == ["1.5", "1.5", "4"]
    assert rows["mean"] == ["2.33333"]
    assert rows["var"] == ["1.38889"]
    assert rows["normalized"] == ["-0.707104", "-0.707104", "1.41421"]
    assert list(rows)[:3] == ["placement", "x", "update"]
    _, out, _ = run(capsys, *arguments, "--placement", "pre", "--json")
    assert json.loads(out)["result"] == [1.5, 1.5, 4]


def test_add_norm_takes_a_matrix(capsys: pytest.CaptureFixture[str]):
    arguments = ["add-norm", "--x", "1,2", "--matrix", "0,1;1,0", "--bias", "1,-1", "--json"]
    status, out, _ = run(capsys, *arguments)
    assert (status, json.loads(out)["update"]) == (0, [3, 0])


@pytest.mark.parametrize(
    ("arguments", "code", "field"),
    [
        (["trace", "  "], "empty_text", "text"),
        (["trace", "a", "--include", "nothing"], "unknown_point", "include"),
        (["trace", "a", "--model", "none"], "unknown_model", "model"),
        (["trace", "a", "--digits", "9"], "too_large", "digits"),
        (["trace", "a", "--config", "{"], "malformed_json", "config"),
        (["trace", "a", "--config", '{"eps": NaN}'], "not_finite", "config.eps"),
        (["trace", "\udce3"], "lone_surrogate", "text"),
        (["add-norm", "--x", "1,2", "--update", "1"], "lengths_differ", "update"),
        (["add-norm", "--x", "1,two", "--update", "1,2"], "wrong_type", "x[1]"),
        (["add-norm", "--x", "1,nan", "--update", "1,2"], "not_finite", "x[1]"),
        (["add-norm", "--x", "1"], "update_or_matrix", "update"),
    ],
)
def test_a_refusal_is_a_sentence_and_status_2(
    capsys: pytest.CaptureFixture[str], arguments: list[str], code: str, field: str
):
    status, out, err = run(capsys, *arguments)
    assert (status, out) == (2, "")
    assert err.startswith(f"{field}: ")
    opening = i18n.t("en", f"error.{code}").partition("{")[0].strip()
    assert opening in err and "{" not in err.replace("“{”", "")


def test_the_command_speaks_the_language_of_the_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("LC_ALL", "ja_JP.UTF-8")
    _, _, err = run(capsys, "trace", " ")
    assert i18n.t("ja", "error.empty_text") in err
    with pytest.raises(SystemExit):
        main(["--help"])
    assert i18n.t("ja", "cli.trace") in capsys.readouterr().out


def test_a_taken_port_is_said_at_once(capsys: pytest.CaptureFixture[str]):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        status, _, err = run(capsys, "--port", port)
    assert status == 1
    assert port in err


def test_help_needs_no_pytorch():
    script = "import sys; sys.argv[1:] = ['--help']\n"
    script += "try:\n    from app.__main__ import main; main()\n"
    script += "except SystemExit:\n    print('torch' in sys.modules)"
    result = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True,
        env={**os.environ, "PYTHONIOENCODING": "utf-8"},
    )  # fmt: skip
    assert result.stdout.splitlines()[-1] == "False"


def test_columns_are_as_wide_as_their_characters_look():
    rows = table(["a", "b"], [["猫", 1], ["cat", 2]])
    assert rows == ["a    b", "猫   1", "cat  2"]
    assert vector([1.0, None]) == "         1           –"
    assert vector([0.0] * 10).endswith("… +2")


GONE = """
import io, sys

from app.__main__ import main

class Gone(io.TextIOWrapper):
    def write(self, text):
        raise BrokenPipeError

sys.stdout = Gone(sys.stdout.detach())
sys.exit(main(["add-norm", "--x", "1,2,3", "--update", "0,0,0"]))
"""


def test_a_reader_that_stops_reading_meets_no_traceback():
    done = subprocess.run([sys.executable, "-c", GONE], cwd=ROOT, capture_output=True)
    assert (done.returncode, done.stdout, done.stderr) == (141, b"", b"")
