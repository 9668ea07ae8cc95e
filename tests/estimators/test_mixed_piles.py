"""Piles of known and new classes: names, P(new), later items, more piles, answers, k-means as the floor, bad input."""

from __future__ import annotations

import copy
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits, make_blobs

from likewise import CategoryDiscoverer, Pairs, SimilarityNetwork
from likewise.errors import InputError
from likewise.evaluation import accuracy, auroc, confusion, match_outputs

X, Y = make_blobs(480, n_features=8, centers=12, cluster_std=1.0, random_state=0)
NAMES = np.array([f"kind {'abcdefghijkl'[k]}" for k in range(12)])
OLD = Y < 6
LABELLED = OLD & (np.arange(480) % 2 == 0)
LATER = ~LABELLED & (np.arange(480) % 5 == 0)
UNSEEN = Y >= 10
PILE = ~LABELLED & ~LATER & ~UNSEEN  # six known classes and four new ones


@pytest.fixture(scope="module")
def found() -> CategoryDiscoverer:
    return CategoryDiscoverer(mixed=True, epochs=2).fit(X[PILE], known=(X[LABELLED], NAMES[Y[LABELLED]]))


def acc(labels: NDArray[Any], truth: NDArray[Any]) -> float:
    (a, i), (b, j) = (np.unique(each, return_inverse=True) for each in (labels, truth))
    counts = confusion(i, j, len(a), len(b))
    return accuracy(counts, match_outputs(counts))


def test_known_classes_keep_their_names_and_new_ones_are_numbered(found: CategoryDiscoverer) -> None:
    truth, old = Y[PILE], OLD[PILE]
    np.testing.assert_array_equal(found.labels_[old], NAMES[truth[old]])
    assert found.classes_.tolist() == [*NAMES[:6], "new 1", "new 2", "new 3", "new 4"]
    assert acc(found.labels_, truth) == 1
    assert (found.n_classes_, found.number_.estimate, found.counted_by_) == (10, 10, "known classes")
    np.testing.assert_array_equal(found.classes_[found.codes_], found.labels_)
    np.testing.assert_array_equal(found.classifier_.classes_, np.sort(found.classes_))


def test_each_item_has_the_probability_of_being_new(found: CategoryDiscoverer) -> None:
    old = OLD[PILE]
    assert found.p_new_[old].max() < 0.5 < found.p_new_[~old].min()
    assert found.known_share_ == pytest.approx(old.mean(), abs=0.12)


def test_later_items_of_no_class_are_told_as_new(found: CategoryDiscoverer) -> None:
    seen = LATER & ~UNSEEN
    p = found.predict_new(X[LATER | UNSEEN])
    assert auroc(p, UNSEEN[LATER | UNSEEN]) > 0.95
    assert (found.predict(X[UNSEEN]) == "new").mean() > 0.8
    right = found.predict(X[seen & OLD]) == NAMES[Y[seen & OLD]]
    assert right.mean() > 0.9
    assert found.predict_proba(X[seen]).shape == (seen.sum(), 10)


def test_saved_and_loaded(found: CategoryDiscoverer, tmp_path: Path) -> None:
    found.save(tmp_path)
    loaded = CategoryDiscoverer.load(tmp_path)
    for name in ("labels_", "classes_", "codes_", "p_new_", "anchors_", "anchor_codes_"):
        np.testing.assert_array_equal(getattr(loaded, name), getattr(found, name))
    assert loaded.novelty_ == found.novelty_
    assert loaded.known_share_ == found.known_share_
    np.testing.assert_array_equal(loaded.predict(X[LATER]), found.predict(X[LATER]))
    anchors = tmp_path / "anchors.safetensors"
    anchors.write_bytes(anchors.read_bytes()[:-4] + b"\0\0\0\1")
    with pytest.raises(InputError, match=r"anchors\.safetensors was changed since discoverer\.json was written"):
        CategoryDiscoverer.load(tmp_path)


def test_another_pile_keeps_names_and_numbers(found: CategoryDiscoverer) -> None:
    second = LATER | UNSEEN
    more = found.more(X[second])
    truth = Y[second]
    np.testing.assert_array_equal(more.labels_[truth < 6], NAMES[truth[truth < 6]])
    before = {k: found.labels_[Y[PILE] == k][0] for k in range(6, 10)}
    for k, name in before.items():
        assert set(more.labels_[truth == k]) == {name}
    assert set(more.labels_[truth >= 10]) == {"new 5", "new 6"}


def test_a_pile_of_numbers_continues_them() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        first = CategoryDiscoverer(4, epochs=1).fit(X[(Y > 5) & ~UNSEEN], known=(X[OLD], Y[OLD]))
    assert set(first.labels_) == {0, 1, 2, 3}
    assert set(first.more(X[Y > 5]).labels_) == {0, 1, 2, 3, 4, 5}


def test_answers_about_the_pile_join_in() -> None:
    """One of the kinds is two, as only answers say."""
    rows, truth = X[PILE], Y[PILE].copy()
    truth[(truth == 6) & (rows[:, 0] > np.median(rows[truth == 6, 0]))] = 20
    known = (X[LABELLED], NAMES[Y[LABELLED]])
    answers = Pairs.from_labels(truth, n=2500)
    with_answers = CategoryDiscoverer(11, mixed=True, epochs=1).fit(rows, known=known, pairs=answers)
    without = CategoryDiscoverer(11, mixed=True, epochs=1).fit(rows, known=known)
    assert acc(with_answers.labels_, truth) > acc(without.labels_, truth)
    assert acc(with_answers.labels_, truth) > 0.97


