"""Tables that the test writes, as CSV and as Parquet: which column is what, values, and everything that is refused."""

from __future__ import annotations

import csv
import io
import re
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from likewise.datasets import load_table, table_rows
from likewise.errors import InputError

Columns = Mapping[str, Sequence[Any]]
Write = Callable[[Columns], Path]


@pytest.fixture(params=["csv", "parquet"])
def write(request: pytest.FixtureRequest, tmp_path: Path) -> Write:
    """Write a table in one of the two forms; None is an empty value."""

    def as_csv(columns: Columns) -> Path:
        path = tmp_path / "t.csv"
        with path.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([columns, *zip(*columns.values(), strict=True)])
        return path

    def as_parquet(columns: Columns) -> Path:
        path = tmp_path / "t.parquet"
        pyarrow.parquet.write_table(pa.table(dict(columns)), path)
        return path

    return as_csv if request.param == "csv" else as_parquet


@pytest.fixture
def csv_file(tmp_path: Path) -> Callable[[str | bytes], Path]:
    def write_text(content: str | bytes) -> Path:
        path = tmp_path / "t.csv"
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write_text


def test_ids_classes_and_features(write: Write) -> None:
    path = write({"w": [1.5, 2.5, 3.5], "Label": ["dog", "cat", "dog"], "ID": ["c", "a", "b"], "h": [4, 5, 6]})
    items = load_table(path)
    assert items.inputs.dtype == torch.float32
    assert items.inputs.tolist() == [[1.5, 4], [2.5, 5], [3.5, 6]]
    assert items.columns == ("w", "h")
    assert items.ids == ("c", "a", "b")
    assert items.class_names == ("cat", "dog")
    assert items.labels.tolist() == [1, 0, 1]
    assert items.subset(torch.tensor([1])).columns == ("w", "h")


def test_numbers_alone_have_row_numbers_and_no_classes(write: Write) -> None:
    items = load_table(write({"a": [1, 2], "b": [True, False], "c": [-0.5, 1e-45]}))
    assert items.ids == ()
    assert items.labels.tolist() == [-1, -1]
    assert items.inputs.tolist() == [[1, 1, -0.5], [2, 0, np.float32(1e-45)]]


@pytest.mark.parametrize("name", ["id", "item", "NAME", "File", "filename"])
def test_every_name_of_an_id_column_even_of_numbers(write: Write, name: str) -> None:
    items = load_table(write({"a": [1.0, 2.0], name: [30, 4]}))
    assert items.ids == ("30", "4")
    assert items.columns == ("a",)


def test_first_name_of_the_list_wins_and_the_other_is_a_feature(write: Write) -> None:
    items = load_table(write({"item": [8, 9], "id": [1, 2]}))
    assert items.ids == ("1", "2")
    assert items.columns == ("item",)


def test_only_column_of_text_is_the_ids(write: Write) -> None:
    items = load_table(write({"a": [1, 2, 3], "city": ["Rome", "7", "Bari"], "y": ["u", "v", "u"]}))
    assert items.ids == ("Rome", "7", "Bari")
    assert items.columns == ("a",)


def test_two_columns_of_text_are_no_ids(write: Write) -> None:
    path = write({"a": [1, 2], "city": ["Rome", "Bari"], "note": ["x", "y"]})
    where = "line 2" if path.suffix == ".csv" else "row 0"
    expected = (
        f"{path}, {where}: city must be a finite number, got 'Rome'. Correct it, or leave out the row or the column."
    )
    with pytest.raises(InputError, match=f"^{re.escape(expected)}$"):
        load_table(path)
    assert load_table(path, columns=["a"]).ids == ()


def test_slip_in_a_column_of_numbers_does_not_make_it_ids(csv_file: Callable[[str], Path]) -> None:
    path = csv_file("a,b\n1,2\n3,4o\n5,6\n")
    with pytest.raises(InputError, match="line 3: b must be a finite number, got '4o'"):
        load_table(path)


