"""Counts against PyTorch's own: numel() of its layers and its FLOP counter, exactly."""

import random

import pytest
import torch
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from model.analysis.cost import Cost, CostRequest, cost
from model.analysis.cost.table import Row
from model.block import PostLNBlock, PreLNBlock
from model.config import ModelConfig
from model.errors import ModelError
from model.points import catalogue

PAPER = CostRequest(radius=32)


def row(found: Cost, name: str) -> Row:
    return next(row for row in found.rows if row.name == name)


def random_request(seed: int) -> CostRequest:
    draw = random.Random(seed)
    n_heads = draw.choice([1, 2, 3, 4])
    return CostRequest(
        d_model=n_heads * draw.randint(2, 16),
        n_heads=n_heads,
        d_mlp=draw.randint(1, 90),
        n_ctx=draw.randint(2, 40),
        n_layers=draw.randint(1, 3),
        kernel=draw.choice([3, 5, 7]),
        radius=draw.randint(1, 45),
        n_queries=draw.randint(1, 9),
    )


def flops(run, *inputs: torch.Tensor) -> int:
    """PyTorch's count, with every matrix product visible to it."""
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        counter = FlopCounterMode(display=False)
        with sdpa_kernel(SDPBackend.MATH), torch.no_grad(), counter:
            run(*inputs)
        return counter.get_total_flops()
    finally:
        torch.backends.mha.set_fastpath_enabled(True)


def parameters_of(module: nn.Module) -> int:
    return sum(parameter.numel() for parameter in module.parameters())


@pytest.mark.parametrize("seed", range(30))
def test_parameters_and_operations_of_a_block_equal_pytorchs(seed: int):
    request = random_request(seed)
    d, n = request.d_model, request.n_ctx
    layer = nn.TransformerEncoderLayer(d, request.n_heads, request.d_mlp, 0.0, batch_first=True)
    encoder = nn.TransformerEncoder(layer, request.n_layers, enable_nested_tensor=False).eval()
    found = cost(request)
    assert found.parameters.block.value == parameters_of(layer)
    assert found.parameters.all_blocks.value == parameters_of(encoder)
    assert found.flops == flops(encoder, torch.zeros(1, n, d))


@pytest.mark.parametrize("seed", range(30))
def test_parameters_and_operations_of_its_rivals_equal_pytorchs(seed: int):
    request = random_request(seed)
    d, n, k, m = request.d_model, request.n_ctx, request.kernel, request.n_queries
    found = cost(request)
    attention = nn.MultiheadAttention(d, request.n_heads, bias=False, batch_first=True).eval()
    convolution = nn.Conv1d(d, d, k, padding="same", bias=False)
    with torch.device("meta"):
        perceptron = nn.Linear(n * d, n * d, bias=False)
    for name, module in (
        ("self_attention", attention),
        ("convolution", convolution),
        ("convolution_3", nn.Conv1d(d, d, 3, bias=False)),
        ("recurrent", nn.RNN(d, d, bias=False)),
        ("lstm", nn.LSTM(d, d, bias=False)),
        ("perceptron", perceptron),
    ):
        assert row(found, name).weights.value == parameters_of(module), name
    x, queries = torch.zeros(1, n, d), torch.zeros(1, m, d)

    def attend(query: torch.Tensor) -> int:
        return flops(lambda: attention(query, x, x, need_weights=True))

    assert 2 * row(found, "self_attention").multiply_adds.value == attend(x)
    assert 2 * row(found, "cross_attention").multiply_adds.value == attend(queries)
    assert 2 * row(found, "convolution").multiply_adds.value == flops(convolution, x.mT)
    assert 2 * row(found, "perceptron").multiply_adds.value == flops(
        perceptron, x.flatten().to("meta")
    )
    cell = nn.RNNCell(d, d, bias=False)
    assert 2 * row(found, "recurrent").multiply_adds.value == n * flops(cell, x[:, 0], x[:, 0])
    cell = nn.LSTMCell(d, d, bias=False)
    state = (x[:, 0], x[:, 0])
    assert 2 * row(found, "lstm").multiply_adds.value == n * flops(lambda: cell(x[:, 0], state))


