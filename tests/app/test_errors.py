"""Every refusal has one shape, one sentence in each language, and gives nothing away."""

import ast
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient

from app import i18n
from app.errors import STATUS
from app.main import create_app
from app.settings import Settings

ROOT = Path(__file__).parent.parent.parent
LEAKS = re.compile(
    r"Traceback|site-packages|/home/|/usr/|\.py\b|fastapi|starlette|uvicorn|pydantic", re.I
)
RAISERS = {"ModelError", "Refusal", "Problem", "JsonFault", "_Refused", "Refused"}


def codes() -> Iterator[str]:
    """Codes as they stand in the code: the first argument of whatever makes a refusal."""
    for path in [*(ROOT / "app").rglob("*.py"), *(ROOT / "model").rglob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.args:
                first = node.args[0]
                if node.func.id in RAISERS and isinstance(first, ast.Constant):
                    yield str(first.value)
    yield from STATUS


@pytest.mark.parametrize("code", sorted(set(codes())))
@pytest.mark.parametrize("lang", i18n.LANGUAGES)
def test_every_code_has_a_sentence(code: str, lang: str):
    assert f"error.{code}" in i18n.catalogue(lang)


@pytest.mark.parametrize("status", sorted({*STATUS.values(), 422}))
@pytest.mark.parametrize("lang", i18n.LANGUAGES)
def test_every_status_has_a_title(status: int, lang: str):
    assert f"error.status.{status}" in i18n.catalogue(lang)


@pytest.mark.parametrize(
    "path",
    ["/nothing", "/api/v1/nothing", "/api/v1/models/", "/api/v1/health/", "/add-norm/", "/api/v1",
     "/api/v2/health", "/static/", "/static/nothing.js", "/static/../app/main.py", "/docs/",
     "/static/%2e%2e/app/main.py", "/static/%252e%252e%252fapp/main.py", "/static//etc/passwd",
     "/static/v-0/..%5c..%5capp/main.py", "/static/css", "/locales/fr.json", "/locales/../en.json",
     "/locales/%2e%2e%2fen.json", "/%00", "/\u3042"],
)  # fmt: skip
def test_an_unknown_address_is_a_404_in_the_common_shape(
    client: TestClient, refused: Callable[..., Any], path: str
):
    refused(client.get(path), 404, "not_found")


@pytest.mark.parametrize(
    ("method", "path", "allow"),
    [
        ("GET", "/api/v1/trace", {"POST", "OPTIONS"}),
        ("PUT", "/api/v1/trace", {"POST", "OPTIONS"}),
        ("POST", "/api/v1/health", {"GET", "HEAD", "OPTIONS"}),
        ("DELETE", "/", {"GET", "HEAD", "OPTIONS"}),
        ("PATCH", "/static/icon.svg", {"GET", "HEAD", "OPTIONS"}),
        ("TRACE", "/docs", {"GET", "HEAD", "OPTIONS"}),
        ("BREW", "/openapi.json", {"GET", "HEAD", "OPTIONS"}),
    ],
)
def test_a_wrong_method_is_a_405_with_allow(
    client: TestClient, refused: Callable[..., Any], method: str, path: str, allow: set[str]
):
    reply = client.request(method, path)
    refused(reply, 405, "method_not_allowed")
    assert set(reply.headers["allow"].split(", ")) == allow


@pytest.mark.parametrize("path", ["/", "/docs", "/api/v1/health", "/openapi.json"])
def test_head_is_get_without_a_body(client: TestClient, path: str):
    head, get = client.head(path), client.get(path)
    assert head.status_code == get.status_code == 200
    assert head.content == b""
    assert head.headers["content-type"] == get.headers["content-type"]


def test_options_says_what_is_possible(client: TestClient):
    reply = client.options("/api/v1/add-norm")
    assert (reply.status_code, reply.headers["allow"]) == (204, "OPTIONS, POST")


@pytest.mark.parametrize(
    ("query", "accept", "lang"),
    [
        ("", None, "en"),
        ("", "ja", "ja"),
        ("", "ja-JP,ja;q=0.9,en;q=0.8", "ja"),
        ("", "fr, en;q=0.5, ja;q=0.7", "ja"),
        ("", "ja;q=0, en;q=0.1", "en"),
        ("", "de, *;q=0.5", "en"),
        ("", "ja;q=x, ;;;, q=1", "en"),
        ("?lang=ja", "en", "ja"),
        ("?lang=en", "ja", "en"),
        ("?lang=fr", "ja", "ja"),
        ("?lang=", "ja", "ja"),
    ],
)
def test_the_message_is_in_the_readers_language(
    client: TestClient, query: str, accept: str | None, lang: str
):
    headers = {} if accept is None else {"accept-language": accept}
    reply = client.get(f"/nothing{query}", headers=headers)
    assert reply.json()["error"]["message"] == i18n.t(lang, "error.not_found")
    assert reply.headers["content-language"] == lang


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [("GET", "/nothing", 404), ("GET", "/api/v1/trace", 405), ("POST", "/api/v1/trace", 415)],
)
@pytest.mark.parametrize("lang", i18n.LANGUAGES)
def test_a_browser_gets_a_page(client: TestClient, method: str, path: str, status: int, lang: str):
    accept = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
    reply = client.request(method, f"{path}?lang={lang}", headers={"accept": accept})
    assert reply.status_code == status
    assert reply.headers["content-type"] == "text/html; charset=utf-8"
    assert i18n.t(lang, f"error.status.{status}") in reply.text
    assert f'<html lang="{lang}"' in reply.text
    assert not LEAKS.search(re.sub(r"<script.*?</script>", "", reply.text, flags=re.S))


