"""The shipped vocabulary and the tokens it makes: offsets, labels, fragments, figures."""

import json
import unicodedata
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.errors import ModelError
from model.tokenizer import SHIPPED, Token, Tokenizer
from model.tokenizer.labels import visible

TOKENIZER = Tokenizer.load()

# Sentences of our own, so none of them was in the training text.
ENGLISH = """\
The old lighthouse keeper climbed the stairs every evening and lit the lamp before the fog came in.
"Are you coming with us?" asked the girl, who had already packed bread, cheese and two apples.
My brother wanted to know why the residual connection goes around the layer and not through it.
When the train stopped at the little station, nobody got out except a man with a large umbrella.
I'd rather stay at home and read a good book than walk in the rain, wouldn't you?
Every morning the teacher wrote one sentence on the blackboard and asked us what it meant.
"""
JAPANESE = """\
祖母は毎朝早く起きて、庭の花に水をやりながら小さな声で歌を歌っていました。
図書館で借りた本を返すのを忘れてしまい、友達に笑われた。
電車が遅れたので、会議に間に合わなかったことを謝らなければならない。
「今日は雪が降るかもしれないよ」と父が窓の外を見ながら言いました。
この町には古い橋があって、その下を小さな川が流れている。
弟は先生の質問に答えられなくて、顔を赤くして黙っていた。
彼女はコーヒーを飲みながら、昨日見た映画について話してくれた。
"""


def spans(text: str) -> list[tuple[int, int]]:
    return [(token.start, token.end) for token in TOKENIZER.encode(text)]


def labels(text: str) -> list[str]:
    return [token.label for token in TOKENIZER.encode(text)]


def ids(tokens: list[Token]) -> list[int]:
    return [token.id for token in tokens]


# -- the vocabulary ---------------------------------------------------------------------------


def script(character: str) -> str:
    """An oracle by Unicode name, where the tokenizer goes by script property."""
    if character.isspace():
        return "space"
    if unicodedata.category(character)[0] in "PS":
        return "punctuation"
    if unicodedata.category(character)[0] == "N" and "IDEOGRAPH" not in unicodedata.name(character):
        return "digit"
    if character == "ー":
        return "either kana"
    name = unicodedata.name(character).removeprefix("FULLWIDTH ").removeprefix("HALFWIDTH ")
    first = name.split()[0]
    if first in ("CJK", "IDEOGRAPHIC"):
        return "han"
    if first == "COMBINING":
        return "mark"
    return first.lower()


def test_vocabulary_has_the_start_token_first_then_256_bytes_then_characters():
    pieces = [TOKENIZER.piece(i) for i in range(TOKENIZER.d_vocab)]
    assert TOKENIZER.d_vocab == 6144
    assert TOKENIZER.bos_id == 0 and pieces[0] == "<s>"
    assert pieces[1:257] == [f"<0x{value:02X}>" for value in range(256)]
    assert all(pieces[257:])
    single = sum(len(piece) == 1 for piece in pieces)
    assert 2400 <= single <= 2600


def test_no_entry_holds_parts_of_two_characters_or_of_two_scripts():
    for token_id in range(257, TOKENIZER.d_vocab):
        piece = TOKENIZER.piece(token_id)
        assert "\ufffd" not in piece
        assert piece.encode("utf-8").decode("utf-8") == piece
        body = piece.removeprefix(" ") or piece
        scripts = {script(character) for character in body} - {"mark"}
        if scripts & {"hiragana", "katakana"}:
            scripts.discard("either kana")
        if body[0] in "'’" and body[1:].isalpha():  # a contraction: 't, 'll
            scripts.discard("punctuation")
        assert len(scripts) == 1, (piece, scripts)
        if piece.startswith(" ") and piece != " ":
            assert scripts <= {"latin", "greek", "cyrillic"}, piece


def test_digits_and_white_space_stand_alone():
    for token_id in range(257, TOKENIZER.d_vocab):
        piece = TOKENIZER.piece(token_id)
        if any(unicodedata.category(character)[0] == "N" for character in piece):
            assert len(piece) == 1 or unicodedata.name(piece[0]).startswith(("CJK", "IDEOGRAPHIC"))
        if len(piece) > 1:
            assert not any(character.isspace() for character in piece[1:]), piece


