"""From a request to a recorded run, as every call begins; must not know what is said of it."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import torch
from torch import Tensor

from model import limits
from model.config import ModelConfig, Norm
from model.errors import ModelError
from model.hooks import Recorder, recording
from model.points import PointSpec, catalogue
from model.registry import Registry, Runnable
from model.tokenizer import Token
from model.tokenizer.cut import Cut


@dataclass(frozen=True)
class RunRequest:
    """What to run; null stands for the model's own.

    Attributes:
        text_pair: a second text, for models that read two.
    """

    text: str
    model: str | None = None
    norm: Norm | None = None
    weights: Norm | None = None
    config: Mapping[str, object] | None = None
    text_pair: str | None = field(default=None, kw_only=True)


@dataclass(frozen=True)
class Plan:
    """A run that can start: nothing is left that could be refused.

    Attributes:
        ids: the token ids [pos].
        points: every point the run will have, by canonical name, in the order of the run.
    """

    runnable: Runnable
    cut: Cut
    ids: Tensor
    points: dict[str, PointSpec]

    @property
    def tokens(self) -> list[Token]:
        return self.cut.tokens

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        """What the model is called with: token ids and, where it has a table of them, types."""
        types = self.cut.types
        return (self.ids,) if types is None else (self.ids, torch.tensor(types))

    @property
    def config(self) -> ModelConfig:
        return self.runnable.config

    def record(self, keep: Iterable[str]) -> Recorder:
        """Run once and keep the values of the named points; ``attn.result`` is never among them."""
        # Not inference mode: its tensors have no version counter, which shows changes in place.
        with torch.no_grad(), recording(Recorder(frozenset(keep))) as recorder:
            final = self.runnable.hooked(*self.inputs)
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
    cut = cut_of(request, runnable)
    ids = torch.tensor([token.id for token in cut.tokens])
    return Plan(runnable, cut, ids, catalogue(runnable.config, len(ids)))


def cut_of(request: RunRequest, runnable: Runnable) -> Cut:
    """The request's tokens, if there are any, not too many, and each with a vector.

    Raises:
        ModelError: ``empty_text``, ``text_pair_not_offered``, ``text_too_long`` or
            ``text_too_long_to_record`` with both numbers of tokens, ``token_beyond_table``.
    """
    config = runnable.config
    if not request.text.strip():
        raise ModelError("empty_text", field="text")
    if request.text_pair is not None:
        if not runnable.entry.text_pair:
            raise ModelError("text_pair_not_offered", field="text_pair", model=runnable.entry.id)
        if not request.text_pair.strip():
            raise ModelError("empty_text", field="text_pair")
    cut = runnable.encode(request.text, request.text_pair)
    n = len(cut.tokens)
    if not n:
        raise ModelError("empty_text", field="text")
    if n > config.n_ctx:
        raise ModelError("text_too_long", field="text", limit=config.n_ctx, length=n)
    longest = longest_text(config)
    if n > longest:
        raise ModelError("text_too_long_to_record", field="text", limit=longest, length=n)
    for token in cut.tokens:
        if token.id >= config.d_vocab:
            raise ModelError(
                "token_beyond_table",
                field="text",
                token=token.piece,
                id=token.id,
                d_vocab=config.d_vocab,
            )
    return cut


def longest_text(config: ModelConfig) -> int:
    """How many tokens a text may have so that all attention maps can be held."""
    return math.isqrt(limits.MAX_SHARES // (config.n_layers * config.n_heads))
