"""Logit lens: what a state of the stream would predict if it left the model now; must not run.

Each state goes through the model's own exit, a norm first: in Pre-LN the final one, computed anew
for the state; in Post-LN the block's own, the one that reads the sum, since no final norm exists.
A state that no norm reads (Post-LN's first) leaves as it is.

Source: nostalgebraist 2020, "interpreting GPT: the logit lens".
"""

from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import Tensor

from model.hooks import Recorder
from model.tokenizer.cut import Vocabulary
from model.transformer import Transformer


@dataclass(frozen=True)
class LensToken:
    id: int
    piece: str
    label: str
    logit: float
    probability: float


@dataclass(frozen=True)
class LensState:
    """What one state predicts.

    Attributes:
        norm: the norm that it went through, or null.
        rank: of the token that is followed, from 1.
        probability: of that token.
        entropy: of the whole prediction, in nats.
    """

    point: str
    norm: str | None
    top: list[LensToken]
    rank: int
    logit: float
    probability: float
    entropy: float


@dataclass(frozen=True)
class Exit:
    """A state, and how it is led out."""

    point: str
    norm: str | None
    runs_norm: bool


def exits(model: Transformer, recorder: Recorder, states: Iterable[str]) -> list[Exit]:
    """One way out for every distinct state of the stream; the outputs of its norms are the ways.

    Args:
        states: points of the stream in the order of the run.
    """
    made_by = {step.output: step for step in recorder.steps}
    distinct = list(dict.fromkeys(recorder.origin(point) for point in states))
    is_post = model.config.norm == "post"
    reads = {
        recorder.origin(step.inputs[0]): step.name
        for step in recorder.steps
        if step.kind == "layer_norm"
    }
    found = []
    for point in distinct:
        step = made_by[point]
        if step.kind == "layer_norm":
            if recorder.origin(step.inputs[0]) in distinct:
                continue
            if is_post:
                # An embedding norm: what leaves it is normed already.
                found.append(Exit(point, step.name, runs_norm=False))
                continue
        norm = reads.get(point) if is_post else "ln_final" if model.ln_final is not None else None
        found.append(Exit(point, norm, runs_norm=norm is not None))
    return found


def logits_of(model: Transformer, recorder: Recorder, ways: list[Exit], pos: int) -> Tensor:
    """What every state predicts at one position [state, d_vocab]."""
    assert model.unembed is not None, "a lens needs an unembedding"
    led = []
    for way in ways:
        x = recorder.values[way.point][pos]
        if way.runs_norm and way.norm is not None:
            x = model.get_submodule(way.norm)(x)
        led.append(x)
    logits: Tensor = model.unembed(torch.stack(led))
    return logits


def lens(
    model: Transformer,
    recorder: Recorder,
    states: Iterable[str],
    pos: int,
    top_k: int,
    vocabulary: Vocabulary,
    token: int | None = None,
) -> tuple[int, list[LensState]]:
    """What every state predicts at one position, and how it ranks one token.

    Args:
        states: points of the stream in the order of the run, recorded.
        vocabulary: gives a token's piece and label.
        token: the id that is followed; null for the last state's first choice.

    Returns:
        the token that was followed, and one entry per distinct state.
    """
    ways = exits(model, recorder, states)
    logits = logits_of(model, recorder, ways, pos).double()
    followed = int(logits[-1].argmax()) if token is None else token
    log_probabilities = logits.log_softmax(-1)
    probabilities = log_probabilities.exp()
    top = logits.topk(min(top_k, logits.shape[-1]), dim=-1).indices.tolist()
    # Several entries may share a logit: only those above it come before it.
    ranks = (logits > logits[:, followed, None]).sum(-1) + 1
    entropies = torch.special.entr(probabilities).sum(-1)
    return followed, [
        LensState(
            point=way.point,
            norm=way.norm,
            top=[
                LensToken(
                    id=best,
                    piece=vocabulary.piece(best),
                    label=vocabulary.label(best),
                    logit=float(logits[place, best]),
                    probability=float(probabilities[place, best]),
                )
                for best in top[place]
            ],
            rank=int(ranks[place]),
            logit=float(logits[place, followed]),
            probability=float(probabilities[place, followed]),
            entropy=float(entropies[place]),
        )
        for place, way in enumerate(ways)
    ]
