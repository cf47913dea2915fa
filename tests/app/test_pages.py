"""Pages, their files and their caching; what is inlined cannot end its element."""

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from starlette.testclient import TestClient

from app import assets, i18n
from app.pages import PAGES, data_block

ADDRESSES = [*PAGES, "/docs"]


@pytest.mark.parametrize("path", ADDRESSES)
@pytest.mark.parametrize("lang", i18n.LANGUAGES)
def test_a_page_is_in_the_language_asked_for(client: TestClient, path: str, lang: str):
    for reply in (
        client.get(f"{path}?lang={lang}"),
        client.get(path, headers={"accept-language": lang}),
    ):
        assert reply.status_code == 200
        assert f'<html lang="{lang}">' in reply.text
        assert reply.headers["content-language"] == lang
        assert "Accept-Language" in reply.headers["vary"]


@pytest.mark.parametrize("path", ADDRESSES)
def test_whatever_a_page_links_is_there(client: TestClient, path: str):
    text = client.get(path).text
    links = set(re.findall(r'(?:src|href)="(/[^"#]*)"', text))
    assert any(link.endswith(".css") for link in links)
    for link in links:
        reply = client.get(link)
        assert reply.status_code == 200, link


@pytest.mark.parametrize("path", ADDRESSES)
@pytest.mark.parametrize("lang", i18n.LANGUAGES)
def test_no_sentence_is_missing_from_a_page(client: TestClient, path: str, lang: str):
    text = client.get(f"{path}?lang={lang}").text
    words = re.sub(r"<(script|style|pre|code)\b.*?</\1>", "", text, flags=re.S)
    words = re.sub(
        r'\b(data-[\w-]+|id|class|href|src|for|aria-\w+by|name|value)="[^"]*"', "", words
    )
    shown = set(re.findall(r"\b[a-z_]+(?:\.[a-z_]+)+\b", words))
    assert not {
        key for key in shown if key.split(".")[0] in {"docs", "api", "page", "error", "nav"}
    }


def test_the_page_carries_the_reply_of_the_api(client: TestClient):
    text = client.get("/").text
    block = re.search(
        r'<script type="application/json" id="example-trace">(.*?)</script>', text, re.S
    )
    assert block
    example = json.loads(block[1])
    assert client.post("/api/v1/trace", json=example["request"]).json() == example


def test_the_page_carries_its_catalogue(client: TestClient):
    text = client.get("/?lang=ja").text
    block = re.search(r'<script type="application/json" id="catalogue">(.*?)</script>', text, re.S)
    assert block
    inlined = json.loads(block[1])
    assert inlined["term.add.name"] == i18n.t("ja", "term.add.name")
    assert inlined == client.get("/locales/ja.json").json()
    assert not any(key.startswith(("api.", "cli.", "docs.")) for key in inlined)


def test_pages_have_no_script_inside(client: TestClient):
    for path in PAGES:
        text = client.get(path).text
        for attributes in re.findall(r"<script([^>]*)>", text):
            assert 'src="' in attributes or 'type="application/json"' in attributes
        assert not re.search(r"<[^>]+\son\w+=", text)


@pytest.mark.parametrize(
    "text",
    ["</script><script>alert(1)</script>", "<!--<script>", "a & b", "\u2028\u2029", "&lt;"],
)
def test_data_inside_a_page_cannot_leave_its_element(text: str):
    block = str(data_block(json.dumps({"text": text}, ensure_ascii=False)))
    assert not re.search(r"[<>&\u2028\u2029]", block)
    assert json.loads(block) == {"text": text}


def test_what_a_reader_sends_is_escaped_on_an_error_page(client: TestClient):
    body = {"text": "A", "model": "<img src=x onerror=window.PWN=1>"}
    reply = client.post("/api/v1/trace", json=body, headers={"accept": "text/html"})
    assert reply.status_code == 404
    assert "&lt;img src=x" in reply.text
    assert "<img" not in reply.text


