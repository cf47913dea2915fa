"""All folders as models: listed by their settings, loaded on first use; must not know requests.

Loaded models are kept up to a bound of memory, the most recently used ones. A run keeps its own
alive, and what is loaded stays usable when its folder is deleted.
"""

import logging
import threading
from collections import OrderedDict
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from pathlib import Path

from torch import Tensor

from model import limits
from model.checkpoints import packages, pipelines
from model.checkpoints.bert import BERT, DISTILBERT, ROBERTA
from model.checkpoints.card import licence_and_languages
from model.checkpoints.description import Description, describe
from model.checkpoints.fields import read_json
from model.checkpoints.files import Folder, file_in, find_folder, folders_in
from model.checkpoints.gpt2 import GPT2
from model.checkpoints.neox import NEOX
from model.checkpoints.tensors import FolderTensors, weight_files
from model.checkpoints.tokens import FolderTokenizer
from model.config import ModelConfig, Norm
from model.errors import ModelError
from model.runnable import (
    Loading,
    ModelEntry,
    Note,
    Runnable,
    Unsupported,
    assemble,
    entry_of,
    wiring_notes,
)

logger = logging.getLogger("addnorm")

CONFIG = "config.json"
FAMILIES = {
    "bert": BERT,
    "roberta": ROBERTA,
    "xlm-roberta": ROBERTA,
    "camembert": ROBERTA,
    "distilbert": DISTILBERT,
    "gpt2": GPT2,
    "gpt_neox": NEOX,
}

BYTES = 4  # of a number in memory, whatever it takes in the file
NAMED = 64  # tensors that a note names; of more it says how many
FOLDER_GONE = Note("folder_gone")


@dataclass(frozen=True)
class Listed:
    """A folder that can be run, as far as its settings say."""

    folder: Folder
    description: Description
    entry: ModelEntry


@dataclass
class Loaded:
    """A folder's weights and tokenizer in memory, and the wirings that were asked for."""

    listed: Listed
    config: ModelConfig
    tensors: dict[str, Tensor]
    tokenizer: FolderTokenizer
    half_precision: dict[str, str]
    notes: list[Note]
    wirings: dict[Norm, Runnable] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """Bytes of the weights."""
        return BYTES * self.config.n_parameters


class Checkpoints:
    """The models of one folder of folders, and those that are installed as packages.

    Args:
        parent: the folder of models; it need not exist.
        taken: names that other models have.
    """

    def __init__(self, parent: Path, taken: Collection[str] = ()) -> None:
        self._parent = parent
        self._taken = frozenset(taken)
        self._lock = threading.Lock()
        self._loading = threading.Lock()
        self._listed: dict[str, tuple[Folder, Listed | ModelError]] = {}
        self._loaded: OrderedDict[str, Loaded] = OrderedDict()
        self._reading: tuple[str, FolderTensors] | None = None  # one at a time

    def entries(self) -> list[ModelEntry]:
        """What can be run, by name; of what is loaded also that whose folder is gone."""
        found = {one.folder.id: one.entry for one in self._all() if isinstance(one, Listed)}
        present = {folder.id for folder in self._folders()}
        with self._lock:
            gone = {name: one for name, one in self._loaded.items() if name not in present}
        for name, loaded in gone.items():
            entry = loaded.listed.entry
            found[name] = replace(entry, notes=[*entry.notes, FOLDER_GONE])
        return [found[name] for name in sorted(found)]

    def unsupported(self) -> list[Unsupported]:
        """What is there and cannot be run, by name, with the reason."""
        return [
            Unsupported(folder.id, found.code, found.params)
            for folder in self._folders()
            if isinstance(found := self._look_at(folder), ModelError)
        ]

    def load(self, name: str, norm: Norm | None, weights: Norm | None) -> Runnable | None:
        """The model of this name in a wiring, null for its own; null if there is none.

        Raises:
            ModelError: the reason why it cannot be run, ``weights_not_offered``,
                ``placement_undefined``.
        """
        folder = self._find(name)
        loaded = self._remembered(name) if folder is None else self._get(folder)
        if loaded is None:
            return None
        trained = loaded.config
        if weights not in (None, trained.norm):
            raise ModelError("weights_not_offered", field="weights", model=name)
        wiring = norm or trained.norm
        runnable = loaded.wirings.get(wiring) or _wired(loaded, wiring)
        # Of two callers who made the same, the first one's is kept.
        runnable = loaded.wirings.setdefault(wiring, runnable)
        return runnable if folder else replace(runnable, notes=[*runnable.notes, FOLDER_GONE])

    def loading(self, name: str) -> Loading | None:
        """How far the weights of this name are in memory; null if there is no such model.

        Raises:
            ModelError: the reason why it cannot be run.
        """
        with self._lock:
            loaded = self._loaded.get(name)
        if loaded is not None:
            total = loaded.config.n_parameters
            return Loading("loaded", total, total)
        folder = self._find(name)
        if folder is None:
            return None
        found = self._look_at(folder)
        if isinstance(found, ModelError):
            raise found
        total = found.description.config.n_parameters
        reading = self._reading
        if reading is None or reading[0] != name:
            return Loading("waiting", 0, total)
        return Loading("loading", min(reading[1].numbers_taken, total), total)

    def _folders(self) -> list[Folder]:
        own = folders_in(self._parent)
        names = {folder.id for folder in own}
        return own + [folder for folder in packages.installed() if folder.id not in names]

    def _find(self, name: str) -> Folder | None:
        own = find_folder(self._parent, name)
        if own is not None:
            return own
        return next((folder for folder in packages.installed() if folder.id == name), None)

    def _all(self) -> list[Listed | ModelError]:
        return [self._look_at(folder) for folder in self._folders()]

    def _look_at(self, folder: Folder) -> Listed | ModelError:
        """What a folder's settings say, read again only if one of its files has changed."""
        known = self._listed.get(folder.id)
        if known is not None and known[0] == folder:
            return known[1]
        try:
            if folder.id in self._taken:
                raise ModelError("name_taken", field="model", model=folder.id)
            found: Listed | ModelError = listed(folder)
        except ModelError as error:
            found = error
        except Exception as fault:
            # One folder that nobody foresaw must not hide all others.
            logger.exception("unexpected %s in a folder of models", type(fault).__name__)
            found = ModelError("folder_unreadable", field="model")
        self._listed[folder.id] = (folder, found)
        return found

    def _remembered(self, name: str) -> Loaded | None:
        """What is loaded under a name that no folder has any more."""
        with self._lock:
            if name in self._loaded:
                self._loaded.move_to_end(name)
            return self._loaded.get(name)

    def _get(self, folder: Folder) -> Loaded:
        found = self._look_at(folder)
        if isinstance(found, ModelError):
            raise found
        if (ready := self._ready(found)) is not None:
            return ready
        # One at a time: two that are read together would together pass the bound.
        with self._loading:
            if (ready := self._ready(found)) is not None:
                return ready
            self._make_room(found)
            source = weights_of(found)
            self._reading = (folder.id, source)
            try:
                loaded = read(found, source)
            finally:
                self._reading = None
            with self._lock:
                self._loaded[folder.id] = loaded
            return loaded

    def _ready(self, found: Listed) -> Loaded | None:
        with self._lock:
            loaded = self._loaded.get(found.folder.id)
            if loaded is None or loaded.listed.folder != found.folder:
                return None
            self._loaded.move_to_end(found.folder.id)
            return loaded

    def _make_room(self, coming: Listed) -> None:
        size = BYTES * coming.description.config.n_parameters
        with self._lock:
            self._loaded.pop(coming.folder.id, None)
            while self._loaded and (
                sum(loaded.size for loaded in self._loaded.values()) + size
                > limits.CHECKPOINTS_BYTES
            ):
                self._loaded.popitem(last=False)


