"""Experiments against PyTorch's own layers, closed forms and the findings of their papers."""

import math
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from model.analysis.experiments import (
    depth,
    dot_product_variance,
    init_gradients,
    input_norms,
    reach,
    stacks,
)
from model.analysis.experiments.fits import interval, power_law, student
from model.analysis.experiments.results import Progress, Result, finish
from model.config import Norm
from model.errors import ModelError
from model.registry import Registry
from tests.checkpoint_folders import cf_bert, cf_gpt2, neox


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> Iterator[None]:
    """As the server runs: for matrices this small, threads cost more than they bring."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


SMALL = stacks.Sizes(d_model=32, n_heads=4, d_mlp=64, n_ctx=12)


def values(result: Result, name: str) -> Tensor:
    """A series as a tensor; what is null is NaN."""

    def number(part: object) -> object:
        if isinstance(part, list):
            return [number(each) for each in part]
        return math.nan if part is None else part

    return torch.tensor(number(list(result.series[name].values)), dtype=torch.float64)


def torch_layer(config: stacks.ModelConfig, weights: stacks.Weights) -> nn.TransformerEncoderLayer:
    """PyTorch's layer with the weights of a random block."""
    layer = nn.TransformerEncoderLayer(
        config.d_model,
        config.n_heads,
        config.d_mlp,
        dropout=0.0,
        layer_norm_eps=config.eps,
        batch_first=True,
        norm_first=config.norm == "pre",
    )
    with torch.no_grad():
        qkv = torch.cat([weights[f"attn.W_{letter}.weight"] for letter in "QKV"])
        layer.self_attn.in_proj_weight.copy_(qkv)
        layer.self_attn.out_proj.weight.copy_(weights["attn.W_O.weight"])
        layer.linear1.weight.copy_(weights["mlp.W_in.weight"])
        layer.linear2.weight.copy_(weights["mlp.W_out.weight"])
        for name, parameter in layer.named_parameters():
            if name.endswith("bias"):
                parameter.zero_()
    return layer


# -- gradients at initialisation -----------------------------------------------------------------


@pytest.mark.parametrize("norm", ["post", "pre"])
@pytest.mark.parametrize("layers", [1, 5])
def test_gradients_are_those_of_pytorchs_encoder(norm: Norm, layers: int):
    request = init_gradients.InitGradientsRequest()
    sizes = stacks.Sizes(request.d_model, request.n_heads, request.d_mlp, request.n_ctx)
    config = sizes.config(norm)
    begun = stacks.start(sizes, layers, seed=3)
    ours = init_gradients.gradients(
        [stacks.block_with(config, weights) for weights in begun.weights], begun, norm
    )
    theirs = [torch_layer(config, weights) for weights in begun.weights]
    state = begun.x[None]
    for layer in theirs:
        state = layer(state)
    if norm == "pre":
        state = nn.LayerNorm(config.d_model)(state)
    F.cross_entropy(state[0] @ begun.exit, begun.targets).backward()
    for our, layer in zip(ours, theirs, strict=True):
        expected = layer.linear2.weight.grad
        assert (our - expected).norm() <= 1e-4 * expected.norm()


def test_post_ln_keeps_its_last_gradient_and_pre_ln_loses_it_with_depth():
    request = init_gradients.InitGradientsRequest(depths=(2, 4, 8, 16), n_ctx=16, seeds=5)
    result = finish(init_gradients.run(request))
    fits = {fit.y: fit for fit in result.fit}
    post, pre = fits["post.last"], fits["pre.last"]
    assert -0.05 < post.exponent < 0.25
    assert -0.6 < pre.exponent < -0.25
    assert pre.high < 0 and pre.high < post.low
    assert (post.predicted, pre.predicted) == (0, -0.5)
    # The first block's gradient is the larger one in Pre-LN.
    layers = values(result, "pre.layers")[-1]
    assert 1.5 < layers[0] / layers[15] < 6
    assert values(result, "pre.layers")[0, 2:].isnan().all()


