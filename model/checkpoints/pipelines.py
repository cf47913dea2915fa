"""The tokenizer that a folder's files describe; must not know models or texts."""

import json
from collections.abc import Mapping
from typing import Any

from tokenizers import AddedToken, decoders, models, normalizers, pre_tokenizers, processors
from tokenizers import Tokenizer as Pipeline

from model.checkpoints import japanese
from model.checkpoints.fields import read_json
from model.checkpoints.files import Folder, file_in
from model.checkpoints.tokens import Backend, PipelineBackend
from model.errors import ModelError

WHOLE = "tokenizer.json"
CONFIG = "tokenizer_config.json"
WORDS = "vocab.txt"
PIECES, MERGES = "vocab.json", "merges.txt"
ADDED = "added_tokens.json"
MARKS = "special_tokens_map.json"

MAX_BYTES = 64_000_000  # of one file

# Of the files without a whole pipeline we know how these classes use them.
_WORD_CLASSES = {"BertTokenizer", "DistilBertTokenizer", "ElectraTokenizer"}
_PIECE_CLASSES = {"GPT2Tokenizer", "RobertaTokenizer", "GPTNeoXTokenizer"}
_ROLES = (
    "unk_token",
    "sep_token",
    "pad_token",
    "cls_token",
    "mask_token",
    "bos_token",
    "eos_token",
)
# What the marks are called where a folder does not say.
_BERT_MARKS = {
    "unk_token": "[UNK]",
    "sep_token": "[SEP]",
    "pad_token": "[PAD]",
    "cls_token": "[CLS]",
    "mask_token": "[MASK]",
}
_ROBERTA_MARKS = {
    "unk_token": "<unk>",
    "sep_token": "</s>",
    "pad_token": "<pad>",
    "cls_token": "<s>",
    "mask_token": "<mask>",
}
_GPT2_MARKS = dict.fromkeys(("unk_token", "bos_token", "eos_token"), "<|endoftext|>")


def route(folder: Folder) -> str:
    """The way to this folder's tokenizer, from the names of its files and its settings alone.

    Raises:
        ModelError: ``tokenizer_missing``, ``tokenizer_class_not_supported``, ``extra_missing``
            with the packages that are not installed, or a setting that cannot be used.
    """
    settings = settings_of(folder)
    name = _class_name(settings)
    if name == japanese.CLASS:
        if WORDS not in folder.names:
            raise ModelError("tokenizer_missing", field="model", files=[WORDS])
        japanese.check_words(settings)
        return "japanese"
    if WHOLE in folder.names:
        return "whole"
    if WORDS in folder.names:
        _known_class(name, _WORD_CLASSES, WORDS)
        return "words"
    if PIECES in folder.names and MERGES in folder.names:
        _known_class(name, _PIECE_CLASSES, MERGES)
        return "pieces"
    if japanese.sentencepiece_file(folder.names) is not None:
        japanese.check_sentencepiece(settings)
        return "sentencepiece"
    files = [WHOLE, WORDS, f"{PIECES} + {MERGES}"]
    raise ModelError("tokenizer_missing", field="model", files=files)


def load(folder: Folder, pair_marks: bool) -> Backend:
    """The tokenizer, which cuts no text short and whose offsets keep white space.

    Args:
        pair_marks: whether marks stand around a text, as encoders have them.

    Raises:
        ModelError: what ``route`` refuses, ``tokenizer_unreadable``, ``token_ids_differ``.
    """
    way = route(folder)
    settings = settings_of(folder)
    try:
        if way == "sentencepiece":
            return japanese.SentencePieceBackend(folder, settings)
        if way == "whole":
            pipeline = _whole(folder)
        elif way == "words":
            pipeline = _words(folder, settings)
        elif way == "pieces":
            pipeline = _pieces(folder, settings, pair_marks)
        else:
            pipeline = japanese.words(read_lines(folder, WORDS), settings)
            _surround(pipeline, settings)
    except ModelError:
        raise
    except Exception:  # the library raises a bare Exception for whatever it cannot read
        raise ModelError("tokenizer_unreadable", field="model") from None
    if way != "whole":
        _add_declared(pipeline, folder, settings)
    pipeline.no_truncation()
    pipeline.no_padding()
    return PipelineBackend(pipeline)


