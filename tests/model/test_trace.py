"""A whole run: its points, its statistics, its checks, and what it refuses."""

import math
import threading

import pytest
import torch

from model import checks as checks_module
from model import limits
from model.errors import ModelError
from model.hooks import recording
from model.points import catalogue
from model.registry import Registry
from model.trace import Include, TraceRequest, run_trace

TINY = {"d_model": 64, "n_layers": 2, "n_heads": 4, "d_mlp": 128}
MIXED = "猫が😀好き。The cat sat."


@pytest.fixture(scope="module")
def registry():
    return Registry()


def trace(registry, text=MIXED, norm="post", include=(), config=None, verify=False):
    config = TINY if config is None else config
    entries = [Include(entry) for entry in include]
    return run_trace(registry, TraceRequest(text, "textbook", norm, None, config, entries, verify))


def checks_of(runnable, recorder):
    spoilt = checks_module.non_finite(recorder.values)
    return checks_module.cheap_checks(runnable, recorder, recorder.keep, spoilt)


def refusal(registry, **request):
    with pytest.raises(ModelError) as caught:
        trace(registry, **request)
    return caught.value


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_every_point_is_includable_in_its_stated_shape(registry, norm):
    t = trace(registry, norm=norm, include=["*"])
    assert [s.point for s in t.tensors] == [p.name for p in t.points]
    for point, selected in zip(t.points, t.tensors, strict=True):
        assert list(selected.value.shape) == point.shape == selected.shape
        assert selected.axes == point.axes
        assert selected.value.dtype == torch.float32


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_points_are_those_of_the_contract(registry, norm):
    names = [p.name for p in trace(registry, norm=norm).points]
    block = [
        "resid_pre",
        "ln1.mean",
        "ln1.var",
        "ln1.scale",
        "ln1.normalized",
        "ln1.out",
        "attn.q",
        "attn.k",
        "attn.v",
        "attn.dot",
        "attn.attn_scores",
        "attn.pattern",
        "attn.z",
        "attn.result",
        "attn_out",
        "resid_mid",
        "ln2.mean",
        "ln2.var",
        "ln2.scale",
        "ln2.normalized",
        "ln2.out",
        "mlp.pre",
        "mlp.post",
        "mlp_out",
        "resid_post",
        "out",
    ]
    final = [f"ln_final.{s}" for s in ["mean", "var", "scale", "normalized", "out"]] * (
        norm == "pre"
    )
    expected = ["embed", "pos_embed", "embed_sum"]
    expected += [f"blocks.{layer}.{name}" for layer in range(2) for name in block] + final
    assert sorted(names) == sorted(expected)
    # In the order of the run: what is read stands before what reads it.
    assert (names.index("blocks.0.ln1.out") < names.index("blocks.0.attn.q")) == (norm == "pre")


@pytest.mark.parametrize(
    ("alias", "point"),
    [
        ("hook_embed", "embed"),
        ("hook_pos_embed", "pos_embed"),
        ("blocks.0.hook_resid_pre", "blocks.0.resid_pre"),
        ("blocks.1.attn.hook_pattern", "blocks.1.attn.pattern"),
        ("blocks.1.attn.hook_attn_scores", "blocks.1.attn.attn_scores"),
        ("blocks.1.attn.hook_result", "blocks.1.attn.result"),
        ("blocks.0.ln1.hook_scale", "blocks.0.ln1.scale"),
        ("blocks.0.ln1.hook_normalized", "blocks.0.ln1.normalized"),
        ("blocks.0.hook_mlp_out", "blocks.0.mlp_out"),
        ("blocks.0.hook_normalized_resid_post", "blocks.0.out"),
    ],
)
def test_transformer_lens_names_are_accepted(registry, alias, point):
    selected = trace(registry, include=[alias]).tensors
    assert [(s.key, s.point) for s in selected] == [(point, point)]


@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("text", ["猫", MIXED, "the cat " * 30])
@pytest.mark.parametrize("causal", [False, True])
def test_every_check_passes(registry, norm, text, causal):
    t = trace(registry, text=text, norm=norm, config={**TINY, "causal": causal}, verify=True)
    assert [c for c in t.checks if not c.ok] == []
    assert {c.name for c in t.checks} == {
        "captured",
        "add",
        "layer_norm",
        "softmax_rows",
        "finite",
        "plain_run",
        "torch_block",
        "layer_norm_position_wise",
        "mlp_position_wise",
    }
    assert sum(c.name == "add" for c in t.checks) == 5
    assert t.not_checked == []


