"""What a model is once it can be run, and how it is listed; must not know where it comes from."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from torch import Tensor

from model import hooks, textbook
from model.config import ModelConfig, Norm
from model.tokenizer.cut import Encode, Vocabulary
from model.transformer import Transformer, with_weights


@dataclass(frozen=True)
class Note:
    """Something a reader of a model must know, as a code and its parameters."""

    code: str
    params: dict[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class ModelEntry:
    """One model as ``GET /models`` lists it.

    Attributes:
        norms: the placements it was trained in.
        attention_bias: whether the four matrices of Attention have a bias.
        score_divisors: what q·k is divided by, layer by layer; sqrt(d_head) as a rule.
        text_pair: whether it reads two texts.
        licence: of the weights; null where the folder does not say.
    """

    id: str
    kind: str
    family: str
    wiring: str
    norms: list[Norm]
    default_norm: Norm
    n_layers: int
    n_heads: int
    d_model: int
    d_head: int
    d_mlp: int
    d_vocab: int
    n_ctx: int
    activation: str
    eps: float
    causal: bool
    attention_bias: bool
    score_divisors: list[float]
    text_pair: bool
    parameters: int
    languages: list[str]
    licence: str | None
    notes: list[Note]


@dataclass(frozen=True)
class Loading:
    """How far a model's weights are in memory, counted in parameters."""

    state: Literal["waiting", "loading", "loaded"]
    done: int
    total: int


@dataclass(frozen=True)
class Unsupported:
    """A model that is there and cannot be run: the refusal that running it would meet."""

    id: str
    code: str
    params: dict[str, object]


@dataclass(frozen=True)
class Runnable:
    """A model ready to run: read-only weights under a recorded and an unrecorded module tree.

    Attributes:
        hooked: the tree whose hooks a recorder listens to.
        plain: the same weights without a hook: what a recorded run is checked against.
        weights: the placement the weights were trained in; null for random ones.
        settings: the full configuration of a random model, null for others.
        half_precision: tensors stored in float16 or bfloat16, by name, with their dtype.
    """

    entry: ModelEntry
    config: ModelConfig
    hooked: Transformer
    plain: Transformer
    tokenizer: Vocabulary
    encode: Encode
    weights: Norm | None
    norm_is_trained: bool | None
    settings: textbook.Settings | None
    half_precision: Mapping[str, str]
    notes: list[Note]


def entry_of(config: ModelConfig, text_pair: bool = False, **about: object) -> ModelEntry:
    """The listing of a model with this configuration."""
    return ModelEntry(
        wiring=config.wiring,
        n_layers=config.n_layers,
        n_heads=config.n_heads,
        d_model=config.d_model,
        d_head=config.d_head,
        d_mlp=config.d_mlp,
        d_vocab=config.d_vocab,
        n_ctx=config.n_ctx,
        activation=config.activation,
        eps=config.eps,
        causal=config.causal,
        attention_bias=config.attention_bias,
        score_divisors=[config.score_divisor(layer) for layer in range(config.n_layers)],
        text_pair=text_pair,
        parameters=config.n_parameters,
        **about,  # type: ignore[arg-type]
    )


def wiring_notes(trained: ModelConfig, config: ModelConfig) -> list[Note]:
    """What running weights in the other wiring leaves out or lacks."""
    if trained.norm == config.norm:
        return []
    final = "final_norm_not_run" if trained.has_final_norm else "final_norm_missing"
    return [Note("other_wiring", {"norm": config.norm, "weights": trained.norm}), Note(final)]


def assemble(
    entry: ModelEntry,
    config: ModelConfig,
    tensors: dict[str, Tensor],
    tokenizer: Vocabulary,
    encode: Encode,
    *,
    weights: Norm | None = None,
    norm_is_trained: bool | None = None,
    settings: textbook.Settings | None = None,
    half_precision: Mapping[str, str] | None = None,
    notes: list[Note],
) -> Runnable:
    """Two module trees over one set of tensors, the first with its hooks registered."""
    hooked = with_weights(config, tensors)
    hooks.attach(hooked)
    return Runnable(
        entry=entry,
        config=config,
        hooked=hooked,
        plain=with_weights(config, tensors),
        tokenizer=tokenizer,
        encode=encode,
        weights=weights,
        norm_is_trained=norm_is_trained,
        settings=settings,
        half_precision=half_precision or {},
        notes=notes,
    )
