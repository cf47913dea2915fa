"""A text's way through a model as one value; must not know how it is sent or drawn."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field

import torch
from torch import Tensor

from model import limits
from model.analysis.heads import HeadMetrics, head_metrics
from model.analysis.stream import Stream, is_state, stream_of
from model.checks import (
    COSTLY,
    Check,
    NotChecked,
    cheap_checks,
    costly_checks,
    non_finite,
    not_checkable,
)
from model.config import ModelConfig, Norm
from model.hooks import Recorder, Step
from model.layers import SelfAttention
from model.points import PointSpec
from model.registry import ModelEntry, Registry, Runnable
from model.run import Plan, RunRequest, plan
from model.selection import Include, Selection, select
from model.tokenizer import Token


@dataclass(frozen=True)
class TraceRequest(RunRequest):
    """A run, what to send of it, and whether to add the costly checks."""

    include: list[Include] = field(default_factory=list)
    verify: bool = False


@dataclass(frozen=True)
class ModelAsRun(ModelEntry):
    """The model's entry, and how it ran."""

    norm: Norm
    weights: Norm | None
    norm_is_trained: bool | None
    threads: int


@dataclass(frozen=True)
class Point(PointSpec):
    """A point of this run; ``same_as`` is the earlier name of the very same tensor."""

    same_as: str | None


@dataclass(frozen=True)
class LayerNormStatistics:
    """Of every position [pos]: mean and biased variance of what enters and of what leaves.

    Attributes:
        scale: what the centred vector is divided by, sqrt(var + eps).
        eps_share: eps / (var + eps), the part of the divisor's square that is not the vector's own.
    """

    name: str
    input: str
    eps: float
    mean: Tensor
    var: Tensor
    scale: Tensor
    eps_share: Tensor
    out_mean: Tensor
    out_var: Tensor


@dataclass(frozen=True)
class Prediction:
    id: int
    piece: str
    label: str
    logit: float
    probability: float


@dataclass(frozen=True)
class Predictions:
    """The likeliest next tokens at every position."""

    top_k: int
    positions: list[list[Prediction]]


