"""Files in and out: what is accepted, what comes back, and one sentence with file and line for what is refused."""

from __future__ import annotations

import tempfile
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.errors import InputError
from likewise.pairs import Pairs, files
from likewise.storage import csv_records


def read(tmp_path: Path, text: str | bytes) -> Pairs:
    path = tmp_path / "answers.csv"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return Pairs.read(path)


def test_ids_positions_answers_weights_annotators_and_lines(tmp_path: Path) -> None:
    text = 'left,right,same,weight,annotator\nb.jpg,a.jpg,1,0.5,ann\n\na.jpg,"c, d.jpg",0,2,bob\n'
    pairs = read(tmp_path, text)
    assert pairs.ids is not None
    assert pairs.ids.tolist() == ["b.jpg", "a.jpg", "c, d.jpg"]
    assert (pairs.left.tolist(), pairs.right.tolist()) == ([0, 1], [1, 2])
    assert (pairs.same.tolist(), pairs.weight.tolist()) == ([1, 0], [0.5, 2])
    assert pairs.annotator is not None
    assert (pairs.annotator.tolist(), pairs.annotators) == ([0, 1], ("ann", "bob"))
    assert pairs.lines.tolist() == [2, 4]
    assert [column.dtype.name for column in (pairs.left, pairs.right, pairs.same, pairs.weight)] == [
        "int64",
        "int64",
        "float32",
        "float32",
    ]


@pytest.mark.parametrize(
    ("written", "same"),
    [
        ("1 0 1", [1, 0, 1]),
        ("+1 -1 1.0", [1, 0, 1]),
        ("0.25 1e-1 .5", [0.25, 0.1, 0.5]),
        ("TRUE False true", [1, 0, 1]),
        ("yes No YES", [1, 0, 1]),
        ("Same different same", [1, 0, 1]),
        ("same -1 no", [1, 0, 0]),
        ("1 no 0.5", [1, 0, 0.5]),
    ],
)
def test_ways_to_write_an_answer(tmp_path: Path, written: str, same: list[float]) -> None:
    rows = "".join(f"a,b, {answer} \n" for answer in written.split())
    assert read(tmp_path, f"left,right,same\n{rows}").same.tolist() == pytest.approx(same)


def test_columns_in_any_order_and_case_with_spaces_byte_order_mark_and_carriage_returns(tmp_path: Path) -> None:
    pairs = read(tmp_path, "\ufeffnote, Same ,left,RIGHT\r\n x,1, a ,b\r\n\r\ny,0,b,c".encode())
    assert pairs.ids is not None
    assert pairs.ids.tolist() == ["a", "b", "c"]
    assert pairs.same.tolist() == [1, 0]


@pytest.mark.parametrize("delimiter", [";", "\t"])
def test_semicolons_and_tabs_separate_too(tmp_path: Path, delimiter: str) -> None:
    rows = (
        (" Note,Left", "right", "SAME", "weight", "Left"),
        ("x", '"a;\tb"', "0,25", "1,5", "a,c"),
        ("", "b", "1", "2", "d"),
    )
    text = "".join(delimiter.join(row) + "\n" for row in rows)
    pairs = read(tmp_path, text)
    assert [pairs.name(item) for item in (*pairs.left, *pairs.right)] == ["a,c", "d", "a;\tb", "b"]
    assert (pairs.same.tolist(), pairs.weight.tolist()) == ([0.25, 1], [1.5, 2])
    (part,) = files.csv_parts(tmp_path / "answers.csv")
    assert part[0]["same"].to_pylist() == ["0.25", "1"]
    with pytest.raises(InputError, match="line 2: same must be between 0 and 1, got '0,25'"):
        read(tmp_path, 'left,right,same\na,b,"0,25"\n')


