"""How costs grow with the number of tokens, and where two are equal; must not know memory."""

from dataclasses import dataclass

from model.analysis.cost.request import CostRequest, pairs

# The lengths at which the share of the pairs is told, beside the asked one.
SHARE_LENGTHS = (128, 512, 1024, 4096)
CURVE_LENGTHS = tuple(2**power for power in range(4, 18))


@dataclass(frozen=True)
class Crossing:
    """At ``n`` tokens two lines of the curve have the same ``multiply_adds``; null: never."""

    name: str
    left: str
    right: str
    formula: str
    n: float | None
    multiply_adds: float | None


@dataclass(frozen=True)
class Curve:
    """Multiply-adds over the number of tokens, by name.

    ``pairs`` and ``matrices`` are the two kinds of products of one block.
    ``pairs_share``: share of the pairs in the block. ``map_bytes``: float32 bytes of the attention
    patterns of one block.
    """

    n: list[int]
    lines: dict[str, list[int]]
    pairs_share: list[float]
    map_bytes: list[int]


@dataclass(frozen=True)
class Share:
    """Share of the products between positions in the block's multiply-adds."""

    n: int
    share: float


def crossings(request: CostRequest) -> list[Crossing]:
    """Equal costs solved for n."""
    d, f, k = request.d_model, request.d_mlp, request.kernel
    solved = [
        ("pairs_recurrent", "pairs", "recurrent", "n = d", d),
        ("pairs_convolution", "pairs", "convolution", "n = kd/2", k * d / 2),
        ("attention_convolution", "self_attention", "convolution", "n = (k−4)d/2", (k - 4) * d / 2),
        ("attention_mlp", "self_attention", "mlp", "n = d_ff − 2d", f - 2 * d),
        ("pairs_matrices", "pairs", "matrices", "n = 2d + d_ff", 2 * d + f),
    ]
    return [
        Crossing(name, left, right, formula, float(n), _on_line(left, n, d))
        if n > 0
        else Crossing(name, left, right, formula, None, None)
        for name, left, right, formula, n in solved
    ]


def _on_line(line: str, n: float, d: int) -> float:
    """Multiply-adds of the pairs or of an attention at a length between whole numbers."""
    return 2 * n * n * d + (4 * n * d * d if line == "self_attention" else 0)


def curve(request: CostRequest) -> Curve:
    """The chart's lines, at powers of two and at the asked length."""
    lengths = sorted({*CURVE_LENGTHS, request.n_ctx})
    at = [_lines_at(request, n) for n in lengths]
    return Curve(
        n=lengths,
        lines={name: [lines[name] for lines in at] for name in at[0]},
        pairs_share=[pairs_share(request, n) for n in lengths],
        map_bytes=[4 * request.n_heads * n * n for n in lengths],
    )


def _lines_at(request: CostRequest, n: int) -> dict[str, int]:
    d, f = request.d_model, request.d_mlp
    between, projections, mlp = 2 * n * n * d, 4 * n * d * d, 2 * n * d * f
    return {
        "pairs": between,
        "matrices": projections + mlp,
        "self_attention": projections + between,
        "mlp": mlp,
        "block": projections + between + mlp,
        "recurrent": 2 * n * d * d,
        "convolution": request.kernel * n * d * d,
        "restricted_attention": projections + 2 * pairs(n, request.radius) * d,
        "perceptron": (n * d) ** 2,
    }


def pairs_share(request: CostRequest, n: int) -> float:
    """2n²d of 4nd² + 2n²d + 2nd·d_ff, which is n of n + 2d + d_ff."""
    return n / (n + 2 * request.d_model + request.d_mlp)
