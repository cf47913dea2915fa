"""Train one twin: ``python -m model.twins.train --norm pre|post --corpus DIR``; knows no pages.

A run is a pure function of its recipe and the corpus: the same command gives the same losses, and a
run that was stopped and started again gives what an unbroken one gives (on one thread).
"""

import argparse
import dataclasses
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from model.transformer import Transformer
from model.twins import fused, text
from model.twins.batches import Batches
from model.twins.initial import untrained
from model.twins.muon import Muon
from model.twins.recipe import Recipe, twin_config
from model.twins.record import Probes, Record, gradient_norms, moments, part_names

CHECKPOINT_SECONDS = 180.0


@dataclass
class Run:
    """A training run in progress: everything a checkpoint must hold."""

    recipe: Recipe
    model: Transformer
    muon: Muon
    adam: torch.optim.AdamW
    record: Record
    step: int = 0
    losses: list[float] = field(default_factory=list)
    seconds: float = 0.0

    def save(self, path: Path) -> None:
        """Write a checkpoint; a reader, or a crash, never meets half of one."""
        state = {
            "recipe": dataclasses.asdict(self.recipe),
            "model": self.model.state_dict(),
            "muon": self.muon.state_dict(),
            "adam": self.adam.state_dict(),
            "record": dataclasses.asdict(self.record),
            "step": self.step,
            "losses": self.losses,
            "seconds": self.seconds,
        }
        partial = path.with_suffix(".partial")
        torch.save(state, partial)
        partial.replace(path)

    def resume(self, path: Path) -> None:
        """Take up a checkpoint of the same recipe.

        Raises:
            ValueError: the checkpoint was made by another recipe.
        """
        state: dict[str, Any] = torch.load(path, weights_only=True)
        if state["recipe"] != dataclasses.asdict(self.recipe):
            raise ValueError(f"{path} belongs to another recipe: {state['recipe']}")
        self.model.load_state_dict(state["model"])
        self.muon.load_state_dict(state["muon"])
        self.adam.load_state_dict(state["adam"])
        self.record = Record(**state["record"])
        self.step, self.losses, self.seconds = state["step"], state["losses"], state["seconds"]


def start(recipe: Recipe, d_vocab: int) -> Run:
    """A run before its first step."""
    model = untrained(twin_config(recipe.norm, d_vocab), recipe.seed)
    hidden = [p for p in model.blocks.parameters() if p.ndim == 2]
    vectors = [p for p in model.parameters() if p.ndim == 1]
    adam = torch.optim.AdamW(
        [
            {"params": [model.embed.weight], "weight_decay": recipe.weight_decay},
            {"params": vectors, "weight_decay": 0.0},
        ],
        lr=recipe.adam,
        betas=(0.9, 0.98),
        fused=True,
    )
    muon = Muon(hidden, lr=recipe.muon, weight_decay=recipe.weight_decay)
    return Run(recipe, model, muon, adam, Record(part_names(model)))


def backward(run: Run, batches: Batches) -> float:
    """Gradients of the loss on this step's rows; returns the loss in nats per token."""
    rows = batches.at(run.step)
    run.model.zero_grad()
    loss = fused.loss(run.model, rows.ids, rows.targets, run.recipe.low_precision)
    loss.backward()  # type: ignore[no-untyped-call]
    return loss.item()


def update(run: Run) -> None:
    """Move the parameters along the gradients that are there."""
    share = run.recipe.rate(run.step)
    torch.nn.utils.clip_grad_norm_(run.model.parameters(), run.recipe.clip)
    run.muon.lr = share * run.recipe.muon
    for group in run.adam.param_groups:
        group["lr"] = share * run.recipe.adam
    run.muon.step()
    run.adam.step()


def note(run: Run, probes: Probes, loss: float) -> None:
    """Measure the model as it is now; ``loss`` stands in where no step has been made yet."""
    since = run.record.steps[-1] if run.record.steps else 0
    recent = run.losses[since:] or [loss]
    run.record.steps.append(run.step)
    run.record.rate.append(run.recipe.rate(run.step))
    run.record.loss.append(sum(recent) / len(recent))
    run.record.gradient.append(gradient_norms(run.model))
    probes.measure(run.model, run.record)


def go(
    run: Run, batches: Batches, probes: Probes, checkpoint: Path | None, until: float = float("inf")
) -> bool:
    """Train to the end, or until a moment of ``time.monotonic``; whether the end was reached."""
    at = moments(run.recipe.steps)
    bar = ProgressBar(run.recipe.steps, run.step)
    saved = clock = time.monotonic()
    while True:
        done = run.step == run.recipe.steps
        now = time.monotonic()
        run.seconds += now - clock
        clock = now
        if checkpoint and (done or now >= until or now - saved > CHECKPOINT_SECONDS):
            # Before measuring: a checkpoint holds whole steps only.
            if not done:
                run.save(checkpoint)
            saved = now
        if now >= until and not done:
            return False
        loss = backward(run, batches)
        if run.step in at and run.step not in run.record.steps[-1:]:
            note(run, probes, loss)
            bar.milestone(run.record)
        if done:
            if checkpoint:
                run.save(checkpoint)
            return True
        update(run)
        run.losses.append(loss)
        run.step += 1
        bar.show(run.step, loss)


