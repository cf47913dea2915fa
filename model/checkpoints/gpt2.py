"""GPT-2 and its relatives: keys and tensors to our blocks; must not know files or texts.

Pre-LN with a final norm. Its matrices are stored transposed. Source: Radford et al. 2019.
"""

import torch
from torch import Tensor

from model.checkpoints.description import Family, TensorSource
from model.checkpoints.fields import Fields
from model.config import ModelConfig


def read_gpt2(keys: Fields) -> ModelConfig:
    """Of ``model_type`` ``gpt2``."""
    d_model = keys.whole("n_embd", "hidden_size", default=768)
    # The same order of float32 operations either way: it matters for half precision only.
    keys.flag("reorder_and_upcast_attn", default=False)
    return ModelConfig(
        d_model=d_model,
        n_heads=keys.whole("n_head", "num_attention_heads", default=12),
        d_mlp=keys.whole("n_inner", default=4 * d_model),
        n_layers=keys.whole("n_layer", "num_hidden_layers", default=12),
        n_ctx=keys.whole("n_positions", "max_position_embeddings", default=1024),
        d_vocab=keys.whole("vocab_size", default=50257),
        norm="pre",
        activation=keys.activation("activation_function", default="gelu_new"),
        positions="learned",
        causal=True,
        eps=keys.number("layer_norm_epsilon", default=1e-5),
        scale_embedding=False,
        unembed=True,
        tied=keys.flag("tie_word_embeddings", default=True),
        scale_scores=keys.flag("scale_attn_weights", default=True),
        scale_by_layer=keys.flag("scale_attn_by_inverse_layer_idx", default=False),
    )


def gpt2_weights(config: ModelConfig, source: TensorSource) -> dict[str, Tensor]:
    """Tensors under our names; matrices are views of the stored ones, transposed."""
    d, m = config.d_model, config.d_mlp
    weights = {
        "embed.weight": source.take("wte.weight", (config.d_vocab, d)),
        "pos_embed.weight": source.take("wpe.weight", (config.n_ctx, d)),
        "ln_final.w": source.take("ln_f.weight", (d,)),
        "ln_final.b": source.take("ln_f.bias", (d,)),
    }
    for layer in range(config.n_layers):
        ours, theirs = f"blocks.{layer}", f"h.{layer}"
        joined = source.take(f"{theirs}.attn.c_attn.weight", (d, 3 * d)).T.chunk(3)
        biases = source.take(f"{theirs}.attn.c_attn.bias", (3 * d,)).chunk(3)
        for letter, matrix, bias in zip("QKV", joined, biases, strict=True):
            weights[f"{ours}.attn.W_{letter}.weight"] = matrix
            weights[f"{ours}.attn.W_{letter}.bias"] = bias
        for our_name, their_name, rows, columns in (
            ("attn.W_O", "attn.c_proj", d, d),
            ("mlp.W_in", "mlp.c_fc", d, m),
            ("mlp.W_out", "mlp.c_proj", m, d),
        ):
            stored = source.take(f"{theirs}.{their_name}.weight", (rows, columns))
            weights[f"{ours}.{our_name}.weight"] = stored.T
            weights[f"{ours}.{our_name}.bias"] = source.take(
                f"{theirs}.{their_name}.bias", (columns,)
            )
        for our_name, their_name in (("ln1", "ln_1"), ("ln2", "ln_2")):
            weights[f"{ours}.{our_name}.w"] = source.take(f"{theirs}.{their_name}.weight", (d,))
            weights[f"{ours}.{our_name}.b"] = source.take(f"{theirs}.{their_name}.bias", (d,))
    return weights | output_weights(config, source, "lm_head.weight", weights["embed.weight"])


def output_weights(
    config: ModelConfig, source: TensorSource, name: str, embedding: Tensor
) -> dict[str, Tensor]:
    """The matrix of the output, unless it is the embedding table once more.

    A file may say that both are tied and hold two that differ; then it is the two that were
    trained.
    """
    if not config.unembed or (config.tied and not source.has(name)):
        return {}
    head = source.take(name, tuple(embedding.shape), outside=True)
    return {} if config.tied and torch.equal(head, embedding) else {"unembed.weight": head}


GPT2 = Family("gpt2", "transformer.", read_gpt2, gpt2_weights, text_pair=False)
