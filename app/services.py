"""What every call shares, made once at start: settings, models, workers; must not know any call."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request
from starlette.responses import Response

from app import encode, negotiation
from app.pool import ComputePool
from app.settings import Settings
from model.registry import Registry


@dataclass(frozen=True)
class Services:
    settings: Settings
    registry: Registry
    pool: ComputePool

    async def compute(self, request: Request, work: Callable[[], bytes]) -> Response:
        """Run `work`, which makes JSON, in a worker, and compress it there for who can read it."""
        gzipped = negotiation.accepts_gzip(request.scope)
        body = await self.pool.run((lambda: encode.compress(work())) if gzipped else work, request)
        return json_reply(body, gzipped)


def json_reply(body: bytes, gzipped: bool) -> Response:
    """A reply of JSON that is already bytes, compressed or not."""
    headers = {"Vary": "Accept-Encoding"} | ({"Content-Encoding": "gzip"} if gzipped else {})
    return Response(body, headers=headers, media_type="application/json")


def _of_app(request: Request) -> Services:
    services: Services = request.app.state.services
    return services


Shared = Annotated[Services, Depends(_of_app)]
