"""A byte model that sees two bytes back: the floor for a language model; knows no Transformer.

Witten-Bell smoothing needs no tuning: each order is mixed with the next lower one in proportion to
how many different bytes have followed the context. Source: Witten and Bell 1991, method C.
"""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

SHIPPED = Path(__file__).with_name("trigrams.npz")
N_BYTES = 256


def count(text: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Distinct byte triples (a·65536 + b·256 + c) of a text, ascending, and their counts."""
    data = np.frombuffer(text.encode(), dtype=np.uint8).astype(np.int64)
    triples = (data[:-2] << 16) | (data[1:-1] << 8) | data[2:]
    return np.unique(triples, return_counts=True)


def save(triples: NDArray[np.int64], counts: NDArray[np.int64], file: Path = SHIPPED) -> None:
    """Write the counts: ascending triples as differences, which pack well."""
    steps = np.diff(triples, prepend=0).astype(np.uint32)
    np.savez_compressed(file, steps=steps, counts=counts.astype(np.uint32))


def load(file: Path = SHIPPED) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Read what :func:`save` wrote."""
    with np.load(file, allow_pickle=False) as arrays:
        return arrays["steps"].astype(np.int64).cumsum(), arrays["counts"].astype(np.int64)


class TrigramModel:
    """Probabilities of the next byte from counts of byte triples."""

    def __init__(self, triples: NDArray[np.int64], counts: NDArray[np.int64]) -> None:
        a, b, c = triples >> 16, (triples >> 8) & 255, triples & 255
        unigrams = np.bincount(c, weights=counts, minlength=N_BYTES)
        pairs = np.bincount(b * N_BYTES + c, weights=counts, minlength=N_BYTES**2)
        threes = np.bincount((a * N_BYTES + b) * N_BYTES + c, weights=counts, minlength=N_BYTES**3)
        zero = np.full(N_BYTES, 1 / N_BYTES)
        one = mix(unigrams, zero)
        two = mix(pairs.reshape(N_BYTES, N_BYTES), one)
        # [first, second, next]
        self.probability = mix(threes.reshape(N_BYTES, N_BYTES, N_BYTES), two)

    def bits_per_byte(self, text: str) -> float:
        """Mean -log2 p of the bytes of a text, from the third on."""
        data = np.frombuffer(text.encode(), dtype=np.uint8)
        return float(-np.log2(self.probability[data[:-2], data[1:-1], data[2:]]).mean())


def mix(counts: NDArray[np.number], lower: NDArray[np.float64]) -> NDArray[np.float64]:
    """Witten-Bell: (count + kinds · lower) / (total + kinds) along the last axis."""
    total = counts.sum(-1, keepdims=True)
    kinds = (counts > 0).sum(-1, keepdims=True)
    with np.errstate(invalid="ignore"):
        mixed = (counts + kinds * lower) / (total + kinds)
    # A context that was never seen says nothing: the lower order stands alone.
    return np.where(total > 0, mixed, lower)
