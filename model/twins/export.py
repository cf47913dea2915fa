"""Checkpoints to the files that ship: ``python -m model.twins.export --runs DIR --corpus DIR``.

Weights go to float16 safetensors, the byte counts of the training text to the 3-gram table, the
records of all runs with the evaluation to ``training.json``, and their figures to the model card.
It must not train.
"""

import argparse
import hashlib
import json
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file

from model.config import NORMS, Norm
from model.tokenizer import SHIPPED as VOCABULARY
from model.twins import card, text, trigrams, weights
from model.twins.evaluate import evaluate
from model.twins.record import Record, rounded

Checkpoint = dict[str, Any]


def read(runs: Path, norm: Norm) -> Checkpoint:
    """The checkpoint of one run."""
    state: Checkpoint = torch.load(runs / f"{norm}.pt", weights_only=True)
    return state


def write_weights(state: Checkpoint, norm: Norm) -> None:
    """One twin as float16 safetensors, with the digest of its vocabulary."""
    tensors = {name: value.to(torch.float16).contiguous() for name, value in state["model"].items()}
    digest = hashlib.sha256(VOCABULARY.read_bytes()).hexdigest()
    save_file(tensors, str(weights.path(norm)), metadata={"vocabulary_sha256": digest})
    weights.path(norm).chmod(0o644)  # save_file lets nobody else read it


def write_trigrams(corpus: Path) -> None:
    """Counts of the byte triples of the text that the twins are trained on."""
    lines = [line for name in text.LANGUAGES for line in text.read(corpus, name)[0]]
    trigrams.save(*trigrams.count("".join(lines)))


def run_entry(state: Checkpoint) -> dict[str, Any]:
    """One run as it stands in the record."""
    return {
        "recipe": state["recipe"],
        "steps_done": state["step"],
        "minutes": round(state["seconds"] / 60, 1),
        "record": Record(**state["record"]).as_json(),
    }


def write_record(runs: Path, high_rate: list[Path], evaluation: dict[str, Any]) -> None:
    """Everything that is known about the runs: one JSON file, and the card's figures."""
    states = {norm: read(runs, norm) for norm in NORMS}
    record = {
        "runs": {norm: run_entry(state) for norm, state in states.items()},
        "chance": {
            score: evaluation["pre"]["heads"][score]["chance"]
            for score in ("previous_token", "induction")
        },
        "induction_heads": {norm: evaluation[norm]["heads"]["induction_heads"] for norm in NORMS},
        "evaluation": evaluation,
        "high_rate": [
            {norm: run_entry(read(folder, norm)) for norm in NORMS} for folder in high_rate
        ],
    }
    compact = json.dumps(rounded(record), ensure_ascii=False, separators=(",", ":"))
    weights.RECORD.write_text(compact + "\n", encoding="utf-8")
    card.write(json.loads(compact))


def main() -> None:
    """Write all shipped files."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=Path, required=True, help="folder of pre.pt and post.pt")
    parser.add_argument("--corpus", type=Path, required=True, help="folder of the training text")
    parser.add_argument(
        "--high-rate",
        type=Path,
        nargs="*",
        default=[],
        help="folders of short runs at a higher learning rate",
    )
    options = parser.parse_args()
    torch.set_num_threads(1)
    for norm in NORMS:
        write_weights(read(options.runs, norm), norm)
    write_trigrams(options.corpus)
    evaluation = evaluate(options.corpus, options.runs)
    write_record(options.runs, options.high_rate, evaluation)


if __name__ == "__main__":
    main()