@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("seed", range(5))
def test_our_own_block_has_as_many_and_a_trace_of_it_names_as_many_numbers(seed: int, norm: str):
    request = random_request(seed)
    config = ModelConfig(
        request.d_model + request.d_model % 2 * request.n_heads,
        request.n_heads,
        request.d_mlp,
        request.n_layers,
        request.n_ctx,
        d_vocab=2,
        norm=norm,
        final_norm=False,
    )
    found = cost(
        CostRequest(
            d_model=config.d_model,
            n_heads=config.n_heads,
            d_mlp=config.d_mlp,
            n_ctx=config.n_ctx,
            n_layers=config.n_layers,
        )
    )
    block = (PreLNBlock if norm == "pre" else PostLNBlock)(config)
    assert found.parameters.block.value == parameters_of(block)
    names = {name.replace("attn.W_", "W_"): p for name, p in block.named_parameters()}
    for matrix in found.parameters.matrices:
        letter = matrix.name.partition("_")[2]
        kind = "weight" if matrix.kind == "weight" else "bias"
        sublayer = "attn" if matrix.group == "attention" else "mlp"
        full = matrix.name if matrix.group == "norm" else f"{sublayer}.W_{letter}.{kind}"
        parameter = dict(block.named_parameters())[full]
        assert matrix.count.value == parameter.numel(), matrix.name
        # nn.Linear keeps its matrix as [out, in].
        assert matrix.shape == list(parameter.shape)[::-1], matrix.name
    assert len(names) == len(found.parameters.matrices)
    numbers = sum(
        torch.Size(spec.shape).numel()
        for name, spec in catalogue(config, request.n_ctx).items()
        # One tensor each under two names, not computed unless asked for, or outside the blocks.
        if not name.endswith((".out", "attn.result", "resid_pre"))
        or name.endswith(("ln1.out", "ln2.out"))
        if name.startswith("blocks.")
    )
    first_input = config.n_ctx * config.d_model
    assert found.memory.activations == 4 * (numbers + first_input)
    assert found.memory.weights == 4 * config.n_layers * parameters_of(block)


def test_the_papers_block_has_3152384_parameters_matrix_by_matrix():
    found = cost(PAPER).parameters
    assert [(m.name, m.count.value) for m in found.matrices] == [
        *[(f"{kind}_{m}", n) for m in "QKVO" for kind, n in (("W", 262_144), ("b", 512))],
        ("W_in", 1_048_576),
        ("b_in", 2_048),
        ("W_out", 1_048_576),
        ("b_out", 512),
        *[(f"{norm}.{kind}", 512) for norm in ("ln1", "ln2") for kind in "wb"],
    ]
    assert (found.attention.value, found.attention.formula) == (1_048_576, "4d²")
    assert (found.mlp.value, found.mlp.formula) == (2_097_152, "2d·d_ff")
    assert (found.weights.value, found.weights.formula) == (3_145_728, "4d² + 2d·d_ff")
    assert (found.biases.value, found.norms.value) == (4_608, 2_048)
    assert found.block.value == 3_152_384
    assert found.weights_at_2d.value == 2_097_152


def test_the_perceptron_has_512_to_the_fourth_weights():
    found = cost(PAPER)
    assert found.parameters.perceptron.value == 512**4 == 68_719_476_736
    assert found.parameters.perceptron_at_2n.value == 256 * 2**30
    assert found.parameters.to_mlp == 32 * 1024
    assert found.parameters.to_weights == pytest.approx(21_845.33, abs=0.01)
    assert found.parameters.to_block == pytest.approx(21_799.21, abs=0.01)
    assert found.perceptron_to_block == pytest.approx(36.571, abs=0.001)
    assert (found.memory.perceptron, found.memory.weights) == (256 * 2**30, 4 * 3_152_384)


