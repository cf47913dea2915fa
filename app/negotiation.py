"""Language, kind of body and compression that a client asked for; must not know any page."""

from urllib.parse import parse_qs

from starlette.datastructures import Headers
from starlette.types import Scope

from app import i18n


def language(scope: Scope) -> str:
    """The language of a reply, from `?lang=`, else Accept-Language."""
    query = parse_qs(scope.get("query_string", b"").decode("latin-1"))
    asked = query.get("lang", [None])[-1]
    return i18n.choose(asked, Headers(scope=scope).get("accept-language"))


def wants_html(scope: Scope) -> bool:
    """Whether a person looks at the reply: browsers name text/html, programs rarely do."""
    weights = _weights(Headers(scope=scope).get("accept", ""))
    return weights.get("text/html", 0.0) > weights.get("application/json", 0.0)


def wants_lines(scope: Scope) -> bool:
    """Whether the client reads a line for each step of a long reply."""
    return _weights(Headers(scope=scope).get("accept", "")).get("application/x-ndjson", 0.0) > 0.0


def accepts_gzip(scope: Scope) -> bool:
    weights = _weights(Headers(scope=scope).get("accept-encoding", ""))
    return weights.get("gzip", weights.get("*", 0.0)) > 0.0


def _weights(header: str) -> dict[str, float]:
    return {
        name.strip().lower(): i18n.weight(parameters)
        for name, _, parameters in (entry.partition(";") for entry in header.split(","))
        if name.strip()
    }