def test_series_and_fit_agree():
    request = init_gradients.InitGradientsRequest(
        depths=(1, 3), d_model=16, n_heads=2, d_mlp=24, n_ctx=5, seed=8, seeds=3
    )
    result = finish(init_gradients.run(request))
    assert result.request == request
    assert result.series["seed"].values == [8, 9, 10]
    last, layers = values(result, "post.last"), values(result, "post.layers")
    assert last.shape == (3, 2) and layers.shape == (2, 3)
    assert torch.allclose(last.mean(0), torch.stack([layers[0, 0], layers[1, 2]]))
    slope = (last[:, 1] / last[:, 0]).log() / math.log(3)
    fit = next(fit for fit in result.fit if fit.y == "post.last")
    assert fit.exponent == pytest.approx(slope.mean().item())
    assert fit.deviation == pytest.approx(slope.std().item())


# -- sqrt(d_k) -----------------------------------------------------------------------------------


def test_figures_of_the_division_by_the_root_of_d_k():
    request = dot_product_variance.DotProductVarianceRequest(d_heads=(16, 64, 512), seeds=4)
    result = finish(dot_product_variance.run(request))

    def at(name: str, d_head: int) -> float:
        return values(result, name)[request.d_heads.index(d_head)].item()

    assert at("variance_mean", 64) == pytest.approx(64, rel=0.05)
    assert at("none.deviation", 64) == pytest.approx(8, rel=0.03)
    assert at("sqrt_d_head.deviation", 64) == pytest.approx(1, rel=0.03)
    # √512 is too much for heads of 64: the spread falls below 1.
    assert at("sqrt_d_model.deviation", 64) == pytest.approx(1 / math.sqrt(8), rel=0.03)
    assert at("none.largest_weight", 64) == pytest.approx(0.79, abs=0.02)
    assert at("sqrt_d_head.largest_weight", 64) == pytest.approx(0.11, abs=0.01)
    assert at("none.entropy", 64) == pytest.approx(0.14, abs=0.02)
    assert at("sqrt_d_head.entropy", 64) == pytest.approx(0.89, abs=0.02)
    assert at("none.saturated", 64) == pytest.approx(0.19, abs=0.03)
    assert at("none.saturated", 512) == pytest.approx(0.60, abs=0.03)
    assert at("sqrt_d_head.saturated", 512) == 0
    assert at("none.jacobian_p10", 64) == pytest.approx(0.003, abs=0.0015)
    assert at("sqrt_d_head.jacobian_p10", 64) == pytest.approx(0.16, abs=0.01)
    assert at("none.jacobian_median", 512) == pytest.approx(0.004, abs=0.002)
    assert at("sqrt_d_head.jacobian_median", 512) == pytest.approx(0.18, abs=0.01)
    (fit,) = result.fit
    assert fit.low < 1 < fit.high or fit.exponent == pytest.approx(1, abs=0.02)


def test_measures_of_a_softmax_are_those_of_its_written_out_jacobian():
    scores = torch.tensor([[0.0, 1.0, 3.0], [2.0, 2.0, 2.0], [0.0, 0.0, 50.0]])
    norms, entropies = [], []
    for row in scores.double():
        weights = row.softmax(0)
        jacobian = torch.autograd.functional.jacobian(lambda x: x.softmax(0), row)
        norms.append(jacobian.norm().item())
        entropies.append(-(weights * weights.log()).sum().item() / math.log(3))
    found = dot_product_variance.of_softmax(scores)
    assert found["jacobian_median"].item() == pytest.approx(sorted(norms)[1], abs=1e-9)
    assert found["entropy"].item() == pytest.approx(sum(entropies) / 3)
    assert found["saturated"].item() == pytest.approx(1 / 3)


# -- reach ---------------------------------------------------------------------------------------


def test_reach_is_exactly_nothing_below_the_first_depth_and_tiny_at_it():
    result = finish(reach.run(reach.ReachRequest(depths=(1, 7, 8, 10), seeds=2)))
    assert result.facts["first_depth"] == 8
    for norm in ("post", "pre"):
        first = values(result, f"{norm}.first_on_last")  # [seed, depth]
        assert (first[:, :2] == 0).all()
        assert ((first[:, 2] > 0) & (first[:, 2] < 1e-10)).all()
        assert (first[:, 3] > first[:, 2]).all()
        influence = values(result, f"{norm}.influence")
        assert (influence[:, -1] == 1).all()
        # One layer sees 8 positions back, seven see 56.
        assert (influence[0] > 0).sum() == 9
        assert (influence[1] > 0).sum() == 57
        felt = result.series[f"{norm}.felt"].values
        assert 12 <= felt[2] <= 20


