"""Over a real socket: large, slow and broken requests hurt nobody else."""

import json
import re
import socket
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

POST = b"POST /api/v1/trace HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
MEGABYTE = b"x" * 1_000_000


@contextmanager
def connected(server: str) -> Iterator[socket.socket]:
    url = urlsplit(server)
    assert url.hostname and url.port
    with socket.create_connection((url.hostname, url.port), timeout=30) as connection:
        yield connection


def reply_of(connection: socket.socket) -> tuple[int, bytes]:
    """Status and body, read until the server has said as much as it announced."""
    received = b""
    while b"\r\n\r\n" not in received and (part := connection.recv(65536)):
        received += part
    head, _, body = received.partition(b"\r\n\r\n")
    length = re.search(rb"content-length: (\d+)", head, re.I)
    while length and len(body) < int(length[1]) and (part := connection.recv(65536)):
        body += part
    return int(head.split()[1]), body


def is_healthy(server: str) -> bool:
    with urllib.request.urlopen(f"{server}/api/v1/health", timeout=10) as reply:
        return bool(reply.read() == b'{"status":"ok"}')


def resident_bytes(server: str) -> int:
    """Memory of the process that listens there."""
    port = f":{urlsplit(server).port:04X}"
    rows = Path("/proc/net/tcp").read_text().splitlines()
    inodes = {row.split()[9] for row in rows if row.split()[1].endswith(port)}
    for process in Path("/proc").glob("[0-9]*"):
        try:
            links = {str(fd.readlink()) for fd in (process / "fd").iterdir()}
        except OSError:
            continue
        if links & {f"socket:[{inode}]" for inode in inodes if inode != "0"}:
            pages = int((process / "statm").read_text().split()[1])
            if "uvicorn" in (process / "cmdline").read_text():
                return pages * 4096
    pytest.skip("no /proc to read memory from")


def test_a_body_that_says_it_is_too_large_is_refused_at_once(server: str):
    with connected(server) as connection:
        connection.sendall(POST + b"Content-Length: 50000000\r\n\r\n")
        status, body = reply_of(connection)
    assert (status, json.loads(body)["error"]["code"]) == (413, "body_too_large")


@pytest.mark.parametrize("chunked", [False, True], ids=["declared", "chunked"])
def test_a_client_that_sends_50_megabytes_reads_why_they_were_refused(server: str, chunked: bool):
    before = resident_bytes(server)
    with connected(server) as connection:
        if chunked:
            connection.sendall(POST + b"Transfer-Encoding: chunked\r\n\r\n")
        else:
            connection.sendall(POST + b"Content-Length: 50000000\r\n\r\n")
        try:
            for _ in range(50):
                connection.sendall(b"f4240\r\n" + MEGABYTE + b"\r\n" if chunked else MEGABYTE)
        except OSError:
            pass  # The server need not read all of it.
        status, body = reply_of(connection)
    assert (status, json.loads(body)["error"]["code"]) == (413, "body_too_large")
    assert resident_bytes(server) - before < 100_000_000
    assert is_healthy(server)


def test_a_text_of_200_000_characters_is_refused_with_the_limit(server: str):
    text = json.dumps({"text": "a" * 200_000}).encode()
    with connected(server) as connection:
        connection.sendall(POST + b"Content-Length: %d\r\n\r\n" % len(text) + text)
        status, body = reply_of(connection)
    assert status == 422
    assert json.loads(body)["error"]["params"] == {"limit": 8000, "length": 200_000}


def test_uploads_that_stall_hold_nobody_up(server: str):
    stalled = []
    try:
        for length in (b"10000000000", b"100000", b"100000"):
            connection = socket.create_connection(urlsplit(server).netloc.split(":"), timeout=30)
            connection.sendall(POST + b"Content-Length: " + length + b"\r\n\r\n{")
            stalled.append(connection)
        assert all(is_healthy(server) for _ in range(10))
        with connected(server) as connection:
            body = b'{"text":"A"}'
            connection.sendall(POST + b"Content-Length: %d\r\n\r\n" % len(body) + body)
            assert reply_of(connection)[0] == 200
    finally:
        for connection in stalled:
            connection.close()


