"""Cross-validation and searches with answers alone, as scikit-learn has them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from PIL import Image
from sklearn.datasets import make_blobs
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from likewise import InputError, PairClassifier, PairKFold, Pairs
from likewise.estimators import agreement, balanced_agreement

X, Y = make_blobs(120, centers=3, random_state=3, cluster_std=0.5)
PAIRS = Pairs.from_labels(Y, n=500)
ANSWERS = PAIRS.target(len(X))


def quick(**settings: Any) -> PairClassifier:
    return PairClassifier(**{"n_classes": 3, "epochs": 4, "unlabelled": False, "held_out": 0, "starts": 1, **settings})


def test_folds_are_by_items_and_answers_stay_within_a_side() -> None:
    tested = []
    for train, test in PairKFold(3, random_state=1).split(X, ANSWERS):
        assert not set(train) & set(test)
        assert len(train) + len(test) == 120
        for side in (train, test):
            part = ANSWERS[side].pairs
            np.testing.assert_array_equal(part.same > 0.5, Y[side][part.left] == Y[side][part.right])
            inside = np.isin(PAIRS.left, side) & np.isin(PAIRS.right, side)
            assert len(part) == inside.sum() > 0
        tested += test.tolist()
    assert sorted(tested) == list(range(120))


def test_the_seed_decides_the_folds() -> None:
    first, again, other = (
        [test.tolist() for _, test in PairKFold(3, random_state=seed).split(X, ANSWERS)] for seed in (1, 1, 2)
    )
    assert first == again != other


def test_items_with_answers_are_dealt_out_evenly() -> None:
    few = Pairs.from_labels(np.where(np.arange(120) < 12, Y, -1)).target(120)
    assert [int(np.sum(test < 12)) for _, test in PairKFold(3).split(X, few)] == [4, 4, 4]


def test_cross_validation_scores_by_answers_of_items_not_seen() -> None:
    scores = cross_validate(
        make_pipeline(StandardScaler(), quick()),
        X,
        ANSWERS,
        cv=PairKFold(3),
        scoring={"all": agreement, "balanced": balanced_agreement},
        error_score="raise",
        return_indices=True,
        return_estimator=True,
    )
    assert scores["test_all"].mean() > 0.9
    assert scores["test_balanced"].mean() > 0.9
    model, test = scores["estimator"][0], scores["indices"]["test"][0]
    part = ANSWERS[test].pairs
    p = model.predict_proba(X[test])
    said = (p[part.left] * p[part.right]).sum(1) > 0.5
    assert scores["test_all"][0] == pytest.approx((said == (part.same > 0.5)).mean())


@pytest.mark.parametrize("cv", [2, KFold(2, shuffle=True, random_state=0), PairKFold(2)])
def test_any_splitter_takes_the_answers_along(cv: Any) -> None:
    scores = cross_val_score(quick(), X, ANSWERS, cv=cv, error_score="raise")
    assert len(scores) == 2
    assert scores.min() > 0.8


def test_a_search_finds_what_answers_ask_for() -> None:
    search = GridSearchCV(quick(), {"epochs": np.array([6]), "learning_rate": [1e-7, 3e-3]}, cv=PairKFold(2))
    search.fit(X, ANSWERS)
    assert search.best_params_["learning_rate"] == 3e-3
    assert search.best_estimator_.score(X, Y) > 0.9
    assert search.score(X, ANSWERS) > 0.9


def test_a_search_within_a_cross_validation() -> None:
    search = GridSearchCV(quick(epochs=2), {"learning_rate": [3e-3]}, cv=PairKFold(2))
    assert len(cross_val_score(search, X, ANSWERS, cv=PairKFold(2), error_score="raise")) == 2


def test_answers_to_learn_from_and_classes_to_measure_with() -> None:
    names = np.array(["ant", "bee", "cat"])[Y]
    scores = cross_val_score(quick(epochs=8), X, names, cv=2, params={"pairs": ANSWERS}, error_score="raise")
    assert scores.mean() > 0.9
    model = quick(n_classes=None).fit(X, names, pairs=PAIRS)
    assert model.classes_.tolist() == ["ant", "bee", "cat"]
    np.testing.assert_array_equal(
        model.predict_same(X, [[0, 1], [1, 2]]), quick().fit(X, pairs=PAIRS).predict_same(X, [[0, 1], [1, 2]])
    )


def test_frames_and_paths_are_split_too(tmp_path: Path) -> None:
    frame = pd.DataFrame(X, columns=["a", "b"], index=[f"item {row}" for row in range(120)])
    assert len(cross_val_score(quick(epochs=1), frame, ANSWERS, cv=PairKFold(2), error_score="raise")) == 2
    files = [str(tmp_path / f"{row}.png") for row in range(30)]
    for file, kind in zip(files, Y, strict=False):
        Image.fromarray(np.full((8, 8), 80 * kind, np.uint8)).save(file)
    y = Pairs.from_labels(Y[:30]).target(files)
    small = quick(epochs=1, image_size=8)
    assert len(cross_val_score(small, files, y, cv=PairKFold(2), error_score="raise")) == 2
    assert len(cross_val_score(small, np.array(files), y, cv=PairKFold(2), error_score="raise")) == 2


def test_answers_of_weight_0_or_undecided_do_not_score() -> None:
    model = quick().fit(X, pairs=PAIRS)
    wrong = Pairs.from_arrays([(0, 1), (0, 2), (0, 3)], [float(Y[0] == Y[1]), 0.5, 1 - (Y[0] == Y[3])], [1, 1, 0])
    assert model.score(X, pairs=wrong) == agreement(model, X, wrong) == 1.0


REFUSED: dict[str, tuple[Any, str]] = {
    "labels": (lambda: list(PairKFold(3).split(X, Y)), r"give pairs.target\(len\(X\)\) as y, got ndarray"),
    "one fold": (lambda: list(PairKFold(1).split(X, ANSWERS)), "n_splits must be from 2"),
    "too few answers": (
        lambda: list(PairKFold(3).split(X, PAIRS.select(np.arange(2)).target(120))),
        "2 answers about 4 items are too few; use fewer folds",
    ),
    "answers twice": (lambda: quick().fit(X, ANSWERS, pairs=PAIRS), "y holds answers, and pairs are given too"),
    "a target of another length": (lambda: quick().fit(X[:60], ANSWERS), "not among the 60 items"),
    "nothing to score with": (lambda: agreement(quick(), X, PAIRS.select(np.arange(0))), "no answer about these"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused(case: str) -> None:
    call, message = REFUSED[case]
    with pytest.raises(InputError, match=message):
        call()
