"""The shape of a trained model's record; must not be used to answer a request."""

from typing import Any

from app.replies import Reply
from model.config import Norm


class TrainingSeriesReply(Reply):
    parts: list[str]
    steps: list[int]
    rate: list[float]
    loss: list[float]
    held_out: dict[str, list[float]]
    gradient: list[list[float]]
    previous_token: list[list[list[float]]]
    induction: list[list[list[float]]]
    repeated_first: list[float]
    repeated_second: list[float]


class TrainingRunReply(Reply):
    recipe: dict[str, Any]
    steps_done: int
    minutes: float
    record: TrainingSeriesReply


class HeadScoreReply(Reply):
    label: str
    value: float
    chance: float


class TrainingReply(Reply):
    runs: dict[Norm, TrainingRunReply]
    chance: dict[str, float]
    induction_heads: dict[Norm, list[HeadScoreReply]]
    evaluation: dict[str, Any]
    high_rate: list[dict[Norm, TrainingRunReply]]
