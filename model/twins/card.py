"""The figures of the model card, made from the training record, so that no figure is typed by hand.

It must not measure anything.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from model.config import NORMS

CARD = Path(__file__).with_name("MODEL_CARD.md")
BEGIN = "<!-- figures: written by model.twins.export -->"
END = "<!-- end of figures -->"
NAMES = {"pre": "Pre-LN", "post": "Post-LN"}
TEXTS = {
    ("sample", "en"): "shipped tale, English",
    ("sample", "ja"): "shipped tale, Japanese",
    ("held_out", "en"): "held-out corpus, English",
    ("held_out", "ja"): "held-out corpus, Japanese",
}


def write(record: dict[str, Any], file: Path = CARD) -> None:
    """Replace what stands between the two marks of the card."""
    before, rest = file.read_text(encoding="utf-8").split(BEGIN)
    after = rest.split(END)[1]
    body = "\n".join([BEGIN, *figures(record), END])
    file.write_text(before + body + after, encoding="utf-8")


def figures(record: dict[str, Any]) -> Iterator[str]:
    """The lines between the marks."""
    yield from _runs(record)
    yield from _compression(record["evaluation"])
    yield from _heads(record["evaluation"])
    yield from _predictions(record["evaluation"])
    yield from _high_rate(record["high_rate"])


def _runs(record: dict[str, Any]) -> Iterator[str]:
    yield "| run | steps | tokens | held-out loss at the end, English / Japanese (nats per token) |"
    yield "|---|---|---|---|"
    for norm in NORMS:
        run = record["runs"][norm]
        planned, done = run["recipe"]["steps"], run["steps_done"]
        tokens = done * run["recipe"]["tokens_per_step"] / 1e6
        held_out = " / ".join(f"{series[-1]:.3f}" for series in run["record"]["held_out"].values())
        steps = f"{done:,}" if done == planned else f"{done:,} of {planned:,}"
        yield f"| {NAMES[norm]} | {steps} | {tokens:.1f} M | {held_out} |"
    yield ""


def _compression(evaluation: dict[str, Any]) -> Iterator[str]:
    yield "| bits per byte | bytes | Pre-LN | Post-LN | 3-gram bytes | float16 costs, Pre / Post |"
    yield "|---|---|---|---|---|---|"
    for (source, language), title in TEXTS.items():
        size = evaluation["texts"][source][language]["bytes"]
        bits = [evaluation[norm]["bits_per_byte"][source][language] for norm in NORMS]
        costs = [evaluation[norm]["float16_costs"][source][language] for norm in NORMS]
        floor = evaluation["trigrams"][source][language]
        shares = " / ".join(f"{100 * cost:+.3f} %" for cost in costs)
        yield f"| {title} | {size:,} | {bits[0]:.3f} | {bits[1]:.3f} | {floor:.3f} | {shares} |"
    yield ""


def _heads(evaluation: dict[str, Any]) -> Iterator[str]:
    yield "| | Pre-LN | Post-LN | even attention |"
    yield "|---|---|---|---|"
    found = [evaluation[norm]["heads"] for norm in NORMS]
    for score, title in (
        ("previous_token", "best previous-token head, held-out text"),
        ("induction", "best induction head, repeated random tokens"),
    ):
        cells = " | ".join(f"{of[score]['label']}: {of[score]['value']:.2f}" for of in found)
        yield f"| {title} | {cells} | {found[0][score]['chance']:.3f} |"
    cells = " | ".join(
        ", ".join(f"{head['label']} {head['value']:.2f}" for head in of["induction_heads"])
        or "none"
        for of in found
    )
    yield f"| all induction heads of 0.4 or more | {cells} | |"
    cells = " | ".join(
        f"{of['repeated']['first']:.2f} → {of['repeated']['second']:.2f}" for of in found
    )
    yield f"| loss on 48 random tokens → on the same again (nats) | {cells} | |"
    yield ""


def _predictions(evaluation: dict[str, Any]) -> Iterator[str]:
    yield "| text | Pre-LN | Post-LN |"
    yield "|---|---|---|"
    pairs = zip(*(evaluation[norm]["predictions"] for norm in NORMS), strict=True)
    for pre, post in pairs:
        cells = " | ".join(
            ", ".join(f"`{piece}` {p:.2f}" for piece, p in said["top"][:3]) for said in (pre, post)
        )
        yield f"| {pre['text']} | {cells} |"
    yield ""


def _high_rate(pairs: list[dict[str, Any]]) -> Iterator[str]:
    yield "| peak rates (Muon, AdamW), warm-up | steps | last training loss, Pre-LN | Post-LN |"
    yield "|---|---|---|---|"
    for pair in pairs:
        recipe = pair["pre"]["recipe"]
        losses = " | ".join(f"{pair[norm]['record']['loss'][-1]:.2f}" for norm in NORMS)
        yield (
            f"| {recipe['muon']:g}, {recipe['adam']:g}, {recipe['warm_up']} steps "
            f"| {pair['pre']['steps_done']} | {losses} |"
        )