def test_what_overflowed_is_felt_nowhere_that_could_be_told():
    # Two components have one direction after a norm: nothing passes back through many of them.
    request = reach.ReachRequest(
        n_ctx=9, radius=2, depths=(1, 48), d_model=2, n_heads=1, d_mlp=2, seeds=1
    )
    result = finish(reach.run(request))
    for norm in ("post", "pre"):
        influence, felt = values(result, f"{norm}.influence"), values(result, f"{norm}.felt")
        known = influence.isfinite().all(-1)
        assert torch.equal(felt.isfinite(), known)
        assert (felt[known] <= 8).all()
    assert not bool(values(result, "post.felt")[1].isfinite())


def test_a_model_that_cannot_be_loaded_ends_no_experiment(tmp_path: Path):
    cf_gpt2(tmp_path / "whole")
    cf_gpt2(tmp_path / "cut")
    file = next((tmp_path / "cut").glob("*.safetensors"))
    file.write_bytes(file.read_bytes()[:-64])
    request = input_norms.InputNormsRequest("A B", "textbook", "post")
    result = finish(input_norms.run(request, Registry(tmp_path)))
    found = {first.model: first.error for first in result.first_inputs}
    assert found["cut"] is not None and found["whole"] is None
    assert "cut" not in {table.model for table in result.embeddings}
    assert "whole" in {table.model for table in result.embeddings}


@pytest.mark.parametrize(("n_ctx", "radius"), [(9, 3), (10, 3), (5, 9), (2, 1)])
def test_the_first_depth_is_the_distance_over_the_radius_rounded_up(n_ctx: int, radius: int):
    request = reach.ReachRequest(
        n_ctx=n_ctx, radius=radius, depths=(1, 2, 3), d_model=8, n_heads=2, d_mlp=8, seeds=1
    )
    result = finish(reach.run(request))
    first = result.facts["first_depth"]
    assert first == math.ceil((n_ctx - 1) / radius)
    for norm in ("post", "pre"):
        found = values(result, f"{norm}.first_on_last")[0]
        assert [value > 0 for value in found] == [d >= first for d in (1, 2, 3)]


def test_a_window_that_hides_nothing_is_the_block_itself():
    for norm in ("post", "pre"):
        config = SMALL.config(norm)
        weights = stacks.pytorch_weights(config, stacks.generator(1))
        x = torch.randn(SMALL.n_ctx, SMALL.d_model, dtype=torch.float64)
        whole = stacks.block_with(config, weights, torch.float64)(x)
        assert torch.equal(reach.restricted_block(config, weights, SMALL.n_ctx)(x), whole)


def test_restricted_attention_is_pytorchs_with_a_mask():
    config = SMALL.config("post")
    weights = stacks.random_weights(config, stacks.generator(5))
    place = torch.arange(SMALL.n_ctx)
    far = (place[:, None] - place[None, :]).abs() > 3
    x = torch.randn(SMALL.n_ctx, SMALL.d_model, dtype=torch.float64)
    expected = torch_layer(config, weights).double()(x[None], src_mask=far)[0]
    found = reach.restricted_block(config, weights, 3)(x)
    assert torch.allclose(found, expected, atol=1e-12)


# -- depth ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_with_nothing_dropped_the_stack_is_the_models_own(norm: Norm):
    config = SMALL.config(norm)
    begun = stacks.start(SMALL, 3, seed=0)
    blocks = [stacks.block_with(config, weights) for weights in begun.weights]
    x = begun.x
    for state, block in zip(depth.states(blocks, begun.x, norm, "nothing"), blocks, strict=False):
        assert torch.equal(state, x)
        x = block(x)