def test_nothing_in_the_file_is_recognised_in_a_text_as_special():
    description = json.loads(SHIPPED.read_text(encoding="utf-8"))
    assert description["added_tokens"] == []
    assert description["normalizer"] is None


def test_every_entry_has_a_label_of_its_own():
    names = [TOKENIZER.label(i) for i in range(TOKENIZER.d_vocab)]
    assert len(set(names)) == len(names)
    assert all(names)


# -- tokens of a text --------------------------------------------------------------------------


@given(st.text())
def test_spans_are_ordered_and_cover_every_character(text: str):
    tokens = TOKENIZER.encode(text)
    covered = 0
    for index, token in enumerate(tokens):
        assert token.index == index
        assert token.text == text[token.start : token.end]
        if token.part is not None and token.part > 1:
            assert (token.start, token.end) == (tokens[index - 1].start, tokens[index - 1].end)
        else:
            assert token.start == covered
        assert token.end > token.start
        covered = token.end
    assert covered == len(text)


@given(st.text())
def test_every_text_comes_back_from_its_tokens(text: str):
    assert TOKENIZER.decode(ids(TOKENIZER.encode(text))) == text
    assert TOKENIZER.decode(ids(TOKENIZER.encode(text, bos=True))) == text


@given(st.text())
def test_fragments_are_numbered_from_one_to_the_bytes_of_their_character(text: str):
    tokens = TOKENIZER.encode(text)
    for index, token in enumerate(tokens):
        if token.part is None:
            assert token.parts is None
            continue
        assert token.parts == len(token.text.encode("utf-8")) > 1
        assert len(token.text) == 1
        assert token.piece == f"<0x{token.text.encode('utf-8')[token.part - 1]:02X}>"
        assert token.part == 1 or tokens[index - 1].part == token.part - 1


def assert_visible(label: str) -> None:
    assert label and "\ufffd" not in label
    assert not any(unicodedata.category(character)[0] in "CZ" for character in label)
    assert not unicodedata.category(label[0]).startswith("M")


@given(st.text())
def test_every_label_can_be_seen(text: str):
    for label in labels(text):
        assert_visible(label)


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("\n", "↵"),
        ("\t", "⇥"),
        (" ", "␣"),
        (" cat", "␣cat"),
        ("\r", "U+000D"),
        ("\0", "U+0000"),
        ("\u3000", "U+3000"),
        ("\xa0", "U+00A0"),
        ("\u200b", "U+200B"),
        ("\u200d", "U+200D"),
        ("\u202e", "U+202E"),
        ("\ufe0f", "U+FE0F"),
        ("\u3164", "U+3164"),
        ("\ufeff", "U+FEFF"),
        ("\ufffd", "U+FFFD"),
        ("\ue000", "U+E000"),
        ("\U000e0067", "U+E0067"),
        ("\u0301", "◌\u0301"),
        ("e\u0301", "e\u0301"),
        ("か\u3099", "か\u3099"),
    ],
)
def test_sign_of_a_text(text: str, label: str):
    assert visible(text) == label
    assert_visible(label)


def test_a_character_cut_into_bytes_shows_as_that_character_on_each_part():
    tokens = TOKENIZER.encode("猫が😀好き。The cat sat.")
    assert [token.label for token in tokens] == [
        "猫", "が", "😀", "😀", "😀", "😀", "好", "き", "。", "The", "␣cat", "␣sat", ".",
    ]  # fmt: skip
    assert [(token.part, token.parts) for token in tokens[2:6]] == [(1, 4), (2, 4), (3, 4), (4, 4)]
    assert {(token.start, token.end, token.text) for token in tokens[2:6]} == {(2, 3, "😀")}
    assert [token.piece for token in tokens[2:6]] == ["<0xF0>", "<0x9F>", "<0x98>", "<0x80>"]
    assert tokens[10].text == " cat" == tokens[10].piece


def test_one_byte_of_a_one_byte_character_is_a_whole_token():
    (token,) = TOKENIZER.encode("\0")
    assert (token.piece, token.part, token.parts, token.label) == ("<0x00>", None, None, "U+0000")


def test_the_start_token_is_special_and_covers_nothing():
    plain = TOKENIZER.encode("猫 cat")
    start, *rest = TOKENIZER.encode("猫 cat", bos=True)
    assert start == Token(0, 0, "<s>", "", "<s>", 0, 0, True, None, None)
    assert [token.index for token in rest] == list(range(1, len(plain) + 1))
    assert ids(rest) == ids(plain)
    assert [(token.start, token.end) for token in rest] == spans("猫 cat")
    assert not any(token.special for token in rest)


