"""Tokens of a folder's own tokenizer: labels, offsets, limits, refusals."""

import json

import pytest
import torch

from model import limits
from model.checkpoints.collection import Checkpoints
from tests.checkpoint_folders import (
    BERT_WORDS,
    GPT2_VOCABULARY,
    HARD_TEXTS,
    bert_tensors,
    byte_level_tokenizer,
    cf_bert,
    cf_gpt2,
    gpt2_tensors,
    word_bert,
    write_json,
)
from tests.checkpoint_runs import A12, approx, refusal, trace, values

# -- tokens ------------------------------------------------------------------------------------


def test_one_character_in_three_byte_tokens_keeps_its_offsets(models):
    folder = cf_gpt2(models / "gpt2")
    bytes_only = {piece: i for i, piece in enumerate(list(GPT2_VOCABULARY)[:256])}
    byte_level_tokenizer(bytes_only).save(str(folder / "tokenizer.json"))
    tokens = trace(models, "gpt2", "i ⭢ j").tokens
    spans = [(token.start, token.end) for token in tokens]
    assert spans == [(0, 1), (1, 2), (2, 3), (2, 3), (2, 3), (3, 4), (4, 5)]
    assert [(t.part, t.parts) for t in tokens[1:6]] == [
        (None, None),
        (1, 3),
        (2, 3),
        (3, 3),
        (None, None),
    ]
    assert [token.text for token in tokens[2:5]] == ["⭢"] * 3


def test_white_space_has_signs_and_raw_pieces_stay_in_the_reply(models):
    cf_gpt2(models / "gpt2")
    tokens = trace(models, "gpt2", "a\nb\tc d").tokens
    assert [token.label for token in tokens] == ["a", "↵", "b", "⇥", "c", "␣", "d"]
    assert [token.piece for token in tokens] == ["a", "Ċ", "b", "ĉ", "c", "Ġ", "d"]


def test_a_space_stays_with_the_token_that_holds_it(models):
    cf_gpt2(models / "gpt2")
    tokens = trace(models, "gpt2", "A B A").tokens
    assert [(t.label, t.piece, t.start, t.end) for t in tokens] == [
        ("A", "A", 0, 1),
        ("␣B", "ĠB", 1, 3),
        ("␣A", "ĠA", 3, 5),
    ]


def test_mixed_directions_are_covered_in_logical_order(models):
    cf_gpt2(models / "gpt2")
    text = "abc توْ def"
    tokens = trace(models, "gpt2", text).tokens
    covered = {i for token in tokens for i in range(token.start, token.end)}
    assert covered == set(range(len(text)))
    assert [t.start for t in tokens] == sorted(t.start for t in tokens)
    assert all(token.label for token in tokens)


KANA = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "ア", "##リ", "##ハ", "##バ"]


@pytest.mark.parametrize(
    ("settings", "pieces"),
    [
        ({"do_lower_case": True}, ["ア", "##リ", "##ハ", "##ハ"]),
        ({"do_lower_case": True, "strip_accents": False}, ["ア", "##リ", "##バ", "##バ"]),
    ],
)
def test_voiced_marks_that_a_tokenizer_strips_stay_in_the_source_slices(models, settings, pieces):
    tensors = bert_tensors(words=KANA)
    cf_bert(models / "bert", tensors, words=KANA, settings=settings, vocab_size=len(KANA))
    tokens = trace(models, "bert", "アリババ").tokens[1:-1]
    assert [token.piece for token in tokens] == pieces
    assert [(t.start, t.end) for t in tokens] == [(0, 1), (1, 2), (2, 3), (3, 4)]
    assert [t.text for t in tokens] == [t.label for t in tokens] == list("アリババ")


def test_unknown_characters_are_shown_as_unknown_with_a_word_of_why(models):
    cf_bert(models / "bert")
    t = trace(models, "bert", "A 猫 犬 猫 [UNK]")
    assert [token.label for token in t.tokens] == [
        "[CLS]", "A", "[UNK]", "[UNK]", "[UNK]", "[UNK]", "[SEP]",
    ]  # fmt: skip
    (flag,) = t.flags
    assert (flag.code, flag.count) == ("unknown_token", 3)
    assert flag.params == {"texts": ["猫", "犬"], "positions": [2, 3, 4]}
    assert [token.special for token in t.tokens] == [True, *[False] * 5, True]


