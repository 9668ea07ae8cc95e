"""Texts from tables and folders."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from likewise.datasets.texts import load_texts, text_columns
from likewise.errors import InputError

TABLE = 'id,subject,body,price,label\na,Lost card,"It is, I fear,\ngone",3,card\nb,Sun,,4,\nc,,only a body,5,rain\n'


def test_columns_are_joined(tmp_path: Path) -> None:
    path = tmp_path / "tickets.csv"
    path.write_text(TABLE, "utf-8")
    read = load_texts(path, ["subject", "body"])
    assert list(read.texts) == ["Lost card\nIt is, I fear,\ngone", "Sun", "only a body"]
    assert (list(read.ids), read.labels.tolist(), read.class_names) == (["a", "b", "c"], [0, -1, 1], ("card", "rain"))
    assert text_columns(path) == ("subject", "body")
    pd.read_csv(path).to_parquet(tmp_path / "tickets.parquet")
    again = load_texts(tmp_path / "tickets.parquet", ["subject", "body"])
    assert (list(again.texts), list(again.ids)) == (list(read.texts), list(read.ids))


def test_a_second_text_column_is_not_taken_for_ids(tmp_path: Path) -> None:
    path = tmp_path / "questions.csv"
    path.write_text("text,category\nwhere,a\nwhen,a\n", "utf-8")
    assert (list(load_texts(path, ["text"]).texts), load_texts(path, ["text"]).ids) == (["where", "when"], ())


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        (["subject", "text"], "has no column 'text', its columns are 'id', 'subject', 'body'"),
        (["price"], "the column 'price' holds no text; name columns of text with --text"),
        (["body"], r"line 4: body is empty\. Fill in a text, or leave out the row"),
        ([], "name the columns that hold its texts, such as --text subject"),
        (["body", "body"], "names twice the column 'body'"),
    ],
)
def test_columns_that_cannot_be_used_are_refused(tmp_path: Path, columns: list[str], said: str) -> None:
    path = tmp_path / "tickets.csv"
    path.write_text(TABLE, "utf-8")
    with pytest.raises(InputError, match=said):
        load_texts(path, columns)


def test_a_folder_of_texts(tmp_path: Path) -> None:
    (tmp_path / "en").mkdir()
    (tmp_path / "en" / "a.txt").write_text("\ufeff one \n", "utf-8")
    (tmp_path / "b.txt").write_text("two", "utf-8")
    read = load_texts(tmp_path)
    assert (list(read.texts), list(read.ids)) == (["two", "one"], ["b.txt", "en/a.txt"])
    assert (read.labels.tolist(), read.class_names) == ([-1, 0], ("en",))
    (tmp_path / "b.txt").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match=r"b\.txt is not UTF-8 text"):
        list(load_texts(tmp_path).texts)
    (tmp_path / "b.txt").write_text(" ")
    with pytest.raises(InputError, match=r"b\.txt is empty"):
        list(load_texts(tmp_path).texts)


def test_what_holds_no_texts_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"holds no text; its files should end in \.txt"):
        load_texts(tmp_path)
    (tmp_path / "a.npy").write_bytes(b"")
    with pytest.raises(InputError, match="holds no texts; give a"):
        load_texts(tmp_path / "a.npy")
