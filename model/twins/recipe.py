"""Every number that decides a training run, as one frozen value; must not know files or tensors."""

import math
from dataclasses import dataclass

from model.config import ModelConfig, Norm


@dataclass(frozen=True)
class Recipe:
    """Settings of one run. Both twins are trained with the same recipe, ``norm`` aside.

    Attributes:
        steps: optimiser steps; the learning rate and the long tail are laid out over them.
        tokens_per_step: rows × row length, the same for short and long rows.
        short, long: row lengths in tokens, ``<s>`` included; the last tenth of the steps is long.
        muon, adam: peak learning rates (2-D weights of the blocks; everything else).
        warm_up: steps over which the learning rates rise from 0, linearly.
        floor: share of the peak at which the cosine ends.
        low_precision: matrix products in bfloat16 (the parameters stay float32).
    """

    norm: Norm
    steps: int
    seed: int = 1
    tokens_per_step: int = 1024
    short: int = 128
    long: int = 256
    muon: float = 0.01
    adam: float = 2e-3
    weight_decay: float = 0.05
    warm_up: int = 300
    floor: float = 0.05
    clip: float = 1.0
    low_precision: bool = True

    def __post_init__(self) -> None:
        if self.tokens_per_step % self.long or self.tokens_per_step % self.short:
            raise ValueError(
                f"rows of {self.short} and {self.long} do not fill {self.tokens_per_step}"
            )

    def row_length(self, step: int) -> int:
        """Tokens in a row at ``step``: the positions beyond ``short`` are learned at the end."""
        return self.long if step >= self.steps - self.steps // 10 else self.short

    def rate(self, step: int) -> float:
        """Learning rate at ``step`` (from 0), as a share of the peak: a rise, then a cosine."""
        if step < self.warm_up:
            return (step + 1) / self.warm_up
        progress = (step - self.warm_up) / max(1, self.steps - 1 - self.warm_up)
        return self.floor + (1 - self.floor) * 0.5 * (1 + math.cos(math.pi * min(1.0, progress)))


def twin_config(norm: Norm, d_vocab: int) -> ModelConfig:
    """Shape of the twins: the paper's decoder-only half in small, GPT-like (no cross-attention)."""
    return ModelConfig(
        d_model=192,
        n_heads=6,
        d_mlp=768,
        n_layers=4,
        n_ctx=256,
        d_vocab=d_vocab,
        norm=norm,
        activation="relu",
        positions="sinusoidal",
        causal=True,
        scale_embedding=True,
        unembed=True,
    )
