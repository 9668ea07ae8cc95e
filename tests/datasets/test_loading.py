"""`load`, `load_items` and the places where data are looked for."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from likewise.datasets import NAMES, load, load_items
from likewise.datasets.download import survey
from likewise.datasets.source_files import data_folder
from likewise.errors import InputError


def test_argument_then_environment_then_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LIKEWISE_DATA", "/from/environment")
    assert data_folder("/from/argument") == Path("/from/argument")
    assert data_folder() == Path("/from/environment")
    monkeypatch.delenv("LIKEWISE_DATA")
    assert data_folder() == Path("data")
    assert data_folder("~/sets") == Path.home() / "sets"


def test_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(
        InputError, match="no data set called 'imagenet'; choose one of digits, mnist, fashion-mnist, cifar10, cifar100"
    ):
        load("imagenet")


@pytest.mark.parametrize("name", [name for name in NAMES if name != "digits"])
def test_every_name_leads_to_its_own_set(name: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=f"^{name}/.* is not in {tmp_path}; run `likewise data get {name} "):
        load(name, tmp_path)


def test_items_by_what_is_there(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.zeros((3, 2)))
    np.savez(tmp_path / "a.NPZ", x=np.zeros((4, 2)))
    (tmp_path / "a.CSV").write_text("b,id,a\n1,u,2\n")
    (tmp_path / "photos").mkdir()
    Image.new("L", (9, 9)).save(tmp_path / "photos" / "1.png")
    assert load_items(tmp_path / "a.npy").inputs.shape == (3, 2)
    assert load_items(tmp_path / "a.NPZ.npz").inputs.shape == (4, 2)
    assert load_items(str(tmp_path / "photos"), size=16, channels=1).inputs.shape == (1, 1, 16, 16)
    assert load_items(tmp_path / "a.CSV").inputs.tolist() == [[1, 2]]
    assert load_items(tmp_path / "a.CSV", columns=("a", "b")).inputs.tolist() == [[2, 1]]


def test_items_that_are_not_there_or_of_another_kind(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("text")
    with pytest.raises(InputError, match=r"a\.txt is not a \.csv, \.parquet, \.npy or \.npz file; give a folder of im"):
        load_items(tmp_path / "a.txt")
    with pytest.raises(InputError, match="nothing does not exist; give a folder of images"):
        load_items(tmp_path / "nothing")


def test_survey_tells_whole_incomplete_and_absent_sets(tmp_path: Path) -> None:
    (tmp_path / "cifar10" / "cifar-10-batches-bin").mkdir(parents=True)
    (tmp_path / "cifar-100-binary.tar.gz").touch()
    (tmp_path / "omniglot").mkdir()
    (tmp_path / "omniglot" / "images_evaluation.zip").touch()
    found = {each.name: each for each in survey(tmp_path)}
    assert found["cifar10"].paths == (tmp_path / "cifar10" / "cifar-10-batches-bin",)
    assert found["cifar100"].paths == (tmp_path / "cifar-100-binary.tar.gz",)
    assert found["cifar10"].missing == found["cifar100"].missing == ()
    assert found["omniglot"].missing == ("images_background.zip",)
    assert found["mnist"].paths == ()
    assert found["mnist"].missing[0] == "train-images-idx3-ubyte.gz"
