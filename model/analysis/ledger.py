"""A state of the residual stream as the sum of what was written into it; must not run a model.

The stream is followed step by step, as the steps were recorded: an Add joins the parts of what it
adds, Attention writes one part per head and its bias, the FFN one part and its bias, and a
LayerNorm that stands on the way does to every part what it did to the whole. Centring is linear and
so is gamma, so that only the divisor has to be held at this run's value; beta becomes a part of its
own. In Pre-LN a state before the final norm meets no norm at all, in Post-LN it meets all of them.

Sources: the split into heads is that of Elhage et al. 2021, "A Mathematical Framework for
Transformer Circuits"; holding the divisor that of Kobayashi et al. 2021, "Incorporating Residual
and Normalization Layers into Analysis of Masked Language Models".
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from model.analysis.carried import frozen_norm
from model.hooks import Recorder, Step
from model.layers import FeedForward, LayerNorm, SelfAttention
from model.points import layer_of


@dataclass(frozen=True)
class Author:
    """Who wrote a part. ``kind``: an embedding's point, ``head``, ``mlp``, ``bias`` or ``beta``."""

    name: str
    kind: str
    layer: int | None = None
    head: int | None = None


@dataclass(frozen=True)
class Parts:
    """Vectors [part, d_model] in float64, with the author of each."""

    authors: list[Author]
    vectors: Tensor


@dataclass(frozen=True)
class Part(Author):
    """One line of a ledger.

    Attributes:
        length: of the part as it stands in the state, after every norm on its way.
        projection: inner product with the direction; null without one.
        share: ⟨part, state⟩ / |state|²; all shares add up to 1. Negative: it points away.
    """

    length: float = 0.0
    projection: float | None = None
    share: float | None = None


@dataclass(frozen=True)
class Total:
    """Of the parts added up again."""

    length: float
    projection: float | None
    share: float | None


@dataclass(frozen=True)
class Group:
    """Some parts added up, with what ``Part`` has.

    Attributes:
        name: a kind, or ``embedding`` (all that comes before the first block), ``blocks.L``,
            ``ln_final``.
        count: how many parts.
        length: of their sum, which is not the sum of their lengths.
    """

    name: str
    count: int
    length: float
    projection: float | None
    share: float


@dataclass(frozen=True)
class FrozenScale:
    """A norm on the way, and the divisor of this run that was held."""

    norm: str
    scale: float


@dataclass(frozen=True)
class Shares:
    """A state of the stream, and how its parts share it, by kind."""

    point: str
    shares: dict[str, float]


@dataclass(frozen=True)
class Ledger:
    """A state at one position, and who wrote it.

    Attributes:
        error: |parts added up - recorded state| / |state|; 0 where both are zero vectors.
        by_kind, by_layer: the parts in groups, in the order in which the run first writes one.
        depth: the shares, by kind, of every state that was asked for, in the order of the run.
    """

    state: str
    pos: int
    length: float
    parts: list[Part]
    total: Total
    error: float
    frozen_scales: list[FrozenScale]
    by_kind: list[Group]
    by_layer: list[Group]
    depth: list[Shares] = field(default_factory=list)


def is_needed(point: str) -> bool:
    """Whether a ledger reads this point of a run."""
    return (
        "." not in point
        or point.endswith(
            (".attn.z", ".mlp.post", ".scale", ".out", "_out", ".resid_mid", ".resid_post")
        )
    ) and point != "logits"


def ledger(
    model: nn.Module,
    recorder: Recorder,
    state: str,
    pos: int,
    direction: Tensor | None = None,
    depth: tuple[str, ...] = (),
) -> Ledger:
    """The parts of one state at one position.

    Args:
        model: the module tree that ran, for its weights.
        recorder: a run that kept every point for which ``is_needed``.
        state: the output of any step on vectors of the model, by any of its names.
        pos: the position.
        direction: vector [d_model] to project on; its length counts.
        depth: further states whose shares are wanted.

    Raises:
        KeyError: the state is not a vector of the stream that a step made.
    """
    # Of a state's names the first one in the order of the run.
    wanted = {recorder.origin(point): point for point in reversed(depth)}
    target = recorder.origin(state)
    shares: list[Shares] = []
    found: tuple[Parts, list[FrozenScale]] | None = None
    for step, parts, frozen in _walk(model, recorder, pos):
        if step.output == target:
            found = parts, frozen
        if step.output in wanted:
            whole = recorder.values[step.output][pos].double()
            shares.append(Shares(wanted[step.output], _by_kind(parts, whole)))
    if found is None:
        raise KeyError(state)
    parts, frozen = found
    whole = recorder.values[target][pos].double()
    added = parts.vectors.sum(0)
    return Ledger(
        state=state,
        pos=pos,
        length=float(whole.norm()),
        parts=_lines(parts, whole, direction),
        total=Total(*_measured(added, whole, direction)),
        error=_relative(float((added - whole).norm()), float(whole.norm())),
        frozen_scales=frozen,
        by_kind=_groups(parts, lambda author: author.kind, whole, direction),
        by_layer=_groups(parts, _place, whole, direction),
        depth=shares,
    )