@pytest.mark.parametrize("accept", ["*/*", "application/json", "application/json, text/html"])
def test_a_program_gets_json(client: TestClient, refused: Callable[..., Any], accept: str):
    refused(client.get("/nothing", headers={"accept": accept}), 404, "not_found")


@pytest.fixture
def broken() -> FastAPI:
    app = create_app(Settings(workers=1))

    @app.get("/broken")
    def raise_something() -> None:
        words = "".join(["sec", "ret"])
        raise RuntimeError(words)

    return app


@pytest.mark.parametrize("accept", ["application/json", "text/html"])
def test_an_unexpected_fault_is_a_500_that_gives_nothing_away(
    broken: FastAPI, caplog: pytest.LogCaptureFixture, accept: str
):
    client = TestClient(broken, base_url="http://localhost")
    reply = client.get("/broken", headers={"accept": accept})
    assert reply.status_code == 500
    assert "content-security-policy" in reply.headers
    assert i18n.t("en", "error.internal") in reply.text
    assert "secret" not in reply.text and "RuntimeError" not in reply.text
    # The log says where, but never what a reader wrote.
    assert "raise_something" in caplog.text and "secret" not in caplog.text


def test_a_broken_template_does_not_hide_the_error(
    client: TestClient, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    from app import pages

    def fail(*_: object) -> str:
        raise KeyError("template")

    monkeypatch.setattr(pages, "render", fail)
    reply = client.get("/<b>nothing", headers={"accept": "text/html"})
    assert reply.status_code == 404
    assert i18n.t("en", "error.not_found") in reply.text
    # Nor does the error hide the broken template.
    assert "unexpected KeyError" in caplog.text


@pytest.mark.parametrize(
    "content", [b'{"text":5}', b"{", b'{"text":"A","model":"x"}', b'{"text":"A","include":["x"]}']
)
def test_errors_name_no_path_and_no_library(client: TestClient, content: bytes):
    headers = {"content-type": "application/json"}
    assert not LEAKS.search(client.post("/api/v1/trace", content=content, headers=headers).text)
