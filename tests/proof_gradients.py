"""The finding of Xiong et al. 2020 on 24 seeds; the same gradients from PyTorch's own layers."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from model.analysis.experiments import init_gradients, stacks
from model.analysis.experiments.results import finish
from model.config import NORMS, Norm

SEEDS = 24
CLOSE = 1e-4


def pytorchs(begun: stacks.Start, sizes: stacks.Sizes, norm: Norm) -> list[Tensor]:
    """The gradients by the second FFN matrix of `torch.nn.TransformerEncoderLayer`s."""
    layers = []
    for weights in begun.weights:
        layer = nn.TransformerEncoderLayer(
            sizes.d_model,
            sizes.n_heads,
            sizes.d_mlp,
            dropout=0.0,
            batch_first=True,
            norm_first=norm == "pre",
        )
        qkv = torch.cat([weights[f"attn.W_{letter}.weight"] for letter in "QKV"])
        with torch.no_grad():
            layer.self_attn.in_proj_weight.copy_(qkv)
            layer.self_attn.out_proj.weight.copy_(weights["attn.W_O.weight"])
            layer.linear1.weight.copy_(weights["mlp.W_in.weight"])
            layer.linear2.weight.copy_(weights["mlp.W_out.weight"])
            for name, parameter in layer.named_parameters():
                if name.endswith("bias"):
                    parameter.zero_()
        layers.append(layer)
    state = begun.x[None]
    for layer in layers:
        state = layer(state)
    if norm == "pre":
        state = nn.LayerNorm(sizes.d_model)(state)
    loss = F.cross_entropy(state[0] @ begun.exit, begun.targets)
    return list(torch.autograd.grad(loss, [layer.linear2.weight for layer in layers]))


def prove() -> None:
    """Print exponents and the largest difference; end with status 1 where the finding fails."""
    torch.set_num_threads(1)
    request = init_gradients.InitGradientsRequest(seeds=SEEDS)
    fits = {fit.y: fit for fit in finish(init_gradients.run(request)).fit}
    post, pre = fits["post.last"], fits["pre.last"]
    for name, fit in (("Post-LN", post), ("Pre-LN", pre)):
        print(
            f"{name}: last gradient ~ depth^{fit.exponent:.3f}, 95 % interval"
            f" {fit.low:.3f} to {fit.high:.3f} over {fit.seeds} seeds; theory {fit.predicted}"
        )
    # Post-LN's does not shrink; Pre-LN's falls towards the inverse root.
    if post.low is None or pre.high is None or post.low < -0.05 or not pre.high < -0.35:
        raise SystemExit(1)
    sizes = stacks.Sizes(request.d_model, request.n_heads, request.d_mlp, request.n_ctx)
    largest = 0.0
    for seed in range(SEEDS):
        for norm in NORMS:
            begun = stacks.start(sizes, 12, seed)
            config = sizes.config(norm)
            blocks = [stacks.block_with(config, weights) for weights in begun.weights]
            ours = init_gradients.gradients(blocks, begun, norm)
            theirs = pytorchs(begun, sizes, norm)
            for our, their in zip(ours, theirs, strict=True):
                largest = max(largest, ((our - their).norm() / their.norm()).item())
    print(f"largest relative difference to PyTorch's gradients, 12 blocks: {largest:.1e}")
    if largest > CLOSE:
        raise SystemExit(1)


if __name__ == "__main__":
    prove()
