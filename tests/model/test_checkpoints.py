"""Folders with closed-form numbers, spellings of files, refusals by name, and what stays inside."""

import json
import math
import os
import pickle
import shutil
import struct
import threading
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import WhitespaceSplit

from model import limits
from model.checkpoints import collection
from model.checkpoints.collection import Checkpoints
from model.checkpoints.tensors import FolderTensors
from model.errors import ModelError
from model.registry import Registry
from model.runnable import Loading
from model.trace import Include, Trace, TraceRequest, run_trace
from tests.checkpoint_folders import (
    BERT_CONFIG,
    BERT_WORDS,
    FFN_BIAS,
    GPT2_VOCABULARY,
    bert_tensors,
    byte_level_tokenizer,
    cf_bert,
    cf_gpt2,
    gpt2_tensors,
    neox,
    write_json,
)

# LayerNorm([1, 2, 3, 4]), whose mean is 2.5 and whose variance is 1.25, with eps 1e-12 and 1e-5.
A12 = [-1.3416408, -0.4472136, 0.4472136, 1.3416408]
A5 = [-1.3416354, -0.4472118, 0.4472118, 1.3416354]


@pytest.fixture
def models(tmp_path: Path) -> Path:
    return tmp_path / "models"


def trace(models: Path, model: str, text: str, *include: str, **fields) -> Trace:
    entries = [Include(entry) for entry in include]
    return run_trace(Registry(models), TraceRequest(text, model, include=entries, **fields))


def values(models: Path, model: str, text: str, *include: str, **fields) -> list[list]:
    return [
        selected.value.tolist()
        for selected in trace(models, model, text, *include, **fields).tensors
    ]


def refusal(models: Path, model: str, text: str = "A", **fields) -> ModelError:
    with pytest.raises(ModelError) as caught:
        trace(models, model, text, **fields)
    return caught.value


def approx(expected, tolerance=1e-5):
    return pytest.approx(expected, abs=tolerance)


# -- numbers that can be written down ----------------------------------------------------------


def test_attention_maps_of_a_bert_are_uniform_over_all_five_tokens(models):
    cf_bert(models / "bert")
    (pattern,) = values(models, "bert", "A A B", "blocks.0.attn.pattern")
    assert [len(pattern), len(pattern[0]), len(pattern[0][0])] == [2, 5, 5]
    for head in pattern:
        for row in head:
            assert row == approx([0.2] * 5, 1e-6)


def test_post_ln_sums_first_and_the_next_residual_is_the_normed_value(models):
    cf_bert(models / "bert")
    mid, var, out, final = values(
        models,
        "bert",
        "A A B",
        "blocks.0.resid_mid",
        "blocks.0.ln1.var",
        "blocks.0.ln1.out",
        "*.out",
    )[:4]
    assert mid[1] == approx([-1.6099689, -0.5366563, 0.5366563, 1.6099689])
    assert [row[0] for row in var] == approx([0.04, 1.44, 1.44, 0.64, 0.04])
    assert out[1] == approx(A12)
    assert final[1] == approx(A12)


def test_post_ln_with_eps_1(models):
    cf_bert(models / "bert-1", layer_norm_eps=1.0)
    embedding, mid, ln1, ln2 = values(
        models,
        "bert-1",
        "A A B",
        "embed_ln.out[1]",
        "blocks.0.resid_mid[1]",
        "blocks.0.ln1.out[1]",
        "blocks.0.ln2.out[1]",
    )
    assert embedding == approx([-1, -1 / 3, 1 / 3, 1])
    assert mid == approx([-1.2, -0.4, 0.4, 1.2])
    assert ln1[:2] == approx([-0.8944272, -0.2981424])
    # This needs the first norm's output as the residual of the second Add.
    assert ln2[:2] == approx([-0.7442084, -0.2480695])


def test_pre_ln_carries_the_raw_input_past_the_norm(models):
    cf_gpt2(models / "gpt2")
    (mid,) = values(models, "gpt2", "A B A", "blocks.0.resid_mid")
    assert mid[0] == approx([-0.3416354, 1.5527882, 3.4472118, 5.3416354])
    assert mid[1] == approx([4, 3, 2, 1])
    assert mid[2] == approx([0.5527882, 1.8509294, 3.1490706, 4.4472118])


def test_a_causal_map_has_its_first_query_on_top(models):
    cf_gpt2(models / "gpt2")
    t = trace(models, "gpt2", "A B A", "blocks.0.attn.pattern[0]")
    assert t.tensors[0].axes == ["query", "key"]
    assert t.tensors[0].value[0].tolist() == [1, 0, 0]
    assert t.tensors[0].value[2].tolist() == approx([1 / 3] * 3, 1e-6)


def test_large_mean_and_small_spread(models):
    cf_gpt2(models / "gpt2")
    mean, var, scale, out = values(
        models,
        "gpt2",
        "D",
        *(f"blocks.0.ln1.{part}[0]" for part in ("mean", "var", "scale", "out")),
    )
    assert (mean, var, scale) == ([40001.5], approx([1.25]), approx([1.1180385]))
    assert out == approx(A5, 1e-4)


