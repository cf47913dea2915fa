"""Folders whose tokenizers need MeCab or SentencePiece: their libraries' ids, and offsets."""

import importlib.util
import io
import threading
import unicodedata
from pathlib import Path

import pytest
import torch

from model.errors import ModelError
from model.registry import Registry
from model.tokenizer import Token
from model.trace import TraceRequest, run_trace
from tests.checkpoint_folders import MARKS, bert_tensors, cf_bert, cf_gpt2, gpt2_tensors, write_json

WORDS = [
    *MARKS, "吾輩", "は", "猫", "で", "ある", "。", "名前", "まだ", "無い", "##無", "##い", "無",
    "カタカナ", "カ", "##タ", "##カ", "##ナ", "ガ", "##ギ", "abc", "##d", "abc", "tokyo", "Tokyo",
    "1", "##2", "㌔", "キロ", "、", "い", "あ", "る", "ガギ",
]  # fmt: skip
TEXTS = [
    "吾輩は猫である。名前はまだ無い。",
    "ｶﾞｷﾞ は ガギ、ｶﾀｶﾅ",
    "ＡＢＣ Tokyo １２㌔",
    "が と か\u3099 は同じ",
    "猫 [MASK] である",
    "犬と猫",
]
BASE = {"tokenizer_class": "BertJapaneseTokenizer", "do_lower_case": False}
MECAB = {**BASE, "word_tokenizer_type": "mecab", "mecab_kwargs": {"mecab_dic": "unidic_lite"}}
SETTINGS = {
    "mecab": MECAB,
    "mecab by default dictionary": {**BASE, "word_tokenizer_type": "mecab"},
    "mecab lower": {**MECAB, "do_lower_case": True},
    "characters": {**MECAB, "subword_tokenizer_type": "character"},
    "basic": {**BASE, "word_tokenizer_type": "basic"},
}
needs_mecab = pytest.mark.skipif(
    not all(map(importlib.util.find_spec, ("fugashi", "unidic_lite"))), reason="extra ja"
)
needs_sentencepiece = pytest.mark.skipif(
    importlib.util.find_spec("sentencepiece") is None, reason="extra ja"
)


def folder(models: Path, settings: dict) -> Path:
    return cf_bert(
        models / "ja",
        bert_tensors(words=WORDS),
        words=WORDS,
        settings=settings,
        vocab_size=len(WORDS),
        max_position_embeddings=16,
    )


def tokens(models: Path, text: str, model: str = "ja") -> list[Token]:
    return run_trace(Registry(models), TraceRequest(text, model)).tokens


@needs_mecab
@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("kind", SETTINGS)
def test_ids_are_those_of_transformers(tmp_path, kind, text):
    transformers = pytest.importorskip("transformers")
    made = folder(tmp_path, SETTINGS[kind])
    theirs = transformers.BertJapaneseTokenizer.from_pretrained(made)(text)["input_ids"]
    try:
        ours = [token.id for token in tokens(tmp_path, text)]
    except ModelError as error:
        assert error.code == "text_too_long"
        assert error.params["length"] == len(theirs)
    else:
        assert ours == theirs


@needs_mecab
@pytest.mark.parametrize("text", TEXTS)
def test_offsets_lead_back_to_the_text_as_it_was_sent(tmp_path, text):
    folder(tmp_path, MECAB)
    found = [token for token in tokens(tmp_path, text) if not token.special]
    assert [token.start for token in found] == sorted(token.start for token in found)
    for token in found:
        assert token.text == text[token.start : token.end]
        if token.piece != "[UNK]":
            plain = unicodedata.normalize("NFKC", token.text)
            assert plain == token.piece.removeprefix("##")
    covered = {place for token in found for place in range(token.start, token.end)}
    uncovered = {text[place] for place in range(len(text)) if place not in covered}
    assert all(character.isspace() for character in uncovered - set("[MASK]"))


@needs_mecab
def test_words_are_mecabs_and_pieces_of_half_width_kana_know_their_characters(tmp_path):
    folder(tmp_path, MECAB)
    found = tokens(tmp_path, "ｶﾞｷﾞは猫")
    assert [(t.piece, t.text, t.start, t.end) for t in found[1:-1]] == [
        ("ガ", "ｶﾞ", 0, 2),
        ("[UNK]", "ｷﾞ", 2, 4),
        ("は", "は", 4, 5),
        ("猫", "猫", 5, 6),
    ]


@needs_mecab
def test_threads_share_one_dictionary(tmp_path):
    folder(tmp_path, MECAB)
    registry = Registry(tmp_path)
    alone = {text: run_trace(registry, TraceRequest(text, "ja")).tokens for text in TEXTS[:1]}
    got: list[list[Token]] = []

    def work() -> None:
        for text in TEXTS[:1] * 20:
            got.append(run_trace(registry, TraceRequest(text, "ja")).tokens)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(got) == 80
    assert all(found == alone[TEXTS[0]] for found in got)


