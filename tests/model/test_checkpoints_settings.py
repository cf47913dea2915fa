"""Settings that are read or refused by name; nothing leads out of a folder, nothing runs."""

import os
import pickle
from pathlib import Path

import pytest

from model.registry import Registry
from tests.checkpoint_folders import (
    cf_bert,
    cf_gpt2,
    neox,
)
from tests.checkpoint_runs import refusal, trace, values

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
