"""Embedding, blocks and exit in one module; must not know texts, tokenizers or recording."""

import torch
from torch import Tensor, nn

from model.block import block_type
from model.config import ModelConfig
from model.layers import (
    Add,
    AddThree,
    Embed,
    LayerNorm,
    LearnedPositions,
    SinusoidalPositions,
    TypeEmbed,
    Unembed,
)


class Transformer(nn.Module):
    """A stack of blocks in one placement.

    Parameters are left unset; they come from :func:`with_weights` or from a training recipe.
    ``forward`` also takes batches: every axis named in a comment may have others before it.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config = config
        self.embed = Embed(config)
        self.pos_embed = (
            None
            if not config.has_position_vectors
            else SinusoidalPositions(config)
            if config.positions == "sinusoidal"
            else LearnedPositions(config)
        )
        self.type_embed = TypeEmbed(config) if config.n_types else None
        self.embed_sum = (
            None if self.pos_embed is None else Add() if self.type_embed is None else AddThree()
        )
        self.embed_ln = LayerNorm(config) if config.embed_norm else None
        make_block = block_type(config)
        self.blocks = nn.ModuleList(make_block(config, layer) for layer in range(config.n_layers))
        self.ln_final = LayerNorm(config) if config.has_final_norm else None
        self.unembed = (
            Unembed(config, self.embed if config.tied else None) if config.unembed else None
        )

    def forward(self, ids: Tensor, types: Tensor | None = None) -> Tensor:
        """Token ids [pos] to the state that leaves the model [pos, d_model].

        ``unembed`` makes logits of it.

        Args:
            types: 0 or 1 for each token, first or second text; null stands for zeros.
        """
        x = self.embedding(ids, types)
        for block in self.blocks:
            x = block(x)
        return x if self.ln_final is None else self.ln_final(x)

    def embedding(self, ids: Tensor, types: Tensor | None = None) -> Tensor:
        """What enters the first block [pos, d_model]."""
        x: Tensor = self.embed(ids)
        if self.embed_sum is not None and self.pos_embed is not None:
            others = [self.pos_embed(ids)]
            if self.type_embed is not None:
                others.append(self.type_embed(torch.zeros_like(ids) if types is None else types))
            x = self.embed_sum(x, *others)
        return x if self.embed_ln is None else self.embed_ln(x)


def with_weights(config: ModelConfig, weights: dict[str, Tensor]) -> Transformer:
    """A read-only Transformer over the given tensors, which are shared and not copied.

    Args:
        config: the shape and the placement.
        weights: parameter name, such as ``blocks.0.attn.W_Q.weight``, to value. Names that the
            placement does not use (``ln_final`` in Post-LN) are left aside; a missing one raises.
    """
    with torch.device("meta"):
        model = Transformer(config)
    wanted = {name: weights[name] for name, _ in model.named_parameters()}
    model.load_state_dict(wanted, strict=True, assign=True)
    return model.eval().requires_grad_(False)
