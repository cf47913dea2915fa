"""Who may ask: names of this machine, pages of this origin; and what every reply carries."""

from collections.abc import Callable
from typing import Any

import pytest
from starlette.testclient import TestClient

from app.main import create_app
from app.security import is_local_name, same_origin
from app.settings import SettingError, Settings

POLICY = (
    "default-src 'self'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data: blob:; object-src 'none'; base-uri 'none'"
)


@pytest.mark.parametrize(
    "host",
    ["localhost", "localhost:8000", "LOCALHOST", "localhost.", "a.localhost:1", "127.0.0.1",
     "127.0.0.1:8000", "[::1]:8000", "[::1]", "192.168.1.20:8000", "[fe80::1]"],
)  # fmt: skip
def test_names_of_this_machine_and_ip_addresses_are_answered(client: TestClient, host: str):
    assert client.get("/api/v1/health", headers={"host": host}).status_code == 200


@pytest.mark.parametrize(
    "host",
    ["example.org", "localhost.example.org", "127.0.0.1.example.org", "127.0.0.1@example.org",
     "example.org:8000", "examplelocalhost", "2130706433", "", "local host", "localhost:x",
     "localhost/..", "[::1", "[localhost]", "localhost, example.org", "testserver"],
)  # fmt: skip
@pytest.mark.parametrize("path", ["/", "/api/v1/health", "/static/icon.svg", "/nothing"])
def test_other_names_are_refused(
    client: TestClient, refused: Callable[..., Any], host: str, path: str
):
    refused(client.get(path, headers={"host": host}), 421, "host_refused")


def test_a_setting_names_further_hosts():
    settings = Settings.from_environment({"ADDNORM_HOSTS": " Class.Example.org, laptop.local"})
    client = TestClient(create_app(settings), base_url="http://class.example.org:8000")
    assert client.get("/api/v1/health").status_code == 200
    assert client.get("/api/v1/health", headers={"host": "example.org"}).status_code == 421


@pytest.mark.parametrize(
    ("origin", "host"),
    [
        ("http://localhost:8000", "localhost:8000"),
        ("http://127.0.0.1", "127.0.0.1"),
        ("http://127.0.0.1", "127.0.0.1:80"),
        ("https://localhost", "localhost:443"),
        ("http://[::1]:8000", "[::1]:8000"),
    ],
)
def test_a_page_of_this_origin_may_ask(client: TestClient, origin: str, host: str):
    reply = client.get("/api/v1/health", headers={"host": host, "origin": origin})
    assert reply.status_code == 200
    assert same_origin(origin, host)


@pytest.mark.parametrize(
    "origin",
    ["http://example.org", "null", "http://localhost:8001", "http://127.0.0.1", "", "file://",
     "http://localhost.example.org", "ftp://localhost", "http://localhost@example.org",
     "http://localhost/"],
)  # fmt: skip
def test_a_page_of_another_origin_may_not(
    client: TestClient, refused: Callable[..., Any], origin: str
):
    body = {"text": "A"}
    reply = client.post("/api/v1/trace", json=body, headers={"origin": origin})
    refused(reply, 403, "origin_refused")
    assert "access-control-allow-origin" not in reply.headers


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/", 200),
        ("GET", "/docs", 200),
        ("GET", "/api/v1/health", 200),
        ("HEAD", "/api/v1/health", 200),
        ("OPTIONS", "/api/v1/trace", 204),
        ("GET", "/static/icon.svg", 200),
        ("GET", "/plotly.min.js", 200),
        ("GET", "/nothing", 404),
        ("GET", "/api/v1/trace", 405),
        ("POST", "/api/v1/trace", 415),
    ],
)
def test_every_reply_carries_the_security_headers(
    client: TestClient, method: str, path: str, status: int
):
    reply = client.request(method, path)
    assert reply.status_code == status
    assert reply.headers["content-security-policy"] == POLICY
    assert reply.headers["x-content-type-options"] == "nosniff"
    assert reply.headers["referrer-policy"] == "no-referrer"


def test_refusals_of_the_outer_layers_carry_them_too(client: TestClient):
    for reply in (
        client.get("/", headers={"host": "example.org"}),
        client.get("/", headers={"origin": "http://example.org"}),
        client.post("/api/v1/trace", headers={"content-length": "1" * 30}),
    ):
        assert reply.status_code in (403, 413, 421)
        assert reply.headers["content-security-policy"] == POLICY


@pytest.mark.parametrize("name", ["::1", "0.0.0.0", "localhost", "x.localhost", "10.0.0.1"])
def test_local_names(name: str):
    assert is_local_name(name)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("ADDNORM_THREADS_PER_RUN", "0"),
        ("ADDNORM_THREADS_PER_RUN", "many"),
        ("ADDNORM_WORKERS", "-1"),
        ("ADDNORM_QUEUE", "1.5"),
    ],
)
def test_a_setting_that_cannot_be_used_is_said(name: str, value: str):
    with pytest.raises(SettingError) as error:
        Settings.from_environment({name: value})
    assert (error.value.name, error.value.value) == (name, value)
