"""Runs wait in a bounded queue, are dropped with their client, and leave the event loop free."""

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest
from starlette.requests import ClientDisconnect, Request
from starlette.testclient import TestClient

from app.errors import Refusal
from app.main import create_app
from app.pool import ComputePool
from app.settings import Settings


def request_that(leaves: asyncio.Event) -> Request:
    async def receive() -> dict[str, str]:
        await leaves.wait()
        return {"type": "http.disconnect"}

    return Request({"type": "http", "headers": []}, receive)


def test_more_than_the_queue_holds_is_refused_and_the_rest_is_done():
    async def run() -> list[Any]:
        pool, go = ComputePool(Settings(workers=1, queue=2)), threading.Event()
        tasks = [asyncio.ensure_future(pool.run(lambda: go.wait(30))) for _ in range(5)]
        await asyncio.sleep(0)
        go.set()
        results = await asyncio.gather(*tasks, return_exceptions=True)
        # Room is made again once they are done.
        assert await pool.run(lambda: "room") == "room"
        pool.close()
        return results

    results = asyncio.run(run())
    assert [r is True for r in results] == [True, True, True, False, False]
    assert {r.problem.code for r in results if isinstance(r, Refusal)} == {"busy"}


def test_queued_work_of_a_client_that_left_is_never_started():
    async def run() -> None:
        pool, go, started = ComputePool(Settings(workers=1, queue=2)), threading.Event(), []
        first = asyncio.ensure_future(pool.run(lambda: go.wait(30)))
        leaves = asyncio.Event()
        second = asyncio.ensure_future(pool.run(lambda: started.append(1), request_that(leaves)))
        await asyncio.sleep(0.01)
        leaves.set()
        with pytest.raises(ClientDisconnect):
            await second
        go.set()
        assert await first
        await pool.run(lambda: None)
        assert started == []
        pool.close()

    asyncio.run(run())


def test_no_more_runs_are_alive_than_workers():
    async def run() -> int:
        pool, lock, alive, most = ComputePool(Settings(workers=2)), threading.Lock(), 0, 0

        def work() -> None:
            nonlocal alive, most
            with lock:
                alive += 1
                most = max(most, alive)
            threading.Event().wait(0.005)
            with lock:
                alive -= 1

        await asyncio.gather(*(pool.run(work) for _ in range(20)))
        pool.close()
        return most

    assert asyncio.run(run()) == 2


def test_a_pool_can_be_used_again_after_it_was_closed():
    async def run() -> str:
        pool = ComputePool(Settings(workers=1))
        await pool.run(lambda: None)
        pool.close()
        return await pool.run(lambda: "again")

    assert asyncio.run(run()) == "again"


def test_a_full_server_says_when_to_come_back(refused: Callable[..., Any]):
    app = create_app(Settings(workers=1, queue=0))
    client = TestClient(app, base_url="http://localhost")
    started, go = threading.Event(), threading.Event()

    def occupy() -> bool:
        started.set()
        return go.wait(30)

    pool: ComputePool = app.state.services.pool
    occupied = threading.Thread(target=lambda: asyncio.run(pool.run(occupy)))
    occupied.start()
    assert started.wait(30)
    try:
        reply = client.post("/api/v1/trace", json={"text": "A"})
        refused(reply, 503, "busy")
        assert reply.headers["retry-after"].isdigit()
        assert client.get("/api/v1/health").status_code == 200
    finally:
        go.set()
    occupied.join(30)
    assert client.post("/api/v1/trace", json={"text": "A"}).status_code == 200
