"""Items at a path as features, and which encoder suits them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from torch import nn

from likewise.encoders import Encoder, names
from likewise.encoders.names import choose_encoder
from likewise.encoders.stream import open_encoded
from likewise.errors import InputError


class MeanColour(nn.Module):
    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return images


def eyes() -> Encoder:
    return Encoder(MeanColour(), unit_length=False, cache=False)


def test_a_folder_of_photos_comes_in_chunks(photos: list[Path]) -> None:
    folder = photos[0].parent
    (folder / "red").mkdir()
    photos[1].rename(folder / "red" / "1.png")
    photos[3].write_bytes(b"no photo")
    stream = open_encoded(folder, eyes(), chunk=3)
    chunks = list(stream)
    assert [len(chunk) for chunk in chunks] == [2, 3, 1]
    ids = [name for chunk in chunks for name in chunk.ids]
    assert ids == ["0.png", "2.png", "4.png", "5.png", "6.png", "red/1.png"]
    assert torch.cat([chunk.labels for chunk in chunks]).tolist() == [-1, -1, -1, -1, -1, 0]
    expected = eyes().transform([folder / name for name in ids])
    np.testing.assert_array_equal(torch.cat([chunk.inputs for chunk in chunks]).numpy(), expected)
    assert len(stream.broken) == 1
    assert "3.png (this is no image of a known format" in stream.broken[0]
    assert (len(stream), stream.item_bytes, list(stream.names)[2]) == (7, 12, "3.png")
    with pytest.raises(InputError, match=r"3\.png .* cannot be encoded; correct or remove it"):
        list(open_encoded(folder, eyes(), strict=True))


def test_arrays_of_images(tmp_path: Path) -> None:
    images = np.zeros((4, 8, 8, 3), np.uint8)
    images[2] = 255
    np.savez(tmp_path / "images.npz", X=images, y=np.array([1, 0, 1, 1]), ids=np.array(["a", "b", "c", "d"]))
    chunks = list(open_encoded(tmp_path / "images.npz", eyes(), chunk=3))
    assert [chunk.ids for chunk in chunks] == [("a", "b", "c"), ("d",)]
    assert chunks[0].inputs[2].min() > 2 > 0 > chunks[0].inputs[0].max()
    np.save(tmp_path / "vectors.npy", np.zeros((3, 5)))
    with pytest.raises(InputError, match="holds feature vectors, and MeanColour takes photos"):
        open_encoded(tmp_path / "vectors.npy", eyes())


def test_a_table_with_an_unusable_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "texts.csv"
    path.write_text("id,text\na,hello\nb,ᠮᠣᠩᠭᠣᠯ\n", "utf-8")
    with pytest.raises(InputError, match=r"texts\.csv, line 3 .*knows nothing of it.*cannot be encoded"):
        list(open_encoded(path, Encoder("minilm"), text=["text"]))
    with pytest.raises(InputError, match="holds no photos, which MeanColour takes"):
        open_encoded(path, eyes())
    with pytest.raises(InputError, match="--text names columns of text, and MeanColour takes photos"):
        open_encoded(path, eyes(), text=["text"])


def test_the_encoder_that_suits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, mode, side in (("small", "1", 64), ("drawn", "1", 105), ("large", "RGB", 65)):
        (tmp_path / name).mkdir()
        for number in range(3):
            image = Image.new(mode, (300, side))
            image.paste("white", (20, 0, 30, side))  # a stroke
            image.save(tmp_path / name / f"{number}.png")
    for number in (1, 2):
        Image.linear_gradient("L").resize((300, 65)).save(tmp_path / "large" / f"{number}.png")
    (tmp_path / "large" / "0.png").write_bytes(b"no photo")
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "a.txt").write_text("one")
    np.save(tmp_path / "vectors.npy", np.zeros((3, 500)))
    np.save(tmp_path / "images.npy", np.zeros((3, 3, 80, 80), np.uint8))
    np.savez(tmp_path / "digits.npz", X=np.zeros((300, 28, 28), np.uint8))
    (tmp_path / "table.csv").write_text("a,b\n1,2\n")
    chosen = {path.name: choose_encoder("auto", path)[0] for path in sorted(tmp_path.iterdir())}
    assert {name for name, encoder in chosen.items() if encoder == "efficientnet-lite0"} == {"large", "images.npy"}
    assert {name for name, encoder in chosen.items() if encoder == "drawings"} == {"drawn"}
    assert choose_encoder("auto", tmp_path / "drawn", drawings=False) == (None, "")
    assert {name for name, encoder in chosen.items() if encoder == "minilm"} == {"texts"}
    assert choose_encoder("auto", tmp_path / "table.csv", ["a"]) == ("minilm", "")
    assert choose_encoder("none", tmp_path / "large") == (None, "")
    assert choose_encoder("timm:x", tmp_path / "small") == ("timm:x", "")
    with pytest.raises(InputError, match="--text needs an encoder"):
        choose_encoder("none", tmp_path / "table.csv", ["a"])
    monkeypatch.setattr(names, "photo_encoder_is_installed", lambda: False)
    assert choose_encoder("auto", tmp_path / "large") == (None, names.WITHOUT)
