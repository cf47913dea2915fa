"""The shape of the replies of a cost and of experiments; must not be used to answer a request."""

from typing import Any

from app.replies import Number, Reply
from model.analysis.experiments.depth import Drop
from model.analysis.experiments.reach import Init
from model.config import Norm


class TermReply(Reply):
    coefficient: int
    powers: dict[str, int]
    part: str | None
    value: int


class CountReply(Reply):
    value: int
    formula: str
    terms: list[TermReply]


class CostRequestReply(Reply):
    d_model: int
    n_heads: int
    d_mlp: int
    n_ctx: int
    n_layers: int
    kernel: int
    radius: int
    n_queries: int


class ParameterReply(Reply):
    name: str
    group: str
    kind: str
    shape: list[int]
    count: CountReply


class ParametersReply(Reply):
    matrices: list[ParameterReply]
    attention: CountReply
    mlp: CountReply
    weights: CountReply
    biases: CountReply
    norms: CountReply
    block: CountReply
    all_blocks: CountReply
    final_norm: CountReply
    weights_at_2d: CountReply
    perceptron: CountReply
    perceptron_at_2n: CountReply
    to_mlp: float
    to_weights: float
    to_block: float


class DepthReply(Reply):
    value: int
    formula: str


class RowReply(Reply):
    name: str
    weights: CountReply
    multiply_adds: CountReply
    order: str
    pairs_only: CountReply | None
    pairs_only_order: str | None
    steps: DepthReply | None
    path: DepthReply | None
    dilated: DepthReply | None
    dilated_causal: DepthReply | None
    kernel: int | None


class CrossingReply(Reply):
    name: str
    left: str
    right: str
    formula: str
    n: float | None
    multiply_adds: float | None


class CurveReply(Reply):
    n: list[int]
    lines: dict[str, list[int]]
    pairs_share: list[float]
    map_bytes: list[int]


class ShareReply(Reply):
    n: int
    share: float


class MemoryReply(Reply):
    weights: int
    perceptron: int
    vectors: int
    hidden: int
    maps: int
    pattern: int
    statistics: int
    activations: int


class CostReply(Reply):
    request: CostRequestReply
    symbols: dict[str, int]
    parameters: ParametersReply
    rows: list[RowReply]
    multiply_adds: CountReply
    flops: int
    perceptron_to_block: float
    shares: list[ShareReply]
    crossings: list[CrossingReply]
    curve: CurveReply
    memory: MemoryReply


class SeriesReply(Reply):
    axes: list[str]
    unit: str | None
    values: list[Any]


class FitReply(Reply):
    x: str
    y: str
    exponent: float
    low: Number
    high: Number
    deviation: Number
    seeds: int
    predicted: Number


class PaperReply(Reply):
    authors: str
    year: int
    title: str
    where: str
    arxiv: str | None
    predicts: list[str]


class ExperimentReply(Reply):
    name: str
    paper: list[PaperReply]
    series: dict[str, SeriesReply]
    fit: list[FitReply]
    facts: dict[str, float]
    seconds: float


class InitGradientsRequestReply(Reply):
    depths: list[int]
    d_model: int
    n_heads: int
    d_mlp: int
    n_ctx: int
    seed: int
    seeds: int


class InitGradientsReply(ExperimentReply):
    request: InitGradientsRequestReply


class DotProductVarianceRequestReply(Reply):
    d_heads: list[int]
    n_heads: int
    n_keys: int
    samples: int
    seed: int
    seeds: int


class DotProductVarianceReply(ExperimentReply):
    request: DotProductVarianceRequestReply


class DepthExperimentRequestReply(Reply):
    depths: list[int]
    d_model: int
    n_heads: int
    d_mlp: int
    n_ctx: int
    norm: Norm
    drop: list[Drop]
    seed: int
    seeds: int


class DepthExperimentReply(ExperimentReply):
    request: DepthExperimentRequestReply


class ReachRequestReply(Reply):
    n_ctx: int
    radius: int
    depths: list[int]
    d_model: int
    n_heads: int
    d_mlp: int
    init: Init
    seed: int
    seeds: int


class ReachReply(ExperimentReply):
    request: ReachRequestReply


class InputNormsRequestReply(Reply):
    text: str
    model: str
    norm: Norm
    layer: int
    seed: int


class LengthsReply(Reply):
    mean: float
    smallest: float
    largest: float
    spread: Number


class FirstInputReply(Reply):
    model: str
    norm: Norm
    norm_is_trained: bool | None
    point: str | None
    normed_by: str | None
    root: float
    raw: LengthsReply | None
    normalized: LengthsReply | None
    read: LengthsReply | None
    error: str | None


class EmbeddingsReply(Reply):
    model: str
    weights: Norm | None
    rows: int
    lengths: LengthsReply


class InputNormsReply(ExperimentReply):
    request: InputNormsRequestReply
    tokens: list[str]
    first_inputs: list[FirstInputReply]
    embeddings: list[EmbeddingsReply]
