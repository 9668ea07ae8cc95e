"""`likewise export`, as typed: an ONNX file that does what the run does, or one sentence and no file."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from likewise.datasets import load_folder
from likewise.estimators import PairClassifier

onnxruntime = pytest.importorskip("onnxruntime", reason="needs likewise[onnx]")
pytest.importorskip("onnxscript", reason="needs likewise[onnx]")

Run = Callable[..., Any]


def outcome(path: Path, name: str, items: np.ndarray) -> tuple[np.ndarray, list[str]]:
    session = onnxruntime.InferenceSession(path.read_bytes())
    (probabilities,) = session.run(None, {name: items})
    return probabilities, json.loads(session.get_modelmeta().custom_metadata_map["likewise.classes"])


def test_named_classes_without_those_that_have_no_output(blobs: Path, run: Run, write_rows: Run) -> None:
    truth = np.load(blobs / "truth.npy")
    labels = [(f"b{row:02}", "abc"[truth[row]]) for row in range(12)]
    last = int(np.flatnonzero(truth == 0)[-1])
    write_rows(blobs / "few.csv", ("id", "label"), *labels, (f"b{last:02}", "0 has no output"))
    assert run("name", blobs / "run", "--labels", blobs / "few.csv").exit_code == 0
    model = PairClassifier.load(blobs / "run")
    assert model.naming_.columns[0] == -1
    result = run("export", blobs / "run", "--onnx", blobs / "model.onnx")
    assert result.exit_code == 0, result.output
    X = np.load(blobs / "blobs.npy").astype(np.float32)
    probabilities, names = outcome(blobs / "model.onnx", "features", X)
    assert names == ["a", "b", "c"]
    np.testing.assert_allclose(probabilities, model.predict_proba(X)[:, 1:], atol=1e-5)
    assert [names[k] for k in probabilities.argmax(1)] == model.predict(X).tolist()


def test_images_and_the_example_that_is_printed(photos: Path, run: Run) -> None:
    result = run("export", photos / "run", "--onnx", photos / "model.onnx")
    assert result.exit_code == 0, result.output
    said = re.match(r"Wrote (.*); its probabilities and torch's differ by at most (\S+)\. To use it:", result.stdout)
    assert said is not None
    assert said[1] == str(photos / "model.onnx")
    assert float(said[2]) <= 1e-4
    assert "uint8 (batch, 1, 8, 8) -> float32 (batch, 3)" in result.stdout
    model = PairClassifier.load(photos / "run")
    images = load_folder(photos / "photos" / "more", size=8, channels=1).inputs.numpy()
    example = "\n".join(line.removeprefix("  ") for line in result.stdout.splitlines()[2:])
    scope: dict[str, Any] = {"images": images}
    exec(example, scope)
    assert scope["classes"] == [str(name) for name in model.predict(images)]


def test_what_cannot_be_exported(blobs: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    (blobs / "folder.onnx").mkdir()
    for folder, out, message in (
        ("run", "model.pt", "must end in .onnx; give --onnx such a name."),
        ("run", "folder.onnx", "is a folder; give --onnx the name of a file."),
        ("run", "few.csv/model.onnx", "few.csv is a file; give --onnx another place."),
        ("none", "model.onnx", "holds no classifier"),
    ):
        result = run("export", blobs / folder, "--onnx", blobs / out)
        assert (result.exit_code, result.stdout) == (2, "")
        assert message in result.stderr

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("os.fsync", full)
        result = run("export", blobs / "run", "--onnx", blobs / "model.onnx")
    again = "set that right and run the same command again, or give --onnx another place"
    said = f"likewise: {blobs / 'model.onnx'} cannot be written (No space left on device); {again}.\n"
    assert (result.exit_code, result.stderr) == (2, said)
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    result = run("export", blobs / "run", "--onnx", blobs / "model.onnx")
    assert (result.exit_code, result.stderr) == (
        2,
        "likewise: An ONNX file needs the package onnxruntime; install likewise[onnx].\n",
    )
    assert not list(blobs.glob("*model*"))
