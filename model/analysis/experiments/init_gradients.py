"""Gradients at initialisation in both placements, over depth; must not know training or texts."""

from dataclasses import dataclass

import torch
from torch import Tensor

from model.analysis.experiments.fits import interval, power_law
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
from model.config import NORMS, Norm

PREDICTED: dict[Norm, float] = {"post": 0.0, "pre": -0.5}

PAPER = Paper(
    authors="Xiong et al.",
    year=2020,
    title="On Layer Normalization in the Transformer Architecture",
    where="theorem 1, figure 3",
    arxiv="2002.04745",
    predicts=["post.last ~ L^0", "pre.last ~ L^(-1/2)"],
)


@dataclass(frozen=True)
class InitGradientsRequest:
    depths: tuple[int, ...] = (2, 4, 8, 12, 16, 24)
    d_model: int = 64
    n_heads: int = 4
    d_mlp: int = 256
    n_ctx: int = 32
    seed: int = 0
    seeds: int = 20


def gradients(blocks: list[Block], begun: Start, norm: Norm) -> list[Tensor]:
    """Gradient of the loss by the FFN's second matrix of every block."""
    state = begun.x
    for block in blocks:
        state = block(state)
    matrices = [block.mlp.W_out.weight for block in blocks]
    return list(torch.autograd.grad(loss_of(state, begun, final_norm=norm == "pre"), matrices))


def run(request: InitGradientsRequest) -> Run[InitGradientsRequest]:
    """Measure Frobenius norms for every seed, placement and depth.

    Raises:
        ModelError: ``heads_do_not_divide``, ``experiment_too_large``.
    """
    sizes = Sizes(request.d_model, request.n_heads, request.d_mlp, request.n_ctx)
    depths = request.depths
    configs = {norm: sizes.config(norm) for norm in NORMS}
    refuse_too_much(sizes, len(NORMS) * request.seeds * sum(depths))
    shape = (request.seeds, len(depths), max(depths))
    lengths = {norm: torch.full(shape, torch.nan) for norm in NORMS}  # [seed, depth, layer]
    done, total = 0, request.seeds * len(NORMS) * len(depths)
    for row, seed in enumerate(seeds_of(request.seed, request.seeds)):
        begun = start(sizes, max(depths), seed)
        for norm in NORMS:
            blocks = [block_with(configs[norm], weights) for weights in begun.weights]
            for column, depth in enumerate(depths):
                found = gradients(blocks[:depth], begun, norm)
                lengths[norm][row, column, :depth] = torch.stack([g.norm() for g in found])
                done += 1
                yield Progress(done, total)
    return _result(request, lengths)


def _result(
    request: InitGradientsRequest, lengths: dict[Norm, Tensor]
) -> Result[InitGradientsRequest]:
    depths = torch.tensor(request.depths)
    series = {
        "depth": Series(["depth"], "layers", list(request.depths)),
        "seed": Series(["seed"], None, list(seeds_of(request.seed, request.seeds))),
    }
    fits = []
    facts = {}
    deepest = int(depths.argmax())
    for norm in NORMS:
        last = lengths[norm][:, torch.arange(len(depths)), depths - 1]  # [seed, depth]
        mean = last.mean(0)
        low, high = interval(last)
        law = mean[0] * (depths / depths[0]) ** PREDICTED[norm]
        series |= {
            f"{norm}.last": Series(["seed", "depth"], None, numbers(last)),
            f"{norm}.last_mean": Series(["depth"], None, numbers(mean)),
            f"{norm}.last_low": Series(["depth"], None, numbers(low)),
            f"{norm}.last_high": Series(["depth"], None, numbers(high)),
            f"{norm}.predicted": Series(["depth"], None, numbers(law)),
            f"{norm}.layers": Series(["depth", "layer"], None, numbers(lengths[norm].mean(0))),
        }
        names = ("depth", f"{norm}.last")
        layers = lengths[norm].mean(0)[deepest]
        facts[f"{norm}.first_over_last"] = (layers[0] / layers[max(request.depths) - 1]).item()
        fits.append(power_law(request.depths, last, names, PREDICTED[norm]))
    facts["deepest"] = float(max(request.depths))
    return Result(request, [PAPER], series, [fit for fit in fits if fit], facts)
