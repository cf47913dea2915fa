"""What each head of a block writes, and from which key it came; must not run a model.

A weight alone says little: a key with a short value vector adds nothing however large its weight.
So each weight stands beside the length of what it carries, |α v W_O| (Kobayashi et al. 2020,
"Attention is Not Only a Weight"), and beside what a key contributes to the sum, skip and LayerNorm
included (Kobayashi et al. 2021, "Incorporating Residual and Normalization Layers into Analysis of
Masked Language Models"). In Post-LN that norm acts on the sum, with this run's divisor; in Pre-LN
it acts on what Attention reads and is inside the values already. Biases (b_O, beta) belong to no
key.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from model.analysis.carried import carried, frozen_norm
from model.hooks import Recorder, Step
from model.layers import LayerNorm, SelfAttention
from model.transformer import Transformer


@dataclass(frozen=True)
class HeadWrite:
    """One head at the chosen query.

    Attributes:
        write_length: |z_h W_O[h]|.
        cosine: of the write with the skip that it is added to.
        share: ⟨write, attn_out⟩ / |attn_out|²; with the bias's, all heads' add up to 1.
        weights: attention weights [key].
        value_lengths: |v W_O[h]| [key], before the weight.
        weighted_lengths: |α v W_O[h]| [key].
    """

    head: int
    label: str
    write_length: float
    cosine: float
    share: float
    weights: Tensor
    value_lengths: Tensor
    weighted_lengths: Tensor


@dataclass(frozen=True)
class BiasWrite:
    """b_O, which belongs to no head."""

    write_length: float
    cosine: float
    share: float


@dataclass(frozen=True)
class NormBased:
    """How much each key contributes to the chosen query's vector, over all heads [key].

    Attributes:
        attention: |Σ_h α v W_O|.
        with_residual: the same with the skip, which belongs to the query's own position.
        with_norm: the same after the norm on the sum, with this run's divisor and gamma.
        norm: that norm in Post-LN; in Pre-LN the norm inside the values, or null.
        norm_on_sum: whether the norm acts on the sum.
        mixing_ratio: |from other positions| / (|from others| + |from itself|), all included.
        mixing_ratios: the same for every query [pos].
    """

    attention: Tensor
    with_residual: Tensor
    with_norm: Tensor
    norm: str | None
    norm_on_sum: bool
    mixing_ratio: float
    mixing_ratios: Tensor


@dataclass(frozen=True)
class Maps:
    """For all queries: one head's |α v W_O|, and the layer's norm-based attention [query, key]."""

    head: int
    weighted_lengths: Tensor
    norm_based: Tensor


@dataclass(frozen=True)
class LogitEffect:
    """What each write adds to the logits of the likeliest next tokens on the straight way out.

    Ways through later blocks are left out. Divisors of the norms on the way are held.

    Attributes:
        tokens: ids.
        of_writes: [write, token]; ``of_bias``: [token], null without a bias.
        exact: whether no norm had to be held; ``reason``: why not.
    """

    tokens: list[int]
    of_writes: Tensor
    of_bias: Tensor | None
    exact: bool
    reason: str | None
    frozen_norms: list[str]


@dataclass(frozen=True)
class Sublayer:
    """One sublayer in the graph of a run: what its write is added to, and the norms around it."""

    skip: str
    norm_before: str | None
    norm_after: str | None


def sublayer(recorder: Recorder, model: Transformer, point: str) -> Sublayer:
    """The sublayer that makes ``point``, such as ``blocks.0.attn_out``."""
    steps = recorder.steps
    step = next(s for s in steps if s.output == point)
    add = next(s for s in steps if s.kind == "add" and point in _origins(s, recorder))
    norms = [s for s in steps if s.kind == "layer_norm"]
    before = [n.name for n in norms if n.output in _origins(step, recorder)]
    after = [n.name for n in norms if add.output in _origins(n, recorder)]
    is_post = model.config.norm == "post"
    return Sublayer(
        skip=recorder.origin(add.inputs[0]),
        norm_before=before[0] if before and not is_post else None,
        norm_after=after[0] if after and is_post else None,
    )


def _origins(step: Step, recorder: Recorder) -> list[str]:
    return [recorder.origin(point) for point in step.inputs]


def needed_points(layer: int) -> tuple[str, ...]:
    """What this analysis reads of its own block, beside what every trace records."""
    at = f"blocks.{layer}.attn"
    return f"{at}.v", f"{at}.z", f"{at}.pattern", f"{at}_out"


class AttentionWrites:
    """One Attention of a recorded run, in float64; every answer is computed when asked for."""

    def __init__(self, model: Transformer, recorder: Recorder, layer: int) -> None:
        self.model, self.recorder, self.layer = model, recorder, layer
        self.at = f"blocks.{layer}.attn"
        module = model.get_submodule(self.at)
        assert isinstance(module, SelfAttention)
        self.attention = module
        self.around = sublayer(recorder, model, f"{self.at}_out")
        values = recorder.values
        self.pattern = values[f"{self.at}.pattern"].double()  # [head, query, key]
        self.v = values[f"{self.at}.v"].double()  # [key, head, d_head]
        self.out = values[f"{self.at}_out"].double()  # [pos, d_model]
        self.skip = values[self.around.skip].double()  # [pos, d_model]
        bias: Tensor | None = module.W_O.bias
        self.bias = None if bias is None else bias.double()  # [d_model]

    def writes(self, pos: int) -> Tensor:
        """Each head's write at one position [head, d_model]."""
        return self.attention.writes(self.recorder.values[f"{self.at}.z"][pos].double())

    def heads(self, pos: int) -> list[HeadWrite]:
        """Every head at one query."""
        writes, lengths = self.writes(pos), self.value_lengths()
        out, weights = self.out[pos], self.pattern[:, pos]  # [head, key]
        return [
            HeadWrite(
                head=head,
                label=f"L{self.layer}H{head}",
                write_length=float(write.norm()),
                cosine=cosine(write, self.skip[pos]),
                share=share(write, out),
                weights=weights[head].float(),
                value_lengths=lengths[head].float(),
                weighted_lengths=(weights[head] * lengths[head]).float(),
            )
            for head, write in enumerate(writes)
        ]

    def bias_write(self, pos: int) -> BiasWrite | None:
        """b_O at one query; null where Attention has no bias."""
        if self.bias is None:
            return None
        return BiasWrite(
            float(self.bias.norm()),
            cosine(self.bias, self.skip[pos]),
            share(self.bias, self.out[pos]),
        )

    def error(self, pos: int) -> float:
        """Largest difference between the heads' writes with b_O and the recorded ``attn_out``."""
        total = self.writes(pos).sum(0) + (0.0 if self.bias is None else self.bias)
        return float((total - self.out[pos]).abs().max())

    def value_lengths(self) -> Tensor:
        """|v W_O[h]| [head, key], by the Gram matrix of each head's rows of W_O."""
        weight = self.attention.W_O.weight.double()
        rows = weight.view(-1, self.attention.n_heads, self.attention.d_head)  # [d_model, head, d]
        gram = torch.einsum("mhd,mhe->hde", rows, rows)  # [head, d_head, d_head]
        squares = torch.einsum("jhd,hde,jhe->hj", self.v, gram, self.v)
        return squares.clamp(min=0).sqrt()

    def norm_based(self, pos: int) -> NormBased:
        """Contributions of every key to one query, and how much each query mixes."""
        carried_by_key = self.pattern[:, pos].T[..., None] * self.v  # [key, head, d_head]
        of_key = carried_by_key.flatten(1) @ self.attention.W_O.weight.double().T  # [key, d_model]
        with_skip = of_key.clone()
        with_skip[pos] += self.skip[pos]
        own = self.own()
        others = self.normed(self.out - (0.0 if self.bias is None else self.bias) - own)
        itself = self.normed(own + self.skip)
        far, near = others.norm(dim=-1), itself.norm(dim=-1)
        ratios = far / (far + near)
        return NormBased(
            attention=of_key.norm(dim=-1).float(),
            with_residual=with_skip.norm(dim=-1).float(),
            with_norm=self.normed(with_skip, pos).norm(dim=-1).float(),
            norm=self.around.norm_after or self.around.norm_before,
            norm_on_sum=self.around.norm_after is not None,
            mixing_ratio=float(ratios[pos]),
            mixing_ratios=ratios.float(),
        )

    def own(self) -> Tensor:
        """What each query takes from its own position, over all heads [pos, d_model]."""
        own_weights = self.pattern.diagonal(0, -2, -1).T  # [pos, head]
        mixed = (own_weights[..., None] * self.v).flatten(1)
        return mixed @ self.attention.W_O.weight.double().T

    def normed(self, x: Tensor, pos: int | None = None) -> Tensor:
        """The norm on the sum, with the divisor of each row's query, or of the one at ``pos``."""
        if self.around.norm_after is None:
            return x
        norm = self.model.get_submodule(self.around.norm_after)
        assert isinstance(norm, LayerNorm)
        scale = self.recorder.values[f"{self.around.norm_after}.scale"].double()  # [pos, 1]
        return frozen_norm(x, norm, scale if pos is None else scale[pos])

    def maps(self, head: int) -> Maps:
        """One head's weighted lengths and the layer's norm-based attention, for all queries.

        Lengths of sums over heads come from the Gram matrix of each key's values: an array
        [query, key, d_model] is never made.
        """
        weighted = self.pattern[head] * self.value_lengths()[head]
        values = self.attention.writes(self.v)  # [key, head, d_model]
        centred = self.normed_without_scale(values)
        gram = torch.einsum("jhm,jgm->jhg", centred, centred)  # [key, head, head]
        by_key = self.pattern.permute(2, 1, 0)  # [key, query, head]
        squares = ((by_key @ gram) * by_key).sum(-1).T  # [query, key]
        contributions = squares.clamp(min=0).sqrt()
        if self.around.norm_after is not None:
            contributions = (
                contributions / self.recorder.values[f"{self.around.norm_after}.scale"].double()
            )
        contributions.diagonal().copy_(self.normed(self.own() + self.skip).norm(dim=-1))
        return Maps(head, weighted.float(), contributions.float())

    def normed_without_scale(self, x: Tensor) -> Tensor:
        """Centred and times gamma where a norm acts on the sum, else as it is."""
        if self.around.norm_after is None:
            return x
        norm = self.model.get_submodule(self.around.norm_after)
        assert isinstance(norm, LayerNorm)
        return frozen_norm(x, norm, torch.ones(1, dtype=torch.float64))


