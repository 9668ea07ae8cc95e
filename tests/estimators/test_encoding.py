"""Estimators that take photos and texts through an encoder, and remember it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from PIL import Image
from torch import nn

from likewise import CategoryDiscoverer, PairClassifier, Pairs, SemiSupervisedClassifier, SimilarityNetwork
from likewise.encoders import Encoder, load_encoder
from likewise.errors import InputError
from likewise.estimators.encoding import encode_to_fit

TEXTS = ["I lost my card", "where is my card", "my card is gone", "it will rain", "a sunny day", "snow and rain"]
LABELS = np.array([0, 0, 0, 1, 1, 1])
PAIRS = Pairs.from_labels(LABELS, n=12)


class Colours(nn.Module):
    """The mean colour of a photo."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.tensor(1.0))

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return images * self.scale


def lengths(items: list[str]) -> np.ndarray:
    return np.array([[len(item), item.count("card")] for item in items])


def quick(**further: object) -> PairClassifier:
    return PairClassifier(2, epochs=3, held_out=0, unlabelled=False, **further)  # type: ignore[arg-type]


@pytest.fixture
def photos(tmp_path: Path) -> list[Path]:
    for number in range(6):
        colour = (200, 20 + number, 0) if LABELS[number] else (0, 20, 200 - number)
        Image.new("RGB", (100, 80), colour).save(tmp_path / f"{number}.png")
    return sorted(tmp_path.glob("*.png"))


def test_texts_are_learned_and_saved_with_their_encoder(tmp_path: Path) -> None:
    model = quick(encoder="wordllama").fit(TEXTS, pairs=PAIRS)
    assert model.score(TEXTS, LABELS) == 1
    assert model.score(TEXTS, pairs=PAIRS) == 1
    model.save(tmp_path)
    again = PairClassifier.load(tmp_path)
    assert again.encoder_ == model.encoder_ == load_encoder("wordllama").facts
    np.testing.assert_array_equal(again.predict_proba(TEXTS), model.predict_proba(TEXTS))
    features = load_encoder("wordllama").transform(TEXTS)
    np.testing.assert_array_equal(again.predict_proba(features), model.predict_proba(TEXTS))
    with pytest.raises(InputError, match="X has 3 features, and the encoder wordllama gives 256"):
        again.predict(np.zeros((2, 3)))