@pytest.mark.parametrize(
    ("settings", "key"),
    [
        ({**BASE, "word_tokenizer_type": "sudachi"}, "word_tokenizer_type"),
        ({**MECAB, "subword_tokenizer_type": "sentencepiece"}, "subword_tokenizer_type"),
        ({**MECAB, "mecab_kwargs": {"mecab_dic": None}}, "mecab_dic"),
        ({**MECAB, "mecab_kwargs": {"mecab_option": "-r /etc/passwd"}}, "mecab_option"),
    ],
)
def test_other_ways_to_cut_words_are_refused_by_name(tmp_path, settings, key):
    folder(tmp_path, settings)
    (listed,) = Registry(tmp_path).unsupported()
    assert (listed.code, listed.params["key"]) == ("tokenizer_setting", key)


def test_what_is_not_installed_is_named(tmp_path, monkeypatch):
    find = importlib.util.find_spec
    missing = ("fugashi", "unidic_lite", "sentencepiece", "ipadic")
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *a: None if name in missing else find(name, *a)
    )
    folder(tmp_path, MECAB)
    settings = {**MECAB, "mecab_kwargs": {"mecab_dic": "ipadic"}}
    cf_bert(tmp_path / "old", bert_tensors(words=WORDS), words=WORDS, settings=settings)
    made = cf_gpt2(tmp_path / "pieces")
    (made / "tokenizer.json").unlink()
    (made / "spiece.model").write_bytes(b"")
    reasons = {u.id: (u.code, u.params["packages"]) for u in Registry(tmp_path).unsupported()}
    assert reasons == {
        "ja": ("extra_missing", ["fugashi", "unidic-lite"]),
        "old": ("extra_missing", ["fugashi", "ipadic"]),
        "pieces": ("extra_missing", ["sentencepiece"]),
    }


SENTENCES = [
    "吾輩は猫である。名前はまだ無い。",
    "どこで生れたかとんと見当がつかぬ。",
    "何でも薄暗いじめじめした所でニャーニャー泣いていた事だけは記憶している。",
    "The cat sat on the mat.",
] * 20  # fmt: skip


@pytest.fixture(scope="module")
def spiece() -> bytes:
    sentencepiece = pytest.importorskip("sentencepiece")
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(SENTENCES),
        model_writer=model,
        vocab_size=90,
        minloglevel=2,
        num_threads=1,
        hard_vocab_limit=False,
    )
    return model.getvalue()


def rinna_like(models: Path, spiece: bytes, **settings) -> Path:
    """A GPT-2 folder with a SentencePiece file and nothing else to cut texts by."""
    tensors = gpt2_tensors()
    rows = torch.arange(400.0).view(100, 4) % 7
    made = cf_gpt2(models / "ja", tensors | {"transformer.wte.weight": rows}, vocab_size=100)
    (made / "tokenizer.json").unlink()
    (made / "spiece.model").write_bytes(spiece)
    values = {"tokenizer_class": "T5Tokenizer", **settings}
    write_json(made / "tokenizer_config.json", values)
    return made


@needs_sentencepiece
@pytest.mark.parametrize("text", ["猫である。", "The cat sat", "ＴＨＥ　猫", "犬ニャー"])
def test_pieces_are_those_of_the_sentencepiece_file(tmp_path, spiece, text):
    import sentencepiece

    rinna_like(tmp_path, spiece)
    reader = sentencepiece.SentencePieceProcessor(model_proto=spiece)
    found = tokens(tmp_path, text)
    assert [token.id for token in found] == reader.encode(text)
    assert [token.piece for token in found] == [reader.IdToPiece(i) for i in reader.encode(text)]
    for token in found:
        assert token.text == text[token.start : token.end]
        assert token.label
        assert "▁" not in token.label
    covered = {place for token in found for place in range(token.start, token.end)}
    assert all(text[place].isspace() for place in set(range(len(text))) - covered)


@needs_sentencepiece
def test_lower_case_keeps_the_offsets_of_the_text(tmp_path, spiece):
    import sentencepiece

    rinna_like(tmp_path, spiece, do_lower_case=True)
    reader = sentencepiece.SentencePieceProcessor(model_proto=spiece)
    text = "İ THE CAT 猫"
    found = tokens(tmp_path, text)
    assert [token.id for token in found] == reader.encode(text.lower())
    assert found[-1].text == "猫"
    assert "".join(text[t.start : t.end] for t in found).replace(" ", "").endswith("CAT猫")


@needs_sentencepiece
def test_a_file_that_is_no_sentencepiece_is_refused(tmp_path):
    rinna_like(tmp_path, b"no model")
    with pytest.raises(ModelError) as caught:
        tokens(tmp_path, "猫")
    assert caught.value.code == "tokenizer_unreadable"
