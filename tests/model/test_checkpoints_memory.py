"""What of a folder is in memory: mapped, shared, dropped, and how far it is loaded."""

import shutil
import threading

import pytest
import torch

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
    cf_bert,
    cf_gpt2,
    without,
    write_json,
)
from tests.checkpoint_runs import refusal

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
