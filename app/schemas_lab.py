"""What a request for a cost or an experiment may hold; must not know how it is answered.

The sentences of each field are in the catalogue, under `api.<model>.<field>`.
"""

from typing import Annotated

from pydantic import BeforeValidator, Field

from app import limits as app_limits
from app.schemas import Body, QueryBody, Whole
from model import limits
from model.analysis.experiments.depth import DROPS, Drop
from model.analysis.experiments.input_norms import EXAMPLE
from model.analysis.experiments.reach import Init
from model.config import Norm


def _digits(value: object) -> object:
    """A query carries text only: plain digits are a whole number, everything else is not."""
    is_plain = isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 20
    return int(str(value)) if is_plain else value


Size = Annotated[int, BeforeValidator(_digits)]


class CostQuery(QueryBody):
    """The query of `GET /cost`."""

    d_model: Size = Field(512, ge=1, le=limits.MAX_COST_D_MODEL, examples=[512])
    n_heads: Size = Field(8, ge=1, le=limits.MAX_COST_HEADS, examples=[8])
    d_mlp: Size = Field(2048, ge=1, le=limits.MAX_COST_D_MLP, examples=[2048])
    n_ctx: Size = Field(512, ge=1, le=limits.MAX_COST_N_CTX, examples=[512])
    n_layers: Size = Field(1, ge=1, le=limits.MAX_COST_LAYERS, examples=[1])
    kernel: Size = Field(5, ge=3, le=limits.MAX_COST_KERNEL, examples=[5])
    radius: Size = Field(64, ge=1, le=limits.MAX_COST_N_CTX, examples=[64])
    n_queries: Size = Field(1, ge=1, le=limits.MAX_COST_N_CTX, examples=[1])


Depth = Annotated[Whole, Field(ge=1, le=limits.MAX_EXPERIMENT_DEPTH)]
Depths = Annotated[list[Depth], Field(min_length=1, max_length=limits.MAX_EXPERIMENT_DEPTHS)]


class SeedsBody(Body):
    """What all experiments that average have: the first seed and how many."""

    seed: Whole = Field(0, ge=0, le=limits.MAX_SEED - limits.MAX_EXPERIMENT_SEEDS, examples=[0])
    seeds: Whole = Field(4, ge=1, le=limits.MAX_EXPERIMENT_SEEDS, examples=[2])


class StackBody(SeedsBody):
    """Sizes of random blocks."""

    d_model: Whole = Field(64, ge=2, le=limits.MAX_EXPERIMENT_D_MODEL, examples=[32])
    n_heads: Whole = Field(4, ge=1, le=limits.MAX_EXPERIMENT_HEADS, examples=[4])
    d_mlp: Whole = Field(256, ge=1, le=limits.MAX_EXPERIMENT_D_MLP, examples=[64])
    n_ctx: Whole = Field(32, ge=2, le=limits.MAX_EXPERIMENT_N_CTX, examples=[8])


class InitGradientsBody(StackBody):
    """The body of `POST /experiments/init-gradients`."""

    depths: Depths = Field([2, 4, 8, 12, 16, 24], examples=[[2, 4]])
    seeds: Whole = Field(20, ge=1, le=limits.MAX_EXPERIMENT_SEEDS, examples=[2])


class DotProductVarianceBody(SeedsBody):
    """The body of `POST /experiments/dot-product-variance`."""

    d_heads: list[Annotated[Whole, Field(ge=1, le=limits.MAX_EXPERIMENT_D_HEAD)]] = Field(
        [1, 2, 4, 8, 16, 32, 64, 128, 256, 512],
        min_length=1,
        max_length=limits.MAX_EXPERIMENT_D_HEADS,
        examples=[[4, 64]],
    )
    n_heads: Whole = Field(8, ge=1, le=limits.MAX_EXPERIMENT_HEADS, examples=[8])
    n_keys: Whole = Field(64, ge=2, le=limits.MAX_EXPERIMENT_N_CTX, examples=[64])
    samples: Whole = Field(512, ge=2, le=limits.MAX_EXPERIMENT_SAMPLES, examples=[128])
    seeds: Whole = Field(8, ge=1, le=limits.MAX_EXPERIMENT_SEEDS, examples=[2])


class InputNormsBody(Body):
    """The body of `POST /experiments/input-norms`."""

    text: str = Field(
        EXAMPLE, max_length=app_limits.TEXT_CHARACTERS, examples=["The cat sat on the mat."]
    )
    model: str | None = Field(None, max_length=app_limits.MODEL_CHARACTERS, examples=["textbook"])
    norm: Norm | None = Field(None, examples=["post"])
    layer: Whole = Field(0, ge=0, le=limits.MAX_LAYERS, examples=[0])
    seed: Whole = Field(0, ge=0, le=limits.MAX_SEED, examples=[0])


class DepthBody(StackBody):
    """The body of `POST /experiments/depth`."""

    depths: Depths = Field([2, 4, 8, 12, 16, 24], examples=[[2, 4]])
    norm: Norm = Field("post", examples=["pre"])
    drop: list[Drop] = Field(
        list(DROPS), min_length=1, max_length=len(DROPS), examples=[["nothing", "skip"]]
    )


class ReachBody(StackBody):
    """The body of `POST /experiments/reach`."""

    n_ctx: Whole = Field(65, ge=2, le=limits.MAX_EXPERIMENT_N_CTX, examples=[17])
    radius: Whole = Field(8, ge=1, le=limits.MAX_EXPERIMENT_N_CTX, examples=[4])
    depths: Depths = Field(list(range(1, 25)), examples=[[1, 3, 4, 6]])
    init: Init = Field("pytorch", examples=["pytorch"])


BODIES: dict[str, type[Body]] = {
    "init_gradients": InitGradientsBody,
    "dot_product_variance": DotProductVarianceBody,
    "input_norms": InputNormsBody,
    "depth": DepthBody,
    "reach": ReachBody,
}
"""By the operation id of the call."""

SAME_FIELDS = {
    "InitGradientsBody": "StackBody",
    "DotProductVarianceBody": "StackBody",
    "InputNormsBody": "TraceBody",
    "DepthBody": "StackBody",
    "ReachBody": "StackBody",
    "InitGradientsRequestReply": "InitGradientsBody",
    "DotProductVarianceRequestReply": "DotProductVarianceBody",
    "InputNormsRequestReply": "InputNormsBody",
    "DepthExperimentRequestReply": "DepthBody",
    "ReachRequestReply": "ReachBody",
    "InitGradientsReply": "ExperimentReply",
    "DotProductVarianceReply": "ExperimentReply",
    "InputNormsReply": "ExperimentReply",
    "DepthExperimentReply": "ExperimentReply",
    "ReachReply": "ExperimentReply",
}
"""Schemas whose fields mean what another's of the same name do."""
