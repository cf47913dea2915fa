"""Weights before the first step, from a seed; must not know training."""

import math

import torch
from torch import nn

from model.config import ModelConfig
from model.transformer import Transformer

EMBEDDING_SPREAD = 0.02


def untrained(config: ModelConfig, seed: int) -> Transformer:
    """A Transformer with seeded weights; twins of one seed differ by ``ln_final`` alone.

    Hidden weights have standard deviation 1 / sqrt(fan-in); those that write into the stream are
    further divided by sqrt(2 · layers), so that the stream does not grow with depth (Radford et al.
    2019, section 2.3). Embeddings are small (0.02): times sqrt(d_model) they stand beside
    full-sized positions, which is what lets a previous-token head appear early.
    """
    model = Transformer(config)
    generator = torch.Generator().manual_seed(seed)
    nn.init.normal_(model.embed.weight, std=EMBEDDING_SPREAD, generator=generator)
    for name, parameter in model.blocks.named_parameters():
        kind = name.split(".", 1)[1]
        if parameter.ndim == 2:
            spread = 1 / math.sqrt(parameter.shape[1])
            if kind in ("attn.W_O.weight", "mlp.W_out.weight"):
                spread /= math.sqrt(2 * config.n_layers)
            nn.init.normal_(parameter, std=spread, generator=generator)
    for name, parameter in model.named_parameters():
        if parameter.ndim == 1:
            # Gamma starts at 1; beta and the biases at 0.
            nn.init.constant_(parameter, 1.0 if name.endswith(".w") else 0.0)
    return model
