"""The catalogue of a run's points: their names, axes and shapes, known before anything runs."""

import re
from dataclasses import dataclass

from model.config import ModelConfig, Norm


@dataclass(frozen=True)
class PointSpec:
    """A named value of the run. ``settable``: a later step reads it."""

    name: str
    axes: list[str]
    shape: list[int]
    settable: bool


def catalogue(config: ModelConfig, n: int) -> dict[str, PointSpec]:
    """Every point of a run on ``n`` tokens, in the order of the run, by its canonical name."""
    sizes = {
        "pos": n,
        "query": n,
        "key": n,
        "head": config.n_heads,
        "d_model": config.d_model,
        "d_head": config.d_head,
        "d_mlp": config.d_mlp,
        "d_vocab": config.d_vocab,
        "1": 1,
    }
    last = f"blocks.{config.n_layers - 1}."
    unread = {"logits"}
    if not config.unembed:
        # Nothing comes after the final state, by whichever of its names.
        if config.has_final_norm:
            unread.add("ln_final.out")
        else:
            unread |= {f"{last}out", last + ("ln2.out" if config.norm == "post" else "resid_post")}
    return {
        name: PointSpec(
            name=name,
            axes=axes.split(),
            shape=[sizes[axis] for axis in axes.split()],
            settable=name not in unread and not name.endswith("attn.result"),
        )
        for name, axes in _names_and_axes(config)
    }


def _names_and_axes(config: ModelConfig) -> list[tuple[str, str]]:
    rows = [(name, "pos d_model") for name in _embeddings(config)]
    if config.embed_norm:
        rows += _norm_rows("embed_ln")
    block = _block_rows(config)
    for layer in range(config.n_layers):
        rows += [(f"blocks.{layer}.{name}", axes) for name, axes in block]
    if config.has_final_norm:
        rows += _norm_rows("ln_final")
    if config.unembed:
        rows.append(("logits", "pos d_vocab"))
    return rows


def _embeddings(config: ModelConfig) -> list[str]:
    if not config.has_position_vectors:
        return ["embed"]
    return ["embed", "pos_embed", *(["type_embed"] if config.n_types else []), "embed_sum"]


def _block_rows(config: ModelConfig) -> list[tuple[str, str]]:
    ln1, ln2 = _norm_rows("ln1"), _norm_rows("ln2")
    turned = [] if config.rotary is None else ["attn.rot_q", "attn.rot_k"]
    attention = [
        *((name, "pos head d_head") for name in ("attn.q", "attn.k", "attn.v", *turned)),
        ("attn.dot", "head query key"),
        ("attn.attn_scores", "head query key"),
        ("attn.pattern", "head query key"),
        ("attn.z", "pos head d_head"),
        ("attn.result", "pos head d_model"),
        ("attn_out", "pos d_model"),
    ]
    feed_forward = [("mlp.pre", "pos d_mlp"), ("mlp.post", "pos d_mlp"), ("mlp_out", "pos d_model")]
    mid, post = [("resid_mid", "pos d_model")], [("resid_post", "pos d_model")]
    if config.wiring == "parallel":
        inside = ln1 + attention + ln2 + feed_forward + post
    elif config.norm == "pre":
        inside = ln1 + attention + mid + ln2 + feed_forward + post
    else:
        inside = attention + mid + ln1 + feed_forward + post + ln2
    return [("resid_pre", "pos d_model"), *inside, ("out", "pos d_model")]


def _norm_rows(name: str) -> list[tuple[str, str]]:
    return [
        (f"{name}.mean", "pos 1"),
        (f"{name}.var", "pos 1"),
        (f"{name}.scale", "pos 1"),
        (f"{name}.normalized", "pos d_model"),
        (f"{name}.out", "pos d_model"),
    ]


def canonical(name: str, norm: Norm) -> str:
    """Our name for a TransformerLens one; ours come back unchanged.

    ``blocks.0.attn.hook_pattern`` is ``blocks.0.attn.pattern``; in Post-LN
    ``blocks.0.hook_normalized_resid_post`` is ``blocks.0.out``.
    """
    name = re.sub(r"(^|\.)hook_", r"\1", name)
    return re.sub(r"(^|\.)normalized_resid_post$", r"\1out", name) if norm == "post" else name


def layer_of(name: str) -> int | None:
    """The block that a point, step or parameter belongs to."""
    match = re.match(r"blocks\.(\d+)\.", name)
    return int(match[1]) if match else None