def logit_effect(
    model: Transformer,
    recorder: Recorder,
    pos: int,
    start: str,
    writes: Tensor,
    bias: Tensor | None,
    tokens: list[int],
) -> LogitEffect | None:
    """Inner products of writes, carried to the end, with rows of the unembedding.

    Args:
        start: the point that the writes [write, d_model] are parts of.
        bias: another part of that point, or null.
        tokens: ids of the logits that are of interest.

    Returns:
        null where the model predicts no tokens.
    """
    exits = [step for step in recorder.steps if step.kind == "unembed"]
    if model.unembed is None or not exits:
        return None
    parts = writes if bias is None else torch.cat([writes, bias[None]])
    at_end, norms = carried(model, recorder, pos, start, parts, exits[0].inputs[0])
    effects = at_end @ model.unembed.table[tokens].double().T  # [write, token]
    return LogitEffect(
        tokens=tokens,
        of_writes=effects[: len(writes)].float(),
        of_bias=None if bias is None else effects[-1].float(),
        exact=not norms,
        reason="scale_held" if norms else None,
        frozen_norms=norms,
    )


def cosine(a: Tensor, b: Tensor) -> float:
    """Cosine of two vectors; not a number where either is zero."""
    return float(a @ b / (a.norm() * b.norm()))


def share(part: Tensor, whole: Tensor) -> float:
    """⟨part, whole⟩ / |whole|²."""
    return float(part @ whole / (whole @ whole))
