"""A folder's tokenizer as runs use it: tokens with offsets, labels and parts; must not know files.

Ids and offsets are those of the library that the folder was made for, whose offsets follow every
normalisation back to the text as it was sent; what this adds is what a reader sees.
"""

import json
import re
import unicodedata
from collections.abc import Set
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, Protocol

from tokenizers import Tokenizer as Pipeline

from model.errors import ModelError
from model.tokenizer import Token
from model.tokenizer.cut import Cut
from model.tokenizer.labels import visible

_BYTE = re.compile(r"<0x([0-9A-F]{2})>")
_SENTENCEPIECE_SPACE = "▁"
_BYTE_LEVEL_SPACE = "Ġ"


def _byte_alphabet() -> dict[str, int]:
    """The printable character that stands for each byte in a byte-level vocabulary.

    Source: Radford et al. 2019, released code: bytes that print as themselves stay, the others
    are numbered from 256 on.
    """
    own = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    moved = [byte for byte in range(256) if byte not in own]
    return {chr(byte): byte for byte in own} | {chr(256 + i): b for i, b in enumerate(moved)}


BYTE_OF = _byte_alphabet()


@dataclass(frozen=True)
class Piece:
    """One token as a library cuts it.

    Attributes:
        span: first code point and the one after the last.
        of: 0 or 1, the text that it is of; null for a mark that stands for no text.
        type: 0 or 1, what an encoder's table of types is asked for.
    """

    id: int
    span: tuple[int, int]
    of: int | None = 0
    type: int = 0


class Backend(Protocol):
    """What is asked of a library.

    Attributes:
        marks: ids of entries that are no text, such as [CLS].
        added: ids of entries that stand beside the vocabulary, marks among them: their entry is
            what a text says, whatever the others' characters stand for.
        unknown: id that stands for whatever the vocabulary lacks.
        byte_level: whether an entry's characters stand for bytes.
    """

    marks: Set[int]
    added: Set[int]
    unknown: int | None
    byte_level: bool

    def cut(self, text: str, pair: str | None) -> list[Piece]:
        """The tokens of one text or two.

        Raises:
            ModelError: ``text_not_tokenizable``.
        """

    def entry(self, token_id: int) -> str | None:
        """The vocabulary's entry of this number."""


class PipelineBackend:
    """A pipeline of the `tokenizers` library, without truncation and padding."""

    def __init__(self, pipeline: Pipeline) -> None:
        self._pipeline = pipeline
        parts = _described(pipeline)
        model = parts.get("model") or {}
        self.byte_level = '"ByteLevel"' in json.dumps(
            [parts.get("pre_tokenizer"), parts.get("decoder")]
        )
        name = getattr(pipeline.model, "unk_token", None)
        self.unknown = pipeline.token_to_id(name) if isinstance(name, str) else model.get("unk_id")
        added = pipeline.get_added_tokens_decoder()
        self.added: Set[int] = added.keys()
        self.marks: Set[int] = {i for i, one in added.items() if one.special} - {self.unknown}

    def cut(self, text: str, pair: str | None) -> list[Piece]:
        try:
            found = self._pipeline.encode(text, pair)
        except Exception:
            # The library raises a bare Exception, as where the vocabulary lacks its own mark for
            # what it does not know.
            raise ModelError("text_not_tokenizable", field="text") from None
        columns = (found.ids, found.offsets, found.sequence_ids, found.type_ids)
        return [Piece(*row) for row in zip(*columns, strict=True)]

    def entry(self, token_id: int) -> str | None:
        entry: str | None = self._pipeline.id_to_token(token_id)
        return entry


