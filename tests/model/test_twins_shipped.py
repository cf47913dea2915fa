"""The shipped twins: whole, small, of one vocabulary, and able to do what the model card says."""

import hashlib
import json
from pathlib import Path

import pytest
import torch

from model.config import NORMS, Norm
from model.tokenizer import SHIPPED as VOCABULARY
from model.tokenizer import Tokenizer
from model.transformer import Transformer, with_weights
from model.twins import card, evaluate, measures, scores, text, trigrams, weights
from model.twins.record import moments

RECORD = weights.training_record()


@pytest.fixture(scope="module", params=NORMS)
def norm(request: pytest.FixtureRequest) -> Norm:
    return request.param


@pytest.fixture(scope="module")
def twin(norm: Norm) -> Transformer:
    return with_weights(*weights.load(norm))


def test_both_twins_are_there_and_small() -> None:
    assert weights.available()
    assert sum(weights.path(norm).stat().st_size for norm in NORMS) <= 24_000_000


def test_weights_come_as_finite_float32_and_count_as_the_configuration_says(norm: Norm) -> None:
    config, tensors = weights.load(norm)
    assert {value.dtype for value in tensors.values()} == {torch.float32}
    assert all(value.isfinite().all() for value in tensors.values())
    assert sum(value.numel() for value in tensors.values()) == config.n_parameters
    assert config.norm == norm


def test_twins_have_the_same_parameters_but_for_the_final_norm() -> None:
    pre, post = (weights.load(norm)[1] for norm in NORMS)
    assert pre.keys() - post.keys() == {"ln_final.w", "ln_final.b"}
    assert post.keys() <= pre.keys()


def test_the_vocabulary_is_the_one_they_were_trained_with(norm: Norm) -> None:
    digest = hashlib.sha256(VOCABULARY.read_bytes()).hexdigest()
    assert weights.vocabulary_digest(norm) == digest
    assert weights.load(norm)[0].d_vocab == Tokenizer.load().d_vocab


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        weights.load("pre", tmp_path / "pre.safetensors")


def test_bits_per_byte_of_the_sample_are_clearly_below_the_trigrams(
    norm: Norm, twin: Transformer
) -> None:
    bos_id, _ = text.bos_and_size()
    sample = evaluate.sample()
    table = trigrams.TrigramModel(*trigrams.load())
    for language, tokens in sample.tokens.items():
        plain = sample.plain[language]
        bits = measures.bits_per_byte(twin, tokens, len(plain.encode()), bos_id)
        assert bits < 0.9 * table.bits_per_byte(plain)
        recorded = RECORD["evaluation"][norm]["bits_per_byte"]["sample"][language]
        assert bits == pytest.approx(recorded, rel=1e-3)


def test_heads_do_what_the_record_says(norm: Norm, twin: Transformer) -> None:
    found = RECORD["evaluation"][norm]["heads"]
    bos_id, d_vocab = text.bos_and_size()
    repeated = scores.repeated_tokens(bos_id, d_vocab)
    pattern, state = scores.patterns(twin, repeated)
    head = measures.best(scores.induction(pattern, repeated))
    assert head.label == found["induction"]["label"]
    assert head.value == pytest.approx(found["induction"]["value"], abs=1e-3)
    assert head.value > 10 * head.chance
    first, second = scores.halves(scores.token_losses(twin, state, repeated))
    assert [first, second] == pytest.approx(
        [found["repeated"]["first"], found["repeated"]["second"]], abs=0.01
    )


def test_the_recorded_prediction_of_each_prompt_is_what_the_twin_says(
    norm: Norm, twin: Transformer
) -> None:
    tokenizer = Tokenizer.load()
    recorded = RECORD["evaluation"][norm]["predictions"]
    assert [entry["text"] for entry in recorded] == list(evaluate.PROMPTS)
    for entry in recorded:
        said = measures.predict(twin, tokenizer, entry["text"])
        for (piece, probability), (piece_then, then) in zip(said.top, entry["top"], strict=True):
            if then > 0.05:  # smaller ones may change places from machine to machine
                assert (piece, probability) == (piece_then, pytest.approx(then, abs=0.01))


def test_both_runs_had_one_recipe_but_for_the_placement() -> None:
    recipes = [dict(RECORD["runs"][norm]["recipe"]) for norm in NORMS]
    assert [recipe.pop("norm") for recipe in recipes] == list(NORMS)
    assert recipes[0] == recipes[1]


def test_series_of_the_record_have_one_entry_per_moment(norm: Norm) -> None:
    run = RECORD["runs"][norm]
    record = run["record"]
    expected = sorted(s for s in moments(run["recipe"]["steps"]) if s <= run["steps_done"])
    assert record["steps"] == expected
    n = len(expected)
    assert len(record["rate"]) == len(record["loss"]) == len(record["gradient"]) == n
    assert all(len(series) == n for series in record["held_out"].values())
    assert all(len(part) == len(record["parts"]) for part in record["gradient"])
    for score in ("previous_token", "induction"):
        assert len(record[score]) == n
        assert {(len(layers), len(layers[0])) for layers in record[score]} == {(4, 6)}


def test_the_report_names_every_text_and_both_twins() -> None:
    lines = "\n".join(evaluate.report(json.loads(json.dumps(RECORD["evaluation"]))))
    for word in ("sample, en", "held_out, ja", "3-gram", "pre:", "post:", "float16", "山"):
        assert word in lines


def test_figures_of_the_model_card_are_the_record_s(tmp_path: Path) -> None:
    copy = tmp_path / "card.md"
    copy.write_text(card.CARD.read_text(encoding="utf-8"), encoding="utf-8")
    card.write(RECORD, copy)
    assert copy.read_text(encoding="utf-8") == card.CARD.read_text(encoding="utf-8")
