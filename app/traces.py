"""A trace request to its reply: what API, page and command all give; must not know HTTP."""

import re
from dataclasses import asdict
from typing import Any

from app import encode
from app.encode import Format
from app.errors import Refusal
from app.schemas import IncludeBody, TraceBody
from model.registry import Registry
from model.selection import Include
from model.trace import Selected, Trace, TraceRequest, run_trace

_SHARES = re.compile(r"(.*[.*_])?pattern(\[[^\[\]]*\])?")
"""Names whose every match holds shares from 0 to 1, which is what a uint8 can say."""


def run(registry: Registry, body: TraceBody) -> Trace:
    """Run a request.

    Raises:
        Refusal: a format that cannot hold what is asked for.
        ModelError: whatever `run_trace` refuses.
    """
    return run_trace(registry, request_of(body))


def request_of(body: TraceBody) -> TraceRequest:
    """What is to be run.

    Raises:
        Refusal: a format that cannot hold what is asked for.
    """
    formats = [format_of(entry, body, place) for place, entry in enumerate(body.include)]
    include = [
        Include(points_of(entry), how.encoding == "text")
        for entry, how in zip(body.include, formats, strict=True)
    ]
    config = None if body.config is None else body.config.model_dump(exclude_unset=True)
    return TraceRequest(
        text=body.text,
        text_pair=body.text_pair,
        model=body.model,
        norm=body.norm,
        weights=body.weights,
        config=config,
        include=include,
        verify=body.verify,
    )


def to_json(registry: Registry, body: TraceBody) -> bytes:
    """Run a request and write its reply."""
    return encode.to_json(reply_of(run(registry, body), body), body.digits)


def reply_of(trace: Trace, body: TraceBody) -> dict[str, Any]:
    """The reply of `POST /trace`, with the request as it was understood."""
    return {
        "request": echo_of(trace, body),
        "model": trace.model,
        "tokens": trace.tokens,
        "steps": trace.steps,
        "points": trace.points,
        "layer_norms": trace.layer_norms,
        "stream": trace.stream,
        "heads": encode.as_float32(trace.heads, body.digits),
        "predictions": encode.as_float32(trace.predictions, body.digits),
        "checks": trace.checks,
        "not_checked": trace.not_checked,
        "flags": trace.flags,
        "tensors": tensors_of(trace.tensors, body),
    }


def echo_of(trace: Trace, body: TraceBody) -> dict[str, Any]:
    """The request as it was understood, every default filled in."""
    return {
        "text": body.text,
        "text_pair": body.text_pair,
        "model": trace.model.id,
        "norm": trace.model.norm,
        "weights": trace.model.weights,
        "config": trace.settings,
        "include": [_echo(entry, body) for entry in body.include],
        "encoding": body.encoding,
        "digits": body.digits,
        "dtype": body.dtype,
        "verify": body.verify,
    }


def tensors_of(tensors: list[Selected], body: TraceBody) -> dict[str, Any]:
    """The tensors of a reply, by their keys.

    Of two entries that name the same slice, the later one decides: it is the more particular.
    """
    return {selected.key: _tensor(selected, body) for selected in tensors}


def points_of(entry: str | IncludeBody) -> str:
    return entry if isinstance(entry, str) else entry.points


def format_of(entry: str | IncludeBody, body: TraceBody, place: int) -> Format:
    """The format of one entry: its own where it says so, else the request's.

    Raises:
        Refusal: ``dtype_needs_base64``, ``uint8_is_for_patterns``.
    """
    # A null that an entry says itself counts, a default does not.
    own = {} if isinstance(entry, str) else entry.model_dump(exclude_unset=True)
    how = Format(
        encoding=own.get("encoding", body.encoding),
        digits=own.get("digits", body.digits),
        dtype=own.get("dtype", body.dtype),
    )
    field = f"include[{place}].dtype" if "dtype" in own else "dtype"
    if how.dtype == "uint8" and how.encoding == "text":
        raise Refusal("dtype_needs_base64", field, dtype=how.dtype)
    if how.dtype == "uint8" and not _SHARES.fullmatch(points_of(entry)):
        raise Refusal("uint8_is_for_patterns", field, entry=points_of(entry))
    return how


def _echo(entry: str | IncludeBody, body: TraceBody) -> str | dict[str, Any]:
    if isinstance(entry, str):
        return entry
    return {"points": entry.points, **asdict(format_of(entry, body, 0))}


def _tensor(selected: Selected, body: TraceBody) -> dict[str, Any]:
    how = format_of(body.include[selected.entry], body, selected.entry)
    return {
        "point": selected.point,
        "axes": selected.axes,
        "shape": selected.shape,
        "masked_by": selected.masked_by,
        **encode.tensor_fields(selected.value, how),
    }
