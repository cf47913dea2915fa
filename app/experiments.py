"""Experiments in slices between which others are served, as one reply or line by line.

A line is `{"progress": {"done", "total"}}`; the last one is `{"result": …}`, or `{"error": …}`
where the work had to be given up. Must not know any experiment.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Generator
from typing import Any

from fastapi import Request
from starlette.requests import ClientDisconnect
from starlette.responses import Response, StreamingResponse

from app import encode, negotiation
from app.errors import Problem, Refusal, error_content
from app.services import Services, json_reply
from model.analysis.experiments.results import Progress, Result
from model.errors import ModelError

Run = Generator[Progress, None, Result[Any]]

SLICE_SECONDS = 0.1
"""A worker's turn; others wait no longer for it than that and one step of the experiment."""

WAIT_SECONDS = 0.2
DIGITS = 9
LINES = "application/x-ndjson"


class Slices:
    """One experiment on its way: each turn takes it a little further."""

    def __init__(self, name: str, run: Run, gzipped: bool) -> None:
        self.name = name
        self.run = run
        self.gzipped = gzipped
        self.seconds = 0.0

    def turn(self) -> Progress | bytes:
        """Work for a moment: how far it is, or the reply's JSON."""
        started = time.perf_counter()
        try:
            progress = next(self.run)
            while time.perf_counter() - started < SLICE_SECONDS:
                progress = next(self.run)
        except StopIteration as stop:
            self.seconds += time.perf_counter() - started
            return self._reply(stop.value)
        self.seconds += time.perf_counter() - started
        return progress

    def _reply(self, result: Result[Any]) -> bytes:
        rounded = encode.as_float32(result, DIGITS)
        assert isinstance(rounded, dict)
        seconds = round(self.seconds, 3)
        body = encode.to_json({"name": self.name, **rounded, "seconds": seconds})
        return encode.compress(body) if self.gzipped else body


async def respond(name: str, run: Run, request: Request, shared: Services) -> Response:
    """The reply for a client; when the client goes, the work ends.

    Raises:
        Refusal: ``busy``, before the first slice.
        ModelError: whatever the experiment refuses.
    """
    in_lines = negotiation.wants_lines(request.scope)
    gzipped = negotiation.accepts_gzip(request.scope) and not in_lines
    slices = Slices(name, run, gzipped)
    # What is refused is refused before the first line, with its status.
    turn = await shared.pool.run(slices.turn, request)
    if in_lines:
        # A proxy that collects lines would hide the progress.
        headers = {"X-Accel-Buffering": "no", "Vary": "Accept"}
        lines = _lines(slices, turn, request, shared)
        return StreamingResponse(lines, headers=headers, media_type=LINES)
    while not isinstance(turn, bytes):
        turn = await _next_turn(slices, request, shared)
    return json_reply(turn, gzipped)


async def _next_turn(slices: Slices, request: Request, shared: Services) -> Progress | bytes:
    """The next slice; where the queue is full, wait for a place, since the work has begun."""
    while True:
        try:
            return await shared.pool.run(slices.turn, request)
        except Refusal as refusal:
            if refusal.problem.code != "busy":
                raise
            await asyncio.sleep(WAIT_SECONDS)


async def _lines(
    slices: Slices, turn: Progress | bytes, request: Request, shared: Services
) -> AsyncIterator[bytes]:
    try:
        while not isinstance(turn, bytes):
            yield _line("progress", encode.to_json(turn))
            turn = await _next_turn(slices, request, shared)
        yield _line("result", turn)
    except ClientDisconnect:
        return
    except ModelError as error:
        yield _error_line(request, Problem(error.code, error.field, error.params))
    except Exception:
        # The status has long been sent: the last line has to say it.
        yield _error_line(request, Problem("internal"))
        raise


def _line(kind: str, body: bytes) -> bytes:
    return b'{"' + kind.encode() + b'":' + body + b"}\n"


def _error_line(request: Request, problem: Problem) -> bytes:
    content = error_content(negotiation.language(request.scope), problem)
    return _line("error", encode.to_json(content))