def test_costly_checks_leave_the_shared_weights_read_only(registry):
    trace(registry, verify=True)
    runnable = registry.load("textbook", "post", None, TINY)
    for model in (runnable.plain, runnable.hooked):
        assert not any(parameter.requires_grad for parameter in model.parameters())


def test_costly_checks_are_listed_when_they_were_not_asked_for(registry):
    t = trace(registry)
    assert [(n.name, n.reason) for n in t.not_checked] == [
        (name, "not_asked")
        for name in ("plain_run", "torch_block", "layer_norm_position_wise", "mlp_position_wise")
    ]


def test_a_wrong_sum_and_a_wrong_norm_fail_their_checks(registry):
    runnable = registry.load("textbook", "post", None, TINY)
    recorder = checks_module.Recorder(
        frozenset(p for p in catalogue(runnable.config, 4) if not p.endswith("result"))
    )
    with torch.no_grad(), recording(recorder):
        runnable.hooked(torch.arange(4))
    for point, name in (("blocks.0.resid_mid", "add"), ("blocks.1.ln2.out", "layer_norm")):
        values = dict(recorder.values)
        wrong = values[point].clone()
        wrong[2, 3] += 0.01
        recorder_with_fault = checks_module.Recorder(recorder.keep, {**values, point: wrong})
        recorder_with_fault.ran = recorder.ran
        found = checks_of(runnable, recorder_with_fault)
        assert (name, point) in {(c.name, c.point) for c in found if not c.ok}
    short = checks_module.Recorder(recorder.keep, {})
    found = checks_of(runnable, short)
    assert [(c.name, c.ok) for c in found] == [("captured", False)]


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_statistics_follow_from_the_recorded_vectors(registry, norm):
    t = trace(registry, norm=norm, include=["*"])
    values = {s.point: s.value for s in t.tensors}
    assert [ln.name for ln in t.layer_norms] == [s.name for s in t.steps if s.kind == "layer_norm"]
    for ln in t.layer_norms:
        x, out = values[ln.input].double(), values[f"{ln.name}.out"].double()
        assert ln.eps == 1e-5
        for ours, theirs in (
            (ln.mean, x.mean(-1)),
            (ln.var, x.var(-1, correction=0)),
            (ln.out_mean, out.mean(-1)),
            (ln.out_var, out.var(-1, correction=0)),
        ):
            assert ours.tolist() == pytest.approx(theirs.tolist(), abs=2e-6, rel=2e-6)


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_stream_lengths_and_cosines(registry, norm):
    t = trace(registry, norm=norm, include=["*"])
    values = {s.point: s.value.double() for s in t.tensors}
    on_stream = ["resid_pre", "resid_mid", "resid_post"]
    if norm == "post":
        on_stream = ["resid_pre", "resid_mid", "ln1.out", "resid_post", "ln2.out"]
    expected = [f"blocks.{layer}.{name}" for layer in range(2) for name in on_stream]
    assert [s.point for s in t.stream.states] == expected + ["ln_final.out"] * (norm == "pre")
    for state in t.stream.states:
        length = values[state.point].square().sum(-1).sqrt()
        assert state.length.tolist() == pytest.approx(length.tolist(), rel=1e-5)
    assert [w.sum for w in t.stream.writes] == [s.output for s in t.steps if s.kind == "add"]
    for write in t.stream.writes:
        w, skip = values[write.point], values[write.skip]
        cosine = (w * skip).sum(-1) / (w.norm(dim=-1) * skip.norm(dim=-1))
        assert write.cosine.tolist() == pytest.approx(cosine.tolist(), abs=1e-5)


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_heads_writes_and_bias_make_attn_out(registry, norm):
    t = trace(registry, norm=norm, include=["blocks.1.attn.result", "blocks.1.attn_out"])
    result, attn_out = (s.value for s in t.tensors)
    # b_O is zero in untrained weights.
    assert (result.sum(1) - attn_out).abs().max() < 1e-5


