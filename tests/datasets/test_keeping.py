"""Items kept on disk: the same as in memory, read once, and taken again only where they are whole and the same."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
import torch
from PIL import Image

from likewise.datasets import ArrayOnDisk, Items, ItemStream, keep_on_disk, keeping, open_items
from likewise.datasets.items import collect
from likewise.errors import InputError


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    """Seven images of two classes, of which the third cannot be read."""
    random = np.random.default_rng(0)
    for number in range(7):
        path = tmp_path / "photos" / "ab"[number % 2] / f"{number}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(random.integers(0, 256, (9, 7, 3), dtype=np.uint8)).save(path)
    (tmp_path / "photos" / "a" / "4.png").write_bytes(b"no image")
    return tmp_path / "photos"


def made_of(*parts: list[float], read: list[int] | None = None) -> ItemStream:
    """A stream of features, which notes down that it is read."""

    def chunks(broken: list[str]) -> Iterator[Items]:
        for part in parts:
            if read is not None:
                read.append(len(part))
            yield Items(torch.tensor(part)[:, None], torch.full((len(part),), -1))

    return ItemStream(sum(map(len, parts)), chunks, item_bytes=4)


def test_images_are_those_in_memory(photos: Path, tmp_path: Path) -> None:
    stream, again = (open_items(photos, size=8, chunk=2) for _ in range(2))
    kept, whole = keep_on_disk(stream, tmp_path / "items"), collect(again)
    assert isinstance(kept.inputs, ArrayOnDisk)
    assert torch.equal(kept.inputs[:], whole.inputs)
    assert torch.equal(kept.labels, whole.labels)
    assert (kept.ids, kept.class_names) == (whole.ids, whole.class_names)
    assert len(kept.ids) == 6
    assert stream.broken == again.broken
    assert stream.n_bytes == 7 * whole.inputs[0].nbytes
    assert len(np.load(tmp_path / "items" / "inputs.npy")) == 7  # a place for the one that could not be read


@pytest.mark.parametrize("row_group", [2, 100])
def test_a_table_is_that_in_memory(tmp_path: Path, row_group: int) -> None:
    values = np.random.default_rng(0).normal(size=(9, 2))
    table = pa.table({"id": [f"i{row}" for row in range(9)], "width": values[:, 0], "height": values[:, 1]})
    pyarrow.parquet.write_table(table, tmp_path / "table.parquet", row_group_size=row_group)
    stream = open_items(tmp_path / "table.parquet", chunk=4)
    kept, whole = keep_on_disk(stream, tmp_path / "items"), collect(open_items(tmp_path / "table.parquet"))
    assert torch.equal(kept.inputs[:], whole.inputs)
    assert (kept.ids, kept.columns) == (whole.ids, whole.columns)
    assert stream.n_bytes == whole.inputs.nbytes


@pytest.mark.parametrize("array", [np.zeros((3, 4, 5), dtype=np.uint8), np.zeros((3, 4))], ids=["images", "features"])
def test_a_stream_knows_what_its_items_take(tmp_path: Path, array: np.ndarray) -> None:
    np.save(tmp_path / "array.npy", array)
    stream = open_items(tmp_path / "array.npy")
    assert stream.n_bytes == collect(stream).inputs.nbytes


def test_what_has_the_same_stamp_is_not_read_again(tmp_path: Path) -> None:
    read: list[int] = []
    keep_on_disk(made_of([1.0, 2.0], [3.0], read=read), tmp_path, stamp="monday")
    again = keep_on_disk(made_of([7.0, 7.0], [7.0], read=read), tmp_path, stamp="monday")
    assert read == [2, 1]
    assert again.inputs[:].flatten().tolist() == [1, 2, 3]
    other = keep_on_disk(made_of([7.0, 8.0], read=read), tmp_path, stamp="tuesday")
    assert other.inputs[:].flatten().tolist() == [7, 8]
    assert again.inputs[:].flatten().tolist() == [1, 2, 3]  # whoever reads them goes on with what was there


def test_what_was_broken_off_is_read_again(tmp_path: Path) -> None:
    keep_on_disk(made_of([1.0]), tmp_path, stamp="monday")

    def ends(broken: list[str]) -> Iterator[Items]:
        yield Items(torch.ones(1, 1), torch.tensor([-1]))
        raise InputError("row 2 is no number")

    with pytest.raises(InputError, match="row 2"):
        keep_on_disk(ItemStream(2, ends), tmp_path, stamp="tuesday")
    read: list[int] = []
    assert keep_on_disk(made_of([5.0], read=read), tmp_path, stamp="monday").inputs[:].tolist() == [[5]]
    assert read == [1]


def test_a_disk_that_is_too_small_is_refused_before_anything_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[int] = []
    usage = type(keeping.shutil.disk_usage(tmp_path))
    monkeypatch.setattr(keeping.shutil, "disk_usage", lambda _: usage(100, 93, 7))
    with pytest.raises(InputError, match=r"The items take 0.0 GB on disk, and 0.0 GB are free for .*/items; give a"):
        keep_on_disk(made_of([1.0, 2.0], read=read), tmp_path / "items")
    assert read == []
    assert not (tmp_path / "items").exists()