def small_problem(kind: str, seed: int) -> tuple[NDArray[Any], NDArray[Any]]:
    random, y = np.random.default_rng(seed), np.repeat(np.arange(10), 20)
    match kind:
        case "round":
            return make_blobs(200, centers=10, n_features=5, cluster_std=2.5, random_state=seed)
        case "directions":
            rows = random.normal(size=(10, 30))[y] + 1.5 * random.normal(size=(200, 30))
            return rows / np.linalg.norm(rows, axis=1, keepdims=True), y
        case "unequal":  # in number and in width
            y = random.choice(10, 200, p=random.dirichlet(np.full(10, 3.0)))
            width = random.uniform(0.5, 2, 10)[y][:, None]
            return 3 * random.normal(size=(10, 8))[y] + width * random.normal(size=(200, 8)), y
    digits, digit = load_digits(return_X_y=True)
    some = random.permutation(1797)[:300]
    return digits[some], digit[some]


@pytest.mark.filterwarnings("ignore:About|The similarity looks useless")
def test_never_below_k_means() -> None:
    """On average over small problems, and in none of them by more than chance."""
    ahead: dict[str, list[float]] = {"round": [], "directions": [], "unequal": [], "digits": []}
    for kind, values in ahead.items():
        for seed in range(5):
            rows, y = small_problem(kind, seed)
            old = np.isin(y, np.random.default_rng(seed).permutation(10)[:5])
            truth = y[~old]
            found = CategoryDiscoverer(5, epochs=0, random_state=seed).fit(rows[~old], known=(rows[old], y[old]))
            rival = KMeans(5, n_init=10, random_state=seed).fit(rows[~old]).labels_
            right, rivals = acc(found.labels_, truth), acc(rival, truth)
            chance = 2 * np.sqrt(2 * max(rivals * (1 - rivals), 0.01) / len(truth))  # two standard errors of both
            assert right > rivals - chance, (kind, seed)
            values.append(right - rivals)
    assert all(np.mean(values) > -0.01 for values in ahead.values()), ahead  # less than one item of each problem
    assert np.mean([*ahead.values()]) > 0


def test_new_items_are_told_by_a_network_from_scratch_as_well() -> None:
    network = SimilarityNetwork("mlp", epochs=20)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = CategoryDiscoverer(4, similarity=network, epochs=1).fit(
            X[(Y > 5) & ~UNSEEN], known=(X[OLD], NAMES[Y[OLD]])
        )
    assert found.novelty_ is not None
    assert auroc(found.predict_new(X[Y > 5]), UNSEEN[Y > 5]) > 0.9


@pytest.mark.filterwarnings("ignore:The similarity looks useless")
def test_a_mixed_pile_that_is_taken_for_new_is_warned_of() -> None:
    with pytest.warns(UserWarning, match=r"About \d\d % of the pile look like known classes; use --mixed"):
        CategoryDiscoverer(epochs=0).fit(X[PILE], known=(X[LABELLED], Y[LABELLED]))


def test_a_pile_without_new_or_without_known_classes() -> None:
    known = (X[LABELLED], NAMES[Y[LABELLED]])
    only_old = CategoryDiscoverer(mixed=True, epochs=0).fit(X[OLD & ~LABELLED], known=known)
    assert only_old.n_classes_ == 6
    np.testing.assert_array_equal(only_old.labels_, NAMES[Y[OLD & ~LABELLED]])
    only_new = CategoryDiscoverer(mixed=True, epochs=0).fit(X[~OLD], known=known)
    assert not np.isin(only_new.labels_, NAMES).any()
    assert only_new.known_share_ is not None
    assert only_new.known_share_ < 0.05


def test_known_classes_of_one_item_and_items_that_are_in_both() -> None:
    single = np.array([np.flatnonzero(k == Y)[0] for k in range(2)])
    chosen = np.concatenate([single, np.flatnonzero(LABELLED & (Y > 1))])
    both = np.concatenate([X[PILE], X[chosen]])
    found = CategoryDiscoverer(10, mixed=True, epochs=0).fit(both, known=(X[chosen], NAMES[Y[chosen]]))
    assert (found.labels_[-len(chosen) :] == NAMES[Y[chosen]]).mean() > 0.95
    assert found.n_classes_ == 10


def test_names_that_collide_with_those_of_new_classes() -> None:
    names = np.where(Y == 0, "new 1", NAMES[Y])
    found = CategoryDiscoverer(10, mixed=True, epochs=0).fit(X[PILE], known=(X[LABELLED], names[LABELLED]))
    assert len(set(found.classes_)) == 10
    assert set(found.labels_[Y[PILE] == 0]) == {"new 1"}
    assert "new 2" in found.classes_


def alike(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.exp(-((a - b) ** 2).sum(1))


@pytest.mark.parametrize(
    ("parameters", "known", "message"),
    [
        (
            {"n_classes": 5},
            True,
            "n_classes is 5, but 6 classes are known; with mixed it is that of all of them.",
        ),
        ({"similarity": alike}, False, "mixed=True needs known items"),
        ({}, False, "There is nothing to learn similarity from"),
        ({"similarity": SimilarityNetwork("metric", head="pairs")}, True, "The network 'metric' is for features"),
    ],
)
def test_refused(parameters: dict[str, Any], known: bool, message: str) -> None:
    given = (X[LABELLED], NAMES[Y[LABELLED]]) if known else None
    with pytest.raises(InputError) as refused:
        CategoryDiscoverer(mixed=True, **parameters).fit(X[PILE], known=given)
    assert message in str(refused.value)


def test_more_needs_items_that_were_kept(found: CategoryDiscoverer) -> None:
    bare = copy.copy(found)
    bare.similarity_ = None
    assert (bare.predict_new(X[PILE]) == 0).all()
    with pytest.raises(InputError, match="A similarity of your own is not kept with its items"):
        bare.more(X[PILE])