MI, GI = 2**20, 2**30
TABLE = {
    "dot_product": (0, 512, "d", "O(d)"),
    "matrix_vector": (MI / 4, MI / 4, "d²", "O(d²)"),
    "matrix_vector_head": (MI / 32, MI / 32, "d²/H", "O(d²)"),
    "qkv": (768 * 1024, 384 * MI, "3nd²", "O(nd²)"),
    "scores": (0, 128 * MI, "n²d", "O(n²d)"),
    "mixing": (0, 128 * MI, "n²d", "O(n²d)"),
    "output": (256 * 1024, 128 * MI, "nd²", "O(nd²)"),
    "self_attention": (MI, 768 * MI, "4nd² + 2n²d", "O(nd² + n²d)"),
    "cross_attention": (MI, 257 * MI, "2nd² + 2md² + 2mnd", "O(nd² + md² + mnd)"),
    "mlp": (2 * MI, GI, "2nd·d_ff", "O(nd·d_ff)"),
    "block": (3 * MI, 1.75 * GI, "4nd² + 2n²d + 2nd·d_ff", "O(nd² + n²d + nd·d_ff)"),
    "recurrent": (512 * 1024, 256 * MI, "2nd²", "O(nd²)"),
    "lstm": (2 * MI, GI, "8nd²", "O(nd²)"),
    "convolution": (1.25 * MI, 640 * MI, "knd²", "O(knd²)"),
    "convolution_3": (768 * 1024, 384 * MI, "3nd²", "O(knd²)"),
    "restricted_attention": (MI, 512 * MI + 32_997_376, "4nd² + 2pd", "O(nd² + rnd)"),
    "restricted_block": (3 * MI, 1536 * MI + 32_997_376, "4nd² + 2pd + 2nd·d_ff", None),
    "perceptron": (64 * GI, 64 * GI, "n²d²", "O(n²d²)"),
}


@pytest.mark.parametrize("name", TABLE)
def test_a_row_of_the_table_at_512(name: str):
    weights, adds, formula, order = TABLE[name]
    found = row(cost(PAPER), name)
    assert found.weights.value == weights
    assert found.multiply_adds.value == adds
    assert found.multiply_adds.formula == formula
    assert order is None or found.order == order


def test_every_row_has_been_written_out():
    assert [row.name for row in cost(PAPER).rows] == list(TABLE)


def test_pairs_alone_are_a_third_of_a_self_attention_at_512():
    found = cost(PAPER)
    pairs = {r.name: r.pairs_only.value for r in found.rows if r.pairs_only}
    assert pairs == {
        "self_attention": 256 * MI,
        "cross_attention": 2 * 512 * 512,
        "recurrent": 256 * MI,
        "lstm": GI,
        "convolution": 640 * MI,
        "convolution_3": 384 * MI,
        "restricted_attention": 32_997_376,
    }


def test_steps_and_paths_at_512():
    depths = {
        r.name: tuple(d and d.value for d in (r.steps, r.path, r.dilated, r.dilated_causal))
        for r in cost(PAPER).rows
        if r.path
    }
    assert depths == {
        "self_attention": (1, 1, None, None),
        "cross_attention": (1, 1, None, None),
        "block": (1, 1, None, None),
        "recurrent": (512, 512, None, None),
        "lstm": (512, 512, None, None),
        "convolution": (1, 256, 5, 4),
        "convolution_3": (1, 511, 7, 6),
        "restricted_attention": (1, 16, None, None),
        "restricted_block": (1, 16, None, None),
        "perceptron": (1, 1, None, None),
    }


def reachable(n: int, offsets_of_layer: list[list[int]]) -> bool:
    """Whether the first position can reach the last one through layers of given offsets."""
    reached = {0}
    for offsets in offsets_of_layer:
        reached = {p + o for p in reached for o in offsets if 0 <= p + o < n}
    return n - 1 in reached