def test_a_refused_client_that_waits_for_leave_to_send_gets_the_refusal(server: str):
    with connected(server) as connection:
        connection.sendall(POST + b"Expect: 100-continue\r\nContent-Length: 50000000\r\n\r\n")
        assert reply_of(connection)[0] == 413


@pytest.mark.parametrize(
    ("request_line", "status"),
    [
        (b"GET /static/../app/main.py HTTP/1.1", 404),
        (b"GET /static/%2e%2e/app/main.py HTTP/1.1", 404),
        (b"GET /static/%252e%252e/app/main.py HTTP/1.1", 404),
        (b"GET /static/..%2fapp%2fmain.py HTTP/1.1", 404),
        (b"GET /static/..%5capp%5cmain.py HTTP/1.1", 404),
        (b"GET //etc/passwd HTTP/1.1", 404),
        (b"GET /%ff%fe HTTP/1.1", 404),
        (b"GET /locales/..%2f..%2fsettings.json HTTP/1.1", 404),
        (b"GET /?lang=%ff%00ja HTTP/1.1", 200),
        (b"GET /api/v1/health?lang=ja&lang=en&&=&a HTTP/1.1", 200),
        (b"GET /api/v1/health HTTP/1.0", 200),
        (b"CONNECT /api/v1/health HTTP/1.1", 405),
        (b"OPTIONS /nothing HTTP/1.1", 404),
    ],
)
def test_odd_request_lines_get_their_status(server: str, request_line: bytes, status: int):
    with connected(server) as connection:
        connection.sendall(request_line + b"\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
        found, body = reply_of(connection)
    assert found == status
    assert b"Traceback" not in body and b"import " not in body


@pytest.mark.parametrize(
    "headers",
    [
        b"Host: 127.0.0.1\r\nAccept-Language: \xff\xfe;q=\r\n",
        b"Host: 127.0.0.1\r\nAccept: text/html;q=\xe3\x81\x82\r\n",
        b"Host: 127.0.0.1\r\nAccept-Encoding: gzip;q=0, *;q=0\r\n",
        b"Host: 127.0.0.1\r\nIf-None-Match: \xff\r\n",
        b"Host: 127.0.0.1\r\nCookie: " + b"a" * 8000 + b"\r\n",
    ],
)
@pytest.mark.parametrize("path", [b"/", b"/nothing", b"/api/v1/limits", b"/static/icon.svg"])
def test_odd_headers_are_survived(server: str, headers: bytes, path: bytes):
    with connected(server) as connection:
        connection.sendall(b"GET " + path + b" HTTP/1.1\r\n" + headers + b"\r\n")
        assert reply_of(connection)[0] == (404 if path == b"/nothing" else 200)


@pytest.mark.parametrize(
    "hosts", [b"", b"Host: a\r\nHost: 127.0.0.1\r\n", b"Host: 127.0.0.1/x\r\n"]
)
def test_a_request_without_one_proper_host_is_refused(server: str, hosts: bytes):
    with connected(server) as connection:
        connection.sendall(b"GET /api/v1/health HTTP/1.0\r\n" + hosts + b"\r\n")
        assert reply_of(connection)[0] in (400, 421)


@pytest.mark.parametrize(
    "content_type",
    [
        b"application/json; charset=\xff",
        b'application/json; charset="',
        b"\xe3\x81\x82",
        b";",
        b"/",
    ],
)
def test_odd_content_types_are_415(server: str, content_type: bytes):
    head = POST.replace(b"application/json", content_type)
    with connected(server) as connection:
        connection.sendall(head + b"Content-Length: 2\r\n\r\n{}")
        assert reply_of(connection)[0] == 415


def test_clients_that_leave_take_nothing_down(server: str):
    body = json.dumps({"text": "word " * 120, "include": ["*pattern"]}).encode()
    for _ in range(20):
        with connected(server) as connection:
            connection.sendall(POST + b"Content-Length: %d\r\n\r\n" % len(body) + body)
    for _ in range(5):
        with connected(server) as connection:
            connection.sendall(POST + b"Content-Length: 5000\r\n\r\n{")
    until = time.monotonic() + 60
    while time.monotonic() < until:
        with connected(server) as connection:
            connection.sendall(POST + b"Content-Length: 12\r\n\r\n" + b'{"text":"A"}')
            if reply_of(connection)[0] == 200:
                return
    pytest.fail("the queue of clients that have left is not given up")
