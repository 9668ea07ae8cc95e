"""NumPy files: every accepted shape, labels, and everything that is refused."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from likewise.datasets import load_arrays, load_feature_set
from likewise.errors import InputError

GREY = np.random.default_rng(0).integers(0, 256, (5, 6, 7), dtype=np.uint8)
COLOUR = np.random.default_rng(1).integers(0, 256, (5, 3, 6, 7), dtype=np.uint8)  # (n, C, H, W)


@pytest.mark.parametrize(
    ("stored", "expected"),
    [
        (GREY, GREY[:, None]),
        (GREY[..., None], GREY[:, None]),
        (COLOUR, COLOUR),
        (COLOUR.transpose(0, 2, 3, 1), COLOUR),
        (COLOUR[:, :, :3, :3], COLOUR[:, :, :3, :3]),  # both axes could be channels: they come first, as here
    ],
)
def test_images_become_channels_first(tmp_path: Path, stored: np.ndarray, expected: np.ndarray) -> None:
    np.save(tmp_path / "a.npy", stored)
    items = load_arrays(tmp_path / "a.npy")
    assert torch.equal(items.inputs, torch.from_numpy(np.ascontiguousarray(expected)))
    assert items.inputs.is_contiguous()
    assert items.labels.tolist() == [-1] * 5
    assert items.class_names == ()


@pytest.mark.parametrize("dtype", ["float64", "float16", "int32", "uint8", "bool", ">f4"])
def test_features_become_float32(tmp_path: Path, dtype: str) -> None:
    np.save(tmp_path / "a.npy", np.array([[0, 1], [1, 1], [1, 0]]).astype(dtype))
    items = load_arrays(tmp_path / "a.npy")
    assert items.inputs.dtype == torch.float32
    assert items.inputs.tolist() == [[0, 1], [1, 1], [1, 0]]


@pytest.mark.parametrize("key", ["x", "X", "images", "features"])
@pytest.mark.parametrize("label_key", ["y", "labels"])
def test_keys_of_an_npz(tmp_path: Path, key: str, label_key: str) -> None:
    np.savez_compressed(tmp_path / "a.npz", **{key: COLOUR, label_key: np.array([0, 2, 2, 1, 0]), "other": np.ones(2)})
    items = load_arrays(tmp_path / "a.npz")
    assert torch.equal(items.inputs, torch.from_numpy(COLOUR))
    assert items.labels.tolist() == [0, 2, 2, 1, 0]


@pytest.mark.parametrize(
    ("labels", "index", "names"),
    [
        ([7, 3, -1, 7, 3], [1, 0, -1, 1, 0], ("3", "7")),
        ([7, 3, -100, 7, -1], [1, 0, -1, 1, -1], ("3", "7")),
        (["dog", "cat", "dog", "ox", "cat"], [1, 0, 1, 2, 0], ("cat", "dog", "ox")),
        ([True, False, True, True, True], [1, 0, 1, 1, 1], ("0", "1")),
        ([-1] * 5, [-1] * 5, ()),
    ],
)
def test_labels_index_the_sorted_class_names(
    tmp_path: Path, labels: list[Any], index: list[int], names: tuple[str, ...]
) -> None:
    np.savez(tmp_path / "a.npz", x=GREY, y=np.array(labels))
    items = load_arrays(tmp_path / "a.npz")
    assert items.labels.tolist() == index
    assert items.labels.dtype == torch.int64
    assert items.class_names == names


def test_empty_text_is_an_unknown_class(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", x=GREY, y=np.array(["dog", "", "cat", "-1", "dog"]))
    items = load_arrays(tmp_path / "a.npz")
    assert items.labels.tolist() == [1, -1, 0, -1, 1]
    assert items.class_names == ("cat", "dog")


@pytest.mark.parametrize(
    ("ids", "expected"),
    [(["e", " d ", "c", "b", "a"], ("e", "d", "c", "b", "a")), ([5, 4, 3, 2, -1], ("5", "4", "3", "2", "-1"))],
)
def test_ids_of_an_npz(tmp_path: Path, ids: list[Any], expected: tuple[str, ...]) -> None:
    np.savez(tmp_path / "a.npz", x=GREY, ids=np.array(ids))
    assert load_arrays(tmp_path / "a.npz").ids == expected


@pytest.mark.parametrize(
    ("ids", "complaint"),
    [
        (["a", "b", "c", "b", "a"], ", row 4: ids is 'a', as in row 0. Give each item an id of its own."),
        (["a", "b", " ", "c", "d"], ", row 2: ids is empty. Give each item an id."),
        ([1, 2, 3], " holds 5 items but ids of shape (3,); give one id per item."),
        ([1.0, 2.0, 3.0, 4.0, 5.0], " holds ids of type float64; give integers or text."),
    ],
)
def test_refused_ids_of_an_npz(tmp_path: Path, ids: list[Any], complaint: str) -> None:
    np.savez(tmp_path / "a.npz", x=GREY, ids=np.array(ids))
    with pytest.raises(InputError, match=re.escape(f"{tmp_path / 'a.npz'}{complaint}")):
        load_arrays(tmp_path / "a.npz")


def test_loaded_npy_does_not_follow_the_file(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", GREY)
    items = load_arrays(tmp_path / "a.npy")
    np.save(tmp_path / "a.npy", np.zeros_like(GREY))
    assert torch.equal(items.inputs, torch.from_numpy(GREY[:, None]))
    items.inputs.zero_()  # it can be written to


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e300])
def test_unusable_feature_is_named_by_row_and_column(tmp_path: Path, value: float) -> None:
    features = np.zeros((4, 3))
    features[2, 1] = features[3, 0] = value
    np.save(tmp_path / "a.npy", features)
    message = re.escape(f"{tmp_path / 'a.npy'}, row 2: column 1 is {value}; fill in or remove the 2 rows")
    with pytest.raises(InputError, match=f"^{message}"):
        load_arrays(tmp_path / "a.npy")


@pytest.mark.parametrize(
    ("arrays", "complaint"),
    [
        ({"x": GREY.astype(float)}, r"holds float64 of shape \(5, 6, 7\); give uint8 images"),
        ({"x": np.zeros(3)}, r"holds float64 of shape \(3,\)"),
        ({"x": np.float64(3)}, r"holds float64 of shape \(\)"),
        ({"x": np.array([["a", "b"]])}, "holds <U1 of shape"),
        ({"x": GREY[:0]}, r"holds no items, its array has shape \(0, 6, 7\)"),
        ({"x": np.zeros((2, 8, 8, 8), np.uint8)}, "neither the second nor the last axis can be the channels"),
        ({"pixels": GREY}, "holds pixels; name the array of items one of x, X, images, features"),
        ({"x": GREY, "images": GREY}, "holds both x and images; keep one"),
        ({"x": GREY, "y": np.arange(4)}, r"holds 5 items but labels of shape \(4,\)"),
        ({"x": GREY, "y": np.arange(5.0)}, "holds labels of type float64; give integers"),
        ({"x": GREY, "y": np.arange(5) - 2}, "holds the label -2; use -1 where"),
        ({"x": GREY, "y": np.arange(5) - 7}, "holds the label -7; use -1 where"),
    ],
)
def test_refused_arrays(tmp_path: Path, arrays: dict[str, np.ndarray], complaint: str) -> None:
    np.savez(tmp_path / "a.npz", **arrays)
    with pytest.raises(InputError, match=f"^{re.escape(str(tmp_path / 'a.npz'))} .*{complaint}"):
        load_arrays(tmp_path / "a.npz")


class Trap:
    """An object whose unpickling would create a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.path,)


