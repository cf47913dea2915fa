"""The tensors of a folder's safetensors files, mapped into memory; must not know any architecture.

Tensors are views of the mapped files, so that a folder takes its size once, and the system may
drop and read again what is not in use. The mapping holds the files: they may be deleted or
replaced by others meanwhile, but must not be overwritten in place.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from model.checkpoints.fields import read_json
from model.checkpoints.files import file_in
from model.errors import ModelError

SINGLE = "model.safetensors"
INDEX = "model.safetensors.index.json"

LENGTH_BYTES = 8  # of the header's length, little-endian, at the beginning of a file
MAX_HEADER = 100_000_000  # the format's own limit

DTYPES = {"F32": 4, "F16": 2, "BF16": 2}
HALF = {"F16": "float16", "BF16": "bfloat16"}

# LayerNorm's parameters as files made by TensorFlow spell them.
_OLD_NAMES = {"LayerNorm.weight": "LayerNorm.gamma", "LayerNorm.bias": "LayerNorm.beta"}


@dataclass(frozen=True)
class Stored:
    """Where a tensor is, as its file's header says; ``end`` is the byte after its last one."""

    file: Path
    dtype: str
    shape: tuple[int, ...]
    end: int


def weight_files(names: list[str]) -> list[str]:
    """The file that leads to a folder's weights: the usual one, an index, or the only one.

    In the order of `transformers`: of a single file and an index the single file counts.

    Raises:
        ModelError: ``only_safetensors`` with the weights that are there instead,
            ``weights_ambiguous``, ``weights_missing``.
    """
    for usual in (SINGLE, INDEX):
        if usual in names:
            return [usual]
    found = sorted(name for name in names if name.endswith(".safetensors"))
    if len(found) > 1:
        raise ModelError("weights_ambiguous", field="model", files=found)
    if found:
        return found
    others = (".bin", ".pt", ".pth", ".ckpt", ".pkl", ".h5", ".msgpack", ".onnx", ".gguf", ".npz")
    if unsafe := sorted(name for name in names if name.endswith(others)):
        raise ModelError("only_safetensors", field="model", files=unsafe)
    raise ModelError("weights_missing", field="model")


class FolderTensors:
    """A folder's tensors under the names of one family.

    Attributes:
        half_precision: tensors taken that are stored in half precision, with their dtype.
        numbers_taken: how many numbers have been read, while others may ask.

    Raises:
        ModelError: ``weights_unreadable``, ``shard_missing`` or ``tensor_not_in_shard`` with the
            file, ``tensor_truncated`` with the first tensor that is cut.
    """

    def __init__(self, folder: Path, names: list[str], prefix: str) -> None:
        self._stored = _headers(folder, names)
        self._prefix = prefix
        self._has_prefix = any(name.startswith(prefix) for name in self._stored)
        self._open: dict[Path, safe_open] = {}
        self._taken: set[str] = set()
        self.half_precision: dict[str, str] = {}
        self.numbers_taken = 0

    def has(self, name: str) -> bool:
        """Whether there is a tensor of this name."""
        return self._find(name) is not None

    def take(self, name: str, shape: tuple[int, ...], outside: bool = False) -> Tensor:
        """One tensor as float32; stored as float32, it is a view of the file.

        Args:
            outside: whether the family's prefix is no part of its name.

        Raises:
            ModelError: ``tensor_missing``, ``tensor_shape``, ``tensor_dtype`` or
                ``tensor_not_finite``, each with the tensor's name.
        """
        found = self._find(name)
        if found is None:
            full = self._prefix + name if self._has_prefix and not outside else name
            raise ModelError("tensor_missing", field="model", tensor=full, shape=list(shape))
        stored = self._stored[found]
        if stored.shape != shape:
            raise ModelError(
                "tensor_shape",
                field="model",
                tensor=found,
                shape=list(stored.shape),
                expected=list(shape),
            )
        if stored.dtype not in DTYPES:
            raise ModelError(
                "tensor_dtype",
                field="model",
                tensor=found,
                dtype=stored.dtype,
                supported=list(DTYPES),
            )
        self._taken.add(found)
        if stored.dtype in HALF:
            self.half_precision[found] = HALF[stored.dtype]
        value = self._read(found, stored).to(torch.float32)
        # A sum is finite if all its terms are; if it is not, count.
        if not bool(value.sum().isfinite()) and (count := int((~value.isfinite()).sum())):
            raise ModelError("tensor_not_finite", field="model", tensor=found, count=count)
        self.numbers_taken += value.numel()
        return value

    def unused(self) -> list[str]:
        """Names of the tensors that nobody took, sorted."""
        return sorted(self._stored.keys() - self._taken)

    def _find(self, name: str) -> str | None:
        spellings = [name]
        for new, old in _OLD_NAMES.items():
            if name.endswith(new):
                spellings.append(name.removesuffix(new) + old)
        for spelling in spellings:
            for full in (self._prefix + spelling, spelling):
                if full in self._stored:
                    return full
        return None

    def _read(self, name: str, stored: Stored) -> Tensor:
        try:
            if stored.file not in self._open:
                self._open[stored.file] = safe_open(str(stored.file), framework="pt")
            value: Tensor = self._open[stored.file].get_tensor(name)  # type: ignore[no-untyped-call]
        except (SafetensorError, OSError):
            raise _unreadable(stored.file) from None
        return value


