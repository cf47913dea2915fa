"""Weights by TransformerLens' names and axes: the run's own arithmetic, done again with them."""

import math
from pathlib import Path

import pytest
import torch

from model.errors import ModelError
from model.parameters import named, parameter
from model.registry import Registry
from model.runnable import Runnable
from tests.checkpoint_folders import cf_bert, cf_gpt2, neox

torch.set_num_threads(1)


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Registry:
    folder: Path = tmp_path_factory.mktemp("models")
    cf_bert(folder / "bert")
    cf_gpt2(folder / "gpt2")
    neox(folder / "neox")
    return Registry(folder)


def weights(runnable: Runnable) -> dict[str, torch.Tensor]:
    return {name: value for name, _, value in named(runnable.plain)}


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_a_block_computed_from_them_is_the_block_that_ran(registry: Registry, norm: str):
    runnable = registry.load("twin", norm, None, None)
    w, config = weights(runnable), runnable.config
    ids = torch.tensor([0, 5, 9, 200])
    x = w["W_E"][ids] * math.sqrt(config.d_model) + w["W_pos"][: len(ids)]

    def layer_norm(x: torch.Tensor, name: str) -> torch.Tensor:
        gamma, beta = w[f"blocks.0.{name}.w"], w[f"blocks.0.{name}.b"]
        return torch.nn.functional.layer_norm(x, x.shape[-1:], gamma, beta, config.eps)

    def attention(x: torch.Tensor) -> torch.Tensor:
        at = "blocks.0.attn."
        q, k, v = (
            torch.einsum("pm,hmd->hpd", x, w[f"{at}W_{letter}"]) + w[f"{at}b_{letter}"][:, None]
            for letter in "QKV"
        )
        scores = q @ k.mT / math.sqrt(config.d_head)
        later = torch.ones(len(x), len(x)).triu(1).bool()
        z = scores.masked_fill(later, -math.inf).softmax(-1) @ v
        return torch.einsum("hpd,hdm->pm", z, w[f"{at}W_O"]) + w[f"{at}b_O"]

    def mlp(x: torch.Tensor) -> torch.Tensor:
        at = "blocks.0.mlp."
        return (x @ w[f"{at}W_in"] + w[f"{at}b_in"]).relu() @ w[f"{at}W_out"] + w[f"{at}b_out"]

    with torch.no_grad():
        expected = runnable.plain.blocks[0](runnable.plain.embedding(ids))
        if norm == "post":
            x = layer_norm(x + attention(x), "ln1")
            x = layer_norm(x + mlp(x), "ln2")
        else:
            x = x + attention(layer_norm(x, "ln1"))
            x = x + mlp(layer_norm(x, "ln2"))
    assert torch.allclose(x, expected, atol=2e-5)


@pytest.mark.parametrize("model", ["twin", "textbook", "bert", "gpt2", "neox"])
def test_every_number_of_a_model_is_there_once(registry: Registry, model: str):
    runnable = registry.load(model, None, None, None)
    plain = runnable.plain
    found = {
        (value.data_ptr(), tuple(sorted(zip(value.stride(), value.shape, strict=True))))
        for name, _, value in named(plain)
        # Tied weights are the embedding again; sinusoidal positions are no parameter.
        if not (name == "W_U" and runnable.config.tied)
        and not (name == "W_pos" and runnable.config.positions == "sinusoidal")
    }
    total = sum(math.prod(size for _, size in layout) for _, layout in found)
    assert total == sum(p.numel() for p in plain.parameters())
    for name, axes, value in named(plain):
        assert value.ndim == len(axes.split()), name


def test_an_index_picks_as_in_include(registry: Registry):
    runnable = registry.load("twin", "post", None, None)
    whole = parameter(runnable, "blocks.1.attn.W_Q", None)
    assert whole.axes == ["head", "d_model", "d_head"] and whole.shape == [6, 192, 32]
    row = parameter(runnable, "blocks.1.attn.W_Q", "2,:,7")
    assert row.axes == ["d_model"] and torch.equal(row.value, whole.value[2, :, 7])
    single = parameter(runnable, "blocks.1.attn.W_Q", "2,100,7")
    assert single.shape == [] and float(single.value) == float(whole.value[2, 100, 7])
    # PyTorch's matrix has it at row head · d_head + component, column of d_model.
    assert float(single.value) == float(runnable.plain.blocks[1].attn.W_Q.weight[2 * 32 + 7, 100])
    assert whole.learned and not parameter(runnable, "W_pos", "3").learned


@pytest.mark.parametrize(
    ("name", "index", "code", "field"),
    [
        ("blocks.0.attn.W_P", None, "unknown_parameter", "name"),
        ("blocks.4.attn.W_Q", None, "unknown_parameter", "name"),
        ("W_E", "9999999", "index_out_of_range", "index"),
        ("W_E", "1,2,3", "too_many_axes", "index"),
        ("W_E", "-1", "bad_selector", "index"),
        ("W_E", "a]", "bad_selector", "index"),
    ],
)
def test_what_is_not_there_is_refused(
    registry: Registry, name: str, index: str | None, code: str, field: str
):
    runnable = registry.load("twin", None, None, None)
    with pytest.raises(ModelError) as caught:
        parameter(runnable, name, index)
    assert (caught.value.code, caught.value.field) == (code, field)
    if name.endswith("W_P"):
        assert "blocks.0.attn.W_Q" in caught.value.params["nearest"]
