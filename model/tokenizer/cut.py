"""A text as a model reads it, whichever tokenizer cut it; must not know any tokenizer."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from model.tokenizer import Token


@dataclass(frozen=True)
class Cut:
    """Tokens, and what became of the text on the way.

    Attributes:
        types: 0 or 1 for each token, for models with a table of types; null for others.
        unknown: positions of the tokens that stand for characters outside the vocabulary.
        dropped: characters, white space aside, that no token covers, in order.
    """

    tokens: list[Token]
    types: list[int] | None = None
    unknown: list[int] = field(default_factory=list)
    dropped: str = ""


Encode = Callable[[str, str | None], Cut]
"""Text and second text, which most models do not take, to tokens."""


class Vocabulary(Protocol):
    """What can be said of a token id without a text."""

    def piece(self, token_id: int) -> str:
        """The raw entry."""

    def label(self, token_id: int) -> str:
        """The visible form; never empty."""
