"""PairClassifier on cases whose answer is known, and on those it must refuse."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from PIL import Image
from sklearn.base import clone
from sklearn.datasets import load_digits, make_blobs
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from torch import nn

from likewise import InputError, PairClassifier, Pairs

X, Y = make_blobs(240, centers=4, random_state=3, cluster_std=0.6)
NAMES = np.array(["ant", "bee", "cat", "dog"])
PAIRS = Pairs.from_labels(Y, n=300)


def quick(**settings: object) -> PairClassifier:
    return PairClassifier(**{"n_classes": 4, "epochs": 6, **settings})  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def fitted() -> PairClassifier:
    return quick().fit(X, pairs=PAIRS)


def test_classes_from_answers_alone(fitted: PairClassifier) -> None:
    new, truth = make_blobs(200, centers=4, random_state=3, cluster_std=0.5)
    assert fitted.score(new, truth) > 0.97
    assert fitted.classes_.tolist() == [0, 1, 2, 3]
    assert len(np.unique(fitted.predict(new))) == 4
    assert len(fitted.held_out_) > 20
    assert fitted.score(X, pairs=fitted.held_out_) > 0.95
    assert {row["stage"] for row in fitted.history_} == ({1.0, 2.0} if fitted.unlabelled_ else {1.0})


def test_probabilities_agree_with_the_prediction_and_the_similarity(fitted: PairClassifier) -> None:
    p = fitted.predict_proba(X)
    np.testing.assert_allclose(p.sum(1), 1, rtol=1e-5)
    np.testing.assert_array_equal(fitted.classes_[p.argmax(1)], fitted.predict(X))
    rows = np.array([[0, 1], [5, 5], [7, 3]])
    np.testing.assert_allclose(fitted.predict_same(X, rows), (p[rows[:, 0]] * p[rows[:, 1]]).sum(1), rtol=1e-4)
    assert fitted.transform(X).shape == (240, 256)


def test_the_number_of_classes_is_estimated_where_it_is_left_out(fitted: PairClassifier, tmp_path: Path) -> None:
    model = quick(n_classes=None, epochs=3).fit(X, pairs=PAIRS)
    assert model.n_outputs_ == 4
    assert model.n_classes_interval_ is not None
    low, high = model.n_classes_interval_
    assert low <= 4 <= high
    assert model.score(X, Y) > 0.9
    model.save(tmp_path)
    loaded = PairClassifier.load(tmp_path)
    assert (loaded.n_classes, loaded.n_outputs_, loaded.n_classes_interval_) == (None, 4, (low, high))
    assert fitted.n_classes_interval_ is None
    assert quick(n_classes=None, epochs=1).fit(X, Y).n_classes_interval_ is None  # y has four


def test_a_model_saved_before_numbers_were_estimated_is_read(fitted: PairClassifier, tmp_path: Path) -> None:
    fitted.save(tmp_path)
    record = json.loads((tmp_path / "classifier.json").read_text())
    del record["n_classes_interval"]
    (tmp_path / "classifier.json").write_text(json.dumps(record))
    assert PairClassifier.load(tmp_path).n_classes_interval_ is None
    (tmp_path / "classifier.json").write_text(json.dumps(record | {"n_classes_interval": ["2"]}))
    with pytest.raises(InputError, match="n_classes_interval must be a list or null; save the classifier again"):
        PairClassifier.load(tmp_path)


def test_the_number_of_classes_of_images() -> None:
    digits = load_digits()
    images = (digits.images[:500] * 15).astype(np.uint8)
    pairs = Pairs.from_labels(digits.target[:500], n=400)
    model = PairClassifier(epochs=1, unlabelled=False, starts=1).fit(images, pairs=pairs)
    assert abs(model.n_outputs_ - 10) <= 3


def test_spare_outputs_are_dropped() -> None:
    model = quick(n_classes=9).fit(X, pairs=PAIRS)
    assert model.unused_outputs_ == 9 - len(model.classes_)
    assert model.predict_proba(X).shape == (240, len(model.classes_))
    assert model.score(X, Y) > 0.9


def test_names_from_a_few_labels(fitted: PairClassifier) -> None:
    few = [int(np.flatnonzero(k == Y)[0]) for k in range(4)]
    model = clone(fitted).fit(X, pairs=PAIRS).name_classes(X[few], NAMES[Y[few]])
    assert model.classes_.tolist() == NAMES.tolist()
    assert (model.predict(X) == NAMES[Y]).mean() > 0.97
    assert model.score(X, NAMES[Y]) == (model.predict(X) == NAMES[Y]).mean()


def test_an_output_without_a_name_keeps_its_number(fitted: PairClassifier) -> None:
    few = [int(np.flatnonzero(k == Y)[0]) for k in (0, 2)]
    model = clone(fitted).fit(X, pairs=PAIRS).name_classes(X[few], NAMES[Y[few]])
    assert {"ant", "cat"} < set(model.classes_)
    assert sum(name.startswith("output ") for name in model.classes_) == 2


def test_more_names_than_outputs_are_a_warning() -> None:
    model = quick(n_classes=2, epochs=2).fit(X, pairs=Pairs.from_labels(Y // 2, n=100))
    with pytest.warns(UserWarning, match="No output is left for"):
        model.name_classes(X, NAMES[Y])


def test_labels_are_used_as_same_or_different_and_name_the_outputs() -> None:
    model = quick(n_classes=None).fit(X, NAMES[Y])
    assert model.score(X, NAMES[Y]) > 0.97
    assert len(model.held_out_) == 0


def test_many_classes_are_learned_from_labels_in_few_epochs(tmp_path: Path) -> None:
    """Sixty classes, of which MCL pair by pair still merges many by then; a third of them have four items each."""
    random = np.random.default_rng(0)
    centres, sizes = 2 * random.normal(size=(60, 20)), np.where(np.arange(60) % 3, 20, 4)
    y, y_unseen = np.repeat(np.arange(60), sizes), np.repeat(np.arange(60), 5)
    points, unseen = (centres[each] + random.normal(size=(len(each), 20)) for each in (y, y_unseen))
    model = PairClassifier(epochs=6, starts=1).fit(points, y)
    assert model.score(unseen, y_unseen) > 0.9
    model.save(tmp_path)
    np.testing.assert_array_equal(PairClassifier.load(tmp_path).predict(unseen), model.predict(unseen))


def test_the_same_seed_gives_the_same_model() -> None:
    first, second, other = (quick(epochs=2, random_state=seed).fit(X, pairs=PAIRS) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first.predict_proba(X), second.predict_proba(X))
    assert not np.array_equal(first.predict_proba(X), other.predict_proba(X))


def test_saved_and_loaded(fitted: PairClassifier, tmp_path: Path) -> None:
    fitted.save(tmp_path)
    loaded = PairClassifier.load(tmp_path)
    np.testing.assert_array_equal(loaded.predict_proba(X), fitted.predict_proba(X))
    assert loaded.get_params()["epochs"] == 6
    assert sorted(path.name for path in tmp_path.iterdir()) == ["classifier.json", "model.safetensors"]
    loaded.name_classes(X, NAMES[Y]).save(tmp_path)
    assert PairClassifier.load(tmp_path).classes_.tolist() == NAMES.tolist()


def test_a_changed_model_is_refused(fitted: PairClassifier, tmp_path: Path) -> None:
    fitted.save(tmp_path)
    weights = bytearray((tmp_path / "model.safetensors").read_bytes())
    weights[-5] ^= 1
    (tmp_path / "model.safetensors").write_bytes(weights)
    with pytest.raises(InputError, match="was changed"):
        PairClassifier.load(tmp_path)
    (tmp_path / "model.safetensors").unlink()
    with pytest.raises(InputError, match="is missing"):
        PairClassifier.load(tmp_path)


def test_a_model_of_another_version_is_refused(fitted: PairClassifier, tmp_path: Path) -> None:
    fitted.save(tmp_path)
    record = json.loads((tmp_path / "classifier.json").read_text())
    (tmp_path / "classifier.json").write_text(json.dumps(record | {"format": 99, "likewise": "9.9"}))
    with pytest.raises(InputError, match=r"has format 99 \(Likewise 9.9\)"):
        PairClassifier.load(tmp_path)
    (tmp_path / "classifier.json").write_text("[]")
    with pytest.raises(InputError, match="was not written by Likewise"):
        PairClassifier.load(tmp_path)
    with pytest.raises(InputError, match="holds no classifier"):
        PairClassifier.load(tmp_path / "nowhere")


def test_any_network(tmp_path: Path) -> None:
    torch.manual_seed(0)
    own = nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, 4))
    before = own[0].weight.clone()
    model = quick(network=own, epochs=10, learning_rate=0.01, unlabelled=False).fit(X, pairs=PAIRS)
    assert torch.equal(own[0].weight, before)  # it was copied
    assert model.score(X, Y) > 0.9
    assert model.transform(X).shape == (240, 4)
    model.save(tmp_path)
    with pytest.raises(InputError, match="network of your own"):
        PairClassifier.load(tmp_path)
    np.testing.assert_array_equal(PairClassifier.load(tmp_path, network=own).predict(X), model.predict(X))
    made = quick(network=lambda k, shape: nn.Linear(shape[0], k), epochs=1).fit(X, pairs=PAIRS)
    assert isinstance(made.network_, nn.Linear)
    assert type(quick(network="mlp", epochs=1).fit(X, pairs=PAIRS).network_).__name__ == "MLP"


def test_answers_that_keep_coming() -> None:
    model = quick(epochs=2, unlabelled=False).partial_fit(X, pairs=Pairs.from_labels(Y, n=30))
    before = model.score(X, Y)
    for n in (100, 400):
        model.partial_fit(X, pairs=Pairs.from_labels(Y, n=n))
    assert model.score(X, Y) > max(0.9, before - 0.05)


def test_partial_fit_with_labels_keeps_all_classes() -> None:
    model = quick(n_classes=None, epochs=3).partial_fit(X, NAMES[Y], classes=[*NAMES, "eel"])
    assert model.classes_.tolist() == [*NAMES, "eel"]
    part = Y < 2
    model.partial_fit(X[part], NAMES[Y[part]])
    assert model.classes_.tolist() == [*NAMES, "eel"]


def test_early_stopping_keeps_the_best_epoch() -> None:
    model = quick(epochs=100, patience=3, unlabelled=False, starts=1, group_first=False).fit(X, pairs=PAIRS)
    losses = [row["held_out_loss"] for row in model.history_]
    assert len(losses) < 100
    assert np.argmin(losses) == len(losses) - 1 - 3


def test_weights_decide_between_answers_that_contradict() -> None:
    true = Pairs.from_labels(Y, n=600)
    false = Pairs.from_arrays(np.stack([true.left, true.right], 1), 1 - true.same)
    both = Pairs.from_arrays(
        np.concatenate([np.stack([p.left, p.right], 1) for p in (true, false)]), np.concatenate([true.same, false.same])
    )
    weight = np.repeat([1.0, 0.05], 600)
    model = quick(noise=0.05, unlabelled=False).fit(X, pairs=both, sample_weight=weight)
    assert model.score(X, Y) > 0.9
    zero = quick(epochs=2).fit(X, pairs=both, sample_weight=np.repeat([1.0, 0.0], 600))
    alone = quick(epochs=2).fit(X, pairs=true)
    np.testing.assert_array_equal(zero.predict_proba(X), alone.predict_proba(X))


@pytest.mark.parametrize("noise", ["learn", "auto"])
@pytest.mark.filterwarnings("ignore:The answers contradict one another, so some are wrong")
def test_the_rate_of_wrong_answers_is_learned(noise: str) -> None:
    pairs = Pairs.from_labels(Y, n=2000)
    wrong = np.random.default_rng(0).random(2000) < 0.2
    noisy = Pairs.from_arrays(np.stack([pairs.left, pairs.right], 1), np.where(wrong, 1 - pairs.same, pairs.same))
    model = quick(noise=noise, epochs=20, unlabelled=False).fit(X, pairs=noisy)
    assert model.noise_ == pytest.approx(0.2, abs=0.06)
    assert model.score(X, Y) > 0.95


def test_contradictions_say_that_answers_are_wrong() -> None:
    """Without any, what follows from the answers is used; with one, no chain is trusted, and it is said."""
    assert quick(epochs=2).fit(X, pairs=PAIRS).noise_ == 0
    ends, same = np.stack([PAIRS.left, PAIRS.right], 1), PAIRS.same.copy()
    a, b = ends[same > 0.5][0]
    c = ends[same < 0.5][0][0]
    one_wrong = Pairs.from_arrays(np.concatenate([ends, [(a, c), (b, c)]]), np.concatenate([same, [1, 0]]))
    with pytest.warns(UserWarning, match="contradict one another, so some are wrong: all are judged together"):
        model = quick(epochs=2, held_out=0).fit(X, pairs=one_wrong)
    assert model.noise_ > 0
    assert model.partial_fit(X[:2], pairs=Pairs.from_arrays([(0, 1)], [int(Y[0] == Y[1])])).noise_ > 0


def test_annotators_are_trusted_as_far_as_they_are_reliable() -> None:
    random = np.random.default_rng(0)
    known = np.stack([PAIRS.left, PAIRS.right], 1)
    guessed = np.concatenate([known, random.integers(0, len(X), (800, 2))])
    index, said = np.concatenate([known, known, guessed]), random.random(2 * len(known) + len(guessed)) < 0.5
    said[: 2 * len(known)] = np.tile(PAIRS.same, 2) > 0.5
    annotator = np.repeat(["ann", "bob", "chance"], [len(known), len(known), len(guessed)])
    by_three = Pairs.from_arrays(index, said, annotator=annotator)
    model = quick(noise=0, unlabelled=False, starts=1).fit(X, pairs=by_three)
    assert model.score(X, Y) > 0.97
    held_out = model.held_out_
    assert ((held_out.same > 0.5) == (Y[held_out.left] == Y[held_out.right])).all()  # nothing that was guessed
    again = quick(noise=0, unlabelled=False, starts=1).fit(X, pairs=by_three.merged())
    np.testing.assert_array_equal(model.predict_proba(X), again.predict_proba(X))
    with pytest.warns(UserWarning, match="all are judged together"):
        model = quick(unlabelled=False, starts=1).fit(X, pairs=by_three)
    assert model.score(X, Y) > 0.97
    assert model.posterior_.rates.random.tolist() == [False, False, True]
    wrong = (by_three.same > 0.5) != (Y[by_three.left] == Y[by_three.right])
    told = by_three.left != by_three.right
    assert ((model.p_wrong_ > 0.5) == wrong)[told].mean() > 0.97


def test_contradicting_answers_are_repaired_with_a_warning() -> None:
    rows = np.concatenate([np.stack([PAIRS.left, PAIRS.right], 1)] * 2 + [[[PAIRS.left[0], PAIRS.right[0]]]])
    same = np.concatenate([PAIRS.same, PAIRS.same, [1 - PAIRS.same[0]]])
    with pytest.warns(UserWarning, match=r"contradict one another: 1 of \d+ are left out"):
        model = quick(noise=0).fit(X, pairs=Pairs.from_arrays(rows, same))
    assert model.score(X, Y) > 0.95


def test_images_in_an_array_and_from_files(tmp_path: Path) -> None:
    digits = load_digits(n_class=3)
    images = (digits.images[:240] * 15.9).astype(np.uint8)  # (n, 8, 8)
    pairs = Pairs.from_labels(digits.target[:240], n=300)
    model = PairClassifier(3, epochs=4, unlabelled=False).fit(images, pairs=pairs)
    assert model.score(images, digits.target[:240]) > 0.95
    assert type(model.network_).__name__ == "LeNet"
    np.testing.assert_array_equal(model.predict(torch.from_numpy(images)), model.predict(images))
    np.testing.assert_array_equal(model.predict(images[..., None] / np.float32(255)), model.predict(images))

    files = [tmp_path / f"{i}.png" for i in range(60)]
    for file, image in zip(files, images, strict=False):
        Image.fromarray(image).save(file)
    named = Pairs.from_arrays(
        np.array([str(file) for file in files])[np.array([(i, j) for i in range(20) for j in range(20, 40)])],
        [digits.target[i] == digits.target[j] for i in range(20) for j in range(20, 40)],
    )
    from_files = PairClassifier(3, epochs=2, image_size=8, unlabelled=False).fit(
        [str(file) for file in files], pairs=named
    )
    assert from_files.input_form_.shape == (3, 8, 8)
    assert from_files.predict(files[:2]).shape == (2,)


def test_in_a_pipeline_and_a_search() -> None:
    labels = NAMES[Y]
    pipeline = make_pipeline(StandardScaler(), quick(n_classes=None, epochs=3))
    assert cross_val_score(pipeline, X, labels, cv=2).mean() > 0.9
    search = GridSearchCV(quick(n_classes=None), {"epochs": [1, 3]}, cv=2).fit(X, labels)
    assert search.best_score_ > 0.9
    frame = pd.DataFrame(X, columns=["a", "b"])
    model = quick(n_classes=None, epochs=1).fit(frame, labels)
    assert model.feature_names_in_.tolist() == ["a", "b"]
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[["b", "a"]])


def test_a_run_folder_goes_on_where_it_was(tmp_path: Path) -> None:
    whole = quick(epochs=2, run=tmp_path / "run").fit(X, pairs=PAIRS)
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == ["groups-1", "groups-2"]
    (tmp_path / "run/groups-2/metrics.json").unlink()
    again = quick(epochs=2, run=tmp_path / "run").fit(X, pairs=PAIRS)
    np.testing.assert_array_equal(whole.predict_proba(X), again.predict_proba(X))
    with pytest.raises(InputError, match="use another folder"):
        quick(epochs=2, run=tmp_path / "run").fit(X, pairs=Pairs.from_labels(Y, n=400, random_state=1))
    with pytest.raises(InputError, match="use another folder"):
        quick(epochs=2, run=tmp_path / "run").fit(X + 1, pairs=PAIRS)


REFUSED = {
    "nothing to learn from": (lambda: quick().fit(X), "give y, or pairs"),
    "n_classes of 1": (lambda: quick(n_classes=1).fit(X, pairs=PAIRS), "n_classes must be 2 or more, or None"),
    "fewer outputs than classes": (lambda: quick(n_classes=3).fit(X, Y), "y holds 4 classes"),
    "one class": (lambda: quick(n_classes=None).fit(X, np.zeros(240, int)), "one class"),
    "lengths": (lambda: quick().fit(X, Y[:-1]), "240 items and y 239"),
    "answers about items that are not there": (lambda: quick().fit(X[:9], pairs=PAIRS), "not among the 9 items"),
    "an array for pairs": (lambda: quick().fit(X, pairs=np.zeros((3, 2))), "Pairs.from_arrays"),
    "few answers": (lambda: quick().fit(X, pairs=PAIRS.select(np.arange(3))), "cannot tell 4 classes apart"),
    "only self pairs": (lambda: quick().fit(X, pairs=Pairs.from_arrays([(1, 1)] * 9, [1] * 9)), "cannot tell"),
    "only same": (lambda: quick().fit(X, pairs=PAIRS.select(PAIRS.same > 0.5)), "All answers say same"),
    "weights": (lambda: quick().fit(X, pairs=PAIRS, sample_weight=[1.0]), "300 finite numbers"),
    "NaN": (lambda: quick().fit(np.where(X > 0, X, np.nan), pairs=PAIRS), "NaN"),
    "text": (lambda: quick().fit(np.full((240, 2), "a"), pairs=PAIRS), "could not convert|dtype"),
    "floats beyond 1 as images": (lambda: quick().fit(np.full((240, 8, 8), 3.0), pairs=PAIRS), "between 0 and 1"),
    "augmentation": (lambda: quick(augment="much").fit(X, pairs=PAIRS), "augment must be"),
    "network": (lambda: quick(network="vgg99").fit(X, pairs=PAIRS), "no network named 'vgg99'"),
    "epochs": (lambda: quick(epochs=-1).fit(X, pairs=PAIRS), "epochs must be"),
    "noise": (lambda: quick(noise=0.7).fit(X, pairs=PAIRS), "noise must be"),
    "held out": (lambda: quick(held_out=1.5).fit(X, pairs=PAIRS), "held_out must be"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused(case: str) -> None:
    call, message = REFUSED[case]
    with pytest.raises(ValueError, match=message):
        call()


def test_refused_after_fitting(fitted: PairClassifier) -> None:
    with pytest.raises(ValueError, match="features"):
        fitted.predict(X[:, :1])
    with pytest.raises(InputError, match="items of shape"):
        fitted.predict(np.zeros((2, 8, 8), np.uint8))
    with pytest.raises(InputError, match=r"rows 0 to 239"):
        fitted.predict_same(X, [[0, 400]])
    with pytest.raises(InputError, match="whole numbers"):
        fitted.predict_same(X, [0, 1])
    with pytest.raises(InputError, match="score needs"):
        fitted.score(X)


def test_only_different_answers_are_a_warning() -> None:
    with pytest.warns(UserWarning, match="All answers say different"):
        quick(epochs=1).fit(X, pairs=PAIRS.select(PAIRS.same < 0.5))


def test_duplicates_and_self_pairs_do_no_harm() -> None:
    rows = np.stack([PAIRS.left, PAIRS.right], 1)
    more = Pairs.from_arrays(np.concatenate([rows, rows, [[3, 3]]]), np.concatenate([PAIRS.same, PAIRS.same, [1]]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert quick().fit(X, pairs=more).score(X, Y) > 0.95
