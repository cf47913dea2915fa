"""Slow proofs on a running server: `make proof`. Each prints what it found; any failure ends it.

1. Four threads send 200 mixed requests each: every reply equals the serial one, byte for byte.
2. The same after a restart, with two worker processes.
3. /health answers within a second while the longest runs fill every worker.
4. Five hundred runs later the server's memory is where it was.
5. Gradients at initialisation over 24 seeds: exponents with intervals, equal to PyTorch's.
"""

import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import proof_gradients

ROOT = Path(__file__).parent.parent
THREADS, REQUESTS, LONG_USE = 4, 200, 500
TEXTS = (
    "猫が😀好き。The cat sat.",
    "おじいさんは山へ、おばあさんは川へ行きました。おじいさんは",
    "My name is Dorothy. Her name is Alice. My name is",
    "a\nb\tc d",
    "1 + 1 = 2",
    "吾輩は猫である。名前はまだ無い。" * 6,
    "The dog sat on the mat. " * 12,
)
SIZES = (
    {},
    {"d_model": 64, "n_layers": 2, "n_heads": 4, "d_mlp": 128},
    {"d_model": 128, "n_layers": 6, "n_heads": 8, "d_mlp": 512, "activation": "gelu"},
    {"d_model": 96, "n_layers": 3, "n_heads": 3, "d_mlp": 200, "causal": True, "seed": 7},
)
INCLUDES = (
    [],
    ["blocks.0.ln1.*"],
    ["blocks.*.attn.pattern"],
    [{"points": "blocks.1.resid_post", "encoding": "base64"}],
    [{"points": "blocks.*.mlp_out[0]", "digits": 4}],
)


def mixed(count: int) -> list[bytes]:
    """Bodies of /trace that differ in text, placement, size and what they include."""
    draw = random.Random(0)
    return [
        json.dumps(
            {
                "text": draw.choice(TEXTS),
                "model": "textbook",
                "norm": draw.choice(("pre", "post")),
                "config": draw.choice(SIZES),
                "include": draw.choice(INCLUDES),
            }
        ).encode()
        for _ in range(count)
    ]


def post(base: str, body: bytes) -> bytes:
    """The reply's bytes; a busy server is asked again, as its Retry-After says."""
    headers = {"Content-Type": "application/json"}
    while True:
        request = urllib.request.Request(f"{base}/api/v1/trace", body, headers)
        try:
            with urllib.request.urlopen(request, timeout=120) as reply:
                answer: bytes = reply.read()
                return answer
        except urllib.error.HTTPError as error:
            if error.code not in (429, 503):
                raise
            time.sleep(float(error.headers.get("Retry-After", "1")))


@contextmanager
def server(*options: str) -> Iterator[tuple[str, int]]:
    """Serve on a free port in a process group of its own; yield the base URL and its process id."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "uvicorn", "app.main:app", "--log-level", "warning"]
    command += ["--host", "127.0.0.1", "--port", str(port), *options]
    with tempfile.TemporaryDirectory() as home:
        environment = {**os.environ, "HOME": home}
        process = subprocess.Popen(command, cwd=ROOT, env=environment, start_new_session=True)
        base = f"http://127.0.0.1:{port}"
        try:
            for _ in range(600):
                try:
                    urllib.request.urlopen(f"{base}/api/v1/health", timeout=5).close()
                    break
                except OSError:
                    time.sleep(0.1)
            else:
                raise SystemExit("the server did not start")
            yield base, process.pid
        finally:
            os.killpg(process.pid, signal.SIGTERM)
            process.wait(20)


def in_threads(base: str, bodies: list[bytes]) -> list[list[bytes]]:
    """Each thread sends all bodies, in an order of its own; replies in the order of the bodies."""

    def one(seed: int) -> list[bytes]:
        order = list(range(len(bodies)))
        random.Random(seed).shuffle(order)
        replies = {index: post(base, bodies[index]) for index in order}
        return [replies[index] for index in range(len(bodies))]

    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(one, range(THREADS)))


def expect_equal(runs: list[list[bytes]], serial: list[bytes], what: str) -> None:
    different = sum(a != b for run in runs for a, b in zip(run, serial, strict=True))
    total = sum(map(len, runs))
    print(f"{what}: {total - different} of {total} replies equal the serial ones, byte for byte")
    if different:
        raise SystemExit(1)


def resident_megabytes(process: int) -> float:
    status = Path(f"/proc/{process}/status").read_text()
    (kilobytes,) = re.findall(r"VmRSS:\s+(\d+) kB", status)
    return int(kilobytes) / 1024


def slowest_health(base: str) -> float:
    """Longest time that /health took while long runs were going on."""
    long_run = json.dumps(
        {
            "text": "The cat sat on the mat. " * 60,
            "model": "textbook",
            "config": {"d_model": 512, "n_heads": 8, "d_mlp": 2048, "n_layers": 6, "n_ctx": 512},
        }
    ).encode()
    slowest = 0.0
    with ThreadPoolExecutor(8) as pool:
        runs = [pool.submit(post, base, long_run) for _ in range(8)]
        asked = 0
        while not all(run.done() for run in runs):
            before = time.perf_counter()
            urllib.request.urlopen(f"{base}/api/v1/health", timeout=30).close()
            slowest = max(slowest, time.perf_counter() - before)
            asked += 1
            time.sleep(0.02)
        for run in runs:
            run.result()
    print(f"/health while 8 long runs go on: asked {asked} times, slowest {slowest:.3f} s")
    return slowest


def main() -> None:
    """Run all proofs; the exit status is 1 when one fails."""
    bodies = mixed(REQUESTS)
    with server() as (base, process):
        serial = [post(base, body) for body in bodies]
        expect_equal(in_threads(base, bodies), serial, f"{THREADS} threads × {REQUESTS}")
        if slowest_health(base) > 1:
            raise SystemExit(1)
        if Path("/proc/self/status").exists():
            before = resident_megabytes(process)
            for number in range(LONG_USE):
                post(base, bodies[number % len(bodies)])
            after = resident_megabytes(process)
            print(f"memory before and after {LONG_USE} more runs: {before:.0f} MB, {after:.0f} MB")
            if after > 1.1 * before:
                raise SystemExit(1)
    with server("--workers", "2") as (base, _):
        expect_equal(in_threads(base, bodies), serial, "after a restart, two workers")
    proof_gradients.prove()


if __name__ == "__main__":
    main()
