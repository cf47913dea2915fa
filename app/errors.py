"""Every refusal in one shape, as JSON or as a page; must not know how a fault came about."""

import dataclasses
import logging
import traceback
from collections.abc import Mapping
from typing import Any

import orjson
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import HTMLResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app import i18n, limits, negotiation
from app.strict_json import JsonFault, printable
from app.validation import problem_fields
from model.errors import ModelError

logger = logging.getLogger("addnorm")

STATUS = {
    "origin_refused": 403,
    "not_found": 404,
    "unknown_model": 404,
    "no_training_record": 404,
    "method_not_allowed": 405,
    "upload_stalled": 408,
    "body_too_large": 413,
    "unsupported_media_type": 415,
    "host_refused": 421,
    "internal": 500,
    "busy": 503,
}
"""Whatever is not listed is a request that was understood and cannot be met: 422."""


@dataclasses.dataclass(frozen=True)
class Problem:
    """What a reply says of a fault."""

    code: str
    field: str | None = None
    params: Mapping[str, object] = dataclasses.field(default_factory=dict)
    headers: Mapping[str, str] = dataclasses.field(default_factory=dict)

    @property
    def status(self) -> int:
        return STATUS.get(self.code, 422)


class Refusal(Exception):
    """A `Problem` on its way up."""

    def __init__(self, code: str, field: str | None = None, **params: object) -> None:
        super().__init__(code)
        self.problem = Problem(code, field, params)


def problem_response(scope: Scope, problem: Problem) -> Response:
    """The reply: a page for a browser, JSON for everyone else, in the reader's language."""
    lang = negotiation.language(scope)
    error = error_content(lang, problem)
    headers = {**problem.headers, "Vary": "Accept, Accept-Language", "Content-Language": lang}
    if problem.status == 503:
        headers["Retry-After"] = str(limits.RETRY_SECONDS)
    if negotiation.wants_html(scope):
        # Imported late: pages know how to show an error, errors need not know pages.
        from app.pages import error_page

        return HTMLResponse(error_page(scope, lang, problem.status, error), problem.status, headers)
    body = orjson.dumps({"error": error})
    return Response(body, problem.status, headers, media_type="application/json")


def error_content(lang: str, problem: Problem) -> dict[str, Any]:
    """What a reply says of a fault, in a language."""
    return {
        "code": problem.code,
        "message": _message(lang, problem),
        "field": None if problem.field is None else printable(problem.field),
        "params": _plain(problem.params),
    }


def _message(lang: str, problem: Problem) -> str:
    params = {"field": problem.field or "", **problem.params}
    return printable(i18n.t(lang, f"error.{problem.code}", **params))


def _plain(value: Any) -> Any:
    """Params as JSON can carry them: no half characters, no whole number beyond 64 bits."""
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, Mapping):
        return {printable(str(key)): _plain(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(part) for part in value]
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        return str(value)
    return value if isinstance(value, (bool, int, float)) or value is None else str(value)


def install(app: FastAPI) -> None:
    """Give every exception that has a meaning its reply."""

    async def of_model(request: Request, error: Exception) -> Response:
        assert isinstance(error, ModelError)
        return problem_response(request.scope, Problem(error.code, error.field, error.params))

    async def of_refusal(request: Request, error: Exception) -> Response:
        assert isinstance(error, Refusal)
        return problem_response(request.scope, error.problem)

    async def of_json(request: Request, error: Exception) -> Response:
        assert isinstance(error, JsonFault)
        return problem_response(request.scope, Problem(error.code, error.field, error.params))

    async def of_validation(request: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        code, field, params = problem_fields(error.errors(), error.body)
        return problem_response(request.scope, Problem(code, field, params))

    async def of_http(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        if error.status_code == 405:
            return _wrong_method(request, error)
        code = "not_found" if error.status_code == 404 else "internal"
        return problem_response(request.scope, Problem(code))

    app.add_exception_handler(ModelError, of_model)
    app.add_exception_handler(Refusal, of_refusal)
    app.add_exception_handler(JsonFault, of_json)
    app.add_exception_handler(RequestValidationError, of_validation)
    app.add_exception_handler(HTTPException, of_http)


def _wrong_method(request: Request, error: HTTPException) -> Response:
    """405 with Allow, or, for OPTIONS, the same Allow as the answer."""
    methods = set((error.headers or {}).get("Allow", "").replace(" ", "").split(",")) - {""}
    if "GET" in methods:
        methods.add("HEAD")
    allow = ", ".join(sorted(methods | {"OPTIONS"}))
    if request.method == "OPTIONS":
        return Response(status_code=204, headers={"Allow": allow})
    params = {"method": request.method[:20], "allowed": allow}
    return problem_response(
        request.scope, Problem("method_not_allowed", params=params, headers={"Allow": allow})
    )


def refuse_repeated(request: Request) -> None:
    """Raise ``duplicate_key`` where a name stands twice in the query."""
    names = [name for name, _ in request.query_params.multi_items()]
    for name in names:
        if names.count(name) > 1:
            raise Refusal("duplicate_key", name)


def log_fault(error: Exception) -> None:
    """The place and the kind of a fault, not its words: they may hold a reader's text."""
    where = "".join(traceback.format_tb(error.__traceback__))
    logger.error("unexpected %s\n%s", type(error).__name__, where)


class CatchAll:
    """Turns whatever nobody expected into a plain 500, inside the headers of every reply."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        started = False

        async def watched_send(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        try:
            await self.app(scope, receive, watched_send)
        except ClientDisconnect:
            return
        except Exception as error:
            if scope["type"] != "http":
                raise
            log_fault(error)
            if not started:
                await problem_response(scope, Problem("internal"))(scope, receive, watched_send)
