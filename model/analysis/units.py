"""Units of an FFN: which of them write at a position, and which tokens drive one; must not run.

The FFN's write is a sum over units, activation times the unit's row of W_out, plus b_out (Geva et
al. 2021, "Transformer Feed-Forward Layers Are Key-Value Memories").
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from model.analysis.writes import cosine, share, sublayer
from model.hooks import Recorder
from model.layers import FeedForward
from model.transformer import Transformer


@dataclass(frozen=True)
class UnitWrite:
    """One unit at one position.

    Attributes:
        pre, activation: before and after the activation function.
        write_length: |activation · W_out[unit]|.
        cosine: of the write with the skip that it is added to.
        share: ⟨write, mlp_out⟩ / |mlp_out|².
    """

    unit: int
    pos: int
    pre: float
    activation: float
    write_length: float
    cosine: float
    share: float


@dataclass(frozen=True)
class Rest:
    """The units that are not listed, taken together."""

    count: int
    write_length: float
    share: float


@dataclass(frozen=True)
class BiasShare:
    """b_out, which belongs to no unit."""

    write_length: float
    share: float


@dataclass(frozen=True)
class StrongestUnits:
    """Attributes:
    active: how many of the ``d_mlp`` units have an activation above 0.
    """

    units: list[UnitWrite]
    rest: Rest
    bias: BiasShare
    active: int
    d_mlp: int


@dataclass(frozen=True)
class DrivingTokens:
    """One unit over all positions; ``tokens`` by activation, the largest first.

    Attributes:
        activations: at every position, in the text's order [pos].
        direction_length: |W_out[unit]|.
    """

    unit: int
    tokens: list[UnitWrite]
    activations: Tensor
    direction_length: float


def needed_points(layer: int) -> tuple[str, ...]:
    """What this analysis reads of its own block, beside what every trace records."""
    at = f"blocks.{layer}.mlp"
    return f"{at}.pre", f"{at}.post", f"{at}_out"


class FeedForwardUnits:
    """The FFN of one block of a recorded run, in float64."""

    def __init__(self, model: Transformer, recorder: Recorder, layer: int) -> None:
        at = f"blocks.{layer}.mlp"
        module = model.get_submodule(at)
        assert isinstance(module, FeedForward)
        self.pre = recorder.values[f"{at}.pre"].double()  # [pos, d_mlp]
        self.post = recorder.values[f"{at}.post"].double()  # [pos, d_mlp]
        self.out = recorder.values[f"{at}_out"].double()  # [pos, d_model]
        around = sublayer(recorder, model, f"{at}_out")
        self.skip = recorder.values[around.skip].double()  # [pos, d_model]
        self.rows = module.W_out.weight.double().T  # [d_mlp, d_model]
        self.bias = module.W_out.bias.double()  # [d_model]

    def strongest(self, pos: int, top_k: int) -> StrongestUnits:
        """The units that write most at one position, by the length of their write."""
        strength = self.post[pos].abs() * self.rows.norm(dim=-1)  # [d_mlp]
        chosen = strength.topk(min(top_k, len(strength))).indices
        left = torch.ones_like(strength)
        left[chosen] = 0
        rest = (self.post[pos] * left) @ self.rows
        return StrongestUnits(
            units=[self._at(unit, pos) for unit in chosen.tolist()],
            rest=Rest(len(strength) - len(chosen), float(rest.norm()), share(rest, self.out[pos])),
            bias=BiasShare(float(self.bias.norm()), share(self.bias, self.out[pos])),
            active=int((self.post[pos] > 0).sum()),
            d_mlp=len(strength),
        )

    def driving(self, unit: int, top_k: int) -> DrivingTokens:
        """The positions at which one unit is most active."""
        activations = self.post[:, unit]
        order = activations.argsort(descending=True, stable=True)[:top_k].tolist()
        return DrivingTokens(
            unit=unit,
            tokens=[self._at(unit, pos) for pos in order],
            activations=activations.float(),
            direction_length=float(self.rows[unit].norm()),
        )

    def writes(self, units: list[UnitWrite]) -> Tensor:
        """The vectors that listed units write [write, d_model]."""
        return torch.stack([self.post[u.pos, u.unit] * self.rows[u.unit] for u in units])

    def error(self) -> float:
        """Largest difference between the units' writes with b_out and the recorded ``mlp_out``."""
        return float((self.post @ self.rows + self.bias - self.out).abs().max())

    def _at(self, unit: int, pos: int) -> UnitWrite:
        write = self.post[pos, unit] * self.rows[unit]
        return UnitWrite(
            unit=unit,
            pos=pos,
            pre=float(self.pre[pos, unit]),
            activation=float(self.post[pos, unit]),
            write_length=float(write.norm()),
            cosine=cosine(write, self.skip[pos]),
            share=share(write, self.out[pos]),
        )
