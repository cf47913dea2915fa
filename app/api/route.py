"""How a body gets to a call: JSON only, read strictly; must not know which call."""

from collections.abc import Callable, Coroutine
from email.message import Message
from typing import Any

from fastapi import Request
from fastapi.routing import APIRoute
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from app import strict_json
from app.errors import Refusal

_QUICK = 32_000
"""Bytes that are parsed sooner than a thread is woken."""


class JsonRoute(APIRoute):
    """A route whose body is read by `strict_json` in place of FastAPI's reader."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()
        takes_body = self.body_field is not None

        async def read_and_handle(request: Request) -> Response:
            if not takes_body:
                return await handle(request)
            given = request.headers.get("content-type", "")
            if not is_json(given):
                raise Refusal("unsupported_media_type", given=given[:100])
            body = await request.body()
            parsed = (
                strict_json.parse(body)
                if len(body) <= _QUICK
                else await run_in_threadpool(strict_json.parse, body)
            )
            read = _ReadRequest(request.scope, request.receive)
            read.take(body, parsed)
            return await handle(read)

        return read_and_handle


class _ReadRequest(Request):
    def take(self, body: bytes, parsed: object) -> None:
        self._body = body
        self._parsed = parsed

    async def json(self) -> object:
        return self._parsed


def is_json(content_type: str) -> bool:
    """application/json, in UTF-8 if a charset is named: JSON has no other encoding (RFC 8259)."""
    message = Message()
    message["content-type"] = content_type
    charset = message.get_param("charset", "utf-8")
    return (
        message.get_content_type() == "application/json"
        and content_type.strip() != ""
        and isinstance(charset, str)
        and charset.lower() == "utf-8"
    )
