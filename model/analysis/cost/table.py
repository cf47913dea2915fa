"""Multiply-adds of a block, its parts and rivals, counted in two ways; must not know memory.

Only matrix products are counted (a FLOP counter gives two FLOPs for each multiply-add). Left out
are the additions of biases, softmax, LayerNorm and activations, which grow as n·d or n²·H.

Sources: Vaswani et al. 2017, table 1 and section 4; Gehring et al. 2017 (convolutions of width 3).
"""

from dataclasses import dataclass

from model.analysis.cost.formula import Count, Sizes, Term, count, order
from model.analysis.cost.request import CostRequest, sizes_of


@dataclass(frozen=True)
class Depth:
    """A number of layers or steps, as figure and as formula."""

    value: int
    formula: str


@dataclass(frozen=True)
class Row:
    """One line of the table.

    Attributes:
        multiply_adds: of the whole layer, all its matrices included.
        pairs_only: as the paper's table 1 counts: of an attention the products between positions
            alone, of other layers everything; null for what table 1 does not have.
        steps: results that have to wait for one another; null where only a part of a layer.
        path: layers, at least one, until the two farthest positions meet.
        dilated, dilated_causal: the path of convolutions whose gaps grow by the factor k.
        kernel: of a convolution, k.
    """

    name: str
    weights: Count
    multiply_adds: Count
    order: str
    pairs_only: Count | None = None
    pairs_only_order: str | None = None
    steps: Depth | None = None
    path: Depth | None = None
    dilated: Depth | None = None
    dilated_causal: Depth | None = None
    kernel: int | None = None


_ONE = Depth(1, "1")


def table(request: CostRequest) -> list[Row]:
    """The parts of a block, the block, and what could stand in its place."""
    sizes = sizes_of(request)
    matrices, mlp = sizes.term(4, "n d d", "matrices"), sizes.term(2, "n d d_ff", "mlp")
    return [
        *_products(request, sizes),
        *_attentions(sizes, matrices, mlp),
        _recurrent("recurrent", 2, sizes),
        _recurrent("lstm", 8, sizes),
        _convolution("convolution", request.kernel, sizes, asked=True),
        _convolution("convolution_3", 3, sizes, asked=False),
        *_restricted(request, sizes, matrices, mlp),
        Row(
            "perceptron",
            sizes.one(1, "n n d d"),
            sizes.one(1, "n n d d"),
            "O(n²d²)",
            steps=_ONE,
            path=_ONE,
        ),
    ]


def _products(request: CostRequest, sizes: Sizes) -> list[Row]:
    """From one dot product to the steps of an attention."""
    none, one = sizes.one(0, ""), sizes.one
    # d divides into H heads, so the quotient is whole.
    part = Term(1, {"d": 2}, "per_head", request.d_model**2 // request.n_heads)
    per_head = Count(part.value, "d²/H", [part])
    return [
        Row("dot_product", none, one(1, "d"), "O(d)"),
        Row("matrix_vector", one(1, "d d"), one(1, "d d"), "O(d²)"),
        Row("matrix_vector_head", per_head, per_head, "O(d²)"),
        Row("qkv", one(3, "d d"), one(3, "n d d"), "O(nd²)", steps=_ONE),
        Row("scores", none, one(1, "n n d"), "O(n²d)", steps=_ONE),
        Row("mixing", none, one(1, "n n d"), "O(n²d)", steps=_ONE),
        Row("output", one(1, "d d"), one(1, "n d d"), "O(nd²)", steps=_ONE),
    ]


def _attentions(sizes: Sizes, matrices: Term, mlp: Term) -> list[Row]:
    between = sizes.term(2, "n n d", "pairs")
    cross = (
        sizes.term(2, "n d d", "keys_values"),
        sizes.term(2, "m d d", "queries_output"),
        sizes.term(2, "m n d", "pairs"),
    )
    four = sizes.one(4, "d d")
    return [
        Row(
            "self_attention",
            four,
            count(matrices, between),
            order(matrices, between),
            count(between),
            order(between),
            _ONE,
            _ONE,
        ),
        Row(
            "cross_attention",
            four,
            count(*cross),
            order(*cross),
            count(cross[2]),
            order(cross[2]),
            _ONE,
            _ONE,
        ),
        Row("mlp", sizes.one(2, "d d_ff"), count(mlp), order(mlp), steps=_ONE),
        Row(
            "block",
            _block_weights(sizes),
            count(matrices, between, mlp),
            order(matrices, between, mlp),
            steps=_ONE,
            path=_ONE,
        ),
    ]


def _restricted(request: CostRequest, sizes: Sizes, matrices: Term, mlp: Term) -> list[Row]:
    """Attention that sees w keys to each side, alone and in a block."""
    window, grown = sizes.term(2, "p d", "pairs"), sizes.term(1, "r n d")
    path = Depth(max(1, _ceil_div(request.n_ctx - 1, request.radius)), "⌈(n−1)/w⌉")
    return [
        Row(
            "restricted_attention",
            sizes.one(4, "d d"),
            count(matrices, window),
            order(matrices, grown),
            count(window),
            order(grown),
            _ONE,
            path,
        ),
        Row(
            "restricted_block",
            _block_weights(sizes),
            count(matrices, window, mlp),
            order(matrices, grown, mlp),
            steps=_ONE,
            path=path,
        ),
    ]


def _block_weights(sizes: Sizes) -> Count:
    return count(sizes.term(4, "d d", "attention"), sizes.term(2, "d d_ff", "mlp"))


def _recurrent(name: str, matrices: int, sizes: Sizes) -> Row:
    """Each position multiplies its input and the state before it by matrices of d × d."""
    adds = sizes.one(matrices, "n d d")
    waits = Depth(sizes.values["n"], "n")
    return Row(name, sizes.one(matrices, "d d"), adds, "O(nd²)", adds, "O(nd²)", waits, waits)


def _convolution(name: str, kernel: int, sizes: Sizes, asked: bool) -> Row:
    """A convolution over positions; zeros beyond the ends are counted as any other input."""
    n = sizes.values["n"]
    adds = sizes.one(1, "k n d d") if asked else sizes.one(kernel, "n d d")
    return Row(
        name,
        sizes.one(1, "k d d") if asked else sizes.one(kernel, "d d"),
        adds,
        "O(knd²)",
        adds,
        "O(knd²)",
        _ONE,
        Depth(max(1, _ceil_div(2 * (n - 1), kernel - 1)), "⌈2(n−1)/(k−1)⌉"),
        # L layers with gaps up to 1, k, k², … see (k^L - 1) / 2 positions to each side, or k^L - 1
        # backwards.
        Depth(max(1, _ceil_log(2 * n - 1, kernel)), "⌈log_k(2n−1)⌉"),
        Depth(max(1, _ceil_log(n, kernel)), "⌈log_k n⌉"),
        kernel,
    )


def _ceil_div(number: int, by: int) -> int:
    return -(-number // by)


def _ceil_log(number: int, base: int) -> int:
    """The smallest exponent whose power of ``base`` reaches ``number``, in whole numbers."""
    exponent, reached = 0, 1
    while reached < number:
        exponent, reached = exponent + 1, reached * base
    return exponent
