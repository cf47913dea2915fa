"""What a request may hold: types, limits and examples; must not know how it is answered.

Nothing is converted: `true` is no number and `"1"` no integer. A whole number may be written 1 or
1.0, which JSON does not tell apart. The sentences of each field are in the catalogue, under
`api.<model>.<field>`.
"""

from typing import Annotated, Any

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    model_validator,
)
from pydantic.fields import FieldInfo

from app import limits
from app.encode import DType, Encoding
from model import limits as model_limits
from model.config import Activation, Norm, Positions


def _whole(value: object) -> object:
    return int(value) if isinstance(value, float) and value.is_integer() else value


Whole = Annotated[int, BeforeValidator(_whole)]
Digits = Annotated[int, Field(ge=1, le=8), BeforeValidator(_whole)]


class Body(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


class QueryBody(Body):
    """The query of a call, in which each name stands once."""

    @model_validator(mode="before")
    @classmethod
    def _without_language(cls, query: dict[str, object]) -> dict[str, object]:
        """Every call takes `lang`, which says nothing of what is asked."""
        return {name: value for name, value in query.items() if name != "lang"}


class ParameterQuery(QueryBody):
    """The query of `GET /models/{model}/parameters`."""

    name: str = Field(max_length=limits.POINT_CHARACTERS, examples=["blocks.0.attn.W_Q"])
    index: str | None = Field(None, max_length=limits.POINT_CHARACTERS, examples=["3,0,:"])
    norm: Norm | None = Field(None, examples=["post"])
    weights: Norm | None = Field(None, examples=[None])


class ConfigBody(Body):
    """Sizes of the random model; what is left out has its default."""

    d_model: Whole = Field(256, ge=2, le=model_limits.MAX_D_MODEL, examples=[512])
    n_heads: Whole = Field(8, ge=1, le=model_limits.MAX_HEADS, examples=[8])
    d_mlp: Whole = Field(1024, ge=1, le=model_limits.MAX_D_MLP, examples=[2048])
    n_layers: Whole = Field(4, ge=1, le=model_limits.MAX_LAYERS, examples=[2])
    n_ctx: Whole = Field(256, ge=1, le=model_limits.MAX_N_CTX, examples=[256])
    activation: Activation = Field("relu", examples=["gelu"])
    positions: Positions = Field("sinusoidal", examples=["learned"])
    causal: bool = Field(False, examples=[True])
    eps: float = Field(1e-5, ge=model_limits.MIN_EPS, le=model_limits.MAX_EPS, examples=[1e-5])
    seed: Whole = Field(0, ge=0, le=model_limits.MAX_SEED, examples=[0])


class IncludeBody(Body):
    """Points, with a format of their own; what is left out is the request's."""

    points: str = Field(
        min_length=1, max_length=limits.POINT_CHARACTERS, examples=["blocks.*.attn.pattern"]
    )
    encoding: Encoding = Field("text", examples=["base64"])
    digits: Digits | None = Field(None, examples=[4])
    dtype: DType = Field("float32", examples=["uint8"])


def _kind(entry: object) -> str | None:
    if isinstance(entry, str):
        return "name"
    return "entry" if isinstance(entry, (dict, IncludeBody)) else None


IncludeEntry = Annotated[
    Annotated[str, Field(min_length=1, max_length=limits.POINT_CHARACTERS), Tag("name")]
    | Annotated[IncludeBody, Tag("entry")],
    Discriminator(_kind),
]


class TraceBody(Body):
    """The body of `POST /trace`."""

    text: str = Field(max_length=limits.TEXT_CHARACTERS, examples=["The cat sat on the mat."])
    text_pair: str | None = Field(None, max_length=limits.TEXT_CHARACTERS, examples=[None])
    model: str | None = Field(None, max_length=limits.MODEL_CHARACTERS, examples=["textbook"])
    norm: Norm | None = Field(None, examples=["post"])
    weights: Norm | None = Field(None, examples=[None])
    config: ConfigBody | None = Field(None, examples=[{"d_model": 64, "n_heads": 4, "n_layers": 2}])
    include: list[IncludeEntry] = Field(
        [],
        max_length=limits.INCLUDE_ENTRIES,
        examples=[["blocks.0.resid_mid[1]", {"points": "blocks.0.attn.pattern[0]", "digits": 4}]],
    )
    encoding: Encoding = Field("text", examples=["text"])
    digits: Digits | None = Field(None, examples=[6])
    dtype: DType = Field("float32", examples=["float32"])
    verify: bool = Field(False, examples=[False])


Vector = Annotated[list[float], Field(min_length=1, max_length=limits.VECTOR_COMPONENTS)]
Row = Annotated[list[float], Field(min_length=1, max_length=limits.MATRIX_COMPONENTS)]


class AddNormBody(Body):
    """The body of `POST /add-norm`."""

    x: Vector = Field(examples=[[1, 2, 3]])
    update: Vector | None = Field(None, examples=[[0.5, -0.5, 1]])
    matrix: list[Row] | None = Field(
        None, min_length=1, max_length=limits.MATRIX_COMPONENTS, examples=[None]
    )
    bias: Vector | None = Field(None, examples=[None])
    placement: Norm = Field("post", examples=["post"])
    eps: float = Field(1e-5, ge=model_limits.MIN_EPS, le=model_limits.MAX_EPS, examples=[1e-5])
    gamma: Vector | None = Field(None, examples=[None])
    beta: Vector | None = Field(None, examples=[None])


def example_of(body: type[BaseModel]) -> dict[str, Any]:
    """One whole body from the fields' examples, which the documentation shows and a test sends."""
    fields: dict[str, FieldInfo] = body.model_fields
    examples = {name: field.examples[0] for name, field in fields.items() if field.examples}
    return {name: example for name, example in examples.items() if example is not None}
