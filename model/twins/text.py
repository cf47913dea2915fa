"""A folder of plain text to token ids, the end of each file held out; must not know models.

Files are UTF-8 and named ``<language>_<anything>.txt``, language ``en`` or ``ja``.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer as Backend

from model.tokenizer import SHIPPED

Language = Literal["en", "ja"]
LANGUAGES: tuple[Language, ...] = get_args(Language)

# Last share of each file that no run is trained on: whole tales at the end, not scattered lines.
HELD_OUT = 0.02


@dataclass(frozen=True)
class Tokens:
    """One language's text as ids, and the places where a line begins (rows start there)."""

    ids: NDArray[np.int64]
    starts: NDArray[np.int64]


def split(lines: list[str]) -> tuple[list[str], list[str]]:
    """Lines to (training, held out): the last two percent of the characters, at least one line."""
    wanted = HELD_OUT * sum(map(len, lines))
    cut, held = len(lines), 0
    while cut > 1 and held < max(1.0, wanted):
        cut -= 1
        held += len(lines[cut])
    return lines[:cut], lines[cut:]


def read(corpus: Path, language: Language) -> tuple[list[str], list[str]]:
    """All lines of a language, newline included, as (training, held out).

    The ideographic space that indents a paragraph is layout, not language, and is left out; so
    are empty lines.

    Raises:
        FileNotFoundError: the folder has no file of that language.
    """
    training: list[str] = []
    held_out: list[str] = []
    paths = sorted(corpus.glob(f"{language}_*.txt"))
    if not paths:
        raise FileNotFoundError(f"no {language}_*.txt in {corpus}")
    for path in paths:
        # "\n" alone ends a line: a form feed or U+2028 within one does not.
        lines = path.read_text(encoding="utf-8").split("\n")
        stripped = (line.strip(" \t\r\n\u3000") for line in lines)
        before, after = split([f"{line}\n" for line in stripped if line])
        training += before
        held_out += after
    return training, held_out


def encode(lines: list[str]) -> Tokens:
    """Lines to one run of ids; each line is encoded by itself."""
    backend = Backend.from_file(str(SHIPPED))
    encoded = [e.ids for e in backend.encode_batch(lines, add_special_tokens=False)]
    lengths = np.array([len(ids) for ids in encoded])
    return Tokens(
        ids=np.concatenate([np.array(ids, dtype=np.int64) for ids in encoded]),
        starts=np.concatenate([[0], np.cumsum(lengths)[:-1]]).astype(np.int64),
    )


def bos_and_size() -> tuple[int, int]:
    """Id of the start token, and the number of vocabulary entries."""
    backend = Backend.from_file(str(SHIPPED))
    bos = backend.token_to_id("<s>")
    assert bos is not None, "the shipped vocabulary begins with a start token"
    return bos, backend.get_vocab_size()
