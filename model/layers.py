"""The parts of a Transformer block, each shown value at a hook point; must not know who records."""

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from model.config import Activation, ModelConfig

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
        self.weight = nn.Parameter(torch.empty(config.n_ctx, config.d_model))

    def forward(self, ids: Tensor) -> Tensor:
        return self.weight[: ids.shape[-1]]  # [pos, d_model]


class Add(Part):
    """The circled plus of the figure: what was there, plus what a sublayer writes."""

    def forward(self, skip: Tensor, write: Tensor) -> Tensor:
        return skip + write


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
        # Population variance: LayerNorm divides by d_model, not d_model - 1.
        var = self.var(centred.square().mean(-1, keepdim=True))  # [pos, 1]
        scale = self.scale((var + self.eps).sqrt())  # [pos, 1]
        normalized = self.normalized(centred / scale)  # [pos, d_model]
        out: Tensor = normalized * self.w + self.b
        return out


class SelfAttention(Part):
    """Multi-head attention of a text on itself: softmax(Q K^T / sqrt(d_head)) V, joined by W_O.

    Source: Vaswani et al. 2017, equation 1 and section 3.2.2.
    """

    later: Tensor

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        d_model = config.d_model
        self.n_heads, self.d_head, self.causal = config.n_heads, config.d_head, config.causal
        self.W_Q = nn.Linear(d_model, d_model)
        self.W_K = nn.Linear(d_model, d_model)
        self.W_V = nn.Linear(d_model, d_model)
        self.W_O = nn.Linear(d_model, d_model)
        later = torch.ones(config.n_ctx, config.n_ctx, dtype=torch.bool, device="cpu").triu(1)
        self.register_buffer("later", later, persistent=False)  # [query, key]
        self.q = HookPoint()
        self.k = HookPoint()
        self.v = HookPoint()
        self.dot = HookPoint()
        self.attn_scores = HookPoint()
        self.pattern = HookPoint()
        self.z = HookPoint()

    def forward(self, x: Tensor) -> Tensor:
        q = self.q(self.split_heads(self.W_Q(x)))  # [pos, head, d_head]
        k = self.k(self.split_heads(self.W_K(x)))  # [pos, head, d_head]
        v = self.v(self.split_heads(self.W_V(x)))  # [pos, head, d_head]
        dot = self.dot(by_head(q) @ by_head(k).mT)  # [head, query, key]
        scores = self.attn_scores(self.hide_later(dot / math.sqrt(self.d_head)))
        pattern = self.pattern(scores.softmax(-1))  # [head, query, key]
        z = self.z(by_head(pattern @ by_head(v)))  # [pos, head, d_head]
        out: Tensor = self.W_O(z.flatten(-2))  # [pos, d_model]
        return out

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
    """State to one score per vocabulary entry, with the embedding table transposed (tied weights).

    Source: Vaswani et al. 2017, section 3.4; Press and Wolf 2017.
    """

    def __init__(self, embed: Embed) -> None:
        super().__init__()
        # Held in a tuple: a second registration would list the shared table as two parameters.
        self.tied = (embed,)

    def forward(self, x: Tensor) -> Tensor:
        return x @ self.tied[0].weight.mT  # [pos, d_vocab]
