"""Add & Norm on vectors typed by hand, stage by stage in float64; must not know models or texts."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from model.config import Norm
from model.errors import ModelError

# The stages of a LayerNorm, in order; `added` comes before them in Post-LN, after in Pre-LN.
NORM_STAGES = ["mean", "var", "scale", "centred", "normalized", "out"]


@dataclass(frozen=True)
class AddNormFlag:
    """A stage whose value is no finite number: a spread of 0 with eps 0, or numbers too large."""

    code: str
    stage: str
    count: int


@dataclass(frozen=True)
class AddNorm:
    """Every stage's value. ``steps`` names the stages in the order of the placement.

    Attributes:
        f_input: what F reads: x in Post-LN, LayerNorm(x) in Pre-LN.
        update: what F returned: as typed, or W · f_input + b.
        added: x + update.
        mean, var, scale, centred, normalized, out: of the LayerNorm, which reads ``added`` in
            Post-LN and x in Pre-LN; biased variance, scale = sqrt(var + eps).
        result: what leaves: ``out`` in Post-LN, ``added`` in Pre-LN.
    """

    placement: Norm
    eps: float
    x: list[float]
    gamma: list[float]
    beta: list[float]
    f_input: list[float]
    update: list[float]
    added: list[float]
    mean: float
    var: float
    scale: float
    centred: list[float]
    normalized: list[float]
    out: list[float]
    result: list[float]
    steps: list[str]
    flags: list[AddNormFlag]


def add_norm(
    x: Sequence[float],
    placement: Norm,
    eps: float,
    *,
    update: Sequence[float] | None = None,
    matrix: Sequence[Sequence[float]] | None = None,
    bias: Sequence[float] | None = None,
    gamma: Sequence[float] | None = None,
    beta: Sequence[float] | None = None,
) -> AddNorm:
    """LayerNorm(x + F(x)) or x + F(LayerNorm(x)); F's answer is typed, or F(v) = Wv + b.

    Args:
        x: the vector that stands before the sublayer, n numbers.
        update: what F returned, n numbers; excludes ``matrix``.
        matrix: W, n rows of n numbers; ``bias`` is b, zeros if null.
        gamma, beta: n numbers each; ones and zeros if null.

    Raises:
        ModelError: ``lengths_differ`` (names both), ``update_or_matrix``, ``bias_without_matrix``.
    """
    n = len(x)
    if (update is None) == (matrix is None):
        raise ModelError("update_or_matrix", field="update")
    if bias is not None and matrix is None:
        raise ModelError("bias_without_matrix", field="bias")
    typed = {"update": update, "bias": bias, "gamma": gamma, "beta": beta, "matrix": matrix}
    for name, vector in typed.items():
        if vector is not None and len(vector) != n:
            raise ModelError(
                "lengths_differ", field=name, name=name, length=len(vector), expected=n
            )
    for place, row in enumerate(matrix or ()):
        if len(row) != n:
            name = f"matrix[{place}]"
            raise ModelError("lengths_differ", field=name, name=name, length=len(row), expected=n)

    stream = _vector(x)
    factor = torch.ones(n, dtype=torch.float64) if gamma is None else _vector(gamma)
    offset = torch.zeros(n, dtype=torch.float64) if beta is None else _vector(beta)

    def sublayer(v: Tensor) -> Tensor:
        if matrix is None:
            assert update is not None
            return _vector(update)
        product = torch.tensor([list(row) for row in matrix], dtype=torch.float64) @ v
        return product if bias is None else product + _vector(bias)

    if placement == "post":
        f_input = stream
        written = sublayer(f_input)
        added = stream + written
        norm = _layer_norm(added, eps, factor, offset)
    else:
        norm = _layer_norm(stream, eps, factor, offset)
        f_input = norm["out"]
        written = sublayer(f_input)
        added = stream + written
    stages = {"f_input": f_input, "update": written, "added": added, **norm}
    return AddNorm(
        placement=placement,
        eps=eps,
        x=stream.tolist(),
        gamma=factor.tolist(),
        beta=offset.tolist(),
        result=(norm["out"] if placement == "post" else added).tolist(),
        steps=["update", "added", *NORM_STAGES]
        if placement == "post"
        else [*NORM_STAGES, "update", "added"],
        flags=[
            AddNormFlag("non_finite", stage, count)
            for stage, value in stages.items()
            if (count := int((~value.isfinite()).sum()))
        ],
        **{stage: value.tolist() for stage, value in stages.items()},  # type: ignore[arg-type]
    )


def _vector(numbers: Sequence[float]) -> Tensor:
    return torch.tensor(list(numbers), dtype=torch.float64)


def _layer_norm(x: Tensor, eps: float, gamma: Tensor, beta: Tensor) -> dict[str, Tensor]:
    mean = x.mean()
    centred = x - mean
    # Population variance: divided by the number of components, not by one less.
    var = centred.square().mean()
    scale = (var + eps).sqrt()
    normalized = centred / scale
    return {
        "mean": mean,
        "var": var,
        "scale": scale,
        "centred": centred,
        "normalized": normalized,
        "out": normalized * gamma + beta,
    }