@pytest.mark.parametrize(
    ("rows", "ids", "left"),
    [
        ("3,1,1\n0,3,0", None, [3, 0]),
        ("3,1,1\n0,x,0", ["3", "0", "1", "x"], [0, 1]),
        ("007,1,1\n1,7,0", ["007", "1", "7"], [0, 1]),
        ("5000000001,1,1\n1,2,0", ["5000000001", "1", "2"], [0, 1]),
        ("-1,1,1\n1,2,0", ["-1", "1", "2"], [0, 1]),
    ],
    ids=["row numbers", "a word among them", "leading zeros", "beyond all rows", "negative"],
)
def test_numbers_are_rows_where_all_of_them_can_be(
    tmp_path: Path, rows: str, ids: list[str] | None, left: list[int]
) -> None:
    pairs = read(tmp_path, f"left,right,same\n{rows}\n")
    assert (None if pairs.ids is None else pairs.ids.tolist()) == ids
    assert pairs.left.tolist() == left
    assert pairs.n_items == (4 if ids is None else len(ids))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "answers.csv is empty. Its first line must name the columns: left,right,same."),
        ("\n \n\n", "answers.csv is empty. Its first line must name the columns"),
        ("left,right,same\ra,b,1\r", "cannot be read as CSV"),
        ("left,right,same\n\n", "holds no answers. Give at least one row"),
        ("left,right\na,b\n", "line 1: there is no column 'same' but left, right. Name the columns left,right,same."),
        ("left|right|same\na|b|1\n", "line 1: there is no column 'left' but left|right|same. Name"),
        (
            "left;right;same\na;b;1\na;b\n",
            "line 3: 3 columns, but 2 values. Give each column a value, separated by sem",
        ),
        ('left\tright\tsame\na\tb\t1\na\t"b\t1\n', "line 3: this is not sound CSV (unexpected end of data). Close"),
        ("left,right,same,left\na,b,1,c\n", "line 1: there are two columns 'left'. Keep one of them."),
        ("left,right,same\na,b,1\na,b\n", "line 3: 3 columns, but 2 values. Give each column a value"),
        ("left,right,same\n\na,b,1,4\n", "line 3: 3 columns, but 4 values."),
        ("left,right,same\na,b,1\n  \n", "line 3: 3 columns, but 1 value."),
        ('left,right,same\na,b,1\nc,"d,1\n', "line 3: this is not sound CSV (unexpected end of data). Close"),
        ('left,right,same\na,"b\nc",1\na,b\n', "line 4: 3 columns, but 2 values."),
        (b"left,right,same\na,b,1\nc\xff,d,0\n", "line 3: this is not UTF-8 text. Save the file as UTF-8."),
        ("left,right,same\na,b,1\n,b,1\n", "line 3: left is empty. Give two items in each row."),
        ("left,right,same\na,b,1\na,  ,1\n", "line 3: right is empty. Give two items in each row."),
        ("left,right,same\na,b,1\na,b,\n", "line 3: same is empty. Use 1 for same, 0 for different."),
        (
            "left,right,same\na,b,1\n\nc,d,maybe\ne,f,perhaps\n",
            "line 4: same must be between 0 and 1, got 'maybe'. Use 1 for same, 0 for different.",
        ),
        ("left,right,same\na,b,1\na,c,1.5\n", "line 3: same must be between 0 and 1, got '1.5'. Use 1"),
        ("left,right,same\na,b,1\na,c,-0.5\n", "line 3: same must be between 0 and 1, got '-0.5'. Use 1"),
        ("left,right,same\na,b,nan\n", "line 2: same must be between 0 and 1, got 'nan'."),
        ("left,right,same\na,b,inf\n", "line 2: same must be between 0 and 1, got 'inf'."),
        (
            "left,right,same\na,b,1\na,c,0\n\nb,d,-1\nb,e,0\n",
            "line 5: same is -1, but line 3 has 0. Use 1 for same, 0 for different.",
        ),
        ("left,right,same\na,b,-1\na,c,0.7\n", "line 2: same is -1, but line 3 has 0.7. Use 1 for same"),
        (
            "left,right,same,weight\na,b,1,1\na,c,0,heavy\n",
            "line 3: weight must be a number of 0 or more, got 'heavy'.",
        ),
        ("left,right,same,weight\na,b,1,1\na,c,0,-2\n", "line 3: weight must be a number of 0 or more, got '-2'."),
        ("left,right,same,weight\na,b,1,\n", "line 2: weight must be a number of 0 or more, got ''. Give each answer"),
        ("left,right,same,weight\na,b,1,1e39\n", "line 2: weight must be a number of 0 or more, got '1e39'."),
    ],
)
def test_what_is_refused(tmp_path: Path, text: str | bytes, message: str) -> None:
    with pytest.raises(InputError) as refused:
        read(tmp_path, text)
    assert message in str(refused.value)
    assert str(tmp_path / "answers.csv") in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_file_that_is_not_there_a_folder_and_another_kind(tmp_path: Path) -> None:
    for name, message in (("no.csv", "does not exist"), ("no.parquet", "does not exist"), ("a.db", "does not exist")):
        with pytest.raises(InputError, match=message):
            Pairs.read(tmp_path / name)
    for suffix in files.SUFFIXES:
        (tmp_path / f"folder{suffix}").mkdir()
        with pytest.raises(InputError, match="is a folder"):
            Pairs.read(tmp_path / f"folder{suffix}")
    with pytest.raises(InputError, match="ends neither in"):
        Pairs.from_arrays([(0, 1)], [1]).write(tmp_path / "a.json")


