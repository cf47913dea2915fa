"""What a folder's ``README.md`` says of licence and languages; must not know anything else."""

import re

from model.checkpoints.files import Folder, file_in
from model.errors import ModelError

NAME = "README.md"
MAX_BYTES = 16_000  # of its beginning, where the block of metadata stands

_BLOCK = re.compile(r"\A---\s*\n(.*?)\n---\s*\n", re.DOTALL)
_LICENCE = re.compile(r"^license:\s*[\"']?([\w.+-]{1,60})", re.MULTILINE)
_LANGUAGES = re.compile(r"^language:(.*(?:\n\s*-.*)*)", re.MULTILINE)
_CODE = re.compile(r"\b[a-z]{2,3}\b")


def licence_and_languages(folder: Folder) -> tuple[str | None, list[str]]:
    """The licence's name, null where none is given, and the codes of the languages."""
    if NAME not in folder.names:
        return None, []
    try:
        with file_in(folder.path, NAME).open("rb") as file:
            text = file.read(MAX_BYTES).decode("utf-8", errors="replace")
    except (OSError, ModelError):
        return None, []
    block = _BLOCK.match(text.replace("\r\n", "\n"))
    if block is None:
        return None, []
    licence, languages = _LICENCE.search(block[1]), _LANGUAGES.search(block[1])
    return licence and licence[1], _CODE.findall(languages[1]) if languages else []