def test_one_block_without_skip_or_norm_written_out():
    begun = stacks.start(SMALL, 1, seed=0)
    block = stacks.block_with(SMALL.config("post"), begun.weights[0])
    x = begun.x

    def last(norm: Norm, drop: depth.Drop) -> Tensor:
        return list(depth.states([block], x, norm, drop))[-1]

    attention, mlp, ln1, ln2 = block.attn, block.mlp, block.ln1, block.ln2
    mid = x + attention(x)
    assert torch.equal(last("post", "norm"), mid + mlp(mid))
    assert torch.equal(last("pre", "norm"), mid + mlp(mid))
    assert torch.equal(last("post", "both"), mlp(attention(x)))
    assert torch.equal(last("post", "skip"), ln2(mlp(ln1(attention(x)))))
    assert torch.equal(last("pre", "skip"), mlp(ln2(attention(ln1(x)))))


def test_what_depth_does_without_skips_and_without_norms():
    result = finish(depth.run(depth.DepthRequest(depths=(2, 12), n_ctx=16, seeds=2)))
    root = math.sqrt(64)
    assert values(result, "nothing.length")[1:] == pytest.approx(root, rel=1e-3)
    # Without a skip all positions soon point the same way; with it they take far longer.
    assert values(result, "skip.similarity")[4] > 0.99
    assert values(result, "nothing.similarity")[4] < 0.8
    # Without a norm the stream grows by a factor with each block; without both it fades.
    growth = values(result, "norm.length")
    assert growth[12] > 20 * growth[0]
    assert values(result, "both.length")[12] < 0.02
    assert values(result, "norm.first_gradient")[1] > 100 * values(result, "norm.first_gradient")[0]
    assert values(result, "both.gradient").shape == (12,)


def test_similarity_is_the_mean_cosine_of_pairs():
    state = torch.tensor([[1.0, 0.0], [0.0, 2.0], [3.0, 0.0]])
    assert depth.similarity(state).item() == pytest.approx(1 / 3)


# -- what enters attention -----------------------------------------------------------------------

TEXT = "The cat sat on the mat. 猫が座る。"


@pytest.fixture(scope="module")
def registry() -> Registry:
    return Registry()


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_what_enters_the_first_attention(registry: Registry, norm: Norm):
    request = input_norms.InputNormsRequest(TEXT, "textbook", norm)
    result = finish(input_norms.run(request, registry))
    assert result.request == request
    found = {f.norm: f for f in result.first_inputs if f.model == "textbook"}
    assert (found["post"].point, found["post"].normed_by) == ("embed_sum", None)
    assert (found["pre"].point, found["pre"].normed_by) == ("blocks.0.ln1.out", "blocks.0.ln1")
    assert found["post"].raw == found["post"].read == found["pre"].raw
    # After a LayerNorm with gamma 1 every length is sqrt(d_model), not 1.
    assert found["pre"].read.mean == pytest.approx(16, rel=1e-5)
    assert found["pre"].read.spread < 1e-5
    assert found["post"].read.spread > 0.01
    lengths = values(result, "x.length")[0]
    assert lengths.mean().item() == pytest.approx(found[norm].read.mean, rel=1e-6)
    (table,) = [e for e in result.embeddings if e.model == "textbook"]
    assert table.rows == registry.tokenizer.d_vocab