def test_characters_that_a_tokenizer_drops_are_flagged(models):
    cf_bert(models / "bert")
    (flag,) = trace(models, "bert", "A\u200d\u0001 B").flags
    assert (flag.code, flag.count) == ("dropped_characters", 2)
    assert flag.params == {"characters": ["\u200d", "\u0001"]}


def test_marks_that_are_typed_are_marks(models):
    cf_bert(models / "bert")
    tokens = trace(models, "bert", "A [MASK] B").tokens
    assert [(t.piece, t.special, t.text) for t in tokens[1:4]] == [
        ("A", False, "A"),
        ("[MASK]", True, "[MASK]"),
        ("B", False, "B"),
    ]


@pytest.mark.parametrize(
    ("model", "fits", "too_long"),
    [
        ("gpt2", "A" + " A" * 15, "A" + " A" * 16),
        ("bert", " ".join(["A"] * 14), " ".join(["A"] * 15)),
    ],
)
def test_exactly_at_and_one_past_the_position_limit(models, model, fits, too_long):
    (cf_bert if model == "bert" else cf_gpt2)(models / model)
    assert len(trace(models, model, fits).tokens) == 16
    error = refusal(models, model, too_long)
    assert (error.code, error.params) == ("text_too_long", {"limit": 16, "length": 17})
    assert len(trace(models, model, fits).tokens) == 16


@pytest.mark.parametrize("text", HARD_TEXTS)
def test_labels_are_the_words_as_typed_repeated_numeric_or_markup(models, text):
    word_bert(models / "words")
    t = trace(models, "words", text, "blocks.0.attn.pattern")
    assert [token.label for token in t.tokens] == text.split()
    assert t.tensors[0].shape == [2, len(text.split()), len(text.split())]


def test_a_text_whose_maps_could_not_be_held_is_refused_with_both_numbers(models, monkeypatch):
    cf_gpt2(models / "gpt2")
    monkeypatch.setattr(limits, "MAX_SHARES", 2 * 5**2)
    assert len(trace(models, "gpt2", "A A A A A").tokens) == 5
    error = refusal(models, "gpt2", "A A A A A A")
    assert (error.code, error.params) == ("text_too_long_to_record", {"limit": 5, "length": 6})


def test_a_tokenizer_that_is_larger_than_the_table_is_refused_where_it_matters(models):
    cf_bert(models / "bert", words=[*BERT_WORDS, "Z"])
    (out,) = values(models, "bert", "A A B", "blocks.0.ln1.out[1]")
    assert out == approx(A12)
    error = refusal(models, "bert", "A Z")
    assert error.code == "token_beyond_table"
    assert error.params == {"token": "Z", "id": len(BERT_WORDS), "d_vocab": len(BERT_WORDS)}


def test_a_tokenizer_that_is_smaller_than_the_table_works(models):
    cf_bert(models / "bert", words=BERT_WORDS[:7])
    (mid,) = values(models, "bert", "A A B", "blocks.0.resid_mid[1]")
    assert mid == approx([-1.6099689, -0.5366563, 0.5366563, 1.6099689])


@pytest.mark.parametrize("file", ["tokenizer.json", "added_tokens.json"])
def test_an_added_token_with_a_number_out_of_order_is_named(models, file):
    folder = cf_gpt2(models / "gpt2")
    if file == "tokenizer.json":
        described = json.loads((folder / file).read_text())
        token = {"id": 10**6, "content": "<far>", "single_word": False, "lstrip": False}
        token |= {"rstrip": False, "normalized": False, "special": True}
        described["added_tokens"] = [token]
        write_json(folder / file, described)
        model = "gpt2"
    else:
        model = "bert"
        write_json(cf_bert(models / "bert") / file, {"<far>": 10**6})
    error = refusal(models, model)
    assert (error.code, error.params["token"], error.params["id"]) == (
        "token_ids_differ",
        "<far>",
        10**6,
    )


def test_a_tokenizer_that_would_cut_or_pad_texts_does_neither(models):
    folder = cf_gpt2(models / "gpt2")
    tokenizer = byte_level_tokenizer(GPT2_VOCABULARY)
    tokenizer.enable_truncation(4)
    tokenizer.enable_padding(length=12)
    tokenizer.save(str(folder / "tokenizer.json"))
    assert len(trace(models, "gpt2", "A A A A A A").tokens) == 6


