"""Download of one model folder from a hub, whole or not at all; must not know how it is run.

The only part of the package that talks to a network, and only when told to. Weights are fetched
last: a model that could not be run is refused by its settings before them.
"""

import os
import re
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from huggingface_hub import HfApi, hf_hub_download

from model.checkpoints import card, pipelines
from model.checkpoints.collection import CONFIG, listed
from model.checkpoints.fields import read_json
from model.checkpoints.files import look
from model.checkpoints.japanese import SPM_FILES
from model.checkpoints.tensors import INDEX, weight_files
from model.errors import ModelError

_NAME = re.compile(r"(?:[\w][\w.-]{0,95}/)?([\w][\w.-]{0,95})", re.ASCII)
_LICENCE = re.compile(r"(?:LICEN[CS]E|NOTICE)(?:\.\w{1,8})?", re.IGNORECASE)
_SMALL = frozenset(
    (
        CONFIG,
        card.NAME,
        pipelines.WHOLE,
        pipelines.CONFIG,
        pipelines.WORDS,
        pipelines.PIECES,
        pipelines.MERGES,
        pipelines.ADDED,
        pipelines.MARKS,
        INDEX,
        *SPM_FILES,
    )
)


def fetch(
    repository: str,
    parent: Path,
    endpoint: str | None = None,
    say: Callable[[str], None] = lambda file: None,
) -> Path:
    """Fetch ``ORG/NAME`` into the folder ``NAME`` of ``parent``.

    Args:
        endpoint: address of the hub; null for the library's own.
        say: called with the name of each file before it is fetched.

    Raises:
        ModelError: ``bad_repository``, ``folder_exists``, ``fetch_failed``, or why the model could
            not be run.
    """
    match = _NAME.fullmatch(repository)
    if match is None:
        raise ModelError("bad_repository", field="repository", repository=repository[:200])
    target = parent / match[1]
    if target.exists():
        raise ModelError("folder_exists", field="repository", folder=match[1])
    parent.mkdir(parents=True, exist_ok=True)
    # Hidden while it is not whole, and on the same disk, so that it appears in one move.
    with tempfile.TemporaryDirectory(prefix=".fetch-", dir=parent) as hidden:
        folder = Path(hidden) / match[1]
        folder.mkdir()
        try:
            _download(repository, folder, endpoint, say)
        except ModelError:
            raise
        except Exception as error:  # of the library, of what it speaks HTTP with, of the disk
            raise ModelError(
                "fetch_failed",
                field="repository",
                repository=repository,
                reason=type(error).__name__,
            ) from None
        # What the library notes down beside its files.
        shutil.rmtree(folder / ".cache", ignore_errors=True)
        os.rename(folder, target)
    return target


def _download(
    repository: str, folder: Path, endpoint: str | None, say: Callable[[str], None]
) -> None:
    info = HfApi(endpoint=endpoint).model_info(repository)
    names = [sibling.rfilename for sibling in info.siblings or []]

    def get(name: str) -> None:
        say(name)
        hf_hub_download(repository, name, revision=info.sha, local_dir=folder, endpoint=endpoint)

    # Nothing that lies in a folder of its own belongs to the model.
    for name in sorted(names):
        if name in _SMALL or _LICENCE.fullmatch(name):
            get(name)
    (first,) = weight_files(names)
    weights = [first]
    if first == INDEX:
        weight_map = read_json(folder / INDEX).get("weight_map")
        if not isinstance(weight_map, dict):
            raise ModelError("json_unreadable", field="repository", file=INDEX)
        weights = sorted({str(file) for file in weight_map.values()} & set(names))
    for name in weights:
        (folder / name).touch()
    listed(look(folder, folder.name))
    for name in weights:
        (folder / name).unlink()
        get(name)
