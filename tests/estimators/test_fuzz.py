"""Saved models with anything done to them: loaded and able to predict, or refused in one sentence."""

from __future__ import annotations

import hashlib
import json
import shutil
import struct
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from likewise.estimators import PairClassifier, SimilarityNetwork, load_classifier

fuzz = settings(settings.get_profile("fuzz"))

Damaged = Callable[[bytes], SearchStrategy[bytes]]
Refusing = Callable[[], AbstractContextManager[None]]

JSON: SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.sampled_from(
        [0, 1, -1, 2**20, 2**20 + 1, 10**9, 10**12, 1e308, float("nan"), float("inf"), "", "mlp", "resnet18"]
    )
    | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=5,
)
NESTED = b'{"format": ' + b"[" * 100_000
X = np.random.default_rng(0).normal(size=(20, 3)).astype(np.float32)
X[10:] += 5


@pytest.fixture(scope="module")
def classifier(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sound one, in a folder `sound` beside which others are made."""
    folder = tmp_path_factory.mktemp("classifier") / "sound"
    PairClassifier(n_classes=2, epochs=1, unlabelled=False, held_out=0, verbose=False).fit(X, np.arange(20) // 10).save(
        folder
    )
    return folder


@pytest.fixture(scope="module")
def similarity(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("similarity") / "sound"
    SimilarityNetwork(epochs=1, verbose=False).fit(X, np.arange(20) // 5).save(folder)
    return folder


@st.composite
def edited(draw: st.DrawFn, record: Any) -> Any:
    """The record with something else somewhere in it."""
    if isinstance(record, dict) and record and draw(st.integers(0, 4)):
        name = draw(st.sampled_from(sorted(record)))
        if not draw(st.integers(0, 9)):
            return {key: value for key, value in record.items() if key != name}
        return record | {name: draw(edited(record[name]))}
    if isinstance(record, list) and record and draw(st.integers(0, 2)):
        place = draw(st.integers(0, len(record) - 1))
        return [*record[:place], draw(edited(record[place])), *record[place + draw(st.integers(0, 1)) :]]
    return draw(JSON)


@st.composite
def spoiled(draw: st.DrawFn, damaged: Damaged, sound: Path, names: tuple[str, str]) -> Path:
    """A copy of the model with other weights, or another record; the weights' checksum is right in it."""
    folder = sound.with_name("spoiled")
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(sound, folder)
    record = json.loads((sound / names[0]).read_text(encoding="utf-8"))
    match draw(st.sampled_from(["record", "bytes", "weights", "header", "nested"])):
        case "record":
            (folder / names[0]).write_text(json.dumps(draw(edited(record))), encoding="utf-8")
        case "bytes":
            (folder / names[0]).write_bytes(draw(damaged((sound / names[0]).read_bytes())))
        case "nested":
            (folder / names[0]).write_bytes(NESTED)
        case how:
            content = (sound / names[1]).read_bytes()
            if how == "weights":
                content = draw(damaged(content))
            else:
                (length,) = struct.unpack("<Q", content[:8])
                header = json.dumps(draw(edited(json.loads(content[8 : 8 + length])))).encode()
                content = struct.pack("<Q", len(header)) + header + content[8 + length :]
            (folder / names[1]).write_bytes(content)
            record["sha256"] = hashlib.sha256(content).hexdigest()
            (folder / names[0]).write_text(json.dumps(record), encoding="utf-8")
    return folder


@fuzz
@given(data=st.data())
def test_classifier(data: st.DataObject, classifier: Path, damaged: Damaged, sound_or_refused: Refusing) -> None:
    folder = data.draw(spoiled(damaged, classifier, ("classifier.json", "model.safetensors")))
    with sound_or_refused():
        model = load_classifier(folder)
        width = model.input_form_.shape[0]
        assert model.predict(np.zeros((2, width), np.float32)).shape == (2,)


@fuzz
@given(data=st.data())
def test_similarity(data: st.DataObject, similarity: Path, damaged: Damaged, sound_or_refused: Refusing) -> None:
    folder = data.draw(spoiled(damaged, similarity, ("similarity.json", "similarity.safetensors")))
    with sound_or_refused():
        model = SimilarityNetwork.load(folder)
        width = model.input_form_.shape[0]
        assert model.predict_same(np.zeros((2, width), np.float32), [[0, 1]]).shape == (1,)
