"""What a Transformer block and its rivals cost, counted from sizes; must not know any weights."""

from dataclasses import dataclass

from model.analysis.cost.formula import Count, times
from model.analysis.cost.lines import (
    SHARE_LENGTHS,
    Crossing,
    Curve,
    Share,
    crossings,
    curve,
    pairs_share,
)
from model.analysis.cost.memory import Memory, memory
from model.analysis.cost.parameters import Parameters, parameters
from model.analysis.cost.request import CostRequest, refuse_misfits, sizes_of
from model.analysis.cost.table import Row, table

__all__ = ["Cost", "CostRequest", "cost"]


@dataclass(frozen=True)
class Cost:
    """The reply of ``GET /cost``.

    Attributes:
        symbols: value of each symbol of the formulas.
        rows: the table, for one layer each; ``multiply_adds`` and ``flops`` are of all blocks.
        perceptron_to_block: how many times one block's multiply-adds the perceptron's are.
    """

    request: CostRequest
    symbols: dict[str, int]
    parameters: Parameters
    rows: list[Row]
    multiply_adds: Count
    flops: int
    perceptron_to_block: float
    shares: list[Share]
    crossings: list[Crossing]
    curve: Curve
    memory: Memory


def cost(request: CostRequest) -> Cost:
    """Count everything.

    Raises:
        ModelError: ``heads_do_not_divide``, ``kernel_is_even``, ``too_many_components``.
    """
    refuse_misfits(request)
    rows = {row.name: row for row in table(request)}
    block = rows["block"].multiply_adds
    multiply_adds = times(request.n_layers, block.terms)
    lengths = sorted({*SHARE_LENGTHS, request.n_ctx})
    return Cost(
        request=request,
        symbols=sizes_of(request).values,
        parameters=parameters(request),
        rows=list(rows.values()),
        multiply_adds=multiply_adds,
        flops=2 * multiply_adds.value,
        perceptron_to_block=rows["perceptron"].multiply_adds.value / block.value,
        shares=[Share(n, pairs_share(request, n)) for n in lengths],
        crossings=crossings(request),
        curve=curve(request),
        memory=memory(request),
    )
