"""Runs a model on random tokens that are said twice; must not know how its heads are judged."""

import re
from dataclasses import asdict, dataclass, replace

import torch
import torch.nn.functional as F
from torch import Tensor

from model.analysis.induction import HeadScores, RowShares, head_scores, repeated, row_shares
from model.errors import ModelError
from model.registry import Registry
from model.run import Plan, RunRequest, longest_text, plan
from model.trace import ModelAsRun, as_run

SEGMENT = 48
ROWS = 8

# Entries of a vocabulary that stand for no text: <s>, [CLS], <|endoftext|>, and single bytes.
_MARKER = re.compile(r"<[^>]+>|\[[^\]]+\]")


@dataclass(frozen=True)
class Losses:
    """Mean -ln p of a saying's tokens, in nats; the first of the second cannot be foreseen."""

    first: float
    second: float


@dataclass(frozen=True)
class RepetitionReport:
    """How a model takes random tokens that are said twice.

    Attributes:
        segment: tokens that are said twice; ``tokens``: of a row, start and end included.
        losses: null where the model predicts no next token.
    """

    model: ModelAsRun
    settings: dict[str, object] | None
    seed: int
    segment: int
    rows: int
    tokens: int
    heads: list[HeadScores]
    losses: Losses | None


def run_repetition(
    registry: Registry,
    request: RunRequest,
    seed: int = 0,
    segment: int | None = None,
    rows: int = ROWS,
) -> RepetitionReport:
    """Run rows of random tokens that are said twice.

    Args:
        request: names the model; its text only lends the tokens that stand around every text.
        segment: tokens that are said twice; null for 48, or as many as the model has room for.

    Raises:
        ModelError: an unknown model; ``text_too_long`` with both numbers of tokens.
    """
    planned = plan(registry, request)
    runnable, config = planned.runnable, planned.config
    before, after = _ends(planned)
    # Every head's map of a row is held at once.
    limit = min(config.n_ctx, longest_text(config))
    room = limit - len(before) - len(after)
    segment = segment or max(1, min(SEGMENT, room // 2))
    if 2 * segment > room:
        length = limit - room + 2 * segment
        raise ModelError("text_too_long", field="segment", limit=limit, length=length)
    ids = repeated(_allowed(planned), before, after, segment, rows, seed)
    with torch.no_grad():
        ran = [_run(planned, row) for row in ids]
        losses = [loss for _, loss in ran if loss is not None]
        return RepetitionReport(
            model=as_run(runnable),
            settings=None if runnable.settings is None else asdict(runnable.settings),
            seed=seed,
            segment=segment,
            rows=rows,
            tokens=ids.shape[-1],
            heads=head_scores([shares for shares, _ in ran]),
            losses=_by_saying(torch.stack(losses), len(before), segment) if losses else None,
        )


def _ends(planned: Plan) -> tuple[list[int], list[int]]:
    """Ids that the model's tokenizer puts before and after every text."""
    special = [token.special for token in planned.tokens]
    ids = [token.id for token in planned.tokens]
    if all(special):
        return ids, []
    first, last = special.index(False), len(special) - special[::-1].index(False)
    return ids[:first], ids[last:]


def _allowed(planned: Plan) -> list[int]:
    """Ids that stand for text."""
    piece = planned.runnable.tokenizer.piece
    return [i for i in range(planned.config.d_vocab) if not _MARKER.fullmatch(piece(i))]


def _run(planned: Plan, ids: Tensor) -> tuple[dict[str, RowShares], Tensor | None]:
    """Shares of a row, and -ln p of every token but the first where there is a prediction."""
    config = planned.config
    names = [f"blocks.{layer}.attn.pattern" for layer in range(config.n_layers)]
    types = None if planned.cut.types is None else [0] * len(ids)
    one = replace(planned, ids=ids, cut=replace(planned.cut, types=types))
    values = one.record([*names, "logits"]).values
    shares = row_shares([values[name] for name in names], ids, config.causal)
    # A model that sees later tokens does not foresee them.
    if "logits" not in values or not config.causal:
        return shares, None
    return shares, F.cross_entropy(values["logits"][:-1], ids[1:], reduction="none")


def _by_saying(losses: Tensor, n_before: int, segment: int) -> Losses:
    """Losses [row, pos - 1]; entry k is of the token at k + 1."""
    second = n_before + segment
    return Losses(
        first=float(losses[:, max(0, n_before - 1) : second - 1].mean()),
        second=float(losses[:, second : second + segment - 1].mean()),
    )