def test_rows_of_the_table_that_no_piece_names_have_a_label(models):
    tensors = gpt2_tensors()
    rows = torch.cat([tensors["transformer.wte.weight"], torch.full((1, 4), 1.0)])
    rows[-1] = torch.tensor([-1e31, 0, 0, 1e31])
    cf_gpt2(models / "gpt2", tensors | {"transformer.wte.weight": rows}, vocab_size=len(rows))
    predictions = trace(models, "gpt2", "A").predictions
    assert predictions is not None
    top = predictions.positions[0][0]
    assert (top.id, top.piece, top.label) == (len(rows) - 1, "", f"#{len(rows) - 1}")


def test_byte_pieces_of_a_prediction_have_names_and_not_signs_of_failure(models):
    tokenizer = Checkpoints(models)
    cf_gpt2(models / "gpt2")
    vocabulary = tokenizer.load("gpt2", None, None).tokenizer
    assert vocabulary.label(GPT2_VOCABULARY["â"]) == "<0xE2>"
    assert vocabulary.label(GPT2_VOCABULARY["Ġ"]) == "␣"
    assert vocabulary.label(GPT2_VOCABULARY["ĠA"]) == "␣A"
    assert vocabulary.label(GPT2_VOCABULARY["Ċ"]) == "↵"


@pytest.mark.parametrize("family", ["gpt2", "roberta"])
def test_vocab_json_and_merges_are_read_where_there_is_no_whole_tokenizer(models, family):
    if family == "gpt2":
        folder = cf_gpt2(models / "model")
    else:
        folder = cf_bert(
            models / "model",
            model_type="roberta",
            pad_token_id=1,
            vocab_size=400,
            tensors=bert_tensors()
            | {"embeddings.word_embeddings.weight": torch.arange(1600.0).view(400, 4)},
        )
        (folder / "vocab.txt").unlink()
        write_json(folder / "tokenizer_config.json", {})
    (folder / "tokenizer.json").unlink(missing_ok=True)
    marks = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    pieces = [*marks, *GPT2_VOCABULARY] if family == "roberta" else list(GPT2_VOCABULARY)
    write_json(folder / "vocab.json", {piece: i for i, piece in enumerate(pieces)})
    merges = "\n".join(f"Ġ {word}" for word in "ABCDEF")
    (folder / "merges.txt").write_text(f"#version: 0.2\n{merges}\n", encoding="utf-8")
    labels = [token.label for token in trace(models, "model", "A B").tokens]
    assert labels == (["<s>", "A", "␣B", "</s>"] if family == "roberta" else ["A", "␣B"])
    if family == "roberta":
        t = trace(models, "model", "A B", text_pair="C")
        assert [x.label for x in t.tokens] == ["<s>", "A", "␣B", "</s>", "</s>", "C", "</s>"]
        assert [x.segment for x in t.tokens] == [0, 0, 0, 0, 0, 1, 1]


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda f: (f / "vocab.txt").unlink(), "tokenizer_missing"),
        (lambda f: (f / "vocab.txt").write_text("A\nB\n"), "tokenizer_mark_missing"),
        (lambda f: (f / "vocab.txt").write_bytes(b"\xff\xfe"), "tokenizer_unreadable"),
        (lambda f: (f / "tokenizer.json").write_text("{}"), "tokenizer_unreadable"),
        (lambda f: (f / "tokenizer.json").write_text("not json"), "tokenizer_unreadable"),
        (lambda f: (f / "tokenizer_config.json").write_text("["), "json_unreadable"),
        (
            lambda f: write_json(f / "tokenizer_config.json", {"tokenizer_class": "MineTokenizer"}),
            "tokenizer_class_not_supported",
        ),
    ],
)
def test_tokenizers_that_cannot_be_used_are_refused(models, change, code):
    change(cf_bert(models / "bert"))
    assert refusal(models, "bert").code == code


def slow_roberta(folder, **settings):
    """RoBERTa's vocabulary as ``vocab.json`` and ``merges.txt``, without a whole tokenizer."""
    table = torch.arange(1600.0).view(400, 4)
    cf_bert(
        folder,
        model_type="roberta",
        pad_token_id=1,
        vocab_size=400,
        tensors=bert_tensors() | {"embeddings.word_embeddings.weight": table},
    )
    (folder / "vocab.txt").unlink()
    write_json(folder / "tokenizer_config.json", {"tokenizer_class": "RobertaTokenizer"} | settings)
    pieces = ["<s>", "<pad>", "</s>", "<unk>", *GPT2_VOCABULARY, "<mask>"]
    write_json(folder / "vocab.json", {piece: i for i, piece in enumerate(pieces)})
    merges = "\n".join(f"Ġ {word}" for word in "ABCDEF")
    (folder / "merges.txt").write_text(f"#version: 0.2\n{merges}\n", encoding="utf-8")
    return len(pieces)


