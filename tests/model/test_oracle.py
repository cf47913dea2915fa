"""Our blocks against PyTorch's own layers, in float32 and, to catch what that hides, in float64."""

import math

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from model import hooks
from model.checks import torch_block
from model.config import ACTIVATIONS, ModelConfig
from model.hooks import Recorder, recording
from model.points import catalogue
from model.transformer import Transformer, with_weights

torch.backends.mha.set_fastpath_enabled(False)


def config(norm="post", **changes) -> ModelConfig:
    sizes = {"d_model": 48, "n_heads": 6, "d_mlp": 80, "n_layers": 3, "n_ctx": 64, "d_vocab": 97}
    return ModelConfig(**{**sizes, "norm": norm, **changes})


def uneven_weights(config: ModelConfig, dtype=torch.float32) -> dict[str, Tensor]:
    """Every parameter random, norms and biases too, so that nothing cancels or is left out."""
    draw = torch.Generator().manual_seed(7)
    with torch.device("meta"):
        shapes = {name: p.shape for name, p in Transformer(config).named_parameters()}
    return {
        name: (
            torch.randn(shape, generator=draw, dtype=torch.float64) * 0.3 + name.endswith(".w")
        ).to(dtype)
        for name, shape in shapes.items()
    }


def recorded(config: ModelConfig, weights: dict[str, Tensor], ids: Tensor) -> Recorder:
    model = with_weights(config, weights)
    hooks.attach(model)
    keep = frozenset(p for p in catalogue(config, len(ids)) if not p.endswith("attn.result"))
    with torch.no_grad(), recording(Recorder(keep)) as recorder:
        state = model(ids)
        if model.unembed is not None:
            model.unembed(state)
    return recorder


@pytest.fixture
def float64_by_default():
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


def assert_close(ours: Tensor, theirs: Tensor, limit: float) -> None:
    assert ours.shape == theirs.shape
    difference = (ours - theirs).abs().max().item()
    assert difference <= limit * max(1.0, theirs.abs().max().item()), difference


CASES = pytest.mark.parametrize(
    ("norm", "activation", "causal", "n"),
    [
        (norm, activation, causal, n)
        for norm in ("pre", "post")
        for activation in ACTIVATIONS
        for causal in (False, True)
        for n in (1, 7, 64)
    ],
)


def assert_blocks_equal_torch(c: ModelConfig, dtype: torch.dtype, n: int, limit: float) -> None:
    weights = uneven_weights(c, dtype)
    ids = torch.randint(c.d_vocab, (n,), generator=torch.Generator().manual_seed(n))
    values = recorded(c, weights, ids).values
    blocks = with_weights(c, weights).blocks
    with torch.no_grad():
        for layer, block in enumerate(blocks):
            theirs = torch_block(block, c)(values[f"blocks.{layer}.resid_pre"])
            assert_close(values[f"blocks.{layer}.out"], theirs, limit)


@CASES
def test_every_block_equals_torch_in_float32(norm, activation, causal, n):
    c = config(norm, activation=activation, causal=causal)
    assert_blocks_equal_torch(c, torch.float32, n, 2e-6)


@CASES
def test_every_block_equals_torch_in_float64(float64_by_default, norm, activation, causal, n):
    c = config(norm, activation=activation, causal=causal)
    assert_blocks_equal_torch(c, torch.float64, n, 1e-12)


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_torchs_layer_is_built_by_name_and_not_by_our_helper(activation):
    """The helper that makes PyTorch's layer is itself held against one written out here."""
    c = config("post", activation=activation)
    block = with_weights(c, uneven_weights(c)).blocks[0]
    layer = nn.TransformerEncoderLayer(
        48,
        6,
        80,
        dropout=0.0,
        activation={"relu": "relu", "gelu": "gelu"}.get(
            activation, lambda x: F.gelu(x, approximate="tanh")
        ),
        layer_norm_eps=1e-5,
        batch_first=True,
    ).requires_grad_(False)
    a = block.attn
    layer.self_attn.in_proj_weight.copy_(torch.cat([a.W_Q.weight, a.W_K.weight, a.W_V.weight]))
    layer.self_attn.in_proj_bias.copy_(torch.cat([a.W_Q.bias, a.W_K.bias, a.W_V.bias]))
    layer.self_attn.out_proj.load_state_dict(a.W_O.state_dict())
    layer.linear1.load_state_dict(block.mlp.W_in.state_dict())
    layer.linear2.load_state_dict(block.mlp.W_out.state_dict())
    for theirs, ours in ((layer.norm1, block.ln1), (layer.norm2, block.ln2)):
        theirs.weight.copy_(ours.w)
        theirs.bias.copy_(ours.b)
    x = torch.randn(9, 48, generator=torch.Generator().manual_seed(3))
    assert_close(block(x), layer(x[None])[0], 2e-6)


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_each_layer_norm_equals_torchs(norm):
    c = config(norm, eps=1e-3)
    weights = uneven_weights(c)
    recorder = recorded(c, weights, torch.arange(20))
    norms = [step for step in recorder.steps if step.kind == "layer_norm"]
    assert len(norms) == 2 * c.n_layers + (norm == "pre")
    for step in norms:
        w, b = weights[f"{step.name}.w"], weights[f"{step.name}.b"]
        x, v = recorder.values[step.inputs[0]], recorder.values
        assert_close(v[step.output], F.layer_norm(x, (48,), w, b, 1e-3), 2e-6)
        assert_close(v[f"{step.name}.mean"][:, 0], x.mean(-1), 2e-6)
        assert_close(v[f"{step.name}.var"][:, 0], x.var(-1, correction=0), 2e-6)
        assert_close(v[f"{step.name}.scale"], (v[f"{step.name}.var"] + 1e-3).sqrt(), 0)
        assert_close(v[f"{step.name}.normalized"], F.layer_norm(x, (48,), eps=1e-3), 2e-6)


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_add_output_is_exactly_skip_plus_write(norm):
    recorder = recorded(config(norm), uneven_weights(config(norm)), torch.arange(20))
    adds = [step for step in recorder.steps if step.kind == "add"]
    assert len(adds) == 1 + 2 * 3
    for step in adds:
        skip, write = (recorder.values[point] for point in step.inputs)
        assert torch.equal(recorder.values[step.output], skip + write)


