"""The arithmetic of a Transformer in PyTorch's fused kernels, and the loss; must not know recipes.

The blocks that a page shows compute every value on its own, so that each can be recorded. Training
needs none of them: here the same parameters run through fewer and larger steps. Tests hold both to
the same numbers.
"""

from typing import Any, cast

import torch
import torch.nn.functional as F
from torch import Tensor

from model.block import Block
from model.layers import LayerNorm, SelfAttention
from model.transformer import Transformer
from model.twins.batches import IGNORED

CHUNK = 256  # positions whose scores over the vocabulary exist at one time


def final_state(model: Transformer, ids: Tensor) -> Tensor:
    """As ``model(ids)`` for a causal ReLU model: ids [row, pos] to state [row, pos, d_model]."""
    x = model.embedding(ids, None)
    for module in model.blocks:
        block = cast(Block, module)
        if model.config.norm == "pre":
            x = x + attention(block.attn, layer_norm(block.ln1, x))
            x = x + feed_forward(block, layer_norm(block.ln2, x))
        else:
            x = layer_norm(block.ln1, x + attention(block.attn, x))
            x = layer_norm(block.ln2, x + feed_forward(block, x))
    return x if model.ln_final is None else layer_norm(model.ln_final, x)


def layer_norm(norm: LayerNorm, x: Tensor) -> Tensor:
    return F.layer_norm(x, norm.w.shape, norm.w, norm.b, norm.eps)


def attention(attn: SelfAttention, x: Tensor) -> Tensor:
    # One product for Query, Key and Value. Not the fused attention kernel: its backward pass on a
    # CPU takes several times as long as these few lines on rows as short as ours.
    three = (attn.W_Q, attn.W_K, attn.W_V)
    weight = torch.cat([project.weight for project in three])
    bias = torch.cat([project.bias for project in three])
    qkv = F.linear(x, weight, bias)
    qkv = qkv.view(*qkv.shape[:-1], 3, attn.n_heads, attn.d_head)
    q, k, v = qkv.movedim(-2, -4).unbind(-2)  # [row, head, pos, d_head]
    scores = attn.hide_later(q @ k.mT * attn.d_head**-0.5)  # [row, head, query, key]
    z = scores.softmax(-1).to(v.dtype) @ v
    return cast(Tensor, attn.W_O(z.transpose(-3, -2).flatten(-2)))


def feed_forward(block: Block, x: Tensor) -> Tensor:
    return cast(Tensor, block.mlp.W_out(F.relu(block.mlp.W_in(x))))


class TiedCrossEntropy(torch.autograd.Function):
    """Mean of -log softmax(x W^T)[target], W the embedding table.

    The gradient is (softmax - one-hot), known as soon as the scores are: it is made at once, chunk
    by chunk, and scores of all positions over the whole vocabulary are never held.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, table: Tensor, targets: Tensor, dtype: torch.dtype) -> Tensor:
        kept = targets != IGNORED
        n_kept = kept.sum()
        rows, wanted = x[kept].to(dtype), targets[kept]
        table_low = table.to(dtype)
        total = x.new_zeros(())
        d_rows = torch.empty_like(x[kept])
        d_table = torch.zeros_like(table)
        for first in range(0, len(rows), CHUNK):
            part, target = rows[first : first + CHUNK], wanted[first : first + CHUNK, None]
            scores = (part @ table_low.mT).float()  # [pos, d_vocab]
            own = scores.gather(1, target)
            peak = scores.amax(1, keepdim=True)
            share = scores.sub_(peak).exp_()
            sums = share.sum(1, keepdim=True)
            total += (sums.log() + peak - own).sum()
            share /= sums * n_kept
            share.scatter_add_(1, target, (-1 / n_kept).expand_as(target))
            low = share.to(dtype)
            d_rows[first : first + CHUNK] = low @ table_low
            d_table += low.mT @ part
        d_x = torch.zeros_like(x)
        d_x[kept] = d_rows
        ctx.save_for_backward(d_x, d_table)
        return total / n_kept

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, None, None]:
        d_x, d_table = ctx.saved_tensors
        return d_x * gradients[0], d_table * gradients[0], None, None


def loss(model: Transformer, ids: Tensor, targets: Tensor, low_precision: bool) -> Tensor:
    """Mean cross-entropy in nats over the targets that are not ``IGNORED``; both [row, pos]."""
    with torch.autocast("cpu", torch.bfloat16, enabled=low_precision):
        state = final_state(model, ids).float()
    dtype = torch.bfloat16 if low_precision else state.dtype
    value = TiedCrossEntropy.apply(  # type: ignore[no-untyped-call]
        state.flatten(0, -2), model.embed.weight, targets.flatten(), dtype
    )
    return cast(Tensor, value)