def _headers(folder: Path, names: list[str]) -> dict[str, Stored]:
    """What all weight files hold, by tensor; nothing but their headers is read."""
    (first,) = weight_files(names)
    files = [first]
    expected: Mapping[str, object] = {}
    if first == INDEX:
        weight_map = read_json(file_in(folder, first)).get("weight_map")
        if not isinstance(weight_map, dict):
            raise ModelError("json_unreadable", field="model", file=first)
        expected = weight_map
        files = sorted({str(file) for file in weight_map.values()})
    stored: dict[str, Stored] = {}
    for file in files:
        # An index names files of its own folder; nothing else is a file's name.
        if file not in names or not file.endswith(".safetensors"):
            raise ModelError("shard_missing", field="model", file=file[:200])
        held = _header(file_in(folder, file))
        stored |= {k: v for k, v in held.items() if not expected or expected.get(k) == file}
    if lost := sorted(expected.keys() - stored.keys()):
        file = str(expected[lost[0]])
        raise ModelError("tensor_not_in_shard", field="model", tensor=lost[0], file=file)
    return stored


def _header(file: Path) -> dict[str, Stored]:
    """What one file holds. Source: the format's description in the safetensors repository."""
    try:
        size = file.stat().st_size
        with file.open("rb") as data:
            length = int.from_bytes(data.read(LENGTH_BYTES), "little")
            if not 2 <= length <= min(MAX_HEADER, size - LENGTH_BYTES):
                raise ValueError(length)
            entries = json.loads(data.read(length))
        "".join(entries).encode()  # half a surrogate pair is no name
        begin = LENGTH_BYTES + length
        stored = {
            name: _stored(file, begin, entry)
            for name, entry in entries.items()
            if name != "__metadata__"
        }
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise _unreadable(file) from None
    cut = {name: one.end - size for name, one in stored.items() if one.end > size}
    if cut:
        first = min(cut, key=cut.__getitem__)
        raise ModelError(
            "tensor_truncated", field="model", tensor=first, file=file.name, missing=cut[first]
        )
    return stored


def _stored(file: Path, begin: int, entry: Mapping[str, object]) -> Stored:
    dtype, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
    if not isinstance(dtype, str) or not isinstance(shape, list) or not isinstance(offsets, list):
        raise TypeError(entry)
    first, end = offsets
    if any(type(number) is not int or number < 0 for number in (*shape, first, end)):
        raise ValueError(entry)
    if dtype in DTYPES and math.prod(shape) * DTYPES[dtype] != end - first:
        raise ValueError(entry)
    return Stored(file, dtype, tuple(shape), begin + end)


def _unreadable(file: Path) -> ModelError:
    return ModelError("weights_unreadable", field="model", file=file.name)
