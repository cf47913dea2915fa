"""The calls that look closer at one run: its heads, units, predictions on the way, and ledger.

Each plans and refuses as a trace does, records what its analysis reads, and adds a check of its
own. It must not know how a request came or how the answer is sent.
"""

import difflib
from dataclasses import dataclass

import torch
from torch import Tensor

from model.analysis import units, writes
from model.analysis.ledger import Ledger, is_needed, ledger
from model.analysis.lens import LensState, lens
from model.analysis.stream import is_state
from model.analysis.units import DrivingTokens, FeedForwardUnits, StrongestUnits
from model.analysis.writes import (
    AttentionWrites,
    BiasWrite,
    HeadWrite,
    LogitEffect,
    Maps,
    NormBased,
    logit_effect,
)
from model.checks import Check, check
from model.errors import ModelError
from model.layers import SelfAttention
from model.points import canonical
from model.registry import Registry
from model.run import Plan
from model.trace import Prediction, Run, Trace, TraceRequest, run

# Of sums that float32 made in another order, relative to the largest component.
CLOSE = 1e-5
LEDGER_LIMIT = 1e-4
NO_UNEMBEDDING = "no_unembedding"


@dataclass(frozen=True)
class HeadsReport:
    """``logit_effect`` is null with a ``reason`` where the model predicts no tokens.

    Attributes:
        predictions: the likeliest next tokens, whose logits the effect is on.
    """

    trace: Trace
    heads: list[HeadWrite]
    bias: BiasWrite | None
    norm_based: NormBased
    maps: Maps | None
    predictions: list[Prediction] | None
    logit_effect: LogitEffect | None
    reason: str | None
    check: Check


@dataclass(frozen=True)
class UnitsReport:
    """Either ``strongest`` at a position or the tokens that are ``driving`` a unit."""

    trace: Trace
    strongest: StrongestUnits | None
    driving: DrivingTokens | None
    predictions: list[Prediction] | None
    logit_effect: LogitEffect | None
    reason: str | None
    check: Check


@dataclass(frozen=True)
class LensReport:
    """``states`` is null with a ``reason`` where the model predicts no tokens."""

    trace: Trace
    token: int | None
    states: list[LensState] | None
    reason: str | None
    check: Check | None


@dataclass(frozen=True)
class LedgerReport:
    trace: Trace
    ledger: Ledger
    direction_length: float | None
    check: Check


@dataclass(frozen=True)
class Direction:
    """What a ledger's parts are projected on: exactly one of a token, a dimension and a point.

    Attributes:
        token: the unembedding's row, so that the parts of the last state total the token's logit.
        point, index: a recorded vector, such as ``blocks.0.attn.result`` at [3, 2].
    """

    token: int | None = None
    dimension: int | None = None
    point: str | None = None
    index: tuple[int, ...] = ()


def inspect_heads(
    registry: Registry, request: TraceRequest, layer: int, pos: int, head: int | None = None
) -> HeadsReport:
    """Every head of a layer at a position.

    Args:
        head: the one whose maps over all queries and keys are wanted too.

    Raises:
        ModelError: what ``run`` refuses; ``no_such_index`` for a layer, position or head.
    """

    def also(planned: Plan) -> list[str]:
        within("layer", layer, planned.config.n_layers)
        within("pos", pos, len(planned.tokens))
        if head is not None:
            within("head", head, planned.config.n_heads)
        return [*writes.needed_points(layer)]

    ran = run(registry, request, also)
    model = ran.planned.runnable.plain
    with torch.no_grad():
        at = AttentionWrites(model, ran.recorder, layer)
        effect = logit_effect(
            model,
            ran.recorder,
            pos,
            f"{at.at}_out",
            at.writes(pos),
            at.bias,
            _likely_tokens(ran, pos),
        )
        limit = CLOSE * max(1.0, float(at.out[pos].abs().max()))
        return HeadsReport(
            trace=ran.trace,
            heads=at.heads(pos),
            bias=at.bias_write(pos),
            norm_based=at.norm_based(pos),
            maps=None if head is None else at.maps(head),
            predictions=_predictions(ran, pos),
            logit_effect=effect,
            reason=NO_UNEMBEDDING if effect is None else None,
            check=check("heads_writes", f"{at.at}_out", at.error(pos), limit),
        )