@pytest.mark.parametrize("name", ["label", "CLASS", "y", "Target"])
@pytest.mark.parametrize(
    ("values", "index", "names"),
    [
        ([10, 9, -1, 10], [1, 0, -1, 1], ("9", "10")),
        ([10, -100, -1, 10], [0, -1, -1, 0], ("10",)),
        (["dog", "", "cat", "dog"], [1, -1, 0, 1], ("cat", "dog")),
        (["dog", "-100", "-1", "10"], [1, -1, -1, 0], ("10", "dog")),
        ([2.0, None, 1.0, 2.0], [1, -1, 0, 1], ("1", "2")),
        ([2**60, 2**60 + 1, 2**60, None], [0, 1, 0, -1], (str(2**60), str(2**60 + 1))),
        ([None] * 4, [-1] * 4, ()),
    ],
)
def test_classes(write: Write, name: str, values: list[Any], index: list[int], names: tuple[str, ...]) -> None:
    items = load_table(write({"a": [1, 2, 3, 4], name: values}))
    assert items.labels.tolist() == index
    assert items.labels.dtype == torch.int64
    assert items.class_names == names
    assert items.columns == ("a",)


def test_coordinate_called_y_is_not_taken_for_classes(write: Write) -> None:
    path = write({"x": [0.5, 1.5, 2.5], "y": [1.0, 0.25, 3.0]})
    where = "line 3" if path.suffix == ".csv" else "row 1"
    message = rf", {where}: y must be a class, text or a whole number, got '0\.25'\. Correct it, or rename"
    with pytest.raises(InputError, match=message):
        load_table(path)
    items = load_table(path, columns=("y", "x"))
    assert items.inputs.tolist() == [[1, 0.5], [0.25, 1.5], [3, 2.5]]
    assert items.class_names == ()


def test_label_below_minus_one(write: Write) -> None:
    with pytest.raises(InputError, match="holds the label -2; use -1"):
        load_table(write({"a": [1, 2], "y": [-2, 1]}))


def test_wanted_columns_in_their_order_whatever_else_is_there(write: Write) -> None:
    path = write({"note": ["x", "x"], "a": [1, 2], "id": ["u", "v"], "b": [3, 4], "other": [None, "z"]})
    items = load_table(path, columns=("b", "a"))
    assert items.inputs.tolist() == [[3, 1], [4, 2]]
    assert items.columns == ("b", "a")
    assert items.ids == ("u", "v")
    with pytest.raises(
        InputError, match=r"has no column 'c', 'd', its columns are 'note', 'a', 'id', 'b', 'other'; give"
    ):
        load_table(path, columns=("c", "a", "d"))
    with pytest.raises(InputError, match="columns= names twice the column 'a'; keep one"):
        load_table(path, columns=("a", "b", "a"))


def test_many_missing_columns_are_counted(write: Write) -> None:
    with pytest.raises(InputError, match=r"no column 'f0', .*'f7' and 92 more, its columns are 'a'; give"):
        load_table(write({"a": [1]}), columns=[f"f{place}" for place in range(100)])


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e39])
def test_number_that_cannot_be_used(write: Write, value: float) -> None:
    path = write({"id": ["u", "v", "w"], "a": [1.0, 2.0, 3.0], "b": [1.0, value, value]})
    where = "line 3" if path.suffix == ".csv" else "row 1"
    with pytest.raises(
        InputError, match=rf"^{path}, {where}: b must be a finite number, got '?{re.escape(str(value))}'?\."
    ):
        load_table(path)


def test_missing_value(write: Write) -> None:
    path = write({"a": [1, 2], "b": [None, 3]})
    where = "line 2" if path.suffix == ".csv" else "row 0"
    with pytest.raises(InputError, match=f"{where}: b is empty. Fill it in, or leave out the row or the column."):
        load_table(path)


def test_unusable_value_far_from_the_start(write: Write) -> None:
    values = [float(number) for number in range(10_000)]
    values[9_998] = np.inf
    path = write({"a": values})
    with pytest.raises(InputError, match=r"(line 10000|row 9998): a must be a finite number, got '?inf"):
        load_table(path)


def test_the_same_id_twice(write: Write) -> None:
    path = write({"a": [1, 2, 3, 4], "id": ["u", "v", "w", " v"]})
    one, other = ("line 3", "line 5") if path.suffix == ".csv" else ("row 1", "row 3")
    expected = f"{path}, {other}: id is 'v', as in {one}. Give each item an id of its own."
    with pytest.raises(InputError, match=f"^{re.escape(expected)}$"):
        load_table(path)


def test_empty_id(write: Write) -> None:
    path = write({"a": [1, 2], "id": ["u", None]})
    with pytest.raises(InputError, match=r"(line 3|row 1): id is empty. Give each item an id"):
        load_table(path)


def test_no_features(write: Write) -> None:
    with pytest.raises(InputError, match="has no column of features beside 'id', 'label'; give numbers"):
        load_table(write({"id": [1], "label": [1]}))


