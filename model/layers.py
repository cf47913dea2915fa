"""The parts of a Transformer block, each shown value at a hook point; must not know who records."""

import math
from collections.abc import Callable
from functools import lru_cache

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from model.config import Activation, ModelConfig, Rotary

ACTIVATION_FUNCTIONS: dict[Activation, Callable[[Tensor], Tensor]] = {
    "relu": F.relu,
    "gelu": F.gelu,
    "gelu_new": lambda x: F.gelu(x, approximate="tanh"),
}


class Part(nn.Module):
    """A module whose call runs its forward hooks and its forward, and nothing else.

    A block has some thirty named points. With the general dispatch of ``nn.Module``, which also
    looks for backward and global hooks, seeing them all would cost a fifth of a short text's run.
    """

    def __call__(self, *args: Tensor) -> Tensor:
        for enter in self._forward_pre_hooks.values():
            enter(self, args)
        out: Tensor = self.forward(*args)
        for leave in self._forward_hooks.values():
            replaced = leave(self, args, out)
            out = out if replaced is None else replaced
        return out


class HookPoint(Part):
    """The identity, under a name: a place where a forward hook can see a value, or replace it."""

    def forward(self, x: Tensor) -> Tensor:
        return x


class Embed(Part):
    """Token ids to vectors: rows of the table, times sqrt(d_model) where the model asks for it.

    Source: Vaswani et al. 2017, section 3.4.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(config.d_vocab, config.d_model))
        self.factor = math.sqrt(config.d_model) if config.scale_embedding else 1.0

    def forward(self, ids: Tensor) -> Tensor:
        return F.embedding(ids, self.weight) * self.factor  # [pos, d_model]


class SinusoidalPositions(Part):
    """PE[pos, 2i] = sin(pos / 10000^(2i/d_model)), PE[pos, 2i+1] = cos of the same.

    Source: Vaswani et al. 2017, section 3.5. Every row has length sqrt(d_model / 2).
    """

    table: Tensor

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        # float64 keeps the angles of late positions exact; on the CPU even under a meta device.
        pos = torch.arange(config.n_ctx, dtype=torch.float64, device="cpu")[:, None]
        pair = torch.arange(0, config.d_model, 2, dtype=torch.float64, device="cpu")
        angle = pos / 10000.0 ** (pair / config.d_model)  # [pos, pair]
        table = torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(1)  # [pos, d_model]
        self.register_buffer("table", table.to(torch.get_default_dtype()), persistent=False)

    def forward(self, ids: Tensor) -> Tensor:
        return self.table[: ids.shape[-1]]  # [pos, d_model]


class LearnedPositions(Part):
    """One learned vector for each place in the text."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.padding_id = config.padding_id
        unused = 0 if config.padding_id is None else config.padding_id + 1
        self.weight = nn.Parameter(torch.empty(unused + config.n_ctx, config.d_model))

    def forward(self, ids: Tensor) -> Tensor:
        if self.padding_id is None:
            return self.weight[: ids.shape[-1]]  # [pos, d_model]
        # RoBERTa counts the tokens that are not padding, and begins after padding's own row.
        counted = ids != self.padding_id
        places = counted.cumsum(-1) * counted + self.padding_id
        return F.embedding(places, self.weight)  # [pos, d_model]


