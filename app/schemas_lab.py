"""What a request for a cost or an experiment may hold; must not know how it is answered.

The sentences of each field are in the catalogue, under `api.<model>.<field>`.
"""

from typing import Annotated

from pydantic import BeforeValidator, Field, model_validator

from app.schemas import Body
from model import limits


def _digits(value: object) -> object:
    """A query carries text only: plain digits are a whole number, everything else is not."""
    is_plain = isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 20
    return int(str(value)) if is_plain else value


Size = Annotated[int, BeforeValidator(_digits)]


class CostQuery(Body):
    """The query of `GET /cost`."""

    d_model: Size = Field(512, ge=1, le=limits.MAX_COST_D_MODEL, examples=[512])
    n_heads: Size = Field(8, ge=1, le=limits.MAX_COST_HEADS, examples=[8])
    d_mlp: Size = Field(2048, ge=1, le=limits.MAX_COST_D_MLP, examples=[2048])
    n_ctx: Size = Field(512, ge=1, le=limits.MAX_COST_N_CTX, examples=[512])
    n_layers: Size = Field(1, ge=1, le=limits.MAX_COST_LAYERS, examples=[1])
    kernel: Size = Field(5, ge=3, le=limits.MAX_COST_KERNEL, examples=[5])
    radius: Size = Field(64, ge=1, le=limits.MAX_COST_N_CTX, examples=[64])
    n_queries: Size = Field(1, ge=1, le=limits.MAX_COST_N_CTX, examples=[1])

    @model_validator(mode="before")
    @classmethod
    def _without_language(cls, query: dict[str, object]) -> dict[str, object]:
        """Every call takes `lang`; it is no size."""
        return {name: value for name, value in query.items() if name != "lang"}
