"""A closer look at a run to its reply, for API and command; must not know HTTP."""

from typing import Any

from app import encode, traces
from app.errors import Refusal
from app.schemas import TraceBody
from app.schemas_analysis import (
    CompareBody,
    HeadsBody,
    LedgerBody,
    LensBody,
    RepetitionBody,
    UnitsBody,
)
from model import comparison, inspections, repetition
from model.checks import Check
from model.registry import Registry
from model.run import RunRequest
from model.trace import Trace


def heads(registry: Registry, body: HeadsBody) -> bytes:
    """The reply of `POST /heads`."""
    report = inspections.inspect_heads(
        registry, traces.request_of(body), body.layer, body.pos, body.head
    )
    asked = {"layer": body.layer, "pos": body.pos, "head": body.head}
    found = {
        "heads": report.heads,
        "bias": report.bias,
        "norm_based": report.norm_based,
        "maps": report.maps,
        "predictions": report.predictions,
        "logit_effect": report.logit_effect,
        "reason": report.reason,
    }
    return _to_json(report.trace, body, asked, found, report.check)


def units(registry: Registry, body: UnitsBody) -> bytes:
    """The reply of `POST /units`."""
    report = inspections.inspect_units(
        registry, traces.request_of(body), body.layer, body.pos, body.unit, body.top_k
    )
    asked = {"layer": body.layer, "pos": body.pos, "unit": body.unit, "top_k": body.top_k}
    found = {
        "strongest": report.strongest,
        "driving": report.driving,
        "predictions": report.predictions,
        "logit_effect": report.logit_effect,
        "reason": report.reason,
    }
    return _to_json(report.trace, body, asked, found, report.check)


def lens(registry: Registry, body: LensBody) -> bytes:
    """The reply of `POST /lens`."""
    report = inspections.inspect_lens(
        registry, traces.request_of(body), body.pos, body.top_k, body.token
    )
    asked = {"pos": body.pos, "top_k": body.top_k, "token": body.token}
    found = {"token": report.token, "states": report.states, "reason": report.reason}
    return _to_json(report.trace, body, asked, found, report.check)


def ledger(registry: Registry, body: LedgerBody) -> bytes:
    """The reply of `POST /ledger`."""
    given = body.direction
    direction = None
    if given is not None:
        direction = inspections.Direction(
            given.token, given.dimension, given.point, tuple(given.index)
        )
    report = inspections.inspect_ledger(
        registry, traces.request_of(body), body.pos, body.state, direction
    )
    found = dict(vars(report.ledger))
    asked = {
        "state": found.pop("state"),
        "pos": found.pop("pos"),
        "direction": None if given is None else given.model_dump(),
    }
    found["direction_length"] = report.direction_length
    return _to_json(report.trace, body, asked, found, report.check)


def _to_json(
    trace: Trace,
    body: TraceBody,
    asked: dict[str, Any],
    found: dict[str, Any],
    check: Check | None,
) -> bytes:
    """What every look at one run says of the run, and what was found."""
    reply = {
        "request": {**traces.echo_of(trace, body), **asked},
        "model": trace.model,
        "tokens": trace.tokens,
        **{name: encode.as_float32(value, body.digits) for name, value in found.items()},
        "checks": [*trace.checks, *([] if check is None else [check])],
        "not_checked": trace.not_checked,
        "flags": trace.flags,
        "tensors": traces.tensors_of(trace.tensors, body),
    }
    return encode.to_json(reply, body.digits)


def compare(registry: Registry, body: CompareBody) -> bytes:
    """The reply of `POST /compare`."""
    bodies = [_run_of(body, place) for place in range(len(body.runs))]
    first, second = (traces.request_of(one) for one in bodies)
    for place, entry in enumerate(body.include):
        if traces.format_of(entry, bodies[0], place).dtype == "uint8":
            # Differences have signs; a share has none.
            named = traces.points_of(entry)
            raise Refusal("uint8_is_for_patterns", f"include[{place}]", entry=named)
    found = comparison.compare(registry, (first, second), first.include)
    runs = [traces.reply_of(trace, one) for trace, one in zip(found.traces, bodies, strict=True)]
    echoes = [run["request"] for run in runs]
    reply = {
        "request": {
            **{name: echoes[0][name] for name in ("text", "text_pair")},
            "runs": [
                {name: echo[name] for name in ("model", "norm", "weights", "config")}
                for echo in echoes
            ],
            **{name: echoes[0][name] for name in ("include", "encoding", "digits", "dtype")},
        },
        "runs": runs,
        "difference": encode.as_float32(found.difference, body.digits),
        "tensors": traces.tensors_of(found.tensors, bodies[0]),
    }
    return encode.to_json(reply, body.digits)


def _run_of(body: CompareBody, place: int) -> TraceBody:
    """One run of a comparison as a trace would be asked for."""
    run = body.runs[place]
    return TraceBody(
        text=body.text,
        text_pair=body.text_pair,
        model=run.model,
        norm=run.norm,
        weights=run.weights,
        config=run.config,
        include=body.include,
        encoding=body.encoding,
        digits=body.digits,
        dtype=body.dtype,
        verify=False,
    )


_ANY_TEXT = "a"
"""Lends the tokens that a tokenizer puts around every text."""


def induction(registry: Registry, body: RepetitionBody) -> bytes:
    """The reply of `POST /heads/induction`."""
    config = None if body.config is None else body.config.model_dump(exclude_unset=True)
    request = RunRequest(_ANY_TEXT, body.model, body.norm, body.weights, config)
    report = repetition.run_repetition(registry, request, body.seed, body.segment, body.rows)
    reply = {
        "request": {
            "model": report.model.id,
            "norm": report.model.norm,
            "weights": report.model.weights,
            "config": report.settings,
            "seed": report.seed,
            "segment": report.segment,
            "rows": report.rows,
        },
        "model": report.model,
        "tokens": report.tokens,
        "heads": encode.as_float32(report.heads),
        "losses": encode.as_float32(report.losses),
    }
    return encode.to_json(reply)