def test_lines_are_counted_over_all_blocks_of_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "BLOCK", 64)
    monkeypatch.setattr(csv_records, "BLOCK", 64)
    random = np.random.default_rng(0)
    lines, expected = ["left,right,same"], []
    for row in range(300):
        lines += [""] * int(random.integers(3)) + [f"item {row},{'x' * int(random.integers(1, 9))},1"]
        expected.append(len(lines))
    pairs = read(tmp_path, "\r\n".join(lines))
    assert pairs.lines.tolist() == expected
    assert [pairs.name(item) for item in pairs.left.tolist()] == [f"item {row}" for row in range(300)]


names = st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=4) | st.sampled_from(
    ['"', "a,b", '"a"', "a b", "00", "-", "'", "=1", "1", "é", "猫"]
)
columns = st.fixed_dictionaries(
    {
        "left": names,
        "right": names,
        "same": st.floats(0, 1, width=32),
        "weight": st.floats(0, 1e6, width=32),
        "annotator": names,
    }
)


@pytest.mark.parametrize("suffix", files.SUFFIXES)
@given(
    optional=st.sampled_from([(), ("weight",), ("annotator",), ("weight", "annotator")]),
    rows=st.lists(columns, min_size=1, max_size=8),
)
def test_what_is_written_is_read_again(suffix: str, optional: tuple[str, ...], rows: list[dict[str, Any]]) -> None:
    frame = {name: [row[name] for row in rows] for name in ("left", "right", "same", *optional)}
    pairs = Pairs.from_frame(frame)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"answers{suffix}"
        pairs.write(path)
        again = Pairs.read(path)
        assert [file.name for file in Path(folder).iterdir()] == [path.name]
    for side in ("left", "right"):
        assert [again.name(item) for item in getattr(again, side)] == frame[side]
    np.testing.assert_array_equal(again.same, pairs.same)
    np.testing.assert_array_equal(again.weight, pairs.weight)
    assert again.annotators == pairs.annotators
    if pairs.annotator is not None:
        np.testing.assert_array_equal(again.annotator, pairs.annotator)


def test_csv_is_plain_where_it_can_be(tmp_path: Path) -> None:
    Pairs.from_arrays([("a b", "c"), ("c", "d")], [1, 0.1]).write_csv(tmp_path / "deep" / "a.csv")
    assert (tmp_path / "deep" / "a.csv").read_text() == "left,right,same\na b,c,1\nc,d,0.1\n"
    Pairs.from_arrays([(3, 1)], [0], [2], ["ann"]).write_csv(tmp_path / "b.csv")
    assert (tmp_path / "b.csv").read_text() == "left,right,same,weight,annotator\n3,1,0,2,ann\n"


@pytest.mark.parametrize("suffix", files.SUFFIXES)
def test_a_name_may_hold_line_breaks(tmp_path: Path, suffix: str, monkeypatch: pytest.MonkeyPatch) -> None:
    names = ["a\nb", 'c"\r\n\n"d', 'e "f" g', "h"]
    Pairs.from_arrays(list(pairwise(names)), [1, 0, 1]).write(tmp_path / f"a{suffix}")
    again = Pairs.read(tmp_path / f"a{suffix}")
    assert [again.name(item) for item in again.left.tolist()] == names[:3]
    if suffix == ".csv":
        assert again.lines.tolist() == [2, 6, 9]  # where each begins
        monkeypatch.setattr(csv_records, "BLOCK", 5)
        parts = [columns["right"].to_pylist() for columns, _ in files.csv_parts(tmp_path / "a.csv")]
        assert [name for part in parts for name in part] == names[1:]