def test_scores_lengths_and_equal_keys_of_a_head_by_hand(registry: Registry):
    request = input_norms.InputNormsRequest(TEXT, "textbook", "post", layer=1)
    result = finish(input_norms.run(request, registry))
    runnable = registry.load("textbook", "post", None, {"seed": 0})
    ids = torch.tensor([token.id for token in runnable.tokenizer.encode(TEXT)])
    model, head = runnable.plain, 3
    x = model.embed_sum(model.embed(ids), model.pos_embed(ids))
    x = model.blocks[0](x)
    attention = model.blocks[1].attn
    columns = slice(32 * head, 32 * (head + 1))
    q, k = attention.W_Q(x)[:, columns].double(), attention.W_K(x)[:, columns].double()
    scores, lengths = q @ k.mT / math.sqrt(32), k.norm(dim=-1)
    cosine = scores * math.sqrt(32) / torch.outer(q.norm(dim=-1), lengths)
    rows = [torch.corrcoef(torch.stack([a, b]))[0, 1] for a, b in zip(scores, cosine, strict=True)]
    correlation = (sum(rows) / len(rows)).item()
    assert values(result, "score_cosine")[1, head].item() == pytest.approx(correlation, abs=1e-5)
    spread = lengths.std(correction=0) / lengths.mean()
    assert values(result, "k.spread")[1, head].item() == pytest.approx(spread.item(), abs=1e-5)
    equal = q @ (k / lengths[:, None] * lengths.mean()).mT / math.sqrt(32)
    same = (equal.argmax(-1) == scores.argmax(-1)).double().mean()
    assert values(result, "equal_keys.same_top")[1, head].item() == pytest.approx(same.item())
    p, m = scores.softmax(-1), equal.softmax(-1)
    middle = (p + m) / 2
    bits = ((p * (p / middle).log2()).sum(-1) + (m * (m / middle).log2()).sum(-1)) / 2
    distance = values(result, "equal_keys.distance")[1, head].item()
    assert distance == pytest.approx(bits.sqrt().mean().item(), abs=1e-5)
    pairs = {
        (h, i, j): (score, cos)
        for h, i, j, score, cos in zip(
            *(
                result.series[f"pair.{n}"].values
                for n in ("head", "query", "key", "score", "cosine")
            ),
            strict=True,
        )
    }
    assert len(pairs) <= input_norms.MAX_PAIRS
    for (h, i, j), (score, cos) in pairs.items():
        if h == head:
            assert score == pytest.approx(scores[i, j].item(), abs=1e-4)
            assert cos == pytest.approx(cosine[i, j].item(), abs=1e-5)


def test_a_causal_models_hidden_keys_take_no_part(registry: Registry):
    scores = torch.tensor([[[1.0, -math.inf, -math.inf], [1, 2, -math.inf], [3, 1, 2]]])
    other = torch.tensor([[[9.0, 9, 9], [9, 9, 9], [6, 2, 4]]])
    found = input_norms.row_correlation(scores, other, scores.isfinite())
    assert found.tolist() == [1.0]


def test_a_single_token_has_nothing_to_correlate(registry: Registry):
    result = finish(input_norms.run(input_norms.InputNormsRequest("a", "textbook"), registry))
    assert values(result, "score_cosine").isnan().all()
    assert values(result, "equal_keys.same_top").isnan().all()


def test_checkpoints_read_their_first_input_through_their_own_norm(tmp_path: Path):
    cf_bert(tmp_path / "bert")
    cf_gpt2(tmp_path / "gpt2")
    models = Registry(tmp_path)
    result = finish(input_norms.run(input_norms.InputNormsRequest("A B"), models))
    found = {first.model: first for first in result.first_inputs}
    assert (found["bert"].norm, found["bert"].point) == ("post", "embed_ln.out")
    assert (found["gpt2"].norm, found["gpt2"].point) == ("pre", "blocks.0.ln1.out")
    # |[1, 2, 3, 4]| and, after the norm, the root of four components.
    assert found["gpt2"].raw.mean == pytest.approx(math.sqrt(30))
    assert found["gpt2"].normalized.mean == pytest.approx(2, abs=1e-4)
    assert found["bert"].normalized.largest == pytest.approx(2, abs=1e-4)
    assert {table.model for table in result.embeddings} >= {"bert", "gpt2"}


def test_a_model_without_position_vectors_starts_from_its_embedding(tmp_path: Path):
    neox(tmp_path / "neox")
    models = Registry(tmp_path)
    result = finish(input_norms.run(input_norms.InputNormsRequest(" A B"), models))
    (found,) = [first for first in result.first_inputs if first.model == "neox"]
    assert (found.point, found.error) == ("blocks.0.ln1.out", None)
    runnable = models.load("neox", "pre", None, None)
    ids = [token.id for token in runnable.tokenizer.encode(" A B").tokens]
    lengths = runnable.plain.embed.weight[ids].double().norm(dim=-1)
    assert found.raw.mean == pytest.approx(float(lengths.mean()), rel=1e-5)


def test_a_model_that_cannot_read_the_text_says_so_in_its_line(tmp_path: Path):
    cf_gpt2(tmp_path / "gpt2")
    request = input_norms.InputNormsRequest(" A" * 20, "textbook")
    found = finish(input_norms.run(request, Registry(tmp_path))).first_inputs
    (refused,) = [first for first in found if first.model == "gpt2"]
    assert (refused.error, refused.read) == ("text_too_long", None)
    assert all(first.error is None for first in found if first.model != "gpt2")