def settings_of(folder: Folder) -> dict[str, Any]:
    """``special_tokens_map.json`` and ``tokenizer_config.json`` in one; the latter decides."""
    settings: dict[str, Any] = {}
    for name in (MARKS, CONFIG):
        if name in folder.names:
            settings |= read_json(file_in(folder.path, name))
    return settings


def mark(settings: Mapping[str, Any], role: str, default: str) -> str:
    """The text of a special token, which files write as a text or as an object."""
    value = settings.get(role)
    if isinstance(value, dict):
        value = value.get("content")
    return value if isinstance(value, str) else default


def read_text(folder: Folder, name: str) -> str:
    """A text file of the folder, in UTF-8."""
    path = file_in(folder.path, name)
    try:
        if path.stat().st_size > MAX_BYTES:
            raise ValueError(name)
        return path.read_text(encoding="utf-8")
    except (OSError, ValueError):
        raise ModelError("tokenizer_unreadable", field="model", file=name) from None


def read_lines(folder: Folder, name: str) -> list[str]:
    """Lines by number; only a line feed ends one, since a vocabulary may hold other separators."""
    lines = read_text(folder, name).split("\n")
    return [line.removesuffix("\r") for line in (lines[:-1] if lines[-1] == "" else lines)]


def _class_name(settings: Mapping[str, Any]) -> str | None:
    name = settings.get("tokenizer_class")
    return name.removesuffix("Fast") if isinstance(name, str) else None


def _known_class(name: str | None, known: set[str], file: str) -> None:
    if name is not None and name not in known:
        raise ModelError(
            "tokenizer_class_not_supported",
            field="model",
            name=name[:80],
            file=file,
            supported=sorted(known),
        )


def _whole(folder: Folder) -> Pipeline:
    described = json.loads(read_text(folder, WHOLE))
    described["post_processor"] = _keep_white_space(described.get("post_processor"))
    pipeline = Pipeline.from_str(json.dumps(described))
    for token in described.get("added_tokens") or []:
        _same_id(pipeline, token["content"], token["id"])
    return pipeline


def _keep_white_space(processor: Any) -> Any:
    """The same post-processor, whose offsets hold the space that belongs to a token."""
    if isinstance(processor, list):
        return [_keep_white_space(part) for part in processor]
    if isinstance(processor, dict):
        changed = {key: _keep_white_space(value) for key, value in processor.items()}
        return changed | ({"trim_offsets": False} if "trim_offsets" in changed else {})
    return processor


def _words(folder: Folder, settings: Mapping[str, Any]) -> Pipeline:
    """WordPiece from ``vocab.txt``. Source: Devlin et al. 2019, released code."""
    vocabulary = {piece: row for row, piece in enumerate(read_lines(folder, WORDS))}
    unknown = mark(settings, "unk_token", "[UNK]")
    pipeline = Pipeline(
        models.WordPiece(vocabulary, unk_token=unknown, max_input_chars_per_word=100)
    )
    pipeline.normalizer = normalizers.BertNormalizer(
        clean_text=True,
        handle_chinese_chars=settings.get("tokenize_chinese_chars", True),
        strip_accents=settings.get("strip_accents"),
        lowercase=settings.get("do_lower_case", True),
    )
    pipeline.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    pipeline.decoder = decoders.WordPiece()
    _surround(pipeline, settings)
    return pipeline


def _surround(pipeline: Pipeline, settings: Mapping[str, Any]) -> None:
    """BERT's marks: [CLS] before, [SEP] after each text."""
    numbers = _add_marks(pipeline, settings, _BERT_MARKS)
    cls, sep = _present(numbers, settings, _BERT_MARKS, "cls_token", "sep_token")
    pipeline.post_processor = processors.TemplateProcessing(
        single=f"{cls[0]}:0 $A:0 {sep[0]}:0",
        pair=f"{cls[0]}:0 $A:0 {sep[0]}:0 $B:1 {sep[0]}:1",
        special_tokens=[cls, sep],
    )


