"""Many at once get what one alone gets, bit for bit, and so does a server started anew."""

import itertools
import json
import sys
import threading
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from starlette.testclient import TestClient

from app.main import create_app
from app.settings import Settings

TEXTS = ["The cat sat.", "猫が😀好き。", "a b a b a b", "吾輩は猫である。名前はまだ無い。", "x"]
SIZES: list[dict[str, Any]] = [
    {"d_model": 64, "n_layers": 2, "n_heads": 4, "d_mlp": 128},
    {"d_model": 32, "n_layers": 1, "n_heads": 2, "causal": True, "activation": "gelu"},
    {"d_model": 96, "n_layers": 3, "n_heads": 3, "positions": "learned", "seed": 7},
]
POINTS = ["*.resid_mid", "blocks.0.attn.pattern", "blocks.0.ln1.*", "blocks.0.attn.result[0]"]


def bodies(count: int) -> list[dict[str, Any]]:
    """Mixed requests: texts, placements, sizes, and the default model among them."""
    mixed = itertools.product(["post", "pre"], [*SIZES, None], TEXTS, POINTS)
    return [
        {
            "text": text,
            "norm": norm,
            "include": [points],
            **({"model": "textbook", "config": size} if size else {}),
        }
        for norm, size, text, points in itertools.islice(itertools.cycle(mixed), count)
    ]


def post(server: str, body: dict[str, Any]) -> bytes:
    request = urllib.request.Request(
        f"{server}/api/v1/trace",
        data=json.dumps(body).encode(),
        headers={"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=60) as reply:
        content: bytes = reply.read()
        return content


def test_threads_and_a_restart_with_two_workers_change_no_bit(serve: Any, tmp_path: Path):
    client = TestClient(create_app(Settings(workers=2)), base_url="http://localhost")
    distinct = bodies(160)
    serial = [client.post("/api/v1/trace", json=body).content for body in distinct]

    def traces_of(thread: int, server: str) -> list[tuple[int, bytes]]:
        # Each thread goes through the requests in an order of its own.
        chosen = [(place * 7 + thread * 41) % len(distinct) for place in range(200)]
        return [(place, post(server, distinct[place])) for place in chosen]

    command = [sys.executable, "-m", "app", "--port", "{port}", "--workers"]
    for workers in ("1", "2"):
        with serve([*command, workers], tmp_path) as server, ThreadPoolExecutor(4) as threads:
            for results in threads.map(lambda t: traces_of(t, server), range(4)):
                assert all(content == serial[place] for place, content in results)


def test_placements_at_once_keep_apart(server: str):
    def run(norm: str) -> dict[str, Any]:
        body = {"text": "the cat", "model": "textbook", "config": SIZES[0], "norm": norm}
        found: dict[str, Any] = json.loads(post(server, {**body, "include": ["*"]}))
        return found

    with ThreadPoolExecutor(12) as threads:
        replies = list(threads.map(run, ["pre", "post"] * 6))
    assert [reply["model"]["norm"] for reply in replies] == ["pre", "post"] * 6
    for norm in (0, 1):
        same = replies[norm::2]
        assert all(reply == same[0] for reply in same)
        assert same[0]["tensors"].keys() == {point["name"] for point in same[0]["points"]}


def test_the_server_answers_while_the_heaviest_runs_go_on(server: str):
    heavy = {
        "text": "word " * 200,
        "model": "textbook",
        "config": {"d_model": 512, "n_layers": 6, "n_heads": 8, "d_mlp": 2048, "n_ctx": 512},
        "include": ["*pattern"],
        "encoding": "base64",
        "dtype": "uint8",
        "verify": True,
    }
    outcomes: list[int] = []

    def run() -> None:
        try:
            reply = json.loads(post(server, heavy))
            assert all(check["ok"] for check in reply["checks"])
            outcomes.append(200)
        except urllib.error.HTTPError as error:
            assert error.headers["Retry-After"]
            outcomes.append(error.code)

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    answered = 0
    # The server answers each of these while at least one run is still going.
    while any(thread.is_alive() for thread in threads) and answered < 20:
        for path in ("/api/v1/health", "/static/icon.svg"):
            with urllib.request.urlopen(f"{server}{path}", timeout=10) as reply:
                assert reply.status == 200
        answered += 1
    for thread in threads:
        thread.join()
    assert answered == 20
    assert set(outcomes) <= {200, 503} and len(outcomes) == 4
