"""The shape of every reply, for the OpenAPI file and the tests; must not answer a request.

A number that is not finite is null, so every number of a run may be. Sentences of each field are
in the catalogue, under `api.<model>.<field>`.
"""

from dataclasses import fields
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, create_model

from app.limits import LimitsInForce
from model.config import Norm


class Reply(BaseModel):
    model_config = ConfigDict(extra="forbid")


Number = float | None
Numbers = list[float | None]


class ErrorDetail(Reply):
    code: str = Field(examples=["text_too_long"])
    message: str
    field: str | None = Field(examples=["text"])
    params: dict[str, Any] = Field(examples=[{"limit": 256, "length": 301}])


class ErrorReply(Reply):
    error: ErrorDetail


class HealthReply(Reply):
    status: Literal["ok"]


_LIMITS: dict[str, Any] = {one.name: one.type for one in fields(LimitsInForce)}
LimitsReply = create_model("LimitsReply", __base__=Reply, **_LIMITS)


class NoteReply(Reply):
    code: str
    params: dict[str, Any]


class ModelReply(Reply):
    id: str
    kind: Literal["trained", "random", "checkpoint"]
    family: str
    wiring: Literal["sequential", "parallel"]
    norms: list[Norm]
    default_norm: Norm
    n_layers: int
    n_heads: int
    d_model: int
    d_head: int
    d_mlp: int
    d_vocab: int
    n_ctx: int
    activation: str
    eps: float
    causal: bool
    attention_bias: bool
    score_divisors: list[float]
    text_pair: bool
    parameters: int
    languages: list[str]
    licence: str | None
    notes: list[NoteReply]


class UnsupportedReply(Reply):
    id: str
    reason: str
    code: str
    params: dict[str, Any]


class ModelsReply(Reply):
    models: list[ModelReply]
    unsupported: list[UnsupportedReply]


class LoadingReply(Reply):
    state: Literal["waiting", "loading", "loaded"]
    done: int
    total: int


class WeightReply(Reply):
    model: str
    norm: Norm
    weights: Norm | None
    name: str
    learned: bool
    index: str | None
    axes: list[str]
    shape: list[int]
    value: Any


class ModelAsRunReply(ModelReply):
    norm: Norm
    weights: Norm | None
    norm_is_trained: bool | None
    threads: int


class TokenReply(Reply):
    index: int
    id: int
    piece: str
    text: str
    label: str
    start: int
    end: int
    special: bool
    part: int | None
    parts: int | None
    segment: Literal[0, 1]


class SourceReply(Reply):
    file: str
    first_line: int
    lines: list[str]


class StepReply(Reply):
    name: str
    kind: Literal["embed", "layer_norm", "attention", "add", "mlp", "unembed"]
    inputs: list[str]
    output: str
    source: SourceReply


class PointReply(Reply):
    name: str
    axes: list[str]
    shape: list[int]
    settable: bool
    same_as: str | None


class LayerNormReply(Reply):
    name: str
    input: str
    eps: float
    mean: Numbers
    var: Numbers
    scale: Numbers
    eps_share: Numbers
    out_mean: Numbers
    out_var: Numbers


class StateReply(Reply):
    point: str
    length: Numbers


class WriteReply(Reply):
    point: str
    skip: str
    sum: str
    length: Numbers
    ratio: Numbers
    cosine: Numbers


class DimensionShareReply(Reply):
    dimension: int
    outlier: bool
    states: int
    share: Numbers
    largest: Numbers
    pos: list[int]


class OutliersReply(Reply):
    points: list[str]
    threshold: float
    least_states: int
    count: int
    dimensions: list[DimensionShareReply]


class StreamReply(Reply):
    states: list[StateReply]
    writes: list[WriteReply]
    outliers: OutliersReply


class MetricReply(Reply):
    value: Number
    chance: Number


class HeadReply(Reply):
    layer: int
    head: int
    label: str
    metrics: dict[str, MetricReply]
    names: list[str]


class PredictionReply(Reply):
    id: int
    piece: str
    label: str
    logit: Number
    probability: Number


class PredictionsReply(Reply):
    top_k: int
    positions: list[list[PredictionReply]]


class CheckReply(Reply):
    name: str
    point: str | None
    value: Number
    limit: float
    ok: bool


class NotCheckedReply(Reply):
    name: str
    reason: str


class FlagReply(Reply):
    code: str
    point: str | None
    count: int
    params: dict[str, Any]


class TensorReply(Reply):
    point: str
    axes: list[str]
    shape: list[int]
    masked_by: Literal["causal", "mask_token"] | None
    dtype: Literal["float32", "uint8"]
    values: list[Any] | float | None = None
    base64: str | None = None


class ConfigReply(Reply):
    d_model: int
    n_heads: int
    d_mlp: int
    n_layers: int
    n_ctx: int
    activation: str
    positions: str
    causal: bool
    eps: float
    seed: int


class IncludeReply(Reply):
    points: str
    encoding: Literal["text", "base64"]
    digits: int | None
    dtype: Literal["float32", "uint8"]


class TraceRequestReply(Reply):
    text: str
    text_pair: str | None
    model: str
    norm: Norm
    weights: Norm | None
    config: ConfigReply | None
    include: list[str | IncludeReply]
    encoding: Literal["text", "base64"]
    digits: int | None
    dtype: Literal["float32", "uint8"]
    verify: bool


class TraceReply(Reply):
    request: TraceRequestReply
    model: ModelAsRunReply
    tokens: list[TokenReply]
    steps: list[StepReply]
    points: list[PointReply]
    layer_norms: list[LayerNormReply]
    stream: StreamReply
    heads: list[HeadReply]
    predictions: PredictionsReply | None
    checks: list[CheckReply]
    not_checked: list[NotCheckedReply]
    flags: list[FlagReply]
    tensors: dict[str, TensorReply]


class AddNormFlagReply(Reply):
    code: str
    stage: str
    count: int


class AddNormReply(Reply):
    placement: Norm
    eps: float
    x: Numbers
    gamma: Numbers
    beta: Numbers
    f_input: Numbers
    update: Numbers
    added: Numbers
    mean: Number
    var: Number
    scale: Number
    centred: Numbers
    normalized: Numbers
    out: Numbers
    result: Numbers
    steps: list[str]
    flags: list[AddNormFlagReply]
