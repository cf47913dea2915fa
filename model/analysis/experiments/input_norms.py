"""What enters each Attention, and what the lengths of q and k do to its scores; must not train.

Beliefs to test: that a normalised vector has length 1 (before gamma and beta it is sqrt(d_model)),
and that q·k is then a cosine.
"""

import math
from collections.abc import Generator
from dataclasses import dataclass, field, replace

import torch
import torch.nn.functional as F
from torch import Tensor

from model.analysis.compare import jensen_shannon
from model.analysis.experiments.results import Paper, Progress, Result, Series, numbers
from model.config import Norm
from model.errors import ModelError
from model.hooks import Recorder
from model.registry import Registry
from model.run import Plan, RunRequest, plan
from model.runnable import ModelEntry
from model.textbook import ID as TEXTBOOK

PAPERS = [
    Paper(
        authors="Ba, Kiros and Hinton",
        year=2016,
        title="Layer Normalization",
        where="section 3, equation 4",
        arxiv="1607.06450",
        predicts=["|normalized| = sqrt(d_model)"],
    ),
    Paper(
        authors="Henry et al.",
        year=2020,
        title="Query-Key Normalization for Transformers",
        where="section 3",
        arxiv="2010.04245",
        predicts=[],
    ),
]

MAX_PAIRS = 1500  # of a scatter that is still a chart
MAX_MODELS = 12  # of the table of first inputs
EXAMPLE = "The dog chased the cat. Then the cat chased the dog. 犬が猫を追い、猫が犬を追う。"


@dataclass(frozen=True)
class InputNormsRequest:
    """``layer``: whose pairs of score and cosine are given; ``seed``: of random weights."""

    text: str = EXAMPLE
    model: str | None = None
    norm: Norm | None = None
    layer: int = 0
    seed: int = 0


@dataclass(frozen=True)
class Lengths:
    """Lengths of the vectors of all positions; ``spread`` is standard deviation over mean."""

    mean: float
    smallest: float
    largest: float
    spread: float


@dataclass(frozen=True)
class FirstInput:
    """What a model's first Attention reads.

    Attributes:
        point: the point that it reads; ``raw``: the sum of the embeddings that this was made of.
        normed_by: the last LayerNorm in between, or null.
        normalized: of the vector before that norm's gamma and beta.
        root: sqrt(d_model).
        error: why the text cannot be run through this model, or null.
    """

    model: str
    norm: Norm
    norm_is_trained: bool | None
    point: str | None
    normed_by: str | None
    root: float
    raw: Lengths | None
    normalized: Lengths | None
    read: Lengths | None
    error: str | None


@dataclass(frozen=True)
class Embeddings:
    """Lengths of all rows of a model's embedding table, as they enter the stream."""

    model: str
    weights: Norm | None
    rows: int
    lengths: Lengths


@dataclass(frozen=True)
class InputNormsResult(Result[InputNormsRequest]):
    tokens: list[str] = field(default_factory=list)
    first_inputs: list[FirstInput] = field(default_factory=list)
    embeddings: list[Embeddings] = field(default_factory=list)


def run(
    request: InputNormsRequest, registry: Registry
) -> Generator[Progress, None, InputNormsResult]:
    """Run the text, then find every listed model's first input and embedding lengths.

    Raises:
        ModelError: what a trace of the text would raise, and ``layer_out_of_range``.
    """
    asked = _planned(registry, request, request.model, request.norm)
    entry, config = asked.runnable.entry, asked.config
    if request.layer >= config.n_layers:
        raise ModelError("layer_out_of_range", field="layer", n_layers=config.n_layers)
    others = [(e, norm) for e in registry.entries()[:MAX_MODELS] for norm in _norms(e)]
    total = 1 + len(others)
    series = _series(asked, request.layer)
    yield Progress(1, total)
    firsts, tables = [], []
    for done, (other, norm) in enumerate(others, start=2):
        first, table = _of_model(registry, request, other, norm)
        firsts.append(first)
        tables += table
        yield Progress(done, total)
    return InputNormsResult(
        # With every default filled in.
        replace(request, model=entry.id, norm=config.norm),
        PAPERS,
        series,
        facts={
            "sqrt_d_model": math.sqrt(config.d_model),
            "pairs": float(_n_pairs(asked)),
            "models_left_out": float(max(0, len(registry.entries()) - MAX_MODELS)),
        },
        tokens=[token.label for token in asked.tokens],
        first_inputs=firsts,
        embeddings=list(dict.fromkeys(tables)),
    )


