"""Random folders saved by `transformers` itself, run by us and by it: eager, float32.

Sizes are unusual and norms are far from 1 and 0, so that nothing cancels or is left out.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from model.checkpoints.collection import Checkpoints
from model.hooks import Recorder, recording
from model.points import catalogue
from model.runnable import Runnable
from tests.checkpoint_folders import GPT2_VOCABULARY, byte_level_tokenizer

transformers = pytest.importorskip("transformers")

CTX = 19
VOCAB = 71
BERT = {
    "vocab_size": VOCAB,
    "hidden_size": 24,
    "num_hidden_layers": 3,
    "num_attention_heads": 3,
    "intermediate_size": 37,
    "max_position_embeddings": CTX,
}
DISTILBERT = {
    "vocab_size": VOCAB,
    "dim": 24,
    "n_layers": 3,
    "n_heads": 3,
    "hidden_dim": 37,
    "max_position_embeddings": CTX,
}
GPT2 = {
    "vocab_size": VOCAB,
    "n_embd": 24,
    "n_layer": 3,
    "n_head": 3,
    "n_inner": 37,
    "n_positions": CTX,
    "bos_token_id": 0,
    "eos_token_id": 0,
}
NEOX = {**BERT, "bos_token_id": 0, "eos_token_id": 0}


def rope(share: float, base: float = 10000.0) -> dict[str, Any]:
    group = {"rope_type": "default", "rope_theta": base, "partial_rotary_factor": share}
    return {"rope_parameters": group}


# Class of the model, its sizes, and what each case changes.
CASES: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "bert": ("BertModel", BERT, {}),
    "bert eps": ("BertModel", BERT, {"layer_norm_eps": 0.1}),
    "bert one head": ("BertModel", BERT, {"num_attention_heads": 1}),
    "bert one type": ("BertModel", BERT, {"type_vocab_size": 1}),
    "bert relu": ("BertModel", BERT, {"hidden_act": "relu"}),
    "bert gelu_new": ("BertModel", BERT, {"hidden_act": "gelu_new"}),
    "bert gelu_python": ("BertModel", BERT, {"hidden_act": "gelu_python"}),
    "bert gelu_fast": ("BertModel", BERT, {"hidden_act": "gelu_fast"}),
    "bert gelu_pytorch_tanh": ("BertModel", BERT, {"hidden_act": "gelu_pytorch_tanh"}),
    "bert with a masked-language head": ("BertForMaskedLM", BERT, {}),
    "roberta": ("RobertaModel", BERT, {"max_position_embeddings": CTX + 2}),
    "roberta padding 4": (
        "RobertaModel",
        BERT,
        {"max_position_embeddings": CTX + 5, "pad_token_id": 4, "type_vocab_size": 1},
    ),
    "xlm-roberta": ("XLMRobertaModel", BERT, {"max_position_embeddings": CTX + 2}),
    "camembert": ("CamembertModel", BERT, {"max_position_embeddings": CTX + 2}),
    "distilbert": ("DistilBertModel", DISTILBERT, {}),
    "distilbert relu": ("DistilBertModel", DISTILBERT, {"activation": "relu"}),
    "distilbert sines": ("DistilBertModel", DISTILBERT, {"sinusoidal_pos_embds": True}),
    "gpt2": ("GPT2LMHeadModel", GPT2, {}),
    "gpt2 without head": ("GPT2Model", GPT2, {}),
    "gpt2 eps": ("GPT2LMHeadModel", GPT2, {"layer_norm_epsilon": 0.1}),
    "gpt2 wide ffn": ("GPT2LMHeadModel", GPT2, {"n_inner": None}),
    "gpt2 gelu": ("GPT2LMHeadModel", GPT2, {"activation_function": "gelu"}),
    "gpt2 relu": ("GPT2LMHeadModel", GPT2, {"activation_function": "relu"}),
    "gpt2 untied": ("GPT2LMHeadModel", GPT2, {"tie_word_embeddings": False}),
    "gpt2 unscaled": ("GPT2LMHeadModel", GPT2, {"scale_attn_weights": False}),
    "gpt2 by layer": ("GPT2LMHeadModel", GPT2, {"scale_attn_by_inverse_layer_idx": True}),
    "gpt2 by layer alone": (
        "GPT2LMHeadModel",
        GPT2,
        {"scale_attn_by_inverse_layer_idx": True, "scale_attn_weights": False},
    ),
    "gpt2 reordered": (
        "GPT2LMHeadModel",
        GPT2,
        {"scale_attn_by_inverse_layer_idx": True, "reorder_and_upcast_attn": True},
    ),
    "neox": ("GPTNeoXForCausalLM", NEOX, {}),
    "neox sequential": ("GPTNeoXForCausalLM", NEOX, {"use_parallel_residual": False}),
    "neox without biases": ("GPTNeoXForCausalLM", NEOX, {"attention_bias": False}),
    "neox sequential without biases": (
        "GPTNeoXForCausalLM",
        NEOX,
        {"attention_bias": False, "use_parallel_residual": False},
    ),
    "neox half rotary": ("GPTNeoXForCausalLM", NEOX, rope(0.5)),
    "neox full rotary": ("GPTNeoXForCausalLM", NEOX, rope(1.0)),
    "neox base": ("GPTNeoXForCausalLM", NEOX, rope(0.5, 100.0)),
    "neox eps": ("GPTNeoXForCausalLM", NEOX, {"layer_norm_eps": 0.1}),
    "neox gelu_new": ("GPTNeoXForCausalLM", NEOX, {"hidden_act": "gelu_new"}),
    "neox tied": ("GPTNeoXForCausalLM", NEOX, {"tie_word_embeddings": True}),
    "neox without head": ("GPTNeoXModel", NEOX, {}),
}


def uneven(model: nn.Module) -> None:
    """Every parameter random: norms about 1, biases about 0, matrices that keep sizes."""
    draw = torch.Generator().manual_seed(11)
    for name, parameter in model.named_parameters():
        noise = torch.randn(parameter.shape, generator=draw)
        is_gamma = parameter.ndim == 1 and name.endswith("weight")
        scale = 0.3 if parameter.ndim == 1 else 1.5 * parameter.shape[-1] ** -0.5
        parameter.data = noise * scale + is_gamma


def saved(parent: Path, name: str, case: tuple[str, dict[str, Any], dict[str, Any]]) -> nn.Module:
    """Make the model of a case and save it, as its authors do."""
    kind, sizes, changes = case
    model_class = getattr(transformers, kind)
    config = model_class.config_class(**{**sizes, **changes})
    config._attn_implementation = "eager"
    model: nn.Module = model_class(config).eval()
    uneven(model)
    if hasattr(model, "tie_weights"):
        model.tie_weights()
    model.save_pretrained(parent / name)
    byte_level_tokenizer(GPT2_VOCABULARY).save(str(parent / name / "tokenizer.json"))
    return model


def ours(runnable: Runnable, *inputs: Tensor) -> dict[str, Tensor]:
    """Every point of a run on these ids."""
    keep = frozenset(
        name
        for name in catalogue(runnable.config, len(inputs[0]))
        if not name.endswith("attn.result")
    )
    with torch.no_grad(), recording(Recorder(keep)) as recorder:
        state = runnable.hooked(*inputs)
        if runnable.hooked.unembed is not None:
            runnable.hooked.unembed(state)
    assert recorder.values.keys() == keep
    return recorder.values


def assert_close(a: Tensor, b: Tensor) -> None:
    assert a.shape == b.shape
    difference = (a - b).abs().max().item()
    assert difference <= 1e-5 * max(1.0, b.abs().max().item())


def assert_equal_runs(runnable: Runnable, model: nn.Module, **inputs: Tensor) -> None:
    values = ours(runnable, *inputs.values())
    with torch.no_grad():
        theirs = model(
            **{name: value[None] for name, value in inputs.items()},
            output_hidden_states=True,
            output_attentions=True,
        )
    layers = range(runnable.config.n_layers)
    states = [values[f"blocks.{layer}.resid_pre"] for layer in layers]
    last = "ln_final.out" if runnable.config.has_final_norm else f"blocks.{layers[-1]}.out"
    states.append(values[last])
    assert len(theirs.hidden_states) == len(states)
    for our_state, their_state in zip(states, theirs.hidden_states, strict=True):
        assert_close(our_state, their_state[0])
    assert len(theirs.attentions) == len(layers)
    for layer, pattern in zip(layers, theirs.attentions, strict=True):
        assert_close(values[f"blocks.{layer}.attn.pattern"], pattern[0])
    if runnable.config.unembed and "logits" in theirs:
        assert_close(values["logits"], theirs.logits[0])
    assert ("logits" in values) == (runnable.config.causal and runnable.config.unembed)


@pytest.fixture(scope="module")
def case(tmp_path_factory) -> Callable[[str], tuple[Runnable, nn.Module]]:
    parent = tmp_path_factory.mktemp("oracle")
    checkpoints = Checkpoints(parent)
    made: dict[str, tuple[Runnable, nn.Module]] = {}

    def get(name: str) -> tuple[Runnable, nn.Module]:
        if name not in made:
            model = saved(parent, name, CASES[name])
            runnable = checkpoints.load(name, None, None)
            assert runnable is not None
            made[name] = runnable, model
        return made[name]

    return get


def some_ids(n: int, lowest: int = 5) -> Tensor:
    return torch.randint(lowest, VOCAB, (n,), generator=torch.Generator().manual_seed(n))


@pytest.mark.parametrize("n", [1, 7, CTX])
@pytest.mark.parametrize("name", CASES)
def test_every_state_pattern_and_logit_equals_transformers(case, name, n):
    runnable, model = case(name)
    assert runnable.config.n_ctx == CTX
    assert_equal_runs(runnable, model, input_ids=some_ids(n))


@pytest.mark.parametrize("name", CASES)
def test_no_config_key_is_unknown_and_no_weight_of_the_body_is_unused(case, name):
    notes = {note.code: note.params for note in case(name)[0].notes}
    assert "unknown_config_keys" not in notes
    unused = notes.get("unused_tensors", {"tensors": []})["tensors"]
    assert all(tensor.startswith(("pooler.", "cls.")) for tensor in unused)


@pytest.mark.parametrize("name", CASES)
def test_parameters_are_counted_from_the_config(case, name):
    runnable, model = case(name)
    assert runnable.entry.parameters == sum(p.numel() for p in runnable.plain.parameters())
    heads = ("pooler.", "cls.")
    theirs = sum(p.numel() for key, p in model.named_parameters() if not key.startswith(heads))
    assert runnable.entry.parameters == theirs


@pytest.mark.parametrize("name", ["bert", "roberta", "bert with a masked-language head"])
def test_types_of_a_pair_reach_the_model(case, name):
    types = torch.tensor([0, 0, 0, 1, 1, 1, 1])
    runnable, model = case(name)
    assert_equal_runs(runnable, model, input_ids=some_ids(7), token_type_ids=types)


@pytest.mark.parametrize(("name", "padding"), [("roberta", 1), ("roberta padding 4", 4)])
def test_roberta_counts_positions_without_padding(case, name, padding):
    ids = some_ids(9)
    ids[[2, 3, 8]] = padding
    assert_equal_runs(*case(name), input_ids=ids)


def test_untied_and_tied_outputs_are_told_apart(case):
    assert case("gpt2")[0].config.tied
    assert not case("gpt2 untied")[0].config.tied
    assert not case("neox")[0].config.tied
    assert case("neox tied")[0].config.tied
    assert case("neox without head")[0].hooked.unembed is None


@pytest.mark.parametrize("name", ["bert", "roberta", "distilbert", "gpt2", "gpt2 unscaled", "neox"])
def test_points_are_those_of_the_family(case, name):
    runnable, _ = case(name)
    names = set(catalogue(runnable.config, 3))
    is_encoder = not runnable.config.causal
    assert ("type_embed" in names) == (name in ("bert", "roberta"))
    assert ("embed_ln.out" in names) == is_encoder
    assert ("pos_embed" in names) == ("embed_sum" in names) == (name != "neox")
    assert ("blocks.0.attn.rot_q" in names) == (name == "neox")
    assert ("blocks.0.resid_mid" in names) == (name != "neox")
    assert ("ln_final.out" in names) == ("logits" in names) == (not is_encoder)


def test_rotated_queries_and_keys_are_what_the_dot_product_reads(case):
    runnable, _ = case("neox half rotary")
    values = ours(runnable, some_ids(7))
    q, k = (values[f"blocks.1.attn.rot_{letter}"].transpose(0, 1) for letter in "qk")
    assert_close(values["blocks.1.attn.dot"], q @ k.mT)
    plain = values["blocks.1.attn.q"]
    turned = values["blocks.1.attn.rot_q"]
    # Position 0 turns by nothing; a turn keeps lengths; half of the components stay.
    assert torch.equal(plain[0], turned[0])
    assert_close(turned.norm(dim=-1), plain.norm(dim=-1))
    assert torch.equal(plain[..., 4:], turned[..., 4:])


def test_parallel_blocks_have_one_add_with_three_inputs(case):
    runnable, _ = case("neox")
    with torch.no_grad(), recording(Recorder(frozenset())) as recorder:
        runnable.hooked(some_ids(5))
    adds = [step for step in recorder.steps if step.kind == "add"]
    assert [(step.inputs, step.output) for step in adds] == [
        ([f"{at}.resid_pre", f"{at}.attn_out", f"{at}.mlp_out"], f"{at}.resid_post")
        for at in ("blocks.0", "blocks.1", "blocks.2")
    ]