@pytest.mark.parametrize(
    ("make", "tensors", "expected"),
    [
        (
            cf_bert,
            bert_tensors(bias=FFN_BIAS),
            [0.8413447, -0.1586553, 2.9959497, -0.0040502, 0.3457312, -0.1542687, 1.9544997, 0],
        ),
        (
            cf_gpt2,
            gpt2_tensors(bias=FFN_BIAS),
            [0.8411920, -0.1588080, 2.9963627, -0.0036374, 0.3457140, -0.1542860, 1.9545977, 0],
        ),
    ],
    ids=["bert exact", "gpt2 tanh"],
)
def test_each_family_has_its_own_gelu(models, make, tensors, expected):
    make(models / "g", tensors)
    (post,) = values(models, "g", "A", "blocks.0.mlp.post[0]")
    assert post == approx(expected, 2e-6)


@pytest.mark.parametrize(
    ("eps", "last"), [(1e-12, 1.3416408), (1e-5, 1.3414732), (1.0, 0.1978141), (..., 1.3416408)]
)
def test_every_norm_of_a_bert_has_the_eps_of_its_folder(models, eps, last):
    cf_bert(models / "bert", layer_norm_eps=eps)
    t = trace(models, "bert", "A A B", "blocks.0.ln1.out[0,3]")
    assert t.tensors[0].value.item() == approx(last, 2e-6)
    assert {norm.eps for norm in t.layer_norms} == {1e-12 if eps is ... else eps}
    assert [norm.name for norm in t.layer_norms] == ["embed_ln", "blocks.0.ln1", "blocks.0.ln2"]


@pytest.mark.parametrize("eps", [1e-12, 1e-5, 1.0, ...])
def test_every_norm_of_a_gpt2_has_the_eps_of_its_folder(models, eps):
    cf_gpt2(models / "gpt2", layer_norm_epsilon=eps)
    t = trace(models, "gpt2", "A", "blocks.0.ln1.scale[0]")
    expected = 1e-5 if eps is ... else eps
    assert {norm.eps for norm in t.layer_norms} == {expected}
    assert t.model.eps == expected
    assert t.tensors[0].value.tolist() == approx([math.sqrt(1.25 + expected)], 1e-6)


def test_saturated_scores_choose_one_key_and_stay_finite(models):
    """Queries -100 and keys 100 times the normed vector: the opposite token gets everything."""
    tensors = gpt2_tensors()
    identity = torch.eye(4)
    joined = torch.cat([-100 * identity, 100 * identity, identity], dim=1)
    cf_gpt2(models / "m", tensors | {"transformer.h.0.attn.c_attn.weight": joined})
    pattern, dot = values(models, "m", "A B B", "blocks.0.attn.pattern[0]", "blocks.0.attn.dot[0]")
    assert pattern == [[1, 0, 0], [1, 0, 0], [1, 0, 0]]
    # Head 0 owns components 0 and 1 of the normed vector.
    expected = 1e4 * (A5[0] ** 2 + A5[1] ** 2)
    assert dot[1][0] == pytest.approx(expected, rel=1e-5)
    assert dot[1][1] == pytest.approx(-expected, rel=1e-5)


def test_conv1d_matrices_are_read_as_they_are_stored(models):
    """An output matrix that moves each component one place on, and not one place back."""
    shift = torch.eye(4).roll(1, dims=1)
    cf_gpt2(models / "s", gpt2_tensors() | {"transformer.h.0.attn.c_proj.weight": shift})
    out, result = values(models, "s", "A", "blocks.0.attn_out[0]", "blocks.0.attn.result[0]")
    assert out == approx([A5[3], A5[0], A5[1], A5[2]])
    assert result[0] == approx([0, A5[0], A5[1], 0])
    assert result[1] == approx([A5[3], 0, 0, A5[2]])


# -- what every run has ------------------------------------------------------------------------


@pytest.mark.parametrize("model", ["bert", "gpt2"])
@pytest.mark.parametrize("norm", ["pre", "post"])
def test_every_check_passes_in_either_wiring(models, model, norm):
    (cf_bert if model == "bert" else cf_gpt2)(models / model)
    t = trace(models, model, "A B D", "*", norm=norm, verify=True)
    assert [check for check in t.checks if not check.ok] == []
    assert [s.point for s in t.tensors] == [p.name for p in t.points]
    assert t.not_checked == []
    made = {step.output for step in t.steps}
    assert {p for step in t.steps for p in step.inputs} <= made | {p.name for p in t.points}


def test_a_parallel_model_says_which_check_it_has_no_counterpart_for(models):
    neox(models / "neox")
    t = trace(models, "neox", "A B A", "*", verify=True)
    assert [check for check in t.checks if not check.ok] == []
    assert [(n.name, n.reason) for n in t.not_checked] == [("torch_block", "no_such_layer")]
    assert t.model.wiring == "parallel"
    assert [w.point for w in t.stream.writes] == ["blocks.0.attn_out", "blocks.0.mlp_out"]
    assert "blocks.0.resid_mid" not in {p.name for p in t.points}


def test_dropout_in_the_config_changes_nothing_from_run_to_run(models):
    cf_bert(models / "bert")
    first = values(models, "bert", "A B C", "*")
    for _ in range(4):
        assert values(models, "bert", "A B C", "*") == first


