"""Both catalogues hold the same keys with the same parameters; a parameter cannot act as one."""

import json
import re
from pathlib import Path

import pytest

from app import i18n
from app.places import LOCALES

EN, JA = (i18n.catalogue(lang) for lang in ("en", "ja"))


def test_both_languages_have_the_same_keys():
    assert EN.keys() == JA.keys()


@pytest.mark.parametrize("key", sorted(EN.keys() & JA.keys()))
def test_both_sentences_take_the_same_parameters(key: str):
    assert EN[key].strip() and JA[key].strip()
    assert set(re.findall(r"\{(\w+)\}", EN[key])) == set(re.findall(r"\{(\w+)\}", JA[key]))


@pytest.mark.parametrize("lang", i18n.LANGUAGES)
def test_a_catalogue_is_sorted_and_names_no_key_twice(lang: str):
    path: Path = LOCALES / f"{lang}.json"
    pairs = json.loads(path.read_text("utf-8"), object_pairs_hook=list)
    keys = [key for key, _ in pairs]
    assert keys == sorted(set(keys))


def test_parameters_are_put_in_once():
    words = i18n.t("en", "error.unknown_model", model="{limit} {model}")
    assert "{limit} {model}" in words


def test_numbers_are_grouped_and_known_words_are_said():
    assert "4,000,001" in i18n.t("en", "error.too_much_asked", count=4_000_001, limit=4_000_000)
    assert "整数" in i18n.t("ja", "error.wrong_type", expected="integer")


def test_an_unknown_key_shows_itself():
    assert i18n.t("en", "no.such.key") == "no.such.key"
