"""Budgets, measured on this machine: `make bench`.

Times of one run are taken in turns with what they are compared with, so that a busy machine slows
both; a figure is the median over the turns, a ratio the median of the turns' ratios.
"""

import math
import random
import statistics
import time
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from app.encode import to_json
from model.checks import cheap_checks, non_finite
from model.hooks import Recorder, recording
from model.memory import keep_freed_memory
from model.points import catalogue
from model.registry import Registry, Runnable

# MiniLM's shape: what peers are measured on too.
SHAPE = {"d_model": 384, "n_heads": 12, "d_mlp": 1536, "n_layers": 6, "n_ctx": 512}
LENGTHS = (16, 64, 256, 512)
SECONDS = 4.0
MINIMUM_TURNS = 15


def in_turns(*contestants: Callable[[], object]) -> list[list[float]]:
    """Seconds of each contestant in each turn, after a turn that does not count.

    In another order in each turn: what a run leaves in the caches is not always the same one's.
    """
    seconds: list[list[float]] = []
    order, draw = list(range(len(contestants))), random.Random(0)
    started = time.perf_counter()
    while len(seconds) < MINIMUM_TURNS + 1 or time.perf_counter() - started < SECONDS:
        turn = [0.0] * len(contestants)
        draw.shuffle(order)
        for place in order:
            before = time.perf_counter()
            contestants[place]()
            turn[place] = time.perf_counter() - before
        seconds.append(turn)
    return seconds[1:]


def milliseconds(seconds: list[list[float]], contestant: int) -> float:
    return 1000 * statistics.median(turn[contestant] for turn in seconds)


def ratio(seconds: list[list[float]], over: int, under: int) -> float:
    return statistics.median(turn[over] / turn[under] for turn in seconds)


def bare_run(runnable: Runnable, ids: Tensor) -> Tensor:
    """The same arithmetic on the same weights, written as one function without modules."""
    config = runnable.config
    p = dict(runnable.plain.named_parameters())

    def linear(name: str, x: Tensor) -> Tensor:
        return F.linear(x, p[f"{name}.weight"], p[f"{name}.bias"])

    def norm(name: str, x: Tensor) -> Tensor:
        centred = x - x.mean(-1, keepdim=True)
        scale = (centred.square().mean(-1, keepdim=True) + config.eps).sqrt()
        return centred / scale * p[f"{name}.w"] + p[f"{name}.b"]

    def heads(x: Tensor) -> Tensor:
        return x.view(-1, config.n_heads, config.d_head).transpose(0, 1)

    def attention(name: str, x: Tensor) -> Tensor:
        q, k, v = (heads(linear(f"{name}.W_{letter}", x)) for letter in "QKV")
        pattern = (q @ k.mT / math.sqrt(config.d_head)).softmax(-1)
        return linear(f"{name}.W_O", (pattern @ v).transpose(0, 1).flatten(1))

    x = F.embedding(ids, p["embed.weight"]) * math.sqrt(config.d_model)
    x = x + runnable.plain.pos_embed(ids)
    for layer in range(config.n_layers):
        block = f"blocks.{layer}"
        x = norm(f"{block}.ln1", x + attention(f"{block}.attn", x))
        x = norm(
            f"{block}.ln2", x + linear(f"{block}.mlp.W_out", linear(f"{block}.mlp.W_in", x).relu())
        )
    return x


def recording_cost(runnable: Runnable, n: int) -> str:
    """One row: milliseconds and ratios at `n` tokens."""
    ids = torch.randint(
        257, runnable.config.d_vocab, (n,), generator=torch.Generator().manual_seed(n)
    )
    names = catalogue(runnable.config, n)
    everything = frozenset(name for name in names if not name.endswith("attn.result"))

    def recorded() -> Recorder:
        with recording(Recorder(everything)) as recorder:
            runnable.hooked(ids)
        return recorder

    def checked() -> None:
        recorder = recorded()
        cheap_checks(runnable, recorder, recorder.keep, non_finite(recorder.values))

    assert torch.allclose(bare_run(runnable, ids), runnable.plain(ids), atol=1e-4)
    seconds = in_turns(
        lambda: bare_run(runnable, ids), lambda: runnable.plain(ids), recorded, checked
    )
    plain, kept = milliseconds(seconds, 1), milliseconds(seconds, 2)
    return (
        f"{n:6}  {plain:8.2f}  {kept:8.2f}  "
        f"{ratio(seconds, 1, 0):12.3f}  {ratio(seconds, 2, 1):12.3f}  {ratio(seconds, 3, 1):12.3f}"
    )


def encoding_cost() -> None:
    """Print the time to write 200,000 float32 numbers as JSON."""
    values = torch.randn(200, 1000, generator=torch.Generator().manual_seed(0))
    seconds = in_turns(lambda: to_json(values), lambda: to_json(values, 4))
    print("\nEncoding 200,000 numbers to JSON, ms  (budget: about 10)")
    print(f"exact    {milliseconds(seconds, 0):6.1f}")
    print(f"4 digits {milliseconds(seconds, 1):6.1f}")


def main() -> None:
    """Measure and print."""
    keep_freed_memory()
    torch.set_num_threads(1)
    runnable = Registry().load("textbook", "post", None, SHAPE)
    print(f"Recording all points but attn.result; {SHAPE}, post, one thread")
    print(
        f"{'':6}  {'ms':>8}  {'ms':>8}  {'plain over':>12}  {'recorded':>12}  {'and checked':>12}"
    )
    print(
        f"{'tokens':>6}  {'plain':>8}  {'recorded':>8}  {'bare':>12}  {'over plain':>12}"
        f"  {'over plain':>12}"
    )
    print(f"{'budget':>6}  {'':8}  {'':8}  {'<= 1.05':>12}  {'<= 1.15':>12}  {'<= 2':>12}")
    with torch.no_grad():
        for n in LENGTHS:
            print(recording_cost(runnable, n), flush=True)
    encoding_cost()


if __name__ == "__main__":
    main()
