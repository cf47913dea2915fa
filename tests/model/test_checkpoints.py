"""Folders with closed-form numbers; what every run of a folder has, in either wiring."""

import math

import pytest
import torch

from model.registry import Registry
from tests.checkpoint_folders import (
    FFN_BIAS,
    bert_tensors,
    cf_bert,
    cf_gpt2,
    gpt2_tensors,
    neox,
)
from tests.checkpoint_runs import A5, A12, approx, refusal, trace, values

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
