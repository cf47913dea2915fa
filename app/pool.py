"""Where runs are computed: a fixed number of threads and a bounded queue; must not know what a run is.

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


class ComputePool:
    """As many workers as the settings say, with `threads_per_run` torch threads each."""

    def __init__(self, settings: Settings) -> None:
        # Set before any worker starts, and never by load: sums in another order have other last bits.
        torch.set_num_threads(settings.threads_per_run)
        keep_freed_memory()
        self.places = settings.workers + settings.queue
        self._taken = 0
        self._lock = threading.Lock()
        self._executor = ThreadPoolExecutor(settings.workers, thread_name_prefix="compute")

    async def run(
        self, work: Callable[[], Result], request: Request | None = None
    ) -> Result:
        """Compute `work` in a worker.

        A client that goes while its work still waits takes the work with it.

        Raises:
            Refusal: ``busy``, where the queue is full.
            ClientDisconnect: the client of `request` has gone.
        """
        with self._lock:
            if self._taken >= self.places:
                raise Refusal("busy")
            self._taken += 1
        future = self._executor.submit(work)
        future.add_done_callback(self._leave)
        result = asyncio.wrap_future(future)
        gone = asyncio.ensure_future(_gone(request)) if request else None
        try:
            await asyncio.wait({result, gone} if gone else {result}, return_when="FIRST_COMPLETED")
            if not result.done():
                raise ClientDisconnect()
            return result.result()
        finally:
            result.cancel()
            if gone:
                gone.cancel()

    def _leave(self, _: Future[Any]) -> None:
        with self._lock:
            self._taken -= 1

    def close(self) -> None:
        self._executor.shutdown(wait=False, cancel_futures=True)


async def _gone(request: Request) -> None:
    """Return when the client of a request whose body has been read has left."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
