"""What holds for every request: host, origin, size of a body, headers; must not know any call.

Pure ASGI, so that bodies stream and a client's leaving is seen.
"""

import asyncio
import ipaddress
import time
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app import limits
from app.errors import Problem, problem_response

CONTENT_SECURITY_POLICY = (
    "default-src 'self'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data: blob:; object-src 'none'; base-uri 'none'"
)

_HEADERS = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "SAMEORIGIN",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


class ReplyHeaders:
    """Puts the security headers on every reply, errors included; HEAD is GET without a body."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        is_head = scope["method"] == "HEAD"

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers[name] = value
                headers.setdefault("Cache-Control", "no-store")
            elif is_head and message["type"] == "http.response.body":
                message = {**message, "body": b""}
            await send(message)

        inner = {**scope, "method": "GET"} if is_head else scope
        await self.app(inner, receive, send_with_headers)


class SameSite:
    """Refuses names that are not this machine's, and pages of other sites.

    A page elsewhere can point a name of its own at 127.0.0.1 (DNS rebinding) or post across
    origins; neither names the host that the reader typed.
    """

    def __init__(self, app: ASGIApp, hosts: tuple[str, ...]) -> None:
        self.app = app
        self.hosts = frozenset(hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        problem = self._refusal(Headers(scope=scope)) if scope["type"] == "http" else None
        if problem is None:
            await self.app(scope, receive, send)
        else:
            await problem_response(scope, problem)(scope, receive, send)

    def _refusal(self, headers: Headers) -> Problem | None:
        given = headers.getlist("host")
        host = given[0].lower() if len(given) == 1 else ""
        name = host_name(host)
        if name is None or not (is_local_name(name) or name in self.hosts):
            return Problem("host_refused")
        origins = headers.getlist("origin")
        if origins and not (len(origins) == 1 and same_origin(origins[0], host)):
            return Problem("origin_refused")
        return None


def host_name(host: str) -> str | None:
    """The name in a Host header, without port and brackets; None where it is malformed."""
    if not host or any(sign in host for sign in "/@?#\\ "):
        return None
    try:
        parts = urlsplit(f"//{host}")
        _ = parts.port
    except ValueError:
        return None
    name = parts.hostname
    return name.removesuffix(".") if name else None


def is_local_name(name: str) -> bool:
    """localhost (RFC 6761 gives its subdomains to the loopback too) or an IP address as such."""
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def same_origin(origin: str, host: str) -> bool:
    scheme, separator, rest = origin.lower().partition("://")
    default = {"http": ":80", "https": ":443"}.get(scheme)
    if not separator or default is None:
        return False
    return rest.removesuffix(default) == host.removesuffix(default)


class BodyLimit:
    """Refuses bodies that say or turn out to be too long, and ends uploads that stall."""

    def __init__(
        self, app: ASGIApp, limit: int = limits.BODY_BYTES, seconds: float = limits.BODY_SECONDS
    ) -> None:
        self.app = app
        self.limit = limit
        self.seconds = seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        declared = Headers(scope=scope).get("content-length", "")
        if declared.isdigit() and (len(declared) > 18 or int(declared) > self.limit):
            await self._refuse(Problem("body_too_large", params={"limit": self.limit}))(
                scope, receive, send
            )
            return
        counted = _CountedBody(receive, self.limit, self.seconds)
        started = False

        async def watched_send(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        try:
            await self.app(scope, counted.receive, watched_send)
        except BodyRefused as refused:
            if started:
                raise
            await self._refuse(refused.problem)(scope, receive, send)

    def _refuse(self, problem: Problem) -> ASGIApp:
        async def reply(scope: Scope, receive: Receive, send: Send) -> None:
            response = problem_response(scope, problem)
            response.headers["Connection"] = "close"

            async def send_then_drain(message: Message) -> None:
                if message["type"] == "http.response.body":
                    await send({**message, "more_body": True})
                    await _drain(scope, receive)
                    message = {"type": "http.response.body", "body": b"", "more_body": False}
                await send(message)

            await response(scope, receive, send_then_drain)

        return reply


class BodyRefused(Exception):
    """Raised where a call reads its body, and turned into the reply by `BodyLimit`."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.code)
        self.problem = problem


class _CountedBody:
    def __init__(self, receive: Receive, limit: int, seconds: float) -> None:
        self._receive = receive
        self._limit = limit
        self._seconds = seconds
        self._left = limit
        self._deadline: float | None = None
        self._complete = False

    async def receive(self) -> Message:
        if self._complete:
            # What follows a body is only the client's leaving, which may take any time.
            return await self._receive()
        if self._deadline is None:
            self._deadline = time.monotonic() + self._seconds
        try:
            message = await asyncio.wait_for(self._receive(), self._deadline - time.monotonic())
        except TimeoutError:
            params: dict[str, object] = {"limit": self._seconds}
            raise BodyRefused(Problem("upload_stalled", params=params)) from None
        if message["type"] == "http.request":
            self._left -= len(message.get("body", b""))
            self._complete = not message.get("more_body", False)
            if self._left < 0:
                raise BodyRefused(Problem("body_too_large", params={"limit": self._limit}))
        else:
            self._complete = True
        return message


async def _drain(scope: Scope, receive: Receive, seconds: float = 2.0, idle: float = 0.5) -> None:
    """Read on for a moment, so that a client still sending gets to read why it was refused.

    Closing at once would reset the connection, and the reply would be lost with it.
    """
    if Headers(scope=scope).get("expect"):
        return  # This client waits for leave to send its body and gets the refusal instead.
    until = time.monotonic() + seconds
    try:
        while (left := until - time.monotonic()) > 0:
            message = await asyncio.wait_for(receive(), min(idle, left))
            if message["type"] != "http.request" or not message.get("more_body", False):
                return
    except TimeoutError:
        return
