"""Running trials: what is drawn, learned and measured, what is recorded, and what is not run again."""

from __future__ import annotations

import json
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn
from typer.testing import CliRunner

from likewise.cli.paper import app
from likewise.datasets import DataSet, load
from likewise.errors import InputError
from likewise.estimators import PairClassifier
from likewise.evaluation import confusion, match_outputs
from likewise.paper import answers, answers_trials
from likewise.paper.answers_record import AnswersRecord
from likewise.paper.answers_trials import answers_recipes, select_trials
from likewise.paper.records import read_record


@pytest.fixture(scope="module")
def data() -> DataSet:
    """Some of the digits."""
    digits = load("digits")
    return replace(digits, train=digits.train.subset(torch.arange(120)), test=digits.test.subset(torch.arange(60)))


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    small = {name: replace(recipe, batch_size=20) for name, recipe in answers_recipes().items()}
    monkeypatch.setattr(answers_trials, "answers_recipes", lambda: small)


@pytest.fixture
def few(data: DataSet, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "load", lambda name, folder: data)


def folders(place: Path) -> list[str]:
    return ["--runs", str(place / "runs"), "--results", str(place / "results")]


def run(place: Path, *options: str):  # type: ignore[no-untyped-def]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The answers contradict one another")
        return CliRunner().invoke(app, ["answers", "--epochs", "1", *options, *folders(place)])


@pytest.mark.usefixtures("few")
def test_command_record_and_page(tmp_path: Path) -> None:
    ran = run(tmp_path, "--answers", "50")
    assert ran.exception is None, ran.output
    assert ran.output.startswith("From answers, 1 entry:\n  digits-50answers-seed0-1ep\n")
    path = tmp_path / "results" / "answers" / "digits-50answers-seed0-1ep.json"
    record = read_record(path, AnswersRecord)
    assert f"{path}: {record.first_accuracy:.2f} % from the answers, {record.accuracy:.2f} % " in ran.output
    assert record.name == path.stem
    assert record.command == "likewise paper answers --dataset digits --answers 50 --seed 0 --epochs 1"
    assert (record.answers, record.noise, record.model, record.flipped, record.twin_labels) == (50, 0.0, "none", 0, 50)
    told = {"epochs": 1, "twin_epochs": 2, "batch_size": 20, "seed": 0}
    assert told.items() <= record.settings.items()
    stages = tmp_path / "runs" / "answers" / "digits-50answers-seed0-1ep"
    assert record.starts == len(list(stages.glob("start-*")))
    spent = [json.loads(file.read_text())["cpu_seconds"] for file in stages.glob("*/metrics.json")]
    assert len(spent) == record.starts + 1
    assert record.cpu_seconds == pytest.approx(sum(spent), abs=0.06)

    page = tmp_path / "RESULTS.md"
    show = ["show", "--results", str(tmp_path / "results"), "--out", str(page)]
    assert CliRunner().invoke(app, show).exit_code == 0
    assert f"`{record.command}`" in page.read_text()
    assert CliRunner().invoke(app, [*show, "--check"]).exit_code == 0


@pytest.mark.usefixtures("few")
def test_what_has_a_record_is_skipped_and_what_was_run_is_not_run_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run(tmp_path, "--answers", "40").exception is None
    path = tmp_path / "results" / "answers" / "digits-40answers-seed0-1ep.json"
    written = path.read_bytes()

    with monkeypatch.context() as patch:
        patch.setattr(answers, "load", None)  # not even the data are needed
        assert "there already" in run(tmp_path, "--answers", "40").output
    assert path.read_bytes() == written

    def step(*_: object) -> None:
        raise AssertionError("trained again")

    monkeypatch.setattr(torch.optim.Adam, "step", step)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 99)
    path.unlink()
    assert run(tmp_path, "--answers", "40").exception is None
    assert path.read_bytes() == written  # times and machine too: they are those of the run


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize(("model", "rate"), [("none", [0.0]), ("learned", [0.05, 0.2])])
def test_wrong_answers(tmp_path: Path, model: str, rate: list[float]) -> None:
    ran = run(tmp_path, "--answers", "60", "--noise", "0.2", "--model", model, "--seed", "3")
    assert ran.exception is None, ran.output
    path = tmp_path / "results" / "answers" / f"digits-60answers-noise0.2-{model}-seed3-1ep.json"
    record = read_record(path, AnswersRecord)
    assert 4 <= record.flipped <= 22
    assert rate[0] <= record.rate <= rate[-1]
    twin = tmp_path / "runs" / "answers" / "digits-twin-60labels-seed3-1ep"  # the same for every kind of answers
    assert (twin / "model.safetensors").exists()