@pytest.mark.parametrize("n", [2, 9, 10, 33, 63, 64])
@pytest.mark.parametrize("k", [3, 5])
def test_paths_are_the_smallest_depths_at_which_a_walk_arrives(n: int, k: int):
    found = cost(CostRequest(d_model=8, n_ctx=n, kernel=k, radius=k // 2))
    plain = list(range(-(k // 2), k // 2 + 1))
    backwards = list(range(k))
    convolution = row(found, "convolution")

    def dilated(offsets: list[int], depth: int) -> list[list[int]]:
        # The widest gap is as wide as the ends need: beyond them there is nothing.
        gaps = [k**i for i in range(depth)]
        gaps[-1] = min(
            gaps[-1], max(1, -(-(n - 1 - sum(gaps[:-1]) * max(offsets)) // max(offsets)))
        )
        return [[gap * offset for offset in offsets] for gap in gaps]

    for depth, layers in (
        (convolution.path, lambda depth: [plain] * depth),
        (convolution.dilated, lambda depth: dilated(plain, depth)),
        (convolution.dilated_causal, lambda depth: dilated(backwards, depth)),
        (row(found, "restricted_attention").path, lambda depth: [plain] * depth),
    ):
        assert reachable(n, layers(depth.value))
        assert depth.value == 1 or not reachable(n, layers(depth.value - 1))


@pytest.mark.parametrize("radius", [1, 3, 8, 9, 50])
def test_pairs_within_a_window_are_those_that_can_be_counted(radius: int):
    found = cost(CostRequest(d_model=8, n_ctx=9, radius=radius))
    within = sum(abs(i - j) <= radius for i in range(9) for j in range(9))
    assert found.symbols["p"] == within


@pytest.mark.parametrize(("n", "radius"), [(1, 1), (1, 9), (2, 9), (9, 3), (9, 8), (9, 500)])
def test_the_formula_of_the_pairs_holds_for_windows_wider_than_the_text(n: int, radius: int):
    symbols = cost(CostRequest(d_model=8, n_ctx=n, radius=radius)).symbols
    w = symbols["w"]
    assert symbols["p"] == n * (2 * w + 1) - w * (w + 1)
    assert symbols["r"] == 2 * w + 1


def test_crossings_at_512():
    found = {c.name: (c.n, c.formula) for c in cost(PAPER).crossings}
    assert found == {
        "pairs_recurrent": (512, "n = d"),
        "pairs_convolution": (1280, "n = kd/2"),
        "attention_convolution": (256, "n = (k−4)d/2"),
        "attention_mlp": (1024, "n = d_ff − 2d"),
        "pairs_matrices": (3072, "n = 2d + d_ff"),
    }


@pytest.mark.parametrize("seed", range(10))
def test_two_lines_are_equal_where_they_are_said_to_cross(seed: int):
    request = random_request(seed)
    for crossing in cost(request).crossings:
        if crossing.n is None:
            continue
        if crossing.n.is_integer() and crossing.n >= 1:
            there = cost(
                CostRequest(
                    **{**vars(request), "n_ctx": int(crossing.n), "n_layers": 1},
                )
            )
            at = there.curve.n.index(int(crossing.n))
            left, right = (there.curve.lines[name][at] for name in (crossing.left, crossing.right))
            assert left == right == crossing.multiply_adds


def test_lines_that_never_cross_say_so():
    found = {c.name: c.n for c in cost(CostRequest(kernel=3, d_mlp=1024)).crossings}
    assert found["attention_convolution"] is None
    assert found["attention_mlp"] is None


def test_share_of_the_pairs_in_the_block():
    shares = {s.n: round(s.share, 2) for s in cost(PAPER).shares}
    assert shares == {128: 0.04, 512: 0.14, 1024: 0.25, 4096: 0.57}


def test_the_curve_is_the_table_at_the_asked_length():
    found = cost(CostRequest(n_ctx=700, d_model=96, n_heads=4, d_mlp=100, radius=9))
    at = found.curve.n.index(700)
    for name in ("self_attention", "mlp", "block", "recurrent", "convolution", "perceptron"):
        assert found.curve.lines[name][at] == row(found, name).multiply_adds.value
    restricted = row(found, "restricted_attention").multiply_adds.value
    assert found.curve.lines["restricted_attention"][at] == restricted
    assert found.curve.map_bytes[at] == found.memory.pattern == 4 * 4 * 700 * 700


def test_terms_add_up_and_formulas_can_be_evaluated():
    found = cost(CostRequest(d_model=12, n_heads=3, d_mlp=7, n_ctx=11, radius=4, n_queries=2))
    for each in found.rows:
        for counted in (each.weights, each.multiply_adds, each.pairs_only):
            if counted is None or each.name == "matrix_vector_head":
                continue
            total = 0
            for term in counted.terms:
                value = term.coefficient
                for symbol, power in term.powers.items():
                    value *= found.symbols[symbol] ** power
                assert value == term.value
                total += value
            assert total == counted.value


@pytest.mark.parametrize(
    ("sizes", "code"),
    [
        ({"d_model": 10, "n_heads": 4}, "heads_do_not_divide"),
        ({"kernel": 4}, "kernel_is_even"),
        ({"n_ctx": 131_072, "d_model": 1024}, "too_many_components"),
    ],
)
def test_sizes_that_do_not_fit_are_refused(sizes: dict[str, int], code: str):
    with pytest.raises(ModelError) as refused:
        cost(CostRequest(**sizes))
    assert refused.value.code == code
