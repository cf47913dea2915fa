"""Japanese tokenizers that need a package of the extra ``ja``; must not know models.

Words come from MeCab (Kudo et al. 2004) through ``fugashi``, with ``unidic-lite`` as dictionary;
pieces of a SentencePiece file (Kudo and Richardson 2018) through ``sentencepiece``. Neither is
imported before a folder needs it.
"""

import importlib
import importlib.util
import threading
from collections.abc import Callable, Iterable, Mapping, Set
from typing import Any

from tokenizers import (
    NormalizedString,
    PreTokenizedString,
    Regex,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
)
from tokenizers import Tokenizer as Pipeline

from model.checkpoints.files import Folder, file_in
from model.checkpoints.tokens import Piece
from model.errors import ModelError

CLASS = "BertJapaneseTokenizer"
SPM_FILES = ("spiece.model", "tokenizer.model")

_DICTIONARIES = ("unidic_lite", "ipadic", "unidic")  # the packages of the same name
_SPM_CLASSES = ("T5Tokenizer", "AlbertTokenizer", "XLNetTokenizer", "LlamaTokenizer")


def check_words(settings: Mapping[str, Any]) -> None:
    """Refuse what a MeCab folder asks for and we do not have.

    Raises:
        ModelError: ``tokenizer_setting`` or ``extra_missing``.
    """
    _one_of(settings, "word_tokenizer_type", "basic", ("mecab", "basic"))
    _one_of(settings, "subword_tokenizer_type", "wordpiece", ("wordpiece", "character"))
    if settings.get("word_tokenizer_type") == "mecab":
        options = settings.get("mecab_kwargs") or {}
        if not isinstance(options, dict):
            raise ModelError("tokenizer_setting", field="model", key="mecab_kwargs", supported=[])
        if options.get("mecab_option"):
            raise ModelError("tokenizer_setting", field="model", key="mecab_option", supported=[])
        _need("fugashi", _dictionary(settings))


def check_sentencepiece(settings: Mapping[str, Any]) -> None:
    """As ``check_words``, of a folder with a SentencePiece file."""
    name = str(settings.get("tokenizer_class") or _SPM_CLASSES[0]).removesuffix("Fast")
    if name not in _SPM_CLASSES:
        raise ModelError(
            "tokenizer_class_not_supported",
            field="model",
            name=name[:80],
            file=SPM_FILES[0],
            supported=list(_SPM_CLASSES),
        )
    _need("sentencepiece")


def sentencepiece_file(names: Iterable[str]) -> str | None:
    """The SentencePiece file among a folder's files."""
    return next((name for name in SPM_FILES if name in names), None)


def words(vocabulary: list[str], settings: Mapping[str, Any]) -> Pipeline:
    """A normal form, then words, then pieces or characters of words."""
    rows = {piece: row for row, piece in enumerate(vocabulary)}
    characters = settings.get("subword_tokenizer_type") == "character"
    unknown = "[UNK]"
    pipeline = Pipeline(
        models.WordLevel(rows, unk_token=unknown)
        if characters
        else models.WordPiece(rows, unk_token=unknown, max_input_chars_per_word=100)
    )
    lowercase = bool(settings.get("do_lower_case"))
    steps: list[Any] = []
    if settings.get("word_tokenizer_type", "basic") == "mecab":
        pipeline.normalizer = normalizers.NFKC()
        cutter = _WordCutter(_tagger(settings), lowercase)
        steps.append(pre_tokenizers.PreTokenizer.custom(cutter))
    else:
        basic = normalizers.BertNormalizer(handle_chinese_chars=False, lowercase=lowercase)
        # Words are compared in their composed form; single characters in the compatible one too.
        after = [normalizers.NFKC()] if characters else []
        pipeline.normalizer = normalizers.Sequence([normalizers.NFC(), basic, *after])
        steps.append(pre_tokenizers.BertPreTokenizer())
    if characters:
        steps.append(pre_tokenizers.Split(Regex("."), "isolated"))
    pipeline.pre_tokenizer = pre_tokenizers.Sequence(steps)
    pipeline.decoder = decoders.WordPiece()
    return pipeline


