"""Where runs are computed: a few threads and a bounded queue; must not know what a run is.

The event loop never computes: it hands a function to a worker and gets bytes back. A worker makes,
encodes and compresses a run before it takes the next, so no more runs are alive than workers.
"""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

import torch
from starlette.requests import ClientDisconnect, Request

from app.errors import Refusal
from app.settings import Settings
from model.memory import keep_freed_memory

Result = TypeVar("Result")


def prepare_runs(settings: Settings) -> None:
    """Set, before the first run and never by load, what its numbers and its speed depend on."""
    # Sums in another order have other last bits.
    torch.set_num_threads(settings.threads_per_run)
    keep_freed_memory()


class ComputePool:
    """As many workers as the settings say, with `threads_per_run` torch threads each."""

    def __init__(self, settings: Settings) -> None:
        prepare_runs(settings)
        self.places = settings.workers + settings.queue
        self._taken = 0
        self._lock = threading.Lock()
        self._workers = settings.workers
        self._executor: ThreadPoolExecutor | None = None

    async def run(self, work: Callable[[], Result], request: Request | None = None) -> Result:
        """Compute `work` in a worker.

        A client that goes while its work still waits takes the work with it.

        Raises:
            Refusal: ``busy``, where the queue is full.
            ClientDisconnect: the client of `request` has gone.
        """
        future = self._submit(work)
        future.add_done_callback(self._leave)
        result = asyncio.wrap_future(future)
        if request is None:
            return await result
        gone = asyncio.create_task(_gone(request))
        gone.add_done_callback(lambda _: result.cancel())
        try:
            return await result
        except asyncio.CancelledError:
            if gone.done() and not gone.cancelled():
                raise ClientDisconnect from None
            raise
        finally:
            gone.cancel()

    def _submit(self, work: Callable[[], Result]) -> Future[Result]:
        with self._lock:
            if self._taken >= self.places:
                raise Refusal("busy")
            # Made on first use: an application may be started again after it was closed.
            if self._executor is None:
                self._executor = ThreadPoolExecutor(self._workers, thread_name_prefix="compute")
            future = self._executor.submit(work)
            self._taken += 1
            return future

    def _leave(self, _: Future[Any]) -> None:
        with self._lock:
            self._taken -= 1

    def close(self) -> None:
        with self._lock:
            executor, self._executor = self._executor, None
        if executor is not None:
            executor.shutdown(wait=False, cancel_futures=True)


async def _gone(request: Request) -> None:
    """Return when the client of a request whose body has been read has left."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
