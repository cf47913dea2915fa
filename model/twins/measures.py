"""What a trained model can do, as figures; must not know where weights or texts come from."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from model.tokenizer import Tokenizer
from model.transformer import Transformer
from model.twins import fused, scores
from model.twins.text import Tokens


@dataclass(frozen=True)
class BestHead:
    """The head with the highest score, and what even attention would score."""

    label: str
    value: float
    chance: float


@dataclass(frozen=True)
class Prediction:
    """A text and the tokens that the model holds likeliest after it."""

    text: str
    top: list[tuple[str, float]]


def best(score: scores.HeadScore) -> BestHead:
    """The best head of a score."""
    layer, head = divmod(int(score.values.argmax()), score.values.shape[1])
    return BestHead(f"L{layer}H{head}", float(score.values[layer, head]), score.chance)


def strong(score: scores.HeadScore, least: float) -> list[BestHead]:
    """All heads that reach ``least``, strongest first."""
    found = [
        BestHead(f"L{layer}H{head}", float(score.values[layer, head]), score.chance)
        for layer, head in (score.values >= least).nonzero().tolist()
    ]
    return sorted(found, key=lambda item: -item.value)


def bits_per_byte(model: Transformer, text: Tokens, n_bytes: int, bos_id: int) -> float:
    """Bits that the model needs for a text, divided by its UTF-8 bytes.

    Windows are as long as the model allows, start with ``<s>`` and overlap by half, so that each
    token is scored once and, but for the first window, with at least half a window before it.
    """
    n_new = model.config.n_ctx // 2
    nats = 0.0
    for first in range(0, len(text.ids), n_new):
        begin = max(0, first - (model.config.n_ctx - 1 - n_new))
        window = text.ids[begin : first + n_new]
        ids = torch.tensor([[bos_id, *window]])
        with torch.no_grad():
            state = fused.final_state(model, ids)
        losses = scores.token_losses(model, state, ids)[0]  # [token of the window]
        nats += float(losses[first - begin :].double().sum())
    return nats / math.log(2) / n_bytes


def predict(model: Transformer, tokenizer: Tokenizer, text: str, top_k: int = 5) -> Prediction:
    """The likeliest next tokens after a text."""
    ids = torch.tensor([token.id for token in tokenizer.encode(text, bos=True)])
    assert model.unembed is not None, "a language model has an unembedding"
    with torch.no_grad():
        logits: Tensor = model.unembed(model(ids)[-1])  # [d_vocab]
    probability, token = logits.softmax(-1).topk(top_k)
    return Prediction(
        text,
        [
            (tokenizer.piece(i), p)
            for i, p in zip(token.tolist(), probability.tolist(), strict=True)
        ],
    )