def described(content, **flags):
    plain = {"lstrip": False, "rstrip": False, "normalized": False, "single_word": False}
    return {"content": content, "special": True} | plain | flags


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({}, "A <mask> B"),
        ({"mask_token": described("<mask>", lstrip=True) | {"__type": "AddedToken"}}, "A <mask> B"),
        (
            {"mask_token": described("<mask>", lstrip=False) | {"__type": "AddedToken"}},
            "A <mask> B",
        ),
        ({"added_tokens_decoder": {"NEXT": described("<|user|>")}}, "A <|user|> B"),
        ({"added_tokens_decoder": {"NEXT": described("<|user|>", rstrip=True)}}, "A <|user|> B"),
        ({"added_tokens_decoder": {"NEXT": described("xy", special=False)}}, "A xy Axy B"),
    ],
)
def test_marks_and_added_tokens_are_those_of_transformers(models, settings, text):
    transformers = pytest.importorskip("transformers")
    size = slow_roberta(models / "roberta")
    listed = settings.get("added_tokens_decoder", {})
    numbered = {str(size) if key == "NEXT" else key: token for key, token in listed.items()}
    slow_roberta(
        models / "model", **(settings | ({"added_tokens_decoder": numbered} if listed else {}))
    )
    theirs = transformers.AutoTokenizer.from_pretrained(models / "model")
    assert [token.id for token in trace(models, "model", text).tokens] == theirs(text)["input_ids"]


def test_added_tokens_come_in_the_order_of_their_numbers(models):
    words = [*BERT_WORDS, *(f"w{i}" for i in range(99 - len(BERT_WORDS)))]
    folder = cf_bert(models / "bert", words=words)
    write_json(folder / "added_tokens.json", {"<second>": 100, "<first>": 99})
    tokenizer = Checkpoints(models).load("bert", None, None).tokenizer
    assert [tokenizer.piece(i) for i in (99, 100)] == ["<first>", "<second>"]


def test_an_added_tokens_letters_are_letters_in_a_byte_level_vocabulary(models):
    folder = cf_gpt2(models / "gpt2")
    whole = json.loads((folder / "tokenizer.json").read_text())
    number = len(GPT2_VOCABULARY) - 1
    word = next(piece for piece, i in GPT2_VOCABULARY.items() if i == number)
    whole["model"]["vocab"] = {
        "café" if piece == word else piece: i for piece, i in whole["model"]["vocab"].items()
    }
    whole["model"]["merges"] = [m for m in whole["model"]["merges"] if "".join(m) != word]
    whole["added_tokens"] = [described("café", special=False) | {"id": number}]
    write_json(folder / "tokenizer.json", whole)
    tokenizer = Checkpoints(models).load("gpt2", None, None).tokenizer
    assert tokenizer.label(number) == "café"
    (token,) = trace(models, "gpt2", "café").tokens
    assert (token.label, token.part) == ("café", None)


def unigram(folder, pieces, **parts):
    """A GPT-2 whose tokenizer is SentencePiece's unigram model with bytes to fall back on."""
    whole = {"version": "1.0", "added_tokens": [], "truncation": None, "padding": None}
    whole |= {"post_processor": None, "decoder": None, "normalizer": None, "pre_tokenizer": None}
    vocabulary = [["<unk>", 0.0], *([piece, -2.0] for piece in pieces)]
    vocabulary += [[f"<0x{byte:02X}>", -9.0] for byte in range(256)]
    model = {"type": "Unigram", "unk_id": 0, "byte_fallback": True, "vocab": vocabulary}
    size = len(vocabulary)
    tensors = gpt2_tensors()
    name = next(name for name in tensors if name.endswith("wte.weight"))
    tensors[name] = torch.randn(size, tensors[name].shape[1], generator=torch.Generator())
    cf_gpt2(folder, tensors, vocab_size=size)
    write_json(folder / "tokenizer.json", whole | {"model": model} | parts)


def test_bytes_of_two_characters_are_numbered_within_their_own(models):
    unigram(models / "gpt2", ["A"])
    tokens = trace(models, "gpt2", "😀😀").tokens
    assert [(t.start, t.end, t.part, t.parts) for t in tokens] == [
        (place, place + 1, part, 4) for place in (0, 1) for part in (1, 2, 3, 4)
    ]
    assert [t.text for t in tokens] == ["😀"] * 8
