"""Lengths, angles and outlier dimensions along the stream, from recorded values; runs no model."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from model.analysis.compare import cosines
from model.hooks import Step

# Three standard deviations: Kovaleva et al. 2021, "BERT Busters: Outlier Dimensions that Disrupt
# Transformers", there of LayerNorm's weights, here of the stream's own components.
OUTLIER_TIMES = 3
# At one state in so many: the share of layers that Dettmers et al. 2022, "LLM.int8()", ask for.
OUTLIER_STATES = 4
LISTED = 8


@dataclass(frozen=True)
class State:
    """A state of the stream; ``length`` [pos] is the root of the sum of squares."""

    point: str
    length: Tensor


@dataclass(frozen=True)
class Write:
    """One thing that an Add adds, all [pos]: its length, and how it stands to what was there.

    Attributes:
        ratio: length of the write / length of the skip; not finite where the skip is zero.
        cosine: of the write with the skip; not a number where either is zero.
    """

    point: str
    skip: str
    sum: str
    length: Tensor
    ratio: Tensor
    cosine: Tensor


@dataclass(frozen=True)
class DimensionShare:
    """One dimension's part of the stream's squared length, x_i² / |x|², at every state [state].

    Attributes:
        outlier: whether the share reaches the threshold at enough of the states.
        states: how many reach it.
        share: average over positions.
        largest: at the position where it is largest.
        pos: that position.
    """

    dimension: int
    outlier: bool
    states: int
    share: Tensor
    largest: Tensor
    pos: list[int]


@dataclass(frozen=True)
class Outliers:
    """Dimensions that hold far more of the stream than their even share of 1 / d_model.

    A dimension reaches the threshold at a state where it is, in the mean square over positions, at
    least OUTLIER_TIMES times as large as the root mean square component; it is an outlier where
    that is so at one state in OUTLIER_STATES or more.

    Attributes:
        points: every distinct state of the stream, in the order of the run.
        threshold: share of the squared length, OUTLIER_TIMES² / d_model.
        least_states: how many states make an outlier.
        count: outliers found.
        dimensions: outliers first, then what comes nearest; the largest share first.
    """

    points: list[str]
    threshold: Tensor
    least_states: int
    count: int
    dimensions: list[DimensionShare]


@dataclass(frozen=True)
class Stream:
    states: list[State]
    writes: list[Write]
    outliers: Outliers


def lengths(vectors: Tensor) -> Tensor:
    """Root of the sum of squares of each vector; the squares of float32 may leave its range."""
    length: Tensor = torch.linalg.vector_norm(vectors, dim=-1, dtype=torch.float64)
    return length.to(vectors.dtype)


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
    """States in the order of the run, the writes of every Add that ran, and outlier dimensions."""
    states = [State(p, lengths(values[p])) for p in points if is_state(p, norm)]
    return Stream(
        states=states,
        writes=[
            _write(write, step, values)
            for step in steps
            if step.kind == "add"
            for write in step.inputs[1:]
        ],
        outliers=outliers(_distinct(states, values), values),
    )


def _write(write: str, step: Step, values: Mapping[str, Tensor]) -> Write:
    skip = step.inputs[0]
    length = lengths(values[write])
    return Write(
        point=write,
        skip=skip,
        sum=step.output,
        length=length,
        ratio=length / lengths(values[skip]),
        cosine=cosines(values[write], values[skip]),
    )


def _distinct(states: list[State], values: Mapping[str, Tensor]) -> list[State]:
    """Each tensor once, under the first of its names."""
    seen: dict[int, State] = {}
    for state in states:
        seen.setdefault(id(values[state.point]), state)
    return list(seen.values())


def outliers(states: list[State], values: Mapping[str, Tensor]) -> Outliers:
    """See ``Outliers``; ``values`` of each state are [pos, d_model]."""
    shares = torch.stack(
        [_share(values[state.point], state.length[:, None]).mean(0) for state in states]
    )  # [state, dimension]
    n_states, d_model = shares.shape
    threshold = OUTLIER_TIMES**2 / d_model
    least = -(-n_states // OUTLIER_STATES)
    reached = (shares >= threshold).sum(0)  # [dimension]
    found = reached >= least
    # A share is at most 1, so that 2 puts every outlier before every other.
    ranked = shares.nan_to_num(0.0).amax(0) + 2.0 * found
    best = ranked.argsort(descending=True, stable=True)[:LISTED]
    listed = torch.stack([values[state.point][:, best] for state in states])
    lengths = torch.stack([state.length for state in states])  # [state, pos]
    largest, pos = _share(listed, lengths[..., None]).max(dim=1)  # [state, listed]
    return Outliers(
        points=[state.point for state in states],
        threshold=shares.new_tensor(threshold),
        least_states=least,
        count=int(found.sum()),
        dimensions=[
            DimensionShare(i, *row)
            for i, *row in zip(
                best.tolist(),
                found[best].tolist(),
                reached[best].tolist(),
                shares[:, best].T,
                largest.T,
                pos.T.tolist(),
                strict=True,
            )
        ],
    )


def _share(component: Tensor, length: Tensor) -> Tensor:
    """Of the squared length; a vector without length has no shares to give."""
    # Divided before squaring: the squares of large float32 components overflow.
    return (component / length.clamp_min(torch.finfo(length.dtype).tiny)).square()
