"""The chooser's interface: what it asks, what it takes, and that a log replayed gives the same state."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.datasets import make_blobs

from likewise.errors import InputError
from likewise.querying import QuestionChooser


def blobs(n: int = 240, classes: int = 5) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    X, y = make_blobs(n, n_features=8, centers=classes, cluster_std=1.0, random_state=3)
    return X, y.astype(np.int64)


def answer(chooser: QuestionChooser, y: NDArray[np.int64], number: int) -> list[tuple[int, int]]:
    """Ask and answer truly, so many times."""
    pairs = []
    for _ in range(number):
        pair = chooser.next()
        assert pair is not None
        pairs.append(pair)
        chooser.tell(*pair, bool(y[pair[0]] == y[pair[1]]))
    return pairs


def test_no_pair_is_asked_twice() -> None:
    X, y = blobs()
    pairs = answer(QuestionChooser(X), y, 80)
    assert len({frozenset(pair) for pair in pairs}) == 80
    assert all(i != j for i, j in pairs)


def test_a_log_replayed_gives_the_same_state() -> None:
    X, y = blobs()
    first, second = QuestionChooser(X, seed=1), QuestionChooser(X, seed=1)
    for i, j in answer(first, y, 30):
        second.tell(i, j, bool(y[i] == y[j]))
    np.testing.assert_array_equal(first.labels_, second.labels_)
    assert first.next() == second.next()
    assert first.accuracy() == second.accuracy()


def test_an_answer_taken_back_leaves_no_trace() -> None:
    X, y = blobs()
    chooser = QuestionChooser(X)
    answer(chooser, y, 12)
    before, labels = chooser.next(), chooser.labels_.copy()
    assert before is not None
    chooser.tell(*before, False)
    chooser.withdraw(*before)
    assert chooser.next() == before
    np.testing.assert_array_equal(chooser.labels_, labels)


def test_peek_says_what_is_asked_next_and_changes_nothing() -> None:
    X, y = blobs()
    chooser = QuestionChooser(X)
    answer(chooser, y, 8)
    pair = chooser.next()
    assert pair is not None
    for same in (True, False):
        ahead = chooser.peek(*pair, same)
        assert chooser.next() == pair
        chooser.tell(*pair, same)
        assert chooser.next() == ahead
        chooser.withdraw(*pair)


def test_not_sure_says_nothing_of_classes_and_is_not_asked_again() -> None:
    X, _ = blobs()
    chooser = QuestionChooser(X)
    labels, pair = chooser.labels_.copy(), chooser.next()
    assert pair is not None
    chooser.tell(*pair, None)
    np.testing.assert_array_equal(chooser.labels_, labels)
    assert chooser.next() != pair
    assert chooser.answers == 0


@pytest.mark.parametrize(
    ("X", "words"),
    [
        ([[0.0, np.nan], [1.0, 2.0]], "row 0"),
        ([[0.0, 1.0], [np.inf, 2.0]], "row 1"),
        (np.empty((0, 3)), "no items"),
        (["a", "b"], "numbers"),
        (np.zeros(5), r"\(5,\)"),
        (np.zeros((2, 7, 7, 7)), "channels"),
    ],
)
def test_what_cannot_be_used_is_refused_in_a_sentence(X: object, words: str) -> None:
    with pytest.raises(InputError, match=words):
        QuestionChooser(X)  # type: ignore[arg-type]


def test_answers_about_no_pair_are_refused() -> None:
    chooser = QuestionChooser(blobs()[0])
    for pair in ((3, 3), (-1, 2), (0, 240)):
        with pytest.raises(InputError):
            chooser.tell(*pair, True)
    with pytest.raises(InputError, match="withdraw"):
        chooser.withdraw(0, 1)
    with pytest.raises(InputError, match="n_classes"):
        QuestionChooser(blobs()[0], n_classes=0)


def test_one_item_has_nothing_to_ask() -> None:
    chooser = QuestionChooser([[1.0, 2.0]])
    assert chooser.next() is None
    assert chooser.done
    assert chooser.labels_.tolist() == [0]
    assert chooser.proba_.tolist() == [[1.0]]
    assert (chooser.grid(), chooser.strip(), chooser.suspects()) == (None, None, [])


@pytest.mark.parametrize("same", [True, False])
def test_two_items_take_one_question(same: bool) -> None:
    chooser = QuestionChooser([[1.0, 2.0], [3.0, 2.0]])
    pair = chooser.next()
    assert sorted(pair or ()) == [0, 1]
    chooser.tell(0, 1, same)
    assert chooser.next() is None
    assert chooser.done
    assert chooser.n_classes_ == (1 if same else 2)


def test_items_that_are_all_equal_are_one_class_until_answers_say_otherwise() -> None:
    chooser = QuestionChooser(np.ones((40, 3)))
    assert chooser.n_classes_ == 1
    for _ in range(10):
        pair = chooser.next()
        assert pair is not None
        chooser.tell(*pair, True)
    assert chooser.n_classes_ == 1


def test_proba_has_the_labels_as_its_largest_column() -> None:
    X, y = blobs()
    chooser = QuestionChooser(X)
    answer(chooser, y, 15)
    assert chooser.proba_.shape == (240, chooser.n_classes_)
    np.testing.assert_allclose(chooser.proba_.sum(axis=1), 1)
    np.testing.assert_array_equal(chooser.proba_.argmax(axis=1), chooser.labels_)


def test_excluded_pairs_are_not_asked() -> None:
    X, y = blobs()
    chooser = QuestionChooser(X)
    answer(chooser, y, 5)
    first = chooser.next()
    assert first is not None
    second = chooser.next(exclude=[first])
    assert second not in (None, first)
    assert chooser.next() == first  # nothing was told
    ahead = chooser.peek(*first, True)
    assert ahead is not None
    assert chooser.peek(*first, True, exclude=[ahead]) not in (None, first, ahead)
    assert chooser.next(exclude=[first[::-1]]) == second  # whichever way round


def test_each_annotator_has_an_answer_about_a_pair() -> None:
    chooser = QuestionChooser(blobs()[0])
    chooser.tell(0, 1, True, "ann")
    chooser.tell(1, 0, False, "bob")
    chooser.tell(0, 1, False, "ann")
    assert chooser.answers == 2
    with pytest.raises(InputError, match="withdraw"):
        chooser.withdraw(0, 1, "eve")
    chooser.withdraw(0, 1, "ann")
    assert chooser.answers == 1


def test_an_annotator_who_is_often_wrong_counts_for_little() -> None:
    X, y = blobs()
    chooser, random = QuestionChooser(X), np.random.default_rng(0)
    for _ in range(60):
        pair = chooser.next()
        assert pair is not None
        truth = bool(y[pair[0]] == y[pair[1]])
        chooser.tell(*pair, truth, "ann")
        chooser.tell(*pair, truth ^ bool(random.random() < 0.5), "bob")
    ann, bob = chooser._beliefs.wrong_by
    assert ann < 0.1 < 0.2 < bob
    np.testing.assert_array_equal(np.unique(chooser.labels_).size, 5)


def test_nothing_in_a_pure_group_is_verified_and_nothing_of_a_finished_one_asked() -> None:
    X, y = blobs()
    chooser = QuestionChooser(X)
    answer(chooser, y, 12)
    groups = [np.flatnonzero(chooser.labels_ == label) for label in range(chooser.n_classes_)]
    chooser.settle(pure=[int(group[0]) for group in groups])
    settled, labels = set(), chooser.labels_.copy()
    for number in range(12, 40):
        pair = chooser.next(exclude=settled)
        assert pair is not None
        settled.add(pair)
        assert chooser.kind != "split"
        assert (chooser.labels_[pair[0]] != chooser.labels_[pair[1]]) == (chooser.kind == "join"), number
    chooser.settle(finished=[int(groups[0][0])])
    for _ in range(20):
        pair = chooser.next(exclude=settled)
        assert pair is not None
        settled.add(pair)
        assert not {*groups[0]} & {*pair}
    np.testing.assert_array_equal(chooser.labels_, labels)
    chooser.settle(finished=[int(group[0]) for group in groups])
    assert chooser.next() is None
    assert chooser.accuracy() == (1.0, 1.0, 1.0)
    with pytest.raises(InputError, match="no item 240"):
        chooser.settle(pure=[240])


def test_an_audit_out_of_turn_is_one_where_it_is_said() -> None:
    X, y = blobs()
    chooser = QuestionChooser(X)
    chooser.tell(0, 1, bool(y[0] == y[1]))
    before = chooser.accuracy()
    chooser.tell(2, 3, bool(y[2] == y[3]), audit=True)
    assert len(chooser._audits) == 1
    assert chooser.accuracy() != before
