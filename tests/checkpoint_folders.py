"""Folders in Hugging Face form that tests make: closed-form ones, and random ones by their authors.

In a closed-form folder every parameter is 0 except those named, norms are 1 and 0: attention is
uniform, its output the mean of what it reads, and every number of a run can be written down.
"""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from tokenizers import Tokenizer, decoders, models
from tokenizers.pre_tokenizers import ByteLevel, WhitespaceSplit
from torch import Tensor

VECTORS = {
    "A": [1.0, 2, 3, 4],
    "B": [4.0, 3, 2, 1],
    "C": [14.0, 14, 14, 14],
    "D": [40000.0, 40001, 40002, 40003],
    "E": [-9.9e-4, -9.9e-4, 9.9e-4, 9.9e-4],
    "F": [1e30, 2e30, 3e30, 4e30],
}
FFN_BIAS = [1.0, -1, 3, -3, 0.5, -0.5, 2, 0]
MARKS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
BERT_WORDS = [*MARKS, *VECTORS]
BERT_CONFIG = {
    "model_type": "bert",
    "architectures": ["BertModel"],
    "hidden_size": 4,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 8,
    "max_position_embeddings": 16,
    "type_vocab_size": 2,
    "vocab_size": len(BERT_WORDS),
    "layer_norm_eps": 1e-12,
    "hidden_act": "gelu",
    "hidden_dropout_prob": 0.1,
    "attention_probs_dropout_prob": 0.1,
}
HARD_TEXTS = [
    "the cat the cat",
    "1 2 10",
    "007 7",
    "-1 1e1 0x64",
    "NaN Infinity true null",
    "<b>bold</b> a<b &lt;b&gt; x<br>y &amp; <sup>2</sup>",
]
"""Words that charts and pages have been seen to merge, to reckon with or to read as markup."""

ALPHABET = sorted(ByteLevel.alphabet())
GPT2_VOCABULARY = {piece: i for i, piece in enumerate([*ALPHABET, *(f"Ġ{w}" for w in VECTORS)])}
GPT2_CONFIG = {
    "model_type": "gpt2",
    "architectures": ["GPT2LMHeadModel"],
    "n_embd": 4,
    "n_layer": 1,
    "n_head": 2,
    "n_inner": 8,
    "n_positions": 16,
    "vocab_size": len(GPT2_VOCABULARY),
    "layer_norm_epsilon": 1e-5,
    "activation_function": "gelu_new",
}

Config = Mapping[str, Any]


def write_json(path: Path, value: object) -> None:
    path.write_text(json.dumps(value, ensure_ascii=False), encoding="utf-8")


def changed(config: Config, changes: Config) -> dict[str, Any]:
    """The config with keys changed; a change to ... takes the key away."""
    return {key: value for key, value in {**config, **changes}.items() if value is not ...}


def norm(name: str, d: int = 4) -> dict[str, Tensor]:
    return {f"{name}.weight": torch.ones(d), f"{name}.bias": torch.zeros(d)}


def bert_tensors(
    words: list[str] = BERT_WORDS, bias: list[float] | None = None
) -> dict[str, Tensor]:
    """The closed-form BERT's tensors; ``bias`` is that of the FFN's first matrix."""
    layer = "encoder.layer.0"
    rows = [VECTORS.get(word, [0.0] * 4) for word in words]
    tensors = {
        "embeddings.word_embeddings.weight": torch.tensor(rows),
        "embeddings.position_embeddings.weight": torch.zeros(16, 4),
        "embeddings.token_type_embeddings.weight": torch.zeros(2, 4),
        f"{layer}.intermediate.dense.weight": torch.zeros(8, 4),
        f"{layer}.intermediate.dense.bias": torch.tensor(bias or [0.0] * 8),
        f"{layer}.output.dense.weight": torch.zeros(4, 8),
        f"{layer}.output.dense.bias": torch.zeros(4),
        **norm("embeddings.LayerNorm"),
        **norm(f"{layer}.attention.output.LayerNorm"),
        **norm(f"{layer}.output.LayerNorm"),
    }
    for name in ("self.query", "self.key", "self.value", "output.dense"):
        is_identity = name in ("self.value", "output.dense")
        at = f"{layer}.attention.{name}"
        tensors[f"{at}.weight"] = torch.eye(4) if is_identity else torch.zeros(4, 4)
        tensors[f"{at}.bias"] = torch.zeros(4)
    return tensors


