"""What tests of the analyses share: small models of every family, every parameter random."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from model.config import ModelConfig, Rotary
from model.registry import Registry, Runnable, assemble, entry_of
from model.tokenizer import Tokenizer
from model.tokenizer.cut import Cut
from model.transformer import Transformer

# What sets a family apart from the paper's block.
FAMILIES: dict[str, dict[str, Any]] = {
    "post": {"norm": "post"},
    "pre": {"norm": "pre", "causal": True},
    "pre_without_final_norm": {"norm": "pre", "final_norm": False},
    "bert": {"norm": "post", "n_types": 2, "embed_norm": True, "positions": "learned"},
    "gpt2": {"norm": "pre", "causal": True, "positions": "learned", "scale_embedding": False},
    "neox": {
        "norm": "pre",
        "causal": True,
        "wiring": "parallel",
        "rotary": Rotary(4),
        "tied": False,
    },
    "without_bias": {"norm": "post", "attention_bias": False},
}


class OneModel(Registry):
    """A registry that gives the same model whatever is asked for."""

    def __init__(self, runnable: Runnable) -> None:
        self.runnable = runnable

    def load(self, *_: Any) -> Runnable:
        return self.runnable


def uneven_weights(config: ModelConfig, seed: int = 7) -> dict[str, Tensor]:
    """Every parameter random, norms and biases too, so that nothing cancels or is left out."""
    draw = torch.Generator().manual_seed(seed)
    with torch.device("meta"):
        shapes = {name: p.shape for name, p in Transformer(config).named_parameters()}
    return {
        name: torch.randn(shape, generator=draw) * 0.3 + name.endswith(".w")
        for name, shape in shapes.items()
    }


@pytest.fixture(scope="session")
def tokenizer() -> Tokenizer:
    return Tokenizer.load()


@pytest.fixture(scope="session")
def one_model(tokenizer: Tokenizer) -> Callable[..., OneModel]:
    """`one_model("bert", unembed=False)`: a registry of one small random model."""

    def make(family: str, seed: int = 7, **changes: Any) -> OneModel:
        sizes = {"d_model": 48, "n_heads": 6, "d_mlp": 80, "n_layers": 3, "n_ctx": 64}
        known = {"d_vocab": tokenizer.d_vocab, "unembed": True}
        config = ModelConfig(**{**sizes, **known, **FAMILIES[family], **changes})
        about = {"id": family, "kind": "random", "family": family, "norms": [], "notes": []}
        entry = entry_of(config, **about, default_norm=config.norm, languages=["en"], licence="MIT")

        def cut(text: str, pair: str | None) -> Cut:
            tokens = tokenizer.encode(text, bos=True)
            return Cut(tokens, [0] * len(tokens) if config.n_types else None)

        weights = uneven_weights(config, seed)
        return OneModel(assemble(entry, config, weights, tokenizer, cut, notes=[]))

    return make


@pytest.fixture
def models(tmp_path: Path) -> Path:
    """A folder for folders of models; it is not there yet."""
    return tmp_path / "models"
