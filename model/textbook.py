"""The model ``textbook``: random weights from a seed, sizes within limits; must not know texts."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields

import torch
from torch import Tensor

from model import limits
from model.config import ACTIVATIONS, POSITIONS, Activation, ModelConfig, Norm, Positions
from model.errors import ModelError
from model.transformer import Transformer

ID = "textbook"

# Smallest and largest value of each size.
RANGES: dict[str, tuple[float, float]] = {
    "d_model": (2, limits.MAX_D_MODEL),
    "n_heads": (1, limits.MAX_HEADS),
    "d_mlp": (1, limits.MAX_D_MLP),
    "n_layers": (1, limits.MAX_LAYERS),
    "n_ctx": (1, limits.MAX_N_CTX),
    "seed": (0, limits.MAX_SEED),
    "eps": (limits.MIN_EPS, limits.MAX_EPS),
}
CHOICES: dict[str, tuple[str, ...]] = {"activation": ACTIVATIONS, "positions": POSITIONS}


@dataclass(frozen=True)
class Settings:
    """A request's ``config``. The paper's base block is d_model 512, 8 heads, d_mlp 2048."""

    d_model: int = 256
    n_heads: int = 8
    d_mlp: int = 1024
    n_layers: int = 4
    n_ctx: int = 256
    activation: Activation = "relu"
    positions: Positions = "sinusoidal"
    causal: bool = False
    eps: float = 1e-5
    seed: int = 0

    def model_config(self, norm: Norm, d_vocab: int) -> ModelConfig:
        """The configuration that is run.

        Raises:
            ModelError: sizes that do not fit together, or too many parameters, with both numbers.
        """
        config = ModelConfig(
            d_model=self.d_model,
            n_heads=self.n_heads,
            d_mlp=self.d_mlp,
            n_layers=self.n_layers,
            n_ctx=self.n_ctx,
            d_vocab=d_vocab,
            norm=norm,
            activation=self.activation,
            positions=self.positions,
            causal=self.causal,
            eps=self.eps,
        )
        if config.n_parameters > limits.MAX_PARAMETERS:
            raise ModelError(
                "too_many_parameters",
                field="config",
                parameters=config.n_parameters,
                limit=limits.MAX_PARAMETERS,
            )
        return config


def settings_from(config: Mapping[str, object]) -> Settings:
    """Settings with the given ones changed.

    Raises:
        ModelError: ``unknown_setting``, ``setting_out_of_range`` or ``unknown_choice``.
    """
    known = {field.name for field in fields(Settings)}
    for name, value in config.items():
        if name not in known:
            raise ModelError(
                "unknown_setting", field=f"config.{name}", name=name, known=sorted(known)
            )
        if name in CHOICES and value not in CHOICES[name]:
            raise ModelError(
                "unknown_choice",
                field=f"config.{name}",
                name=name,
                value=value,
                known=list(CHOICES[name]),
            )
        if name in RANGES:
            smallest, largest = RANGES[name]
            if not isinstance(value, (int, float)) or not smallest <= value <= largest:
                raise ModelError(
                    "setting_out_of_range",
                    field=f"config.{name}",
                    name=name,
                    value=value,
                    smallest=smallest,
                    largest=largest,
                )
    return Settings(**config)  # type: ignore[arg-type]


def random_weights(config: ModelConfig, seed: int) -> dict[str, Tensor]:
    """Untrained weights, the same for both placements: gamma 1, every bias 0, the rest by the seed.

    Matrices are normal with the variance of Glorot and Bengio 2010, equation 12; token vectors have
    components of variance 1 after the factor sqrt(d_model), beside positions of variance 1/2.
    """
    draw = torch.Generator().manual_seed(seed)
    with torch.device("meta"):
        # LayerNorms draw nothing, so the final norm of Pre-LN leaves the other draws as they are.
        shapes = {name: p.shape for name, p in Transformer(config).named_parameters()}
    return {name: _initial(name, shape, config, draw) for name, shape in shapes.items()}


def _initial(name: str, shape: torch.Size, config: ModelConfig, draw: torch.Generator) -> Tensor:
    if name.endswith(".w"):
        return torch.ones(shape)
    if len(shape) == 1:
        return torch.zeros(shape)
    if name == "embed.weight":
        return torch.randn(shape, generator=draw) / (
            math.sqrt(config.d_model) if config.scale_embedding else 1.0
        )
    if name == "pos_embed.weight":
        return torch.randn(shape, generator=draw) * math.sqrt(0.5)
    return torch.randn(shape, generator=draw) * math.sqrt(2 / (shape[0] + shape[1]))