@pytest.mark.parametrize("causal", [False, True])
def test_attention_equals_scaled_dot_product_attention(causal):
    c = config("pre", causal=causal)
    values = recorded(c, uneven_weights(c), torch.arange(20)).values
    q, k, v, z = (values[f"blocks.1.attn.{name}"].transpose(0, 1)[None] for name in "qkvz")
    assert_close(z, F.scaled_dot_product_attention(q, k, v, is_causal=causal), 2e-6)
    scores, dot = values["blocks.1.attn.attn_scores"], values["blocks.1.attn.dot"]
    seen = torch.ones(20, 20, dtype=torch.bool).tril() if causal else torch.ones(20, 20) == 1
    assert torch.equal(scores[:, seen], dot[:, seen] / math.sqrt(8))
    assert bool((scores[:, ~seen] == -math.inf).all())
    assert torch.equal(values["blocks.1.attn.pattern"], scores.softmax(-1))


def test_gelu_is_the_exact_one_and_gelu_new_the_tanh_one():
    """Values at 1, -1, 3, -3, 0.5, -0.5, 2, 0 from the closed forms."""
    x = [1, -1, 3, -3, 0.5, -0.5, 2, 0]
    exact = [v * 0.5 * (1 + math.erf(v / math.sqrt(2))) for v in x]
    tanh = [0.5 * v * (1 + math.tanh(math.sqrt(2 / math.pi) * (v + 0.044715 * v**3))) for v in x]
    assert exact[:2] == pytest.approx([0.8413447, -0.1586553], abs=2e-7)
    assert tanh[:2] == pytest.approx([0.8411920, -0.1588080], abs=2e-7)
    for activation, expected in (("gelu", exact), ("gelu_new", tanh)):
        c = config("pre", activation=activation, d_mlp=8, n_layers=1)
        weights = uneven_weights(c)
        weights["blocks.0.mlp.W_in.weight"] = torch.zeros(8, 48)
        weights["blocks.0.mlp.W_in.bias"] = torch.tensor(x, dtype=torch.float32)
        values = recorded(c, weights, torch.arange(3)).values
        assert values["blocks.0.mlp.post"][1].tolist() == pytest.approx(expected, abs=2e-6)


def test_sinusoidal_positions_are_the_papers():
    c = config("post", d_model=512, n_heads=8)
    table = Transformer(c).pos_embed.table
    assert table[0, :4].tolist() == [0, 1, 0, 1]
    for pos, i in ((1, 0), (5, 3), (63, 255)):
        angle = pos / 10000 ** (2 * i / 512)
        assert table[pos, 2 * i].item() == pytest.approx(math.sin(angle), abs=1e-7)
        assert table[pos, 2 * i + 1].item() == pytest.approx(math.cos(angle), abs=1e-7)
    # Every row has length sqrt(d/2).
    assert table.norm(dim=-1).tolist() == pytest.approx([16.0] * 64, abs=1e-5)


def test_large_mean_and_small_spread_keep_their_variance():
    """[40000, 40001, 40002, 40003]: variance 1.25, which a one-pass formula loses."""
    c = config("post", d_model=4, n_heads=1)
    block = with_weights(c, uneven_weights(c)).blocks[0]
    block.ln1.w, block.ln1.b = nn.Parameter(torch.ones(4)), nn.Parameter(torch.zeros(4))
    out = block.ln1(torch.tensor([[40000.0, 40001, 40002, 40003]]))
    expected = [-1.3416354, -0.4472118, 0.4472118, 1.3416354]
    assert out[0].tolist() == pytest.approx(expected, abs=1e-4)


def test_paper_block_has_3_152_384_parameters():
    c = ModelConfig(512, 8, 2048, 1, 512, 10, "post")
    ours = sum(p.numel() for p in Transformer(c).blocks[0].parameters())
    theirs = sum(p.numel() for p in nn.TransformerEncoderLayer(512, 8, 2048).parameters())
    assert ours == theirs == 3_152_384


@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("positions", ["sinusoidal", "learned"])
def test_parameters_are_counted_before_building(norm, positions):
    c = config(norm, positions=positions, unembed=True)
    assert c.n_parameters == sum(p.numel() for p in Transformer(c).parameters())


def test_unembedding_is_the_transposed_table():
    c = config("pre", unembed=True)
    weights = uneven_weights(c)
    values = recorded(c, weights, torch.arange(6)).values
    expected = F.linear(values["ln_final.out"], weights["embed.weight"])
    assert_close(values["logits"], expected, 2e-6)


def test_a_batch_gives_each_row_what_it_gets_alone():
    c = config("post", causal=True)
    model = with_weights(c, uneven_weights(c))
    ids = torch.randint(97, (3, 11), generator=torch.Generator().manual_seed(5))
    with torch.no_grad():
        together = model(ids)
        for row, alone in zip(together, ids, strict=True):
            assert_close(row, model(alone), 2e-6)