@dataclass(frozen=True)
class Flag:
    """Something that went otherwise than a reader expects; never silent."""

    code: str
    point: str | None
    count: int
    params: dict[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class Selected:
    """The value of one included slice. ``masked_by`` says why entries are minus infinity."""

    key: str
    point: str
    axes: list[str]
    shape: list[int]
    masked_by: str | None
    value: Tensor
    entry: int


@dataclass(frozen=True)
class Trace:
    """One run. ``settings`` is the full configuration of a random model, null for others."""

    model: ModelAsRun
    settings: dict[str, object] | None
    tokens: list[Token]
    steps: list[Step]
    points: list[Point]
    layer_norms: list[LayerNormStatistics]
    stream: Stream
    heads: list[HeadMetrics]
    predictions: Predictions | None
    checks: list[Check]
    not_checked: list[NotChecked]
    flags: list[Flag]
    tensors: list[Selected]


@dataclass(frozen=True)
class Run:
    """A trace with what it was made of, for whoever has more to say about the same run."""

    planned: Plan
    recorder: Recorder
    trace: Trace


def run_trace(registry: Registry, request: TraceRequest) -> Trace:
    """Run a text and record what its summary, its ``include`` and its checks need.

    Raises:
        ModelError: what ``plan`` refuses, a point that does not exist, or more numbers than the
            limit; all before the run.
    """
    return run(registry, request).trace


def run(
    registry: Registry,
    request: TraceRequest,
    also: Callable[[Plan], Iterable[str]] = lambda planned: (),
) -> Run:
    """As ``run_trace``, keeping further points too.

    Args:
        also: the points that the caller reads, given the plan; what it raises ends the call
            before the run.
    """
    planned = plan(registry, request)
    norm = planned.config.norm
    selections = select(request.include, planned.points, norm)
    keep = (
        [point for point in planned.points if not point.endswith("attn.result")]
        if request.verify
        else [point for point in planned.points if is_summarised(point, norm)]
        + [_needed(selection.point) for selection in selections]
    )
    recorder = planned.record([*keep, *also(planned)])
    with torch.no_grad():
        return Run(planned, recorder, _summarise(planned, request, selections, recorder))


def is_summarised(point: str, norm: Norm) -> bool:
    """Whether the summary and the checks of every trace read this point."""
    last = point.rpartition(".")[2]
    return (
        is_state(point, norm)
        or point in ("embed", "pos_embed", "type_embed", "embed_sum", "logits")
        or last in ("attn_out", "mlp_out", "pattern", "mean", "var", "scale", "out")
    )


def _needed(point: str) -> str:
    # Each head's write is made from z after the run, for the chosen positions only.
    return point.removesuffix("result") + "z" if point.endswith("attn.result") else point


def _summarise(
    planned: Plan, request: TraceRequest, selections: list[Selection], recorder: Recorder
) -> Trace:
    runnable, tokens, points = planned.runnable, planned.tokens, planned.points
    config, values = planned.config, recorder.values
    spoilt = non_finite(values)
    checks = cheap_checks(runnable, recorder, recorder.keep, spoilt)
    if request.verify:
        checks += costly_checks(runnable, recorder, planned.inputs)
    return Trace(
        model=as_run(runnable),
        settings=None if runnable.settings is None else asdict(runnable.settings),
        tokens=tokens,
        steps=recorder.steps,
        points=[
            Point(spec.name, spec.axes, spec.shape, spec.settable, recorder.same_as.get(name))
            for name, spec in points.items()
        ],
        layer_norms=[
            _statistics(step, values, config)
            for step in recorder.steps
            if step.kind == "layer_norm"
        ],
        stream=stream_of(points, config.norm, recorder.steps, values),
        heads=head_metrics(
            [values[f"blocks.{layer}.attn.pattern"] for layer in range(config.n_layers)],
            [token.id for token in tokens],
            [token.special for token in tokens],
            config.causal,
        ),
        predictions=_predictions(values.get("logits"), runnable),
        checks=checks,
        not_checked=_not_checked(config, request.verify),
        flags=[
            *_text_flags(planned),
            *(Flag("non_finite", point, count) for point, count in spoilt.items()),
        ],
        tensors=[_selected(selection, values, runnable) for selection in selections],
    )


def _not_checked(config: ModelConfig, verify: bool) -> list[NotChecked]:
    impossible = not_checkable(config)
    names = {skipped.name for skipped in impossible}
    asked = [] if verify else [NotChecked(n, "not_asked") for n in COSTLY if n not in names]
    return asked + impossible


def _text_flags(planned: Plan) -> list[Flag]:
    """What the reader's text lost on the way into the model, and how exact its weights are."""
    cut, flags = planned.cut, []
    if cut.unknown:
        # Each text once, in order.
        texts = list(dict.fromkeys(cut.tokens[pos].text for pos in cut.unknown))
        params: dict[str, object] = {"texts": texts, "positions": cut.unknown}
        flags.append(Flag("unknown_token", None, len(cut.unknown), params))
    if cut.dropped:
        dropped = list(dict.fromkeys(cut.dropped))
        flags.append(Flag("dropped_characters", None, len(cut.dropped), {"characters": dropped}))
    if planned.runnable.half_precision:
        dtypes = sorted(set(planned.runnable.half_precision.values()))
        count = len(planned.runnable.half_precision)
        flags.append(Flag("half_precision_weights", None, count, {"dtypes": dtypes}))
    return flags


def as_run(runnable: Runnable) -> ModelAsRun:
    """The entry of the model that ran, and how."""
    return ModelAsRun(
        **{**vars(runnable.entry), "notes": runnable.notes},
        norm=runnable.config.norm,
        weights=runnable.weights,
        norm_is_trained=runnable.norm_is_trained,
        threads=torch.get_num_threads(),
    )


def _statistics(
    step: Step, values: Mapping[str, Tensor], config: ModelConfig
) -> LayerNormStatistics:
    out = values[step.output]
    var = values[f"{step.name}.var"][:, 0]
    return LayerNormStatistics(
        name=step.name,
        input=step.inputs[0],
        eps=config.eps,
        mean=values[f"{step.name}.mean"][:, 0],
        var=var,
        scale=values[f"{step.name}.scale"][:, 0],
        eps_share=config.eps / (var + config.eps),
        out_mean=out.mean(-1),
        out_var=(out - out.mean(-1, keepdim=True)).square().mean(-1),
    )


def _predictions(logits: Tensor | None, runnable: Runnable) -> Predictions | None:
    if logits is None:
        return None
    top = logits.topk(limits.TOP_K, dim=-1)  # [pos, k]
    probabilities = (top.values - logits.logsumexp(-1, keepdim=True)).exp()
    tokenizer = runnable.tokenizer
    return Predictions(
        limits.TOP_K,
        [
            [
                Prediction(
                    token, tokenizer.piece(token), tokenizer.label(token), logit, probability
                )
                for token, logit, probability in zip(*row, strict=True)
            ]
            for row in zip(
                top.indices.tolist(), top.values.tolist(), probabilities.tolist(), strict=True
            )
        ],
    )


def _selected(selection: Selection, values: Mapping[str, Tensor], runnable: Runnable) -> Selected:
    point = selection.point
    masked = point.endswith("attn.attn_scores") and runnable.config.causal
    value = (
        _result(point, selection.index, values, runnable)
        if point.endswith("attn.result")
        else values[point][selection.index]
    )
    return Selected(
        key=selection.key,
        point=point,
        axes=selection.axes,
        shape=selection.shape,
        masked_by="causal" if masked else None,
        value=value,
        entry=selection.entry,
    )


def _result(
    point: str, index: tuple[int | slice, ...], values: Mapping[str, Tensor], runnable: Runnable
) -> Tensor:
    """Each head's write, for one slice."""
    attention = runnable.hooked.get_submodule(point.removesuffix(".result"))
    assert isinstance(attention, SelfAttention)
    positions, heads, components = index
    z = values[point.removesuffix("result") + "z"][positions]  # [pos, head, d_head]
    return attention.writes(z)[..., heads, :][..., components]
