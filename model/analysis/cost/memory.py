"""Bytes of weights, activations and attention maps; must not know operations."""

from dataclasses import dataclass

from model.analysis.cost.parameters import parameters
from model.analysis.cost.request import CostRequest

FLOAT32_BYTES = 4


@dataclass(frozen=True)
class Memory:
    """Bytes as float32. Activations: all that a run of the blocks computes and a trace names.

    Attributes:
        weights: of all blocks; ``perceptron``: of the fully connected layer.
        vectors: values with d_model components per position; ``hidden``: with d_mlp.
        maps: dot, attn_scores and pattern of every head; ``pattern``: the pattern alone.
        statistics: mean, variance and scale of the norms.
        activations: vectors, hidden, maps and statistics.
    """

    weights: int
    perceptron: int
    vectors: int
    hidden: int
    maps: int
    pattern: int
    statistics: int
    activations: int


def memory(request: CostRequest) -> Memory:
    """Count numbers, four bytes each."""
    n, d, f, layers = request.n_ctx, request.d_model, request.d_mlp, request.n_layers
    # What enters the first block; then q, k, v, z, two writes, two sums, and of each norm the
    # normalised vector and the output. A block's output is the next one's input.
    vectors = FLOAT32_BYTES * (1 + 12 * layers) * n * d
    hidden = FLOAT32_BYTES * layers * 2 * n * f
    pattern = FLOAT32_BYTES * layers * request.n_heads * n * n
    statistics = FLOAT32_BYTES * layers * 6 * n
    return Memory(
        weights=FLOAT32_BYTES * parameters(request).all_blocks.value,
        perceptron=FLOAT32_BYTES * (n * d) ** 2,
        vectors=vectors,
        hidden=hidden,
        maps=3 * pattern,
        pattern=pattern,
        statistics=statistics,
        activations=vectors + hidden + 3 * pattern + statistics,
    )
