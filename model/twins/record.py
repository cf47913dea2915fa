"""What a run writes down at fixed steps; must not know how a step is made."""

from dataclasses import asdict, dataclass, field
from typing import Any

import torch
from torch import Tensor

from model.transformer import Transformer
from model.twins import scores
from model.twins.text import LANGUAGES, Language, Tokens

HELD_OUT_ROWS = 24
EARLY = (25, 50, 100, 200, 300)


@dataclass
class Record:
    """Series over the recorded steps; index r is the same moment in each.

    Attributes:
        steps: updates made before the moment.
        rate: learning rate as a share of its peak.
        loss: training loss (nats per token), mean since the moment before; repeated rows included.
        held_out: loss on text that is not trained on (nats per token), by language.
        gradient: L2 norm before clipping, [moment, part]; parts are named in ``parts``.
        previous_token, induction: head scores, [moment, layer, head].
        repeated_first, repeated_second: loss on random tokens and on the same tokens said again.
    """

    parts: list[str]
    steps: list[int] = field(default_factory=list)
    rate: list[float] = field(default_factory=list)
    loss: list[float] = field(default_factory=list)
    held_out: dict[str, list[float]] = field(
        default_factory=lambda: {name: [] for name in LANGUAGES}
    )
    gradient: list[list[float]] = field(default_factory=list)
    previous_token: list[list[list[float]]] = field(default_factory=list)
    induction: list[list[list[float]]] = field(default_factory=list)
    repeated_first: list[float] = field(default_factory=list)
    repeated_second: list[float] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        return rounded(asdict(self))  # type: ignore[no-any-return]


def moments(steps: int) -> set[int]:
    """Steps at which a run of that length is measured: often at first, then about sixty times."""
    every = max(10, steps // 60)
    return {0, steps} | {s for s in EARLY if s < steps} | set(range(0, steps - every // 2, every))


class Probes:
    """The texts that measurements are made on, the same at every moment and for both twins."""

    def __init__(
        self, held_out: dict[Language, Tokens], bos_id: int, d_vocab: int, length: int
    ) -> None:
        self.rows = {name: held_out_rows(text, bos_id, length) for name, text in held_out.items()}
        self.repeated = scores.repeated_tokens(bos_id, d_vocab)

    def measure(self, model: Transformer, record: Record) -> None:
        """Append held-out losses, head scores and the losses on repeated tokens."""
        previous = []
        for name, ids in self.rows.items():
            pattern, state = scores.patterns(model, ids)
            previous.append(scores.previous_token(pattern).values)
            record.held_out[name].append(float(scores.token_losses(model, state, ids).mean()))
        record.previous_token.append(torch.stack(previous).mean(0).tolist())
        pattern, state = scores.patterns(model, self.repeated)
        record.induction.append(scores.induction(pattern, self.repeated).values.tolist())
        first, second = scores.halves(scores.token_losses(model, state, self.repeated))
        record.repeated_first.append(first)
        record.repeated_second.append(second)


def held_out_rows(text: Tokens, bos_id: int, length: int) -> Tensor:
    """Rows [row, pos] spread evenly over a text, each ``<s>`` and then from the start of a line."""
    fits = text.starts[text.starts + length - 1 <= len(text.ids)]
    if len(fits) == 0:
        raise ValueError(f"held-out text has {len(text.ids)} tokens, a row takes {length - 1}")
    chosen = fits[:: max(1, len(fits) // HELD_OUT_ROWS)][:HELD_OUT_ROWS]
    rows = [[bos_id, *text.ids[start : start + length - 1]] for start in chosen]
    return torch.tensor(rows)


def part_names(model: Transformer) -> list[str]:
    """Names of the parts whose gradients are measured."""
    blocks = [f"blocks.{layer}" for layer in range(len(model.blocks))]
    return ["embed", *blocks] + (["ln_final"] if model.ln_final is not None else [])


def gradient_norms(model: Transformer) -> list[float]:
    """L2 norm of the gradient of each part, in the order of :func:`part_names`."""
    parts = [model.embed, *model.blocks] + ([model.ln_final] if model.ln_final is not None else [])
    norms = []
    for part in parts:
        squares = [p.grad.square().sum() for p in part.parameters() if p.grad is not None]
        norms.append(float(torch.stack(squares).sum().sqrt()))
    return norms


def rounded(value: Any) -> Any:
    """Floats of nested lists to five significant digits: enough for a chart, half the bytes."""
    if isinstance(value, float):
        return float(f"{value:.5g}")
    if isinstance(value, list):
        return [rounded(item) for item in value]
    if isinstance(value, dict):
        return {key: rounded(item) for key, item in value.items()}
    return value
