"""Lengths and angles along the residual stream, from recorded values; must not run a model."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import torch.nn.functional as F
from torch import Tensor

from model.hooks import Step


@dataclass(frozen=True)
class State:
    """A state of the stream; ``length`` [pos] is the root of the sum of squares."""

    point: str
    length: Tensor


@dataclass(frozen=True)
class Write:
    """One thing that an Add adds: its length and its cosine with what was there, both [pos]."""

    point: str
    skip: str
    sum: str
    length: Tensor
    cosine: Tensor


@dataclass(frozen=True)
class Stream:
    states: list[State]
    writes: list[Write]


def is_state(point: str, norm: str) -> bool:
    """Whether a point lies on the stream: in Post-LN the norms stand on it too."""
    return (
        point == "ln_final.out"
        or point.endswith((".resid_pre", ".resid_mid", ".resid_post"))
        or (norm == "post" and point.endswith((".ln1.out", ".ln2.out")))
    )


def stream_of(
    points: Iterable[str], norm: str, steps: list[Step], values: Mapping[str, Tensor]
) -> Stream:
    """States in the order of the run, and the writes of every Add that ran."""
    return Stream(
        states=[
            State(point, values[point].norm(dim=-1)) for point in points if is_state(point, norm)
        ],
        writes=[
            Write(
                point=write,
                skip=step.inputs[0],
                sum=step.output,
                length=values[write].norm(dim=-1),
                cosine=F.cosine_similarity(values[write], values[step.inputs[0]], dim=-1),
            )
            for step in steps
            if step.kind == "add"
            for write in step.inputs[1:]
        ],
    )