def _norms(entry: ModelEntry) -> list[Norm]:
    """The placements a model was trained in; a random one runs in both."""
    return entry.norms or ["post", "pre"]


def _planned(
    registry: Registry, request: InputNormsRequest, model: str | None, norm: Norm | None
) -> Plan:
    config = {"seed": request.seed} if model == TEXTBOOK else None
    return plan(registry, RunRequest(request.text, model, norm, config=config))


# -- the asked model, block by block ---------------------------------------------------------------


def _series(asked: Plan, scatter_layer: int) -> dict[str, Series]:
    recorder = asked.record(set(asked.points) - {"logits"})
    spreads, layers = [], range(asked.config.n_layers)
    columns: dict[str, list[Tensor]] = {}
    for layer, point in zip(layers, _read_by_attention(recorder), strict=True):
        entering = recorder.values[point].norm(dim=-1)  # [pos]
        spreads.append(_spread(entering))
        for name, value in _of_layer(recorder, layer).items():
            columns.setdefault(name, []).append(value)
        columns.setdefault("x.length", []).append(entering)
    stacked = {name: torch.stack(values) for name, values in columns.items()}
    scatter = _pairs(recorder, scatter_layer)
    return {
        "layer": Series(["layer"], None, list(layers)),
        "x.length": Series(["layer", "pos"], None, numbers(stacked["x.length"])),
        "x.spread": Series(["layer"], "share", numbers(torch.stack(spreads))),
        "q.spread": Series(["layer", "head"], "share", numbers(stacked["q.spread"])),
        "k.spread": Series(["layer", "head"], "share", numbers(stacked["k.spread"])),
        "score_cosine": Series(["layer", "head"], "correlation", numbers(stacked["score_cosine"])),
        "equal_keys.distance": Series(
            ["layer", "head"], "Jensen-Shannon distance", numbers(stacked["equal_keys.distance"])
        ),
        "equal_keys.same_top": Series(
            ["layer", "head"], "share", numbers(stacked["equal_keys.same_top"])
        ),
        **scatter,
    }


def _read_by_attention(recorder: Recorder) -> list[str]:
    """The point that each block's Attention reads, by its earliest name."""
    read = [step.inputs[0] for step in recorder.steps if step.kind == "attention"]
    return [recorder.origin(point) for point in read]


def _of_layer(recorder: Recorder, layer: int) -> dict[str, Tensor]:
    """One number for each head [head]."""
    q, k = _queries_and_keys(recorder, layer)  # [head, pos, d_head]
    lengths = k.norm(dim=-1)  # [head, key]
    scores = recorder.values[f"blocks.{layer}.attn.attn_scores"].double()  # [head, query, key]
    allowed = scores.isfinite()
    pattern = scores.softmax(-1)
    # Every key as long as the keys of its head are on average; hidden scores stay hidden.
    equal = scores * (lengths.mean(-1, keepdim=True) / lengths.clamp(min=1e-30))[:, None, :]
    moved = equal.softmax(-1)
    has_choice = allowed[0].sum(-1) > 1  # [query]
    same_top = pattern.argmax(-1) == moved.argmax(-1)  # [head, query]
    return {
        "q.spread": _spread(q.norm(dim=-1)),
        "k.spread": _spread(lengths),
        "score_cosine": row_correlation(scores, _cosines(q, k), allowed),
        "equal_keys.distance": jensen_shannon(pattern, moved)[:, has_choice].mean(-1),
        "equal_keys.same_top": same_top[:, has_choice].double().mean(-1),
    }


def _queries_and_keys(recorder: Recorder, layer: int) -> tuple[Tensor, Tensor]:
    """As the dot product takes them, rotated where the model rotates [head, pos, d_head]."""
    at = f"blocks.{layer}.attn."
    rotated = f"{at}rot_q" in recorder.values
    names = (f"{at}rot_q", f"{at}rot_k") if rotated else (f"{at}q", f"{at}k")
    q, k = (recorder.values[name].double().transpose(0, 1) for name in names)
    return q, k


