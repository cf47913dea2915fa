"""Random blocks with inputs and a loss, and what they may cost; must not know any experiment."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from model import limits
from model.analysis.cost.request import CostRequest
from model.analysis.cost.table import table
from model.block import PostLNBlock, PreLNBlock
from model.config import ModelConfig, Norm
from model.errors import ModelError

Block = PostLNBlock | PreLNBlock
Weights = dict[str, Tensor]

BLOCKS: dict[Norm, Callable[[ModelConfig], Block]] = {"post": PostLNBlock, "pre": PreLNBlock}

# Of one block's forward and backward: what the calls around the products take, as multiply-adds.
CALLS = 20_000_000


@dataclass(frozen=True)
class Sizes:
    d_model: int
    n_heads: int
    d_mlp: int
    n_ctx: int

    def config(self, norm: Norm) -> ModelConfig:
        """A configuration for blocks alone: vocabulary and positions play no part.

        Raises:
            ModelError: ``heads_do_not_divide``.
        """
        if self.d_model % self.n_heads:
            raise ModelError(
                "heads_do_not_divide",
                field="n_heads",
                d_model=self.d_model,
                n_heads=self.n_heads,
            )
        return ModelConfig(
            d_model=self.d_model,
            n_heads=self.n_heads,
            d_mlp=self.d_mlp,
            n_layers=1,
            n_ctx=self.n_ctx,
            d_vocab=1,
            norm=norm,
            positions="learned",
        )


def generator(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def seeds_of(first: int, many: int) -> range:
    """Seeds of the repetitions."""
    return range(first, first + many)


def random_weights(config: ModelConfig, draw: torch.Generator) -> Weights:
    """One block's weights: gamma 1, biases 0, matrices normal with Glorot and Bengio's variance.

    Source: Glorot and Bengio 2010, equation 12.
    """
    with torch.device("meta"):
        shapes = {name: p.shape for name, p in PreLNBlock(config).named_parameters()}
    return {name: _initial(name, shape, draw) for name, shape in shapes.items()}


def _initial(name: str, shape: torch.Size, draw: torch.Generator) -> Tensor:
    if len(shape) == 1:
        return torch.full(shape, 1.0 if name.endswith(".w") else 0.0)
    return torch.randn(shape, generator=draw) * math.sqrt(2 / sum(shape))


def pytorch_weights(config: ModelConfig, draw: torch.Generator) -> Weights:
    """One block's weights, distributed as ``torch.nn.TransformerEncoderLayer`` draws its own.

    Uniform: Q, K and V as one matrix by Glorot and Bengio's rule, others within 1 / sqrt(inputs).
    """
    weights = random_weights(config, draw)
    for name, weight in weights.items():
        if weight.ndim == 2:
            joined = name in ("attn.W_Q.weight", "attn.W_K.weight", "attn.W_V.weight")
            inputs = weight.shape[1]
            bound = math.sqrt(6 / (4 * inputs)) if joined else 1 / math.sqrt(inputs)
            weights[name] = (2 * torch.rand(weight.shape, generator=draw) - 1) * bound
    return weights


def random_matrix(rows: int, columns: int, draw: torch.Generator) -> Tensor:
    """A matrix with the same variance as those of a block."""
    return torch.randn(rows, columns, generator=draw) * math.sqrt(2 / (rows + columns))


def block_with(config: ModelConfig, weights: Weights, dtype: torch.dtype = torch.float32) -> Block:
    """A block of the configuration's placement, over copies of the weights."""
    with torch.device("meta"):
        block = BLOCKS[config.norm](config)
    own = {name: weight.to(dtype, copy=True) for name, weight in weights.items()}
    block.load_state_dict(own, assign=True)
    return block


@dataclass(frozen=True)
class Start:
    """What one seed draws: inputs [pos, d_model], an exit, targets [pos], and every block."""

    x: Tensor
    exit: Tensor
    targets: Tensor
    weights: list[Weights]


def start(sizes: Sizes, deepest: int, seed: int) -> Start:
    """The same for both placements; a shallower stack is the beginning of a deeper one."""
    config, draw = sizes.config("pre"), generator(seed)
    return Start(
        x=torch.randn(sizes.n_ctx, sizes.d_model, generator=draw),
        exit=random_matrix(sizes.d_model, sizes.d_model, draw),
        targets=torch.randint(sizes.d_model, (sizes.n_ctx,), generator=draw),
        weights=[random_weights(config, draw) for _ in range(deepest)],
    )


def loss_of(state: Tensor, begun: Start, final_norm: bool) -> Tensor:
    """Cross-entropy of random targets behind a random exit (nats, mean over positions).

    The final LayerNorm of Pre-LN has gamma 1 and beta 0, as at the start of a training.
    """
    if final_norm:
        state = F.layer_norm(state, state.shape[-1:])
    return F.cross_entropy(state @ begun.exit, begun.targets)


def refuse_too_much(sizes: Sizes, passes: int) -> None:
    """Raise ``experiment_too_large`` where so many blocks, there and back, would take minutes."""
    request = CostRequest(sizes.d_model, sizes.n_heads, sizes.d_mlp, sizes.n_ctx)
    block = next(row for row in table(request) if row.name == "block").multiply_adds.value
    # A backward pass has two products for each one of the forward pass.
    refuse_multiply_adds(passes * (3 * block + CALLS))


def refuse_multiply_adds(work: int) -> None:
    """Raise ``experiment_too_large`` where so many multiply-adds would take minutes."""
    if work > limits.MAX_EXPERIMENT_MULTIPLY_ADDS:
        raise ModelError(
            "experiment_too_large",
            multiply_adds=work,
            limit=limits.MAX_EXPERIMENT_MULTIPLY_ADDS,
        )
