"""`POST /experiments/{name}`: documented, repeatable, in slices, stopped when the client goes."""

import asyncio
import importlib
import json
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from types import SimpleNamespace
from typing import Any

import pytest
from starlette.testclient import TestClient

from app import experiments, replies_lab, schemas_lab
from app.main import create_app
from app.schemas import example_of
from app.settings import Settings
from model.analysis.experiments.results import Progress, Result

NAMES = {
    "init-gradients": (schemas_lab.InitGradientsBody, replies_lab.InitGradientsReply),
    "dot-product-variance": (
        schemas_lab.DotProductVarianceBody,
        replies_lab.DotProductVarianceReply,
    ),
    "input-norms": (schemas_lab.InputNormsBody, replies_lab.InputNormsReply),
    "depth": (schemas_lab.DepthBody, replies_lab.DepthExperimentReply),
    "reach": (schemas_lab.ReachBody, replies_lab.ReachReply),
}
SMALL = {"depths": [1, 2], "d_model": 8, "n_heads": 2, "d_mlp": 8, "n_ctx": 4, "seeds": 2}
LINES = {"Accept": "application/x-ndjson"}


def post(client: TestClient, name: str, body: Any, **options: Any) -> Any:
    return client.post(f"/api/v1/experiments/{name}", json=body, **options)


def without_seconds(reply: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in reply.items() if key != "seconds"}


@pytest.mark.parametrize("name", NAMES)
def test_a_reply_is_as_documented_and_repeats(
    client: TestClient, parse: Callable[[bytes], Any], name: str
):
    body, documented = NAMES[name]
    reply = post(client, name, example_of(body))
    assert reply.status_code == 200, reply.text
    found = parse(reply.content)
    documented.model_validate(found, strict=True)
    assert found["name"] == name
    assert example_of(body).items() <= found["request"].items()
    again = post(client, name, found["request"]).json()
    assert without_seconds(again) == without_seconds(found)


@pytest.mark.parametrize("name", NAMES)
def test_every_series_has_the_shape_of_its_axes(client: TestClient, name: str):
    found = post(client, name, example_of(NAMES[name][0])).json()
    lengths: dict[str, int] = {}

    def measure(values: Any, axes: list[str]) -> None:
        if not axes:
            assert not isinstance(values, list)
            return
        assert lengths.setdefault(axes[0], len(values)) == len(values), axes[0]
        for part in values:
            measure(part, axes[1:])

    for series in found["series"].values():
        measure(series["values"], series["axes"])


def test_lines_report_progress_and_end_with_the_same_result(client: TestClient):
    plain = post(client, "init-gradients", SMALL).json()
    reply = post(client, "init-gradients", SMALL, headers=LINES)
    assert reply.headers["content-type"] == "application/x-ndjson"
    *reports, last = (json.loads(line) for line in reply.text.splitlines())
    done = [report["progress"]["done"] for report in reports]
    assert done == sorted(set(done))
    assert {report["progress"]["total"] for report in reports} <= {2 * 2 * 2}
    assert without_seconds(last["result"]) == without_seconds(plain)


@pytest.mark.parametrize("name", schemas_lab.BODIES)
def test_an_empty_body_means_every_default(name: str):
    module = importlib.import_module(f"model.analysis.experiments.{name}")
    request = "".join(part.capitalize() for part in name.split("_")) + "Request"
    assert schemas_lab.BODIES[name]().model_dump(mode="json") == json.loads(
        json.dumps(asdict(getattr(module, request)()))
    )


@pytest.mark.parametrize(
    ("name", "body", "code", "field"),
    [
        ("init-gradients", {"depths": []}, "list_too_short", "depths"),
        ("init-gradients", {"depths": [0]}, "too_small", "depths[0]"),
        ("init-gradients", {"depths": [2, 49]}, "too_large", "depths[1]"),
        ("init-gradients", {"seeds": True}, "wrong_type", "seeds"),
        ("init-gradients", {"sedes": 3}, "unknown_field", "sedes"),
        ("init-gradients", {"n_heads": 3}, "heads_do_not_divide", "n_heads"),
        ("init-gradients", {"depths": [48] * 9, "seeds": 64}, "experiment_too_large", None),
        ("depth", {"drop": ["head"]}, "not_one_of", "drop[0]"),
        ("reach", {"radius": 0}, "too_small", "radius"),
        ("input-norms", {"text": "  "}, "empty_text", "text"),
        ("input-norms", {"model": "textbook", "layer": 9}, "layer_out_of_range", "layer"),
    ],
)
@pytest.mark.parametrize("headers", [{}, LINES], ids=["reply", "lines"])
def test_what_cannot_be_done_is_refused_with_its_status(
    client: TestClient,
    refused: Any,
    name: str,
    body: Any,
    code: str,
    field: str | None,
    headers: dict[str, str],
):
    refused(post(client, name, body, headers=headers), 422, code, field)


