"""Photos and texts through every command: the encoder is chosen, remembered, and found again."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pandas as pd
import pytest
from PIL import Image

from likewise.cli.items import encoder_to_learn
from likewise.encoders import load_encoder
from likewise.estimators import PairClassifier, encoding, load_classifier
from likewise.pairs import Pairs

Run = Callable[..., Any]

KINDS = ("card", "weather")
TEXTS = {
    "card": ["I lost my card", "where is my card", "my card was stolen", "the card does not work", "block my card"],
    "weather": ["it will rain today", "a sunny warm day", "snow and cold wind", "is it raining now", "storm and rain"],
}
QUICK = ("--classes", 2, "--epochs", 3)


def write_answers(path: Path, names: list[str], labels: np.ndarray) -> Path:
    pairs = Pairs.from_labels(labels, n=30)
    rows = zip(pairs.left, pairs.right, pairs.same, strict=True)
    lines = [f"{names[left]},{names[right]},{int(same)}" for left, right, same in rows]
    path.write_text("\n".join(["left,right,same", *lines]))
    return path


def write_photos(folder: Path) -> list[str]:
    """Ten photos of 90 x 70 pixels: five of stripes, five of noise; and one that is broken."""
    random = np.random.default_rng(0)
    folder.mkdir()
    names = [f"p{number}.png" for number in range(10)]
    for number, name in enumerate(names):
        pixels = random.integers(0, 255, (70, 90, 3))
        if number % 2:
            pixels = np.broadcast_to((np.arange(90) // (4 + number) % 2 * 200)[None, :, None], (70, 90, 3))
        Image.fromarray(pixels.astype(np.uint8)).save(folder / name)
    (folder / "broken.png").write_bytes(b"no photo")
    return names


@pytest.fixture(scope="module")
def _photos(tmp_path_factory: pytest.TempPathFactory, run: Run) -> Path:
    folder = tmp_path_factory.mktemp("encoded")
    names = write_photos(folder / "photos")
    write_answers(folder / "answers.csv", names, np.arange(10) % 2)
    (folder / "few.csv").write_text("id,label\np0.png,noise\np1.png,stripes\n")
    result = run("fit", folder / "photos", "--pairs", folder / "answers.csv", *QUICK, "--out", folder / "run")
    assert result.exit_code == 0, result.output
    assert "10 photos, each as 1,280 features of efficientnet-lite0" in result.stdout
    return folder


@pytest.fixture
def photos(_photos: Path, tmp_path: Path) -> Path:
    return shutil.copytree(_photos, tmp_path / "photos")


@pytest.fixture
def tickets(tmp_path: Path) -> Path:
    texts = [(kind, text) for kind in KINDS for text in TEXTS[kind]]
    rows = [f"t{row},{text},{row}" for row, (_, text) in enumerate(texts)]
    (tmp_path / "tickets.csv").write_text("\n".join(["id,subject,number", *rows]))
    names = [f"t{row}" for row in range(10)]
    write_answers(tmp_path / "answers.csv", names, np.arange(10) // 5)
    truth = [f"{name},{kind}" for name, (kind, _) in zip(names, texts, strict=True)]
    (tmp_path / "truth.csv").write_text("\n".join(["id,label", *truth]))
    return tmp_path


def test_photos_are_predicted_named_and_shown(photos: Path, run: Run) -> None:
    result = run("name", photos / "run", "--labels", photos / "few.csv", "--items", photos / "photos")
    assert result.exit_code == 0, result.output
    result = run("predict", photos / "run", photos / "photos", "--out", photos / "p.csv")
    assert result.exit_code == 0, result.output
    said = dict(line.split(",")[:2] for line in (photos / "p.csv").read_text().splitlines()[1:])
    assert [said[f"p{number}.png"] for number in range(10)] == ["noise", "stripes"] * 5
    result = run("report", photos / "run", "--items", photos / "photos")
    assert result.exit_code == 0, result.output
    assert "data:image/" in (photos / "run" / "report.html").read_text()
    model = load_classifier(photos / "run")
    assert isinstance(model, PairClassifier)
    assert model.predict([photos / "photos" / "p3.png"]).tolist() == ["stripes"]


def test_another_encoder_is_refused(photos: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, said in (
        ("efficientnet-lite0@96", "and efficientnet-lite0@96 prepares its items otherwise; use that one, version"),
        ("wordllama", "and wordllama takes texts"),
        ("none", "The model was fitted with the encoder efficientnet-lite0; leave --encoder out."),
    ):
        result = run("predict", photos / "run", photos / "photos", "--out", photos / "p.csv", "--encoder", name)
        assert (result.exit_code, len(result.stderr.splitlines())) == (2, 1)
        assert said in result.stderr
    assert not (photos / "p.csv").exists()
    record = json.loads((photos / "run" / "classifier.json").read_text())
    record["encoder"]["sha256"] = "0" * 64
    (photos / "run" / "classifier.json").write_text(json.dumps(record))
    result = run("predict", photos / "run", photos / "photos", "--out", photos / "p.csv")
    assert "(sha256 000000000000), and efficientnet-lite0 has weights of sha256 353714d1bc9b" in result.stderr


def test_one_file_from_pixels_to_probabilities(photos: Path, run: Run) -> None:
    result = run("export", photos / "run", "--onnx", photos / "model.onnx")
    assert result.exit_code == 0, result.output
    paths = sorted((photos / "photos").glob("p*.png"))
    prepare = load_encoder("efficientnet-lite0").pretrained.prepare
    pixels = np.stack([prepare(path.read_bytes()) for path in paths])
    session = onnxruntime.InferenceSession(photos / "model.onnx")
    (found,) = session.run(None, {"images": pixels})
    np.testing.assert_allclose(found, load_classifier(photos / "run").predict_proba(paths), atol=1e-4)


def test_a_fine_tuned_encoder_is_used_everywhere(photos: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoding, "is_supported", lambda *_: True)
    options = ("--encoder", "efficientnet-lite0@64", "--fine-tune", "--views", 1, "--held-out", 0.3)
    out = photos / "tuned"
    result = run("fit", photos / "photos", "--pairs", photos / "answers.csv", *QUICK, *options, "--out", out)
    assert result.exit_code == 0, result.output
    assert "The encoder's last blocks were trained too." in result.stdout
    assert json.loads((out / "metrics.json").read_text())["fine_tuned"] is True
    result = run("predict", out, photos / "photos", "--out", photos / "p.parquet", "--probabilities")
    assert result.exit_code == 0, result.output
    paths = sorted((photos / "photos").glob("p*.png"))
    model = load_classifier(out)
    probabilities = model.predict_proba(paths)
    table = pd.read_parquet(photos / "p.parquet")
    written = table[[f"probability_{name}" for name in model.classes_]].to_numpy()
    np.testing.assert_allclose(np.log(written + 1e-30), np.log(probabilities + 1e-30), atol=1e-2)
    model.encoder_weights_ = None
    before = model.predict_proba(paths)  # of the encoder as it was
    assert np.abs(np.log(before + 1e-30) - np.log(probabilities + 1e-30)).max() > 1


def test_small_images_and_named_networks_stay_as_they_are(photos: Path) -> None:
    asked: dict[str, Any] = {"size": 32, "grey": False, "network": None}
    assert encoder_to_learn("auto", photos / "photos", (), **asked) == "efficientnet-lite0"
    for further in ({"size": 8}, {"network": "lenet"}, {"grey": True}):
        assert encoder_to_learn("auto", photos / "photos", (), **asked | further) is None
    assert encoder_to_learn("none", photos / "photos", (), **asked) is None
    assert encoder_to_learn("efficientnet-lite0@96", photos / "photos", (), **asked | {"size": 8}) is not None


def test_without_the_encoder_a_sentence_says_so(photos: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("likewise.encoders.names.photo_encoder_is_installed", lambda: False)
    arguments = ("--pairs", photos / "answers.csv", *QUICK, "--no-unlabelled", "--out", photos / "small")
    result = run("fit", photos / "photos", *arguments)
    assert result.exit_code == 0, result.output
    assert "pip install 'likewise[photos]'" in result.stderr.splitlines()[0]


def test_texts_of_a_table(tickets: Path, run: Run) -> None:
    items, out = tickets / "tickets.csv", tickets / "run"
    result = run("fit", items, "--text", "subject", "--pairs", tickets / "answers.csv", *QUICK, "--out", out)
    assert result.exit_code == 0, result.output
    assert "10 texts, each as 384 features of minilm" in result.stdout
    result = run("evaluate", out, "--labels", tickets / "truth.csv")
    assert "ACC 100.00 %" in result.stdout, result.output
    assert run("report", out).exit_code == 0
    assert "the card does not work" in (out / "report.html").read_text()
    assert run("export", out, "--onnx", tickets / "m.onnx").exit_code == 0
    encoder = load_encoder("minilm").pretrained
    ids = np.array([encoder.prepare("where is my card")])
    (found,) = onnxruntime.InferenceSession(tickets / "m.onnx").run(None, {"ids": ids, "mask": np.ones_like(ids)})
    np.testing.assert_allclose(found, load_classifier(out).predict_proba(["where is my card"]), atol=1e-4)


def test_semi_and_cluster_take_texts(tickets: Path, run: Run) -> None:
    items = tickets / "tickets.csv"
    (tickets / "few.csv").write_text("id,label\nt0,card\nt1,card\nt5,weather\nt6,weather\n")
    options = ("--text", "subject", "--encoder", "wordllama")
    result = run("semi", items, *options, "--labels", tickets / "few.csv", "--epochs", 3, "--out", tickets / "run")
    assert result.exit_code == 0, result.output
    out = tickets / "clusters.csv"
    result = run("cluster", items, *options, "--method", "k-means", "--classes", 2, "--out", out)
    assert result.exit_code == 0, result.output
    assert len(out.read_text().splitlines()) == 11


def test_a_pile_of_texts_is_discovered(tickets: Path, run: Run) -> None:
    for kind in KINDS:
        for number, text in enumerate(TEXTS[kind]):
            for folder in (f"known/{kind}", "pile"):
                (tickets / folder).mkdir(parents=True, exist_ok=True)
                (tickets / folder / f"{kind}{number}.txt").write_text(text)
    arguments = ("--classes", 2, "--similarity-epochs", 2, "--epochs", 1, "--encoder", "wordllama")
    known, pile = tickets / "known", tickets / "pile"
    result = run("discover", "--known", known, "--unknown", pile, *arguments, "--out", tickets / "found")
    assert result.exit_code == 0, result.output
    assert load_classifier(tickets / "found").encoder_["name"] == "wordllama"  # type: ignore[index]
    result = run("predict", tickets / "found", pile, "--out", tickets / "p.csv")
    assert result.exit_code == 0, result.output


def test_text_that_nobody_named_is_refused(tickets: Path, run: Run) -> None:
    arguments = ("--pairs", tickets / "answers.csv", "--out", tickets / "run")
    for options, said in (
        ((), "tickets.csv holds text in 'subject'; learn from it with --text subject, or leave it out."),
        (("--text", "number"), "the column 'number' holds no text"),
        (("--text", "body"), "has no column 'body'"),
        (("--text", "subject", "--encoder", "none"), "--text needs an encoder, and --encoder is none"),
        (("--text", "subject", "--encoder", "efficientnet-lite0"), "and efficientnet-lite0 takes photos"),
    ):
        result = run("fit", tickets / "tickets.csv", *options, *arguments)
        assert (result.exit_code, len(result.stderr.splitlines())) == (2, 1), result.output
        assert said in result.stderr
    assert not (tickets / "run").exists()
