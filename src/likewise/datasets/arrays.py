"""Items from NumPy files: uint8 images or features, with labels where an .npz holds them. Never unpickles."""

from __future__ import annotations

import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from likewise.datasets.items import Items
from likewise.errors import InputError

INPUT_KEYS = ("x", "X", "images", "features")
LABEL_KEYS = ("y", "labels")
MOST_CHANNELS = 4  # an axis longer than this is height or width

Array = NDArray[Any]


def load_arrays(path: Path | str) -> Items:
    """The items of an .npy or .npz file.

    Images are uint8 of shape (n, H, W), (n, H, W, C) or (n, C, H, W); features are numbers of shape (n, d). An .npz has
    them under x, X, images or features, and may have labels under y or labels: integers (-1 where unknown) or text.
    """
    path = Path(path)
    try:
        with path.open("rb") as file:
            loaded = np.load(file, allow_pickle=False)
            arrays = {"x": loaded} if isinstance(loaded, np.ndarray) else {key: loaded[key] for key in loaded.files}
    except FileNotFoundError as error:
        raise InputError(f"{path} does not exist; give the .npy or .npz file that holds the items.") from error
    except (OSError, ValueError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise InputError(
            f"{path} cannot be read as a NumPy file of plain arrays ({error}); write it again with numpy.save or "
            "numpy.savez, without object arrays."
        ) from error

    given = _one_of(INPUT_KEYS, arrays, path)
    if given is None:
        raise InputError(
            f"{path} holds {', '.join(arrays) or 'nothing'}; name the array of items one of {', '.join(INPUT_KEYS)}."
        )
    inputs = _inputs(given, path)
    labels, names = _labels(_one_of(LABEL_KEYS, arrays, path), len(inputs), path)
    return Items(inputs, labels, names)


def _one_of(keys: tuple[str, ...], arrays: dict[str, Array], path: Path) -> Array | None:
    present = [key for key in keys if key in arrays]
    if len(present) > 1:
        raise InputError(f"{path} holds both {present[0]} and {present[1]}; keep one of them.")
    return arrays[present[0]] if present else None


def _inputs(given: Array, path: Path) -> Tensor:
    if given.ndim and not len(given):
        raise InputError(f"{path} holds no items, its array has shape {given.shape}; give at least one row.")
    if given.ndim == 2 and given.dtype.kind in "fiub":
        return _features(given, path)
    if given.ndim not in (3, 4) or given.dtype != np.uint8:
        raise InputError(
            f"{path} holds {given.dtype} of shape {given.shape}; give uint8 images (n, H, W), (n, H, W, C) or "
            "(n, C, H, W), or features (n, d)."
        )
    if given.ndim == 3:
        images = given[:, None]
    elif given.shape[1] <= MOST_CHANNELS:
        images = given
    elif given.shape[3] <= MOST_CHANNELS:
        images = given.transpose(0, 3, 1, 2)
    else:
        raise InputError(
            f"{path} holds images of shape {given.shape} in which neither the second nor the last axis can be the "
            f"channels; give at most {MOST_CHANNELS} of them."
        )
    return torch.from_numpy(np.ascontiguousarray(images))


def _features(given: Array, path: Path) -> Tensor:
    with np.errstate(over="ignore"):  # what does not fit into float32 becomes infinite and is refused below
        features = np.ascontiguousarray(given, dtype=np.float32)
    unusable = np.flatnonzero(~np.isfinite(features).all(axis=1))
    if len(unusable):
        row = int(unusable[0])
        column = int(np.flatnonzero(~np.isfinite(features[row]))[0])
        raise InputError(
            f"{path}, row {row}: column {column} is {given[row, column]}; fill in or remove the {len(unusable)} rows "
            "with NaN or infinite values (rows are counted from 0)."
        )
    return torch.from_numpy(features)


def _labels(given: Array | None, n_items: int, path: Path) -> tuple[Tensor, tuple[str, ...]]:
    if given is None:
        return torch.full((n_items,), -1, dtype=torch.int64), ()
    if given.shape != (n_items,):
        raise InputError(f"{path} holds {n_items} items but labels of shape {given.shape}; give one label an item.")
    if given.dtype.kind not in "iubU":
        raise InputError(f"{path} holds labels of type {given.dtype}; give integers (-1 where unknown) or text.")
    values = given.astype(np.int64) if given.dtype.kind in "iub" else given
    classes, index = np.unique(values, return_inverse=True)
    if values.dtype.kind == "i":
        n_unknown = int(np.searchsorted(classes, 0))  # negative values come first; only -1 is allowed
        if n_unknown > 1 or (n_unknown and classes[0] != -1):
            raise InputError(f"{path} holds the label {classes[0]}; use -1 where a label is unknown.")
        index, classes = np.maximum(index - n_unknown, -1), classes[n_unknown:]
    return torch.from_numpy(index.astype(np.int64)), tuple(str(name) for name in classes.tolist())
