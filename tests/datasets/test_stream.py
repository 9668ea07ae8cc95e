"""Streams: the same items as in memory, a chunk at a time, lazily, and again the second time."""

from __future__ import annotations

import tracemalloc
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
import torch
from PIL import Image

from likewise.datasets import Items, images, load_items, open_items, table_rows
from likewise.errors import InputError

FEATURES = np.random.default_rng(0).normal(size=(23, 4)).astype(np.float32)
IMAGES = np.random.default_rng(1).integers(0, 256, (23, 5, 6, 3), dtype=np.uint8)
LABELS = np.arange(23) % 3 - 1


def write(folder: Path, kind: str) -> Path:
    path = folder / f"items.{kind}"
    table = pa.table(
        {"id": [f"i{row}" for row in range(23)], **{f"f{place}": FEATURES[:, place] for place in range(4)}}
    )
    match kind:
        case "folder":
            for number in range(23):
                place = path / ("cat", "dog", "")[number % 3] / f"{number:02}.png"
                place.parent.mkdir(parents=True, exist_ok=True)
                Image.fromarray(IMAGES[number]).save(place)
        case "npy":
            np.save(path, IMAGES)
        case "npz":
            np.savez_compressed(path, x=FEATURES, y=LABELS, ids=np.arange(100, 123))
        case "csv":
            pyarrow.csv.write_csv(table, path)
        case "parquet":
            pyarrow.parquet.write_table(table, path, row_group_size=10)
    return path


def same(one: Items, other: Items) -> bool:
    return (
        torch.equal(one.inputs, other.inputs)
        and torch.equal(one.labels, other.labels)
        and (one.class_names, one.ids, one.columns) == (other.class_names, other.ids, other.columns)
    )


def joined(chunks: list[Items]) -> Items:
    assert len({(chunk.class_names, chunk.columns) for chunk in chunks}) == 1
    return Items(
        torch.cat([chunk.inputs for chunk in chunks]),
        torch.cat([chunk.labels for chunk in chunks]),
        chunks[0].class_names,
        tuple(name for chunk in chunks for name in chunk.ids),
        chunks[0].columns,
    )


@pytest.mark.parametrize("kind", ["folder", "npy", "npz", "csv", "parquet"])
@pytest.mark.parametrize("chunk", [1, 7, 23, 1000])
def test_chunks_are_the_items_in_memory_each_time(tmp_path: Path, kind: str, chunk: int) -> None:
    path = write(tmp_path, kind)
    whole = load_items(path, size=8)
    stream = open_items(str(path), size=8, chunk=chunk)
    assert len(stream) == 23
    for _ in range(2):
        chunks = list(stream)
        assert all(1 <= len(each) <= chunk for each in chunks)
        assert same(joined(chunks), whole)
        for each in chunks:
            each.inputs.zero_()  # whoever changes a chunk changes no other
    assert stream.broken == []


def test_table_comes_without_its_labels(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,y\n1,0.5\n2,dog\n")
    (chunk,) = open_items(tmp_path / "t.csv")
    assert chunk.labels.tolist() == [-1, -1]
    assert chunk.class_names == ()
    assert chunk.columns == ("a",)


def test_columns_of_a_table(tmp_path: Path) -> None:
    path = write(tmp_path, "parquet")
    chunks = list(open_items(path, columns=("f3", "f1"), chunk=9))
    assert torch.equal(joined(chunks).inputs, torch.from_numpy(FEATURES[:, [3, 1]]))
    assert chunks[1].columns == ("f3", "f1")
    with pytest.raises(InputError, match="has no column 'f4'"):
        open_items(path, columns=("f4",))


def test_images_are_read_when_their_chunk_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path, "folder")
    read: list[Path] = []

    def counting(file: Path, *arguments: Any) -> Any:
        read.append(file)
        return read_image(file, *arguments)

    read_image = images.read_image
    monkeypatch.setattr(images, "read_image", counting)
    chunks = iter(open_items(path, chunk=5))
    assert read == []
    assert next(chunks).ids == tuple(file.relative_to(path).as_posix() for file in read)
    assert len(read) == 5
    next(chunks)
    assert len(read) == 10


