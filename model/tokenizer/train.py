"""Learn the vocabulary: `python -m model.tokenizer.train --corpus DIR [--out FILE]`.

It knows where the training text lies and how much of each language to read; encoding is not its
business, and nothing imports it when a text is encoded.
"""

import argparse
import itertools
import json
from collections.abc import Iterator
from pathlib import Path

from tokenizers import Regex, decoders, models, pre_tokenizers, trainers
from tokenizers import Tokenizer as HuggingFaceTokenizer

from model.tokenizer import BOS_PIECE, SHIPPED, Tokenizer, byte_piece
from model.tokenizer.scripts import PRE_SPLIT

D_VOCAB = 6144
N_CHARACTERS = 2500
HELD_OUT_EVERY = 50
# Characters of text read per language, at most. Japanese says the same in fewer, and its kanji take
# most of the alphabet; with these two amounts both languages read about equally well.
CHARACTERS_READ = {"en": 12_000_000, "ja": 4_500_000}

# Kept whatever their frequency, so that ordinary typing never falls back to bytes.
_ALWAYS = (
    [chr(c) for c in range(0x20, 0x7F)]
    + ["\n", "\t", "\u3000"]
    + list("àâäçèéêëîïñôöùûüßÉ")
    + [chr(c) for c in range(0x3041, 0x3097)]
    + [chr(c) for c in range(0x30A1, 0x30FB)]
    + list("ー・、。「」『』（）！？…―—–‘’“”〜～々〇：；，．＝＋－／％")
    + [chr(c) for c in range(0xFF10, 0xFF1A)]
)


def lines(corpus: Path, language: str, held_out: bool) -> Iterator[str]:
    """Lines of `corpus/<language>_*.txt`, newline included; every fiftieth is held out."""
    for path in sorted(corpus.glob(f"{language}_*.txt")):
        with path.open(encoding="utf-8") as file:
            for number, line in enumerate(file):
                if (number % HELD_OUT_EVERY == 0) == held_out:
                    yield line


def training_lines(corpus: Path) -> Iterator[str]:
    """The held-in lines of both languages, up to `CHARACTERS_READ` each, evenly spread."""
    for language, limit in CHARACTERS_READ.items():
        total = sum(len(line) for line in lines(corpus, language, held_out=False))
        share = min(1.0, limit / total)
        credit = 0.0
        for line in lines(corpus, language, held_out=False):
            credit += share
            if credit >= 1.0:
                credit -= 1.0
                yield line


def train(corpus: Path) -> HuggingFaceTokenizer:
    """Train a BPE vocabulary over characters; the result holds the 256 byte pieces and `<s>`.

    Source: Sennrich et al. 2016, "Neural Machine Translation of Rare Words with Subword Units".
    """
    tokenizer = HuggingFaceTokenizer(models.BPE(byte_fallback=True))
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(PRE_SPLIT), behavior="isolated")
    reserved = [BOS_PIECE, *(byte_piece(value) for value in range(256))]
    trainer = trainers.BpeTrainer(
        vocab_size=D_VOCAB,
        limit_alphabet=N_CHARACTERS,
        initial_alphabet=_ALWAYS,
        special_tokens=reserved,
        max_token_length=16,
        show_progress=False,
    )
    tokenizer.train_from_iterator(training_lines(corpus), trainer)
    tokenizer.decoder = decoders.Sequence([decoders.ByteFallback(), decoders.Fuse()])
    # The trainer registers reserved pieces as special: typed literally ("<s>") they would be
    # recognised in a reader's text. As plain entries that no merge makes they never are.
    description = json.loads(tokenizer.to_str())
    description["added_tokens"] = []
    return HuggingFaceTokenizer.from_str(json.dumps(description))


def figures(tokenizer: Tokenizer, corpus: Path, language: str) -> dict[str, float]:
    """Measured on held-out lines: characters and bytes per token, share of byte tokens."""
    n_tokens = n_bytes = n_characters = n_byte_tokens = 0
    for line in itertools.islice(lines(corpus, language, held_out=True), 4000):
        tokens = tokenizer.encode(line)
        n_tokens += len(tokens)
        n_characters += len(line)
        n_bytes += len(line.encode())
        n_byte_tokens += sum(tokenizer.is_byte(token.id) for token in tokens)
    return {
        "characters_per_token": round(n_characters / n_tokens, 3),
        "bytes_per_token": round(n_bytes / n_tokens, 3),
        "byte_token_percent": round(100 * n_byte_tokens / n_tokens, 3),
    }


def main() -> None:
    """Train, write the file and print the figures on held-out lines."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpus", type=Path, required=True, help="folder of en_*.txt, ja_*.txt")
    parser.add_argument("--out", type=Path, default=SHIPPED)
    arguments = parser.parse_args()
    train(arguments.corpus).save(str(arguments.out))
    tokenizer = Tokenizer.load(arguments.out)
    print(f"{arguments.out}: {tokenizer.d_vocab} entries")
    for language in CHARACTERS_READ:
        print(language, figures(tokenizer, arguments.corpus, language))


if __name__ == "__main__":
    main()
