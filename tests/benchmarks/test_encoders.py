"""The figures of encoders, on photographs that the tests make."""

from __future__ import annotations

import io
import os
import zipfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageDraw

from likewise.benchmarks import encoders, photographs
from likewise.cli.bench import ENCODER_CASES
from likewise.encoders import load_encoder
from likewise.errors import InputError
from likewise.training import fine_tuning


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    """Two classes of five photographs: stripes and noise."""
    random = np.random.default_rng(0)
    with zipfile.ZipFile(tmp_path / "photos.zip", "w") as packed:
        for number in range(10):
            pixels = random.integers(0, 255, (70, 90, 3))
            if number % 2:
                pixels = np.broadcast_to((np.arange(90) // (4 + number) % 2 * 200)[None, :, None], (70, 90, 3))
            file = io.BytesIO()
            Image.fromarray(pixels.astype(np.uint8)).save(file, "JPEG")
            packed.writestr(f"{('noise', 'stripes')[number % 2]}/{number}.jpg", file.getvalue())
    paths = sorted(f"{('noise', 'stripes')[number % 2]}/{number}.jpg" for number in range(10))
    with zipfile.ZipFile(tmp_path / "photos.zip") as packed:
        features = load_encoder("efficientnet-lite0", unit_length=False).transform(
            [packed.read(path) for path in paths]
        )
    np.savez(tmp_path / "photos-lite0.npz", X=features.astype(np.float16), files=np.array(paths))
    return tmp_path


def test_drawings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Strokes in three directions, by five drawers each."""
    monkeypatch.setattr(encoders, "DRAWERS", 3)
    for character, (across, down) in enumerate(((60, 0), (0, 60), (45, 45))):
        place = tmp_path / "omniglot" / "images_evaluation" / "Strokes" / f"character{character + 1:02d}"
        place.mkdir(parents=True)
        for drawer in range(5):
            picture = Image.new("1", (105, 105), 1)
            start = 15 + 3 * drawer
            ImageDraw.Draw(picture).line([(start, start), (start + across, start + down)], 0, 3)
            picture.save(place / f"{character:04d}_{drawer + 1:02d}.png")
    record, lines = encoders.run(["drawings"], tmp_path)
    figures = record["sets"]["drawings"]["accuracy"]
    assert record["sets"]["drawings"]["items"] == 15
    assert figures["k-means, drawings"] == 100
    assert len(lines) == 1 + 6


def test_photographs_and_speed(archive: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(photographs, "UNSEEN", 1)
    monkeypatch.setattr(photographs, "ANSWERS", 20)
    monkeypatch.setattr(encoders, "DRAWS", 2)
    monkeypatch.setattr(fine_tuning, "LEAST", 1)
    before = os.environ["LIKEWISE_CACHE"]
    record, lines = encoders.run(["photos", "tuning", "speed"], archive)
    sets: dict = record["sets"]  # type: ignore[assignment, type-arg]
    assert sets["photos"]["accuracy"] == {
        "20 random answers, mean of 2 draws": 100.0,
        "20 random answers, worst draw": 100.0,
        "20 random answers, features ours in 16 bits": 100.0,
        "20 random answers, features computed elsewhere": 100.0,
        "k-means": 100.0,
        "logistic regression, all labels": 100.0,
    }
    assert set(sets["tuning"]["accuracy"]) == {"as it is", "fine-tuned", "four views"}
    assert sets["tuning"]["accuracy"]["as it is"] == 100.0
    assert os.environ["LIKEWISE_CACHE"] == before
    assert sets["photos"]["least_cosine"] > 0.999
    assert sets["speed"]["items"] == 10
    assert set(sets["speed"]["ratios"]) >= {"(encoder - decoding)/forward", "decoding/Pillow's loop"}
    assert any("20 random answers, worst" in line and "100.00 %" in line for line in lines)


def test_answers_of_which_half_are_same() -> None:
    y = np.repeat(np.arange(20), 10)
    pairs = encoders.half_same(y, 100, 0)
    assert (len(pairs), int(pairs.same.sum())) == (100, 50)
    np.testing.assert_array_equal(pairs.same == 1, y[pairs.left] == y[pairs.right])
    few = encoders.few_labels(y, 3, 0)
    assert np.bincount(few[few >= 0]).tolist() == [3] * 20
    np.testing.assert_array_equal(few[few >= 0], y[few >= 0])


def test_sets_that_are_not_there_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"None of photos\.zip"):
        encoders.run(None, tmp_path)
    for case in ("photos", "banking77"):
        with pytest.raises(InputError, match="is not in the data folder; give --data"):
            encoders.run([case], tmp_path)
    assert encoders.SETS == ENCODER_CASES
