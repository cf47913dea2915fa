"""GPT-NeoX and Pythia: keys and tensors to our blocks; must not know files or texts.

Pre-LN with rotary positions, Attention and FFN beside each other unless told otherwise. Sources:
Black et al. 2022; Biderman et al. 2023.
"""

from torch import Tensor

from model.checkpoints.description import Family, TensorSource
from model.checkpoints.fields import Fields
from model.checkpoints.gpt2 import output_weights
from model.config import ModelConfig, Rotary
from model.errors import ModelError


def read_neox(keys: Fields) -> ModelConfig:
    """Of ``model_type`` ``gpt_neox``."""
    d_model = keys.whole("hidden_size", default=6144)
    n_heads = keys.whole("num_attention_heads", default=64)
    parallel = keys.flag("use_parallel_residual", default=True)
    return ModelConfig(
        d_model=d_model,
        n_heads=n_heads,
        d_mlp=keys.whole("intermediate_size", default=24576),
        n_layers=keys.whole("num_hidden_layers", default=44),
        n_ctx=keys.whole("max_position_embeddings", default=2048),
        d_vocab=keys.whole("vocab_size", default=50432),
        norm="pre",
        activation=keys.activation("hidden_act", default="gelu"),
        causal=True,
        eps=keys.number("layer_norm_eps", default=1e-5),
        scale_embedding=False,
        unembed=True,
        tied=keys.flag("tie_word_embeddings", default=False),
        wiring="parallel" if parallel else "sequential",
        rotary=_rotary(keys, d_model // n_heads),
        attention_bias=keys.flag("attention_bias", default=True),
    )


def _rotary(keys: Fields, d_head: int) -> Rotary:
    share = keys.number("rotary_pct", default=0.25)
    base = keys.number("rotary_emb_base", "rope_theta", default=10000.0)
    # The group of newer files, which counts where both are there.
    for name in ("rope_scaling", "rope_parameters"):
        group = keys.group(name)
        if group is not None:
            group.must_be(f"{name}.rope_type", "default")
            group.must_be(f"{name}.type", "default")
            share = group.number(f"{name}.partial_rotary_factor", default=share)
            base = group.number(f"{name}.rope_theta", default=base)
            if unknown := group.unknown():
                raise ModelError("config_keys_unknown", field="model", keys=unknown)
    dims = int(d_head * min(share, 2.0))  # more than all is refused, however much more
    if not 0 < dims <= d_head or dims % 2 or base == 0:
        raise ModelError("rotary_dims", field="model", dims=dims, d_head=d_head, base=base)
    return Rotary(dims, base)


def neox_weights(config: ModelConfig, source: TensorSource) -> dict[str, Tensor]:
    """Tensors under our names. Theirs holds query, key and value of one head after the other."""
    d, m, heads, d_head = config.d_model, config.d_mlp, config.n_heads, config.d_head
    weights = {
        "embed.weight": source.take("embed_in.weight", (config.d_vocab, d)),
        "ln_final.w": source.take("final_layer_norm.weight", (d,)),
        "ln_final.b": source.take("final_layer_norm.bias", (d,)),
    }
    for layer in range(config.n_layers):
        ours, theirs = f"blocks.{layer}", f"layers.{layer}"
        name = f"{theirs}.attention.query_key_value"
        joined = source.take(f"{name}.weight", (3 * d, d)).view(heads, 3, d_head, d)
        for part, letter in enumerate("QKV"):
            weights[f"{ours}.attn.W_{letter}.weight"] = joined[:, part].reshape(d, d)
        if config.attention_bias:
            biases = source.take(f"{name}.bias", (3 * d,)).view(heads, 3, d_head)
            for part, letter in enumerate("QKV"):
                weights[f"{ours}.attn.W_{letter}.bias"] = biases[:, part].reshape(d)
        for our_name, their_name, rows, columns in (
            ("attn.W_O", "attention.dense", d, d),
            ("mlp.W_in", "mlp.dense_h_to_4h", m, d),
            ("mlp.W_out", "mlp.dense_4h_to_h", d, m),
        ):
            weights[f"{ours}.{our_name}.weight"] = source.take(
                f"{theirs}.{their_name}.weight", (rows, columns)
            )
            if config.attention_bias or our_name != "attn.W_O":
                weights[f"{ours}.{our_name}.bias"] = source.take(
                    f"{theirs}.{their_name}.bias", (rows,)
                )
        for our_name, their_name in (
            ("ln1", "input_layernorm"),
            ("ln2", "post_attention_layernorm"),
        ):
            weights[f"{ours}.{our_name}.w"] = source.take(f"{theirs}.{their_name}.weight", (d,))
            weights[f"{ours}.{our_name}.b"] = source.take(f"{theirs}.{their_name}.bias", (d,))
    return weights | output_weights(config, source, "embed_out.weight", weights["embed.weight"])


NEOX = Family("gpt_neox", "gpt_neox.", read_neox, neox_weights, text_pair=False)
