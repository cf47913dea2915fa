"""BERT, RoBERTa and DistilBERT: keys and tensors to our blocks; must not know files or texts.

Post-LN with a norm on the embeddings. Sources: Devlin et al. 2019; Liu et al. 2019; Sanh et al.
2019.
"""

from torch import Tensor

from model.checkpoints.description import Family, TensorSource
from model.checkpoints.fields import Fields
from model.config import ModelConfig


def read_bert(keys: Fields) -> ModelConfig:
    """Of ``model_type`` ``bert``."""
    return _read_encoder(keys, n_ctx=keys.whole("max_position_embeddings", default=512))


def read_roberta(keys: Fields) -> ModelConfig:
    """Of ``roberta`` and its relatives, whose first rows of positions belong to padding."""
    padding = keys.whole("pad_token_id", default=1, smallest=0)
    rows = keys.whole("max_position_embeddings", default=512, smallest=padding + 2)
    return _read_encoder(keys, n_ctx=rows - (padding + 1), padding_id=padding)


def _read_encoder(keys: Fields, n_ctx: int, padding_id: int | None = None) -> ModelConfig:
    keys.must_be("position_embedding_type", "absolute")
    # Its output is tied to the embedding or not; the masked-language head is not run either way.
    keys.flag("tie_word_embeddings", default=True)
    return ModelConfig(
        d_model=keys.whole("hidden_size", default=768),
        n_heads=keys.whole("num_attention_heads", default=12),
        d_mlp=keys.whole("intermediate_size", default=3072),
        n_layers=keys.whole("num_hidden_layers", default=12),
        n_ctx=n_ctx,
        d_vocab=keys.whole("vocab_size", default=30522 if padding_id is None else 50265),
        norm="post",
        activation=keys.activation("hidden_act", default="gelu"),
        positions="learned",
        eps=keys.number("layer_norm_eps", default=1e-12),
        scale_embedding=False,
        padding_id=padding_id,
        n_types=keys.whole("type_vocab_size", default=2),
        embed_norm=True,
    )


def read_distilbert(keys: Fields) -> ModelConfig:
    """Of ``distilbert``: no types, and an eps that no key can change."""
    # Sinusoidal or learned, the table of positions is in the file.
    keys.flag("sinusoidal_pos_embds", default=False)
    keys.flag("tie_weights_", default=True)
    keys.flag("tie_word_embeddings", default=True)
    return ModelConfig(
        d_model=keys.whole("dim", "hidden_size", default=768),
        n_heads=keys.whole("n_heads", "num_attention_heads", default=12),
        d_mlp=keys.whole("hidden_dim", default=3072),
        n_layers=keys.whole("n_layers", "num_hidden_layers", default=6),
        n_ctx=keys.whole("max_position_embeddings", default=512),
        d_vocab=keys.whole("vocab_size", default=30522),
        norm="post",
        activation=keys.activation("activation", default="gelu"),
        positions="learned",
        eps=1e-12,
        scale_embedding=False,
        embed_norm=True,
    )


# Our module of a block to theirs; every one has a weight and a bias.
_BERT_BLOCK = {
    "attn.W_Q": "attention.self.query",
    "attn.W_K": "attention.self.key",
    "attn.W_V": "attention.self.value",
    "attn.W_O": "attention.output.dense",
    "ln1": "attention.output.LayerNorm",
    "mlp.W_in": "intermediate.dense",
    "mlp.W_out": "output.dense",
    "ln2": "output.LayerNorm",
}
_DISTILBERT_BLOCK = {
    "attn.W_Q": "attention.q_lin",
    "attn.W_K": "attention.k_lin",
    "attn.W_V": "attention.v_lin",
    "attn.W_O": "attention.out_lin",
    "ln1": "sa_layer_norm",
    "mlp.W_in": "ffn.lin1",
    "mlp.W_out": "ffn.lin2",
    "ln2": "output_layer_norm",
}


def bert_weights(config: ModelConfig, source: TensorSource) -> dict[str, Tensor]:
    """Tensors of BERT and RoBERTa under our names."""
    return _weights(config, source, "encoder.layer", _BERT_BLOCK)


def distilbert_weights(config: ModelConfig, source: TensorSource) -> dict[str, Tensor]:
    """Tensors of DistilBERT under our names."""
    return _weights(config, source, "transformer.layer", _DISTILBERT_BLOCK)


def _weights(
    config: ModelConfig, source: TensorSource, layers: str, block: dict[str, str]
) -> dict[str, Tensor]:
    d, m = config.d_model, config.d_mlp
    positions = config.n_ctx + (0 if config.padding_id is None else config.padding_id + 1)
    tables = {"embed": ("word", config.d_vocab), "pos_embed": ("position", positions)}
    if config.n_types:
        tables["type_embed"] = ("token_type", config.n_types)
    weights = {
        f"{ours}.weight": source.take(f"embeddings.{theirs}_embeddings.weight", (rows, d))
        for ours, (theirs, rows) in tables.items()
    }
    shapes: dict[str, tuple[int, int]] = {"mlp.W_in": (m, d), "mlp.W_out": (d, m)}
    norms = {"embed_ln": "embeddings.LayerNorm"}
    for layer in range(config.n_layers):
        for ours, theirs in block.items():
            at, name = f"blocks.{layer}.{ours}", f"{layers}.{layer}.{theirs}"
            if ours.startswith("ln"):
                norms[at] = name
                continue
            shape = shapes.get(ours, (d, d))
            weights[f"{at}.weight"] = source.take(f"{name}.weight", shape)
            weights[f"{at}.bias"] = source.take(f"{name}.bias", shape[:1])
    for ours, theirs in norms.items():
        weights[f"{ours}.w"] = source.take(f"{theirs}.weight", (d,))
        weights[f"{ours}.b"] = source.take(f"{theirs}.bias", (d,))
    return weights


BERT = Family("bert", "bert.", read_bert, bert_weights, text_pair=True)
ROBERTA = Family("roberta", "roberta.", read_roberta, bert_weights, text_pair=True)
DISTILBERT = Family(
    "distilbert", "distilbert.", read_distilbert, distilbert_weights, text_pair=True
)
