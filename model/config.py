"""Shape and arithmetic of a Transformer as one frozen value; must not know any weights."""

import math
from dataclasses import dataclass
from typing import Literal, get_args

from model.errors import ModelError

Norm = Literal["pre", "post"]
Activation = Literal["relu", "gelu", "gelu_new"]
Positions = Literal["sinusoidal", "learned"]
Wiring = Literal["sequential", "parallel"]

NORMS: tuple[Norm, ...] = get_args(Norm)
ACTIVATIONS: tuple[Activation, ...] = get_args(Activation)
POSITIONS: tuple[Positions, ...] = get_args(Positions)


@dataclass(frozen=True)
class Rotary:
    """Rotary position embedding. Source: Su et al. 2021, RoFormer, equation 34.

    Attributes:
        dims: components of each head that turn, from the first on; an even number.
        base: the slowest angle is about 1 / ``base`` of the fastest.
    """

    dims: int
    base: float = 10000.0


@dataclass(frozen=True)
class ModelConfig:
    """Everything that decides the arithmetic of a run, weights aside.

    Attributes:
        norm: ``post`` is LayerNorm(x + F(x)) (Vaswani et al. 2017, section 3.1),
            ``pre`` is x + F(LayerNorm(x)) (Xiong et al. 2020, figure 1b).
        activation: ``relu`` (2017), ``gelu`` (exact, as BERT), ``gelu_new`` (tanh form, as GPT-2).
        scale_embedding: multiply token vectors by sqrt(d_model) (2017, section 3.4).
        final_norm: one LayerNorm after all blocks; Pre-LN needs it, Post-LN never has it.
        unembed: predict tokens, with the transposed embedding table (tied weights) or, where not
            ``tied``, with a matrix of its own.
        wiring: ``parallel`` blocks let Attention and FFN read the same state, each through a norm
            of its own, and add both in one Add (Wang and Komatsuzaki 2021, GPT-J); Pre-LN only.
        rotary: a rotation of queries and keys in place of position vectors.
        padding_id: the token that has no place of its own: positions are counted over the others,
            in a table that keeps its first rows for it (RoBERTa). Null counts every token.
        n_types: rows of the table of text types (BERT's first and second text); 0 has none.
        embed_norm: a LayerNorm on the sum of the embeddings, before the first block.
        attention_bias: whether the four matrices of Attention have a bias.
        scale_scores: divide q·k by sqrt(d_head) (2017, equation 1).
        scale_by_layer: divide q·k by the block's number besides, counted from 1 (Mistral's GPT-2).

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
    tied: bool = True
    wiring: Wiring = "sequential"
    rotary: Rotary | None = None
    padding_id: int | None = None
    n_types: int = 0
    embed_norm: bool = False
    attention_bias: bool = True
    scale_scores: bool = True
    scale_by_layer: bool = False

    def __post_init__(self) -> None:
        if self.d_model % self.n_heads:
            raise ModelError(
                "heads_do_not_divide",
                field="config.n_heads",
                d_model=self.d_model,
                n_heads=self.n_heads,
            )
        if self.wiring == "parallel" and self.norm == "post":
            # LayerNorm(x + F(x)) has one F; with two beside each other no paper says where it is.
            raise ModelError("placement_undefined", field="norm", norm=self.norm)
        if self.rotary is None and self.positions == "sinusoidal" and self.d_model % 2:
            # Sines and cosines come in pairs (2017, section 3.5).
            raise ModelError("d_model_is_odd", field="config.d_model", d_model=self.d_model)

    @property
    def d_head(self) -> int:
        return self.d_model // self.n_heads

    def score_divisor(self, layer: int) -> float:
        """What q·k is divided by in a block before the softmax; sqrt(d_head) in the 2017 paper."""
        root = math.sqrt(self.d_head) if self.scale_scores else 1.0
        return root * (layer + 1) if self.scale_by_layer else root

    @property
    def has_position_vectors(self) -> bool:
        """Whether places are vectors that are added to the token vectors."""
        return self.rotary is None

    @property
    def has_final_norm(self) -> bool:
        """Whether ``ln_final`` runs: Post-LN never runs one, whatever the weights carry."""
        return self.norm == "pre" and self.final_norm

    @property
    def last_state(self) -> str:
        """The point that leaves the model."""
        return "ln_final.out" if self.has_final_norm else f"blocks.{self.n_layers - 1}.out"

    @property
    def n_parameters(self) -> int:
        """Number of parameters of this model, counted without building it."""
        d, m = self.d_model, self.d_mlp
        attention = 4 * (d * d + (d if self.attention_bias else 0))
        feed_forward = d * m + m + m * d + d
        norms = 2 * 2 * d
        embedding = self.d_vocab * d
        # Beyond the rows that texts use, the table has one for padding and those before it.
        unused = 0 if self.padding_id is None else self.padding_id + 1
        learned = self.has_position_vectors and self.positions == "learned"
        positions = (self.n_ctx + unused) * d if learned else 0
        types = self.n_types * d
        around = 2 * d * (self.embed_norm + self.has_final_norm)
        exit_ = self.d_vocab * d if self.unembed and not self.tied else 0
        blocks = self.n_layers * (attention + feed_forward + norms)
        return embedding + positions + types + around + blocks + exit_