def test_answers_about_texts_may_be_by_id_or_row(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("left,right,same\n0,1,1\n0,3,0\n3,4,1\n1,5,0\n4,5,1\n")
    model = quick(encoder="wordllama").fit(TEXTS, pairs=Pairs.read_csv(tmp_path / "rows.csv"))
    assert model.n_features_in_ == 256
    (tmp_path / "ids.csv").write_text("left,right,same\na,b,1\na,d,0\nd,e,1\nb,f,0\ne,f,1\n")
    frame = pd.DataFrame({"text": TEXTS}, index=list("abcdef"))
    by_id = quick(encoder="wordllama").fit(frame, pairs=Pairs.read_csv(tmp_path / "ids.csv"))
    np.testing.assert_array_equal(by_id.predict(TEXTS), model.predict(TEXTS))


def test_photos_get_the_encoder_by_themselves(photos: list[Path]) -> None:
    model = quick().fit(photos, pairs=PAIRS)
    assert model.encoder_ is not None
    assert model.encoder_["name"] == "efficientnet-lite0"
    arrays = np.stack([np.asarray(Image.open(path)) for path in photos])  # (6, 80, 100, 3)
    np.testing.assert_allclose(model.predict_proba(arrays), model.predict_proba(photos), atol=1e-5)
    for further in ({"encoder": "none"}, {"encoder": None}, {"network": "lenet"}, {"image_size": 8}):
        assert encode_to_fit(quick(**further), photos) is photos
    small = arrays[:, :64]
    assert encode_to_fit(quick(), small) is small


def test_without_the_encoder_photos_are_learned_as_small_images(
    photos: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("likewise.estimators.encoding.photo_encoder_is_installed", lambda: False)
    with pytest.warns(UserWarning, match=r"pip install 'likewise\[photos\]'"):
        assert quick().fit(photos, pairs=PAIRS).input_form_.images


def test_an_encoder_of_ones_own_is_given_again(photos: list[Path], tmp_path: Path) -> None:
    eyes = Colours()
    model = quick(encoder=eyes).fit(photos, pairs=PAIRS)
    model.save(tmp_path / "model")
    again = PairClassifier.load(tmp_path / "model")
    with pytest.raises(InputError, match=r"an encoder of your own, Colours; give it: set_params\(encoder=\.\.\.\)"):
        again.predict(photos)
    again.set_params(encoder=eyes)
    np.testing.assert_array_equal(again.predict_proba(photos), model.predict_proba(photos))
    other = Colours()
    nn.init.constant_(other.scale, 2.0)
    with pytest.raises(InputError, match="and Colours has weights of sha256"):
        again.set_params(encoder=other).predict(photos)
    function = quick(encoder=lengths).fit(TEXTS, pairs=PAIRS)
    assert function.predict_proba(TEXTS).shape == (6, len(function.classes_))


def test_the_others_take_encoders_too() -> None:
    semi = SemiSupervisedClassifier(epochs=3, encoder="wordllama").fit(TEXTS, [0, -1, -1, 1, -1, -1])
    assert semi.encoder_ is not None
    assert semi.predict(TEXTS).shape == (6,)
    known = ([f"{text} {word}" for text in TEXTS for word in ("please", "now", "today")], np.repeat(LABELS, 3))
    similarity = SimilarityNetwork(encoder="wordllama", epochs=2, refit=False)
    found = CategoryDiscoverer(2, similarity=similarity, epochs=1).fit(TEXTS, known=known)
    assert found.classifier_.encoder_ is not None
    assert found.predict(TEXTS).shape == (6,)


def test_a_damaged_description_of_an_encoder_is_refused(tmp_path: Path) -> None:
    model = quick(encoder="wordllama").fit(TEXTS, pairs=PAIRS)
    model.save(tmp_path)
    path = tmp_path / "classifier.json"
    path.write_text(path.read_text().replace('"width": 256', '"width": "wide"'))
    with pytest.raises(InputError, match="width"):
        PairClassifier.load(tmp_path)


def test_the_second_stage_sees_views_of_photos(photos: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    encoded: list[int] = []
    original = Encoder.encode_views

    def encode_views(self: Encoder, X: list[Path], n: int) -> np.ndarray:
        encoded.append(n)
        return original(self, X, n)

    monkeypatch.setattr(Encoder, "encode_views", encode_views)
    few = [0, -1, -1, 1, -1, -1]
    plain, viewed = (
        SemiSupervisedClassifier(epochs=2, encoder=Colours(), augment=None, views=views).fit(photos, few)
        for views in (0, 2)
    )
    assert encoded == [2]
    # of one colour each, all views of a photo are the same
    np.testing.assert_allclose(plain.predict_proba(photos), viewed.predict_proba(photos), atol=1e-4)
    model = PairClassifier(2, epochs=2, encoder=Colours(), views=3, held_out=0.2).fit(photos, pairs=PAIRS)
    assert model.score(photos, LABELS) == 1
    assert encoded == [2, 3]


def test_views_that_cannot_be_had_are_refused(photos: list[Path]) -> None:
    for model, items, said in (
        (quick(encoder="wordllama", views=2), TEXTS, "wordllama has no augmented views"),
        (quick(encoder="none", views=2), np.eye(6), "views are of photos that are encoded"),
        (quick(encoder=Colours(), views=2), np.zeros((6, 3)), "X holds their features; give the photos"),
        (quick(encoder=Colours(), views=10), photos, "views must be from 1 to 9, got 10"),
    ):
        with pytest.raises(InputError, match=said):
            model.fit(items, pairs=PAIRS)
