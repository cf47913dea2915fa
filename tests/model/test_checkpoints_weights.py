"""Files in several spellings, and weights that are not what they should be, by name."""

import json
import math
import struct
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from tests.checkpoint_folders import (
    BERT_WORDS,
    GPT2_VOCABULARY,
    bert_tensors,
    cf_bert,
    cf_gpt2,
    gpt2_tensors,
    without,
    write_json,
)
from tests.checkpoint_runs import A12, approx, refusal, trace, values

# -- files in several spellings ----------------------------------------------------------------


def shards(folder: Path) -> None:
    """Cut a folder's weights in two, with an index."""
    tensors = load_file(str(folder / "model.safetensors"))
    (folder / "model.safetensors").unlink()
    names = sorted(tensors)
    weight_map = {}
    for part, chosen in enumerate((names[::2], names[1::2]), start=1):
        file = f"model-{part:05}-of-00002.safetensors"
        save_file({name: tensors[name] for name in chosen}, str(folder / file))
        weight_map |= dict.fromkeys(chosen, file)
    write_json(folder / "model.safetensors.index.json", {"weight_map": weight_map})


def spelled(models: Path, spelling: str) -> None:
    tensors = gpt2_tensors("" if spelling == "without prefix" else "transformer.")
    if spelling == "with buffers":
        tensors["transformer.h.0.attn.bias"] = torch.ones(1, 1, 16, 16).tril()
        tensors["transformer.h.0.attn.masked_bias"] = torch.tensor(-1e4)
    if spelling == "with its output":
        tensors["lm_head.weight"] = tensors["transformer.wte.weight"].clone()
    cf_gpt2(models / "gpt2", tensors)
    if spelling == "in two shards":
        shards(models / "gpt2")
    if spelling == "under another name":
        (models / "gpt2" / "model.safetensors").rename(models / "gpt2" / "weights.safetensors")


@pytest.mark.parametrize(
    "spelling",
    [
        "with prefix",
        "without prefix",
        "with buffers",
        "with its output",
        "in two shards",
        "under another name",
    ],
)
def test_all_spellings_of_a_gpt2_folder_give_the_same_numbers(models, spelling):
    spelled(models, spelling)
    t = trace(models, "gpt2", "A B A", "blocks.0.resid_mid[0]")
    assert t.tensors[0].value.tolist() == approx([-0.3416354, 1.5527882, 3.4472118, 5.3416354])
    unused = [note.params for note in t.model.notes if note.code == "unused_tensors"]
    buffers = ["transformer.h.0.attn.bias", "transformer.h.0.attn.masked_bias"]
    assert unused == ([{"count": 2, "tensors": buffers}] if spelling == "with buffers" else [])


def test_an_output_that_differs_from_the_table_is_used_although_both_are_said_to_be_one(models):
    tensors = gpt2_tensors()
    tensors["lm_head.weight"] = 2 * tensors["transformer.wte.weight"]
    cf_gpt2(models / "gpt2", tensors)
    t = trace(models, "gpt2", "B", "logits[0]", "ln_final.out[0]")
    assert "output_not_tied" in [note.code for note in t.model.notes]
    logits, state = (s.value for s in t.tensors)
    # Letter A is [1, 2, 3, 4] in the table and twice that in the output.
    expected = 2 * (state @ torch.tensor([1.0, 2, 3, 4])).item()
    assert logits[GPT2_VOCABULARY["A"]].item() == approx(expected)


def test_old_names_of_norms_are_read(models):
    tensors = {
        name.replace("LayerNorm.weight", "LayerNorm.gamma").replace(
            "LayerNorm.bias", "LayerNorm.beta"
        ): value
        for name, value in bert_tensors().items()
    }
    cf_bert(models / "bert", {f"bert.{name}": value for name, value in tensors.items()})
    (out,) = values(models, "bert", "A A B", "blocks.0.ln1.out[1]")
    assert out == approx(A12)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_computed_in_float32_and_flagged(models, dtype):
    tensors = {name: value.to(dtype) for name, value in bert_tensors(words=BERT_WORDS[:8]).items()}
    cf_bert(models / "bert", tensors, words=BERT_WORDS[:8], vocab_size=8)
    t = trace(models, "bert", "A A B", "blocks.0.ln1.out[1]")
    assert t.tensors[0].value.dtype == torch.float32
    assert t.tensors[0].value.tolist() == approx(A12)
    name = str(dtype).removeprefix("torch.")
    flags = [(f.code, f.count, f.params) for f in t.flags]
    assert flags == [("half_precision_weights", len(tensors), {"dtypes": [name]})]


# -- weights that are not what they should be --------------------------------------------------


def test_a_missing_weight_is_named_with_its_shape(models):
    name = "encoder.layer.0.output.LayerNorm.weight"
    cf_bert(models / "bert", without(name))
    error = refusal(models, "bert")
    assert (error.code, error.params) == ("tensor_missing", {"tensor": name, "shape": [4]})