class TypeEmbed(Part):
    """One learned vector for each text of a pair: 0 for the first, 1 for the second.

    Source: Devlin et al. 2019, BERT, section 3 (segment embeddings).
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(config.n_types, config.d_model))

    def forward(self, types: Tensor) -> Tensor:
        return F.embedding(types, self.weight)  # [pos, d_model]


class Add(Part):
    """The circled plus of the figure: what was there, plus what a sublayer writes."""

    def forward(self, skip: Tensor, write: Tensor) -> Tensor:
        return skip + write


class AddThree(Part):
    """One circled plus with three inputs: what was there, plus two writes at once."""

    def forward(self, skip: Tensor, first: Tensor, second: Tensor) -> Tensor:
        return skip + first + second


class LayerNorm(Part):
    """Each position's vector, centred, divided by its own spread; then times gamma, plus beta.

    Source: Ba et al. 2016, equation 4. Mean and variance run over the d_model components of one
    position and over nothing else.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.w = nn.Parameter(torch.empty(config.d_model))  # gamma
        self.b = nn.Parameter(torch.empty(config.d_model))  # beta
        self.eps = config.eps
        self.mean = HookPoint()
        self.var = HookPoint()
        self.scale = HookPoint()
        self.normalized = HookPoint()

    def forward(self, x: Tensor) -> Tensor:
        mean = self.mean(x.mean(-1, keepdim=True))  # [pos, 1]
        centred = x - mean
        # Population variance: LayerNorm divides by d_model, not d_model - 1. The mean square comes
        # by way of the length: that takes one pass over the text where squares would take two.
        length = torch.linalg.vector_norm(centred, dim=-1, keepdim=True)
        var = self.var(length.square() / x.shape[-1])  # [pos, 1]
        scale = self.scale((var + self.eps).sqrt())  # [pos, 1]
        normalized = self.normalized(centred / scale)  # [pos, d_model]
        return torch.addcmul(self.b, normalized, self.w)  # normalized · gamma + beta


@lru_cache(maxsize=16)
def later_keys(n_ctx: int) -> Tensor:
    """Whether a key comes after its query [query, key]; one table for all blocks of that size."""
    return torch.ones(n_ctx, n_ctx, dtype=torch.bool, device="cpu").triu(1)