def test_a_quotation_mark_that_is_never_closed_does_not_fill_the_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(csv_records, "BLOCK", 20)
    monkeypatch.setattr(csv_records, "LONGEST", 2**6)
    (tmp_path / "a.csv").write_text('left,right,same\na,"b,1\n' + "a,b,1\n" * 20)
    with pytest.raises(InputError, match="Close each quotation mark"):
        list(files.csv_parts(tmp_path / "a.csv"))


def test_a_quotation_mark_within_a_value_quotes_nothing(tmp_path: Path) -> None:
    pairs = read(tmp_path, 'left,right,same\n5" disk,3" disk,0\n5" disk,a,1\n')
    assert pairs.lines.tolist() == [2, 3]
    assert pairs.name(0) == '5" disk'


def test_writing_in_several_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "ROWS", 3)
    pairs = Pairs.from_labels(np.arange(8) % 3)
    for suffix in files.SUFFIXES:
        pairs.write(tmp_path / f"a{suffix}")
        again = Pairs.read(tmp_path / f"a{suffix}")
        assert again.ids is None
        for column in ("left", "right", "same"):
            np.testing.assert_array_equal(getattr(again, column), getattr(pairs, column))


@pytest.mark.parametrize("suffix", files.SUFFIXES)
def test_far_rows_are_the_same_rows_after_writing(tmp_path: Path, suffix: str) -> None:
    far = 2**23 + 5
    Pairs.from_arrays([(3, far), (far, 7)], [1, 0]).write(tmp_path / f"a{suffix}")
    again = Pairs.read(tmp_path / f"a{suffix}").index(far + 1)
    assert (again.left.tolist(), again.right.tolist()) == ([3, far], [far, 7])
    with pytest.raises(InputError, match=rf"(row|line) \d: right is '{far}', which is not among the 9 items, counted"):
        Pairs.read(tmp_path / f"a{suffix}").index(9)


def test_parquet_has_plain_columns_that_others_can_read(tmp_path: Path) -> None:
    Pairs.from_arrays([("a", "b")], [1], annotator=["ann"]).write_parquet(tmp_path / "a.parquet")
    schema = pyarrow.parquet.read_schema(tmp_path / "a.parquet")
    assert {name: str(schema.field(name).type) for name in schema.names} == {
        "left": "string",
        "right": "string",
        "same": "float",
        "annotator": "string",
    }


def write_table(path: Path, **columns: Any) -> Path:
    pyarrow.parquet.write_table(pa.table(columns), path)
    return path


def test_names_of_columns_in_any_case_in_parquet_and_frames(tmp_path: Path) -> None:
    columns = {"LEFT": ["a"], " Right": ["b"], "Same": [1], "Weight": [2.0], "ANNOTATOR": ["ann"]}
    path = write_table(tmp_path / "a.parquet", **columns)
    (part,) = files.parquet_parts(path)
    assert {name: values.to_pylist() for name, values in part[0].items()} == {
        name.strip().lower(): values for name, values in columns.items()
    }
    for pairs in (Pairs.read(path), Pairs.from_frame(columns), Pairs.from_frame(pa.table(columns))):
        assert (pairs.name(0), pairs.name(1), pairs.same[0], pairs.weight[0]) == ("a", "b", 1, 2)
        assert pairs.annotators == ("ann",)
    with pytest.raises(InputError, match="there are two columns 'left'"):
        Pairs.from_frame({**columns, "left": ["a"]})


