"""Tensors to bytes, the only place where that happens; must not know which run they come from.

orjson writes float32 as the shortest decimal that reads back as the same float32, and NaN and the
infinities as null.
"""

import base64
import gzip
from collections.abc import Hashable
from dataclasses import dataclass, fields, is_dataclass
from functools import lru_cache
from typing import Any, Literal, cast

import numpy as np
import orjson
import torch
from numpy.typing import NDArray

Encoding = Literal["text", "base64"]
DType = Literal["float32", "uint8"]

_OPTIONS = orjson.OPT_SERIALIZE_NUMPY

_EXACT_POWERS = 22
"""10^22 is the largest power of ten that a float64 holds exactly."""

_POWERS = np.array([float(f"1e{place}") for place in range(61)])
"""Enough for the smallest float32, 1.4e-45, at 8 digits."""


@dataclass(frozen=True)
class Format:
    """How numbers are written: ``digits`` for text, ``dtype`` for base64."""

    encoding: Encoding = "text"
    digits: int | None = None
    dtype: DType = "float32"


def to_json(value: object, digits: int | None = None) -> bytes:
    """Strict JSON of dataclasses, plain values and tensors at any depth; never NaN or Infinity.

    Args:
        digits: significant digits of the tensors' numbers; None for the shortest exact ones.
    """
    return orjson.dumps(value, default=lambda found: _plain(found, digits), option=_OPTIONS)


def tensor_fields(value: torch.Tensor, how: Format) -> dict[str, object]:
    """The part of a tensor's JSON that holds its numbers: ``dtype`` and ``values`` or ``base64``.

    ``uint8`` is value × 255, rounded, for shares from 0 to 1.
    """
    if how.encoding == "text":
        return {"dtype": "float32", "values": orjson.Fragment(to_json(value, how.digits))}
    array = _array(value)
    if how.dtype == "uint8":
        stored = np.rint(np.nan_to_num(array) * 255.0).astype(np.uint8).tobytes()
    else:
        stored = array.astype("<f4", copy=False).tobytes()
    return {"dtype": how.dtype, "base64": base64.b64encode(stored).decode("ascii")}


def round_significant(values: NDArray[np.float32], digits: int) -> NDArray[np.float64]:
    """Each number to so many significant digits, as the float64 nearest to that decimal.

    The float64's shortest decimal then has no more digits: k / 10^m is correctly rounded where
    both are exact.
    """
    exact = values.astype(np.float64)
    result = exact.copy()
    chosen = np.isfinite(exact) & (exact != 0)
    numbers = exact[chosen]
    places = digits - 1 - np.floor(np.log10(np.abs(numbers))).astype(np.int64)
    # log10 is rounded: next to a power of ten it may be one off.
    places -= np.abs(np.rint(_shifted(numbers, places))) > 10**digits
    places += np.abs(np.rint(_shifted(numbers, places))) < 10 ** (digits - 1)
    result[chosen] = _shifted(np.rint(_shifted(numbers, places)), -places)
    for place in np.flatnonzero(np.abs(places) > _EXACT_POWERS):
        index = np.flatnonzero(chosen)[place]
        result.flat[index] = float(f"{exact.flat[index]:.{digits - 1}e}")
    return result


def _shifted(numbers: NDArray[np.float64], places: NDArray[np.int64]) -> NDArray[np.float64]:
    """numbers × 10^places, dividing for negative places since 10^-m is never exact."""
    power = _POWERS[np.abs(places)]
    shifted: NDArray[np.float64] = np.where(places >= 0, numbers * power, numbers / power)
    return shifted


def as_float32(value: object, digits: int | None = None) -> object:
    """Dataclasses, lists and dicts with every Python float as a float32, or with so many digits.

    A float32 that became a Python float is written with 17 digits, of which 9 are noise.
    """
    if isinstance(value, float):
        return np.float32(value) if digits is None else float(f"{value:.{digits}g}")
    if (names := _field_names(cast(Hashable, type(value)))) is not None:
        return {name: as_float32(getattr(value, name), digits) for name in names}
    if isinstance(value, dict):
        return {key: as_float32(part, digits) for key, part in value.items()}
    if isinstance(value, list):
        return [as_float32(part, digits) for part in value]
    return value


@lru_cache(maxsize=256)
def _field_names(kind: Any) -> tuple[str, ...] | None:
    """Names of a dataclass's fields; null for any other type."""
    return tuple(one.name for one in fields(kind)) if is_dataclass(kind) else None


def compress(body: bytes) -> bytes:
    """gzip without a time stamp: the same reply has the same bytes.

    At the lowest level: the next one takes a sixth longer and saves a fortieth of the bytes.
    """
    return gzip.compress(body, compresslevel=1, mtime=0)


def _plain(found: object, digits: int | None) -> object:
    if isinstance(found, torch.Tensor):
        found = _array(found)
    if isinstance(found, np.ndarray):
        if digits is not None and found.dtype == np.float32:
            return round_significant(found, digits)
        return np.ascontiguousarray(found) if found.ndim else found[()]
    raise TypeError(type(found).__name__)


def _array(value: torch.Tensor) -> NDArray[np.float32]:
    array: NDArray[np.float32] = value.detach().contiguous().numpy()
    return array
