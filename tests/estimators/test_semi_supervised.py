"""SemiSupervisedClassifier on cases whose answer is known, and on those it must refuse."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.datasets import load_digits, make_moons
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from torch import nn

from likewise import PairClassifier, SemiSupervisedClassifier
from likewise.errors import InputError
from likewise.estimators import load_classifier
from likewise.estimators.semi_supervised import hold_out_labels, read_partial_labels
from likewise.supervision.semi import METHODS

X, Y = make_moons(400, noise=0.07, random_state=0)
NAMES = np.array(["ant", "bee"])
FEW = np.full(400, -1)
for kind in (0, 1):
    FEW[np.flatnonzero(kind == Y)[:5]] = kind


def quick(method: str = "pseudo-mcl", **settings: object) -> SemiSupervisedClassifier:
    return SemiSupervisedClassifier(method, **{"epochs": 3, **settings})  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def fitted() -> SemiSupervisedClassifier:
    return quick().fit(X, FEW)


@pytest.mark.parametrize("method", METHODS)
def test_every_method(method: str) -> None:
    model = quick(method).fit(X, FEW)
    assert model.score(X, Y) > 0.75
    assert (model.method_, model.n_labelled_) == (method, 10)
    assert (model.predict(X)[FEW >= 0] == Y[FEW >= 0]).mean() > 0.8


def test_the_unlabelled_items_help() -> None:
    """Two moons, five labels each: the labels alone draw a line, the items show where the moons are."""
    model = SemiSupervisedClassifier("pseudo-mcl+", epochs=30).fit(X, FEW)
    alone = SemiSupervisedClassifier("supervised", epochs=30).fit(X, FEW)
    assert model.score(X, Y) > alone.score(X, Y)


def test_predictions_agree_with_each_other(fitted: SemiSupervisedClassifier) -> None:
    p = fitted.predict_proba(X)
    np.testing.assert_allclose(p.sum(1), 1, rtol=1e-5)
    np.testing.assert_array_equal(fitted.classes_[p.argmax(1)], fitted.predict(X))
    rows = np.array([[0, 1], [5, 5]])
    np.testing.assert_allclose(fitted.predict_same(X, rows), (p[rows[:, 0]] * p[rows[:, 1]]).sum(1), rtol=1e-4)
    assert fitted.transform(X).shape == (400, 256)
    assert [row["stage"] for row in fitted.history_] == [1.0] * 3 + [2.0] * 3


def test_names_and_saved_and_loaded(tmp_path: Path) -> None:
    few = np.where(FEW >= 0, NAMES[FEW], "")
    model = quick().fit(X, few)
    assert model.classes_.tolist() == ["ant", "bee"]
    model.save(tmp_path)
    for loaded in (SemiSupervisedClassifier.load(tmp_path), load_classifier(tmp_path)):
        assert isinstance(loaded, SemiSupervisedClassifier)
        np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
        assert (loaded.method_, loaded.n_labelled_, loaded.get_params()["epochs"]) == ("pseudo-mcl", 10, 3)
    with pytest.raises(InputError, match="holds a SemiSupervisedClassifier and no PairClassifier"):
        PairClassifier.load(tmp_path)
    record = json.loads((tmp_path / "classifier.json").read_text())
    (tmp_path / "classifier.json").write_text(json.dumps(record | {"kind": "Oracle"}))
    with pytest.raises(InputError, match="holds a 'Oracle', and this Likewise knows PairClassifier and Semi"):
        load_classifier(tmp_path)
    (tmp_path / "classifier.json").write_text(json.dumps({k: v for k, v in record.items() if k != "n_labelled"}))
    with pytest.raises(InputError, match="'n_labelled' is missing"):
        load_classifier(tmp_path)


def test_labels_that_are_held_out_are_not_learned_from() -> None:
    labels = np.where(np.arange(400) < 40, Y, -1)
    model = quick(held_out=0.25, random_state=3)
    out = model.fit(X, labels).held_out_
    assert len(out) == 10
    assert model.n_labelled_ == 30
    labels[out] = -1
    without = clone(model).set_params(held_out=0.0).fit(X, labels)
    np.testing.assert_array_equal(without.predict_proba(X), model.predict_proba(X))
    measured = model.history_[-1]["held_out_accuracy"]
    assert measured == pytest.approx((model.predict(X)[out] == Y[out]).mean())
    assert "held_out_accuracy" not in without.history_[-1]


def test_every_item_labelled_is_said_and_learned_from_labels_alone() -> None:
    with pytest.warns(UserWarning, match="Every item has a label"):
        model = quick().fit(X, Y)
    assert model.method_ == "supervised"
    plain = quick("supervised").fit(X, Y)
    np.testing.assert_array_equal(model.predict_proba(X), plain.predict_proba(X))


def test_the_same_seed_gives_the_same_model() -> None:
    first, second, other = (quick("vat", random_state=seed).fit(X, FEW) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first.predict_proba(X), second.predict_proba(X))
    assert not np.array_equal(first.predict_proba(X), other.predict_proba(X))


def test_epsilon_is_vats() -> None:
    near, far = (quick("vat", epsilon=epsilon).fit(X, FEW).predict_proba(X) for epsilon in (0.01, 1.0))
    assert not np.allclose(near, far)
    a, b = (quick("pi-model", epsilon=epsilon).fit(X, FEW).predict_proba(X) for epsilon in (0.01, 1.0))
    np.testing.assert_array_equal(a, b)


def test_a_network_of_ones_own() -> None:
    own = nn.Sequential(nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 2))
    before = own[0].weight.clone()
    assert quick(network=own, learning_rate=0.01).fit(X, FEW).score(X, Y) > 0.7
    assert torch.equal(own[0].weight, before)
    with pytest.raises(InputError, match="The network has 3 outputs, and there are 2 classes"):
        quick(network=nn.Linear(2, 3)).fit(X, FEW)
    with pytest.raises(InputError, match="method features"):
        quick("spn-mcl", network=own).fit(X, FEW)


def test_images() -> None:
    digits = load_digits(n_class=3)
    images = (digits.images * 15.9).astype(np.uint8)
    few = np.where(np.arange(len(images)) < 20, digits.target, -1)
    model = SemiSupervisedClassifier("pseudo-mcl+", epochs=6).fit(images, few)
    assert model.score(images, digits.target) > 0.9
    assert type(model.network_).__name__ == "LeNet"


def test_a_run_folder_goes_on_where_it_was(tmp_path: Path) -> None:
    whole = quick(run=tmp_path / "run").fit(X, FEW)
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == ["pseudo-mcl", "supervised"]
    (tmp_path / "run/pseudo-mcl/metrics.json").unlink()
    again = quick(run=tmp_path / "run").fit(X, FEW)
    np.testing.assert_array_equal(whole.predict_proba(X), again.predict_proba(X))
    with pytest.raises(InputError, match="use another folder"):
        quick(run=tmp_path / "run").fit(X, np.where(np.arange(400) < 30, Y, -1))
    with pytest.raises(InputError, match="use another folder"):
        quick(run=tmp_path / "run").fit(X + 1, FEW)


def test_in_a_pipeline() -> None:
    pipeline = make_pipeline(StandardScaler(), quick())
    with pytest.warns(UserWarning, match="Every item has a label"):
        assert cross_val_score(pipeline, X, NAMES[Y], cv=2).mean() > 0.7


REFUSED = {
    "no labels": (lambda: quick().fit(X, np.full(400, -1)), "y holds no label"),
    "one class": (lambda: quick().fit(X, np.where(FEW == 1, 1, -1)), "one class"),
    "more classes than told": (lambda: quick(n_classes=1).fit(X, FEW), "n_classes is 1, but the 10 labels name 2"),
    "method": (lambda: quick("mixmatch").fit(X, FEW), "no method 'mixmatch'"),
    "held out": (lambda: quick(held_out=1.0).fit(X, FEW), "held_out must be"),
    "epsilon": (lambda: quick(epsilon=0).fit(X, FEW), "epsilon must be a finite number above 0"),
    "epochs": (lambda: quick(epochs=-1).fit(X, FEW), "epochs must be"),
    "network": (lambda: quick(network="vgg99").fit(X, FEW), "no network named 'vgg99'"),
    "augmentation": (lambda: quick(augment="much").fit(X, FEW), "augment must be"),
    "NaN": (lambda: quick().fit(np.where(X > 0, X, np.nan), FEW), "NaN"),
    "single labels for a similarity": (
        lambda: quick("spn-mcl").fit(X, np.where(np.arange(400) < 2, [0, 1] * 200, -1)),
        "No class has two items",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused(case: str) -> None:
    call, message = REFUSED[case]
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("method", METHODS)
def test_a_class_without_a_label(method: str, tmp_path: Path) -> None:
    model = quick(method, n_classes=4, epochs=1).fit(X, FEW)
    assert model.n_outputs_ == 4
    assert model.classes_[:2].tolist() == [0, 1]
    assert model.unused_outputs_ == 4 - len(model.classes_)
    model.save(tmp_path)
    np.testing.assert_array_equal(SemiSupervisedClassifier.load(tmp_path).predict_proba(X), model.predict_proba(X))


def test_an_output_without_a_label_is_a_class_where_items_fall_in_it() -> None:
    class Fixed(nn.Module):
        """Looks at the sign of each feature; a parameter is there for the optimizer alone."""

        def __init__(self) -> None:
            super().__init__()
            self.idle = nn.Parameter(torch.zeros(()))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.stack([x[:, 0], -x[:, 0], x[:, 1] * 9], dim=1) * 5 + self.idle

    model = quick("supervised", n_classes=3, epochs=1, network=Fixed()).fit(X, NAMES[FEW])
    assert model.classes_.tolist() == ["ant", "bee", "output 2"]
    assert set(model.predict(X)) == {"ant", "bee", "output 2"}


SAID = [
    ([2, -1, 5, 2], [2, 5]),
    ([2, -100, 5, 2], [2, 5]),
    (["b", "-100", "c", "b"], ["b", "c"]),
    (np.array(["b", -100, "c", "b"], dtype=object), ["b", "c"]),
    (np.array([2.0, -1.0, 5.0, 2.0]), [2.0, 5.0]),
    (["b", "", "c", "b"], ["b", "c"]),
    (["b", "-1", "c", "b"], ["b", "c"]),
    (np.array(["b", None, "c", "b"], dtype=object), ["b", "c"]),
    (np.array(["b", -1, "c", "b"], dtype=object), ["b", "c"]),
    (np.array(["b", np.nan, "c", "b"], dtype=object), ["b", "c"]),
    (np.array([2, None, 5, 2], dtype=object), [2, 5]),
]


@pytest.mark.parametrize(("y", "classes"), SAID)
def test_every_way_to_say_that_there_is_no_label(y: object, classes: list[object]) -> None:
    found = read_partial_labels(y, 4, None)  # type: ignore[arg-type]
    assert found.classes.tolist() == classes
    assert found.codes.tolist() == [0, -1, 1, 0]


UNREADABLE = {
    "none": (None, None, "requires y to be passed"),
    "no label": ([-1, -1, -1], None, "y holds no label, all of it is -1"),
    "one class": ([4, -1, 4], None, "y holds one class, 4; label items of at least two"),
    "lengths": ([0, 1], None, "X has 3 items and y 2"),
    "not finite": ([0.0, np.nan, 1.0], None, "y contains NaN"),
    "numbers of no class": ([0.3, 0.7, 1.4], None, "Unknown label type"),
    "more classes than told": ([0, 1, 2], 2, "name 3 classes; give 3 or more, or leave it out"),
}


@pytest.mark.parametrize("case", UNREADABLE)
def test_labels_that_are_refused(case: str) -> None:
    y, n_classes, message = UNREADABLE[case]
    with pytest.raises(ValueError, match=message):
        read_partial_labels(y, 3, n_classes)  # type: ignore[arg-type]


def test_a_share_is_held_out_and_every_class_keeps_a_label() -> None:
    codes = np.random.default_rng(0).integers(-1, 4, 500)
    n = int((codes >= 0).sum())
    out = hold_out_labels(codes, 0.25, seed=0)
    assert len(out) == int(0.25 * n)
    assert (codes[out] >= 0).all()
    assert not np.array_equal(out, hold_out_labels(codes, 0.25, seed=1))
    most = hold_out_labels(codes, 0.999, seed=0)
    assert len(most) == n - 4
    assert np.unique(codes[np.setdiff1d(np.flatnonzero(codes >= 0), most)]).tolist() == [0, 1, 2, 3]
    assert len(hold_out_labels(codes, 0.0, seed=0)) == 0


def test_the_error_is_one_of_ours() -> None:
    with pytest.raises(InputError):
        read_partial_labels([-1, -1], 2, None)
