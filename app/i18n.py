"""The sentences of both languages and which one a reader wants; must not know their use."""

import json
import re
from collections.abc import Mapping
from functools import lru_cache

from app.places import LOCALES

LANGUAGES = ("en", "ja")
DEFAULT_LANGUAGE = "en"

_PARAMETER = re.compile(r"\{(\w+)\}")


@lru_cache(maxsize=8)
def _read(lang: str, _changed: int) -> dict[str, str]:
    catalogue: dict[str, str] = json.loads((LOCALES / f"{lang}.json").read_text("utf-8"))
    return catalogue


def catalogue(lang: str) -> dict[str, str]:
    """All sentences of a language by key; read again when the file has changed."""
    return _read(lang, version(lang))


def version(lang: str) -> int:
    """Changes when the sentences of a language do."""
    return (LOCALES / f"{lang}.json").stat().st_mtime_ns


def t(lang: str, key: str, /, **params: object) -> str:
    """The sentence of `key` with `{name}` replaced; an unknown key shows itself, to be seen.

    A value that has words of its own (`word.integer`) is said in them, others as they are.
    """
    sentences = catalogue(lang)

    def fill(match: re.Match[str]) -> str:
        name = match.group(1)
        if name not in params:
            return match.group(0)
        return words(sentences, params[name])

    return _PARAMETER.sub(fill, sentences.get(key, key))


def words(sentences: Mapping[str, str], value: object) -> str:
    """A parameter as it stands in a sentence: numbers with separators, lists with commas."""
    if isinstance(value, (list, tuple)):
        return ", ".join(words(sentences, part) for part in value)
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return sentences.get(f"word.{value}", str(value))


def choose(asked: str | None, accept_language: str | None) -> str:
    """The language of a reply: `?lang=`, else the best of Accept-Language, else English."""
    if asked in LANGUAGES:
        return asked
    best, best_liking = DEFAULT_LANGUAGE, 0.0
    for entry in (accept_language or "").split(","):
        tag, _, parameters = entry.partition(";")
        primary = tag.strip().lower().partition("-")[0]
        liking = weight(parameters)
        if primary in LANGUAGES and liking > best_liking:
            best, best_liking = primary, liking
    return best


def weight(parameters: str) -> float:
    """The q value of one entry of an Accept header; 1 if there is none, 0 if it is malformed."""
    name, _, value = parameters.strip().partition("=")
    if name.strip().lower() != "q":
        return 1.0
    return float(value) if re.fullmatch(r"\s*[01](\.\d{0,3})?\s*", value) else 0.0
