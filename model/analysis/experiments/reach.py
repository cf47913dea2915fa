"""How far restricted attention reaches over depth, as gradients in float64; must not know texts."""

import math
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from model.analysis.experiments.results import Paper, Progress, Result, Run, Series, numbers
from model.analysis.experiments.stacks import (
    Block,
    Sizes,
    Weights,
    block_with,
    generator,
    pytorch_weights,
    random_weights,
    refuse_too_much,
    seeds_of,
)
from model.config import NORMS, ModelConfig, Norm
from model.layers import SelfAttention

PAPER = Paper(
    authors="Vaswani et al.",
    year=2017,
    title="Attention Is All You Need",
    where="section 4, table 1",
    arxiv="1706.03762",
    predicts=["first_depth = ceil((n_ctx - 1) / radius)"],
)

# An influence counts as felt from this share of a position's influence on itself on.
FELT = 0.01

Init = Literal["pytorch", "glorot"]


@dataclass(frozen=True)
class ReachRequest:
    """``radius``: keys that a position sees to each side; ``init``: how weights are drawn.

    ``pytorch``: as ``torch.nn.TransformerEncoderLayer`` does; ``glorot``: as the other experiments.
    """

    n_ctx: int = 65
    radius: int = 8
    depths: tuple[int, ...] = tuple(range(1, 25))
    d_model: int = 64
    n_heads: int = 4
    d_mlp: int = 256
    init: Init = "pytorch"
    seed: int = 0
    seeds: int = 4


class RestrictedAttention(SelfAttention):
    """Attention that sees ``radius`` keys to each side. Source: Vaswani et al. 2017, section 4."""

    def __init__(self, config: ModelConfig, radius: int) -> None:
        super().__init__(config)
        # On the CPU even under a meta device.
        place = torch.arange(config.n_ctx, device="cpu")
        self.far = (place[:, None] - place[None, :]).abs() > radius  # [query, key]

    def hide_later(self, scores: Tensor) -> Tensor:
        """Scores of keys outside the window, to either side, become minus infinity."""
        return scores.masked_fill(self.far, -math.inf)


def restricted_block(config: ModelConfig, weights: Weights, radius: int) -> Block:
    """A block in float64 over the given weights, whose Attention sees a window."""
    block = block_with(config, weights, torch.float64)
    with torch.device("meta"):
        attention = RestrictedAttention(config, radius)
    attention.load_state_dict(block.attn.state_dict(), assign=True)
    block.attn = attention
    return block.requires_grad_(False)


def first_depth(n_ctx: int, radius: int) -> int:
    """Layers from which on the first and the last position are joined by windows."""
    return max(1, math.ceil((n_ctx - 1) / radius))


def run(request: ReachRequest) -> Run[ReachRequest]:
    """Gradient of the last position's output, along a random direction, by every input.

    The blocks have no LayerNorm after them: it would look at the last position alone.

    Raises:
        ModelError: ``heads_do_not_divide``, ``experiment_too_large``.
    """
    sizes = Sizes(request.d_model, request.n_heads, request.d_mlp, request.n_ctx)
    configs = {norm: sizes.config(norm) for norm in NORMS}
    weights_of = pytorch_weights if request.init == "pytorch" else random_weights
    deepest, depths = max(request.depths), sorted(set(request.depths))
    # float64 takes twice the time of float32.
    refuse_too_much(sizes, 2 * len(NORMS) * request.seeds * (sum(depths) + deepest))
    shape = (request.seeds, len(depths), request.n_ctx)
    influence = {norm: torch.zeros(shape, dtype=torch.float64) for norm in NORMS}
    done, total = 0, request.seeds * len(NORMS) * len(depths)
    for row, seed in enumerate(seeds_of(request.seed, request.seeds)):
        draw = generator(seed)
        x = torch.randn(request.n_ctx, request.d_model, generator=draw).double()
        direction = torch.randn(request.d_model, generator=draw).double()
        weights = [weights_of(configs["pre"], draw) for _ in range(deepest)]
        for norm in NORMS:
            entered = x.clone().requires_grad_()
            state: Tensor = entered
            for depth in range(1, deepest + 1):
                state = restricted_block(configs[norm], weights[depth - 1], request.radius)(state)
                if depth in depths:
                    felt = state[-1] @ direction
                    (gradient,) = torch.autograd.grad(felt, entered, retain_graph=True)
                    lengths = gradient.norm(dim=-1)  # [pos]
                    influence[norm][row, depths.index(depth)] = lengths / lengths[-1]
                    done += 1
                    yield Progress(done, total)
    return _result(request, depths, influence)


def _result(
    request: ReachRequest, depths: list[int], influence: dict[Norm, Tensor]
) -> Result[ReachRequest]:
    series = {
        "depth": Series(["depth"], "layers", depths),
        "pos": Series(["pos"], None, list(range(request.n_ctx))),
    }
    for norm in NORMS:
        mean = influence[norm].mean(0)  # [depth, pos]
        felt = (mean >= FELT).int().argmax(-1)  # the first position that is felt
        # Where the blocks' states overflow nothing is known, not even of the position itself.
        reached = torch.where(mean.isfinite().all(-1), request.n_ctx - 1.0 - felt, torch.nan)
        series |= {
            f"{norm}.influence": Series(["depth", "pos"], "share", numbers(mean)),
            f"{norm}.first_on_last": Series(
                ["seed", "depth"], "share", numbers(influence[norm][:, :, 0])
            ),
            f"{norm}.felt": Series(["depth"], "positions", numbers(reached)),
        }
    facts = {"first_depth": float(first_depth(request.n_ctx, request.radius)), "felt": FELT}
    return Result(request, [PAPER], series, facts=facts)
