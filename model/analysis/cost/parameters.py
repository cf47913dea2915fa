"""The learned numbers of a block, matrix by matrix; must not know operations or memory."""

from dataclasses import dataclass

from model.analysis.cost.formula import Count, Sizes, collected, times
from model.analysis.cost.request import CostRequest, sizes_of


@dataclass(frozen=True)
class Parameter:
    """A matrix or vector; ``group``: attention, mlp or norm; ``kind``: weight or bias."""

    name: str
    group: str
    kind: str
    shape: list[int]
    count: Count


@dataclass(frozen=True)
class Parameters:
    """Learned numbers of one block, and of all of them.

    Attributes:
        attention, mlp: weights of the two sublayers, without biases.
        weights: their sum; ``biases`` and ``norms`` (gamma and beta) come to it for ``block``.
        all_blocks: ``n_layers`` times ``block``.
        final_norm: what the LayerNorm after all blocks of a Pre-LN model adds.
        weights_at_2d: weights of a block whose d_mlp is 2 · d_model.
        perceptron: weights of one fully connected layer over all components of all tokens;
            ``perceptron_at_2n``: the same for twice the tokens.
        to_mlp, to_weights, to_block: how many times those are more.
    """

    matrices: list[Parameter]
    attention: Count
    mlp: Count
    weights: Count
    biases: Count
    norms: Count
    block: Count
    all_blocks: Count
    final_norm: Count
    weights_at_2d: Count
    perceptron: Count
    perceptron_at_2n: Count
    to_mlp: float
    to_weights: float
    to_block: float


def parameters(request: CostRequest) -> Parameters:
    """Every matrix and vector of a block, and what they add up to."""
    sizes = sizes_of(request)
    matrices = _matrices(request, sizes)

    def total(*kept: tuple[str, str]) -> Count:
        return collected(m.count for m in matrices if (m.group, m.kind) in kept)

    attention, mlp = total(("attention", "weight")), total(("mlp", "weight"))
    weights = collected([attention, mlp])
    biases = total(("attention", "bias"), ("mlp", "bias"))
    norms = total(("norm", "weight"), ("norm", "bias"))
    block = collected([weights, biases, norms])
    perceptron = sizes.one(1, "n n d d")
    return Parameters(
        matrices=matrices,
        attention=attention,
        mlp=mlp,
        weights=weights,
        biases=biases,
        norms=norms,
        block=block,
        all_blocks=times(request.n_layers, block.terms),
        final_norm=sizes.one(2, "d"),
        weights_at_2d=sizes.one(8, "d d"),
        perceptron=perceptron,
        perceptron_at_2n=times(4, perceptron.terms),
        to_mlp=perceptron.value / mlp.value,
        to_weights=perceptron.value / weights.value,
        to_block=perceptron.value / block.value,
    )


def _matrices(request: CostRequest, sizes: Sizes) -> list[Parameter]:
    """In the order of the block; the names are those of the trace."""
    d, f = request.d_model, request.d_mlp
    found = []
    for letter in "QKVO":
        found.append(Parameter(f"W_{letter}", "attention", "weight", [d, d], sizes.one(1, "d d")))
        found.append(Parameter(f"b_{letter}", "attention", "bias", [d], sizes.one(1, "d")))
    found += [
        Parameter("W_in", "mlp", "weight", [d, f], sizes.one(1, "d d_ff")),
        Parameter("b_in", "mlp", "bias", [f], sizes.one(1, "d_ff")),
        Parameter("W_out", "mlp", "weight", [f, d], sizes.one(1, "d d_ff")),
        Parameter("b_out", "mlp", "bias", [d], sizes.one(1, "d")),
    ]
    for norm in ("ln1", "ln2"):
        found.append(Parameter(f"{norm}.w", "norm", "weight", [d], sizes.one(1, "d")))
        found.append(Parameter(f"{norm}.b", "norm", "bias", [d], sizes.one(1, "d")))
    return found
