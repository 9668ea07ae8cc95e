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
from likewise.paper import answers, answers_trials, experts
from likewise.paper.answers import Drawn, draw, flattened
from likewise.paper.answers_trials import (
    AnswersRecipe,
    AnswersRecord,
    Trial,
    answers_recipes,
    select_expert_trials,
    select_noise_trials,
    select_trials,
)
from likewise.paper.experts import ask_experts, seen_items
from likewise.paper.records import read_record


@pytest.fixture(scope="module")
def data() -> DataSet:
    """Some of the digits."""
    digits = load("digits")
    return replace(digits, train=digits.train.subset(torch.arange(120)), test=digits.test.subset(torch.arange(60)))


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """And no more than an epoch, where the recipe leaves the number to the classifier."""

    def small(table: str = "answers") -> dict[str, AnswersRecipe]:
        training = {"batch_size": 20, "epochs": 1}
        return {name: replace(recipe, training=training) for name, recipe in answers_recipes(table).items()}

    monkeypatch.setattr(answers_trials, "answers_recipes", small)


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
    assert {"epochs": 1, "batch_size": 20, "seed": 0, "network": "LeNet"}.items() <= record.settings.items()
    assert record.settings["classifier"]["noise"] == PairClassifier().noise
    assert list(record.rivals) == ["k-means"]
    assert f"with 50 labels, k-means {record.rivals['k-means']['accuracy']:.2f} %;" in ran.output
    run_folder = tmp_path / "runs" / "answers" / "digits-50answers-seed0-1ep"
    stages = [json.loads(file.read_text()) for file in run_folder.glob("*/metrics.json")]
    assert len(stages) == record.starts + (run_folder / "unlabelled").exists() > 0
    assert record.steps == sum(stage["steps"] for stage in stages) == sum(record.settings["stages"].values())
    assert record.cpu_seconds > 0.95 * sum(stage["cpu_seconds"] for stage in stages) - 0.05

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
@pytest.mark.parametrize(("model", "rate"), [("none", [0.05, 0.4]), ("learned", [0.05, 0.2])])
def test_wrong_answers(tmp_path: Path, model: str, rate: list[float]) -> None:
    ran = run(tmp_path, "--answers", "60", "--noise", "0.2", "--model", model, "--seed", "3")
    assert ran.exception is None, ran.output
    path = tmp_path / "results" / "answers" / f"digits-60answers-noise0.2-{model}-seed3-1ep.json"
    record = read_record(path, AnswersRecord)
    assert 4 <= record.flipped <= 22
    assert rate[0] <= record.rate <= rate[-1]
    twin = tmp_path / "runs" / "answers" / f"digits-twin-60labels-seed3-{record.steps}steps"
    assert (twin / "model.safetensors").exists()


