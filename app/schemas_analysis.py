"""What a request for a closer look at a run may hold; must not know how it is answered.

The sentences of each field are in the catalogue, under `api.<model>.<field>`.
"""

from typing import Annotated

from pydantic import Field

from app import limits
from app.encode import DType, Encoding
from app.schemas import Body, ConfigBody, Digits, IncludeEntry, TraceBody, Whole
from model import limits as model_limits
from model.config import Norm

Index = Annotated[Whole, Field(ge=0, le=model_limits.MAX_INDEX)]
TopK = Annotated[Whole, Field(ge=1, le=model_limits.MAX_TOP_K)]


class HeadsBody(TraceBody):
    """The body of `POST /heads`."""

    layer: Index = Field(examples=[0])
    pos: Index = Field(examples=[2])
    head: Index | None = Field(None, examples=[1])


class UnitsBody(TraceBody):
    """The body of `POST /units`."""

    layer: Index = Field(examples=[0])
    pos: Index | None = Field(None, examples=[2])
    unit: Index | None = Field(None, examples=[None])
    top_k: TopK = Field(10, examples=[3])


class LensBody(TraceBody):
    """The body of `POST /lens`."""

    pos: Index = Field(examples=[2])
    top_k: TopK = Field(5, examples=[3])
    token: Index | None = Field(None, examples=[None])


class DirectionBody(Body):
    """What parts are projected on: exactly one of a token, a dimension and a point."""

    token: Index | None = Field(None, examples=[None])
    dimension: Index | None = Field(None, examples=[17])
    point: str | None = Field(None, max_length=limits.POINT_CHARACTERS, examples=[None])
    index: list[Index] = Field([], max_length=limits.DIRECTION_AXES, examples=[[]])


class LedgerBody(TraceBody):
    """The body of `POST /ledger`."""

    state: str | None = Field(
        None, max_length=limits.POINT_CHARACTERS, examples=["blocks.1.resid_post"]
    )
    pos: Index = Field(examples=[2])
    direction: DirectionBody | None = Field(None, examples=[{"dimension": 17}])


class ComparedRunBody(Body):
    """One of the two runs of a comparison; null stands for the model's own."""

    model: str | None = Field(None, max_length=limits.MODEL_CHARACTERS, examples=["textbook"])
    norm: Norm | None = Field(None, examples=["post"])
    weights: Norm | None = Field(None, examples=[None])
    config: ConfigBody | None = Field(None, examples=[{"d_model": 64, "n_heads": 4, "n_layers": 2}])


_SMALL = {"d_model": 64, "n_heads": 4, "n_layers": 2}


class CompareBody(Body):
    """The body of `POST /compare`."""

    text: str = Field(max_length=limits.TEXT_CHARACTERS, examples=["The cat sat on the mat."])
    text_pair: str | None = Field(None, max_length=limits.TEXT_CHARACTERS, examples=[None])
    runs: list[ComparedRunBody] = Field(
        min_length=2,
        max_length=2,
        examples=[
            [{"model": "textbook", "norm": norm, "config": _SMALL} for norm in ("post", "pre")]
        ],
    )
    include: list[IncludeEntry] = Field(
        [], max_length=limits.INCLUDE_ENTRIES, examples=[["blocks.0.resid_mid[1]"]]
    )
    encoding: Encoding = Field("text", examples=["text"])
    digits: Digits | None = Field(None, examples=[6])
    dtype: DType = Field("float32", examples=["float32"])


class RepetitionBody(Body):
    """The body of `POST /heads/induction`."""

    model: str | None = Field(None, max_length=limits.MODEL_CHARACTERS, examples=["textbook"])
    norm: Norm | None = Field(None, examples=["pre"])
    weights: Norm | None = Field(None, examples=[None])
    config: ConfigBody | None = Field(None, examples=[_SMALL])
    seed: Whole = Field(0, ge=0, le=model_limits.MAX_SEED, examples=[0])
    segment: Whole | None = Field(None, ge=1, le=model_limits.MAX_REPETITION_SEGMENT, examples=[12])
    rows: Whole = Field(8, ge=1, le=model_limits.MAX_REPETITION_ROWS, examples=[2])


BODIES: dict[str, type[Body]] = {
    "compare": CompareBody,
    "heads": HeadsBody,
    "induction": RepetitionBody,
    "units": UnitsBody,
    "lens": LensBody,
    "ledger": LedgerBody,
}
"""By operation id."""

SAME_FIELDS = {
    "HeadsBody": "TraceBody",
    "UnitsBody": "TraceBody",
    "LensBody": "TraceBody",
    "LedgerBody": "TraceBody",
    "ComparedRunBody": "TraceBody",
    "CompareBody": "TraceBody",
    "RepetitionBody": "TraceBody",
    "HeadsRequestReply": "HeadsBody",
    "UnitsRequestReply": "UnitsBody",
    "LensRequestReply": "LensBody",
    "LedgerRequestReply": "LedgerBody",
    "DirectionReply": "DirectionBody",
    "ComparedRunReply": "TraceBody",
    "CompareRequestReply": "CompareBody",
    "RepetitionRequestReply": "RepetitionBody",
    "HeadsReply": "TraceReply",
    "UnitsReply": "HeadsReply",
    "LensReply": "HeadsReply",
    "LedgerReply": "TraceReply",
    "CompareReply": "TraceReply",
    "RepetitionReply": "TraceReply",
    "HeadDistanceReply": "HeadReply",
    "HeadScoresReply": "HeadReply",
    "HeadWriteReply": "HeadReply",
    "TokenChangeReply": "PredictionReply",
    "UnitsRestReply": "UnitWriteReply",
    "UnitsBiasReply": "UnitWriteReply",
    "BiasWriteReply": "HeadWriteReply",
}
"""Schemas whose fields mean what another's of the same name do."""
