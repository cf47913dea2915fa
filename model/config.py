"""Shape and arithmetic of a Transformer as one frozen value; must not know any weights."""

from dataclasses import dataclass
from typing import Literal, get_args

from model.errors import ModelError

Norm = Literal["pre", "post"]
Activation = Literal["relu", "gelu", "gelu_new"]
Positions = Literal["sinusoidal", "learned"]

NORMS: tuple[Norm, ...] = get_args(Norm)
ACTIVATIONS: tuple[Activation, ...] = get_args(Activation)
POSITIONS: tuple[Positions, ...] = get_args(Positions)


@dataclass(frozen=True)
class ModelConfig:
    """Everything that decides the arithmetic of a run, weights aside.

    Attributes:
        norm: ``post`` is LayerNorm(x + F(x)) (Vaswani et al. 2017, section 3.1),
            ``pre`` is x + F(LayerNorm(x)) (Xiong et al. 2020, figure 1b).
        activation: ``relu`` (2017), ``gelu`` (exact, as BERT), ``gelu_new`` (tanh form, as GPT-2).
        scale_embedding: multiply token vectors by sqrt(d_model) (2017, section 3.4).
        final_norm: one LayerNorm after all blocks; Pre-LN needs it, Post-LN never has it.
        unembed: predict tokens with the transposed embedding table (tied weights).

    Raises:
        ModelError: sizes that do not fit, with both numbers.
    """

    d_model: int
    n_heads: int
    d_mlp: int
    n_layers: int
    n_ctx: int
    d_vocab: int
    norm: Norm
    activation: Activation = "relu"
    positions: Positions = "sinusoidal"
    causal: bool = False
    eps: float = 1e-5
    scale_embedding: bool = True
    final_norm: bool = True
    unembed: bool = False

    def __post_init__(self) -> None:
        if self.d_model % self.n_heads:
            raise ModelError(
                "heads_do_not_divide",
                field="config.n_heads",
                d_model=self.d_model,
                n_heads=self.n_heads,
            )
        if self.positions == "sinusoidal" and self.d_model % 2:
            # Sines and cosines come in pairs (2017, section 3.5).
            raise ModelError("d_model_is_odd", field="config.d_model", d_model=self.d_model)

    @property
    def d_head(self) -> int:
        return self.d_model // self.n_heads

    @property
    def has_final_norm(self) -> bool:
        """Whether ``ln_final`` runs: Post-LN never runs one, whatever the weights carry."""
        return self.norm == "pre" and self.final_norm

    @property
    def n_parameters(self) -> int:
        """Number of parameters of this model, counted without building it."""
        d, m = self.d_model, self.d_mlp
        attention = 4 * (d * d + d)
        feed_forward = d * m + m + m * d + d
        norms = 2 * 2 * d
        embedding = self.d_vocab * d
        positions = self.n_ctx * d if self.positions == "learned" else 0
        final = 2 * d if self.has_final_norm else 0
        return self.n_layers * (attention + feed_forward + norms) + embedding + positions + final