def test_the_embedding_is_one_add_with_three_inputs_and_a_norm(models):
    cf_bert(models / "bert")
    steps = trace(models, "bert", "A").steps
    assert [(step.inputs, step.output) for step in steps[3:5]] == [
        (["embed", "pos_embed", "type_embed"], "embed_sum"),
        (["embed_sum"], "embed_ln.out"),
    ]


def test_a_second_text_has_types_and_segments(models):
    tensors = bert_tensors()
    tensors["embeddings.token_type_embeddings.weight"] = torch.tensor(
        [[0.0, 0, 0, 0], [10, 20, 30, 40]]
    )
    cf_bert(models / "bert", tensors)
    t = trace(models, "bert", "A B", "type_embed", text_pair="C")
    assert [token.piece for token in t.tokens] == ["[CLS]", "A", "B", "[SEP]", "C", "[SEP]"]
    assert [token.segment for token in t.tokens] == [0, 0, 0, 0, 1, 1]
    assert [(token.start, token.end) for token in t.tokens][4:] == [(0, 1), (1, 1)]
    assert [row[0] for row in t.tensors[0].value.tolist()] == [0, 0, 0, 0, 10, 10]


def test_a_second_text_is_refused_where_it_means_nothing(models):
    cf_gpt2(models / "gpt2")
    name = "embeddings.token_type_embeddings.weight"
    one_type = bert_tensors() | {name: torch.zeros(1, 4)}
    cf_bert(models / "one-type", one_type, type_vocab_size=1)
    assert refusal(models, "gpt2", text_pair="A").code == "text_pair_not_offered"
    assert refusal(models, "one-type", text_pair="A").code == "text_pair_not_offered"
    assert refusal(models, "textbook", text_pair="A").field == "text_pair"
    listed = {entry.id: entry.text_pair for entry in Registry(models).entries()}
    assert (listed["gpt2"], listed["one-type"]) == (False, False)


# -- wiring and weights ------------------------------------------------------------------------


def test_a_bert_in_pre_ln_is_a_marked_experiment(models):
    cf_bert(models / "bert")
    t = trace(models, "bert", "A A B", "blocks.0.resid_mid[1]", norm="pre")
    assert t.tensors[0].value.tolist() == approx([-1.6099689, -0.5366563, 0.5366563, 1.6099689])
    assert (t.model.norm, t.model.weights, t.model.norm_is_trained) == ("pre", "post", False)
    codes = [note.code for note in t.model.notes]
    assert codes == ["masked_head_not_run", "other_wiring", "final_norm_missing"]
    names = {p.name for p in t.points}
    assert "embed_ln.out" in names
    assert "ln_final.out" not in names


def test_a_gpt2_in_post_ln_does_not_run_its_final_norm(models):
    cf_gpt2(models / "gpt2")
    t = trace(models, "gpt2", "A B", norm="post")
    assert [note.code for note in t.model.notes] == ["other_wiring", "final_norm_not_run"]
    assert "ln_final.out" not in {p.name for p in t.points}
    assert trace(models, "gpt2", "A B").model.norm_is_trained


def test_weights_can_be_named_only_as_they_were_trained(models):
    cf_bert(models / "bert")
    assert trace(models, "bert", "A", weights="post").model.weights == "post"
    assert refusal(models, "bert", weights="pre").code == "weights_not_offered"


def test_post_ln_of_a_parallel_model_is_undefined(models):
    neox(models / "neox")
    error = refusal(models, "neox", norm="post")
    assert (error.code, error.field) == ("placement_undefined", "norm")
    neox(models / "row", use_parallel_residual=False)
    assert trace(models, "row", "A", norm="post").model.norm_is_trained is False


def test_predictions_come_from_a_trained_output_only(models):
    cf_gpt2(models / "gpt2")
    cf_gpt2(models / "classifier", architectures=["GPT2ForSequenceClassification"])
    cf_bert(models / "bert")
    predictions = trace(models, "gpt2", "A").predictions
    assert predictions is not None
    assert predictions.positions[0][0].label in ("F", "␣F")
    assert trace(models, "classifier", "A").predictions is None
    t = trace(models, "bert", "A")
    assert t.predictions is None
    assert "masked_head_not_run" in [note.code for note in t.model.notes]


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


def without(name: str) -> dict:
    return {key: value for key, value in bert_tensors().items() if key != name}


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


# -- tokens ------------------------------------------------------------------------------------


def test_one_character_in_three_byte_tokens_keeps_its_offsets(models):
    folder = cf_gpt2(models / "gpt2")
    bytes_only = {piece: i for i, piece in enumerate(list(GPT2_VOCABULARY)[:256])}
    byte_level_tokenizer(bytes_only).save(str(folder / "tokenizer.json"))
    tokens = trace(models, "gpt2", "i ⭢ j").tokens
    spans = [(token.start, token.end) for token in tokens]
    assert spans == [(0, 1), (1, 2), (2, 3), (2, 3), (2, 3), (3, 4), (4, 5)]
    assert [(t.part, t.parts) for t in tokens[1:6]] == [
        (None, None),
        (1, 3),
        (2, 3),
        (3, 3),
        (None, None),
    ]
    assert [token.text for token in tokens[2:5]] == ["⭢"] * 3


