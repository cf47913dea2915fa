"""What becomes of a deep stack without its skips or its norms; must not know training or texts."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, get_args

import torch
import torch.nn.functional as F
from torch import Tensor

from model.analysis.experiments.results import Paper, Progress, Result, Run, Series, numbers
from model.analysis.experiments.stacks import (
    Block,
    Sizes,
    Start,
    block_with,
    loss_of,
    refuse_too_much,
    seeds_of,
    start,
)
from model.config import Norm

Drop = Literal["nothing", "skip", "norm", "both"]
DROPS: tuple[Drop, ...] = get_args(Drop)

PAPERS = [
    Paper(
        authors="He et al.",
        year=2016,
        title="Deep Residual Learning for Image Recognition",
        where="section 3",
        arxiv="1512.03385",
        predicts=[],
    ),
    Paper(
        authors="Dong et al.",
        year=2021,
        title="Attention is Not All You Need: Pure Attention Loses Rank Doubly Exponentially"
        " with Depth",
        where="sections 2 and 3",
        arxiv="2103.03404",
        predicts=["skip.similarity -> 1"],
    ),
]


@dataclass(frozen=True)
class DepthRequest:
    """``norm``: where the LayerNorms stand that are not dropped; ``drop``: what is left out."""

    depths: tuple[int, ...] = (2, 4, 8, 12, 16, 24)
    d_model: int = 64
    n_heads: int = 4
    d_mlp: int = 256
    n_ctx: int = 32
    norm: Norm = "post"
    drop: tuple[Drop, ...] = DROPS
    seed: int = 0
    seeds: int = 4


def states(blocks: list[Block], x: Tensor, norm: Norm, drop: Drop) -> Iterator[Tensor]:
    """The input, and what leaves each block, without what is dropped."""
    yield x
    for block in blocks:
        x = _without(block, x, norm, drop)
        yield x


def _without(block: Block, x: Tensor, norm: Norm, drop: Drop) -> Tensor:
    def add(skip: Tensor, write: Tensor) -> Tensor:
        return write if drop in ("skip", "both") else skip + write

    def through(layer_norm: torch.nn.Module, vectors: Tensor) -> Tensor:
        out: Tensor = vectors if drop in ("norm", "both") else layer_norm(vectors)
        return out

    if norm == "post":
        x = through(block.ln1, add(x, block.attn(x)))
        return through(block.ln2, add(x, block.mlp(x)))
    x = add(x, block.attn(through(block.ln1, x)))
    return add(x, block.mlp(through(block.ln2, x)))


def similarity(state: Tensor) -> Tensor:
    """Mean cosine of the vectors of two different positions."""
    n = len(state)
    directions = F.normalize(state.double(), dim=-1)
    cosines = directions @ directions.mT  # [pos, pos]
    return (cosines.sum() - cosines.diagonal().sum()) / (n * (n - 1))


@dataclass(frozen=True)
class _Measured:
    length: Tensor  # [seed, state]
    similarity: Tensor  # [seed, state]
    gradient: Tensor  # [seed, layer], of the deepest stack
    first_gradient: Tensor  # [seed, depth]


def run(request: DepthRequest) -> Run[DepthRequest]:
    """Lengths, likeness of positions and gradients, for everything that is dropped.

    Raises:
        ModelError: ``heads_do_not_divide``, ``experiment_too_large``.
    """
    sizes = Sizes(request.d_model, request.n_heads, request.d_mlp, request.n_ctx)
    config, depths, deepest = sizes.config(request.norm), request.depths, max(request.depths)
    drops = tuple(dict.fromkeys(request.drop))
    refuse_too_much(sizes, len(drops) * request.seeds * (sum(depths) + deepest))
    measured = {drop: _empty(request) for drop in drops}
    done, total = 0, request.seeds * len(drops) * (len(depths) + 1)
    for row, seed in enumerate(seeds_of(request.seed, request.seeds)):
        begun = start(sizes, deepest, seed)
        blocks = [block_with(config, weights) for weights in begun.weights]
        for drop in drops:
            found = measured[drop]
            with torch.no_grad():
                for place, state in enumerate(states(blocks, begun.x, request.norm, drop)):
                    found.length[row, place] = state.norm(dim=-1).mean()
                    found.similarity[row, place] = similarity(state)
            done += 1
            yield Progress(done, total)
            for column, depth in enumerate(depths):
                lengths = _gradients(blocks[:depth], begun, request, drop)
                found.first_gradient[row, column] = lengths[0]
                if depth == deepest:
                    found.gradient[row] = lengths
                done += 1
                yield Progress(done, total)
    return _result(request, measured)


def _gradients(blocks: list[Block], begun: Start, request: DepthRequest, drop: Drop) -> Tensor:
    """Frobenius norm of the loss's gradient by the FFN's second matrix of every block [layer]."""
    *_, last = states(blocks, begun.x, request.norm, drop)
    is_normed_at_the_end = request.norm == "pre" and drop not in ("norm", "both")
    loss = loss_of(last, begun, is_normed_at_the_end)
    found = torch.autograd.grad(loss, [block.mlp.W_out.weight for block in blocks])
    # In float64 the squares of the smallest gradients do not vanish.
    return torch.stack([gradient.double().norm() for gradient in found])


def _empty(request: DepthRequest) -> _Measured:
    deepest, seeds = max(request.depths), request.seeds

    def numbers_of(columns: int) -> Tensor:
        return torch.full((seeds, columns), torch.nan, dtype=torch.float64)

    return _Measured(
        numbers_of(deepest + 1),
        numbers_of(deepest + 1),
        numbers_of(deepest),
        numbers_of(len(request.depths)),
    )


def _result(request: DepthRequest, measured: dict[Drop, _Measured]) -> Result[DepthRequest]:
    deepest = max(request.depths)
    series = {
        "depth": Series(["depth"], "layers", list(request.depths)),
        "state": Series(["state"], "layers", list(range(deepest + 1))),
        "layer": Series(["layer"], None, list(range(deepest))),
    }
    for drop, found in measured.items():
        series |= {
            f"{drop}.length": Series(["state"], None, numbers(found.length.mean(0))),
            f"{drop}.similarity": Series(["state"], "cosine", numbers(found.similarity.mean(0))),
            f"{drop}.gradient": Series(["layer"], None, numbers(found.gradient.mean(0))),
            f"{drop}.first_gradient": Series(
                ["depth"], None, numbers(found.first_gradient.mean(0))
            ),
        }
    return Result(request, PAPERS, series)
