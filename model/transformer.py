"""Embedding, blocks and exit in one module; must not know texts, tokenizers or recording."""

import torch
from torch import Tensor, nn

from model.block import BLOCKS
from model.config import ModelConfig
from model.layers import (
    Add,
    Embed,
    LayerNorm,
    LearnedPositions,
    SinusoidalPositions,
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
            SinusoidalPositions(config)
            if config.positions == "sinusoidal"
            else LearnedPositions(config)
        )
        self.embed_sum = Add()
        self.blocks = nn.ModuleList(BLOCKS[config.norm](config) for _ in range(config.n_layers))
        self.ln_final = LayerNorm(config) if config.has_final_norm else None
        self.unembed = Unembed(self.embed) if config.unembed else None

    def forward(self, ids: Tensor) -> Tensor:
        """Token ids [pos] to the state that leaves the model [pos, d_model].

        ``unembed`` makes logits of it.
        """
        x: Tensor = self.embed_sum(self.embed(ids), self.pos_embed(ids))
        for block in self.blocks:
            x = block(x)
        return x if self.ln_final is None else self.ln_final(x)


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
