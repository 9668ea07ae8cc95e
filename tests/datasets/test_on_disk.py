"""Images that stay in their files: indexed as the tensor that all of them would be."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
import torch
from PIL import Image

from likewise.datasets import (
    ArrayOnDisk,
    ImagesOnDisk,
    Items,
    ItemStream,
    UnitLengthOnDisk,
    keep_on_disk,
    load_folder,
    on_disk,
    open_items,
    to_unit_length,
)
from likewise.datasets.images import list_files
from likewise.datasets.items import collect
from likewise.errors import InputError


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    random = np.random.default_rng(0)
    for name in ("a/1.png", "a/2.png", "b/1.png", "b/2.png", "b/3.png"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        Image.fromarray(random.integers(0, 256, (9, 7, 3), dtype=np.uint8)).save(path)
    return tmp_path


@pytest.mark.parametrize(
    "index",
    [torch.tensor([4, 0, 0]), slice(1, 4), slice(None), torch.tensor([True, False, True, False, True])],
    ids=["numbers", "slice", "all", "mask"],
)
def test_an_index_gives_what_the_whole_tensor_gives(folder: Path, index: torch.Tensor | slice) -> None:
    whole = load_folder(folder, size=8)
    images = ImagesOnDisk(list_files(folder), 8)
    assert (len(images), images.shape, images.dtype) == (5, (5, 3, 8, 8), torch.uint8)
    assert torch.equal(images[index], whole.inputs[index])


def test_a_damaged_file_is_named(folder: Path) -> None:
    (folder / "b" / "2.png").write_bytes(b"no image")
    images = ImagesOnDisk(list_files(folder), 8)
    assert len(images[torch.tensor([0])]) == 1
    with pytest.raises(InputError, match=r"b/2.png cannot be read .*; replace it, or delete it and begin again."):
        images[torch.tensor([3])]


@pytest.mark.parametrize(
    "index",
    [torch.tensor([6, 0, 0]), slice(1, 4), slice(None), torch.arange(7) % 2 == 0, torch.tensor([], dtype=torch.int64)],
    ids=["numbers", "slice", "all", "mask", "none"],
)
@pytest.mark.parametrize(
    ("kind", "shape"), [(np.uint8, (7, 3, 4, 4)), (np.float32, (7, 5))], ids=["images", "features"]
)
def test_an_index_of_an_array_gives_what_the_whole_tensor_gives(
    tmp_path: Path, kind: type, shape: tuple[int, ...], index: torch.Tensor | slice
) -> None:
    whole = np.random.default_rng(0).integers(0, 256, shape).astype(kind)
    np.save(tmp_path / "array.npy", whole)
    array = ArrayOnDisk(tmp_path / "array.npy")
    tensor = torch.from_numpy(whole)
    assert (len(array), array.shape, array.ndim, array.dtype) == (7, shape, len(shape), tensor.dtype)
    assert torch.equal(array[index], tensor[index])
    array[index].zero_()  # a copy of one's own
    assert torch.equal(array[:], tensor)


def test_rows_that_do_not_count(tmp_path: Path) -> None:
    np.save(tmp_path / "array.npy", np.arange(6, dtype=np.float32).reshape(3, 2))
    array = ArrayOnDisk(tmp_path / "array.npy", n_rows=2)
    assert (len(array), array.shape) == (2, (2, 2))
    assert array[:].tolist() == [[0, 1], [2, 3]]
    with pytest.raises(IndexError):
        array[torch.tensor([2])]


def test_what_cannot_be_read_row_by_row_is_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "wide.npy", np.zeros((3, 2)))
    with pytest.raises(InputError, match=r"wide.npy holds float64; write it again, uint8 or float32 and row by row"):
        ArrayOnDisk(tmp_path / "wide.npy")
    np.save(tmp_path / "columns.npy", np.asfortranarray(np.zeros((3, 2), dtype=np.float32)))
    with pytest.raises(InputError, match=r"holds float32 column by column"):
        ArrayOnDisk(tmp_path / "columns.npy")


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
    usage = type(on_disk.shutil.disk_usage(tmp_path))
    monkeypatch.setattr(on_disk.shutil, "disk_usage", lambda _: usage(100, 93, 7))
    with pytest.raises(InputError, match=r"The items take 0.0 GB on disk, and 0.0 GB are free for .*/items; give a"):
        keep_on_disk(made_of([1.0, 2.0], read=read), tmp_path / "items")
    assert read == []
    assert not (tmp_path / "items").exists()


@pytest.mark.parametrize("scale", [1e-42, 1e-30, 1.0, 1e30])
def test_rows_have_length_1_and_keep_their_direction(scale: float) -> None:
    given = torch.tensor([[3.0, -4.0], [0.0, 1.0], [5.0, 12.0]])
    expected = torch.tensor([[0.6, -0.8], [0.0, 1.0], [5 / 13, 12 / 13]])
    tolerance = 1e-2 if scale < 1e-38 else 1e-6  # numbers so small have few digits
    torch.testing.assert_close(to_unit_length(given * scale), expected, atol=tolerance, rtol=0)


def test_zeros_stay_zeros_and_the_input_stays_as_it_was() -> None:
    given = torch.tensor([[0.0, 0.0], [2.0, 0.0]])
    assert to_unit_length(given).tolist() == [[0, 0], [1, 0]]
    assert given.tolist() == [[0, 0], [2, 0]]


@pytest.mark.parametrize("kind", [np.float32, np.uint8])
def test_rows_on_disk_are_those_in_memory(tmp_path: Path, kind: type) -> None:
    whole = np.random.default_rng(0).integers(0, 9, (7, 5)).astype(kind)
    np.save(tmp_path / "array.npy", whole)
    array = UnitLengthOnDisk(ArrayOnDisk(tmp_path / "array.npy"))
    expected = to_unit_length(torch.from_numpy(whole).float())
    assert (len(array), array.shape, array.ndim, array.dtype) == (7, (7, 5), 2, torch.float32)
    for index in (torch.tensor([6, 0, 0]), slice(1, 4)):
        assert torch.equal(array[index], expected[index])
