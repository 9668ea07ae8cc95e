"""The scikit-learn face of encoders, and encoders of one's own."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from torch import nn

from likewise.encoders import Encoder, load_encoder
from likewise.errors import InputError

TEXTS = ["I lost my card", "my card is gone", "where is my card", "great weather today", "it is sunny", "a warm day"]


class MeanColour(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(3))

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return images * self.scale.view(3, 1, 1)  # a map, which is averaged


def test_a_pipeline_learns_from_texts() -> None:
    model = make_pipeline(load_encoder("wordllama"), LogisticRegression())
    model.fit(TEXTS, [0, 0, 0, 1, 1, 1])
    assert model.predict(["the card was stolen", "rain and wind, no sunny day"]).tolist() == [0, 1]
    assert clone(model).fit(TEXTS, [0, 0, 0, 1, 1, 1]).score(TEXTS, [0, 0, 0, 1, 1, 1]) == 1
    assert pickle.loads(pickle.dumps(model)).score(TEXTS, [0, 0, 0, 1, 1, 1]) == 1
    names = load_encoder("wordllama").get_feature_names_out()
    assert (len(names), names[0]) == (256, "encoder0")


def test_a_module_of_ones_own_sees_normalised_photos(photos: list[Path]) -> None:
    found = load_encoder(MeanColour(), unit_length=False, cache=False).transform(photos)
    colours = np.array([(30 * number, 0, 100) for number in range(7)]) / 255
    expected = (colours - (0.485, 0.456, 0.406)) / (0.229, 0.224, 0.225)
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_modules_are_known_by_their_weights(photos: list[Path], tmp_path: Path) -> None:
    first, same, other = MeanColour(), MeanColour(), MeanColour()
    nn.init.constant_(other.scale, 2)
    facts = [load_encoder(module).facts["sha256"] for module in (first, same, other)]
    assert facts[0] == facts[1] != facts[2]
    load_encoder(first, cache=tmp_path / "c").transform(photos)
    twice = load_encoder(other, cache=tmp_path / "c", unit_length=False).transform(photos)
    np.testing.assert_allclose(
        twice, 2 * load_encoder(first, cache=False, unit_length=False).transform(photos), atol=1e-5
    )


def test_a_function_of_ones_own_is_given_the_items_as_they_are() -> None:
    def sizes(items: list[str]) -> list[list[float]]:
        return [[float(len(item)), 1.0] for item in items]

    assert load_encoder(sizes, unit_length=False).transform(["a", "bcd"]).tolist() == [[1, 1], [3, 1]]
    with pytest.raises(InputError, match="gave no array of numbers"):
        load_encoder(lambda items: [["x"]] * len(items)).transform(["a"])


def test_photos_may_be_paths_pictures_or_arrays(photos: list[Path]) -> None:
    encoder = load_encoder(MeanColour(), cache=False)
    pictures = [Image.open(path).convert("RGB") for path in photos]
    expected = encoder.transform([str(path) for path in photos])
    np.testing.assert_allclose(encoder.transform(pictures), expected, atol=1e-6)
    arrays = np.stack([np.full((8, 8, 3), (30 * number, 0, 100), np.uint8) for number in range(7)])
    np.testing.assert_allclose(encoder.transform(arrays), expected, atol=1e-6)


def test_what_is_no_list_of_items_is_refused(photos: list[Path]) -> None:
    encoder = load_encoder(MeanColour(), cache=False)
    for X, said in (
        (str(photos[0]), "X must be a list of items"),
        (np.zeros((2, 3)), "takes photos, and X is an array of features"),
        ([], "X holds no items"),
        ([3], "it is a int and no photo"),
        ([photos[0].parent], "Is a directory"),
        (["none.png", photos[0], "neither.png"], "Item 0, 'none.png', cannot be encoded .*, and 1 more"),
    ):
        with pytest.raises(InputError, match=said):
            encoder.transform(X)
    with pytest.raises(InputError, match="takes texts, and X is an array of shape"):
        load_encoder("wordllama").transform(np.zeros((2, 3)))
    with pytest.raises(InputError, match="batch_size must be at least 1"):
        Encoder("wordllama", batch_size=0).transform(["a"])
    with pytest.raises(InputError, match="precision must be"):
        Encoder("wordllama", precision="float16").transform(["a"])  # type: ignore[arg-type]


def test_a_cache_that_cannot_be_written_is_a_warning(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.warns(UserWarning, match="Features are not kept, for .* set LIKEWISE_CACHE"):
        assert load_encoder("wordllama", cache=tmp_path / "file" / "cache").transform(["a word"]).shape == (1, 256)