def test_a_weight_of_the_wrong_shape_is_named_with_both_shapes(models):
    name = "encoder.layer.0.attention.self.value.weight"
    cf_bert(models / "bert", bert_tensors() | {name: torch.zeros(4, 3)})
    error = refusal(models, "bert")
    assert error.code == "tensor_shape"
    assert error.params == {"tensor": name, "shape": [4, 3], "expected": [4, 4]}


def test_a_layer_without_weights_is_an_error_and_never_filled(models):
    cf_bert(models / "bert", num_hidden_layers=2)
    error = refusal(models, "bert")
    assert error.code == "tensor_missing"
    assert str(error.params["tensor"]).startswith("encoder.layer.1.")


def test_a_missing_pooler_is_fine_and_one_that_is_there_is_listed_as_unused(models):
    cf_bert(models / "without")
    cf_bert(models / "with", bert_tensors() | {"pooler.dense.weight": torch.eye(4)})
    assert "unused_tensors" not in [n.code for n in trace(models, "without", "A").model.notes]
    notes = {note.code: note.params for note in trace(models, "with", "A").model.notes}
    assert notes["unused_tensors"] == {"count": 1, "tensors": ["pooler.dense.weight"]}


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_weight_that_is_not_finite_is_named_with_the_count(models, value):
    tensors = bert_tensors()
    name = "encoder.layer.0.intermediate.dense.bias"
    tensors[name][2:4] = value
    cf_bert(models / "bert", tensors)
    error = refusal(models, "bert")
    assert (error.code, error.params) == ("tensor_not_finite", {"tensor": name, "count": 2})


def test_finite_weights_whose_sum_is_not_are_fine(models):
    tensors = bert_tensors()
    tensors["embeddings.word_embeddings.weight"][5] = 3e38
    cf_bert(models / "bert", tensors)
    assert trace(models, "bert", "B").tokens[1].text == "B"


def test_weights_of_another_type_are_named(models):
    name = "encoder.layer.0.intermediate.dense.bias"
    tensors = bert_tensors()
    cf_bert(models / "bert", tensors | {name: tensors[name].double()})
    error = refusal(models, "bert")
    assert (error.code, error.params["tensor"], error.params["dtype"]) == (
        "tensor_dtype",
        name,
        "F64",
    )


def test_a_truncated_file_names_the_tensor_that_is_cut(models):
    folder = cf_bert(models / "bert")
    file = folder / "model.safetensors"
    data = file.read_bytes()
    file.write_bytes(data[:-4])
    error = refusal(models, "bert")
    header = json.loads(data[8 : 8 + struct.unpack("<Q", data[:8])[0]])
    last = max(
        (name for name in header if name != "__metadata__"), key=lambda n: header[n]["data_offsets"]
    )
    assert error.code == "tensor_truncated"
    assert error.params == {"tensor": last, "file": "model.safetensors", "missing": 4}


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x00" * 7,
        struct.pack("<Q", 2**63) + b"{}",
        struct.pack("<Q", 2) + b"[]",
        struct.pack("<Q", 9) + b'{"a": {}}',
        struct.pack("<Q", 2) + b"{}",
        b'{"a": 1}' * 10,
    ],
    ids=["empty", "short", "long header", "list", "no fields", "no tensors", "json"],
)
def test_a_file_that_is_no_safetensors_is_refused(models, data):
    (cf_bert(models / "bert") / "model.safetensors").write_bytes(data)
    assert refusal(models, "bert").code in ("weights_unreadable", "tensor_missing")


def test_shapes_that_do_not_fit_their_bytes_are_refused(models):
    header = json.dumps(
        {
            "embeddings.word_embeddings.weight": {
                "dtype": "F32",
                "shape": [11, 4],
                "data_offsets": [0, 8],
            }
        }
    ).encode()
    file = cf_bert(models / "bert") / "model.safetensors"
    file.write_bytes(struct.pack("<Q", len(header)) + header + b"\x00" * 8)
    assert refusal(models, "bert").code == "weights_unreadable"


def test_a_shard_that_is_missing_or_elsewhere_is_named(models, tmp_path):
    folder = cf_gpt2(models / "gpt2")
    shards(folder)
    (folder / "model-00002-of-00002.safetensors").unlink()
    error = refusal(models, "gpt2")
    assert (error.code, error.params) == (
        "shard_missing",
        {"file": "model-00002-of-00002.safetensors"},
    )
    save_file(gpt2_tensors(), str(tmp_path / "outside.safetensors"))
    weight_map = dict.fromkeys(gpt2_tensors(), "../../outside.safetensors")
    write_json(folder / "model.safetensors.index.json", {"weight_map": weight_map})
    assert refusal(models, "gpt2").code == "shard_missing"