class ProgressBar:
    """One line that fills up on a terminal; a line per measurement in a log."""

    def __init__(self, total: int, done: int) -> None:
        self.total, self.first = total, done
        self.began = self.shown = time.monotonic()
        self.live = sys.stderr.isatty()

    def show(self, step: int, loss: float) -> None:
        now = time.monotonic()
        if not self.live or (now - self.shown < 0.5 and step < self.total):
            return
        self.shown = now
        speed = self.speed(step)
        filled = 30 * step // self.total
        bar = "█" * filled + "░" * (30 - filled)
        left = (self.total - step) / max(1e-6, speed)
        print(
            f"\r{bar} {step}/{self.total}  loss {loss:.3f}  {speed:.1f} steps/s  "
            f"{left // 60:.0f}:{left % 60:02.0f} left ",
            end="" if step < self.total else "\n",
            file=sys.stderr,
            flush=True,
        )

    def speed(self, step: int) -> float:
        """Steps a second since this process began; a clock that stood still counts as a tick."""
        return (step - self.first) / max(1e-6, time.monotonic() - self.began)

    def milestone(self, record: Record) -> None:
        if self.live:
            print(file=sys.stderr)
        speed = self.speed(record.steps[-1])
        held_out = ", ".join(f"{name} {series[-1]:.3f}" for name, series in record.held_out.items())
        print(
            f"step {record.steps[-1]}: loss {record.loss[-1]:.3f}, held out {held_out}, "
            f"best previous-token {max(map(max, record.previous_token[-1])):.2f}, "
            f"best induction {max(map(max, record.induction[-1])):.2f}, "
            f"repeated {record.repeated_first[-1]:.2f} → {record.repeated_second[-1]:.2f}, "
            f"{speed:.2f} steps/s",
            file=sys.stderr,
            flush=True,
        )


def prepare(recipe: Recipe, corpus: Path) -> tuple[Batches, Probes, int]:
    """Read and encode the corpus: training rows, measuring rows, size of the vocabulary."""
    bos_id, d_vocab = text.bos_and_size()
    parts = {name: text.read(corpus, name) for name in text.LANGUAGES}
    training = {name: text.encode(lines) for name, (lines, _) in parts.items()}
    held_out = {name: text.encode(lines) for name, (_, lines) in parts.items()}
    batches = Batches(recipe, training, bos_id, d_vocab)
    return batches, Probes(held_out, bos_id, d_vocab, recipe.short), d_vocab


def main(arguments: list[str] | None = None) -> Run:
    """Parse the command line and train, taking up a checkpoint of the same recipe if there."""
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add("--norm", choices=("pre", "post"), required=True)
    add("--corpus", type=Path, required=True, help="folder of en_*.txt and ja_*.txt")
    add("--out", type=Path, default=Path("training"), help="folder of checkpoints")
    add("--steps", type=int, default=13000)
    add("--seed", type=int, default=1)
    add("--tokens-per-step", type=int, default=Recipe.tokens_per_step)
    add("--minutes", type=float, help="stop after so many, to be resumed by the same command")
    add("--muon", type=float, default=Recipe.muon, help="peak rate of the blocks' matrices")
    add("--adam", type=float, default=Recipe.adam, help="peak rate of everything else")
    add("--warm-up", type=int, default=Recipe.warm_up, help="steps of rising rate")
    options = parser.parse_args(arguments)
    # Sums over threads come in any order: one thread makes runs repeat to the last bit.
    torch.set_num_threads(1)
    recipe = Recipe(
        options.norm,
        options.steps,
        options.seed,
        options.tokens_per_step,
        muon=options.muon,
        adam=options.adam,
        warm_up=options.warm_up,
    )
    began = time.monotonic()
    batches, probes, d_vocab = prepare(recipe, options.corpus)
    run = start(recipe, d_vocab)
    options.out.mkdir(parents=True, exist_ok=True)
    checkpoint = options.out / f"{options.norm}.pt"
    if checkpoint.exists():
        run.resume(checkpoint)
    until = began + 60 * options.minutes if options.minutes else float("inf")
    if go(run, batches, probes, checkpoint, until):
        print(f"{checkpoint}: {run.step} steps, {run.seconds / 60:.0f} minutes")
    else:
        print(f"{checkpoint}: stopped at step {run.step}; the same command goes on")
    return run


if __name__ == "__main__":
    main()