class FolderTokenizer:
    """Text to tokens and back to what a reader can see; immutable, so threads may share one.

    Args:
        backend: whose offsets keep white space.
        has_types: whether the model takes the text that each token is of as a number.
    """

    def __init__(self, backend: Backend, has_types: bool) -> None:
        self._backend = backend
        self._has_types = has_types

    def piece(self, token_id: int) -> str:
        """The raw entry of a token id; empty for a row of the table that no entry names."""
        return self._backend.entry(token_id) or ""

    def label(self, token_id: int) -> str:
        """The visible form of a token id away from any text, as predictions show it."""
        piece = self.piece(token_id)
        if not piece:
            return f"#{token_id}"
        if token_id in self._backend.added or token_id == self._backend.unknown:
            return visible(piece)
        if self._backend.byte_level:
            return visible_bytes(piece)
        return visible(piece.replace(_SENTENCEPIECE_SPACE, " "))

    def encode(self, text: str, pair: str | None = None) -> Cut:
        """Cut one text or two into tokens, with the marks that the tokenizer puts around them.

        Raises:
            ModelError: ``text_not_unicode`` for half a surrogate pair.
        """
        for field, given in (("text", text), ("text_pair", pair)):
            _refuse_surrogates(field, given or "")
        pieces = self._backend.cut(text, pair)
        pieces = self._own_spans(pieces, (text, pair or ""))
        pieces = _with_marks(pieces, (text, pair or ""))
        tokens = self._with_parts(self._tokens(pieces, (text, pair or "")))
        return Cut(
            tokens,
            types=[piece.type for piece in pieces] if self._has_types else None,
            unknown=[
                token.index
                for token in tokens
                # The mark itself may have been typed.
                if token.id == self._backend.unknown and token.text != token.piece
            ],
            dropped="".join(
                _uncovered(given, [t for t in tokens if t.segment == segment])
                for segment, given in enumerate((text, pair or ""))
            ),
        )

    def _own_spans(self, pieces: list[Piece], texts: tuple[str, str]) -> list[Piece]:
        """Spans where the library gives one to several: of bytes, and of a space put before.

        A run of byte entries shares the span of all its characters: each gets its character's. The
        space that some tokenizers put before a text has no length in it.
        """
        space = _BYTE_LEVEL_SPACE if self._backend.byte_level else _SENTENCEPIECE_SPACE
        result: list[Piece] = []
        for piece in pieces:
            start, end = piece.span
            given = "" if piece.of is None else texts[piece.of][start:end]
            if given and not given.isspace() and self.piece(piece.id) == space:
                piece = replace(piece, span=(start, start))
            result.append(piece)
        apart: list[Piece] = []
        for (_, of, is_byte), group in groupby(
            result, key=lambda piece: (piece.span, piece.of, self._byte(piece) is not None)
        ):
            run = list(group)
            if is_byte and of is not None:
                run = _by_character(run, [self._byte(piece) for piece in run], texts[of])
            apart += run
        return apart

    def _byte(self, piece: Piece) -> int | None:
        """The byte that an entry such as <0xE7> stands for."""
        named = _BYTE.fullmatch(self.piece(piece.id))
        return None if named is None or piece.of is None else int(named[1], 16)

    def _tokens(self, pieces: list[Piece], texts: tuple[str, str]) -> list[Token]:
        tokens = []
        segment = end = 0
        for index, piece in enumerate(pieces):
            if piece.of is None:
                # A mark that stands for no text: it has its place, but no length.
                start = end
            else:
                segment = piece.of
                start, end = piece.span
            text = texts[segment][start:end]
            is_mark = piece.of is None or piece.id in self._backend.marks
            tokens.append(
                Token(
                    index=index,
                    id=piece.id,
                    piece=self.piece(piece.id),
                    text=text,
                    label=self._label(piece.id, text, is_mark),
                    start=start,
                    end=end,
                    special=is_mark,
                    part=None,
                    parts=None,
                    segment=segment,
                )
            )
        return tokens

    def _label(self, token_id: int, text: str, is_mark: bool) -> str:
        """What the reader typed, where a token stands for it; else its entry."""
        if is_mark or token_id == self._backend.unknown or not text:
            return self.label(token_id)
        return visible(text)

    def _with_parts(self, tokens: list[Token]) -> list[Token]:
        """Number the tokens that share one character, of which each has some bytes."""
        numbered = list(tokens)
        group: list[int] = []
        for index in range(len(tokens) + 1):
            token = tokens[index] if index < len(tokens) else None
            goes_on = (
                token is not None
                and bool(group)
                and self._is_fragment(token)
                and token.segment == tokens[group[-1]].segment
                and token.start < tokens[group[-1]].end
            )
            if not goes_on:
                for part, member in enumerate(group, start=1):
                    if len(group) > 1:
                        numbered[member] = replace(tokens[member], part=part, parts=len(group))
                group = []
            if token is not None and self._is_fragment(token):
                group.append(index)
        return numbered

    def _is_fragment(self, token: Token) -> bool:
        if token.special or token.id in self._backend.added:
            return False
        if _BYTE.fullmatch(token.piece):
            return len(token.text.encode()) > 1
        return self._backend.byte_level and text_of_bytes(token.piece) is None