def test_parquet_of_other_types(tmp_path: Path) -> None:
    path = write_table(
        tmp_path / "a.parquet",
        left=pa.array(["x", "y"]).dictionary_encode(),
        right=pa.array(["y", "z"], pa.large_string()),
        same=[True, False],
        weight=pa.array([1, 2], pa.int8()),
        annotator=[7, 8],
        other=[[1], [2]],
    )
    pairs = Pairs.read_parquet(path)
    assert [pairs.name(item) for item in (*pairs.left, *pairs.right)] == ["x", "y", "y", "z"]
    assert (pairs.same.tolist(), pairs.weight.tolist(), pairs.annotators) == ([1, 0], [1, 2], ("7", "8"))
    assert pairs.lines.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"left": [0], "right": [1]}, "there is no column 'same' but left, right"),
        ({"left": [0, 1], "right": [1, 2], "same": [1, None]}, "row 1: same is empty"),
        ({"left": ["a", None], "right": ["b", "c"], "same": [1, 0]}, "row 1: left is empty"),
        ({"left": [0, 1], "right": [1, 2], "same": [1, 3]}, "row 1: same must be between 0 and 1, got 3."),
        ({"left": [0, -4], "right": [1, 2], "same": [1, 0]}, "row 1: left is -4"),
        ({"left": [0, 0.5], "right": [1, 2], "same": [1, 0]}, "left holds numbers that are not whole"),
        ({"left": [[0], [1]], "right": [1, 2], "same": [1, 0]}, "left is of type list"),
        ({"left": [0, 1], "right": [1, 2], "same": [[1], [0]]}, "same is of type list"),
        ({"left": [0, 1], "right": [1, 2], "same": [1, 0], "weight": [1.0, float("nan")]}, "row 1: weight must be"),
    ],
)
def test_parquet_that_is_refused(tmp_path: Path, columns: dict[str, Any], message: str) -> None:
    path = write_table(tmp_path / "answers.parquet", **columns)
    with pytest.raises(InputError) as refused:
        Pairs.read(path)
    assert message in str(refused.value)


def test_parquet_without_rows_and_bytes_that_are_not_parquet(tmp_path: Path) -> None:
    empty = pa.array([], pa.int64())
    with pytest.raises(InputError, match="holds no answers"):
        Pairs.read(write_table(tmp_path / "a.parquet", left=empty, right=empty, same=empty))
    (tmp_path / "b.parquet").write_text("left,right,same\n")
    with pytest.raises(InputError, match=r"b.parquet cannot be read as Parquet"):
        Pairs.read(tmp_path / "b.parquet")


@pytest.mark.parametrize("missing", ["", None])
def test_some_answers_name_nobody(tmp_path: Path, missing: str | None) -> None:
    columns: dict[str, Any] = {"left": [0, 1, 2], "right": [1, 2, 3], "same": [1, 0, 1]}
    pairs = Pairs.read(write_table(tmp_path / "a.parquet", **columns, annotator=["ann", missing, missing]))
    assert pairs.annotator is not None
    assert (pairs.annotators, pairs.annotator.tolist()) == (("ann", ""), [0, 1, 1])
    for name in ("b.csv", "b.parquet"):
        pairs.write(tmp_path / name)
        assert Pairs.read(tmp_path / name).annotators == ("ann", "")
    nobody = Pairs.from_frame({**columns, "annotator": [missing] * 3})
    assert (nobody.annotator, nobody.annotators) == (None, ())


@pytest.mark.parametrize(
    "read_file", [Pairs.read, lambda path: [*files.parquet_parts(path)]], ids=["whole", "in parts"]
)
def test_text_that_is_not_utf8_is_refused_and_lack_of_memory_called_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, read_file: Any
) -> None:
    path = write_table(tmp_path / "a.parquet", left=["some name"] * 3, right=["b", "c", "d"], same=[1, 1, 0])
    content = path.read_bytes()
    path.write_bytes(content.replace(b"some name", b"some\xffname"))  # a flipped bit
    with pytest.raises(InputError, match=r"a.parquet cannot be read as Parquet \(.*\); write it again\."):
        read_file(path)

    class NoMemory:
        def __init__(self, *_: Any, **__: Any) -> None:
            raise OSError("Couldn't deserialize thrift: std::bad_alloc")

    monkeypatch.setattr(pyarrow.parquet, "ParquetFile", NoMemory)
    with pytest.raises(MemoryError):
        read_file(path)