def test_white_space_has_signs_and_raw_pieces_stay_in_the_reply(models):
    cf_gpt2(models / "gpt2")
    tokens = trace(models, "gpt2", "a\nb\tc d").tokens
    assert [token.label for token in tokens] == ["a", "↵", "b", "⇥", "c", "␣", "d"]
    assert [token.piece for token in tokens] == ["a", "Ċ", "b", "ĉ", "c", "Ġ", "d"]


def test_a_space_stays_with_the_token_that_holds_it(models):
    cf_gpt2(models / "gpt2")
    tokens = trace(models, "gpt2", "A B A").tokens
    assert [(t.label, t.piece, t.start, t.end) for t in tokens] == [
        ("A", "A", 0, 1),
        ("␣B", "ĠB", 1, 3),
        ("␣A", "ĠA", 3, 5),
    ]


def test_mixed_directions_are_covered_in_logical_order(models):
    cf_gpt2(models / "gpt2")
    text = "abc توْ def"
    tokens = trace(models, "gpt2", text).tokens
    covered = {i for token in tokens for i in range(token.start, token.end)}
    assert covered == set(range(len(text)))
    assert [t.start for t in tokens] == sorted(t.start for t in tokens)
    assert all(token.label for token in tokens)


KANA = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "ア", "##リ", "##ハ", "##バ"]


@pytest.mark.parametrize(
    ("settings", "pieces"),
    [
        ({"do_lower_case": True}, ["ア", "##リ", "##ハ", "##ハ"]),
        ({"do_lower_case": True, "strip_accents": False}, ["ア", "##リ", "##バ", "##バ"]),
    ],
)
def test_voiced_marks_that_a_tokenizer_strips_stay_in_the_source_slices(models, settings, pieces):
    tensors = bert_tensors(words=KANA)
    cf_bert(models / "bert", tensors, words=KANA, settings=settings, vocab_size=len(KANA))
    tokens = trace(models, "bert", "アリババ").tokens[1:-1]
    assert [token.piece for token in tokens] == pieces
    assert [(t.start, t.end) for t in tokens] == [(0, 1), (1, 2), (2, 3), (3, 4)]
    assert [t.text for t in tokens] == [t.label for t in tokens] == list("アリババ")


def test_unknown_characters_are_shown_as_unknown_with_a_word_of_why(models):
    cf_bert(models / "bert")
    t = trace(models, "bert", "A 猫 犬 猫 [UNK]")
    assert [token.label for token in t.tokens] == [
        "[CLS]", "A", "[UNK]", "[UNK]", "[UNK]", "[UNK]", "[SEP]",
    ]  # fmt: skip
    (flag,) = t.flags
    assert (flag.code, flag.count) == ("unknown_token", 3)
    assert flag.params == {"texts": ["猫", "犬"], "positions": [2, 3, 4]}
    assert [token.special for token in t.tokens] == [True, *[False] * 5, True]


def test_characters_that_a_tokenizer_drops_are_flagged(models):
    cf_bert(models / "bert")
    (flag,) = trace(models, "bert", "A\u200d\u0001 B").flags
    assert (flag.code, flag.count) == ("dropped_characters", 2)
    assert flag.params == {"characters": ["\u200d", "\u0001"]}


def test_marks_that_are_typed_are_marks(models):
    cf_bert(models / "bert")
    tokens = trace(models, "bert", "A [MASK] B").tokens
    assert [(t.piece, t.special, t.text) for t in tokens[1:4]] == [
        ("A", False, "A"),
        ("[MASK]", True, "[MASK]"),
        ("B", False, "B"),
    ]


@pytest.mark.parametrize(
    ("model", "fits", "too_long"),
    [
        ("gpt2", "A" + " A" * 15, "A" + " A" * 16),
        ("bert", " ".join(["A"] * 14), " ".join(["A"] * 15)),
    ],
)
def test_exactly_at_and_one_past_the_position_limit(models, model, fits, too_long):
    (cf_bert if model == "bert" else cf_gpt2)(models / model)
    assert len(trace(models, model, fits).tokens) == 16
    error = refusal(models, model, too_long)
    assert (error.code, error.params) == ("text_too_long", {"limit": 16, "length": 17})
    assert len(trace(models, model, fits).tokens) == 16


LITERAL_TEXTS = [
    "the cat the cat",
    "1 2 10",
    "007 7",
    "-1 1e1 0x64",
    "NaN Infinity true null",
    "<b>bold</b> a<b &lt;b&gt; x<br>y &amp; <sup>2</sup>",
]


