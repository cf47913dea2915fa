"""From a request to a recorded run, as every call begins; must not know what is said of it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from model.config import ModelConfig, Norm
from model.errors import ModelError
from model.hooks import Recorder, recording
from model.points import PointSpec, catalogue
from model.registry import Registry, Runnable
from model.tokenizer import Token


@dataclass(frozen=True)
class RunRequest:
    """What to run; null stands for the model's own."""

    text: str
    model: str | None = None
    norm: Norm | None = None
    weights: Norm | None = None
    config: Mapping[str, object] | None = None


@dataclass(frozen=True)
class Plan:
    """A run that can start: nothing is left that could be refused.

    Attributes:
        points: every point the run will have, by canonical name, in the order of the run.
    """

    runnable: Runnable
    tokens: list[Token]
    ids: Tensor
    points: dict[str, PointSpec]

    @property
    def config(self) -> ModelConfig:
        return self.runnable.config

    def record(self, keep: Iterable[str]) -> Recorder:
        """Run once and keep the values of the named points; ``attn.result`` is never among them."""
        # Not inference mode: its tensors have no version counter, which shows changes in place.
        with torch.no_grad(), recording(Recorder(frozenset(keep))) as recorder:
            final = self.runnable.hooked(self.ids)
            if self.runnable.hooked.unembed is not None:
                self.runnable.hooked.unembed(final)
        return recorder


def plan(registry: Registry, request: RunRequest) -> Plan:
    """Load the model and cut the text.

    Raises:
        ModelError: a text without tokens or with too many, an unknown model, a size that does not
            fit; all before the run.
    """
    runnable = registry.load(request.model, request.norm, request.weights, request.config)
    tokens = tokens_of(request.text, runnable)
    return Plan(
        runnable,
        tokens,
        torch.tensor([token.id for token in tokens]),
        catalogue(runnable.config, len(tokens)),
    )


def tokens_of(text: str, runnable: Runnable) -> list[Token]:
    """The text's tokens, if there are any and not too many.

    Raises:
        ModelError: ``empty_text``, or ``text_too_long`` with both numbers of tokens.
    """
    if not text.strip():
        raise ModelError("empty_text", field="text")
    tokens = runnable.tokenizer.encode(text, bos=runnable.starts_with_token)
    if len(tokens) > runnable.config.n_ctx:
        raise ModelError(
            "text_too_long", field="text", limit=runnable.config.n_ctx, length=len(tokens)
        )
    return tokens
