"""Folders of models and the files in them, found by listing; must not know what is in a file.

No path is ever made from a request: a name is looked up among the names that the folder has, and a
file counts only if it lies in its folder after all links are followed.
"""

import os
from dataclasses import dataclass
from pathlib import Path

from model.errors import ModelError


@dataclass(frozen=True)
class Folder:
    """One folder at one moment.

    Attributes:
        id: its name, which is the model's.
        names: of the files in it, sorted.
        signature: changes when a file is added, removed or written to.
    """

    id: str
    path: Path
    names: tuple[str, ...]
    signature: tuple[tuple[str, int, int], ...]


def folders_in(parent: Path) -> list[Folder]:
    """The folders in a folder, sorted by name; none where it does not exist.

    Hidden ones are left out, and so are names that are no text.
    """
    try:
        with os.scandir(parent) as entries:
            names = sorted(entry.name for entry in entries if _is_model_name(entry))
    except OSError:
        return []
    return [look(parent / name, name) for name in names]


def find_folder(parent: Path, name: str) -> Folder | None:
    """The folder of exactly this name, if listing ``parent`` shows one."""
    try:
        with os.scandir(parent) as entries:
            found = any(entry.name == name and _is_model_name(entry) for entry in entries)
    except OSError:
        return None
    return look(parent / name, name) if found else None


def look(path: Path, name: str) -> Folder:
    """A folder's files as they are now."""
    signature = []
    try:
        with os.scandir(path) as entries:
            for entry in entries:
                if entry.is_file():
                    stat = entry.stat()
                    signature.append((entry.name, stat.st_size, stat.st_mtime_ns))
    except OSError:
        signature = []
    signature.sort()
    return Folder(name, path, tuple(file for file, _, _ in signature), tuple(signature))


def file_in(folder: Path, name: str) -> Path:
    """The path of a file that listing has shown.

    Raises:
        ModelError: ``leads_outside``: the file, or the folder itself, is a link to elsewhere.
    """
    inside = folder.parent.resolve() / folder.name
    path = (folder / name).resolve()
    if path.parent != inside:
        raise ModelError("leads_outside", field="model", file=name)
    return path


def _is_model_name(entry: "os.DirEntry[str]") -> bool:
    name = entry.name
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return not name.startswith(".") and entry.is_dir()
