"""What the tests of the application share: a client, small requests and the shape of errors."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from starlette.testclient import TestClient

from app.main import create_app
from app.replies import ErrorReply
from app.settings import Settings

TINY = {"d_model": 64, "n_layers": 2, "n_heads": 4, "d_mlp": 128}


@pytest.fixture(scope="session")
def client() -> TestClient:
    """The application itself; a fault inside it is a reply, as it is for a reader."""
    app = create_app(Settings(workers=2))
    return TestClient(app, base_url="http://localhost", raise_server_exceptions=False)


@pytest.fixture(scope="session")
def tiny(client: TestClient) -> Callable[..., Any]:
    """`tiny("the cat", norm="pre")`: the reply of the random model in small sizes."""

    def run(text: str, **fields: Any) -> Any:
        body = {"text": text, "model": "textbook", "config": TINY, **fields}
        reply = client.post("/api/v1/trace", json=body)
        assert reply.status_code == 200, reply.text
        return strict(reply.content)

    return run


def strict(body: bytes) -> Any:
    """JSON as the standard has it: without NaN, Infinity or a name given twice."""

    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is not JSON")

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        assert len(dict(pairs)) == len(pairs)
        return dict(pairs)

    return json.loads(body, parse_constant=refuse, object_pairs_hook=unique)


@pytest.fixture(scope="session")
def parse() -> Callable[[bytes], Any]:
    return strict


@pytest.fixture(scope="session")
def refused() -> Callable[..., dict[str, Any]]:
    """`refused(reply, 422, "not_finite", "text")`: checks an error and gives its content."""

    def check(reply: Any, status: int, code: str, field: str | None = None) -> dict[str, Any]:
        assert reply.status_code == status, reply.text
        assert reply.headers["content-type"] == "application/json"
        error: dict[str, Any] = ErrorReply.model_validate(strict(reply.content)).error.model_dump()
        assert (error["code"], error["field"]) == (code, field)
        # A sentence, with every number filled in.
        assert " " in error["message"] or len(error["message"].encode()) > len(error["message"])
        assert not error["message"].startswith("error.")
        assert "{" not in error["message"]
        return error

    return check
