"""The wirings of a block, one class each; must not know depth, text or recording."""

from torch import Tensor

from model.config import ModelConfig
from model.layers import Add, AddThree, FeedForward, LayerNorm, Part, SelfAttention


class Block(Part):
    """One Attention and one FFN, each with its LayerNorm; subclasses say how they are joined.

    Modules are named after what they make.
    """

    def __init__(self, config: ModelConfig, layer: int = 0) -> None:
        super().__init__()
        self.attn = SelfAttention(config, layer)
        self.ln1 = LayerNorm(config)
        self.mlp = FeedForward(config)
        self.ln2 = LayerNorm(config)


class SequentialBlock(Block):
    """First Attention, then the FFN, each with an Add of its own."""

    def __init__(self, config: ModelConfig, layer: int = 0) -> None:
        super().__init__(config, layer)
        self.resid_mid = Add()
        self.resid_post = Add()


class PostLNBlock(SequentialBlock):
    """LayerNorm(x + F(x)), the order of the figure. Source: Vaswani et al. 2017, section 3.1."""

    def forward(self, x: Tensor) -> Tensor:
        """The norms stand on the stream.

        x ─┬───────────── ⊕ ─ ln1 ─┬─────────── ⊕ ─ ln2 ─► out
           └─ Attention ──┘        └─── FFN ────┘
        """
        x = self.ln1(self.resid_mid(x, self.attn(x)))
        return self.ln2(self.resid_post(x, self.mlp(x)))


class PreLNBlock(SequentialBlock):
    """x + F(LayerNorm(x)), the order of GPT-2. Source: Xiong et al. 2020, figure 1b."""

    def forward(self, x: Tensor) -> Tensor:
        """The norms stand at the mouths of the branches.

        x ─┬───────────────── ⊕ ─┬──────────────── ⊕ ─► out
           └ ln1 ─ Attention ─┘  └ ln2 ── FFN ─────┘
        """
        x = self.resid_mid(x, self.attn(self.ln1(x)))
        return self.resid_post(x, self.mlp(self.ln2(x)))


class ParallelBlock(Block):
    """x + Attention(ln1(x)) + FFN(ln2(x)), the order of GPT-J and GPT-NeoX.

    Source: Wang and Komatsuzaki 2021; Black et al. 2022, section 2.1.2.
    """

    def __init__(self, config: ModelConfig, layer: int = 0) -> None:
        super().__init__(config, layer)
        self.resid_post = AddThree()

    def forward(self, x: Tensor) -> Tensor:
        """Both branches read the same state, and one Add takes both.

           ┌ ln1 ─ Attention ─┐
        x ─┼───────────────── ⊕ ──────────────────► out
           └ ln2 ─── FFN ─────┘
        """
        return self.resid_post(x, self.attn(self.ln1(x)), self.mlp(self.ln2(x)))


def block_type(config: ModelConfig) -> type[Block]:
    """The class of a model's blocks."""
    if config.wiring == "parallel":
        return ParallelBlock
    return PreLNBlock if config.norm == "pre" else PostLNBlock
