"""Muon for many small matrices at once; must not know models or recipes.

Steps are those of ``torch.optim.Muon`` (a test compares them). That one takes the matrices one by
one, which for 24 small ones is a third of a training step on a CPU; here matrices of one shape are
orthogonalised together. Source: Jordan et al. 2024, "Muon: An optimizer for hidden layers".
"""

import math
from collections import defaultdict

import torch
from torch import Tensor, nn

# Coefficients of the quintic iteration: steepest at 0, singular values end between 0.7 and 1.2.
QUINTIC = (3.4445, -4.7750, 2.0315)
ITERATIONS = 5
TINY = 1e-7


class Muon:
    """Momentum whose step is orthogonalised: every direction of a matrix moves by as much.

    Args:
        parameters: matrices [out, in]; their ``grad`` must be set at each step.
        lr: learning rate; tall matrices take sqrt(out / in) of it. May be set between steps.
        weight_decay: share of ``lr`` by which weights shrink at each step.
    """

    def __init__(
        self, parameters: list[nn.Parameter], lr: float, weight_decay: float, momentum: float = 0.95
    ) -> None:
        self.lr, self.weight_decay, self.momentum = lr, weight_decay, momentum
        by_shape: dict[torch.Size, list[nn.Parameter]] = defaultdict(list)
        for parameter in parameters:
            by_shape[parameter.shape].append(parameter)
        self.groups = list(by_shape.values())
        self.averages = [torch.zeros(len(group), *group[0].shape) for group in self.groups]

    @torch.no_grad()
    def step(self) -> None:
        """Move every matrix once."""
        for group, average in zip(self.groups, self.averages, strict=True):
            gradient = torch.stack([grad_of(parameter) for parameter in group])
            average.lerp_(gradient, 1 - self.momentum)
            update = orthogonalise(gradient.lerp(average, self.momentum))  # Nesterov
            n_out, n_in = group[0].shape
            rate = self.lr * math.sqrt(max(1.0, n_out / n_in))
            for parameter, direction in zip(group, update, strict=True):
                parameter.mul_(1 - self.lr * self.weight_decay).sub_(direction, alpha=rate)

    def state_dict(self) -> dict[str, list[Tensor]]:
        return {"averages": self.averages}

    def load_state_dict(self, state: dict[str, list[Tensor]]) -> None:
        for average, saved in zip(self.averages, state["averages"], strict=True):
            average.copy_(saved)


def grad_of(parameter: nn.Parameter) -> Tensor:
    assert parameter.grad is not None, "step() before backward()"
    return parameter.grad


def orthogonalise(matrices: Tensor) -> Tensor:
    """Matrices [matrix, row, column] with their singular values moved to about 1, in bfloat16."""
    tall = matrices.shape[-2] > matrices.shape[-1]
    x = matrices.bfloat16()
    x = x.mT if tall else x
    x = x / x.norm(dim=(-2, -1), keepdim=True).clamp(min=TINY)
    a, b, c = QUINTIC
    for _ in range(ITERATIONS):
        gram = x @ x.mT
        x = torch.baddbmm(x, torch.baddbmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return (x.mT if tall else x).to(matrices.dtype)