def test_result_of_a_slice_is_the_slice_of_the_result(registry):
    entries = [f"blocks.0.attn.result{s}" for s in ("", "[3]", "[2:5,1]", "[:,:,7]", "[4,2,0:9]")]
    whole, *slices = (s.value for s in trace(registry, include=entries).tensors)
    expected = (whole[3], whole[2:5, 1], whole[:, :, 7], whole[4, 2, 0:9])
    for ours, theirs in zip(slices, expected, strict=True):
        assert ours.shape == theirs.shape
        assert torch.allclose(ours, theirs, atol=1e-6)


def test_the_embedding_is_the_same_in_both_placements(registry):
    one_block = {**TINY, "n_layers": 1}
    pre, post = (
        trace(registry, norm=norm, config=one_block, include=["embed_sum", "blocks.0.resid_pre"])
        for norm in ("pre", "post")
    )
    for a, b in zip(pre.tensors, post.tensors, strict=True):
        assert torch.equal(a.value, b.value)


def test_random_weights_depend_on_the_seed_alone(registry):
    first = trace(registry, include=["blocks.1.out"]).tensors[0].value
    again = trace(Registry(), include=["blocks.1.out"]).tensors[0].value
    other = trace(registry, config={**TINY, "seed": 1}, include=["blocks.1.out"]).tensors[0].value
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


def test_changing_another_token_leaves_the_first_pre_ln_statistics_untouched(registry):
    a = trace(registry, text="the cat sat", norm="pre").layer_norms[0]
    b = trace(registry, text="the dog sat", norm="pre").layer_norms[0]
    assert a.mean[0] == b.mean[0] and a.var[0] == b.var[0]
    assert a.mean[2] == b.mean[2] and a.var[2] == b.var[2]
    assert a.mean[1] != b.mean[1]


def test_a_model_without_unembedding_predicts_nothing(registry):
    assert trace(registry).predictions is None


@pytest.mark.parametrize("text", ["", "   ", "\n\t", "\u3000", "\u2003\r\n"])
def test_a_text_without_tokens_is_refused(registry, text):
    assert refusal(registry, text=text).code == "empty_text"


def test_one_token_too_many_is_refused_with_both_numbers(registry):
    config = {**TINY, "n_ctx": 8}
    assert len(trace(registry, text="1" * 8, config=config).tokens) == 8
    error = refusal(registry, text="1" * 9, config=config)
    assert (error.code, error.params) == ("text_too_long", {"limit": 8, "length": 9})


@pytest.mark.parametrize(
    ("include", "code"),
    [
        ("blocks.9.out", "unknown_point"),
        ("blocks.0.atn_out", "unknown_point"),
        ("nothing.*.here", "unknown_point"),
        ("blocks.0.attn.pattern[4]", "index_out_of_range"),
        ("blocks.0.out[999]", "index_out_of_range"),
        ("blocks.0.out[-1]", "bad_selector"),
        ("blocks.0.out[1][2]", "bad_selector"),
        ("blocks.0.out[]", "bad_selector"),
        ("[0]", "bad_selector"),
        ("", "bad_selector"),
        ("blocks.0.out[0,0,0]", "too_many_axes"),
        ("blocks.0.out[1e3]", "bad_selector"),
        ("blocks.0.out[0:999]", "index_out_of_range"),
    ],
)
def test_a_bad_entry_is_refused_by_name(registry, include, code):
    assert refusal(registry, include=[include]).code == code


def test_an_unknown_point_comes_with_the_nearest_names(registry):
    assert "blocks.0.attn_out" in refusal(registry, include=["blocks.0.atn_out"]).params["nearest"]


def test_selectors_pick_along_the_first_axes(registry):
    t = trace(
        registry,
        include=["blocks.1.attn.pattern", "blocks.*.attn.pattern[3]", "blocks.0.attn.q[:,3]"],
    )
    keys = [(s.key, s.axes, s.shape) for s in t.tensors]
    n = len(t.tokens)
    assert keys == [
        ("blocks.1.attn.pattern", ["head", "query", "key"], [4, n, n]),
        ("blocks.0.attn.pattern[3]", ["query", "key"], [n, n]),
        ("blocks.1.attn.pattern[3]", ["query", "key"], [n, n]),
        ("blocks.0.attn.q[:,3]", ["pos", "d_head"], [n, 16]),
    ]
    assert torch.equal(t.tensors[2].value, t.tensors[0].value[3])