def test_measured_as_the_classifier_predicts(data: DataSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fitted: list[PairClassifier] = []
    fit = PairClassifier.fit

    def kept(self, *args, **kwargs):  # type: ignore[no-untyped-def]
        fitted.append(self)
        return fit(self, *args, **kwargs)

    monkeypatch.setattr(PairClassifier, "fit", kept)
    (trial,) = select_trials("digits", [300], epochs=2)
    trial = replace(trial, recipe=replace(trial.recipe, twin=False, rivals=()))
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
    counts = confusion(classifier.predict(data.test.inputs.numpy()), data.test.labels, 10, 10)
    right = sum(int(counts[output, label]) for output, label in enumerate(match_outputs(counts)) if label >= 0)
    assert record.test_matched_accuracy == pytest.approx(100 * right / len(data.test), abs=1e-4)
    assert record.test_matched_accuracy >= record.accuracy


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
        assert np.array_equal(drawn.wrong, wrong)
        assert set(drawn.pairs.same) == {0.0, 1.0}
        assert drawn.pairs.same.dtype == np.float32
        assert np.array_equal(drawn.pairs.same, answers.draw(replace(trial, model="learned"), data).pairs.same)
        counts.append(drawn.wrong.sum())
    assert 70 < counts[0] < 130
    assert 160 < counts[1] < 240


def test_twin_has_as_many_labels_and_steps(data: DataSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    steps: list[int] = []
    step = torch.optim.Adam.step
    monkeypatch.setattr(torch.optim.Adam, "step", lambda self, *args: (steps.append(1), step(self, *args))[1])
    (trial,) = select_trials("digits", [400], epochs=1)
    record = answers.run_trial(trial, data, answers.draw(trial, data), tmp_path)
    assert record.steps is not None
    assert len(steps) == 2 * record.steps > 0  # as many as the classifier
    assert record.twin_labels == 120
    assert record.twin_accuracy is not None
    assert record.twin_accuracy > 50

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


@pytest.fixture
def features(tmp_path: Path) -> Path:
    """A data folder with a set of features: 30 classes of 14, which lie apart."""
    random = np.random.default_rng(0)
    labels = np.arange(420) % 30
    centres = random.normal(size=(30, 12))
    folder = tmp_path / "data"
    folder.mkdir()
    points = 5 * centres[labels] + 0.2 * random.normal(size=(420, 12))
    np.savez(folder / "photos-lite0.npz", X=points.astype(np.float16), y=labels)
    return folder


def test_features_with_wrong_answers_and_nothing_set_by_hand(tmp_path: Path, features: Path) -> None:
    told = ["--dataset", "photos", "--answers", "400", "--noise", "0.05", "--data", str(features)]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The answers contradict one another")
        ran = CliRunner().invoke(app, ["answers", *told, *folders(tmp_path)])
    assert ran.exception is None, ran.output
    path = tmp_path / "results" / "answers" / "photos-400answers-noise0.05-none-seed0.json"
    record = read_record(path, AnswersRecord)
    assert record.command == "likewise paper answers --dataset photos --answers 400 --noise 0.05 --seed 0"
    assert (record.epochs, record.network, record.twin_accuracy, record.twin_labels) == (None, "default", None, 0)
    assert record.settings["classifier"]["noise"] == PairClassifier().noise
    assert list(record.rivals) == ["k-means", "pck-means", "agglomeration", "labels", "all-labels"]
    assert record.rivals["all-labels"] == {"accuracy": 100.0, "train_accuracy": 100.0}
    assert record.rivals["k-means"]["accuracy"] > 80
    assert f"the unlabelled; k-means {record.rivals['k-means']['accuracy']:.2f} %, pck-means " in ran.output


def test_features_that_are_not_there_are_named(tmp_path: Path) -> None:
    told = ["--dataset", "photos", "--data", str(tmp_path), *folders(tmp_path)]
    refused = CliRunner().invoke(app, ["answers", *told]).exception
    assert isinstance(refused, InputError)
    assert str(refused) == f"photos-lite0.npz is not in {tmp_path}; put it there or set LIKEWISE_DATA."


def test_the_protocol_of_spherepair(tmp_path: Path, data: DataSet, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "load", lambda name, folder: replace(data, name=name))
    told = ["--dataset", "fashion-mnist", "--answers", "200", "--seed", "2"]
    ran = CliRunner().invoke(app, ["spherepair", *told, *folders(tmp_path)])
    assert ran.exception is None, ran.output
    assert ran.output.startswith("The protocol of SpherePair, 1 entry:\n  fashion-mnist-200answers-seed2\n")
    path = tmp_path / "results" / "spherepair" / "fashion-mnist-200answers-seed2.json"
    record = read_record(path, AnswersRecord)
    assert (record.name, record.table, record.network) == (path.stem, "spherepair", "mlp")
    assert record.command == "likewise paper spherepair --dataset fashion-mnist --answers 200 --seed 2"
    assert (record.settings["network"], record.settings["hidden"]) == ("MLP", [512, 512])
    assert record.settings["classifier"]["augment"] is None
    assert record.twin_accuracy is None
    assert record.test_matched_accuracy is not None


def test_images_are_flattened_to_numbers_from_0_to_1(data: DataSet) -> None:
    (trial,) = select_trials("mnist", [1000], table="spherepair")
    flat = answers.flattened(data)
    assert flat.train.inputs.shape == (120, 64)
    torch.testing.assert_close(flat.test.inputs[0], data.test.inputs[0].flatten() / 255)
    assert len(flat.mean) == 64
    network = answers.network_of(trial.recipe)
    assert callable(network)
    widths = [layer.out_features for layer in network(10, (784,)).modules() if isinstance(layer, nn.Linear)]
    assert widths == [512, 512, 10]


@pytest.mark.parametrize("stages", [["seen", "unlabelled"], ["start-1", "start-2"], ["seen", "start-1", "unlabelled"]])
def test_whatever_stages_there_are_are_counted(
    data: DataSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stages: list[str]
) -> None:
    """A run whose folders have other names than those of today's classifier."""
    (trial,) = select_trials("digits", [60], epochs=1)
    trial = replace(trial, recipe=replace(trial.recipe, twin=False, rivals=()))
    drawn = answers.draw(trial, data)
    classifier = PairClassifier(10, epochs=1, batch_size=20).fit(data.train.inputs, pairs=drawn.pairs)

    def fit(self: PairClassifier, *_: object, **__: object) -> PairClassifier:
        self.__dict__.update({name: value for name, value in vars(classifier).items() if name.endswith("_")})
        for number, name in enumerate(stages, start=1):
            folder = tmp_path / trial.name / name
            folder.mkdir(parents=True)
            metrics = {"steps": 10 * number, "seconds": 100.0, "cpu_seconds": 50.0}
            (folder / "metrics.json").write_text(json.dumps(metrics))
            config = {"settings": {"batch_size": 20}, "device": "cpu", "precision": "float32"}
            (folder / "config.json").write_text(json.dumps(config))
        return self

    monkeypatch.setattr(PairClassifier, "fit", fit)
    record = answers.run_trial(trial, data, drawn, tmp_path)
    assert record.settings["stages"] == {name: 10 * number for number, name in enumerate(stages, start=1)}
    assert record.steps == sum(record.settings["stages"].values())
    assert record.starts == len([name for name in stages if name != "unlabelled"])
    assert (record.seconds, record.cpu_seconds) == (100.0 * len(stages), 50.0 * len(stages))


def test_the_recipe_is_what_is_trained_with() -> None:
    recipe = answers_trials.answers_recipes()["mnist"]
    (trial,) = select_trials("mnist", [20000], seed=2)
    made = answers.classifier_of(trial, 10, Path("run")).get_params()
    default = PairClassifier(10, **recipe.training, network="lenet", random_state=2, run=Path("run"), verbose=True)
    assert made == default.get_params()
    assert answers.classifier_of(replace(trial, epochs=7), 10, Path("run")).epochs == 7


MODELS_TOLD = [
    ("none", PairClassifier().noise),
    ("given", 0.1),
    ("learned", "learn"),
    ("law", 0),
    ("annotators", "annotators"),
]


@pytest.mark.parametrize(("model", "noise"), MODELS_TOLD)
def test_what_the_classifier_is_told_of_wrong_answers(model: str, noise: float | str) -> None:
    (trial,) = select_trials("digits", [500], noise=0.1)
    assert answers.classifier_of(replace(trial, model=model), 10, Path("run")).noise == noise


def test_fallible_answers_stand_beside_rivals_where_nothing_is_set(tmp_path: Path, few: None) -> None:
    told = ["--answers", "1000", "--noise", "0.1"]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The answers contradict one another")
        for model in ("law", "none"):
            ran = CliRunner().invoke(app, ["noise", *told, "--model", model, *folders(tmp_path)])
            assert ran.exception is None, ran.output
    law, ours = (
        read_record(tmp_path / "results" / "noise" / f"digits-1000answers-noise0.1-{model}-seed0.json", AnswersRecord)
        for model in ("law", "none")
    )
    assert ours.command == "likewise paper noise --dataset digits --answers 1000 --noise 0.1 --model none --seed 0"
    assert (law.table, law.model, law.rivals, law.settings["classifier"]["noise"]) == ("noise", "law", {}, 0)
    assert law.flipped == ours.flipped
    assert list(ours.rivals) == ["k-means", "pck-means", "agglomeration", "all-labels"]
    assert ours.twin_accuracy is None
    assert ours.train_accuracy is not None


def test_the_protocol_of_eci_pp(tmp_path: Path, data: DataSet, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "load", lambda name, folder: replace(data, name=name))
    small = {name: replace(each, answers=(300,)) for name, each in answers_trials.answers_recipes("eci-pp").items()}
    monkeypatch.setattr(answers_trials, "answers_recipes", lambda _: small)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # 300 answers of such an expert say little
        ran = CliRunner().invoke(app, ["eci-pp", "--experts", "1", "--seed", "1", *folders(tmp_path)])
    assert ran.exception is None, ran.output
    path = tmp_path / "results" / "eci-pp" / "mnist-300answers-1experts-none-seed1.json"
    record = read_record(path, AnswersRecord)
    assert record.name == path.stem
    assert record.command == "likewise paper eci-pp --dataset mnist --experts 1 --seed 1"
    assert (record.experts, len(record.expert_accuracies), record.settings["hidden"]) == (1, 1, [512, 512])
    assert 60 < record.replaced < 120
    assert record.flipped > 0
    assert list(record.rivals) == ["k-means"]


class Judged(PairClassifier):
    """As one whose answers were judged together."""

    def __init__(self, drawn: Drawn) -> None:
        super().__init__()
        self.posterior_ = drawn.pairs.posterior(n_classes=10, rates=(0.1, 0.1))
        self.p_wrong_ = np.where(drawn.wrong, 0.9, 0.1)


def test_rates_and_p_wrong_are_read_off_the_classifier(data: DataSet) -> None:
    (trial,) = select_noise_trials("digits", panel="unequal", model="none")
    drawn = answers.draw(replace(trial, answers=400), data)
    assert answers.annotator_rates(PairClassifier(), trial) == {}
    assert answers.wrong_auroc(PairClassifier(), drawn) is None
    judged = Judged(drawn)
    assert answers.wrong_auroc(judged, drawn) == 1.0
    rates = answers.annotator_rates(judged, trial)
    truth = {name: [values[0] for values in kinds.values()] for name, kinds in rates.items()}
    assert truth == {"ann": [0.05, 0.02], "ben": [0.25, 0.05], "cleo": [0.1, 0.2], "dan": [0.4, 0.1]}
    interval = judged.posterior_.rates.false_same_interval[judged.posterior_.rates.annotators.index("cleo")]
    np.testing.assert_allclose(rates["cleo"]["false same"][1:], [0.1, *interval], atol=1e-5)


@pytest.fixture(scope="module")
def digits() -> DataSet:
    return load("digits")


def test_a_panel_shares_the_pairs_and_is_wrong_at_the_rates_of_each(digits: DataSet) -> None:
    (trial,) = select_noise_trials("digits", panel="unequal", model="none", seed=3)
    trial = replace(trial, answers=40_000)
    drawn = draw(trial, digits)
    labels, pairs = digits.train.labels.numpy(), drawn.pairs
    truth = labels[pairs.left] == labels[pairs.right]
    assert np.array_equal(drawn.wrong, (pairs.same > 0.5) != truth)
    assert set(pairs.same) == {0.0, 1.0}
    assert pairs.annotator is not None
    assert np.bincount(pairs.annotator).tolist() == [10_000] * 4
    for annotator in trial.annotators:
        own = pairs.annotator == pairs.annotators.index(annotator.name)
        for which, rate in ((truth, annotator.false_different), (~truth, annotator.false_same)):
            share, n = drawn.wrong[own & which].mean(), (own & which).sum()
            assert abs(share - rate) < 4 * np.sqrt(rate * (1 - rate) / n)
    law = draw(replace(trial, model="law"), digits)
    assert np.array_equal(law.pairs.same, pairs.same)


def test_the_same_pairs_whoever_answers(digits: DataSet) -> None:
    panel = draw(select_noise_trials("digits", panel="one-random", model="none")[0], digits).pairs
    alone = draw(Trial(answers_recipes()["digits"], 3000, noise=0.1), digits).pairs
    assert np.array_equal(panel.left, alone.left)
    assert np.array_equal(panel.right, alone.right)


def test_an_expert_answers_as_its_probabilities_say(digits: DataSet, monkeypatch: pytest.MonkeyPatch) -> None:
    flat = flattened(digits).train
    logits = 4 * torch.randn(len(flat), 10, generator=torch.Generator().manual_seed(0))
    monkeypatch.setattr(experts, "train_expert", lambda *_, **__: torch.nn.Linear(64, 10))
    monkeypatch.setattr(experts, "predict_logits", lambda *_: logits)
    answers = ask_experts(flat, 2000, 1, seed=5)
    p = logits.double().softmax(1)
    pairs = answers.pairs
    own = np.array([float(p[i] @ p[j]) for i, j in zip(pairs.left, pairs.right, strict=True)])
    assert 540 < answers.replaced.sum() < 660
    np.testing.assert_allclose(pairs.same[~answers.replaced], own[~answers.replaced], atol=1e-5)
    random = np.sort(pairs.same[answers.replaced])
    assert np.abs(random - np.linspace(0, 1, len(random))).max() < 0.08  # uniform
    assert pairs.annotators == ()
    assert answers.experts == (float((logits.argmax(1) == flat.labels).double().mean()),)


def test_experts_know_what_they_saw(digits: DataSet) -> None:
    labels, random = np.repeat(np.arange(10), 6000), np.random.default_rng(0)
    one = seen_items(labels, np.arange(10), 1, random)
    assert np.bincount(labels[one]).tolist() == [60] * 10
    of_three = seen_items(labels, np.array([4, 5, 6]), 3, random)
    assert np.bincount(labels[of_three]).tolist() == [1, 1, 1, 1, 600, 600, 600, 1, 1, 1]

    (trial,) = select_expert_trials("mnist", experts=3)
    drawn = draw(replace(trial, answers=900), flattened(digits))
    assert drawn.pairs.annotator is not None
    assert np.bincount(drawn.pairs.annotator).tolist() == [300] * 3
    assert all(0.2 < share < 0.7 for share in drawn.expert_shares)  # the classes that each knows, and few others
    assert 0 < drawn.replaced < 900
    again = draw(replace(trial, answers=900), flattened(digits))
    assert np.array_equal(again.pairs.same, drawn.pairs.same)


def test_an_expert_learns_from_its_few_labels(digits: DataSet) -> None:
    state = torch.random.get_rng_state()
    answers = ask_experts(flattened(digits).train, 500, 1, seed=0)
    assert torch.equal(torch.random.get_rng_state(), state)
    assert answers.experts[0] > 0.4  # from 14 labels, one or two of a class