def inspect_units(
    registry: Registry,
    request: TraceRequest,
    layer: int,
    pos: int | None = None,
    unit: int | None = None,
    top_k: int = 10,
) -> UnitsReport:
    """The strongest units at a position, or the positions that drive one unit.

    Raises:
        ModelError: what ``run`` refuses; ``pos_or_unit`` unless exactly one of them is given;
            ``no_such_index`` for a layer, position or unit.
    """

    def also(planned: Plan) -> list[str]:
        if (pos is None) == (unit is None):
            raise ModelError("pos_or_unit")
        within("layer", layer, planned.config.n_layers)
        if pos is not None:
            within("pos", pos, len(planned.tokens))
        if unit is not None:
            within("unit", unit, planned.config.d_mlp)
        return [*units.needed_points(layer)]

    ran = run(registry, request, also)
    model, recorder = ran.planned.runnable.plain, ran.recorder
    out = f"blocks.{layer}.mlp_out"
    with torch.no_grad():
        at = FeedForwardUnits(model, recorder, layer)
        strongest = None if pos is None else at.strongest(pos, top_k)
        effect = None
        if pos is not None and strongest is not None:
            listed, tokens = at.writes(strongest.units), _likely_tokens(ran, pos)
            effect = logit_effect(model, recorder, pos, out, listed, at.bias, tokens)
        limit = CLOSE * max(1.0, float(at.out.abs().max()))
        return UnitsReport(
            trace=ran.trace,
            strongest=strongest,
            driving=None if unit is None else at.driving(unit, top_k),
            predictions=None if pos is None else _predictions(ran, pos),
            logit_effect=effect,
            # A unit's effect belongs to a position.
            reason=NO_UNEMBEDDING
            if model.unembed is None
            else "no_position"
            if unit is not None
            else None,
            check=check("units_writes", out, at.error(), limit),
        )


def inspect_lens(
    registry: Registry, request: TraceRequest, pos: int, top_k: int = 5, token: int | None = None
) -> LensReport:
    """What every state of the stream would predict at a position.

    Args:
        token: the id whose rank is followed; null for the run's own first choice.

    Raises:
        ModelError: what ``run`` refuses; ``no_such_index`` for a position or token.
    """

    def also(planned: Plan) -> list[str]:
        within("pos", pos, len(planned.tokens))
        if token is not None:
            within("token", token, planned.config.d_vocab)
        return []

    ran = run(registry, request, also)
    model, recorder = ran.planned.runnable.plain, ran.recorder
    if model.unembed is None:
        return LensReport(ran.trace, None, None, NO_UNEMBEDDING, None)
    with torch.no_grad():
        points = [state.point for state in ran.trace.stream.states]
        vocabulary = ran.planned.runnable.tokenizer
        followed, states = lens(model, recorder, points, pos, top_k, vocabulary, token)
        own = float(recorder.values["logits"][pos, followed])
        limit = CLOSE * max(1.0, float(recorder.values["logits"][pos].abs().max()))
    last = check("lens_last_state", "logits", abs(states[-1].logit - own), limit)
    return LensReport(ran.trace, followed, states, None, last)


