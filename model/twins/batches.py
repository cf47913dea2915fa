"""What is trained on at a step, as a pure function of (seed, step); must not know models.

No state is kept, so a resumed run sees exactly the rows that an unbroken one sees, and both twins
see the same rows.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from model.twins.recipe import Recipe
from model.twins.text import Language, Tokens

IGNORED = -100  # target of a position that is not to be learned
FIRST_PIECE = 257  # ids below are <s> and the 256 bytes

# Rows of a step, in turn. A quarter is repeated segments: they teach a head to look for what
# followed last time.
Kind = Language | Literal["random", "repeat"]
KINDS: tuple[Kind, ...] = ("en", "ja", "en", "random", "ja", "en", "ja", "repeat")


@dataclass(frozen=True)
class Rows:
    """Inputs and what follows each of them: both [row, pos]."""

    ids: Tensor
    targets: Tensor


class Batches:
    """Rows for a step, from the training text of both languages."""

    def __init__(
        self, recipe: Recipe, text: dict[Language, Tokens], bos_id: int, d_vocab: int
    ) -> None:
        self.recipe, self.text, self.bos_id, self.d_vocab = recipe, text, bos_id, d_vocab

    def at(self, step: int) -> Rows:
        """The rows of ``step``: each starts with ``<s>`` and then at the beginning of a line."""
        length = self.recipe.row_length(step)
        n_rows = self.recipe.tokens_per_step // length
        rng = np.random.default_rng((self.recipe.seed, step))
        kinds = [KINDS[(step * n_rows + i) % len(KINDS)] for i in range(n_rows)]
        rows = [self.row(rng, kind, length) for kind in kinds]
        ids = torch.from_numpy(np.stack([ids for ids, _ in rows]))
        targets = torch.from_numpy(np.stack([targets for _, targets in rows]))
        return Rows(ids, targets)

    def row(
        self, rng: np.random.Generator, kind: Kind, length: int
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """One row of a kind: ids and targets, both [pos]."""
        if kind == "en" or kind == "ja":
            ids = self.excerpt(rng, kind, length)
            return self.with_bos(ids[:-1]), ids
        period = int(rng.integers(6, 3 * length // 8 + 1))
        if kind == "random":
            segment = rng.integers(FIRST_PIECE, self.d_vocab, period)
        else:
            segment = self.excerpt(rng, "en" if rng.random() < 0.5 else "ja", period)
        ids = np.resize(segment, length)
        targets = ids.copy()
        if kind == "random":
            targets[:period] = IGNORED  # chance: nothing to learn
        return self.with_bos(ids[:-1]), targets

    def excerpt(
        self, rng: np.random.Generator, language: Language, length: int
    ) -> NDArray[np.int64]:
        """``length`` tokens from the beginning of a line; lines are met in proportion to length."""
        text = self.text[language]
        last = max(1, len(text.ids) - length)
        start = text.starts[np.searchsorted(text.starts, rng.integers(last), side="right") - 1]
        return np.take(text.ids, np.arange(start, start + length), mode="wrap")

    def with_bos(self, ids: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.concatenate([[self.bos_id], ids])