def _cosines(q: Tensor, k: Tensor) -> Tensor:
    return F.normalize(q, dim=-1) @ F.normalize(k, dim=-1).mT  # [head, query, key]


def _spread(lengths: Tensor) -> Tensor:
    """Standard deviation over mean, along the last axis."""
    return lengths.std(-1, correction=0) / lengths.mean(-1)


def row_correlation(a: Tensor, b: Tensor, allowed: Tensor) -> Tensor:
    """Pearson's correlation within a row over its allowed keys, mean over rows of three or more.

    Args:
        a, b, allowed: [head, query, key].

    Returns:
        [head]; not a number where no row has three keys.
    """
    n = allowed.sum(-1, keepdim=True)

    def centred(x: Tensor) -> Tensor:
        x = torch.where(allowed, x, 0.0)
        return torch.where(allowed, x - x.sum(-1, keepdim=True) / n, 0.0)

    x, y = centred(a), centred(b)
    rows = (x * y).sum(-1) / (x.square().sum(-1) * y.square().sum(-1)).sqrt()  # [head, query]
    return torch.where(n[..., 0] >= 3, rows, torch.nan).nanmean(-1)


def _n_pairs(asked: Plan) -> int:
    """Pairs of query and key that a block scores, of which the scatter may show a part."""
    n = len(asked.tokens)
    return asked.config.n_heads * (n * (n + 1) // 2 if asked.config.causal else n * n)


def _pairs(recorder: Recorder, layer: int) -> dict[str, Series]:
    """Score and cosine of a block's pairs of query and key, every so many-th if there are many."""
    q, k = _queries_and_keys(recorder, layer)
    scores = recorder.values[f"blocks.{layer}.attn.attn_scores"].double()
    places = scores.isfinite().nonzero()  # [pair, (head, query, key)]
    places = places[:: max(1, math.ceil(len(places) / MAX_PAIRS))]
    head, query, key = places.unbind(-1)
    return {
        "pair.head": Series(["pair"], None, head.tolist()),
        "pair.query": Series(["pair"], None, query.tolist()),
        "pair.key": Series(["pair"], None, key.tolist()),
        "pair.score": Series(["pair"], None, numbers(scores[head, query, key])),
        "pair.cosine": Series(["pair"], "cosine", numbers(_cosines(q, k)[head, query, key])),
    }


# -- every model's first input ---------------------------------------------------------------------


def _of_model(
    registry: Registry, request: InputNormsRequest, entry: ModelEntry, norm: Norm
) -> tuple[FirstInput, list[Embeddings]]:
    """What one model reads first, and its table of tokens; of a model that cannot run, why not."""
    try:
        planned = _planned(registry, request, entry.id, norm)
    except ModelError as error:
        # Another model may read fewer tokens, or be damaged; the table says so and goes on.
        nothing = (None, None, None, error.code)
        return FirstInput(entry.id, norm, None, None, None, math.sqrt(entry.d_model), *nothing), []
    embed = planned.runnable.plain.embed
    table = embed.weight * embed.factor
    return _first_input(planned, entry, norm), [
        Embeddings(entry.id, planned.runnable.weights, len(table), _lengths(table))
    ]


def _first_input(planned: Plan, entry: ModelEntry, norm: Norm) -> FirstInput:
    near = {name for name in planned.points if name.startswith(("embed", "blocks.0."))}
    recorder = planned.record(near)
    point = _read_by_attention(recorder)[0]
    norm_name = point.removesuffix(".out") if point.endswith(".out") else None
    # Rotary models add no position vector: their embedding is what enters.
    raw = "embed_sum" if "embed_sum" in planned.points else "embed"
    return FirstInput(
        model=entry.id,
        norm=norm,
        norm_is_trained=planned.runnable.norm_is_trained,
        point=point,
        normed_by=norm_name,
        root=math.sqrt(entry.d_model),
        raw=_lengths(recorder.values[recorder.origin(raw)]),
        normalized=_lengths(recorder.values[f"{norm_name}.normalized"]) if norm_name else None,
        read=_lengths(recorder.values[point]),
        error=None,
    )


def _lengths(vectors: Tensor) -> Lengths:
    lengths = vectors.double().norm(dim=-1)
    return Lengths(
        mean=lengths.mean().item(),
        smallest=lengths.min().item(),
        largest=lengths.max().item(),
        spread=_spread(lengths).item(),
    )