def test_an_unknown_model_or_experiment_is_not_found(client: TestClient, refused: Any):
    refused(post(client, "input-norms", {"model": "nothing"}), 404, "unknown_model", "model")
    refused(post(client, "weather", {}), 404, "not_found")


def test_the_limits_are_listed(client: TestClient):
    limits = client.get("/api/v1/limits").json()
    assert limits["experiment_depth"] == 48
    assert limits["experiment_multiply_adds"] == 400_000_000_000
    assert limits["cost_components"] == 2**26


class Endless:
    """An experiment that only ends when it is no longer asked to go on."""

    def __init__(self) -> None:
        self.slices = 0

    def run(self, request: Any) -> Iterator[Progress]:
        while True:
            time.sleep(0.02)
            self.slices += 1
            yield Progress(self.slices, 10**9)


@pytest.fixture
def endless(monkeypatch: pytest.MonkeyPatch) -> Endless:
    made = Endless()
    monkeypatch.setattr("model.analysis.experiments.reach.run", made.run)
    return made


async def ask_and_leave(
    app: Any, headers: list[tuple[bytes, bytes]], leave: asyncio.Event
) -> list[dict[str, Any]]:
    """Post to /reach over bare ASGI; the client goes when `leave` is set."""
    sent: list[dict[str, Any]] = []
    body = iter([{"type": "http.request", "body": b"{}", "more_body": False}])

    async def receive() -> dict[str, Any]:
        for message in body:
            return message
        await leave.wait()
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": "POST",
        "scheme": "http",
        "path": "/api/v1/experiments/reach",
        "raw_path": b"/api/v1/experiments/reach",
        "query_string": b"",
        "root_path": "",
        "headers": [(b"host", b"localhost"), (b"content-type", b"application/json"), *headers],
        "client": ("127.0.0.1", 1),
        "server": ("localhost", 80),
    }
    await app(scope, receive, send)
    return sent


@pytest.mark.parametrize("accept", [b"application/json", b"application/x-ndjson"])
def test_the_work_ends_when_the_client_goes(endless: Endless, accept: bytes):
    app = create_app(Settings(workers=1))

    async def scene() -> list[dict[str, Any]]:
        leave = asyncio.Event()
        asked = asyncio.create_task(ask_and_leave(app, [(b"accept", accept)], leave))
        while endless.slices < 20:
            await asyncio.sleep(0.01)
        leave.set()
        return await asyncio.wait_for(asked, 20)

    sent = asyncio.run(scene())
    app.state.services.pool.close()
    time.sleep(0.3)
    before = endless.slices
    time.sleep(0.3)
    assert endless.slices == before
    lines = [m for m in sent if m["type"] == "http.response.body" and m["body"]]
    assert (len(lines) > 1) == (accept == b"application/x-ndjson")


def test_others_are_served_between_two_slices(endless: Endless):
    app = create_app(Settings(workers=1))

    async def scene() -> list[int]:
        leave = asyncio.Event()
        asked = asyncio.create_task(ask_and_leave(app, [], leave))
        served = []
        for _ in range(3):
            while endless.slices == (served[-1] if served else 0):
                await asyncio.sleep(0.01)
            # The only worker is busy with an experiment that never ends.
            await app.state.services.pool.run(lambda: None)
            served.append(endless.slices)
        leave.set()
        await asyncio.wait_for(asked, 20)
        return served

    served = asyncio.run(scene())
    app.state.services.pool.close()
    assert len(set(served)) == 3


def test_a_full_queue_holds_an_experiment_up_but_does_not_end_it():
    pool_is_full = threading.Event()
    app = create_app(Settings(workers=1, queue=0))
    shared = app.state.services

    def run() -> Iterator[Progress]:
        for done in range(1, 4):
            yield Progress(done, 3)
        return Result({}, [], {})

    async def receive() -> Any:
        await asyncio.sleep(60)

    request: Any = SimpleNamespace(receive=receive)

    async def scene() -> bytes:
        slices = experiments.Slices("test", run(), gzipped=False)
        blocking = asyncio.create_task(shared.pool.run(lambda: pool_is_full.wait(10)))
        await asyncio.sleep(0.05)
        waiting = asyncio.create_task(experiments._next_turn(slices, request, shared))
        await asyncio.sleep(0.5)
        assert not waiting.done()
        pool_is_full.set()
        await blocking
        return await waiting

    reply = asyncio.run(scene())
    shared.pool.close()
    assert json.loads(reply)["name"] == "test"


def test_a_fault_on_the_way_is_the_last_line(client: TestClient, monkeypatch: pytest.MonkeyPatch):
    def run(request: Any) -> Iterator[Progress]:
        time.sleep(experiments.SLICE_SECONDS)
        yield Progress(1, 2)
        raise RuntimeError

    monkeypatch.setattr("model.analysis.experiments.reach.run", run)
    reply = post(client, "reach", {}, headers=LINES)
    first, last = (json.loads(line) for line in reply.text.splitlines())
    assert first == {"progress": {"done": 1, "total": 2}}
    assert last["error"]["code"] == "internal"