@pytest.mark.parametrize("text", LITERAL_TEXTS)
def test_labels_are_the_words_as_typed_repeated_numeric_or_markup(models, text):
    folder = cf_bert(models / "words", vocab_size=64)
    words = list(dict.fromkeys(" ".join(LITERAL_TEXTS).split()))
    vocabulary = {word: i for i, word in enumerate([*BERT_WORDS[:5], *words])}
    tokenizer = Tokenizer(WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = WhitespaceSplit()
    tokenizer.save(str(folder / "tokenizer.json"))
    tensors = bert_tensors() | {"embeddings.word_embeddings.weight": torch.zeros(64, 4)}
    save_file(tensors, str(folder / "model.safetensors"))
    t = trace(models, "words", text, "blocks.0.attn.pattern")
    assert [token.label for token in t.tokens] == text.split()
    assert t.tensors[0].shape == [2, len(text.split()), len(text.split())]


def test_a_text_whose_maps_could_not_be_held_is_refused_with_both_numbers(models, monkeypatch):
    cf_gpt2(models / "gpt2")
    monkeypatch.setattr(limits, "MAX_SHARES", 2 * 5**2)
    assert len(trace(models, "gpt2", "A A A A A").tokens) == 5
    error = refusal(models, "gpt2", "A A A A A A")
    assert (error.code, error.params) == ("text_too_long_to_record", {"limit": 5, "length": 6})


def test_a_tokenizer_that_is_larger_than_the_table_is_refused_where_it_matters(models):
    cf_bert(models / "bert", words=[*BERT_WORDS, "Z"])
    (out,) = values(models, "bert", "A A B", "blocks.0.ln1.out[1]")
    assert out == approx(A12)
    error = refusal(models, "bert", "A Z")
    assert error.code == "token_beyond_table"
    assert error.params == {"token": "Z", "id": len(BERT_WORDS), "d_vocab": len(BERT_WORDS)}


def test_a_tokenizer_that_is_smaller_than_the_table_works(models):
    cf_bert(models / "bert", words=BERT_WORDS[:7])
    (mid,) = values(models, "bert", "A A B", "blocks.0.resid_mid[1]")
    assert mid == approx([-1.6099689, -0.5366563, 0.5366563, 1.6099689])


@pytest.mark.parametrize("file", ["tokenizer.json", "added_tokens.json"])
def test_an_added_token_with_a_number_out_of_order_is_named(models, file):
    folder = cf_gpt2(models / "gpt2")
    if file == "tokenizer.json":
        described = json.loads((folder / file).read_text())
        token = {"id": 10**6, "content": "<far>", "single_word": False, "lstrip": False}
        token |= {"rstrip": False, "normalized": False, "special": True}
        described["added_tokens"] = [token]
        write_json(folder / file, described)
        model = "gpt2"
    else:
        model = "bert"
        write_json(cf_bert(models / "bert") / file, {"<far>": 10**6})
    error = refusal(models, model)
    assert (error.code, error.params["token"], error.params["id"]) == (
        "token_ids_differ",
        "<far>",
        10**6,
    )


def test_a_tokenizer_that_would_cut_or_pad_texts_does_neither(models):
    folder = cf_gpt2(models / "gpt2")
    tokenizer = byte_level_tokenizer(GPT2_VOCABULARY)
    tokenizer.enable_truncation(4)
    tokenizer.enable_padding(length=12)
    tokenizer.save(str(folder / "tokenizer.json"))
    assert len(trace(models, "gpt2", "A A A A A A").tokens) == 6


def test_rows_of_the_table_that_no_piece_names_have_a_label(models):
    tensors = gpt2_tensors()
    rows = torch.cat([tensors["transformer.wte.weight"], torch.full((1, 4), 1.0)])
    rows[-1] = torch.tensor([-1e31, 0, 0, 1e31])
    cf_gpt2(models / "gpt2", tensors | {"transformer.wte.weight": rows}, vocab_size=len(rows))
    predictions = trace(models, "gpt2", "A").predictions
    assert predictions is not None
    top = predictions.positions[0][0]
    assert (top.id, top.piece, top.label) == (len(rows) - 1, "", f"#{len(rows) - 1}")


def test_byte_pieces_of_a_prediction_have_names_and_not_signs_of_failure(models):
    tokenizer = Checkpoints(models)
    cf_gpt2(models / "gpt2")
    vocabulary = tokenizer.load("gpt2", None, None).tokenizer
    assert vocabulary.label(GPT2_VOCABULARY["â"]) == "<0xE2>"
    assert vocabulary.label(GPT2_VOCABULARY["Ġ"]) == "␣"
    assert vocabulary.label(GPT2_VOCABULARY["ĠA"]) == "␣A"
    assert vocabulary.label(GPT2_VOCABULARY["Ċ"]) == "↵"


@pytest.mark.parametrize("family", ["gpt2", "roberta"])
def test_vocab_json_and_merges_are_read_where_there_is_no_whole_tokenizer(models, family):
    if family == "gpt2":
        folder = cf_gpt2(models / "model")
    else:
        folder = cf_bert(
            models / "model",
            model_type="roberta",
            pad_token_id=1,
            vocab_size=400,
            tensors=bert_tensors()
            | {"embeddings.word_embeddings.weight": torch.arange(1600.0).view(400, 4)},
        )
        (folder / "vocab.txt").unlink()
        write_json(folder / "tokenizer_config.json", {})
    (folder / "tokenizer.json").unlink(missing_ok=True)
    marks = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    pieces = [*marks, *GPT2_VOCABULARY] if family == "roberta" else list(GPT2_VOCABULARY)
    write_json(folder / "vocab.json", {piece: i for i, piece in enumerate(pieces)})
    merges = "\n".join(f"Ġ {word}" for word in "ABCDEF")
    (folder / "merges.txt").write_text(f"#version: 0.2\n{merges}\n", encoding="utf-8")
    labels = [token.label for token in trace(models, "model", "A B").tokens]
    assert labels == (["<s>", "A", "␣B", "</s>"] if family == "roberta" else ["A", "␣B"])
    if family == "roberta":
        t = trace(models, "model", "A B", text_pair="C")
        assert [x.label for x in t.tokens] == ["<s>", "A", "␣B", "</s>", "</s>", "C", "</s>"]
        assert [x.segment for x in t.tokens] == [0, 0, 0, 0, 0, 1, 1]


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda f: (f / "vocab.txt").unlink(), "tokenizer_missing"),
        (lambda f: (f / "vocab.txt").write_text("A\nB\n"), "tokenizer_mark_missing"),
        (lambda f: (f / "vocab.txt").write_bytes(b"\xff\xfe"), "tokenizer_unreadable"),
        (lambda f: (f / "tokenizer.json").write_text("{}"), "tokenizer_unreadable"),
        (lambda f: (f / "tokenizer.json").write_text("not json"), "tokenizer_unreadable"),
        (lambda f: (f / "tokenizer_config.json").write_text("["), "json_unreadable"),
        (
            lambda f: write_json(f / "tokenizer_config.json", {"tokenizer_class": "MineTokenizer"}),
            "tokenizer_class_not_supported",
        ),
    ],
)
def test_tokenizers_that_cannot_be_used_are_refused(models, change, code):
    change(cf_bert(models / "bert"))
    assert refusal(models, "bert").code == code


