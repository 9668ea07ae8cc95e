"""ImageNet in the split of Vinyals et al. (2016): 882 classes to learn from, and 118 whose names are in a file here.

The training images are looked for as `imagenet/train/n01440764/*.JPEG` under LIKEWISE_DATA. They stay on disk.
"""

from __future__ import annotations

from importlib import resources
from pathlib import Path

import numpy as np

from likewise.datasets.images import ImageFiles, list_files
from likewise.datasets.source_files import data_folder, find
from likewise.errors import InputError


def unlabelled_classes() -> tuple[str, ...]:
    """The 118 classes that are taken as unlabelled, by their WordNet ids.

    >>> len(unlabelled_classes()), unlabelled_classes()[0]
    (118, 'n01498041')
    """
    return tuple((resources.files("likewise.datasets") / "imagenet118.txt").read_text(encoding="utf-8").split())


def list_imagenet(
    data: Path | str | None = None, unlabelled: tuple[str, ...] | None = None
) -> tuple[ImageFiles, ImageFiles]:
    """The files of the classes that are known, and of those that are not (by default the 118)."""
    folder = find("imagenet", ("train",), data)
    if folder is None:
        raise InputError(
            f"imagenet/train is not in {data_folder(data)}; put a folder for each class there, as ImageNet's "
            "training images come, or set LIKEWISE_DATA."
        )
    files = list_files(folder)
    chosen = set(unlabelled_classes() if unlabelled is None else unlabelled)
    missing = sorted(chosen - set(files.class_names))
    if missing:
        raise InputError(f"{folder} has no class {missing[0]} (and {len(missing) - 1} more are missing).")
    apart = [number for number, name in enumerate(files.class_names) if name in chosen]
    known = [number for number, name in enumerate(files.class_names) if name not in chosen]
    if len(known) < 2:
        raise InputError(f"{folder} has {len(known)} classes besides the unlabelled ones; two at least are needed.")
    return of_classes(files, known), of_classes(files, apart)


def of_classes(files: ImageFiles, classes: list[int]) -> ImageFiles:
    """The files of some classes, which are numbered anew."""
    number = np.full(len(files.class_names), -1)
    number[classes] = np.arange(len(classes))
    rows = np.flatnonzero(np.isin(files.labels, classes))
    names = tuple(files.class_names[one] for one in classes)
    return ImageFiles([files.ids[row] for row in rows.tolist()], number[files.labels[rows]], names, files.folder)


def random_classes(files: ImageFiles, n_classes: int, subset: int) -> ImageFiles:
    """The files of `n_classes` classes at random; which they are depends on the number of the subset alone."""
    if n_classes > len(files.class_names):
        raise InputError(f"There are {len(files.class_names)} unlabelled classes, but {n_classes} were asked for.")
    drawn = np.random.default_rng(subset).permutation(len(files.class_names))[:n_classes]
    return of_classes(files, sorted(drawn.tolist()))
