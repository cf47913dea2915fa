"""The two placements of LayerNorm as two block classes; must not know depth, text or recording."""

from torch import Tensor

from model.config import ModelConfig, Norm
from model.layers import Add, FeedForward, LayerNorm, Part, SelfAttention


class Block(Part):
    """One Attention and one FFN, each with its Add and its LayerNorm.

    Modules are named after what they make.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.attn = SelfAttention(config)
        self.resid_mid = Add()
        self.ln1 = LayerNorm(config)
        self.mlp = FeedForward(config)
        self.resid_post = Add()
        self.ln2 = LayerNorm(config)


class PostLNBlock(Block):
    """LayerNorm(x + F(x)), the order of the figure. Source: Vaswani et al. 2017, section 3.1."""

    def forward(self, x: Tensor) -> Tensor:
        """The norms stand on the stream.

        x ─┬───────────── ⊕ ─ ln1 ─┬─────────── ⊕ ─ ln2 ─► out
           └─ Attention ──┘        └─── FFN ────┘
        """
        x = self.ln1(self.resid_mid(x, self.attn(x)))
        return self.ln2(self.resid_post(x, self.mlp(x)))


class PreLNBlock(Block):
    """x + F(LayerNorm(x)), the order of GPT-2. Source: Xiong et al. 2020, figure 1b."""

    def forward(self, x: Tensor) -> Tensor:
        """The norms stand at the mouths of the branches.

        x ─┬───────────────── ⊕ ─┬──────────────── ⊕ ─► out
           └ ln1 ─ Attention ─┘  └ ln2 ── FFN ─────┘
        """
        x = self.resid_mid(x, self.attn(self.ln1(x)))
        return self.resid_post(x, self.mlp(self.ln2(x)))


BLOCKS: dict[Norm, type[Block]] = {"pre": PreLNBlock, "post": PostLNBlock}
