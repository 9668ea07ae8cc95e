"""CIFAR-10 and CIFAR-100 in their official binary layout: a folder of .bin files, or the tar.gz as downloaded.

A CIFAR-10 row is a label byte and 3,072 pixels (red, green, blue planes of 32x32); a CIFAR-100 row has two label
bytes, the coarse class and then the fine one. The fine classes are the ones used here.
"""

from __future__ import annotations

import tarfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from likewise.datasets.items import DataSet, Items
from likewise.datasets.source_files import Gunzipped, find, get_again, leads_outside, locate
from likewise.errors import InputError

PIXELS = 3 * 32 * 32


@dataclass(frozen=True)
class Layout:
    name: str
    folder: str
    archive: str
    train: tuple[str, ...]
    test: tuple[str, ...]
    class_names: str  # the text file that lists them, one per line
    label_bytes: int  # the last of them is the class
    n_classes: int
    mean: tuple[float, ...]
    std: tuple[float, ...]


CIFAR10 = Layout(
    name="cifar10",
    folder="cifar-10-batches-bin",
    archive="cifar-10-binary.tar.gz",
    train=tuple(f"data_batch_{number}.bin" for number in range(1, 6)),
    test=("test_batch.bin",),
    class_names="batches.meta.txt",
    label_bytes=1,
    n_classes=10,
    mean=(0.4914, 0.4822, 0.4465),
    std=(0.2470, 0.2435, 0.2616),
)
CIFAR100 = Layout(
    name="cifar100",
    folder="cifar-100-binary",
    archive="cifar-100-binary.tar.gz",
    train=("train.bin",),
    test=("test.bin",),
    class_names="fine_label_names.txt",
    label_bytes=2,
    n_classes=100,
    mean=(0.5071, 0.4865, 0.4409),
    std=(0.2673, 0.2564, 0.2762),
)


def load_cifar10(data: Path | str | None = None) -> DataSet:
    """50,000 and 10,000 colour images of ten classes, from `cifar10/` in the data folder."""
    return _load(CIFAR10, data)


def load_cifar100(data: Path | str | None = None) -> DataSet:
    """50,000 and 10,000 colour images of a hundred classes, from `cifar100/` in the data folder."""
    return _load(CIFAR100, data)


def _load(layout: Layout, data: Path | str | None) -> DataSet:
    # An unpacked folder is read first because it is faster; when neither is there, the archive is the one to get.
    source = find(layout.name, (layout.folder,), data) or locate(layout.name, (layout.archive,), data)
    remedy = get_again(layout.name, data, instead_of=source)
    contents = _read_archive(source, layout, remedy) if source.is_file() else _read_folder(source, layout, remedy)
    listed = contents.get(layout.class_names, b"").decode("utf-8", errors="replace").split()
    names = tuple(listed) if len(listed) == layout.n_classes else tuple(map(str, range(layout.n_classes)))

    def items(files: Sequence[str]) -> Items:
        return _items([contents[file] for file in files], [f"{source}/{file}" for file in files], names, layout, remedy)

    return DataSet(layout.name, items(layout.train), items(layout.test), layout.mean, layout.std)


def _read_folder(folder: Path, layout: Layout, remedy: str) -> dict[str, bytes]:
    contents = {}
    for file in (*layout.train, *layout.test):
        if not (folder / file).is_file():
            raise InputError(f"{file} is not in {folder}; {remedy}.")
        contents[file] = (folder / file).read_bytes()
    if (folder / layout.class_names).is_file():
        contents[layout.class_names] = (folder / layout.class_names).read_bytes()
    return contents


def _read_archive(archive: Path, layout: Layout, remedy: str) -> dict[str, bytes]:
    """The files wanted, straight from the tar.gz: nothing is unpacked to disk."""
    contents = {}
    try:
        with Gunzipped(archive) as stream, tarfile.open(fileobj=stream, mode="r|") as tar:  # in one pass
            for member in tar:
                if leads_outside(member.name) or not (member.isdir() or member.isreg()) or member.issparse():
                    raise InputError(f"{archive} holds {member.name!r}, which is not a plain file below it; {remedy}.")
                file = Path(member.name).name
                if file in (*layout.train, *layout.test, layout.class_names):
                    opened = tar.extractfile(member)
                    if opened is not None:
                        contents[file] = opened.read()
            while stream.read(2**20):  # to the very end, where gzip keeps the checksum
                pass
    except InputError:
        raise
    except Exception as error:  # the readers raise whatever they meet: TarError, OSError, zlib.error, ValueError, ...
        raise InputError(f"{archive} cannot be read ({error}); {remedy}.") from error
    for file in (*layout.train, *layout.test):
        if file not in contents:
            raise InputError(f"{archive} holds no {file}; {remedy}.")
    return contents


def _items(
    contents: Sequence[bytes], places: Sequence[str], names: tuple[str, ...], layout: Layout, remedy: str
) -> Items:
    row = layout.label_bytes + PIXELS
    blocks = []
    for content, place in zip(contents, places, strict=True):
        if not content or len(content) % row:
            raise InputError(f"{place} holds {len(content)} bytes, not a multiple of {row}; {remedy}.")
        block = np.frombuffer(content, np.uint8).reshape(-1, row)
        worst = block[:, layout.label_bytes - 1].max()
        if worst >= layout.n_classes:
            raise InputError(f"{place} holds label {worst}, past {layout.n_classes - 1}; {remedy}.")
        blocks.append(block)
    pixels = np.concatenate([block[:, layout.label_bytes :] for block in blocks])  # (n, 3072), the only copy
    labels = np.concatenate([block[:, layout.label_bytes - 1] for block in blocks]).astype(np.int64)
    return Items(torch.from_numpy(pixels).view(-1, 3, 32, 32), torch.from_numpy(labels), names)