class _WordCutter:
    """Cuts at MeCab's words, as a step of a pipeline, which keeps track of the offsets."""

    def __init__(self, surfaces: Callable[[str], list[str]], lowercase: bool) -> None:
        self._surfaces = surfaces
        self._lowercase = lowercase

    def pre_tokenize(self, text: PreTokenizedString) -> None:
        text.split(self._cut)

    def _cut(self, index: int, text: NormalizedString) -> list[NormalizedString]:
        plain, at, found = str(text.normalized), 0, []
        for surface in self._surfaces(plain):
            start = plain.index(surface, at)
            at = start + len(surface)
            word = text[start:at]
            assert word is not None
            if self._lowercase:
                word.lowercase()
            found.append(word)
        return found


def _tagger(settings: Mapping[str, Any]) -> Callable[[str], list[str]]:
    fugashi = importlib.import_module("fugashi")
    dictionary = importlib.import_module(_dictionary(settings))
    # These options and no others: a folder's own could name files anywhere.
    folder = dictionary.DICDIR
    tagger = fugashi.GenericTagger(f'-d "{folder}" -r "{folder}/mecabrc"')
    # One MeCab tagger keeps the text that it parses: one caller at a time.
    lock = threading.Lock()

    def surfaces(text: str) -> list[str]:
        with lock:
            return [str(node.surface) for node in tagger(text)]

    return surfaces


class SentencePieceBackend:
    """The vocabulary of a SentencePiece file, cut by its own library.

    The mark that ends a text is left out: it belongs after a whole text, and here one may go on.
    """

    byte_level = False

    def __init__(self, folder: Folder, settings: Mapping[str, Any]) -> None:
        name = sentencepiece_file(folder.names)
        assert name is not None
        reader = importlib.import_module("sentencepiece").SentencePieceProcessor()
        reader.Load(str(file_in(folder.path, name)))
        self._reader = reader
        self._lowercase = bool(settings.get("do_lower_case"))
        self.unknown: int | None = reader.unk_id()
        self.marks: Set[int] = {i for i in range(reader.GetPieceSize()) if reader.IsControl(i)}
        self.added: Set[int] = self.marks

    def cut(self, text: str, pair: str | None) -> list[Piece]:
        assert pair is None, "none of the models that take two texts has such a file"
        given, origin = text, list(range(len(text) + 1))
        if self._lowercase:
            # A few characters have a small form of two characters.
            given = text.lower()
            origin = [i for i, c in enumerate(text) for _ in c.lower()] + [len(text)]
        found = self._reader.encode(given, return_type="offset_mapping")
        return [
            Piece(token_id, (origin[start], origin[end - 1] + 1 if end > start else origin[start]))
            for token_id, (start, end) in zip(found["ids"], found["offsets"], strict=True)
        ]

    def entry(self, token_id: int) -> str | None:
        if not 0 <= token_id < self._reader.GetPieceSize():
            return None
        return str(self._reader.IdToPiece(token_id))


def _dictionary(settings: Mapping[str, Any]) -> str:
    named = (settings.get("mecab_kwargs") or {}).get("mecab_dic", "unidic_lite")
    if named not in _DICTIONARIES:
        raise ModelError(
            "tokenizer_setting", field="model", key="mecab_dic", supported=list(_DICTIONARIES)
        )
    return str(named)


def _one_of(
    settings: Mapping[str, Any], key: str, default: str, supported: tuple[str, ...]
) -> None:
    if settings.get(key, default) not in supported:
        raise ModelError("tokenizer_setting", field="model", key=key, supported=list(supported))


def _need(*packages: str) -> None:
    missing = [name for name in packages if importlib.util.find_spec(name) is None]
    if missing:
        raise ModelError(
            "extra_missing", field="model", packages=[name.replace("_", "-") for name in missing]
        )