# -- configurations ----------------------------------------------------------------------------


UNSUPPORTED = {
    "llama": ({"model_type": "llama"}, "architecture_not_supported"),
    "gptj": ({"model_type": "gptj"}, "architecture_not_supported"),
    "t5": ({"model_type": "t5"}, "architecture_not_supported"),
    "made-up": ({"model_type": "made-up"}, "architecture_not_supported"),
    "number": ({"model_type": 5}, "architecture_not_supported"),
    "missing": ({"model_type": ...}, "architecture_missing"),
    "relative": ({"position_embedding_type": "relative_key"}, "config_not_supported"),
    "decoder": ({"is_decoder": True}, "config_not_supported"),
    "cross": ({"add_cross_attention": True}, "config_not_supported"),
    "pruned": ({"pruned_heads": {"0": [1]}}, "config_not_supported"),
    "quantised": ({"quantization_config": {"bits": 4}}, "config_not_supported"),
    "odd heads": ({"hidden_size": 5}, "heads_do_not_divide"),
    "swish": ({"hidden_act": "swish"}, "config_not_supported"),
    "act": ({"hidden_act": 3}, "config_not_supported"),
    "text": ({"hidden_size": "4"}, "config_value"),
    "true": ({"num_hidden_layers": True}, "config_value"),
    "zero": ({"num_attention_heads": 0}, "config_value"),
    "negative": ({"layer_norm_eps": -1e-5}, "config_value"),
    "vast": ({"vocab_size": 10**9}, "checkpoint_too_large"),
}


@pytest.mark.parametrize("name", UNSUPPORTED)
def test_what_is_not_supported_is_listed_with_the_reason_and_refused_with_it(models, name):
    changes, code = UNSUPPORTED[name]
    cf_bert(models / name, **changes)
    registry = Registry(models)
    (listed,) = registry.unsupported()
    assert (listed.id, listed.code) == (name, code)
    assert name not in [entry.id for entry in registry.entries()]
    error = refusal(models, name)
    assert (error.code, error.params) == (code, listed.params)
    if code.startswith(("architecture", "config_not")):
        assert error.params["supported"]
    if code.startswith("config"):
        assert error.params["key"] in changes


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"rope_scaling": {"type": "linear", "factor": 2.0}}, "config_not_supported"),
        ({"rope_parameters": {"rope_type": "yarn", "factor": 2.0}}, "config_not_supported"),
        ({"rope_parameters": {"rope_type": "default", "twist": 2.0}}, "config_keys_unknown"),
        ({"rotary_pct": 0.1}, "rotary_dims"),
        ({"rotary_pct": 2.0}, "rotary_dims"),
        ({"rotary_emb_base": 0}, "rotary_dims"),
        ({"use_parallel_residual": "yes"}, "config_value"),
        ({"rotary_emb_base": 10, "rope_theta": 20}, "config_contradiction"),
    ],
)
def test_rotations_that_are_not_ours_are_refused_by_name(models, changes, code):
    neox(models / "neox", **changes)
    assert refusal(models, "neox").code == code


def test_rotary_keys_of_old_and_new_files_mean_the_same(models):
    neox(models / "old", rotary_pct=1.0, rotary_emb_base=100)
    group = {"rope_type": "default", "rope_theta": 100.0, "partial_rotary_factor": 1.0}
    # Where both are there, the group counts.
    neox(models / "new", rotary_pct=0.5, rope_parameters=group)
    assert values(models, "old", "A B A", "*") == values(models, "new", "A B A", "*")


def test_harmless_keys_are_ignored_and_others_are_named(models):
    cf_bert(models / "bert", torch_dtype="float32", id2label={"0": "x"}, twist=1, another=None)
    notes = {note.code: note.params for note in Registry(models).entries()[-1].notes}
    assert notes["unknown_config_keys"] == {"keys": ["another", "twist"]}