def test_too_much_is_refused_before_the_run_with_count_and_limit(registry):
    config = {**TINY, "n_ctx": 512, "n_heads": 8}
    text = "1" * 512
    error = refusal(registry, text=text, config=config, include=["blocks.0.attn.dot"])
    assert (error.code, error.params["limit"]) == ("too_much_asked", limits.MAX_NUMBERS_AS_TEXT)
    assert error.params["count"] == 8 * 512 * 512
    request = TraceRequest(
        text, "textbook", config=config, include=[Include("blocks.0.attn.dot", as_text=False)]
    )
    assert run_trace(registry, request).tensors[0].shape == [8, 512, 512]


@pytest.mark.parametrize(
    ("change", "code", "params"),
    [
        ({"n_heads": 7}, "heads_do_not_divide", {"d_model": 64, "n_heads": 7}),
        ({"d_model": 63, "n_heads": 9}, "d_model_is_odd", {"d_model": 63}),
        ({"d_model": 2048}, "setting_out_of_range", {"value": 2048, "largest": 1024}),
        ({"n_layers": 25}, "setting_out_of_range", {"value": 25, "largest": 24}),
        ({"n_layers": 0}, "setting_out_of_range", {"value": 0, "smallest": 1}),
        ({"n_ctx": 513}, "setting_out_of_range", {"value": 513, "largest": 512}),
        ({"activation": "swish"}, "unknown_choice", {"value": "swish"}),
        ({"width": 3}, "unknown_setting", {"name": "width"}),
        (
            {"d_model": 1024, "d_mlp": 4096, "n_layers": 4, "n_heads": 8},
            "too_many_parameters",
            {"limit": 40_000_000},
        ),
    ],
)
def test_sizes_that_do_not_fit_are_refused_with_their_numbers(registry, change, code, params):
    error = refusal(registry, config={**TINY, **change})
    assert error.code == code
    assert params.items() <= error.params.items()


def test_unknown_models_and_weights_are_refused(registry):
    for request, code in (
        (TraceRequest("a", "../secret"), "unknown_model"),
        (TraceRequest("a", "textbook", weights="pre"), "weights_not_offered"),
    ):
        with pytest.raises(ModelError) as caught:
            run_trace(registry, request)
        assert caught.value.code == code


def test_what_is_not_finite_is_counted_by_point_and_hidden_scores_are_not():
    values = {
        "blocks.0.out": torch.tensor([1.0, math.nan, math.inf]),
        "blocks.1.out": torch.tensor([3e38, 3e38]),
        "blocks.0.attn.attn_scores": torch.tensor([0.0, -math.inf]),
    }
    assert checks_module.non_finite(values) == {"blocks.0.out": 2}


def test_built_models_are_dropped_beyond_the_bound_and_come_back_the_same(monkeypatch):
    monkeypatch.setattr(limits, "RANDOM_MODELS_BYTES", 4_000_000)
    registry = Registry()
    first = trace(registry, include=["blocks.1.out"]).tensors[0].value
    for seed in range(1, 6):
        trace(registry, config={**TINY, "seed": seed})
    held = sum(4 * r.config.n_parameters for r in registry._random.values())
    assert held <= 4_000_000
    assert torch.equal(first, trace(registry, include=["blocks.1.out"]).tensors[0].value)


def test_threads_with_mixed_requests_equal_the_serial_runs(registry):
    requests = [
        (text, norm, {**TINY, "d_model": d_model})
        for text in ("猫がいた。", "the cat sat on the mat", "a" * 40)
        for norm in ("pre", "post")
        for d_model in (32, 64)
    ]

    def outs(request):
        text, norm, config = request
        t = trace(registry, text=text, norm=norm, config=config, include=["blocks.*.out"])
        return [s.value for s in t.tensors]

    serial = [outs(request) for request in requests]
    wrong = []

    def work(offset):
        for i in range(50):
            k = (i * 5 + offset) % len(requests)
            found = outs(requests[k])
            if not all(map(torch.equal, found, serial[k])):
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(offset,)) for offset in range(4)]
    before = torch.get_num_threads()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert torch.get_num_threads() == before
    assert wrong == []


def test_masked_scores_say_what_hid_them(registry):
    config = {**TINY, "causal": True}
    t = trace(registry, config=config, include=["blocks.0.attn.attn_scores", "blocks.0.attn.dot"])
    assert [s.masked_by for s in t.tensors] == ["causal", None]
    assert t.tensors[0].value[0, 0, 1] == -math.inf
    assert t.flags == []