@lru_cache(maxsize=16)
def rotary_angles(rotary: Rotary, n_ctx: int, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """Cosine and sine of every place's angles [pos, dims]; both halves of a pair have the same.

    In float32, angles of late places included: trained models know them so rounded.
    """
    pair = torch.arange(0, rotary.dims, 2, dtype=dtype, device="cpu") / rotary.dims
    place = torch.arange(n_ctx, dtype=dtype, device="cpu")[:, None]
    angle = place * (1.0 / rotary.base**pair)  # [pos, pair]
    both = torch.cat([angle, angle], dim=-1)
    return both.cos(), both.sin()


class Rotate(Part):
    """Turn pairs of a head's components by angles that grow with the place.

    Component i pairs with i + dims/2; components from ``dims`` on stay as they are. Two turned
    vectors have a dot product that depends on the distance of their places only.

    Source: Su et al. 2021, equation 34, in GPT-NeoX' order of components (Black et al. 2022).
    """

    cos: Tensor
    sin: Tensor

    def __init__(self, rotary: Rotary, n_ctx: int) -> None:
        super().__init__()
        self.dims = rotary.dims
        cos, sin = rotary_angles(rotary, n_ctx, torch.get_default_dtype())
        self.register_buffer("cos", cos, persistent=False)
        self.register_buffer("sin", sin, persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        n = x.shape[-3]
        turned, rest = x[..., : self.dims], x[..., self.dims :]
        first, second = turned.chunk(2, dim=-1)
        quarter = torch.cat([-second, first], dim=-1)  # turned by 90 degrees
        turned = turned * self.cos[:n, None] + quarter * self.sin[:n, None]
        return torch.cat([turned, rest], dim=-1)  # [pos, head, d_head]


class SelfAttention(Part):
    """Multi-head attention of a text on itself: softmax(Q K^T / sqrt(d_head)) V, joined by W_O.

    Source: Vaswani et al. 2017, equation 1 and section 3.2.2.
    """

    later: Tensor

    def __init__(self, config: ModelConfig, layer: int = 0) -> None:
        super().__init__()
        d_model, bias = config.d_model, config.attention_bias
        self.n_heads, self.d_head, self.causal = config.n_heads, config.d_head, config.causal
        self.W_Q = nn.Linear(d_model, d_model, bias=bias)
        self.W_K = nn.Linear(d_model, d_model, bias=bias)
        self.W_V = nn.Linear(d_model, d_model, bias=bias)
        self.W_O = nn.Linear(d_model, d_model, bias=bias)
        self.divisor = config.score_divisor(layer)
        if self.causal:
            self.register_buffer("later", later_keys(config.n_ctx), persistent=False)
        self.rotate = None if config.rotary is None else Rotate(config.rotary, config.n_ctx)
        self.q = HookPoint()
        self.k = HookPoint()
        self.v = HookPoint()
        if self.rotate is not None:
            self.rot_q = HookPoint()
            self.rot_k = HookPoint()
        self.dot = HookPoint()
        self.attn_scores = HookPoint()
        self.pattern = HookPoint()
        self.z = HookPoint()

    def forward(self, x: Tensor) -> Tensor:
        q = self.q(self.split_heads(self.W_Q(x)))  # [pos, head, d_head]
        k = self.k(self.split_heads(self.W_K(x)))  # [pos, head, d_head]
        v = self.v(self.split_heads(self.W_V(x)))  # [pos, head, d_head]
        if self.rotate is not None:
            q, k = self.rot_q(self.rotate(q)), self.rot_k(self.rotate(k))
        dot = self.dot(by_head(q) @ by_head(k).mT)  # [head, query, key]
        scores = self.attn_scores(self.hide_later(dot / self.divisor))
        pattern = self.pattern(scores.softmax(-1))  # [head, query, key]
        z = self.z(by_head(pattern @ by_head(v)))  # [pos, head, d_head]
        out: Tensor = self.W_O(z.flatten(-2))  # [pos, d_model]
        return out

    def writes(self, z: Tensor) -> Tensor:
        """Each head's own write z_h W_O[h]: [..., head, d_head] to [..., head, d_model].

        Added up, and b_O with them, they are the output; b_O belongs to no head.

        Source: Elhage et al. 2021, "A Mathematical Framework for Transformer Circuits".
        """
        per_head = self.W_O.weight.view(-1, self.n_heads, self.d_head).to(z.dtype)
        return torch.einsum("...hd,mhd->...hm", z, per_head)

    def split_heads(self, x: Tensor) -> Tensor:
        """[pos, d_model] to [pos, head, d_head]: head h owns columns h·d_head to (h+1)·d_head."""
        return x.view(*x.shape[:-1], self.n_heads, self.d_head)

    def hide_later(self, scores: Tensor) -> Tensor:
        """Scores of later keys become minus infinity, so that softmax gives them no share."""
        if not self.causal:
            return scores
        n = scores.shape[-1]
        return scores.masked_fill(self.later[:n, :n], -math.inf)


def by_head(x: Tensor) -> Tensor:
    """[pos, head, d_head] to [head, pos, d_head], and back."""
    return x.transpose(-3, -2)


class FeedForward(Part):
    """The same two-layer network at each position: W_out · activation(W_in · x + b_in) + b_out.

    Source: Vaswani et al. 2017, equation 2 (there with ReLU).
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.W_in = nn.Linear(config.d_model, config.d_mlp)
        self.W_out = nn.Linear(config.d_mlp, config.d_model)
        self.activation = ACTIVATION_FUNCTIONS[config.activation]
        self.pre = HookPoint()
        self.post = HookPoint()

    def forward(self, x: Tensor) -> Tensor:
        pre = self.pre(self.W_in(x))  # [pos, d_mlp]
        post = self.post(self.activation(pre))  # [pos, d_mlp]
        out: Tensor = self.W_out(post)  # [pos, d_model]
        return out


class Unembed(Part):
    """State to one score per vocabulary entry.

    With the embedding table transposed (tied weights: Vaswani et al. 2017, section 3.4; Press and
    Wolf 2017) or, where ``embed`` is null, with a matrix of its own.
    """

    def __init__(self, config: ModelConfig, embed: Embed | None) -> None:
        super().__init__()
        # Held in a tuple: a second registration would list the shared table as two parameters.
        self.tied = () if embed is None else (embed,)
        if embed is None:
            self.weight = nn.Parameter(torch.empty(config.d_vocab, config.d_model))

    @property
    def table(self) -> Tensor:
        """One row for each vocabulary entry [d_vocab, d_model]."""
        return self.tied[0].weight if self.tied else self.weight

    def forward(self, x: Tensor) -> Tensor:
        return x @ self.table.mT  # [pos, d_vocab]