def test_files_of_a_page_are_kept_for_good_and_change_their_address(client: TestClient):
    address = re.search(r'"(/static/v-[0-9a-f]+/css/base\.css)"', client.get("/").text)
    assert address
    reply = client.get(address[1])
    assert reply.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert client.get("/static/css/base.css").headers["cache-control"] == "no-cache"
    stale = re.sub(r"v-[0-9a-f]+", "v-0000", address[1])
    assert client.get(stale).headers["cache-control"] == "no-cache"
    assert client.get(stale).content == reply.content


@pytest.mark.parametrize("path", ["/", "/static/css/base.css", "/plotly.min.js", "/openapi.json"])
@pytest.mark.parametrize("coding", ["gzip", "identity"])
def test_what_a_client_has_is_not_sent_again(client: TestClient, path: str, coding: str):
    headers = {"accept-encoding": coding}
    first = client.get(path, headers=headers)
    assert first.headers.get("content-encoding", "identity") == coding
    etag = first.headers["etag"]
    for known in (etag, f'"other", W/{etag}'):
        again = client.get(path, headers={**headers, "if-none-match": known})
        assert (again.status_code, again.content) == (304, b"")
    assert client.get(path, headers={**headers, "if-none-match": '"other"'}).status_code == 200


def test_the_charts_script_comes_from_the_installed_wheel(client: TestClient):
    address = re.search(r'src="(/plotly\.min\.js[^"]*)"', client.get("/").text)
    assert address
    reply = client.get(address[1])
    assert reply.headers["content-type"] == "text/javascript; charset=utf-8"
    assert reply.content.startswith(b"/**\n* plotly.js v")
    from importlib.metadata import version

    versioned = client.get(f"/plotly.min.js?v={version('plotly')}")
    assert "immutable" in versioned.headers["cache-control"]


def test_the_reference_names_every_call_and_field(client: TestClient):
    document = client.get("/openapi.json").json()
    text = client.get("/docs").text
    for path, methods in document["paths"].items():
        for method in methods:
            assert f"{method.upper()} {path}" in text
    for name in ("TraceBody", "AddNormBody", "TraceReply"):
        for field in document["components"]["schemas"][name]["properties"]:
            assert f"<code>{field}</code>" in text


def test_limits_are_those_that_are_enforced(client: TestClient, refused: Callable[..., Any]):
    limits = client.get("/api/v1/limits").json()
    over = {"text": "a" * (limits["text_characters"] + 1)}
    refused(client.post("/api/v1/trace", json=over), 422, "too_many_characters", "text")
    config = {"d_model": limits["d_model"] + 2}
    body = {"text": "a", "model": "textbook", "config": config}
    refused(client.post("/api/v1/trace", json=body), 422, "too_large", "config.d_model")
    blanks = b" " * limits["body_bytes"]
    headers = {"content-type": "application/json"}
    reply = client.post("/api/v1/trace", content=b'{"text":"a"}' + blanks, headers=headers)
    refused(reply, 413, "body_too_large")
    reply = client.post("/api/v1/trace", content=b'{"text":"a"}' + blanks[:-12], headers=headers)
    assert reply.status_code == 200


def test_the_first_model_is_the_default(client: TestClient):
    listed = client.get("/api/v1/models").json()["models"]
    reply = client.post("/api/v1/trace", json={"text": "a"}).json()
    assert reply["model"]["id"] == reply["request"]["model"] == listed[0]["id"]
    assert reply["model"]["norm"] == listed[0]["default_norm"]
    assert {"textbook"} <= {model["id"] for model in listed}


def test_scripts_are_served_without_comments_and_every_line_keeps_its_number():
    script = b"""/** What it is for.
 *  More of it.
 */

const url = 'http://a/*b*/'; // stays: only whole lines go
  // gone
  /* gone */
  /* stays */ const a = 1; /* stays */
    const pattern = /\\/\\*/;
"""
    assert assets.without_comments(script).split(b"\n") == [
        b"",
        b"",
        b"",
        b"",
        b"const url = 'http://a/*b*/'; // stays: only whole lines go",
        b"",
        b"",
        b"/* stays */ const a = 1; /* stays */",
        b"const pattern = /\\/\\*/;",
        b"",
    ]