def _pieces(folder: Folder, settings: Mapping[str, Any], pair_marks: bool) -> Pipeline:
    """Byte-level BPE from ``vocab.json`` and ``merges.txt``. Source: Radford et al. 2019."""
    lines = [line for line in read_lines(folder, MERGES) if not line.startswith("#version")]
    merges = [(left, right) for left, right in (line.split(" ") for line in lines if line.strip())]
    prefix_space = bool(settings.get("add_prefix_space", False))
    pipeline = Pipeline(models.BPE(vocab=json.loads(read_text(folder, PIECES)), merges=merges))
    pipeline.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=prefix_space)
    pipeline.decoder = decoders.ByteLevel()
    if pair_marks:
        numbers = _add_marks(pipeline, settings, _ROBERTA_MARKS)
        sep, cls = _present(numbers, settings, _ROBERTA_MARKS, "sep_token", "cls_token")
        pipeline.post_processor = processors.RobertaProcessing(
            sep, cls, trim_offsets=False, add_prefix_space=prefix_space
        )
        return pipeline
    numbers = _add_marks(pipeline, settings, _GPT2_MARKS)
    if settings.get("add_bos_token"):
        (begin,) = _present(numbers, settings, _GPT2_MARKS, "bos_token")
        pipeline.post_processor = processors.TemplateProcessing(
            single=f"{begin[0]} $A", pair=f"{begin[0]} $A {begin[0]} $B", special_tokens=[begin]
        )
    return pipeline


def _add_marks(
    pipeline: Pipeline, settings: Mapping[str, Any], defaults: Mapping[str, str]
) -> dict[str, int]:
    """Let the marks that the vocabulary has be found in a text; others would need a row of it."""
    tokens: dict[str, AddedToken] = {}
    for role in _ROLES:
        name = mark(settings, role, defaults.get(role, ""))
        tokens.setdefault(name, AddedToken(name, special=True, normalized=False))
        if isinstance(settings.get(role), dict):
            tokens[name] = _token(settings[role], special=True)
    for declared in _declared(settings).values():
        if declared.content in tokens:
            tokens[declared.content] = declared
    numbers = {name: pipeline.token_to_id(name) for name in sorted(tokens)}
    present = {name: number for name, number in numbers.items() if number is not None}
    pipeline.add_special_tokens([tokens[name] for name in present])
    return present


def _token(described: Mapping[str, Any], special: bool) -> AddedToken:
    """An added token as files describe one."""
    flags = ("single_word", "lstrip", "rstrip", "normalized")
    own = {flag: described[flag] for flag in flags if isinstance(described.get(flag), bool)}
    is_special = described.get("special", special)
    return AddedToken(str(described.get("content", "")), special=bool(is_special), **own)


def _declared(settings: Mapping[str, Any]) -> dict[int, AddedToken]:
    """Added tokens by number, as ``tokenizer_config.json`` lists them."""
    listed = settings.get("added_tokens_decoder")
    entries = listed.items() if isinstance(listed, dict) else ()
    found = {
        int(number): _token(described, special=False)
        for number, described in entries
        if isinstance(described, dict) and str(number).isdecimal()
    }
    return {number: found[number] for number in sorted(found)}


def _present(
    numbers: Mapping[str, int],
    settings: Mapping[str, Any],
    defaults: Mapping[str, str],
    *roles: str,
) -> list[tuple[str, int]]:
    names = [mark(settings, role, defaults[role]) for role in roles]
    for name in names:
        if name not in numbers:
            raise ModelError("tokenizer_mark_missing", field="model", token=name)
    return [(name, numbers[name]) for name in names]


def _add_declared(pipeline: Pipeline, folder: Folder, settings: Mapping[str, Any]) -> None:
    """Tokens beside the vocabulary, from either file that may list them, in their order."""
    declared: dict[str, tuple[object, AddedToken]] = {}
    if ADDED in folder.names:
        numbers = read_json(file_in(folder.path, ADDED))
        declared = {name: (number, AddedToken(name)) for name, number in numbers.items()}
    declared |= {token.content: (number, token) for number, token in _declared(settings).items()}
    # By number, which counts on from the vocabulary; what is no number will be refused.
    in_order = sorted(declared.items(), key=lambda item: (len(str(item[1][0])), str(item[1][0])))
    for content, (number, token) in in_order:
        add = pipeline.add_special_tokens if token.special else pipeline.add_tokens
        add([token])
        _same_id(pipeline, content, number)


def _same_id(pipeline: Pipeline, content: str, token_id: object) -> None:
    """An added token must have the number that its file gives it, which counts on from the rest."""
    found = pipeline.token_to_id(content)
    if found != token_id:
        raise ModelError(
            "token_ids_differ", field="model", token=content, id=token_id, possible=found
        )
