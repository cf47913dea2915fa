"""The sizes that a cost is counted for, and their symbols; must not know what is counted.

Symbols: n = n_ctx tokens, d = d_model, d_ff = d_mlp, H = n_heads, k = kernel, w = radius (keys to
each side), r = 2w + 1, p = pairs that a window lets through, m = n_queries of a cross-attention.
"""

from dataclasses import dataclass

from model import limits
from model.analysis.cost.formula import Sizes
from model.errors import ModelError


@dataclass(frozen=True)
class CostRequest:
    """Sizes; the defaults are the paper's base block on 512 tokens."""

    d_model: int = 512
    n_heads: int = 8
    d_mlp: int = 2048
    n_ctx: int = 512
    n_layers: int = 1
    kernel: int = 5
    radius: int = 64
    n_queries: int = 1


def refuse_misfits(request: CostRequest) -> None:
    """Raise a ModelError where sizes do not fit together."""
    if request.d_model % request.n_heads:
        raise ModelError(
            "heads_do_not_divide",
            field="n_heads",
            d_model=request.d_model,
            n_heads=request.n_heads,
        )
    if request.kernel % 2 == 0:
        # An even one has no middle: what it sees to each side would differ.
        raise ModelError("kernel_is_even", field="kernel", kernel=request.kernel)
    components = request.n_ctx * request.d_model
    if components > limits.MAX_COST_COMPONENTS:
        raise ModelError(
            "too_many_components",
            field="n_ctx",
            components=components,
            limit=limits.MAX_COST_COMPONENTS,
        )


def sizes_of(request: CostRequest) -> Sizes:
    """The values of the symbols."""
    # A window wider than the text sees no more than the text.
    w = max(1, min(request.radius, request.n_ctx - 1))
    return Sizes(
        n=request.n_ctx,
        d=request.d_model,
        d_ff=request.d_mlp,
        H=request.n_heads,
        k=request.kernel,
        w=w,
        r=2 * w + 1,
        p=pairs(request.n_ctx, request.radius),
        m=request.n_queries,
    )


def pairs(n: int, radius: int) -> int:
    """Pairs of positions at most ``radius`` apart, each with itself: n(2w + 1) - w(w + 1)."""
    w = min(radius, n - 1)
    return n * (2 * w + 1) - w * (w + 1)