def test_npy_is_never_whole_in_memory(tmp_path: Path) -> None:
    for name, stored in (("features", np.zeros((50_000, 32))), ("images", np.zeros((50_000, 16, 16), np.uint8))):
        np.save(tmp_path / f"{name}.npy", stored)
        del stored
        tracemalloc.start()
        try:
            assert sum(len(chunk) for chunk in open_items(tmp_path / f"{name}.npy", chunk=500)) == 50_000
            assert tracemalloc.get_traced_memory()[1] < 2**20  # the files are 12 MiB
        finally:
            tracemalloc.stop()


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_tables_are_never_whole_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    monkeypatch.setattr(table_rows, "BLOCK", 2**14)
    path = tmp_path / f"t.{kind}"
    table = pa.table({f"f{place}": np.random.default_rng(place).normal(size=20_000) for place in range(20)})
    if kind == "csv":
        pyarrow.csv.write_csv(table, path)
    else:
        pyarrow.parquet.write_table(table, path, row_group_size=1000)
    del table
    before = pa.total_allocated_bytes()
    held = [pa.total_allocated_bytes() - before for _ in open_items(path, chunk=100)]
    assert len(held) >= 200
    assert max(held) < path.stat().st_size / 4  # a few blocks, or a few row groups, of 3 to 8 MB
    assert pa.total_allocated_bytes() - before < 2**16


def test_broken_images_are_named_and_classes_keep_their_numbers(tmp_path: Path) -> None:
    path = write(tmp_path, "folder")
    for name in ("cat/00.png", "dog/04.png", "cat/03.png"):
        (path / name).write_text("text")
    stream = open_items(path, chunk=1)
    for _ in range(2):
        chunks = iter(stream)
        assert stream.broken == []
        assert next(chunks).ids == ("02.png",)  # names in order: the loose files are first
        rest = list(chunks)
        assert len(rest) == 19
        assert {(each.ids[0][:3], int(each.labels)) for each in rest} == {("cat", 0), ("dog", 1)} | {
            (f"{number:02}."[:3], -1) for number in range(5, 23, 3)
        }
        assert [name.split(" (")[0] for name in stream.broken] == [
            str(path / name) for name in ("cat/00.png", "cat/03.png", "dog/04.png")
        ]


def test_strict_stream_stops_at_the_first_broken_image(tmp_path: Path) -> None:
    path = write(tmp_path, "folder")
    (path / "cat" / "03.png").write_text("text")
    chunks = iter(open_items(path, chunk=4, strict=True))
    assert len(list(islice(chunks, 1))) == 1
    with pytest.raises(
        InputError, match=r"cat/03\.png \(.*\) cannot be read; replace or delete it, or leave strict out"
    ):
        list(chunks)


def test_nothing_but_broken_images(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_text("text")
    with pytest.raises(InputError, match=r"^1 of the 1 images in .*; give a folder of sound images\.$"):
        list(open_items(tmp_path))


def test_unusable_feature_past_the_first_chunk(tmp_path: Path) -> None:
    features = np.zeros((50, 3))
    features[31, 1] = features[49, 0] = np.nan
    np.save(tmp_path / "a.npy", features)
    chunks = iter(open_items(tmp_path / "a.npy", chunk=10))
    assert len(list(islice(chunks, 3))) == 3
    with pytest.raises(InputError, match="row 31: column 1 is nan; fill in or remove the 2 rows"):
        next(chunks)


@pytest.mark.parametrize("rows", [2, 4])
def test_table_that_changes_between_opening_and_reading(tmp_path: Path, rows: int) -> None:
    path = tmp_path / "t.csv"
    path.write_text("id,a\nu,1\nv,2\nw,3\n")
    stream = open_items(path)
    path.write_text("id,a\n" + "".join(f"i{row},1\n" for row in range(rows)))
    with pytest.raises(InputError, match="changed while it was read; start again"):
        list(stream)


def test_errors_of_a_table_come_before_any_chunk(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("id,a\nu,1\nu,2\n")
    with pytest.raises(InputError, match="line 3: id is 'u', as in line 2"):
        open_items(tmp_path / "t.csv", chunk=1)


def test_impossible_chunk_and_missing_path(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="chunk must be at least 1, got 0"):
        open_items(tmp_path, chunk=0)
    with pytest.raises(InputError, match=r"nothing does not exist; give a folder of images, a \.csv"):
        open_items(tmp_path / "nothing")