def listed(folder: Folder) -> Listed:
    """A folder's model, from its settings and the names of its files alone.

    Raises:
        ModelError: why it cannot be run.
    """
    if CONFIG not in folder.names:
        raise ModelError("config_missing", field="model")
    description = describe(read_json(file_in(folder.path, CONFIG)), FAMILIES)
    weight_files(list(folder.names))
    pipelines.route(folder)
    config = description.config
    size = BYTES * config.n_parameters
    if size > limits.CHECKPOINTS_BYTES:
        raise ModelError(
            "checkpoint_too_large", field="model", bytes=size, limit=limits.CHECKPOINTS_BYTES
        )
    licence, languages = licence_and_languages(folder)
    entry = entry_of(
        config,
        text_pair=description.text_pair,
        id=folder.id,
        kind="checkpoint",
        family=description.kind,
        norms=[config.norm],
        default_norm=config.norm,
        languages=languages,
        licence=licence,
        notes=description.notes,
    )
    return Listed(folder, description, entry)


def weights_of(found: Listed) -> FolderTensors:
    """A folder's tensors, of which only the headers have been read."""
    folder = found.folder
    return FolderTensors(folder.path, list(folder.names), found.description.family.prefix)


def read(found: Listed, source: FolderTensors) -> Loaded:
    """A folder's weights, tokenizer and what is to be said of them.

    Raises:
        ModelError: a tensor or a tokenizer that cannot be used, by name.
    """
    folder, description = found.folder, found.description
    family, config = description.family, description.config
    tensors = family.weights(config, source)
    notes = []
    if config.tied and "unembed.weight" in tensors:
        config = replace(config, tied=False)
        notes.append(Note("output_not_tied"))
    if unused := source.unused():
        notes.append(Note("unused_tensors", {"count": len(unused), "tensors": unused[:NAMED]}))
    backend = pipelines.load(folder, pair_marks=family.text_pair)
    return Loaded(
        listed=found,
        config=config,
        tensors=tensors,
        tokenizer=FolderTokenizer(backend, has_types=config.n_types > 0),
        half_precision=source.half_precision,
        notes=notes,
    )


def _wired(loaded: Loaded, norm: Norm) -> Runnable:
    trained = loaded.config
    # Post never runs a final norm; Pre runs one only if its weights have one.
    config = replace(trained, norm=norm, final_norm=trained.has_final_norm)
    entry = replace(loaded.listed.entry, parameters=config.n_parameters)
    return assemble(
        entry,
        config,
        loaded.tensors,
        loaded.tokenizer,
        loaded.tokenizer.encode,
        weights=trained.norm,
        norm_is_trained=norm == trained.norm,
        half_precision=loaded.half_precision,
        notes=[*entry.notes, *loaded.notes, *wiring_notes(trained, config)],
    )
