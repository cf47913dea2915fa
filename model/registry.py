"""The models that can be run, by name, and their weights in memory; must not know texts."""

import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from model import limits, textbook
from model.checkpoints.collection import Checkpoints
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
from model.tokenizer import Tokenizer
from model.tokenizer.cut import Cut
from model.twins import weights as twins
from model.twins.recipe import twin_config

__all__ = ["ModelEntry", "Note", "Registry", "Runnable", "Unsupported"]


TWIN = "twin"


class Registry:
    """Lists models, builds them on first use and keeps them up to a bound of memory.

    Args:
        models_dir: a folder of checkpoints, which need not exist; null for no checkpoints at all.
    """

    def __init__(self, models_dir: Path | None = None) -> None:
        self.tokenizer = Tokenizer.load()
        self._lock = threading.Lock()
        self._random: OrderedDict[tuple[textbook.Settings, Norm], Runnable] = OrderedDict()
        self._twins: dict[tuple[Norm, Norm], Runnable] = {}
        self._checkpoints = models_dir and Checkpoints(models_dir, taken=(TWIN, textbook.ID))

    def entries(self) -> list[ModelEntry]:
        """All models; the first is the default."""
        return self._own() + (self._checkpoints.entries() if self._checkpoints else [])

    def unsupported(self) -> list[Unsupported]:
        """Models that are present and cannot be run, with the reason."""
        return self._checkpoints.unsupported() if self._checkpoints else []

    def loading(self, model: str) -> Loading:
        """How far a model's weights are in memory; those that are no folders need no waiting.

        Raises:
            ModelError: ``unknown_model``, or why a folder cannot be run.
        """
        for entry in self._own():
            if entry.id == model:
                return Loading("loaded", entry.parameters, entry.parameters)
        found = self._checkpoints and self._checkpoints.loading(model)
        if not found:
            raise ModelError("unknown_model", field="model", model=model)
        return found

    def training_record(self, model: str) -> dict[str, Any]:
        """How a trained model was trained: losses, gradients and head scores over steps.

        Raises:
            ModelError: ``unknown_model``, or ``no_training_record`` of a model that has none.
        """
        if model == TWIN and twins.available():
            return twins.training_record()
        if model in [entry.id for entry in self.entries()]:
            raise ModelError("no_training_record", field="model", model=model)
        raise ModelError("unknown_model", field="model", model=model)

    def load(
        self,
        model: str | None,
        norm: Norm | None,
        weights: Norm | None,
        config: Mapping[str, object] | None,
    ) -> Runnable:
        """The model as a request names it; null stands for the default.

        Raises:
            ModelError: ``unknown_model``, ``weights_not_offered``, ``config_not_offered``,
                ``placement_undefined``, a size that does not fit, or why a folder cannot be run.
        """
        own = self._own()
        entry = next((one for one in own if model in (None, one.id)), None)
        if entry is None:
            assert model is not None, "there is a default"
            return self._checkpoint(model, norm, weights, config)
        if entry.kind == "random":
            if weights is not None:
                raise ModelError("weights_not_offered", field="weights", model=entry.id)
            return self._random_model(
                textbook.settings_from(config or {}), norm or entry.default_norm
            )
        if config is not None:
            raise ModelError("config_not_offered", field="config", model=entry.id)
        wiring = norm or entry.default_norm
        return self._twin(wiring, weights or wiring)

    def _own(self) -> list[ModelEntry]:
        """The models that are no folders."""
        random = self._textbook_entry(textbook.Settings(), "post")
        if not twins.available():
            return [random]
        return [self._twin_entry(twin_config("post", self.tokenizer.d_vocab)), random]

    def _checkpoint(
        self,
        model: str,
        norm: Norm | None,
        weights: Norm | None,
        config: Mapping[str, object] | None,
    ) -> Runnable:
        runnable = self._checkpoints and self._checkpoints.load(model, norm, weights)
        if not runnable:
            raise ModelError("unknown_model", field="model", model=model)
        if config is not None:
            raise ModelError("config_not_offered", field="config", model=model)
        return runnable

    def _textbook_entry(self, settings: textbook.Settings, norm: Norm) -> ModelEntry:
        return entry_of(
            settings.model_config(norm, self.tokenizer.d_vocab),
            id=textbook.ID,
            kind="random",
            family="textbook",
            norms=[],
            default_norm="post",
            languages=["en", "ja"],
            licence="MIT",
            notes=[Note("random_weights"), Note("no_unembedding")],
        )

    def _twin_entry(self, config: ModelConfig) -> ModelEntry:
        return entry_of(
            config,
            id=TWIN,
            kind="trained",
            family="twin",
            norms=["post", "pre"],
            default_norm="post",
            languages=["en", "ja"],
            licence="MIT",
            notes=[Note("decoder_only")],
        )

    def _twin(self, norm: Norm, weights: Norm) -> Runnable:
        """The twin trained in the placement ``weights``, run in the placement ``norm``."""
        with self._lock:
            if (norm, weights) in self._twins:
                return self._twins[norm, weights]
        trained, tensors = twins.load(weights)
        # Post never runs a final norm; Pre runs one only if its weights have one.
        config = replace(trained, norm=norm, final_norm=trained.has_final_norm)
        entry = self._twin_entry(config)
        runnable = assemble(
            entry,
            config,
            tensors,
            self.tokenizer,
            lambda text, pair: Cut(self.tokenizer.encode(text, bos=True)),
            weights=weights,
            norm_is_trained=norm == weights,
            notes=entry.notes + wiring_notes(trained, config),
        )
        with self._lock:
            return self._twins.setdefault((norm, weights), runnable)

    def _random_model(self, settings: textbook.Settings, norm: Norm) -> Runnable:
        key = (settings, norm)
        with self._lock:
            if key in self._random:
                self._random.move_to_end(key)
                return self._random[key]
        # Built outside the lock: two callers may build the same model, with the same numbers.
        config = settings.model_config(norm, self.tokenizer.d_vocab)
        entry = self._textbook_entry(settings, norm)
        runnable = assemble(
            entry,
            config,
            textbook.random_weights(config, settings.seed),
            self.tokenizer,
            lambda text, pair: Cut(self.tokenizer.encode(text)),
            settings=settings,
            notes=entry.notes,
        )
        with self._lock:
            self._random[key] = runnable
            self._drop_oldest()
        return runnable

    def _drop_oldest(self) -> None:
        """Forget the least recently used models beyond the bound; a run keeps its own alive."""
        while len(self._random) > 1 and (
            sum(4 * r.config.n_parameters for r in self._random.values())
            > limits.RANDOM_MODELS_BYTES
        ):
            self._random.popitem(last=False)