@pytest.mark.parametrize("text", ["", "[]", "{", "nul", "[" * 100_000])
def test_a_config_that_is_no_object_is_refused(models, text):
    (cf_bert(models / "bert") / "config.json").write_text(text)
    assert refusal(models, "bert").code == "json_unreadable"


def test_a_folder_without_a_config_is_listed_as_unsupported(models):
    (models / "empty").mkdir(parents=True)
    assert [(u.id, u.code) for u in Registry(models).unsupported()] == [("empty", "config_missing")]


def test_a_folder_with_the_name_of_our_own_model_is_refused(models):
    cf_bert(models / "textbook")
    assert [(u.id, u.code) for u in Registry(models).unsupported()] == [("textbook", "name_taken")]
    assert trace(models, "textbook", "A").model.kind == "random"


def test_the_listing_says_what_the_config_says(models):
    folder = cf_bert(models / "bert")
    front = "---\nlanguage:\n- ja\n- en\nlicense: apache-2.0\ntags:\n- x\n---\n# Model\n"
    (folder / "README.md").write_text(front)
    cf_gpt2(models / "gpt2")
    entries = {entry.id: entry for entry in Registry(models).entries()}
    bert, gpt2 = entries["bert"], entries["gpt2"]
    assert (bert.kind, bert.family, bert.wiring) == ("checkpoint", "bert", "sequential")
    assert (bert.norms, bert.default_norm, bert.causal) == (["post"], "post", False)
    assert (bert.n_layers, bert.n_heads, bert.d_model, bert.d_head, bert.d_mlp) == (1, 2, 4, 2, 8)
    assert (bert.d_vocab, bert.n_ctx, bert.activation, bert.eps) == (11, 16, "gelu", 1e-12)
    assert (bert.licence, bert.languages) == ("apache-2.0", ["ja", "en"])
    assert (gpt2.norms, gpt2.causal, gpt2.activation) == (["pre"], True, "gelu_new")
    assert (gpt2.licence, gpt2.languages) == (None, [])


def test_listing_reads_no_weights(models):
    folder = cf_bert(models / "bert")
    (folder / "model.safetensors").write_bytes(b"not weights")
    registry = Registry(models)
    assert registry.entries()[-1].id == "bert"
    assert registry.unsupported() == []


def test_no_folder_at_all_is_fine(tmp_path):
    registry = Registry(tmp_path / "nowhere")
    assert registry.unsupported() == []
    assert "bert" not in [entry.id for entry in registry.entries()]


# -- nothing leads out, nothing runs -----------------------------------------------------------