# -- common --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("freedom", "t"),
    [(1, 12.7062), (2, 4.3027), (3, 3.1824), (7, 2.3646), (19, 2.0930), (100, 1.9840)],
)
def test_the_quantile_of_students_distribution_is_the_tabled_one(freedom: int, t: float):
    assert student(freedom) == pytest.approx(t, abs=5e-5)


def test_a_power_law_is_found_exactly_with_its_interval():
    x = [1.0, 2.0, 4.0]
    y = torch.tensor([[3 * v**0.5 for v in x], [5 * v**0.7 for v in x]])
    fit = power_law(x, y, ("x", "y"), 0.5)
    assert fit.exponent == pytest.approx(0.6)
    half = 12.7062 * math.sqrt(0.02) / math.sqrt(2)
    assert (fit.low, fit.high) == pytest.approx((0.6 - half, 0.6 + half), abs=1e-4)
    assert power_law([2.0, 2.0], torch.ones(1, 2), ("x", "y"), None) is None
    assert power_law(x, torch.zeros(1, 3), ("x", "y"), None) is None
    one = power_law(x, y[:1], ("x", "y"), None)
    assert (one.low, one.high, one.deviation) == (None, None, None)
    assert interval(y[:1])[0].isnan().all()


RUNS = {
    "init-gradients": lambda: init_gradients.run(
        init_gradients.InitGradientsRequest((1, 2), 8, 2, 8, 4, seed=4, seeds=2)
    ),
    "dot-product-variance": lambda: dot_product_variance.run(
        dot_product_variance.DotProductVarianceRequest((4, 8), samples=100, seed=4, seeds=2)
    ),
    "depth": lambda: depth.run(depth.DepthRequest((1, 2), 8, 2, 8, 4, seed=4, seeds=2)),
    "reach": lambda: reach.run(reach.ReachRequest(9, 2, (1, 4), 8, 2, 8, seed=4, seeds=2)),
}


@pytest.mark.parametrize("name", RUNS)
def test_an_experiment_is_a_pure_function_of_its_request(name: str):
    torch.manual_seed(1)
    first = finish(RUNS[name]())
    torch.manual_seed(2)
    assert finish(RUNS[name]()) == first


@pytest.mark.parametrize("name", RUNS)
def test_an_experiment_reports_every_slice_once(name: str):
    reports = list(RUNS[name]())
    assert all(isinstance(report, Progress) for report in reports)
    assert [report.done for report in reports] == list(range(1, len(reports) + 1))
    assert {report.total for report in reports} == {len(reports)}


@pytest.mark.parametrize(
    "run",
    [
        lambda: init_gradients.run(
            init_gradients.InitGradientsRequest(depths=(48,) * 6, d_model=256, seeds=64)
        ),
        lambda: depth.run(depth.DepthRequest(depths=tuple(range(1, 49)), seeds=64)),
        lambda: reach.run(reach.ReachRequest(d_model=256, d_mlp=1024, n_ctx=129, seeds=64)),
    ],
)
def test_what_would_take_minutes_is_refused_before_it_starts(run):
    with pytest.raises(ModelError) as refused:
        next(run())
    assert refused.value.code == "experiment_too_large"


def test_heads_that_do_not_divide_are_refused():
    with pytest.raises(ModelError) as refused:
        next(init_gradients.run(init_gradients.InitGradientsRequest(n_heads=3)))
    assert refused.value.code == "heads_do_not_divide"


def test_pytorchs_own_initialisation_has_the_same_spread():
    config = stacks.Sizes(64, 4, 256, 4).config("post")
    ours = stacks.pytorch_weights(config, stacks.generator(0))
    theirs = nn.TransformerEncoderLayer(64, 4, 256)
    for name, their in (
        ("attn.W_Q.weight", theirs.self_attn.in_proj_weight),
        ("attn.W_O.weight", theirs.self_attn.out_proj.weight),
        ("mlp.W_in.weight", theirs.linear1.weight),
        ("mlp.W_out.weight", theirs.linear2.weight),
    ):
        assert ours[name].std().item() == pytest.approx(their.std().item(), rel=0.05)
