"""What a head does, and what a model makes of a repetition, as numbers; must not know training.

Definitions are the API's: means over the queries for which a score is defined, with the value that
even attention over the allowed keys would give ("chance") beside it.
"""

from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from model.transformer import Transformer
from model.twins.batches import FIRST_PIECE

SEGMENT = 48  # random tokens that are said twice
REPEATED_ROWS = 16


@dataclass(frozen=True)
class HeadScore:
    """One score of every head, and its chance level."""

    values: Tensor  # [layer, head]
    chance: float


def patterns(model: Transformer, ids: Tensor) -> tuple[Tensor, Tensor]:
    """Run ids [row, pos]; the patterns [layer, row, head, query, key] and the last state."""
    seen: list[Tensor] = []

    def keep(_module: nn.Module, _inputs: tuple[Tensor, ...], output: Tensor) -> None:
        seen.append(output)

    handles = [block.attn.pattern.register_forward_hook(keep) for block in model.blocks]  # type: ignore[union-attr]
    try:
        with torch.no_grad():
            state = model(ids)
    finally:
        for handle in handles:
            handle.remove()
    return torch.stack(seen), state


def previous_token(pattern: Tensor) -> HeadScore:
    """Mean weight on the token before, queries 1 and on. pattern [layer, row, head, query, key]."""
    n = pattern.shape[-1]
    weight = pattern.diagonal(-1, -2, -1)  # [layer, row, head, query - 1]
    chance = (1 / torch.arange(2, n + 1, dtype=torch.float64)).mean()
    return HeadScore(weight.mean((1, 3)), float(chance))


def induction(pattern: Tensor, ids: Tensor) -> HeadScore:
    """Mean weight on tokens that followed earlier occurrences of the query's own token.

    Args:
        pattern: [layer, row, head, query, key].
        ids: [row, pos].

    Source: Olsson et al. 2022, "In-context Learning and Induction Heads".
    """
    n = ids.shape[-1]
    earlier = (ids[:, :, None] == ids[:, None, :]).tril(-1)  # [row, query, key]
    follows = F.pad(earlier, (1, 0))[..., :n]  # [row, query, key]: key - 1 is the same token
    defined = follows.any(-1)  # [row, query]
    weight = (pattern * follows[None, :, None]).sum(-1)  # [layer, row, head, query]
    counted = defined.sum()
    values = (weight * defined[None, :, None]).sum((1, 3)) / counted
    even = follows.sum(-1) / torch.arange(1, n + 1)  # [row, query]
    return HeadScore(values, float((even * defined).sum() / counted))


def repeated_tokens(bos_id: int, d_vocab: int, seed: int = 0) -> Tensor:
    """Rows ``<s>``, random tokens, the same tokens again: [row, 1 + 2 · SEGMENT]."""
    rng = np.random.default_rng(seed)
    segment = rng.integers(FIRST_PIECE, d_vocab, (REPEATED_ROWS, SEGMENT))
    start = np.full((REPEATED_ROWS, 1), bos_id)
    return torch.from_numpy(np.concatenate([start, segment, segment], axis=1))


def halves(token_losses: Tensor) -> tuple[float, float]:
    """Mean loss over the first saying and over the second. token_losses [row, 2 · SEGMENT].

    The second saying's first token cannot be foreseen and is left out.
    """
    n = token_losses.shape[-1] // 2
    return float(token_losses[:, :n].mean()), float(token_losses[:, n + 1 :].mean())


def token_losses(model: Transformer, state: Tensor, ids: Tensor) -> Tensor:
    """-log p of each next token in nats.

    state [row, pos, d_model] and ids [row, pos] to [row, pos - 1].
    """
    assert model.unembed is not None, "a language model has an unembedding"
    with torch.no_grad():
        logits = model.unembed(state[:, :-1])  # [row, pos, d_vocab]
        return F.cross_entropy(logits.mT, ids[:, 1:], reduction="none")
