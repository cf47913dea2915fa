"""What a recorder keeps, how steps are wired, and that recording changes nothing."""

import gc
import weakref
from pathlib import Path

import pytest
import torch

from model import hooks
from model.hooks import Recorder, recording
from model.registry import Registry
from model.trace import Include, TraceRequest, run_trace

TINY = {"d_model": 64, "n_layers": 2, "n_heads": 4, "d_mlp": 128}


@pytest.fixture(scope="module")
def registry():
    return Registry()


def trace(registry, text="the cat sat on the mat", norm="post", include=("*",), **more):
    request = TraceRequest(
        text,
        model="textbook",
        norm=norm,
        config=TINY,
        include=[Include(i) for i in include],
        **more,
    )
    return run_trace(registry, request)


def wiring(t):
    return [(step.name, step.inputs, step.output) for step in t.steps]


EMBEDDING = [
    ("embed", [], "embed"),
    ("pos_embed", [], "pos_embed"),
    ("embed_sum", ["embed", "pos_embed"], "embed_sum"),
]


def test_post_ln_norms_stand_on_the_stream(registry):
    def block(b):
        return [
            (f"{b}.attn", [f"{b}.resid_pre"], f"{b}.attn_out"),
            (f"{b}.resid_mid", [f"{b}.resid_pre", f"{b}.attn_out"], f"{b}.resid_mid"),
            (f"{b}.ln1", [f"{b}.resid_mid"], f"{b}.ln1.out"),
            (f"{b}.mlp", [f"{b}.ln1.out"], f"{b}.mlp_out"),
            (f"{b}.resid_post", [f"{b}.ln1.out", f"{b}.mlp_out"], f"{b}.resid_post"),
            (f"{b}.ln2", [f"{b}.resid_post"], f"{b}.ln2.out"),
        ]

    assert wiring(trace(registry)) == EMBEDDING + block("blocks.0") + block("blocks.1")


def test_pre_ln_norms_stand_at_the_mouths_and_one_at_the_end(registry):
    def block(b):
        return [
            (f"{b}.ln1", [f"{b}.resid_pre"], f"{b}.ln1.out"),
            (f"{b}.attn", [f"{b}.ln1.out"], f"{b}.attn_out"),
            (f"{b}.resid_mid", [f"{b}.resid_pre", f"{b}.attn_out"], f"{b}.resid_mid"),
            (f"{b}.ln2", [f"{b}.resid_mid"], f"{b}.ln2.out"),
            (f"{b}.mlp", [f"{b}.ln2.out"], f"{b}.mlp_out"),
            (f"{b}.resid_post", [f"{b}.resid_mid", f"{b}.mlp_out"], f"{b}.resid_post"),
        ]

    final = [("ln_final", ["blocks.1.out"], "ln_final.out")]
    assert (
        wiring(trace(registry, norm="pre"))
        == EMBEDDING + block("blocks.0") + block("blocks.1") + final
    )


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_steps_are_one_connected_graph(registry, norm):
    t = trace(registry, norm=norm)
    first = {p.name: p.same_as for p in t.points}

    def earliest(point):
        while first[point] is not None:
            point = first[point]
        return point

    made = {earliest(step.output) for step in t.steps}
    assert len(made) == len(t.steps)
    reached, waiting = set(), [t.steps[-1]]
    by_output = {earliest(step.output): step for step in t.steps}
    while waiting:
        step = waiting.pop()
        reached.add(step.name)
        waiting += [by_output[earliest(point)] for point in step.inputs]
    assert reached == {step.name for step in t.steps}


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_same_as_names_are_the_same_tensor(registry, norm):
    t = trace(registry, norm=norm)
    values = {s.point: s.value for s in t.tensors}
    shared = [(p.name, p.same_as) for p in t.points if p.same_as]
    assert ("blocks.1.resid_pre", "blocks.0.out") in shared
    for name, other in shared:
        assert values[name].data_ptr() == values[other].data_ptr()
    pointers = [
        (value.data_ptr(), value.shape, value.stride())
        for name, value in values.items()
        if name not in dict(shared)
    ]
    assert len(set(pointers)) == len(pointers)


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_nothing_recorded_was_changed_in_place(registry, norm):
    for selected in trace(registry, norm=norm, verify=True).tensors:
        assert selected.value._version == 0, selected.point
        assert not selected.value.requires_grad


def test_only_what_is_asked_for_is_kept(registry):
    runnable = registry.load("textbook", "post", None, TINY)
    ids = torch.arange(5)
    with torch.no_grad(), recording(Recorder(frozenset({"blocks.1.attn.q"}))) as recorder:
        runnable.hooked(ids)
    assert list(recorder.values) == ["blocks.1.attn.q"]


def test_a_run_without_recorder_keeps_nothing_alive(registry):
    runnable = registry.load("textbook", "post", None, TINY)
    seen = []
    handle = runnable.hooked.blocks[0].attn.q.register_forward_hook(
        lambda module, args, out: seen.append(weakref.ref(out))
    )
    with torch.no_grad():
        runnable.hooked(torch.arange(5))
    handle.remove()
    gc.collect()
    assert seen[0]() is None


def test_a_failed_run_leaves_no_recorder_behind(registry):
    runnable = registry.load("textbook", "post", None, TINY)
    with pytest.raises(IndexError), recording(Recorder(frozenset())):
        runnable.hooked(torch.tensor([10**6]))
    assert hooks._active.recorder is None


def test_hooks_are_registered_once_however_often_a_model_runs(registry):
    runnable = registry.load("textbook", "pre", None, TINY)

    def count():
        return sum(
            len(m._forward_hooks) + len(m._forward_pre_hooks) for m in runnable.hooked.modules()
        )

    before = count()
    for _ in range(20):
        trace(registry, norm="pre")
    assert count() == before > 0
    assert not any(m._forward_hooks for m in runnable.plain.modules())


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_source_is_the_code_that_ran(registry, norm):
    for step in trace(registry, norm=norm).steps:
        text = Path(step.source.file).read_text().splitlines()
        first = step.source.first_line - 1
        assert text[first : first + len(step.source.lines)] == step.source.lines
        assert step.source.lines[0].strip().startswith("def forward(")
