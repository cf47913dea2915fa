"""The shape of the replies of a closer look at a run; must not be used to answer a request."""

from app.replies import (
    CheckReply,
    ConfigReply,
    FlagReply,
    IncludeReply,
    ModelAsRunReply,
    NotCheckedReply,
    Number,
    Numbers,
    PredictionReply,
    Reply,
    TensorReply,
    TokenReply,
    TraceReply,
    TraceRequestReply,
)
from model.config import Norm


class HeadsRequestReply(TraceRequestReply):
    layer: int
    pos: int
    head: int | None


class HeadWriteReply(Reply):
    head: int
    label: str
    write_length: Number
    cosine: Number
    share: Number
    weights: Numbers
    value_lengths: Numbers
    weighted_lengths: Numbers


class BiasWriteReply(Reply):
    write_length: Number
    cosine: Number
    share: Number


class NormBasedReply(Reply):
    attention: Numbers
    with_residual: Numbers
    with_norm: Numbers
    norm: str | None
    norm_on_sum: bool
    mixing_ratio: Number
    mixing_ratios: Numbers


class MapsReply(Reply):
    head: int
    weighted_lengths: list[Numbers]
    norm_based: list[Numbers]


class LogitEffectReply(Reply):
    tokens: list[int]
    of_writes: list[Numbers]
    of_bias: Numbers | None
    exact: bool
    reason: str | None
    frozen_norms: list[str]


class HeadsReply(Reply):
    request: HeadsRequestReply
    model: ModelAsRunReply
    tokens: list[TokenReply]
    heads: list[HeadWriteReply]
    bias: BiasWriteReply | None
    norm_based: NormBasedReply
    maps: MapsReply | None
    predictions: list[PredictionReply] | None
    logit_effect: LogitEffectReply | None
    reason: str | None
    checks: list[CheckReply]
    not_checked: list[NotCheckedReply]
    flags: list[FlagReply]
    tensors: dict[str, TensorReply]


class UnitsRequestReply(TraceRequestReply):
    layer: int
    pos: int | None
    unit: int | None
    top_k: int


class UnitWriteReply(Reply):
    unit: int
    pos: int
    pre: Number
    activation: Number
    write_length: Number
    cosine: Number
    share: Number


class UnitsRestReply(Reply):
    count: int
    write_length: Number
    share: Number


class UnitsBiasReply(Reply):
    write_length: Number
    share: Number


class StrongestUnitsReply(Reply):
    units: list[UnitWriteReply]
    rest: UnitsRestReply
    bias: UnitsBiasReply
    active: int
    d_mlp: int


class DrivingTokensReply(Reply):
    unit: int
    tokens: list[UnitWriteReply]
    activations: Numbers
    direction_length: Number


class UnitsReply(Reply):
    request: UnitsRequestReply
    model: ModelAsRunReply
    tokens: list[TokenReply]
    strongest: StrongestUnitsReply | None
    driving: DrivingTokensReply | None
    predictions: list[PredictionReply] | None
    logit_effect: LogitEffectReply | None
    reason: str | None
    checks: list[CheckReply]
    not_checked: list[NotCheckedReply]
    flags: list[FlagReply]
    tensors: dict[str, TensorReply]


class LensRequestReply(TraceRequestReply):
    pos: int
    top_k: int
    token: int | None


class LensStateReply(Reply):
    point: str
    norm: str | None
    top: list[PredictionReply]
    rank: int
    logit: Number
    probability: Number
    entropy: Number


class LensReply(Reply):
    request: LensRequestReply
    model: ModelAsRunReply
    tokens: list[TokenReply]
    token: int | None
    states: list[LensStateReply] | None
    reason: str | None
    checks: list[CheckReply]
    not_checked: list[NotCheckedReply]
    flags: list[FlagReply]
    tensors: dict[str, TensorReply]


class DirectionReply(Reply):
    token: int | None
    dimension: int | None
    point: str | None
    index: list[int]


class LedgerRequestReply(TraceRequestReply):
    state: str
    pos: int
    direction: DirectionReply | None


class PartReply(Reply):
    name: str
    kind: str
    layer: int | None
    head: int | None
    length: Number
    projection: Number
    share: Number


class TotalReply(Reply):
    length: Number
    projection: Number
    share: Number


class GroupReply(Reply):
    name: str
    count: int
    length: Number
    projection: Number
    share: Number


class FrozenScaleReply(Reply):
    norm: str
    scale: Number


class SharesReply(Reply):
    point: str
    shares: dict[str, Number]


class LedgerReply(Reply):
    request: LedgerRequestReply
    model: ModelAsRunReply
    tokens: list[TokenReply]
    length: Number
    parts: list[PartReply]
    total: TotalReply
    error: Number
    frozen_scales: list[FrozenScaleReply]
    by_kind: list[GroupReply]
    by_layer: list[GroupReply]
    depth: list[SharesReply]
    direction_length: Number
    checks: list[CheckReply]
    not_checked: list[NotCheckedReply]
    flags: list[FlagReply]
    tensors: dict[str, TensorReply]


class ComparedRunReply(Reply):
    model: str
    norm: Norm
    weights: Norm | None
    config: ConfigReply | None


class CompareRequestReply(Reply):
    text: str
    text_pair: str | None
    runs: list[ComparedRunReply]
    include: list[str | IncludeReply]
    encoding: str
    digits: int | None
    dtype: str


class PointDifferenceReply(Reply):
    point: str
    largest: Number
    mean: Number
    relative: Number
    cosine: Numbers | None
    left_out: int


class HeadDistanceReply(Reply):
    layer: int
    head: int
    label: str
    mean: Number
    largest: Number
    query: int


class TokenChangeReply(Reply):
    id: int
    piece: str
    label: str
    first: Number
    second: Number
    change: Number


class PredictionChangeReply(Reply):
    pos: int
    same_top: bool
    distance: Number
    tokens: list[TokenChangeReply]


class DifferenceReply(Reply):
    same_tokens: bool
    points: list[PointDifferenceReply]
    heads: list[HeadDistanceReply]
    predictions: list[PredictionChangeReply] | None
    reason: str | None


class CompareReply(Reply):
    request: CompareRequestReply
    runs: list[TraceReply]
    difference: DifferenceReply
    tensors: dict[str, TensorReply]


class RepetitionRequestReply(Reply):
    model: str
    norm: Norm
    weights: Norm | None
    config: ConfigReply | None
    seed: int
    segment: int
    rows: int


class ScoreReply(Reply):
    value: Number
    chance: Number
    error: Number


class HeadScoresReply(Reply):
    layer: int
    head: int
    label: str
    scores: dict[str, ScoreReply]
    names: list[str]


class LossesReply(Reply):
    first: Number
    second: Number


class RepetitionReply(Reply):
    request: RepetitionRequestReply
    model: ModelAsRunReply
    tokens: int
    heads: list[HeadScoresReply]
    losses: LossesReply | None