def test_no_rows(write: Write) -> None:
    with pytest.raises(InputError, match="names its columns but holds no items; give at least one row"):
        load_table(write({"id": pa.array([], pa.string()), "a": pa.array([], pa.float64())}))


def test_lines_are_counted_past_empty_ones_and_breaks_inside_values(csv_file: Callable[[str], Path]) -> None:
    path = csv_file('\n"id",a\r\n\r\n"u\nu",1\n\n"v",2\n"w",oops\n')
    with pytest.raises(InputError, match="line 8: a must be a finite number, got 'oops'"):
        load_table(path)
    path = csv_file('\n"id","a"\r\n\r\n"u\nu",1\n\n"v",2\n"u\nu",3\n')
    with pytest.raises(InputError, match=r"line 8: id is 'u\\nu', as in line 4"):
        load_table(path)


def test_line_break_inside_a_value_at_the_end_of_a_block(
    csv_file: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table_rows, "BLOCK", 64)
    names = [f"first\nsecond\n{number}" for number in range(50)]
    items = load_table(csv_file("id,a\n" + "".join(f'"{name}",{row}\n' for row, name in enumerate(names))))
    assert items.ids == tuple(names)
    assert items.inputs.flatten().tolist() == list(range(50))


@pytest.mark.parametrize("start", ["", "\ufeff"])
@pytest.mark.parametrize("end", ["\n", "\r\n", ""])
def test_utf8_with_and_without_a_mark(csv_file: Callable[[str], Path], start: str, end: str) -> None:
    items = load_table(csv_file(f"{start}id, größe{end or chr(10)}é , 1{end or chr(10)}ß, 2{end}"))
    assert items.ids == ("é", "ß")
    assert items.columns == ("größe",)
    assert items.inputs.tolist() == [[1], [2]]


@pytest.mark.parametrize("header", ["0,1,2", "1,2,3", ",0,1", ",".join(str(length) for length in range(400, 900, 50))])
def test_numbers_that_are_names(csv_file: Callable[[str], Path], header: str) -> None:
    names = header.split(",")
    items = load_table(csv_file(f"{header}\n{','.join('5' for _ in names)}\n"))
    assert items.columns == tuple(name for name in names if name)
    assert items.ids == (("5",) if "" in names else ())


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("", " is empty. Its first line must name the columns"),
        ("\n\n", " is empty. Its first line"),
        ("id,a\n", " names its columns but holds no items"),
        ("id,a\nu,1\nv\n", ", line 3: 2 columns, but 1 value. Give each column a value, separated by commas."),
        ("id,a\nu,1\n\nv,2,3\n", ", line 4: 2 columns, but 3 values. Give"),
        ("a,b,a\n1,2,3\n", " has two columns 'a'; keep one of them."),
        ("id,a,\nu,1,2\n", ": column 3 has no name; name it or remove it."),
        (b"id,a\nu,1\n\xff\xfe,2\n", ", line 3: this is not UTF-8 text. Save the file as UTF-8."),
        ("id,a\nu,1\n".encode("utf-16"), ", line 1: this is not UTF-8 text."),
        (b"\x89PNG\r\n\x1a\n\x00\x00", ", line 1: this is not UTF-8 text."),
        ('id,a\nu,1\n"v,2\nw,3\n', ", line 3: this is not sound CSV (unexpected end of data). Close each quotation"),
        ("id;a;b\nu;1;2\n", " has no column of features beside 'id;a;b'; give numbers, between commas."),
        ("0.5,0.7\n0.1,0.2\n", ", line 1: 0.5 stands where the name of a column should. Put a line of names first"),
        ("u,0,0,5\nv,1,2,3\n", ", line 1: 0 stands where the name of a column should."),
        ("a,b\n1,true\n2,False\n3,yes\n", ", line 4: b must be a finite number, got 'yes'."),
        ("a,b\n1,2\n2,1_000\n", ", line 3: b must be a finite number, got '1_000'."),
    ],
)
def test_refused_csv(csv_file: Callable[[str | bytes], Path], content: str | bytes, complaint: str) -> None:
    path = csv_file(content)
    with pytest.raises(InputError, match=f"^{re.escape(f'{path}{complaint}')}"):
        load_table(path)


@pytest.mark.parametrize("keep", [0, 3, 20, -9])
def test_damaged_parquet(tmp_path: Path, keep: int) -> None:
    path = tmp_path / "t.parquet"
    pyarrow.parquet.write_table(pa.table({"a": [1.0, 2.0]}), path)
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(
        InputError, match=rf"^{re.escape(str(path))} cannot be read as Parquet \(.*\); write it again\.$"
    ):
        load_table(path)


