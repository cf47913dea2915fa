"""A model's weights by TransformerLens' names and axes, as views of ours; must not know any run.

Source: Nanda and Bloom 2022, TransformerLens: a vector stands on the left of its matrix, x W + b,
and Attention's matrices are split into heads. PyTorch's ``nn.Linear`` keeps Wᵀ, all heads in one.
"""

import difflib
from collections.abc import Iterator
from dataclasses import dataclass

from torch import Tensor, nn

from model.block import Block
from model.errors import ModelError
from model.layers import LayerNorm, LearnedPositions, SelfAttention, SinusoidalPositions
from model.points import PointSpec
from model.runnable import Runnable
from model.selection import Include, select
from model.transformer import Transformer


@dataclass(frozen=True)
class Parameter:
    """A weight, or the part of it that an index picks.

    Attributes:
        learned: false of the sinusoidal positions, which are a table and no parameter.
        index: as asked for; null for the whole.
        value: of the axes that are left; a single number where the index picks every axis.
    """

    name: str
    learned: bool
    index: str | None
    axes: list[str]
    shape: list[int]
    value: Tensor


def parameter(runnable: Runnable, name: str, index: str | None) -> Parameter:
    """One weight of a model.

    Args:
        index: picks along the first axes as in ``include``: ``3,5``, ``:,0``, ``2:4``.

    Raises:
        ModelError: ``unknown_parameter`` (with the nearest names), ``bad_selector``,
            ``too_many_axes``, ``index_out_of_range``, ``too_much_asked``.
    """
    found = {one: (axes, value) for one, axes, value in named(runnable.plain)}
    if name not in found:
        nearest = difflib.get_close_matches(name, found, n=5, cutoff=0.4)
        raise ModelError("unknown_parameter", field="name", name=name, nearest=nearest)
    axes, value = found[name]
    spec = PointSpec(name, axes.split(), list(value.shape), settable=False)
    entry = name if index is None else f"{name}[{index}]"
    try:
        (chosen,) = select([Include(entry, True)], {name: spec}, runnable.config.norm)
    except ModelError as error:
        raise ModelError(error.code, field="index", **error.params) from None
    positions = isinstance(runnable.plain.pos_embed, SinusoidalPositions)
    return Parameter(
        name=name,
        learned=not (name == "W_pos" and positions),
        index=index,
        axes=chosen.axes,
        shape=chosen.shape,
        value=value[chosen.index].clone(),
    )


def named(model: Transformer) -> Iterator[tuple[str, str, Tensor]]:
    """Name, axes and value of every weight, in the order in which the run meets them."""
    yield "W_E", "d_vocab d_model", model.embed.weight
    if isinstance(model.pos_embed, LearnedPositions):
        yield "W_pos", "pos d_model", model.pos_embed.weight
    elif isinstance(model.pos_embed, SinusoidalPositions):
        yield "W_pos", "pos d_model", model.pos_embed.table
    if model.type_embed is not None:
        yield "W_token_type", "type d_model", model.type_embed.weight
    if model.embed_ln is not None:
        yield from _norm("embed_ln", model.embed_ln)
    for layer, block in enumerate(model.blocks):
        assert isinstance(block, Block)
        at = f"blocks.{layer}."
        yield from _norm(f"{at}ln1", block.ln1)
        yield from _attention(f"{at}attn.", block.attn)
        yield from _norm(f"{at}ln2", block.ln2)
        for name, axes in (("in", "d_model d_mlp"), ("out", "d_mlp d_model")):
            matrix = getattr(block.mlp, f"W_{name}")
            yield f"{at}mlp.W_{name}", axes, matrix.weight.T
            yield f"{at}mlp.b_{name}", axes.split()[1], matrix.bias
    if model.ln_final is not None:
        yield from _norm("ln_final", model.ln_final)
    if model.unembed is not None:
        yield "W_U", "d_model d_vocab", model.unembed.table.T


def _norm(name: str, norm: LayerNorm) -> Iterator[tuple[str, str, Tensor]]:
    yield f"{name}.w", "d_model", norm.w
    yield f"{name}.b", "d_model", norm.b


def _attention(at: str, attention: SelfAttention) -> Iterator[tuple[str, str, Tensor]]:
    heads = (attention.n_heads, attention.d_head)
    for letter in "QKV":
        matrix: nn.Linear = getattr(attention, f"W_{letter}")
        # [head · d_head, d_model]: head h owns rows h·d_head to (h+1)·d_head.
        by_head = matrix.weight.view(*heads, -1)
        yield f"{at}W_{letter}", "head d_model d_head", by_head.mT
        if matrix.bias is not None:
            yield f"{at}b_{letter}", "head d_head", matrix.bias.view(heads)
    by_head = attention.W_O.weight.view(-1, *heads)  # [d_model, head, d_head]
    yield f"{at}W_O", "head d_head d_model", by_head.permute(1, 2, 0)
    if attention.W_O.bias is not None:
        yield f"{at}b_O", "d_model", attention.W_O.bias
