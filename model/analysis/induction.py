"""The test of repeated random tokens, which no knowledge of texts can pass; must not run a model.

Random tokens are said twice. Whoever foresees the second saying does so by looking at what followed
the token the first time: an induction head, with the help of a head that looks at the previous
token.

Source: Olsson et al. 2022, "In-context Learning and Induction Heads".
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from model.analysis.heads import induction_mask
from model.analysis.naming import is_named


@dataclass(frozen=True)
class Score:
    """Mean over all queries of all rows, its chance level and its standard error."""

    value: float
    chance: float
    error: float


@dataclass(frozen=True)
class HeadScores:
    """``names``: the scores that clear the margin of ``naming``."""

    layer: int
    head: int
    label: str
    scores: dict[str, Score]
    names: list[str]


def repeated(
    allowed: list[int], before: list[int], after: list[int], segment: int, rows: int, seed: int
) -> Tensor:
    """Rows of ids [row, pos]: ``before``, random tokens, the same again, ``after``.

    Args:
        allowed: ids to draw from.
        segment: how many tokens are said twice.
    """
    draw = torch.Generator().manual_seed(seed)
    chosen = torch.randint(len(allowed), (rows, segment), generator=draw)
    random = torch.tensor(allowed)[chosen]
    ends = [torch.tensor(ids, dtype=torch.long).expand(rows, -1) for ids in (before, after)]
    return torch.cat([ends[0], random, random, ends[1]], dim=-1)


def head_scores(patterns: list[Tensor], ids: Tensor, causal: bool) -> list[HeadScores]:
    """Induction and previous-token scores of every head.

    Args:
        patterns: one tensor [row, head, query, key] per layer.
        ids: [row, pos].
    """
    n = ids.shape[-1]
    allowed = torch.ones(n, n).tril() if causal else torch.ones(n, n)
    even = allowed / allowed.sum(-1, keepdim=True)  # [query, key]
    previous = torch.ones(n, n, dtype=torch.bool).tril(-1).triu(-1).expand(len(ids), n, n)
    masks = {"induction": induction_mask(ids), "previous_token": previous}
    found: list[HeadScores] = []
    for layer, pattern in enumerate(patterns):
        by_name = {name: _by_query(pattern, mask, even) for name, mask in masks.items()}
        found += [_scores(layer, head, by_name) for head in range(pattern.shape[1])]
    return found


def _by_query(pattern: Tensor, mask: Tensor, even: Tensor) -> tuple[Tensor, Tensor]:
    """Each head's share on the counted keys [head, asked query], and even attention's [asked]."""
    asked = mask.any(-1)  # [row, query]
    shares = torch.einsum("rhqk,rqk->hrq", pattern, mask.float())
    return shares[:, asked].double(), (even * mask).sum(-1)[asked].double()


def _scores(layer: int, head: int, by_name: dict[str, tuple[Tensor, Tensor]]) -> HeadScores:
    scores, names = {}, []
    for name, (shares, chance) in by_name.items():
        excess = shares[head] - chance
        scores[name] = Score(
            value=float(shares[head].mean()),
            chance=float(chance.mean()),
            error=float(excess.std()) / math.sqrt(len(excess)),
        )
        if is_named(excess):
            names.append(name)
    return HeadScores(layer, head, f"L{layer}H{head}", scores, names)
