"""ImageNet's split: which classes are known, which are not, and random subsets of those."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from likewise.datasets import list_imagenet, random_classes
from likewise.datasets.images import unlabelled_classes
from likewise.errors import InputError


@pytest.fixture
def data(tmp_path: Path) -> Path:
    for number, name in enumerate(("n01", "n02", "n03", "n04", "n05")):
        folder = tmp_path / "imagenet" / "train" / name
        folder.mkdir(parents=True)
        for drawing in range(number + 1):
            Image.new("RGB", (4, 4)).save(folder / f"{drawing}.JPEG")
    return tmp_path


def test_the_118_classes_are_wordnet_ids_in_order() -> None:
    names = unlabelled_classes()
    assert len(names) == len(set(names)) == 118
    assert list(names) == sorted(names)
    assert all(name[0] == "n" and name[1:].isdigit() and len(name) == 9 for name in names)


def test_classes_are_parted_and_numbered_anew(data: Path) -> None:
    known, unlabelled = list_imagenet(data, unlabelled=("n02", "n04"))
    assert known.class_names == ("n01", "n03", "n05")
    assert unlabelled.class_names == ("n02", "n04")
    assert np.bincount(known.labels).tolist() == [1, 3, 5]
    assert np.bincount(unlabelled.labels).tolist() == [2, 4]
    assert all(unlabelled.path(number).exists() for number in range(6))
    assert unlabelled.ids[0] == "n02/0.JPEG"


def test_a_subset_depends_on_its_number_alone(data: Path) -> None:
    _, unlabelled = list_imagenet(data, unlabelled=("n02", "n03", "n04"))
    drawn = [random_classes(unlabelled, 2, number).class_names for number in range(8)]
    assert drawn == [random_classes(unlabelled, 2, number).class_names for number in range(8)]
    assert len(set(drawn)) == 3
    subset = random_classes(unlabelled, 2, 0)
    assert sorted(set(subset.labels.tolist())) == [0, 1]
    assert all(
        identity.split("/")[0] == subset.class_names[label]
        for identity, label in zip(subset.ids, subset.labels, strict=True)
    )
    with pytest.raises(InputError, match="There are 3 unlabelled classes, but 4 were asked for"):
        random_classes(unlabelled, 4, 0)


def test_what_is_missing_is_named(data: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"imagenet/train is not in .*; put a folder for each class there"):
        list_imagenet(tmp_path / "nowhere")
    with pytest.raises(InputError, match=r"has no class n09 \(and 1 more are missing\)"):
        list_imagenet(data, unlabelled=("n01", "n09", "n10"))
    with pytest.raises(InputError, match="1 classes besides the unlabelled ones; at least two are needed"):
        list_imagenet(data, unlabelled=("n02", "n03", "n04", "n05"))
