"""The type: every way to make it, its positions against a list of items, its parts; and what is refused."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.errors import InputError
from likewise.pairs import Pairs, from_graph, summarise


class Frame:
    """What all data frames have in common."""

    def __init__(self, **columns: Any) -> None:
        self._columns = columns

    @property
    def columns(self) -> list[str]:
        return list(self._columns)

    def __getitem__(self, name: str) -> Any:
        return self._columns[name]


def triples(made: Pairs) -> list[tuple[str, str, float]]:
    names = [[made.name(int(item)) for item in side] for side in (made.left, made.right)]
    return [*zip(*names, made.same.tolist(), strict=True)]


@pytest.mark.parametrize("same", [[1, 0, 1], [1, -1, 1], [True, False, True], [1.0, 0.0, 1.0], ["yes", "no", "same"]])
@pytest.mark.parametrize("form", [list, np.array, tuple])
def test_arrays_in_any_convention(same: list[Any], form: Any) -> None:
    made = Pairs.from_arrays(form([(0, 1), (1, 2), (4, 0)]), form(same))
    assert triples(made) == [("0", "1", 1), ("1", "2", 0), ("4", "0", 1)]
    assert (made.n_items, made.ids, made.annotator, made.weight.tolist()) == (5, None, None, [1, 1, 1])
    assert made.items.tolist() == [0, 1, 2, 4]


def test_arrays_with_everything() -> None:
    made = Pairs.from_arrays([(2, 0), (1, 2)], [0.5, 0], [3, 0], ["bob", "ann"], ids=["x", "y", "z"])
    assert triples(made) == [("z", "x", 0.5), ("y", "z", 0)]
    assert (made.weight.tolist(), made.annotators, made.n_items) == ([3, 0], ("bob", "ann"), 3)
    assert repr(made) == "Pairs(2 answers about 3 items: 0 same, 0 different, by 2 annotators)"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0, 1], [1]), r"index_pairs has shape \(2,\); give two items in each row: \(m, 2\)"),
        (([(0, 1, 2)], [1]), r"index_pairs has shape \(1, 3\)"),
        (([(0, 1)], [1, 0]), r"same has shape \(2,\), but there are 1 pairs"),
        (([(0, 1)], [1], [1, 2]), r"weight has shape \(2,\), but there are 1 pairs"),
        (([(0, 1)], [1], None, ["a", "b"]), r"annotator has shape \(2,\)"),
        (([(0, 1), (1, 2)], [0, -1]), "row 1: same is -1, but row 0 has 0"),
        (([(0, 1), (1, 2)], [0, np.nan]), "row 1: same is empty"),
        (([(0, 1), (1, 2)], [0, 1], [1, np.inf]), "row 1: weight must be a number of 0 or more, got inf"),
        (([(0, -1)], [1]), "row 0: right is -1; its values must be ids or row numbers, counted from 0"),
        (([(0, 1.5)], [1]), "right holds numbers that are not whole"),
        (([(0, 3)], [1], None, None, ["a", "b"]), "row 0: right is '3', which is not among the 2 items"),
        (([("a", "b")], [1], None, None, ["a", "b"]), "index_pairs holds ids, and ids are given too"),
        (([(0, 1)], [1], None, None, ["a", "a "]), "Two items have the id 'a'; give each its own"),
        (([(0, 1)], [object()]), "same holds values of several or unknown kinds"),
    ],
)
def test_arrays_that_are_refused(arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Pairs.from_arrays(*arguments)


def test_whole_numbers_are_rows_however_far() -> None:
    far = 2**23 + 5
    labels = np.full(far + 1, -1, dtype=np.int8)
    labels[[3, 7, far]] = [0, 1, 1]
    index = [(3, 7), (3, far), (7, far)]
    expected = [("3", "7", 0), ("3", str(far), 0), ("7", str(far), 1)]
    frame = {"left": [i for i, _ in index], "right": [j for _, j in index], "same": [0, 0, 1]}
    ways = {
        "labels": Pairs.from_labels(labels),
        "arrays": Pairs.from_arrays(index, [0, 0, 1]),
        "frame": Pairs.from_frame(frame),
        "a table": Pairs.from_frame(pa.table(frame)),
        "links": Pairs.from_links([index[2]], index[:2]),
        "graph": from_graph([index[2]], n=far + 1),
    }
    for way, made in ways.items():
        assert made.ids is None, way
        assert sorted(triples(made)) == [pair for pair in expected if pair[2] or way != "graph"]
        assert made.n_items == far + 1
        assert made.index(far + 1).right.max() == far
    assert ways["labels"].closure().answers_about(3, far) == 0


def test_far_rows_are_summed_up_repaired_and_looked_up_without_a_table_of_all_rows() -> None:
    far = 2_000_000_000
    made = Pairs.from_arrays([(far, 5), (5, 9), (far, 9)], [1, 1, 0], [3, 2, 1])
    assert triples(made.compact()) == triples(made)
    assert made.compact().n_items == 3
    assert [str(one) for one in summarise(made).contradictions] == [f"{far}=5, 5=9, but {far}!=9; rows 0, 1, 2"]
    assert triples(made.repair().dropped) == [(str(far), "9", 0)]
    assert made.index(["9", str(far), "5"]).left.tolist() == [1, 2, 1]
    with pytest.raises(InputError, match="row 0: left is '2000000000', which is not among the 10 items, counted from"):
        made.index(10)


def test_numbers_beyond_all_rows_are_ids() -> None:
    made = Pairs.from_arrays([(10**15, 5), (5, 10**12)], [1, 1])
    assert triples(made) == [("1000000000000000", "5", 1), ("5", "1000000000000", 1)]
    assert made.n_items == 3


def test_frames_of_several_makers() -> None:
    columns = {"left": ["a", "b"], "right": ["b", "c"], "same": [True, False], "note": [[], {}]}
    expected = [("a", "b", 1), ("b", "c", 0)]
    assert triples(Pairs.from_frame(Frame(**columns))) == expected
    assert triples(Pairs.from_frame(columns)) == expected
    assert triples(Pairs.from_frame(pa.table({name: columns[name] for name in ("left", "right", "same")}))) == expected
    rows = np.array([("a", "b", 1.0), ("b", "c", 0.0)], dtype=[("left", "U3"), ("right", "U3"), ("same", "f4")])
    assert triples(Pairs.from_frame({name: rows[name] for name in rows.dtype.names})) == expected
    with pytest.raises(InputError, match="the frame: there is no column 'same' but left, right"):
        Pairs.from_frame({"left": [0], "right": [1]})


def test_numbers_on_one_side_and_names_on_the_other_are_names() -> None:
    made = Pairs.from_frame({"left": [1, 2], "right": ["2", "x"], "same": [1, 0]})
    assert triples(made) == [("1", "2", 1), ("2", "x", 0)]
    assert made.n_items == 3


def test_links() -> None:
    assert triples(Pairs.from_links([("a", "b")], [("c", "a"), ("b", "c")])) == [
        ("a", "b", 1),
        ("c", "a", 0),
        ("b", "c", 0),
    ]
    assert triples(Pairs.from_links([], [(0, 2)])) == [("0", "2", 0)]
    assert triples(Pairs.from_links(np.array([(0, 2)]), np.empty((0, 2)))) == [("0", "2", 1)]
    assert len(Pairs.from_links([], [])) == 0


@given(st.lists(st.integers(-1, 3) | st.just(-100), min_size=1, max_size=9))
def test_labels_make_every_pair_of_known_items_once(labels: list[int]) -> None:
    made = Pairs.from_labels(labels)
    known = [item for item, label in enumerate(labels) if label >= 0]
    expected = {(i, j): float(labels[i] == labels[j]) for i in known for j in known if i < j}
    found = {(int(i), int(j)): same for i, j, same in triples(made)}
    assert len(made) == len(expected)
    assert found == expected
    assert made.n_items == len(labels)


@given(st.lists(st.integers(-1, 3), min_size=2, max_size=9), st.data())
def test_n_pairs_are_drawn_without_replacement(labels: list[int], data: st.DataObject) -> None:
    total = len(Pairs.from_labels(labels))
    n = data.draw(st.integers(0, total))
    made = Pairs.from_labels(labels, n, random_state=data.draw(st.integers(0, 99)))
    pairs_drawn = set(zip(made.left.tolist(), made.right.tolist(), strict=True))
    assert len(pairs_drawn) == len(made) == n
    assert all(i < j and labels[i] != -1 != labels[j] for i, j in pairs_drawn)
    assert made.same.tolist() == [labels[i] == labels[j] for i, j in zip(made.left, made.right, strict=True)]


def test_every_pair_is_as_likely_and_a_seed_repeats() -> None:
    random = np.random.default_rng(0)
    counts = Counter(
        (int(i), int(j))
        for _ in range(1000)
        for made in [Pairs.from_labels(["x", "y", "x", "y", "z"], 3, random)]
        for i, j in zip(made.left, made.right, strict=True)
    )
    assert len(counts) == 10
    assert all(abs(count - 300) < 60 for count in counts.values())  # four standard deviations
    first, again, other = (Pairs.from_labels(np.arange(2000) % 7, 50, seed).left.tolist() for seed in (3, 3, 4))
    assert first == again != other


def test_a_matrix_gives_the_pairs_it_knows() -> None:
    nan = float("nan")
    made = Pairs.from_matrix([[nan, 1, 0.25, nan], [1, 0, nan, nan], [0.25, nan, 1, nan], [nan] * 4])
    assert triples(made) == [("0", "1", 1.0), ("0", "2", 0.25)]
    assert made.n_items == 4
    whole = Pairs.from_matrix(np.equal.outer([5, 5, 6], [5, 5, 6]))
    assert triples(whole) == triples(Pairs.from_labels([5, 5, 6]))


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        ([1, 0], r"same is int64 of shape \(2,\); give a matrix \(n, n\)"),
        ([[1, 0, 0], [0, 1, 0]], r"same is int64 of shape \(2, 3\)"),
        ([[1, 0], [1, 1]], r"same\[0, 1\] is 0 and same\[1, 0\] is 1; make them equal"),
        ([[1, 0], [float("nan"), 1]], r"same\[0, 1\] is 0.0 and same\[1, 0\] is nan"),
        ([[1, 2], [2, 1]], "between 0 and 1"),
    ],
)
def test_a_matrix_that_is_refused(matrix: list[list[float]], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Pairs.from_matrix(matrix)


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64])
def test_a_matrix_of_predicted_similarities_may_be_rounded(kind: Any) -> None:
    random = np.random.default_rng(0)
    p = random.dirichlet(np.full(5, 0.1), 40).astype(np.float16 if kind is np.float16 else np.float32)
    same = (p @ p.T).astype(kind)
    same[3, 4] = np.nextafter(same[4, 3], kind(2))
    same[5, 6], same[6, 5] = 1, np.nextafter(kind(1), kind(2))  # a little more than 1
    made = Pairs.from_matrix(same)
    assert len(made) == 40 * 39 // 2
    i, j = made.left, made.right
    np.testing.assert_allclose(made.same, same[i, j].astype(np.float32), atol=1e-5 if kind is not np.float16 else 0.02)
    same[7, 8] = same[8, 7] + kind(0.05)
    with pytest.raises(InputError, match=r"same\[7, 8\] is .* make them equal"):
        Pairs.from_matrix(same)


def test_labels_that_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match=r"labels are float64 of shape \(2,\); give one integer or text per item"):
        Pairs.from_labels([0.5, 1.0])
    with pytest.raises(InputError, match="n is 4, but 3 labels make 3 pairs"):
        Pairs.from_labels([0, 1, -1, 1], 4)
    monkeypatch.setattr("likewise.pairs.pair_keys.MOST_PAIRS", 5)
    with pytest.raises(InputError, match="4 labels make 6 pairs; give n"):
        Pairs.from_labels([0, 1, 1, 1])
    assert len(Pairs.from_labels([0, 1, 1, 1], 6)) == 6


def test_index_against_ids_in_another_order() -> None:
    made = Pairs.from_arrays([("a", "b"), ("c", "a")], [1, 0])
    indexed = made.index(["z", "c", " b", "a", "y"])
    assert (indexed.left.tolist(), indexed.right.tolist(), indexed.n_items) == ([3, 1], [2, 3], 5)
    assert triples(indexed) == triples(made)
    assert made.left.tolist() == [0, 1]  # it stays as it was
    assert triples(indexed.index(["a", "b", "c"])) == triples(made)  # only the ids in use must be there


@pytest.mark.parametrize(
    ("ids", "left", "right"),
    [
        (["10", "7", "x"], [1, 0], [0, 1]),
        (np.array([10, 7]), [1, 0], [0, 1]),
        ([f"photo {k}" for k in range(11)], [7, 10], [10, 7]),
        (11, [7, 10], [10, 7]),
        (np.int64(12), [7, 10], [10, 7]),
    ],
    ids=["among ids", "among numbers", "rows where no id is a number", "rows", "more rows"],
)
def test_index_of_row_numbers(ids: Any, left: list[int], right: list[int]) -> None:
    indexed = Pairs.from_arrays([(7, 10), (10, 7)], [1, 0]).index(ids)
    assert (indexed.left.tolist(), indexed.right.tolist()) == (left, right)
    assert indexed.n_items == (len(ids) if hasattr(ids, "__len__") else ids)


@pytest.mark.parametrize(
    ("index", "ids", "message"),
    [
        (
            [("a", "b"), ("b", "q"), ("r", "s")],
            ["b", "a"],
            "row 1: right is 'q', which is not among the 2 items, and 2 ",
        ),
        ([("a", "b"), ("q", "b")], ["b", "a"], r"row 1: left is 'q', which is not among the 2 items\. Correct"),
        ([(0, 1), (1, 5)], 5, r"row 1: right is '5', which is not among the 5 items, counted from 0\."),
        ([(0, 1), (1, 5)], ["1", "0", "x"], "row 1: right is '5', which is not among the 3 items"),
        ([(0, 1), (1, 5)], ["x", "y"], "row 1: right is '5', which is not among the 2 items, counted from 0"),
        ([("a", "b")], 9, "row 0: left is 'a', but the 9 items have no ids. Give their row numbers"),
        ([("a", "b")], ["a", "b", "a"], "Two items have the id 'a'"),
    ],
)
def test_index_of_unknown_items_is_refused(index: Any, ids: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Pairs.from_arrays(index, [1] * len(index)).index(ids)


def test_a_part_keeps_its_lines_ids_and_annotators() -> None:
    made = Pairs.from_arrays([("a", "b"), ("b", "c"), ("c", "d")], [1, 0, 0.5], [1, 2, 3], ["x", "y", "x"])
    for rows in (np.array([True, False, True]), np.array([0, 2])):
        part = made.select(rows)
        assert triples(part) == [("a", "b", 1), ("c", "d", 0.5)]
        assert (part.weight.tolist(), part.lines.tolist(), part.n_items) == ([1, 3], [0, 2], 4)
        assert part.annotator is not None
        assert part.annotator.tolist() == [0, 0]
    assert len(made.select(np.array([], dtype=int))) == 0


def test_the_room_does_not_wait_for_torch() -> None:
    code = "import sys, likewise.pairs; sys.exit('torch' in sys.modules or 'pandas' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
