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
from model.analysis.naming import names_of, stands_out


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


@dataclass(frozen=True)
class RowShares:
    """What the heads of one row spend on the keys that a score counts.

    Attributes:
        shares: [layer, head, asked query]; ``chance``: of even attention [asked query].
    """

    shares: Tensor
    chance: Tensor


def row_shares(patterns: list[Tensor], ids: Tensor, causal: bool) -> dict[str, RowShares]:
    """Shares of every head in one row, by score.

    Args:
        patterns: one tensor [head, query, key] per layer.
        ids: [pos].
    """
    n = len(ids)
    allowed = torch.ones(n, n).tril() if causal else torch.ones(n, n)
    even = allowed / allowed.sum(-1, keepdim=True)  # [query, key]
    previous = torch.ones(n, n, dtype=torch.bool).tril(-1).triu(-1)
    masks = {"induction": induction_mask(ids), "previous_token": previous}
    found = {}
    for name, mask in masks.items():
        asked = mask.any(-1)  # [query]
        counted = mask[asked].float()  # [asked, key]
        shares = [(pattern[:, asked] * counted).sum(-1) for pattern in patterns]
        chance = (even[asked] * counted).sum(-1)
        found[name] = RowShares(torch.stack(shares).double(), chance.double())
    return found


def head_scores(rows: list[dict[str, RowShares]]) -> list[HeadScores]:
    """Induction and previous-token scores of every head, over all queries of all rows."""
    shares = {name: torch.cat([row[name].shares for row in rows], dim=-1) for name in rows[0]}
    chances = {name: torch.cat([row[name].chance for row in rows]) for name in rows[0]}
    n_layers, n_heads, _ = shares["induction"].shape
    return [
        _of_head(layer, head, {name: (s[layer, head], chances[name]) for name, s in shares.items()})
        for layer in range(n_layers)
        for head in range(n_heads)
    ]


def _of_head(layer: int, head: int, by_name: dict[str, tuple[Tensor, Tensor]]) -> HeadScores:
    scores: dict[str, Score] = {}
    outstanding = {}
    for name, (shares, chance) in by_name.items():
        excess = shares - chance
        scores[name] = Score(
            value=float(shares.mean()),
            chance=float(chance.mean()),
            error=float(excess.std()) / math.sqrt(len(excess)),
        )
        if bool(stands_out(excess[None], torch.ones(1, len(excess), dtype=torch.bool))):
            outstanding[name] = (scores[name].value, scores[name].chance)
    return HeadScores(layer, head, f"L{layer}H{head}", scores, names_of(outstanding))