@pytest.mark.parametrize("suffix", [".npy", ".npz"])
def test_pickles_are_never_opened(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a{suffix}"
    trap = np.array([Trap(tmp_path / "sprung")], dtype=object)
    if suffix == ".npy":
        np.save(path, trap, allow_pickle=True)
    else:
        np.savez(path, x=trap)
    with pytest.raises(InputError, match="cannot be read as a NumPy file of plain arrays"):
        load_arrays(path)
    assert not (tmp_path / "sprung").exists()


@pytest.mark.parametrize("suffix", [".npy", ".npz"])
@pytest.mark.parametrize("keep", [0, 5, 200])
def test_truncated_file(tmp_path: Path, suffix: str, keep: int) -> None:
    path = tmp_path / f"a{suffix}"
    if suffix == ".npy":
        np.save(path, GREY)
    else:
        np.savez(path, x=GREY)
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(InputError, match=f"^{re.escape(str(path))} cannot be read"):
        load_arrays(path)


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"a\.npy does not exist"):
        load_arrays(tmp_path / "a.npy")


LABELS = np.array([0, 1, 0, 1, 0, 1, 1, 0])


def write(path: Path, X: np.ndarray, y: np.ndarray = LABELS) -> Path:
    np.savez(path, X=X, y=y, names=np.array(["ant", "bee"]), files=np.array(["a.jpg"] * len(X)))
    return path


@pytest.fixture
def features() -> np.ndarray:
    return np.random.default_rng(0).normal(size=(8, 5)).astype(np.float16)


def test_the_last_rows_of_each_class_are_unseen(tmp_path: Path, features: np.ndarray) -> None:
    data = load_feature_set(write(tmp_path / "photos.npz", features), unseen=1)
    unit = torch.from_numpy(features.astype(np.float32))
    unit /= unit.norm(dim=1, keepdim=True)
    assert data.name == "photos"
    torch.testing.assert_close(data.train.inputs, unit[:6])
    torch.testing.assert_close(data.test.inputs, unit[6:])
    assert data.train.labels.tolist() == [0, 1, 0, 1, 0, 1]
    assert data.test.labels.tolist() == [1, 0]
    assert data.mean == pytest.approx(data.train.inputs.mean(0).tolist(), abs=1e-6)
    assert data.std == pytest.approx(data.train.inputs.std(0, correction=0).tolist(), abs=1e-6)


def test_what_cannot_be_split_is_refused(tmp_path: Path, features: np.ndarray) -> None:
    path = write(tmp_path / "photos.npz", features)
    with pytest.raises(InputError, match=r"photos\.npz has a class of 4 items, of which 4 would be left unseen"):
        load_feature_set(path, unseen=4)
    write(path, features, np.where(LABELS == 1, 1, -1))
    with pytest.raises(InputError, match=r"photos\.npz must hold features X \(n, d\) and a class in y"):
        load_feature_set(path, unseen=1)
    write(path, np.zeros((8, 3, 3), dtype=np.uint8))
    with pytest.raises(InputError, match=r"must hold features X"):
        load_feature_set(path, unseen=1)
    features[3] = 0
    with pytest.raises(InputError, match=r"photos\.npz, row 3: all features are 0"):
        load_feature_set(write(path, features), unseen=1)


def test_real_photos(real_file: Callable[[str], Path]) -> None:
    data = load_feature_set(real_file("photos-lite0.npz"))
    assert (data.train.inputs.shape, data.test.inputs.shape) == ((900, 1280), (300, 1280))
    assert data.train.labels.bincount().tolist() == [30] * 30
