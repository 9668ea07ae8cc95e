"""Labels of some items: every way to say that there is none, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from likewise.errors import InputError
from likewise.estimators.partial_labels import hold_out_labels, read_partial_labels

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


REFUSED = {
    "none": (None, None, "requires y to be passed"),
    "no label": ([-1, -1, -1], None, "y holds no label, all of it is -1"),
    "one class": ([4, -1, 4], None, "y holds one class, 4; label items of at least two"),
    "lengths": ([0, 1], None, "X has 3 items and y 2"),
    "not finite": ([0.0, np.nan, 1.0], None, "y contains NaN"),
    "numbers of no class": ([0.3, 0.7, 1.4], None, "Unknown label type"),
    "more classes than told": ([0, 1, 2], 2, "name 3 classes; give 3 or more, or leave it out"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused(case: str) -> None:
    y, n_classes, message = REFUSED[case]
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