def text_of_bytes(piece: str) -> str | None:
    """What a byte-level entry spells; null if its bytes begin or end within a character."""
    try:
        return bytes(BYTE_OF[character] for character in piece).decode()
    except (KeyError, UnicodeDecodeError):
        return None


def visible_bytes(piece: str) -> str:
    """The visible form of a byte-level entry; bytes that are no whole character by their names."""
    text = text_of_bytes(piece)
    if text is not None:
        return visible(text)
    if not all(character in BYTE_OF for character in piece):
        return visible(piece)
    return "".join(f"<0x{BYTE_OF[character]:02X}>" for character in piece)


def _by_character(pieces: list[Piece], numbers: list[int | None], text: str) -> list[Piece]:
    """The pieces of a run of bytes, each with the span of the character that it is of."""
    start, end = pieces[0].span
    if bytes(number for number in numbers if number is not None) != text[start:end].encode():
        return pieces  # a normalisation stands between: the library's span is all that is known
    spans = [
        (place, place + 1) for place in range(start, end) for _ in range(len(text[place].encode()))
    ]
    return [replace(piece, span=span) for piece, span in zip(pieces, spans, strict=True)]


def _with_marks(pieces: list[Piece], texts: tuple[str, str]) -> list[Piece]:
    """Let a token have the marks after its last character that a normalisation joined or took.

    A voiced kana may be written as two code points; the library's offsets end after the first.
    """
    reached = [len(texts[0]), len(texts[1])]
    result = []
    after: Piece | None = None  # as it came, and as it became
    became: Piece | None = None
    for piece in reversed(pieces):
        as_it_came = piece
        if piece.of is not None:
            start, end = piece.span
            if after is not None and became is not None and _is_same_place(after, piece):
                # Another part of the same character.
                end = became.span[1]
            while start < end < reached[piece.of] and _is_mark(texts[piece.of][end]):
                end += 1
            reached[piece.of] = min(start, reached[piece.of])
            piece = replace(piece, span=(start, end))
        after, became = as_it_came, piece
        result.append(piece)
    return result[::-1]


def _is_same_place(one: Piece, other: Piece) -> bool:
    return one.of == other.of and one.span == other.span and one.span[0] < one.span[1]


def _is_mark(character: str) -> bool:
    return unicodedata.category(character)[0] == "M" or character in "\uff9e\uff9f"


def _refuse_surrogates(field: str, text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ModelError("text_not_unicode", field=field, position=error.start) from None


def _uncovered(text: str, tokens: list[Token]) -> str:
    covered = set[int]().union(*(range(token.start, token.end) for token in tokens))
    return "".join(c for i, c in enumerate(text) if i not in covered and not c.isspace())


def _described(pipeline: Pipeline) -> dict[str, Any]:
    """A pipeline's parts by name; none of one that cuts with Python code."""
    try:
        parts: dict[str, Any] = json.loads(pipeline.to_str())
    except Exception:  # the library raises a bare Exception
        return {}
    return parts