@pytest.mark.parametrize(
    "literal", ["<s>", "<0x41>", "a <s> b <0x0A>", "</s><unk>[CLS]<|endoftext|>"]
)
def test_a_literal_name_of_a_reserved_entry_is_ordinary_text(literal: str):
    for token in TOKENIZER.encode(literal):
        assert not token.special
        assert token.id > 256
        assert token.part is None


@pytest.mark.parametrize("text", ["\ud83d", "a\udc00b", "\ude00\ud83d"])
def test_a_lone_surrogate_is_refused_by_code_and_place(text: str):
    with pytest.raises(ModelError) as caught:
        TOKENIZER.encode(text)
    assert caught.value.code == "text_not_unicode"
    assert caught.value.field == "text"
    position = next(i for i, c in enumerate(text) if "\ud800" <= c <= "\udfff")
    assert caught.value.params == {"position": position}


def test_empty_text_has_no_tokens_and_blank_text_has_visible_ones():
    assert TOKENIZER.encode("") == []
    assert labels("   ") == ["␣", "␣", "␣"]
    assert labels("\n\t") == ["↵", "⇥"]
    assert labels("\u3000") == ["U+3000"]


def test_offsets_of_a_character_of_three_bytes_do_not_run_past_the_end():
    assert spans("i ⭢ j") == [(0, 1), (1, 2), (2, 3), (2, 3), (2, 3), (3, 5)]


def test_voiced_kana_keep_their_mark_composed_or_not():
    assert "".join(token.text for token in TOKENIZER.encode("アリババ")) == "アリババ"
    assert spans("アリババ")[-1] == (3, 4)
    decomposed = "ハ\u3099て\u3099"
    assert TOKENIZER.decode(ids(TOKENIZER.encode(decomposed))) == decomposed
    assert {label for label in labels(decomposed) if "\u3099" in label} == {"◌\u3099"}


def test_newline_tab_and_space_have_signs_of_their_own():
    assert labels("a\nb\tc d") == ["a", "↵", "b", "⇥", "c", "␣d"]


def test_mixed_right_to_left_text_is_covered_in_logical_order():
    text = "abc تو\u0652 def"
    covered = {position for start, end in spans(text) for position in range(start, end)}
    assert covered == set(range(len(text)))
    assert spans(text) == sorted(spans(text))


def test_nothing_is_normalised():
    for text in ("ﬁ", "Ａ", "ｶﾞ", "é", "e\u0301", "①", "㍻", "Å", "\r\n", "  a  "):
        assert TOKENIZER.decode(ids(TOKENIZER.encode(text))) == text


# -- figures -----------------------------------------------------------------------------------


def test_japanese_has_at_least_1_41_characters_a_token():
    assert len(JAPANESE) / len(TOKENIZER.encode(JAPANESE)) >= 1.41


def test_english_has_at_least_3_3_bytes_a_token():
    assert len(ENGLISH.encode()) / len(TOKENIZER.encode(ENGLISH)) >= 3.3


def test_under_half_a_percent_of_tokens_are_bytes():
    tokens = TOKENIZER.encode(ENGLISH + JAPANESE)
    assert sum(TOKENIZER.is_byte(token.id) for token in tokens) < 0.005 * len(tokens)


# -- use ---------------------------------------------------------------------------------------


def test_threads_share_one_tokenizer():
    texts = [f"{i} 回目の{'山' * (i % 7)} and word number {i} 😀" for i in range(400)]
    expected = [TOKENIZER.encode(text) for text in texts]
    shared = Tokenizer.load()
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(shared.encode, texts)) == expected


def test_another_file_can_be_loaded(tmp_path: Path):
    copy = tmp_path / "tokenizer.json"
    copy.write_bytes(SHIPPED.read_bytes())
    assert Tokenizer.load(copy).encode("猫 cat") == TOKENIZER.encode("猫 cat")


def test_a_lone_byte_token_decodes_to_the_replacement_character():
    assert TOKENIZER.decode([1 + 0xE7, 1 + 0x8C]) == "\ufffd"
    assert TOKENIZER.decode([1 + 0x41]) == "A"
