"""What each run proves of itself, against independent arithmetic; must not repair anything."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from model.block import Block
from model.config import ModelConfig
from model.hooks import Recorder, Step
from model.layers import LayerNorm
from model.registry import Runnable

FLOAT32_STEP = torch.finfo(torch.float32).eps
# Of two float32 computations of the same block, relative to the largest value.
CLOSE = 2e-6


@dataclass(frozen=True)
class Check:
    """``ok`` means value <= limit. A value that is not a number is never ok."""

    name: str
    point: str | None
    value: float
    limit: float
    ok: bool


@dataclass(frozen=True)
class NotChecked:
    name: str
    reason: str


def check(name: str, point: str | None, value: float, limit: float) -> Check:
    return Check(name, point, value, limit, value <= limit)


def cheap_checks(
    runnable: Runnable,
    recorder: Recorder,
    expected: frozenset[str],
    spoilt: Mapping[str, int],
) -> list[Check]:
    """Checks that every trace carries: captured, sums, norms, rows of the softmax, finite.

    Args:
        expected: names of the points that the run was asked to record.
        spoilt: what ``non_finite`` found.
    """
    values, steps = recorder.values, recorder.steps
    missing = len(expected - values.keys())
    found = [check("captured", None, float(missing), 0.0)]
    if missing:
        return found
    found += [_sum_check(step, values) for step in steps if step.kind == "add"]
    found += [_norm_check(step, values, runnable) for step in steps if step.kind == "layer_norm"]
    found += [
        check("softmax_rows", point, _largest((pattern.sum(-1) - 1).abs()), 1e-5)
        for point, pattern in values.items()
        if point.endswith("attn.pattern")
    ]
    found.append(check("finite", None, float(sum(spoilt.values())), 0.0))
    return found


def non_finite(values: Mapping[str, Tensor]) -> dict[str, int]:
    """How many entries of each point are NaN or infinite; hidden scores are meant to be."""
    meant = {p: v for p, v in values.items() if not p.endswith("attn.attn_scores")}
    # A sum is finite if all its terms are: one pass without a temporary. If it is not, count.
    sums = [value.sum() for value in meant.values()]
    if not sums or bool(torch.stack(sums).isfinite().all()):
        return {}
    counted = {point: int((~value.isfinite()).sum()) for point, value in meant.items()}
    return {point: count for point, count in counted.items() if count}


def _largest(differences: Tensor) -> float:
    return differences.max().item()


def _sum_check(step: Step, values: Mapping[str, Tensor]) -> Check:
    """skip + write is the recorded sum, to the last bit; of three, in the order of the inputs."""
    skip, *writes = (values[point] for point in step.inputs)
    return check("add", step.output, _largest((sum(writes, skip) - values[step.output]).abs()), 0.0)


def _norm_check(step: Step, values: Mapping[str, Tensor], runnable: Runnable) -> Check:
    """The norm's output against PyTorch's own LayerNorm in float64 on the recorded input."""
    norm = runnable.plain.get_submodule(step.name)
    assert isinstance(norm, LayerNorm)
    x, out = values[step.inputs[0]], values[step.output]
    exact = F.layer_norm(x.double(), x.shape[-1:], norm.w.double(), norm.b.double(), norm.eps)
    limit = CLOSE * max(1.0, _largest(exact.abs())) + 4 * _grown(step, values, runnable)
    return check("layer_norm", step.output, _largest((out - exact).abs()), limit)


def _grown(step: Step, values: Mapping[str, Tensor], runnable: Runnable) -> float:
    """Rounding of a norm's input as it leaves it: large where the mean is, beside the spread."""
    norm = runnable.plain.get_submodule(step.name)
    assert isinstance(norm, LayerNorm)
    x, scale = values[step.inputs[0]], values[f"{step.name}.scale"]
    return FLOAT32_STEP * _largest(x.abs().amax(-1) / scale[..., 0]) * _largest(norm.w.abs())


COSTLY = ("plain_run", "torch_block", "layer_norm_position_wise", "mlp_position_wise")


# Positions that are run one by one; of more, so many at even distances.
ALONE = 64


def not_checkable(config: ModelConfig) -> list[NotChecked]:
    """Costly checks that this model has no counterpart for."""
    other = config.wiring == "parallel" or config.rotary or not config.scale_scores
    if other or config.scale_by_layer:
        return [NotChecked("torch_block", "no_such_layer")]
    return []