def without(name: str) -> dict[str, Tensor]:
    """The closed-form BERT's tensors but one."""
    return {key: value for key, value in bert_tensors().items() if key != name}


def cf_bert(
    folder: Path,
    tensors: dict[str, Tensor] | None = None,
    words: list[str] = BERT_WORDS,
    settings: Config = {"do_lower_case": False},  # noqa: B006 - never written to
    **changes: Any,
) -> Path:
    """The closed-form BERT, its vocabulary as ``vocab.txt``."""
    folder.mkdir(parents=True)
    write_json(folder / "config.json", changed(BERT_CONFIG, changes))
    write_json(folder / "tokenizer_config.json", settings)
    (folder / "vocab.txt").write_text("".join(f"{word}\n" for word in words), encoding="utf-8")
    save_file(bert_tensors() if tensors is None else tensors, str(folder / "model.safetensors"))
    return folder


def word_bert(folder: Path, texts: Iterable[str] = HARD_TEXTS) -> Path:
    """A BERT that reads whole words of these texts: each is a token, whatever it looks like."""
    words = [*BERT_WORDS[:5], *dict.fromkeys(" ".join(texts).split())]
    rows = torch.randn(len(words), 4, generator=torch.Generator().manual_seed(2))
    tensors = bert_tensors() | {"embeddings.word_embeddings.weight": rows}
    cf_bert(folder, tensors, vocab_size=len(words))
    vocabulary = {word: i for i, word in enumerate(words)}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = WhitespaceSplit()
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder


def wide_bert(folder: Path, d: int = 48, d_mlp: int = 96, layers: int = 12) -> Path:
    """A BERT of 12 heads a block that reads 512 tokens; its weights are as good as any."""
    draw = torch.Generator().manual_seed(0)

    def linear(name: str, n_out: int, n_in: int) -> dict[str, Tensor]:
        weight = torch.randn(n_out, n_in, generator=draw) * 0.3
        return {f"{name}.weight": weight, f"{name}.bias": torch.zeros(n_out)}

    tables = {"word": len(BERT_WORDS), "position": 512, "token_type": 2}
    tensors = norm("embeddings.LayerNorm", d)
    for name, rows in tables.items():
        table = torch.randn(rows, d, generator=draw) * 0.3
        tensors[f"embeddings.{name}_embeddings.weight"] = table
    for layer in range(layers):
        at = f"encoder.layer.{layer}"
        for name in ("self.query", "self.key", "self.value", "output.dense"):
            tensors |= linear(f"{at}.attention.{name}", d, d)
        tensors |= linear(f"{at}.intermediate.dense", d_mlp, d)
        tensors |= linear(f"{at}.output.dense", d, d_mlp)
        tensors |= norm(f"{at}.attention.output.LayerNorm", d) | norm(f"{at}.output.LayerNorm", d)
    sizes = {
        "hidden_size": d,
        "num_hidden_layers": layers,
        "num_attention_heads": 12,
        "intermediate_size": d_mlp,
        "max_position_embeddings": tables["position"],
    }
    return cf_bert(folder, tensors, **sizes)


def gpt2_tensors(
    prefix: str = "transformer.", bias: list[float] | None = None
) -> dict[str, Tensor]:
    """The closed-form GPT-2's tensors."""
    rows = [VECTORS.get(piece.removeprefix("Ġ"), [0.0] * 4) for piece in GPT2_VOCABULARY]
    value_third = torch.cat([torch.zeros(4, 8), torch.eye(4)], dim=1)
    tensors = {
        "wte.weight": torch.tensor(rows),
        "wpe.weight": torch.zeros(16, 4),
        "h.0.attn.c_attn.weight": value_third,
        "h.0.attn.c_attn.bias": torch.zeros(12),
        "h.0.attn.c_proj.weight": torch.eye(4),
        "h.0.attn.c_proj.bias": torch.zeros(4),
        "h.0.mlp.c_fc.weight": torch.zeros(4, 8),
        "h.0.mlp.c_fc.bias": torch.tensor(bias or [0.0] * 8),
        "h.0.mlp.c_proj.weight": torch.zeros(8, 4),
        "h.0.mlp.c_proj.bias": torch.zeros(4),
        **norm("h.0.ln_1"),
        **norm("h.0.ln_2"),
        **norm("ln_f"),
    }
    return {prefix + name: tensor for name, tensor in tensors.items()}


