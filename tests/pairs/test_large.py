"""Answers that do not fit into memory: closed a part at a time, to exactly what closing them in memory gives."""

from __future__ import annotations

import re
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from likewise.errors import InputError
from likewise.pairs import Pairs, closure, files, large, read_large, streaming
from likewise.storage import csv_records

ITEMS = 12
ANSWER = st.tuples(st.integers(0, ITEMS - 1), st.integers(0, ITEMS - 1), st.booleans())


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every limit so low that a few answers make many parts, runs and blocks."""
    for module, name, value in (
        (files, "BLOCK", 40),
        (csv_records, "BLOCK", 40),
        (files, "ROWS", 3),
        (streaming, "RUN", 4),
        (streaming, "MERGED", 4),
        (closure, "BLOCK", 2),
        (large, "BLOCK", 2),
    ):
        monkeypatch.setattr(module, name, value)


def write(folder: Path, answers: list[tuple[int, int, bool]], suffix: str, ids: list[str] | None = None) -> Path:
    left, right, same = (np.array(column) for column in zip(*answers, strict=True))
    path = folder / f"answers{suffix}"
    Pairs.from_arrays(np.stack([left, right], 1), same, ids=ids).write(path)
    return path


@settings(max_examples=60, deadline=None)
@given(st.lists(ANSWER, min_size=1, max_size=40), st.sampled_from([".csv", ".parquet"]), st.booleans())
def test_the_closure_is_that_of_the_answers_in_memory(
    answers: list[tuple[int, int, bool]], suffix: str, named: bool
) -> None:
    ids = [f"item {number}" for number in range(ITEMS)] if named else None
    with TemporaryDirectory() as name:
        path = write(Path(name), answers, suffix, ids)
        pairs = Pairs.read(path).index(ids or ITEMS)
        pairs = pairs.select(pairs.left != pairs.right)
        wanted = pairs.closure()
        if not len(pairs):
            with pytest.raises(InputError, match="holds no answers about two items"):
                read_large(path, ids or ITEMS, Path(name) / "kept", held_out=0)
            return
        if wanted.n_contradicted:
            what = "1 answer says" if wanted.n_contradicted == 1 else f"{wanted.n_contradicted} answers say"
            with pytest.raises(InputError, match=f'{what} "different" of items that chains of "same" join'):
                read_large(path, ids or ITEMS, Path(name) / "kept", held_out=0)
            return
        found = read_large(path, ids or ITEMS, Path(name) / "kept", held_out=0)
        batch = np.random.default_rng(len(answers)).integers(ITEMS, size=9)
        np.testing.assert_array_equal(found.closure.target(batch), wanted.target(batch))
        np.testing.assert_array_equal(found.closure.component, wanted.component)
        np.testing.assert_array_equal(found.closure.different, wanted.different)
        for figure in ("n_components", "implied_same", "implied_different", "answered_same", "answered_different"):
            assert getattr(found.closure, figure) == getattr(wanted, figure)
        for column in ("left", "right", "same", "lines"):
            np.testing.assert_array_equal(getattr(found.sample, column), getattr(pairs, column))
        assert (found.n_same, found.n_different) == ((pairs.same == 1).sum(), (pairs.same == 0).sum())
        assert not len(found.held_out)


def test_contradictions_are_named_by_their_lines(tmp_path: Path) -> None:
    chain = [(item, item + 1, True) for item in range(5)]
    path = write(tmp_path, [*chain, (0, 5, False), (7, 8, False), (1, 3, False), (0, 5, False), (2, 4, False)], ".csv")
    with pytest.raises(InputError, match=r"4 answers say .* \(lines 7, 9, 10 \.\.\.\)\. Correct or remove these"):
        read_large(path, ITEMS, tmp_path / "kept", held_out=0)


def test_whole_items_are_held_out(tmp_path: Path) -> None:
    labels = np.arange(40) % 3
    Pairs.from_labels(labels).write(tmp_path / "answers.csv")
    found = read_large(tmp_path / "answers.csv", 40, tmp_path / "kept", held_out=0.2, seed=1)
    assert len(found) == 780
    assert found.closure.n_components == 8 + 3
    assert len(found.held_out) == 780 - 32 * 31 // 2
    assert len(found.sample) == 32 * 31 // 2
    assert np.isnan(found.closure.answers_about(found.held_out.left, found.held_out.right)).all()
    assert ((labels[found.held_out.left] == labels[found.held_out.right]) == found.held_out.same).all()
    again = read_large(tmp_path / "answers.csv", 40, tmp_path / "again", held_out=0.2, seed=1)
    np.testing.assert_array_equal(again.held_out.lines, found.held_out.lines)
    whole = found.some()
    np.testing.assert_array_equal(whole.lines, np.arange(2, 782))
    np.testing.assert_array_equal(whole.same, labels[whole.left] == labels[whole.right])


def test_nothing_is_held_out_where_it_would_say_nothing(tmp_path: Path) -> None:
    path = write(tmp_path, [(0, 1, True), (1, 2, True), (3, 4, False)], ".csv")
    found = read_large(path, ITEMS, tmp_path / "kept", held_out=0.5)
    assert (len(found.sample), len(found.held_out)) == (3, 0)
    assert found.closure.answers_about(0, 2) == 1


def test_a_sample_is_no_larger_than_it_may_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(large, "SAMPLE", 50)
    Pairs.from_labels(np.arange(20) % 3).write(tmp_path / "answers.parquet")
    found = read_large(tmp_path / "answers.parquet", 20, tmp_path / "kept", held_out=0)
    assert (len(found), len(found.sample), len(set(found.sample.lines.tolist()))) == (190, 50, 50)
    assert found.closure.n_components == 3
    assert found.sample.lines.max() > 100


def test_a_sample_is_as_likely_to_hold_any_answer() -> None:
    random = np.random.default_rng(0)
    times = np.zeros(30)
    for _ in range(400):
        sample = large.PrioritySample(6, random)
        for start in range(0, 30, 5):
            rows = np.arange(start, start + 5)
            sample.add(streaming.Part(rows, rows, rows > 0, rows))
        times[sample.part().left] += 1
    assert times.sum() == 6 * 400
    assert abs(times - 80).max() < 5 * np.sqrt(80 * 0.8)


@pytest.mark.parametrize("answers", [5, 6, 7])
def test_a_sample_holds_all_where_there_are_no_more(answers: int) -> None:
    sample = large.PrioritySample(6, np.random.default_rng(0))
    rows = np.arange(answers)
    sample.add(streaming.Part(rows, rows + 1, rows > 2, rows))
    found = sample.part()
    assert len(found.left) == min(6, answers)
    assert set(found.left) <= set(rows)
    np.testing.assert_array_equal(found.right, found.left + 1)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("left,right,same\n0,1,1\n\n0,2,0.8\n", r"line 4: same is 0.8; in a file too large for memory same and weight"),
        ("left,right,same,weight\n0,1,1,2\n", r"line 2: weight is 2; in a file too large for memory"),
        ("left,right,same\n0,1,1\n3,2,1\n5,12,0\n", r"line 4: right is '12', which is not among the 12 items, counted"),
        ("left,right,same\n0,1,1\n3,2,yes\n5,1,-1\n7,8,0\n", r"line 4: same is -1, but .*, line 5 has 0. Use 1 for"),
        ("left,right,same\n0,1,1\n3,2,yes\n5,1,perhaps\n", r"line 4: same must be between 0 and 1, got 'perhaps'"),
        ("left,right,same\n0,1,1\n3,2,yes\n5,,1\n", r"line 4: right is empty. Give two items in each row."),
        ("left,right,same\n0,1,1\n3,2,yes\n5,1,1,1\n", r"line 4: 3 columns, but 4 values."),
        ("left,right\n0,1\n", r"line 1: there is no column 'same' but left, right."),
        ("left,right,same\n", "holds no answers about two items."),
    ],
)
def test_what_is_wrong_is_told_with_its_line(tmp_path: Path, text: str, complaint: str) -> None:
    (tmp_path / "answers.csv").write_text(text)
    with pytest.raises(InputError, match=complaint):
        read_large(tmp_path / "answers.csv", ITEMS, tmp_path / "kept")


@pytest.mark.parametrize(("right", "same", "wrong"), [("z", 0.0, "right is 'z'"), ("a", 0.3, "same is 0.3")])
def test_what_is_wrong_in_parquet_is_told_with_its_row(tmp_path: Path, right: str, same: float, wrong: str) -> None:
    """In the fourth row, counted from 0, which is the first of its part."""
    path = tmp_path / "answers.parquet"
    table = {"left": [*"abab"], "right": ["b", "a", "b", right], "same": [1.0, 1.0, 1.0, same]}
    pyarrow.parquet.write_table(pyarrow.table(table), path)
    with pytest.raises(InputError, match=rf"^{re.escape(str(path))}, row 3: {wrong}"):
        read_large(path, ["a", "b"], tmp_path / "kept")


def test_ids_and_row_numbers_are_told_apart_as_in_memory(tmp_path: Path) -> None:
    (tmp_path / "answers.csv").write_text("left,right,same\n 2,0,1\n1,2,0\n")
    for ids in (["a", "b", "c"], ["2", "1", "0"], 3):
        found = read_large(tmp_path / "answers.csv", ids, tmp_path / "kept", held_out=0).sample
        wanted = Pairs.read(tmp_path / "answers.csv").index(ids)
        np.testing.assert_array_equal([found.left, found.right], [wanted.left, wanted.right])
    with pytest.raises(InputError, match="line 2: left is '2', which is not among the 2 items"):
        read_large(tmp_path / "answers.csv", ["0", "1"], tmp_path / "kept")


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_answers_about_unreadable_items_are_left_out(tmp_path: Path, suffix: str) -> None:
    """Positions count the readable items alone: b, d, e and f of a to f."""
    ids = [*"abcdef"]
    answers = [(0, 1, True), (1, 3, True), (3, 4, False), (2, 5, True), (5, 4, True), (3, 3, True)]
    path = write(tmp_path, answers, suffix, ids)
    readable = np.array([False, True, False, True, True, True])
    signs = list(large.write_large(path, ids, tmp_path / "kept", 0.0, 0, readable))
    assert signs
    assert all(signs)
    found = large.open_large(tmp_path / "kept")
    wanted = Pairs.from_arrays([(0, 1), (1, 2), (3, 2)], [1, 0, 1]).index(4).closure()
    np.testing.assert_array_equal(found.closure.target(range(4)), wanted.target(range(4)))
    assert (len(found), found.n_left_out) == (3, 2)
    kept = found.sample
    assert kept.weight.dtype == np.float32
    assert {(int(i), int(j), int(s)) for i, j, s in zip(kept.left, kept.right, kept.same, strict=True)} == {
        (0, 1, 1),
        (1, 2, 0),
        (3, 2, 1),
    }


def test_the_memory_that_reading_takes(tmp_path: Path) -> None:
    csv = write(tmp_path, [(0, 1, True), (1, 2, False)], ".csv")
    parquet = write(tmp_path, [(0, 1, True), (1, 2, False)], ".parquet")
    assert large.memory_for(csv) == large.A_CSV_BYTE * len(csv.read_bytes())
    assert large.memory_for(parquet) == 2 * large.A_ROW
    assert large.memory_for(tmp_path / "missing.csv") == 0
    parquet.write_bytes(b"no Parquet at all")
    assert large.memory_for(parquet) == 0
