"""What later steps do to a part of the stream, norms held at a run's divisor; must not run a model.

Source: Kobayashi et al. 2021, "Incorporating Residual and Normalization Layers into Analysis of
Masked Language Models".
"""

import torch
from torch import Tensor, nn

from model.hooks import Recorder
from model.layers import LayerNorm


def frozen_norm(x: Tensor, norm: LayerNorm, scale: Tensor) -> Tensor:
    """What a LayerNorm whose divisor is held does to a part [..., d_model]; beta is left out."""
    return (x - x.mean(-1, keepdim=True)) / scale * norm.w.double()


def carried(
    model: nn.Module, recorder: Recorder, pos: int, start: str, vectors: Tensor, end: str
) -> tuple[Tensor, list[str]]:
    """What becomes of parts of one point on the straight way to a later one, and the norms met.

    Attention and FFN are ways of their own and do not carry; norms act with this run's divisor.

    Args:
        start: the point, such as ``blocks.0.attn_out``, that the vectors are parts of.
        vectors: [part, d_model].
        end: a later point of the stream.
    """
    known = {recorder.origin(start): vectors.double()}
    met: dict[str, list[str]] = {recorder.origin(start): []}
    for step in recorder.steps:
        sources = [known[p] for p in (recorder.origin(p) for p in step.inputs) if p in known]
        norms = [met[p] for p in (recorder.origin(p) for p in step.inputs) if p in met]
        if not sources:
            continue
        if step.kind == "add":
            known[step.output] = torch.stack(sources).sum(0)
            met[step.output] = list(dict.fromkeys(norm for names in norms for norm in names))
        elif step.kind == "layer_norm":
            norm = model.get_submodule(step.name)
            assert isinstance(norm, LayerNorm)
            scale = recorder.values[f"{step.name}.scale"][pos].double()
            known[step.output] = frozen_norm(sources[0], norm, scale)
            met[step.output] = [*norms[0], step.name]
    target = recorder.origin(end)
    return known[target], met[target]