def inspect_ledger(
    registry: Registry,
    request: TraceRequest,
    pos: int,
    state: str | None = None,
    direction: Direction | None = None,
) -> LedgerReport:
    """A state of the stream at a position as the sum of what was written into it.

    Args:
        state: a vector of the model by any of its names; null for the one that leaves the model.

    Raises:
        ModelError: what ``run`` refuses; ``no_such_index`` for a position, token or dimension;
            ``not_a_state``; ``one_direction`` unless exactly one is given; ``no_unembedding`` for
            a token's direction; ``not_a_vector`` for a point's.
    """

    def also(planned: Plan) -> list[str]:
        within("pos", pos, len(planned.tokens))
        _named_state(planned, state)
        if direction is not None:
            _refuse_direction(planned, direction)
        aim = None if direction is None else direction.point
        name = None if aim is None else canonical(aim, planned.config.norm)
        # Each head's write is never recorded: it is made from z, which a ledger needs anyway.
        return [
            p for p in planned.points if is_needed(p) or (p == name and not p.endswith("result"))
        ]

    ran = run(registry, request, also)
    model, planned = ran.planned.runnable.plain, ran.planned
    along = None if direction is None else _vector(ran, direction)
    point = _named_state(planned, state)
    depth = tuple(name for name in planned.points if is_state(name, planned.config.norm))
    with torch.no_grad():
        book = ledger(model, ran.recorder, point, pos, along, depth)
    return LedgerReport(
        trace=ran.trace,
        ledger=book,
        direction_length=None if along is None else float(along.double().norm()),
        check=check("ledger", point, book.error, LEDGER_LIMIT),
    )


def within(name: str, index: int, size: int) -> None:
    """Refuse an index that the run does not have; ``name`` is the request's field."""
    if not 0 <= index < size:
        raise ModelError("no_such_index", field=name, name=name, index=index, largest=size - 1)


def _predictions(ran: Run, pos: int) -> list[Prediction] | None:
    predictions = ran.trace.predictions
    return None if predictions is None else predictions.positions[pos]


def _likely_tokens(ran: Run, pos: int) -> list[int]:
    return [best.id for best in _predictions(ran, pos) or []]


def _named_state(planned: Plan, state: str | None) -> str:
    """The canonical name of a state.

    Raises:
        ModelError: ``not_a_state``.
    """
    config = planned.config
    if state is None:
        return config.last_state
    name = canonical(state, config.norm)
    spec = planned.points.get(name)
    if spec is None or spec.axes != ["pos", "d_model"] or name.endswith(".normalized"):
        raise ModelError("not_a_state", field="state", point=state)
    return name


def _refuse_direction(planned: Plan, direction: Direction) -> None:
    given = (direction.token, direction.dimension, direction.point)
    if sum(one is not None for one in given) != 1:
        raise ModelError("one_direction", field="direction")
    if direction.token is not None:
        if planned.runnable.plain.unembed is None:
            model = planned.runnable.entry.id
            raise ModelError(NO_UNEMBEDDING, field="direction.token", model=model)
        within("direction.token", direction.token, planned.config.d_vocab)
    if direction.dimension is not None:
        within("direction.dimension", direction.dimension, planned.config.d_model)
    if direction.point is not None:
        _refuse_point(planned, direction.point, direction.index)


def _refuse_point(planned: Plan, point: str, index: tuple[int, ...]) -> None:
    name = canonical(point, planned.config.norm)
    if name not in planned.points:
        nearest = difflib.get_close_matches(name, planned.points, n=5, cutoff=0.4)
        raise ModelError("unknown_point", field="direction.point", entry=point, nearest=nearest)
    spec = planned.points[name]
    if spec.axes[len(index) :] != ["d_model"]:
        raise ModelError("not_a_vector", field="direction.index", point=name, axes=spec.axes)
    for place, (axis, size) in enumerate(zip(spec.axes, spec.shape, strict=True)):
        if place < len(index) and index[place] >= size:
            raise ModelError(
                "index_out_of_range",
                field="direction.index",
                point=name,
                axis=axis,
                index=index[place],
                largest=size - 1,
            )


def _vector(ran: Run, direction: Direction) -> Tensor:
    model, config = ran.planned.runnable.plain, ran.planned.config
    if direction.token is not None and model.unembed is not None:
        return model.unembed.table[direction.token]
    if direction.dimension is not None:
        axis = torch.zeros(config.d_model)
        axis[direction.dimension] = 1.0
        return axis
    assert direction.point is not None, "refused before the run"
    name = canonical(direction.point, config.norm)
    if name.endswith("attn.result"):
        attention = model.get_submodule(name.removesuffix(".result"))
        assert isinstance(attention, SelfAttention)
        pos, head = direction.index
        z = ran.recorder.values[name.removesuffix("result") + "z"]
        return attention.writes(z[pos])[head]
    return ran.recorder.values[name][direction.index]