def _relative(gap: float, length: float) -> float:
    """A state without length is met exactly or missed altogether."""
    return gap / length if length > 0 else (0.0 if gap == 0 else float("inf"))


def _measured(
    vector: Tensor, whole: Tensor, direction: Tensor | None
) -> tuple[float, float | None, float]:
    """Length, projection and share of something written."""
    projection = None if direction is None else float(vector @ direction.double())
    return float(vector.norm()), projection, float(vector @ whole / (whole @ whole))


def _lines(parts: Parts, whole: Tensor, direction: Tensor | None) -> list[Part]:
    return [
        Part(**vars(author), length=length, projection=projection, share=share)
        for author, vector in zip(parts.authors, parts.vectors, strict=True)
        for length, projection, share in [_measured(vector, whole, direction)]
    ]


def _place(author: Author) -> str:
    if author.layer is not None:
        return f"blocks.{author.layer}"
    return "ln_final" if author.name.startswith("ln_final.") else "embedding"


def _groups(
    parts: Parts, key: Callable[[Author], str], whole: Tensor, direction: Tensor | None
) -> list[Group]:
    places: dict[str, list[int]] = {}
    for place, author in enumerate(parts.authors):
        places.setdefault(key(author), []).append(place)
    sums = {name: parts.vectors[chosen].sum(0) for name, chosen in places.items()}
    return [
        Group(name, len(places[name]), *_measured(added, whole, direction))
        for name, added in sums.items()
    ]


def _by_kind(parts: Parts, whole: Tensor) -> dict[str, float]:
    totals: dict[str, float] = {}
    shares = (parts.vectors @ whole / (whole @ whole)).tolist()
    for author, share in zip(parts.authors, shares, strict=True):
        totals[author.kind] = totals.get(author.kind, 0.0) + share
    return totals


def _walk(
    model: nn.Module, recorder: Recorder, pos: int
) -> Iterator[tuple[Step, Parts, list[FrozenScale]]]:
    """Every step that makes a vector of the model, with its parts and the norms that they met."""
    values, steps = recorder.values, [step for step in recorder.steps if step.kind != "unembed"]
    inputs = [[recorder.origin(point) for point in step.inputs] for step in steps]
    last_read = {point: place for place, points in enumerate(inputs) for point in points}
    known: dict[str, tuple[Parts, list[FrozenScale]]] = {}
    for place, step in enumerate(steps):
        module = model.get_submodule(step.name)
        frozen: list[FrozenScale] = []
        if step.kind == "add":
            added = [known[point] for point in inputs[place]]
            parts = Parts(
                [author for one, _ in added for author in one.authors],
                torch.cat([one.vectors for one, _ in added]),
            )
            # Two ways may share a norm, as when a dropped branch carries the stream itself.
            frozen = list(dict.fromkeys(scale for _, scales in added for scale in scales))
        elif isinstance(module, LayerNorm):
            before, frozen = known[inputs[place][0]]
            scale = values[f"{step.name}.scale"][pos].double()  # [1]
            parts = _normed(before, module, scale, step)
            frozen = [*frozen, FrozenScale(step.name, float(scale))]
        elif isinstance(module, SelfAttention):
            parts = _heads(module, values, pos, step)
        elif isinstance(module, FeedForward):
            parts = _feed_forward(module, values, pos, step)
        else:
            parts = Parts(
                [Author(step.output, step.output)], values[step.output][None, pos].double()
            )
        known[step.output] = parts, frozen
        yield step, parts, frozen
        for point in inputs[place]:
            if last_read[point] == place:
                # Deep models have thousands of parts at each state.
                known.pop(point, None)


def _normed(before: Parts, norm: LayerNorm, scale: Tensor, step: Step) -> Parts:
    return Parts(
        [*before.authors, Author(f"{step.name}.b", "beta", layer_of(step.name))],
        torch.cat([frozen_norm(before.vectors, norm, scale), norm.b[None].double()]),
    )


def _heads(attention: SelfAttention, values: Mapping[str, Tensor], pos: int, step: Step) -> Parts:
    layer = layer_of(step.name)
    authors = [Author(f"L{layer}H{head}", "head", layer, head) for head in range(attention.n_heads)]
    writes = attention.writes(values[f"{step.name}.z"][pos].double())
    bias: Tensor | None = attention.W_O.bias
    if bias is None:
        return Parts(authors, writes)
    authors.append(Author(f"{step.name}.b_O", "bias", layer))
    return Parts(authors, torch.cat([writes, bias[None].double()]))


def _feed_forward(
    feed_forward: FeedForward, values: Mapping[str, Tensor], pos: int, step: Step
) -> Parts:
    layer = layer_of(step.name)
    write = feed_forward.W_out.weight.double() @ values[f"{step.name}.post"][pos].double()
    return Parts(
        [Author(step.name, "mlp", layer), Author(f"{step.name}.b_out", "bias", layer)],
        torch.stack([write, feed_forward.W_out.bias.double()]),
    )