def byte_level_tokenizer(vocabulary: Mapping[str, int]) -> Tokenizer:
    """Byte-level BPE that joins a space with the letter after it, where the vocabulary has both."""
    merges = [("Ġ", piece[1:]) for piece in vocabulary if len(piece) == 2 and piece[0] == "Ġ"]
    tokenizer = Tokenizer(models.BPE(vocab=dict(vocabulary), merges=merges))
    tokenizer.pre_tokenizer = ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def cf_gpt2(folder: Path, tensors: dict[str, Tensor] | None = None, **changes: Any) -> Path:
    """The closed-form GPT-2, its vocabulary as ``tokenizer.json``."""
    folder.mkdir(parents=True)
    write_json(folder / "config.json", changed(GPT2_CONFIG, changes))
    byte_level_tokenizer(GPT2_VOCABULARY).save(str(folder / "tokenizer.json"))
    save_file(gpt2_tensors() if tensors is None else tensors, str(folder / "model.safetensors"))
    return folder


def scoring_gpt2(folder: Path, **changes: Any) -> Path:
    """A GPT-2 of two blocks whose queries and keys differ from token to token."""
    draw = torch.Generator().manual_seed(3)
    tensors = gpt2_tensors()
    blocks = {name: one for name, one in tensors.items() if ".h.0." in name}
    for name, one in blocks.items():
        tensors[name.replace(".h.0.", ".h.1.")] = one.clone()
    for layer in range(2):
        weight = torch.randn(4, 12, generator=draw)
        tensors[f"transformer.h.{layer}.attn.c_attn.weight"] = weight
    return cf_gpt2(folder, tensors, n_layer=2, **changes)


def neox(folder: Path, **changes: Any) -> Path:
    """A GPT-NeoX of one block; its weights are as good as any."""
    folder.mkdir(parents=True)
    config = {
        "model_type": "gpt_neox",
        "hidden_size": 8,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "intermediate_size": 8,
        "max_position_embeddings": 16,
        "vocab_size": len(GPT2_VOCABULARY),
        "rotary_pct": 0.5,
        **changes,
    }
    write_json(folder / "config.json", config)
    byte_level_tokenizer(GPT2_VOCABULARY).save(str(folder / "tokenizer.json"))
    draw = torch.Generator().manual_seed(1)
    d, layer = 8, "gpt_neox.layers.0"
    shapes = {
        "gpt_neox.embed_in.weight": (len(GPT2_VOCABULARY), d),
        "embed_out.weight": (len(GPT2_VOCABULARY), d),
        f"{layer}.attention.query_key_value.weight": (3 * d, d),
        f"{layer}.attention.query_key_value.bias": (3 * d,),
        **{
            f"{layer}.{name}.{kind}": (d, d) if kind == "weight" else (d,)
            for name in ("attention.dense", "mlp.dense_h_to_4h", "mlp.dense_4h_to_h")
            for kind in ("weight", "bias")
        },
        **{
            f"{name}.{kind}": (d,)
            for name in (
                f"{layer}.input_layernorm",
                f"{layer}.post_attention_layernorm",
                "gpt_neox.final_layer_norm",
            )
            for kind in ("weight", "bias")
        },
    }
    if not config.get("attention_bias", True):
        without = [f"{layer}.attention.{name}.bias" for name in ("query_key_value", "dense")]
        shapes = {name: shape for name, shape in shapes.items() if name not in without}
    tensors = {name: torch.randn(shape, generator=draw) for name, shape in shapes.items()}
    save_file(tensors, str(folder / "model.safetensors"))
    return folder
