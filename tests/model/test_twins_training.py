"""A training run repeats to the last bit, stopped or not."""

import itertools
import random
from pathlib import Path

import numpy as np
import pytest
import torch

from model.twins import text, train
from model.twins.batches import FIRST_PIECE, IGNORED, KINDS, Batches
from model.twins.recipe import Recipe, twin_config
from model.twins.record import Probes

WORDS = {
    "en": (["The cat", "A dog", "My friend"], [" sat on", " ran to"], [" the mat.", " a hill."]),
    "ja": (["猫が", "犬は", "友だちが"], ["山で", "川へ"], ["歌いました。", "行きました。"]),
}
SHORT = ["--steps", "50", "--tokens-per-step", "256"]


@pytest.fixture
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("corpus")
    for language, parts in WORDS.items():
        rng = random.Random(language)
        sentences = ["".join(words) for words in itertools.product(*parts)]
        lines = [" ".join(rng.choices(sentences, k=3)) for _ in range(600)]
        (folder / f"{language}_made.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_the_same_command_gives_the_same_losses_stopped_or_not(
    norm: str, corpus: Path, tmp_path: Path, one_thread: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = ["--norm", norm, "--corpus", str(corpus), *SHORT]
    first = train.main([*command, "--out", str(tmp_path / "a")])
    assert len(first.losses) == 50
    assert first.losses[-1] < first.losses[0] - 0.5  # it learns
    if norm == "pre":
        second = train.main([*command, "--out", str(tmp_path / "b")])
        assert second.losses == first.losses
        assert second.record == first.record

    break_off(20, [*command, "--out", str(tmp_path / "c")], monkeypatch)
    resumed = train.main([*command, "--out", str(tmp_path / "c")])
    assert resumed.losses == first.losses
    assert resumed.record == first.record
    for name, value in first.model.state_dict().items():
        assert torch.equal(value, resumed.model.state_dict()[name]), name


def break_off(steps: int, command: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the command and interrupt it in the middle of a step; it saves before every step."""
    update = train.update

    def interrupted(run: train.Run) -> None:
        update(run)
        if run.step == steps:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(train, "CHECKPOINT_SECONDS", -1.0)
        patch.setattr(train, "update", interrupted)
        with pytest.raises(KeyboardInterrupt):
            train.main(command)


def test_a_run_whose_time_is_up_says_how_to_go_on(
    corpus: Path, tmp_path: Path, one_thread: None, capsys: pytest.CaptureFixture[str]
) -> None:
    out = ["--out", str(tmp_path)]
    run = train.main(["--norm", "pre", "--corpus", str(corpus), *SHORT, *out, "--minutes", "1e-9"])
    assert run.step == 0
    assert "stopped at step 0; the same command goes on" in capsys.readouterr().out
    assert (tmp_path / "pre.pt").is_file()


def test_a_checkpoint_of_another_recipe_is_refused(
    corpus: Path, tmp_path: Path, one_thread: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = ["--norm", "pre", "--corpus", str(corpus), "--out", str(tmp_path), *SHORT]
    break_off(1, command, monkeypatch)
    with pytest.raises(ValueError, match="another recipe"):
        train.main([*command, "--seed", "2"])


@pytest.fixture(scope="module")
def batches(corpus: Path) -> Batches:
    bos_id, d_vocab = text.bos_and_size()
    training = {name: text.encode(text.read(corpus, name)[0]) for name in text.LANGUAGES}
    return Batches(Recipe("pre", steps=100, tokens_per_step=1024), training, bos_id, d_vocab)


def test_rows_depend_on_seed_and_step_alone(batches: Batches) -> None:
    at_seven = batches.at(7)
    batches.at(8)
    assert torch.equal(at_seven.ids, batches.at(7).ids)
    assert not torch.equal(at_seven.ids, batches.at(8).ids)


def test_rows_start_with_the_start_token_and_targets_are_one_ahead(batches: Batches) -> None:
    rows = batches.at(0)
    assert rows.ids.shape == rows.targets.shape == (8, 128)
    assert (rows.ids[:, 0] == batches.bos_id).all()
    kept = rows.targets[:, :-1] != IGNORED
    assert (rows.targets[:, :-1] == rows.ids[:, 1:])[kept].all()


def test_the_last_tenth_of_the_steps_has_long_rows(batches: Batches) -> None:
    assert batches.at(89).ids.shape == (8, 128)
    assert batches.at(90).ids.shape == (4, 256)


def test_a_random_row_repeats_and_its_first_saying_is_not_learned(batches: Batches) -> None:
    row = KINDS.index("random")
    rows = batches.at(0)
    period = int((rows.targets[row] == IGNORED).sum())
    assert 6 <= period <= 48
    said = rows.ids[row, 1:]
    assert torch.equal(said[period:], said[:-period])
    assert (said >= FIRST_PIECE).all()


def test_a_quarter_of_the_rows_is_repeated_and_languages_are_even(batches: Batches) -> None:
    assert sorted(KINDS) == ["en"] * 3 + ["ja"] * 3 + ["random", "repeat"]


def test_held_out_text_is_the_end_of_each_file(tmp_path: Path) -> None:
    lines = [f"line {i:03}" for i in range(100)]
    as_laid_out = "\n".join(["\u3000" + lines[0], "", *lines[1:]])
    (tmp_path / "en_a.txt").write_text(as_laid_out, encoding="utf-8")
    training, held_out = text.read(tmp_path, "en")
    assert training == [f"{line}\n" for line in lines[:98]]
    assert held_out == [f"{line}\n" for line in lines[98:]]


def test_a_missing_language_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="ja_"):
        text.read(tmp_path, "ja")


def test_tokens_of_a_text_are_those_of_its_lines() -> None:
    tokens = text.encode(["A cat.\n", "猫です。\n"])
    assert tokens.starts[0] == 0
    assert np.array_equal(tokens.ids[: tokens.starts[1]], text.encode(["A cat.\n"]).ids)


def test_held_out_rows_are_refused_when_the_text_is_too_short() -> None:
    with pytest.raises(ValueError, match="a row takes 127"):
        Probes({"en": text.encode(["Too short.\n"])}, 0, 6144, 128)


def test_the_rate_rises_then_falls_along_half_a_cosine() -> None:
    recipe = Recipe("post", steps=1301, warm_up=300)
    assert recipe.rate(0) == pytest.approx(1 / 300)
    assert recipe.rate(299) == 1.0
    assert recipe.rate(300) == 1.0
    assert recipe.rate(800) == pytest.approx(0.525)  # half way: 0.05 + 0.95 / 2
    assert recipe.rate(1300) == pytest.approx(0.05)


def test_twins_differ_by_the_final_norm_alone() -> None:
    pre, post = (twin_config(norm, 6144) for norm in ("pre", "post"))
    assert pre.n_parameters - post.n_parameters == 2 * pre.d_model