def costly_checks(
    runnable: Runnable, recorder: Recorder, inputs: tuple[Tensor, ...]
) -> Iterator[Check]:
    """Checks on request: the plain run, PyTorch's own blocks, and positions one at a time."""
    values, config = recorder.values, runnable.config
    final = runnable.plain(*inputs)
    yield check("plain_run", None, _largest((final - values[config.last_state]).abs()), 0.0)
    for layer, block in enumerate(runnable.plain.blocks):
        if not_checkable(config):
            break
        assert isinstance(block, Block)
        at = f"blocks.{layer}."
        ours = values[at + "out"]
        theirs = torch_block(block, config)(values[at + "resid_pre"])
        grown = sum(
            _grown(step, values, runnable)
            for step in recorder.steps
            if step.kind == "layer_norm" and step.name.startswith(at)
        )
        yield _close("torch_block", at + "out", ours, theirs, grown)
    for step in recorder.steps:
        if step.kind in ("layer_norm", "mlp"):
            module = runnable.plain.get_submodule(step.name)
            x, out = values[step.inputs[0]], values[step.output]
            rows = torch.linspace(0, len(x) - 1, min(len(x), ALONE)).long()
            alone = torch.stack([module(row) for row in x[rows]])
            yield _close(f"{step.kind}_position_wise", step.output, out[rows], alone)


def _close(name: str, point: str, ours: Tensor, theirs: Tensor, grown: float = 0.0) -> Check:
    limit = CLOSE * max(1.0, _largest(theirs.abs())) + 4 * grown
    return check(name, point, _largest((ours - theirs).abs()), limit)


# PyTorch's own name of each of our parameters; Q, K and V stand joined in `in_proj`.
_TORCH_NAMES = {
    "self_attn.out_proj": "attn.W_O",
    "linear1": "mlp.W_in",
    "linear2": "mlp.W_out",
}
_TORCH_ACTIVATIONS: dict[str, str | Callable[[Tensor], Tensor]] = {
    "relu": "relu",
    "gelu": "gelu",
    "gelu_new": partial(F.gelu, approximate="tanh"),
}


def torch_block(block: Block, config: ModelConfig) -> Callable[[Tensor], Tensor]:
    """``torch.nn.TransformerEncoderLayer`` with this block's weights, on [pos, d_model]."""
    with torch.device("meta"):
        layer = nn.TransformerEncoderLayer(
            config.d_model,
            config.n_heads,
            config.d_mlp,
            dropout=0.0,
            activation=_TORCH_ACTIVATIONS[config.activation],
            layer_norm_eps=config.eps,
            batch_first=True,
            norm_first=config.norm == "pre",
        )
    # PyTorch's layer has all biases or none.
    no_bias = torch.zeros(config.d_model)
    ours = {f"attn.W_{matrix}.bias": no_bias for matrix in "QKVO"}
    # Detached: a parameter that is assigned would be made trainable in our shared module too.
    ours |= {name: parameter.detach() for name, parameter in block.named_parameters()}
    theirs: dict[str, Tensor] = {
        f"{name}.{kind}": ours[f"{our_name}.{kind}"]
        for name, our_name in _TORCH_NAMES.items()
        for kind in ("weight", "bias")
    }
    for kind in ("weight", "bias"):
        theirs[f"self_attn.in_proj_{kind}"] = torch.cat([ours[f"attn.W_{m}.{kind}"] for m in "QKV"])
    for ln, norm in (("ln1", "norm1"), ("ln2", "norm2")):
        theirs[f"{norm}.weight"], theirs[f"{norm}.bias"] = ours[f"{ln}.w"], ours[f"{ln}.b"]
    layer.load_state_dict(theirs, assign=True)
    # Training mode, without dropout: eval mode may take the fused path.
    layer.train()

    def run(x: Tensor) -> Tensor:
        n = len(x)
        # True hides a key here, the opposite of scaled_dot_product_attention's mask.
        mask = torch.ones(n, n, dtype=torch.bool).triu(1) if config.causal else None
        return layer(x[None], src_mask=mask)[0]  # type: ignore[no-any-return]

    return run
