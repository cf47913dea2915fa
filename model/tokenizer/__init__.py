"""Text to tokens and back: byte-pair encoding over characters, with bytes for rare ones.

It knows characters, offsets and labels; it must not know models, tensors or pages.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Self

from tokenizers import Tokenizer as HuggingFaceTokenizer

from model.errors import ModelError
from model.tokenizer.labels import visible

__all__ = ["BOS_PIECE", "SHIPPED", "Token", "Tokenizer", "byte_piece"]

BOS_PIECE = "<s>"
SHIPPED = Path(__file__).with_name("tokenizer.json")


def byte_piece(value: int) -> str:
    """The vocabulary's name of a byte, 0 to 255: `<0xE7>`."""
    return f"<0x{value:02X}>"


@dataclass(frozen=True, slots=True)
class Token:
    """One token of a text. Offsets count Unicode code points of the text as sent."""

    index: int
    id: int
    piece: str
    """The vocabulary entry, raw."""
    text: str
    """The slice `[start:end]` of the text; a fragment has the whole character it is part of."""
    label: str
    """Always visible, never empty."""
    start: int
    end: int
    special: bool
    part: int | None
    """Which byte of its character a fragment is, from 1; null for a whole token."""
    parts: int | None
    segment: int = 0
    """The text that the token is of: 0 for the first, 1 for the second of a pair."""


class Tokenizer:
    """A vocabulary loaded from a `tokenizer.json`; immutable, so threads may share one.

    Every text of Unicode scalar values can be encoded, nothing is normalised and nothing dropped:
    the tokens' slices cover the text, and `decode` gives it back.
    """

    def __init__(self, backend: HuggingFaceTokenizer) -> None:
        self._backend = backend
        vocabulary = backend.get_vocab(with_added_tokens=True)
        self._pieces = [""] * len(vocabulary)
        for piece, token_id in vocabulary.items():
            self._pieces[token_id] = piece
        self._byte_of = {
            vocabulary[byte_piece(value)]: value
            for value in range(256)
            if byte_piece(value) in vocabulary
        }
        self.bos_id: int | None = vocabulary.get(BOS_PIECE)
        reserved = self._byte_of.keys() | {self.bos_id}
        self._labels = [
            piece if token_id in reserved else visible(piece)
            for token_id, piece in enumerate(self._pieces)
        ]

    @classmethod
    def load(cls, path: Path | None = None) -> Self:
        """Read `path`, or the vocabulary that ships with the package."""
        return cls(HuggingFaceTokenizer.from_file(str(path or SHIPPED)))

    @property
    def d_vocab(self) -> int:
        """Number of entries."""
        return len(self._pieces)

    def piece(self, token_id: int) -> str:
        """The raw entry of a token id."""
        return self._pieces[token_id]

    def label(self, token_id: int) -> str:
        """The visible form of a token id away from any text; a byte's is its name, `<0xE7>`."""
        return self._labels[token_id]

    def is_byte(self, token_id: int) -> bool:
        """Whether the entry stands for a byte rather than for characters."""
        return token_id in self._byte_of

    def encode(self, text: str, bos: bool = False) -> list[Token]:
        """Cut `text` into tokens, in order; with `bos`, after a start token of empty span.

        Raises `ModelError("text_not_unicode")` for a text with a lone surrogate, which no UTF-8
        can hold.
        """
        try:
            text.encode("utf-8")
        except UnicodeEncodeError as error:
            raise ModelError("text_not_unicode", field="text", position=error.start) from None
        tokens: list[Token] = []
        if bos:
            if self.bos_id is None:
                raise ValueError("this vocabulary has no start token")
            tokens.append(Token(0, self.bos_id, BOS_PIECE, "", BOS_PIECE, 0, 0, True, None, None))
        start = 0
        part = 0
        for token_id in self._backend.encode(text, add_special_tokens=False).ids:
            piece = self._pieces[token_id]
            if token_id in self._byte_of:
                # Bytes come in whole characters, so a cursor is enough: the character at `start`
                # says how many of them belong to it.
                end = start + 1
                character = text[start]
                n_bytes = len(character.encode("utf-8"))
                part += 1
                fragment = (part, n_bytes) if n_bytes > 1 else (None, None)
                label = visible(character)
                next_start = end if part == n_bytes else start
                part %= n_bytes
            else:
                end = next_start = start + len(piece)
                fragment = (None, None)
                label = self._labels[token_id]
            tokens.append(
                Token(
                    index=len(tokens),
                    id=token_id,
                    piece=piece,
                    text=text[start:end],
                    label=label,
                    start=start,
                    end=end,
                    special=False,
                    part=fragment[0],
                    parts=fragment[1],
                )
            )
            start = next_start
        return tokens

    def decode(self, ids: list[int]) -> str:
        """Put pieces together again, the start token left out.

        Bytes that are no whole character become U+FFFD, as anything that decodes UTF-8 would do.
        """
        data = bytearray()
        for token_id in ids:
            if token_id in self._byte_of:
                data.append(self._byte_of[token_id])
            elif token_id != self.bos_id:
                data += self._pieces[token_id].encode("utf-8")
        return data.decode("utf-8", errors="replace")
