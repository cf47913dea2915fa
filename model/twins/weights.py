"""The shipped twins as tensors: float16 on disk, float32 in use; must not know training."""

import json
from pathlib import Path
from typing import Any

from safetensors import safe_open
from torch import Tensor, float32

from model.config import NORMS, ModelConfig, Norm
from model.twins.recipe import twin_config

FOLDER = Path(__file__).parent
RECORD = FOLDER / "training.json"


def path(norm: Norm) -> Path:
    """The file of one twin."""
    return FOLDER / f"{norm}.safetensors"


def available() -> bool:
    """Whether both twins are there."""
    return all(path(norm).is_file() for norm in NORMS)


def load(norm: Norm, file: Path | None = None) -> tuple[ModelConfig, dict[str, Tensor]]:
    """One twin's configuration and its parameters by name, float32.

    Args:
        norm: the placement that the weights were trained in.
        file: other weights of the same shape, instead of the shipped ones.

    Raises:
        FileNotFoundError: the file is not there.
    """
    with safe_open(str(file or path(norm)), framework="pt") as tensors:
        weights = {name: tensors.get_tensor(name).to(float32) for name in tensors.keys()}  # noqa: SIM118
    return twin_config(norm, d_vocab=weights["embed.weight"].shape[0]), weights


def vocabulary_digest(norm: Norm) -> str:
    """SHA-256 of the tokenizer file that the twin was trained with, from the file's metadata."""
    with safe_open(str(path(norm)), framework="pt") as tensors:
        return str(tensors.metadata()["vocabulary_sha256"])


def training_record() -> dict[str, Any]:
    """The record of both runs: losses, gradients and head scores over steps."""
    record: dict[str, Any] = json.loads(RECORD.read_text(encoding="utf-8"))
    return record