def test_measured_as_the_classifier_predicts(data: DataSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fitted: list[PairClassifier] = []
    fit = PairClassifier.fit

    def kept(self, *args, **kwargs):  # type: ignore[no-untyped-def]
        fitted.append(self)
        return fit(self, *args, **kwargs)

    monkeypatch.setattr(PairClassifier, "fit", kept)
    (trial,) = select_trials("digits", [300], epochs=2)
    drawn = answers.draw(trial, data)
    record = answers.run_trial(trial, data, drawn, tmp_path)
    (classifier,) = fitted
    images, labels = data.train.inputs.numpy(), data.train.labels.numpy()
    assert (record.held_out, record.unlabelled_kept) == (len(classifier.held_out_), classifier.unlabelled_)
    said = classifier.score(images, pairs=classifier.held_out_)
    assert record.held_out_accuracy == pytest.approx(100 * said, abs=1e-4)

    def unseen(model: PairClassifier) -> float:
        matching = match_outputs(confusion(model.predict(images), labels, 10, 10))
        return 100 * float((matching[model.predict(data.test.inputs.numpy())] == data.test.labels.numpy()).mean())

    assert record.accuracy == pytest.approx(unseen(classifier), abs=1e-4)
    assert record.accuracy > 40
    alone = PairClassifier(10, epochs=2, batch_size=20, unlabelled=False).fit(images, pairs=drawn.pairs)
    assert record.first_accuracy == pytest.approx(unseen(alone), abs=1e-4)


def test_draw(data: DataSet) -> None:
    labels = data.train.labels.numpy()
    (plain,), (noisy,), (noisier,), (other,) = (
        select_trials("digits", [1000], **given) for given in ({}, {"noise": 0.1}, {"noise": 0.2}, {"seed": 1})
    )
    right = answers.draw(plain, data).pairs
    assert len(right) == 1000
    assert np.array_equal(right.same, labels[right.left] == labels[right.right])
    assert not np.array_equal(right.left, answers.draw(other, data).pairs.left)
    counts = []
    for trial in (noisy, noisier):
        drawn = answers.draw(trial, data)
        assert np.array_equal(drawn.pairs.left, right.left)
        wrong = drawn.pairs.same != right.same
        assert drawn.flipped == wrong.sum()
        assert set(drawn.pairs.same) == {0.0, 1.0}
        assert drawn.pairs.same.dtype == np.float32
        assert np.array_equal(drawn.pairs.same, answers.draw(replace(trial, model="learned"), data).pairs.same)
        counts.append(drawn.flipped)
    assert 70 < counts[0] < 130
    assert 160 < counts[1] < 240


def test_twin_has_as_many_labels_and_steps(data: DataSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    steps: list[int] = []
    step = torch.optim.Adam.step
    monkeypatch.setattr(torch.optim.Adam, "step", lambda self, *args: (steps.append(1), step(self, *args))[1])
    (trial,) = select_trials("digits", [400], epochs=2)
    accuracy_of_twin = answers.run_twin(trial, data, 30, tmp_path / "twin")
    n_twin = len(steps)
    classifier = answers.classifier_of(trial, 10, tmp_path / "run")
    classifier.starts = 1
    classifier.fit(data.train.inputs, pairs=answers.draw(trial, data).pairs)
    assert n_twin == len(steps) - n_twin > 0
    assert accuracy_of_twin > 50

    visited = answers.labelled(data.train, 30, 100, seed=0)
    assert len(visited) == 100
    assert len(visited.inputs.unique(dim=0)) == 30
    assert visited.inputs[:30].equal(visited.inputs[30:60])
    every = answers.labelled(data.train, 120, 150, seed=0)
    assert len(every.inputs.unique(dim=0)) == len(data.train.inputs.unique(dim=0))


@pytest.mark.usefixtures("few")
def test_what_cannot_be_run_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    for options, words in (
        (["--answers", "9"], "--answers must be 10 or more"),
        (["--noise", "0.5"], "--noise must be at least 0 and below 0.5"),
        (["--answers", "50", "--answers", "8000"], "120 labels make 7140 pairs"),
    ):
        refused = run(tmp_path, *options).exception
        assert isinstance(refused, InputError)
        assert words in str(refused)
    assert run(tmp_path, "--dataset", "cifar10").exit_code == 2  # not one of the choices
    assert list(tmp_path.iterdir()) == []


def test_percent_right_matches_on_training_data(data: DataSet) -> None:
    """A network whose outputs are the classes in another order has them all right, but not by its own numbers."""

    class Knows(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.seen = {image.numpy().tobytes(): int(label) for image, label in self.items()}

        @staticmethod
        def items():  # type: ignore[no-untyped-def]
            for part in (data.train, data.test):
                yield from zip(part.inputs, part.labels, strict=True)

        def forward(self, images: torch.Tensor) -> torch.Tensor:
            grey = ((images * data.std[0] + data.mean[0]) * 255).round().to(torch.uint8)
            labels = torch.tensor([self.seen[image.numpy().tobytes()] for image in grey.contiguous()])
            return nn.functional.one_hot((labels + 3) % 10, 10).float()

    assert answers.percent_right(Knows(), data, answers.MCL()) == 100
    assert answers.percent_right(Knows(), data, nn.CrossEntropyLoss()) == 0


def test_the_recipe_is_what_is_trained_with() -> None:
    recipe = answers_trials.answers_recipes()["mnist"]
    (trial,) = select_trials("mnist", [20000], seed=2)
    made = answers.classifier_of(trial, 10, Path("run")).get_params()
    told = {"epochs": recipe.epochs, "batch_size": recipe.batch_size, "learning_rate": recipe.learning_rate}
    assert {**told, "random_state": 2, "network": "lenet", "noise": 0.0, "unlabelled": True}.items() <= made.items()


@pytest.mark.parametrize(("model", "noise"), [("none", 0.0), ("given", 0.1), ("learned", "learn")])
def test_what_the_classifier_is_told_of_wrong_answers(model: str, noise: float | str) -> None:
    (trial,) = select_trials("digits", [500], noise=0.1, model=model)
    assert answers.classifier_of(trial, 10, Path("run")).noise == noise
