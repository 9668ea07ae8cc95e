"""Answers by id, by path and by row, about what a user calls X; and those that are about something else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from likewise import InputError, Pairs
from likewise.pairs import answers_about, paths_of

IDS = ["c", "a", "d", "b"]
X = np.arange(8.0).reshape(4, 2)
BY_ID = Pairs.from_arrays([("a", "b"), ("b", "c")], [1, 0])  # rows (1, 3) and (3, 0)
BY_ROW = Pairs.from_arrays([(1, 3), (3, 0)], [1, 0])


def numbered(tmp_path: Path) -> Pairs:
    (tmp_path / "answers.csv").write_text("left,right,same\n20,40,1\n40,10,0\n")
    return Pairs.read_csv(tmp_path / "answers.csv")


def ends(pairs: Pairs) -> list[tuple[int, int]]:
    return list(zip(pairs.left.tolist(), pairs.right.tolist(), strict=True))


ABOUT: dict[str, tuple[Pairs, Any, Any]] = {
    "rows": (BY_ROW, X, None),
    "so many rows": (BY_ROW, 4, None),
    "ids": (BY_ID, X, IDS),
    "ids in an array": (BY_ID, X, np.array(IDS)),
    "ids in a frame's index": (BY_ID, X, pd.DataFrame(X, index=IDS).index),
    "a frame": (BY_ID, pd.DataFrame(X, index=IDS), None),
    "a frame whose index is not asked for": (BY_ROW, pd.DataFrame(X, index=[3, 1, 0, 2]), None),
    "indexed answers": (BY_ID.index(IDS), X, None),
    "indexed answers about a frame that counts": (BY_ID.index(IDS), pd.DataFrame(X), None),
    "indexed answers about a frame in another order": (BY_ID.index(sorted(IDS)), pd.DataFrame(X, index=IDS), None),
    "indexed answers about paths of other names": (BY_ID.index(IDS), [f"photos/{name}.png" for name in IDS], None),
    "answers made with ids": (Pairs.from_arrays([(1, 3), (3, 0)], [1, 0], ids=IDS), X, None),
    "paths": (BY_ID, [Path(name) for name in IDS], None),
    "paths in an array": (BY_ID, np.array(IDS), None),
    "paths in a series": (BY_ID, pd.Series(IDS, index=[5, 6, 7, 8]), None),
    "a target": (BY_ID.target(IDS), X, None),  # type: ignore[dict-item]
}


@pytest.mark.parametrize("case", ABOUT)
def test_the_rows_that_answers_are_about(case: str) -> None:
    pairs, items, ids = ABOUT[case]
    found = answers_about(pairs, items, ids)
    assert ends(found) == [(1, 3), (3, 0)]
    assert found.n_items == 4


def test_numbers_from_a_file_are_looked_up_in_an_index_of_numbers(tmp_path: Path) -> None:
    frame = pd.DataFrame(X, index=[10, 20, 30, 40])
    assert ends(answers_about(numbered(tmp_path), frame)) == [(1, 3), (3, 0)]
    assert ends(answers_about(numbered(tmp_path), X, ids=frame.index)) == [(1, 3), (3, 0)]


REFUSED: dict[str, tuple[Any, Any, Any, str]] = {
    "more rows than X has": (Pairs.from_labels([0, 1, 0, 1, -1, -1]), X, None, "about 6 items, and X has 4"),
    "an answer beyond X": (Pairs.from_arrays([(0, 4)], [1]), X, None, "right is '4', which is not among the 4 items"),
    "indexed for more": (BY_ID.index([*IDS, "e"]), X, None, "about 5 items, and X has 4"),
    "indexed for fewer": (BY_ID.index(IDS[:2] + IDS[3:]), X, None, "about 3 items, and X has 4"),
    "ids that X has not": (BY_ID, X, None, "left is 'a', but the 4 items have no ids"),
    "another number of ids": (BY_ID, X, IDS[:3], "X has 4 items and ids 3"),
    "an id that is not there": (BY_ID, X, ["c", "a", "d", "x"], "right is 'b', which is not among"),
    "the same id twice": (BY_ID, X, ["c", "a", "a", "b"], "Two items have the id 'a'"),
    "no answers": ([(0, 1)], X, None, "pairs must be a Pairs, got list"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused(case: str) -> None:
    pairs, items, ids, message = REFUSED[case]
    with pytest.raises(InputError, match=message):
        answers_about(pairs, items, ids)


def test_anything_that_becomes_an_array_has_rows() -> None:
    class Items:
        def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
            return X

    assert ends(answers_about(BY_ROW, Items())) == [(1, 3), (3, 0)]


def test_ids_that_only_happen_to_be_as_many_as_the_rows_are_not_rows() -> None:
    all_four = Pairs.from_arrays([("a", "b"), ("c", "d")], [1, 0])
    assert all_four.n_items == len(X)
    with pytest.raises(InputError, match="have no ids"):
        answers_about(all_four, X)


@pytest.mark.parametrize(
    "X", [[[0.0]], np.zeros((2, 2)), pd.DataFrame({"a": ["b"]}), "abc", [], np.array([]), {"a": 1}]
)
def test_what_is_no_list_of_paths(X: Any) -> None:
    assert paths_of(X) is None


def test_the_answers_between_some_items() -> None:
    pairs = Pairs.from_arrays([(0, 1), (1, 2), (2, 3), (3, 3)], [1, 0, 1, 1], weight=[1, 2, 3, 4], ids=IDS)
    some = pairs.within([3, 2, 0])
    assert ends(some) == [(1, 0), (0, 0)]
    assert (some.weight.tolist(), some.n_items, some.ids is not None and some.ids.tolist()) == (
        [3, 4],
        3,
        ["b", "d", "c"],
    )
    mask = pairs.within(np.array([True, True, False, False]))
    assert ends(mask) == [(0, 1)]
    assert mask.lines.tolist() == [0]


def test_a_target_is_indexed_by_items() -> None:
    y = BY_ID.target(IDS)
    assert (len(y), y.shape, len(y[[0, 2]].pairs)) == (4, (4,), 0)
    assert ends(y[np.array([3, 1]), ...].pairs) == [(1, 0)]
    assert ends(y[1:][[2, 0]].pairs) == [(1, 0)]
    with pytest.raises(TypeError, match="An item alone"):
        y[0]
    with pytest.raises(TypeError):
        iter(y)  # type: ignore[call-overload]
