"""What the answers do: they join, split, find wrong answers and say how good the classes are."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.datasets import load_digits, make_blobs

from likewise.benchmarks.question_rivals import accuracy
from likewise.errors import InputError
from likewise.querying import QuestionChooser, stopping
from likewise.querying.audit import unseen_share
from likewise.querying.beliefs import Beliefs
from likewise.querying.choice import calibrate, scale_to_join, without_answers
from likewise.querying.forecast import forecast
from likewise.querying.neighbours import near_items
from likewise.querying.partition import GUESS, partition, strength
from likewise.querying.spaces import edges, spaces
from likewise.querying.view import see

Ints = NDArray[np.int64]


def some_digits() -> tuple[NDArray[np.float64], Ints]:
    """400 drawings of the digits 0 to 5."""
    X, y = load_digits(return_X_y=True)
    rows = np.flatnonzero(y < 6)[:400]
    return X[rows], y[rows].astype(np.int64)


def ask(chooser: QuestionChooser, y: Ints, number: int, wrong: float = 0.0) -> list[float]:
    """The accuracy before and after each answer."""
    random, curve = np.random.default_rng(4), [accuracy(chooser.labels_, y)]
    for _ in range(number):
        pair = chooser.next()
        assert pair is not None
        chooser.tell(*pair, bool((y[pair[0]] == y[pair[1]]) ^ (random.random() < wrong)))
        curve.append(accuracy(chooser.labels_, y))
    return curve


def test_chosen_questions_beat_none_and_random_ones() -> None:
    X, y = some_digits()
    chooser = QuestionChooser(X)
    curve = ask(chooser, y, 40)
    assert curve[-1] >= 0.95
    assert curve[-1] > curve[0]
    random, rival = np.random.default_rng(0), QuestionChooser(X)
    for _ in range(40):
        i, j = random.choice(len(y), 2, replace=False)
        rival.tell(int(i), int(j), bool(y[i] == y[j]))
    assert accuracy(rival.labels_, y) < curve[-1]


def test_wrong_answers_are_outvoted_and_listed() -> None:
    X, y = make_blobs(300, n_features=6, centers=4, cluster_std=1.0, random_state=2)
    y = y.astype(np.int64)
    chooser = QuestionChooser(X)
    ask(chooser, y, 30)
    i, j = (int(np.flatnonzero(y == label)[0]) for label in (0, 1))
    chooser.tell(i, j, True)
    assert accuracy(chooser.labels_, y) > 0.95
    assert (min(i, j), max(i, j)) in [suspect[:2] for suspect in chooser.suspects(3)]


def test_a_suspect_comes_with_the_chain_that_denies_it() -> None:
    X, _ = make_blobs(200, n_features=6, centers=3, cluster_std=0.5, random_state=2)
    chooser = QuestionChooser(X)
    a, b, c = (int(i) for i in np.flatnonzero(chooser.labels_ == 0)[:3])
    chooser.tell(a, b, True)
    chooser.tell(b, c, True)
    chooser.tell(a, c, False)
    suspect = next(one for one in chooser.suspects() if set(one[:2]) == {a, c})
    assert suspect[2] > 1
    assert [set(link[:2]) for link in suspect[3]] in ([{a, b}, {b, c}], [{b, c}, {a, b}])


def test_a_chain_goes_on_from_an_item_that_looks_alike() -> None:
    X, y = make_blobs(200, n_features=6, centers=3, cluster_std=0.5, random_state=2)
    beliefs = told(X, [], y)
    atoms = [np.flatnonzero(beliefs.view.atom == atom) for atom in range(beliefs.view.n_atoms)]
    one = next(items for items in atoms if len(items) > 1 and y[items[0]] == 0)
    other = next(items for items in atoms if len(items) > 1 and y[items[0]] == 1)
    a, b, c, d = (int(each) for each in (one[0], one[1], other[0], other[1]))
    chooser = QuestionChooser(X)
    chooser.tell(a, c, True)  # wrong
    chooser.tell(b, d, False)
    suspect = next(each for each in chooser.suspects() if {*each[:2]} == {a, c})
    assert [(*sorted(link[:2]), link[2]) for link in suspect[3]] == [(*sorted((b, d)), False)]


def test_the_number_of_classes_is_kept_where_it_is_known() -> None:
    X, _ = some_digits()
    assert QuestionChooser(X, n_classes=6).n_classes_ == 6


def test_audits_are_one_in_ten_and_tell_the_accuracy() -> None:
    X, y = some_digits()
    chooser, kinds = QuestionChooser(X), []
    for _ in range(40):
        pair = chooser.next()
        assert pair is not None
        kinds.append(chooser.kind)
        assert chooser.why
        chooser.tell(*pair, bool(y[pair[0]] == y[pair[1]]))
    assert [number for number, kind in enumerate(kinds) if kind == "audit"] == [9, 19, 29, 39]
    estimate, low, high = chooser.accuracy()
    assert 0 <= low <= estimate <= high <= 1
    assert low <= accuracy(chooser.labels_, y) <= high
    assert 0 <= chooser.unseen() <= 1


def test_grid_and_strip_show_pairs_that_were_not_asked() -> None:
    X, y = some_digits()
    chooser = QuestionChooser(X)
    ask(chooser, y, 10)
    grid, strip = chooser.grid(12), chooser.strip(4)
    assert grid is not None
    assert strip is not None
    anchors, shown = grid
    assert len(set(anchors) | set(shown)) == len(anchors) + len(shown) <= 3 + 12
    assert len({int(chooser.labels_[i]) for i in (*anchors, *shown)}) == 1
    item, representatives = strip
    assert len({int(chooser.labels_[i]) for i in representatives}) == len(representatives) <= 4
    assert item not in representatives
    before = chooser.answers
    for one in shown:
        chooser.tell(anchors[0], one, bool(y[anchors[0]] == y[one]))
    assert chooser.answers == before + len(shown)


def test_a_forecast_is_a_range_that_falls_with_accuracy() -> None:
    values = np.array([20.0, 10.0, 5.0])
    there, near, far = (forecast(1000, values, (each, each - 0.1, 1.0), 0.95) for each in (0.96, 0.9, 0.5))
    assert there[0] == 0 < there[1] < near[1] < far[1]
    assert 0 < near[0] < near[1]
    assert near[0] < far[0]
    assert forecast(1000, values / 10, (0.9, 0.8, 1.0), 0.95)[0] > near[0]  # questions that are worth less
    with pytest.raises(InputError, match="target"):
        QuestionChooser(some_digits()[0]).forecast(1.5)


def told(X: NDArray[np.float64], pairs: list[tuple[int, int]], y: Ints) -> Beliefs:
    view = see("as given", X, 0)
    ends = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    same = np.array([bool(y[i] == y[j]) for i, j in pairs], dtype=np.bool_)
    return Beliefs(view, without_answers(view), ends, same, np.zeros(len(same), dtype=np.int64), None)


def test_an_end_is_offered_only_where_audits_patience_and_stable_classes_agree() -> None:
    high, wide, low = (0.97, 0.85, 1.0), (0.97, 0.7, 1.0), (0.9, 0.85, 0.95)
    assert stopping.audits_agree(high, 6, 0.95)
    assert not stopping.audits_agree(low, 6, 0.95)
    assert not stopping.audits_agree(wide, 6, 0.95)
    assert not stopping.audits_agree(high, 2, 0.95)
    assert stopping.audits_agree(wide, 30, 0.95)

    X, y = make_blobs(200, n_features=4, centers=2, cluster_std=0.3, center_box=(-9, 9), random_state=0)
    a, b = (np.flatnonzero(y == label)[:12].tolist() for label in (0, 1))
    pairs = [*pairwise(a), *pairwise(b), *zip(a, b, strict=True)]
    before, now = told(X, pairs[:28], y), told(X, pairs, y)
    sentence = stopping.settled(before, now, (0.97, 0.85, 1.0))
    assert sentence is not None
    assert "97 %" in sentence
    assert "85 to 100 %" in sentence
    mixed = told(X, pairs, np.zeros_like(y))
    assert stopping.settled(before, mixed, (0.97, 0.85, 1.0)) is None  # the answers joined two classes
    assert stopping.changed(before, mixed) > 0.3


def test_an_audit_is_judged_by_beliefs_that_have_not_seen_it() -> None:
    X, y = make_blobs(200, n_features=6, centers=3, cluster_std=0.5, random_state=2)
    right, wrong = QuestionChooser(X, n_classes=3), QuestionChooser(X, n_classes=3)
    for row in range(12):
        i, j = (int(each) for each in np.flatnonzero(y == row % 3)[[row, row + 12]])
        right.tell(i, j, True, audit=True)
        wrong.tell(i, j, False, audit=True)
    assert wrong.accuracy()[0] < 0.6 < 0.8 < right.accuracy()[0]


def test_classes_met_once_stand_for_those_not_met() -> None:
    assert unseen_share([3, 3, 3]) == 0
    assert unseen_share([1, 2, 3, 3]) == 0.5
    assert unseen_share([]) == 1


def test_answers_lower_the_resolution_of_groups_but_do_not_raise_it() -> None:
    links = np.tile([4.0, 4.0], (20, 1))  # as many as chance has
    alike, apart = np.ones(20, dtype=np.bool_), np.zeros(20, dtype=np.bool_)
    assert calibrate(links, alike).resolution < GUESS.resolution < calibrate(links, apart).resolution
    assert scale_to_join(links, alike).resolution < GUESS.resolution
    assert scale_to_join(links, apart).resolution <= GUESS.resolution
    assert scale_to_join(links[:1], alike[:1]) == GUESS  # one answer turns nothing that it is not about


def test_links_are_more_or_less_than_chance() -> None:
    np.testing.assert_allclose(strength(np.array([3.0, 0.0]), np.array([1.0, 3.0]), 1.0), np.log([2.0, 0.25]))


def test_answers_join_and_split_groups() -> None:
    X, y = make_blobs(200, n_features=4, centers=2, cluster_std=0.3, center_box=(-9, 9), random_state=0)
    view = see("as given", X, 0)
    said = np.zeros((view.n_atoms, view.n_atoms))
    alone = partition(view, GUESS, said)
    a, b = (int(view.atom[np.flatnonzero(y == label)[0]]) for label in (0, 1))
    assert alone.cluster[a] != alone.cluster[b]
    said[a, b] = said[b, a] = 50.0
    assert partition(view, GUESS, said).cluster[a] == partition(view, GUESS, said).cluster[b]
    within = [int(atom) for atom in np.flatnonzero(alone.cluster == alone.cluster[a])[:2]]
    said[:] = 0
    said[within[0], within[1]] = said[within[1], within[0]] = -50.0
    split = partition(view, GUESS, said)
    assert split.cluster[within[0]] != split.cluster[within[1]]


def test_neighbours_by_cells_are_mostly_the_nearest(monkeypatch: pytest.MonkeyPatch) -> None:
    X = np.random.default_rng(0).normal(size=(2000, 3))
    exact = near_items(X, 5, 0)
    monkeypatch.setattr("likewise.querying.neighbours.MOST_ITEMS", 100)
    close = near_items(X, 5, 0)
    assert not (close == np.arange(2000)[:, None]).any()
    shared = np.mean([len(set(a) & set(b)) for a, b in zip(exact.tolist(), close.tolist(), strict=True)]) / 5
    assert shared > 0.95


def test_edges_tell_directions_apart() -> None:
    image = np.zeros((2, 16, 16))
    image[0, :, 8:], image[1, 8:, :] = 1.0, 1.0
    across, down = edges(image)
    assert across @ down < 0.1
    assert next(iter(spaces(image))) == "edges"
    assert "edges" not in spaces(image.reshape(2, -1))
