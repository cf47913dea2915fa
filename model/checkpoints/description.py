"""What a folder's ``config.json`` says of its model; must not know files or weights."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol

from torch import Tensor

from model.checkpoints.fields import Fields
from model.config import ModelConfig
from model.errors import ModelError
from model.runnable import Note


class TensorSource(Protocol):
    """Tensors by the name that a family gives them."""

    def take(self, name: str, shape: tuple[int, ...], outside: bool = False) -> Tensor:
        """The float32 tensor of this name, which must have this shape and be finite.

        Args:
            outside: whether the family's prefix is no part of the name.
        """

    def has(self, name: str) -> bool:
        """Whether there is a tensor of this name."""


Weights = Callable[[ModelConfig, TensorSource], dict[str, Tensor]]


@dataclass(frozen=True)
class Family:
    """An architecture that our blocks can run.

    Attributes:
        name: as it is listed.
        prefix: before every name of the family's tensors, in files saved with a head.
        read: from the keys of ``config.json`` to what is run.
        weights: the tensors under our parameters' names.
        text_pair: whether its tokenizers join two texts.
    """

    name: str
    prefix: str
    read: Callable[[Fields], ModelConfig]
    weights: Weights
    text_pair: bool


@dataclass(frozen=True)
class Description:
    """Everything that is known of a model before its weights are read.

    Attributes:
        kind: the ``model_type`` of its file; several belong to one family.
    """

    kind: str
    family: Family
    config: ModelConfig
    notes: list[Note] = field(default_factory=list)

    @property
    def text_pair(self) -> bool:
        """Whether it reads two texts: a table of types, if there is one, needs two rows."""
        return self.family.text_pair and (self.family.name != "bert" or self.config.n_types > 1)


def describe(values: Mapping[str, object], families: Mapping[str, Family]) -> Description:
    """Read a ``config.json``.

    Raises:
        ModelError: ``architecture_not_supported`` with what is supported, or a key that cannot be
            used, by name.
    """
    kind = values.get("model_type")
    family = families.get(kind) if isinstance(kind, str) else None
    supported = sorted(families)
    if kind is None:
        raise ModelError("architecture_missing", field="model", supported=supported)
    if family is None:
        raise ModelError(
            "architecture_not_supported",
            field="model",
            model_type=str(kind)[:80],
            supported=supported,
        )
    keys = Fields(values)
    # What any of these would do to the weights or the arithmetic is not ours to guess.
    keys.must_be("is_encoder_decoder", False)
    keys.must_be("add_cross_attention", False)
    keys.must_be("is_decoder", *([False] if family.text_pair else [False, True]))
    keys.must_be("pruned_heads", {})
    keys.must_be("quantization_config", None)
    config = family.read(keys)
    config = replace(config, unembed=config.unembed and _predicts(values, config.tied))
    unknown = keys.unknown()
    notes = [Note("unknown_config_keys", {"keys": unknown})] if unknown else []
    if not config.unembed:
        notes.append(Note("no_unembedding" if config.causal else "masked_head_not_run"))
    return Description(str(kind), family, config, notes)


def _predicts(values: Mapping[str, object], tied: bool) -> bool:
    """Whether the class that was saved has a trained output over the vocabulary."""
    names = values.get("architectures")
    if not isinstance(names, list) or not names:
        return True
    endings = ("LMHeadModel", "ForCausalLM", "DoubleHeadsModel", *(["Model"] if tied else []))
    return any(str(name).endswith(endings) for name in names)
