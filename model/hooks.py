"""Forward hooks that let one run be recorded; must not know what the recorded values mean.

Hooks are registered once, when a model is built. What they record into belongs to the call, so
that requests in other threads never see each other. The recorder keeps references, never copies:
no operation of a run works in place, so a kept tensor stays what it was.
"""

import inspect
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from torch import Tensor, nn

from model.block import Block
from model.layers import (
    Add,
    AddThree,
    Embed,
    FeedForward,
    HookPoint,
    LayerNorm,
    LearnedPositions,
    SelfAttention,
    SinusoidalPositions,
    TypeEmbed,
    Unembed,
)

KINDS: dict[type[nn.Module], str] = {
    Embed: "embed",
    SinusoidalPositions: "embed",
    LearnedPositions: "embed",
    TypeEmbed: "embed",
    Add: "add",
    AddThree: "add",
    LayerNorm: "layer_norm",
    SelfAttention: "attention",
    FeedForward: "mlp",
    Unembed: "unembed",
}

# A module is named after what it makes, save these: Attention and FFN are known by their own names.
OUTPUTS = {"attn": "attn_out", "mlp": "mlp_out", "unembed": "logits"}


@dataclass(frozen=True)
class Source:
    """The lines of code that computed a step."""

    file: str
    first_line: int
    lines: list[str]


@dataclass(frozen=True)
class Step:
    """One module as it ran: which points it read, which one it made."""

    name: str
    kind: str
    inputs: list[str]
    output: str
    source: Source


@dataclass
class Recorder:
    """What one call keeps: chosen values, the steps in order, and which names share a tensor.

    Attributes:
        keep: names of the points whose values are wanted.
        values: name to tensor, without the batch axis that the run never had.
        same_as: name to the name that the very same tensor bore before.
    """

    keep: frozenset[str]
    values: dict[str, Tensor] = field(default_factory=dict)
    ran: list[tuple["Wired", list[str]]] = field(default_factory=list)
    same_as: dict[str, str] = field(default_factory=dict)
    # By identity of the tensor; `alive` keeps each one, since a freed tensor's id is used again.
    names: dict[int, str] = field(default_factory=dict)
    alive: list[Tensor] = field(default_factory=list)

    @property
    def steps(self) -> list[Step]:
        """What ran, in order."""
        return [Step(w.name, w.kind, inputs, w.output, w.source) for w, inputs in self.ran]

    def note(self, point: str, value: Tensor) -> None:
        """Record a value of the stream under its name, and what else it is called."""
        before = self.names.get(id(value))
        if before is None:
            self.alive.append(value)
        else:
            self.same_as[point] = before
        self.names[id(value)] = point
        if point in self.keep:
            self.values[point] = value

    def origin(self, point: str) -> str:
        """The name that the step which made a point's tensor gave it."""
        while point in self.same_as:
            point = self.same_as[point]
        return point

    def inputs(self, args: tuple[Any, ...]) -> list[str]:
        """Names of the points among a module's arguments; token ids are none."""
        return [self.names[id(arg)] for arg in args if id(arg) in self.names]


@dataclass(frozen=True)
class Wired:
    """What is known of a step's module before it runs."""

    name: str
    kind: str
    output: str
    source: Source


class _Active(threading.local):
    """Whom the hooks of this thread report to."""

    recorder: Recorder | None = None


_active = _Active()


@contextmanager
def recording(recorder: Recorder) -> Iterator[Recorder]:
    """Let this thread's hooks write into ``recorder`` until the block ends, however it ends."""
    _active.recorder = recorder
    try:
        yield recorder
    finally:
        _active.recorder = None


def attach(model: nn.Module) -> None:
    """Register the hooks on every named point of ``model``, once and for good."""
    sources = {kind: source_of(kind) for kind in {type(m) for m in model.modules()} & KINDS.keys()}
    for name, module in model.named_modules():
        kind = KINDS.get(type(module))
        if isinstance(module, HookPoint):
            module.register_forward_hook(_value_hook(name))
        elif isinstance(module, Block):
            module.register_forward_pre_hook(_entry_hook(f"{name}.resid_pre"))
            module.register_forward_hook(_exit_hook(f"{name}.out"))
        elif kind is not None:
            module.register_forward_hook(
                _step_hook(Wired(name, kind, output_of(name, kind), sources[type(module)]))
            )


def output_of(name: str, kind: str) -> str:
    """The point that a module makes: ``blocks.0.attn`` makes ``blocks.0.attn_out``."""
    if kind == "layer_norm":
        return f"{name}.out"
    head, dot, last = name.rpartition(".")
    return f"{head}{dot}{OUTPUTS.get(last, last)}"


def _value_hook(point: str) -> Callable[..., None]:
    def hook(module: nn.Module, args: tuple[Any, ...], value: Tensor) -> None:
        recorder = _active.recorder
        if recorder is not None and point in recorder.keep:
            recorder.values[point] = value

    return hook


def _entry_hook(point: str) -> Callable[..., None]:
    def hook(module: nn.Module, args: tuple[Any, ...]) -> None:
        recorder = _active.recorder
        if recorder is not None:
            recorder.note(point, args[0])

    return hook


def _exit_hook(point: str) -> Callable[..., None]:
    def hook(module: nn.Module, args: tuple[Any, ...], value: Tensor) -> None:
        recorder = _active.recorder
        if recorder is not None:
            recorder.note(point, value)

    return hook


def _step_hook(step: Wired) -> Callable[..., None]:
    def hook(module: nn.Module, args: tuple[Any, ...], value: Tensor) -> None:
        recorder = _active.recorder
        if recorder is not None:
            recorder.ran.append((step, recorder.inputs(args)))
            recorder.note(step.output, value)

    return hook


def source_of(module_type: type) -> Source:
    """The lines of ``forward``, from the file that is running."""
    lines, first_line = inspect.getsourcelines(module_type.forward)  # type: ignore[attr-defined]
    root = Path(__file__).parent.parent
    file = Path(inspect.getfile(module_type)).relative_to(root).as_posix()
    return Source(file, first_line, [line.rstrip("\n") for line in lines])
