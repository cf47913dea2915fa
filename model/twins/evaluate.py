"""Figures of both twins: ``python -m model.twins.evaluate [--corpus DIR] [--checkpoints DIR]``.

Without arguments it runs the shipped weights on two short tales that ship with them and stand in no
training text, beside a 3-gram byte model with shipped counts. With a corpus it also runs on the
part of it that is never trained on; with checkpoints it also measures what float16 costs.
"""

import argparse
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from model.config import NORMS, Norm
from model.tokenizer import Tokenizer
from model.transformer import Transformer, with_weights
from model.twins import measures, scores, text, trigrams, weights
from model.twins.recipe import Recipe, twin_config
from model.twins.record import held_out_rows, rounded

SAMPLE = Path(__file__).with_name("sample")
HELD_OUT_BYTES = 80_000  # of each language: a few minutes on one thread for both twins
STRETCH = 25  # lines that are read in one go
STRONG = 0.4  # an induction head that is worth naming
PROMPTS = (
    "おじいさんは山へ、おばあさんは川へ行きました。おじいさんは",
    "太郎は本を読み、花子は歌を歌った。太郎は",
    "My name is Dorothy. Her name is Alice. My name is",
    "The cat sat on the mat. The dog sat on the",
)


@dataclass(frozen=True)
class Text:
    """Text that no twin was trained on, by language: as it stands and as tokens."""

    name: str
    plain: dict[text.Language, str]
    tokens: dict[text.Language, text.Tokens]


def sample() -> Text:
    """The two tales that ship with the weights, whole."""
    lines: dict[text.Language, list[str]] = {}
    for name in text.LANGUAGES:
        before, after = text.read(SAMPLE, name)
        lines[name] = before + after
    return as_text("sample", lines)


def held_out(corpus: Path) -> Text:
    """Stretches of the ends of a corpus' files, never trained on."""
    return as_text(
        "held_out", {name: spread(text.read(corpus, name)[1]) for name in text.LANGUAGES}
    )


def spread(lines: list[str]) -> list[str]:
    """About ``HELD_OUT_BYTES`` of the lines: every k-th stretch of them, evenly over the whole."""
    total = sum(len(line.encode()) for line in lines)
    every = max(1, round(total / HELD_OUT_BYTES))
    stretches = range(0, len(lines), every * STRETCH)
    return [line for first in stretches for line in lines[first : first + STRETCH]]


def as_text(name: str, lines: dict[text.Language, list[str]]) -> Text:
    return Text(
        name,
        {language: "".join(of) for language, of in lines.items()},
        {language: text.encode(of) for language, of in lines.items()},
    )


def compression(model: Transformer, sources: list[Text], bos_id: int) -> dict[str, Any]:
    """Bits per byte by text and language."""
    return {
        source.name: {
            language: measures.bits_per_byte(
                model, tokens, len(source.plain[language].encode()), bos_id
            )
            for language, tokens in source.tokens.items()
        }
        for source in sources
    }


def heads(model: Transformer, source: Text, bos_id: int) -> dict[str, Any]:
    """The best previous-token head on a text, induction heads on repeated random tokens."""
    rows = [held_out_rows(of, bos_id, Recipe.short) for of in source.tokens.values()]
    pattern, _ = scores.patterns(model, torch.cat(rows))
    repeated = scores.repeated_tokens(bos_id, model.config.d_vocab)
    again, state = scores.patterns(model, repeated)
    induction = scores.induction(again, repeated)
    first, second = scores.halves(scores.token_losses(model, state, repeated))
    return {
        "text": source.name,
        "previous_token": asdict(measures.best(scores.previous_token(pattern))),
        "induction": asdict(measures.best(induction)),
        "induction_heads": [asdict(head) for head in measures.strong(induction, STRONG)],
        "repeated": {"first": first, "second": second},
    }


def evaluate(corpus: Path | None = None, checkpoints: Path | None = None) -> dict[str, Any]:
    """All figures of both twins and of the 3-gram byte model, as plain JSON values."""
    bos_id, _ = text.bos_and_size()
    tokenizer = Tokenizer.load()
    sources = [sample()] + ([held_out(corpus)] if corpus else [])
    table = trigrams.TrigramModel(*trigrams.load())
    result: dict[str, Any] = {
        "texts": {
            source.name: {
                language: {"bytes": len(plain.encode()), "tokens": len(source.tokens[language].ids)}
                for language, plain in source.plain.items()
            }
            for source in sources
        },
        "trigrams": {
            source.name: {
                language: table.bits_per_byte(plain) for language, plain in source.plain.items()
            }
            for source in sources
        },
    }
    for norm in NORMS:
        model = with_weights(*weights.load(norm))
        result[norm] = {
            "bits_per_byte": compression(model, sources, bos_id),
            "heads": heads(model, sources[-1], bos_id),
            "predictions": [
                asdict(measures.predict(model, tokenizer, prompt)) for prompt in PROMPTS
            ],
        }
        if checkpoints:
            exact = with_weights(twin_config(norm, model.config.d_vocab), full(checkpoints, norm))
            result[norm]["float16_costs"] = {
                name: {
                    language: result[norm]["bits_per_byte"][name][language] / bits - 1
                    for language, bits in by_language.items()
                }
                for name, by_language in compression(exact, sources, bos_id).items()
            }
    return rounded(result)  # type: ignore[no-any-return]


def full(checkpoints: Path, norm: Norm) -> dict[str, Tensor]:
    """The float32 parameters of a finished run."""
    state: dict[str, Any] = torch.load(checkpoints / f"{norm}.pt", weights_only=True)
    parameters: dict[str, Tensor] = state["model"]
    return parameters


def report(result: dict[str, Any]) -> Iterator[str]:
    """The figures as lines to read."""
    yield "bits per byte (smaller is better)"
    for name, sizes in result["texts"].items():
        for language, size in sizes.items():
            row = "  ".join(
                f"{norm} {result[norm]['bits_per_byte'][name][language]:.3f}" for norm in NORMS
            )
            floor = result["trigrams"][name][language]
            yield f"  {name}, {language}, {size['bytes']} bytes: {row}  3-gram {floor:.3f}"
    for norm in NORMS:
        found = result[norm]["heads"]
        yield f"{norm}:"
        for score in ("previous_token", "induction"):
            head = found[score]
            yield f"  {score}: {head['label']} {head['value']:.3f} (chance {head['chance']:.3f})"
        others = ", ".join(f"{h['label']} {h['value']:.2f}" for h in found["induction_heads"])
        yield f"  induction heads from {STRONG}: {others or 'none'}"
        repeated = found["repeated"]
        yield (
            f"  loss on random tokens {repeated['first']:.2f} nats, "
            f"said again {repeated['second']:.2f}"
        )
        for source, costs in result[norm].get("float16_costs", {}).items():
            shares = ", ".join(f"{name} {100 * cost:+.3f} %" for name, cost in costs.items())
            yield f"  float16 instead of float32, {source}: {shares}"
        for prediction in result[norm]["predictions"]:
            top = ", ".join(f"{piece!r} {p:.2f}" for piece, p in prediction["top"])
            yield f"  {prediction['text']} → {top}"


def main() -> None:
    """Parse the command line, measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpus", type=Path, help="folder of the training text")
    parser.add_argument("--checkpoints", type=Path, help="folder of pre.pt and post.pt")
    parser.add_argument("--json", type=Path, help="also write the figures there")
    options = parser.parse_args()
    result = evaluate(options.corpus, options.checkpoints)
    for line in report(result):
        print(line)
    if options.json:
        options.json.write_text(json.dumps(result, ensure_ascii=False, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