def test_parquet_damaged_in_the_middle(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pyarrow.parquet.write_table(pa.table({"a": np.arange(5000.0)}), path, use_dictionary=False)
    content = bytearray(path.read_bytes())
    content[10:2000] = bytes(1990)
    path.write_bytes(content)
    with pytest.raises(InputError, match="cannot be read as Parquet"):
        load_table(path)


@pytest.mark.parametrize(
    ("columns", "complaint"),
    [
        ({"a": [[1.0, 2.0]]}, r", row 0: a must be a finite number, got \[1\.0, 2\.0\]"),
        ({"a": [1.0], "id": [[1]]}, r": id is of type list<\w+: int64>; give text or integers"),
        ({"a": [1.0], "y": [b"dog"]}, ": y is of type binary; give text or integers, or rename"),
    ],
)
def test_parquet_of_other_types(tmp_path: Path, columns: dict[str, Any], complaint: str) -> None:
    path = tmp_path / "t.parquet"
    pyarrow.parquet.write_table(pa.table(columns), path)
    with pytest.raises(InputError, match=f"^{re.escape(str(path))}{complaint}"):
        load_table(path)


def test_parquet_of_every_usable_type(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    columns = {
        "id": pa.array(["u", "v"]).dictionary_encode(),
        "y": pa.array([float("nan"), 3.0]),
        "half": pa.array(np.array([1.5, 2.5], np.float16)),
        "decimal": pa.array([1, 2]).cast(pa.decimal128(30, 2)),
        "large": pa.array([2**62, 1]),
        "coded": pa.array([7, 8]).dictionary_encode(),
        "flag": pa.array([True, False]),
    }
    pyarrow.parquet.write_table(pa.table(columns), path)
    items = load_table(path)
    assert items.ids == ("u", "v")
    assert items.labels.tolist() == [-1, 0]
    assert items.class_names == ("3",)
    assert items.inputs.tolist() == [[1.5, 1, 2**62, 7, 1], [2.5, 2, 1, 8, 0]]


def test_index_that_pandas_wrote(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": [1.0, 2.0], "b": [3, 4]}, index=[17, 5])
    frame.to_csv(tmp_path / "t.csv")
    frame.to_parquet(tmp_path / "t.parquet")
    for name in ("t.csv", "t.parquet"):
        items = load_table(tmp_path / name)
        assert items.ids == ("17", "5")
        assert items.columns == ("a", "b")


def test_duplicate_columns_of_parquet(tmp_path: Path) -> None:
    pyarrow.parquet.write_table(pa.table([[1], [2]], names=["a", "a"]), tmp_path / "t.parquet")
    with pytest.raises(InputError, match="has two columns 'a'; keep one of them"):
        load_table(tmp_path / "t.parquet")


def test_what_is_no_table_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"a\.csv does not exist; give a CSV or Parquet file"):
        load_table(tmp_path / "a.csv")
    (tmp_path / "b.csv").mkdir()
    with pytest.raises(InputError, match=r"b\.csv is not a file; give a CSV or Parquet file"):
        load_table(tmp_path / "b.csv")
    (tmp_path / "c.txt").touch()
    with pytest.raises(InputError, match=r"c\.txt ends neither in \.csv nor in \.parquet"):
        load_table(tmp_path / "c.txt")


# Of line breaks only \n: csv.writer leaves a lone \r unquoted where lines end in \n.
CHARACTERS = st.characters(codec="utf-8", exclude_characters="\0\r")
NAMES = st.text(CHARACTERS, min_size=1, max_size=6).map(str.strip).filter(bool)
ROWS = st.lists(
    st.tuples(NAMES, st.floats(width=32, allow_nan=False, allow_infinity=False), st.integers(-999, 999), st.booleans()),
    min_size=1,
    max_size=5,
    unique_by=lambda row: row[0],
)


@settings(max_examples=50, deadline=None)
@given(rows=ROWS, quoting=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]), end=st.sampled_from(["\n", "\r\n"]))
def test_csv_gives_back_what_was_written(rows: list[tuple[Any, ...]], quoting: Any, end: str) -> None:
    text = io.StringIO(newline="")
    csv.writer(text, quoting=quoting, lineterminator=end).writerows([("file", "a", "b", "c"), *rows])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.csv"
        path.write_bytes(text.getvalue().encode())
        items = load_table(path)
    names, *features = zip(*rows, strict=True)
    assert items.ids == names
    assert items.inputs.T.tolist() == [list(values) for values in features]