NAMES = [
    "../secret", "..%2fsecret", "..\\secret", "a/../../secret", "~/x", ".", "..", "", "a" * 5000,
    "CON", "bert/", "bert/.", "./bert", "BERT", "bert\x00", "file:///etc", ".hidden", "\ud800",
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_a_name_is_only_ever_looked_up_in_the_listing(models, tmp_path, name):
    cf_bert(models / "bert")
    cf_bert(models / ".hidden")
    cf_bert(tmp_path / "secret", layer_norm_eps=0.5)
    for tried in (name, name.replace("secret", str(tmp_path / "secret"))):
        error = refusal(models, tried)
        assert (error.code, error.field) == ("unknown_model", "model")
        missing = refusal(models, tried.replace("secret", "nothing"))
        assert (missing.code, missing.field) == (error.code, error.field)


@pytest.mark.parametrize("link", ["folder", "config.json", "model.safetensors", "vocab.txt"])
def test_links_that_lead_out_of_the_folder_are_refused(models, tmp_path, link):
    outside = cf_bert(tmp_path / "outside")
    if link == "folder":
        models.mkdir()
        (models / "bert").symlink_to(outside)
    else:
        inside = cf_bert(models / "bert")
        (inside / link).unlink()
        (inside / link).symlink_to(outside / link)
    assert refusal(models, "bert").code == "leads_outside"


class Bomb:
    """A pickle of this writes a file where it is loaded."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self):
        return (os.mkdir, (str(self.marker),))


@pytest.mark.parametrize(
    "name", ["pytorch_model.bin", "model.pt", "model.ckpt", "model.pkl", "model.safetensors"]
)
def test_pickles_are_neither_opened_nor_loaded(models, tmp_path, name):
    folder = cf_bert(models / "bert")
    (folder / "model.safetensors").unlink()
    marker = tmp_path / "pwned"
    (folder / name).write_bytes(pickle.dumps(Bomb(marker)))
    registry = Registry(models)
    listed = [(u.code, u.params) for u in registry.unsupported()]
    if name == "model.safetensors":
        assert listed == []
        assert refusal(models, "bert").code == "weights_unreadable"
    else:
        assert listed == [("only_safetensors", {"files": [name]})]
        assert refusal(models, "bert").code == "only_safetensors"
    assert not marker.exists()


# -- memory ------------------------------------------------------------------------------------


def test_weights_are_views_of_the_mapped_file(models):
    cf_gpt2(models / "gpt2")
    runnable = Checkpoints(models).load("gpt2", None, None)
    attention = runnable.plain.blocks[0].attn
    stored = attention.W_Q.weight.untyped_storage().data_ptr()
    assert attention.W_K.weight.untyped_storage().data_ptr() == stored
    assert attention.W_V.weight.untyped_storage().data_ptr() == stored
    hooked = dict(runnable.hooked.named_parameters())
    for name, value in runnable.plain.named_parameters():
        assert hooked[name].data_ptr() == value.data_ptr()


def test_deleting_a_folder_that_is_loaded_harms_nothing(models):
    folder = cf_gpt2(models / "gpt2")
    registry = Registry(models)
    request = TraceRequest("A B A", "gpt2", include=[Include("*")])
    before = run_trace(registry, request)
    shutil.rmtree(folder)
    after = run_trace(registry, request)
    for one, other in zip(before.tensors, after.tensors, strict=True):
        assert torch.equal(one.value, other.value)
    assert "folder_gone" in [note.code for note in after.model.notes]
    listed = {entry.id: entry for entry in registry.entries()}
    assert "folder_gone" in [note.code for note in listed["gpt2"].notes]
    assert run_trace(registry, TraceRequest("A", "gpt2", "post")).model.norm == "post"
    assert refusal(models, "gpt2").code == "unknown_model"


def test_a_folder_that_has_changed_is_read_again(models):
    folder = cf_bert(models / "bert")
    registry = Registry(models)
    assert run_trace(registry, TraceRequest("A", "bert")).layer_norms[0].eps == 1e-12
    write_json(folder / "config.json", BERT_CONFIG | {"layer_norm_eps": 0.25})
    assert run_trace(registry, TraceRequest("A", "bert")).layer_norms[0].eps == 0.25


def test_the_least_recently_used_folders_are_dropped_beyond_the_bound(models, monkeypatch):
    for name in ("a", "b", "c"):
        cf_bert(models / name)
    checkpoints = Checkpoints(models)
    one = 4 * checkpoints.entries()[0].parameters
    monkeypatch.setattr(limits, "CHECKPOINTS_BYTES", 2 * one)
    first = {name: checkpoints.load(name, None, None) for name in ("a", "b")}
    assert checkpoints.load("a", None, None) is first["a"]
    checkpoints.load("c", None, None)
    assert checkpoints.load("a", None, None) is first["a"]
    assert checkpoints.load("b", None, None) is not first["b"]
    assert sum(loaded.size for loaded in checkpoints._loaded.values()) <= 2 * one


def test_a_folder_is_loaded_once_for_all_threads_and_wirings(models, monkeypatch):
    cf_bert(models / "bert")
    checkpoints = Checkpoints(models)
    reads = []
    read = collection.read
    monkeypatch.setattr(
        collection, "read", lambda found, source: (reads.append(found), read(found, source))[1]
    )
    got = []
    threads = [
        threading.Thread(target=lambda n=n: got.append(checkpoints.load("bert", n, None)))
        for n in ("pre", "post", None, "pre")
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(reads) == 1
    assert len({id(runnable) for runnable in got}) == 2


def test_runs_of_different_folders_and_wirings_in_threads_keep_their_own(models):
    cf_bert(models / "bert")
    cf_gpt2(models / "gpt2")
    registry = Registry(models)
    tiny = {"d_model": 64, "n_layers": 2, "n_heads": 4, "d_mlp": 128}
    requests = [
        TraceRequest("A B A", "bert", include=[Include("*")]),
        TraceRequest("A B A", "gpt2", include=[Include("*")]),
        TraceRequest("A B A", "textbook", "pre", config=tiny, include=[Include("*")]),
        TraceRequest("A B A", "textbook", "post", config=tiny, include=[Include("*")]),
    ] * 3
    expected = [run_trace(registry, request) for request in requests]
    got: list[Trace | None] = [None] * len(requests)

    def work(place: int) -> None:
        got[place] = run_trace(registry, requests[place])

    threads = [threading.Thread(target=work, args=(place,)) for place in range(len(requests))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for one, other in zip(expected, got, strict=True):
        assert other is not None
        assert (one.model.id, one.model.norm) == (other.model.id, other.model.norm)
        assert [t.key for t in one.tensors] == [t.key for t in other.tensors]
        for a, b in zip(one.tensors, other.tensors, strict=True):
            assert torch.equal(a.value, b.value)


def test_loading_tells_how_many_parameters_are_in_memory(models, monkeypatch):
    cf_bert(models / "bert")
    registry = Registry(models)
    total = next(one.parameters for one in registry.entries() if one.id == "bert")
    assert registry.loading("bert") == Loading("waiting", 0, total)
    seen = []
    take = FolderTensors.take

    def watched(self, name, shape):
        value = take(self, name, shape)
        seen.append(registry.loading("bert"))
        return value

    monkeypatch.setattr(FolderTensors, "take", watched)
    registry.load("bert", None, None, None)
    assert {one.state for one in seen} == {"loading"}
    counts = [one.done for one in seen]
    assert counts == sorted(counts) and 0 < counts[0] < counts[-1] == total
    assert registry.loading("bert") == Loading("loaded", total, total)


def test_a_load_that_fails_leaves_the_model_waiting(models):
    cf_bert(models / "bert", without("encoder.layer.0.output.LayerNorm.weight"))
    registry = Registry(models)
    with pytest.raises(ModelError):
        registry.load("bert", None, None, None)
    assert registry.loading("bert").state == "waiting"
    with pytest.raises(ModelError, match="unknown_model"):
        registry.loading("../bert")
    assert registry.loading("twin").state == "loaded"
