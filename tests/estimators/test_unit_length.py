"""`unit_length`: classes that differ by direction alone, and every way by which an item reaches the network."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from likewise import CategoryDiscoverer, InputError, PairClassifier, Pairs, SemiSupervisedClassifier, SimilarityNetwork
from likewise.datasets import ArrayOnDisk

RANDOM = np.random.default_rng(0)
Y = np.arange(160) % 4
DIRECTIONS = np.eye(4)[Y] + 0.1 * RANDOM.standard_normal((160, 4))
X = (DIRECTIONS * 10 ** RANDOM.uniform(-3, 3, (160, 1))).astype(np.float32)  # lengths say nothing
PAIRS = Pairs.from_labels(Y, n=300)
ROWS = (X / np.linalg.norm(X, axis=1, keepdims=True)).astype(np.float32)


def quick(**settings: Any) -> PairClassifier:
    return PairClassifier(4, **{"network": "linear", "epochs": 10, "unlabelled": False, "unit_length": True} | settings)


@pytest.fixture(scope="module")
def fitted() -> PairClassifier:
    return quick().fit(X, pairs=PAIRS)


def test_the_length_of_an_item_does_not_matter(fitted: PairClassifier) -> None:
    assert fitted.score(X, Y) > 0.95
    np.testing.assert_allclose(fitted.predict_proba(X), fitted.predict_proba(1000 * X), atol=1e-5)
    np.testing.assert_allclose(fitted.transform(X[:9]), fitted.transform(ROWS[:9]), atol=1e-5)
    assert quick(unit_length=False).fit(X, pairs=PAIRS).score(X, Y) < 0.9


def test_standardised_after_unit_length(fitted: PairClassifier) -> None:
    form = fitted.input_form_
    assert form.unit_length
    np.testing.assert_allclose(form.mean, ROWS.mean(0), atol=1e-5)
    np.testing.assert_allclose(form.std, ROWS.std(0), atol=1e-5)
    np.testing.assert_allclose(fitted.transform(X), (ROWS - ROWS.mean(0)) / ROWS.std(0), atol=1e-4)


def test_it_is_as_if_the_vectors_had_been_given_at_unit_length(fitted: PairClassifier) -> None:
    twin = quick(unit_length=False).fit(ROWS, pairs=PAIRS)
    np.testing.assert_allclose(twin.predict_proba(ROWS), fitted.predict_proba(X), atol=1e-3)


def test_zeros_get_a_prediction(fitted: PairClassifier) -> None:
    assert np.isfinite(fitted.predict_proba(np.zeros((2, 4)))).all()


def test_what_was_fitted_counts_and_not_a_parameter_that_was_set_later(fitted: PairClassifier) -> None:
    before = fitted.predict_proba(X)
    try:
        fitted.set_params(unit_length=False)
        np.testing.assert_array_equal(fitted.predict_proba(X), before)
    finally:
        fitted.set_params(unit_length=True)


def test_saved_and_loaded(fitted: PairClassifier, tmp_path: Path) -> None:
    fitted.save(tmp_path)
    loaded = PairClassifier.load(tmp_path)
    assert (loaded.unit_length, loaded.input_form_, loaded.network) == (True, fitted.input_form_, "linear")
    np.testing.assert_array_equal(loaded.predict_proba(X), fitted.predict_proba(X))


def test_a_file_that_does_not_speak_of_unit_length_has_none(tmp_path: Path, fitted: PairClassifier) -> None:
    fitted.save(tmp_path)
    path = tmp_path / "classifier.json"
    record = json.loads(path.read_text())
    del record["input"]["unit_length"]
    path.write_text(json.dumps(record))
    assert not PairClassifier.load(tmp_path).input_form_.unit_length
    record["input"]["unit_length"] = "yes"
    path.write_text(json.dumps(record))
    with pytest.raises(InputError, match="unit_length of input must be true or false, and false for images; save"):
        PairClassifier.load(tmp_path)


def test_items_on_disk_give_the_same(fitted: PairClassifier, tmp_path: Path) -> None:
    np.save(tmp_path / "X.npy", X)
    on_disk = quick().fit(ArrayOnDisk(tmp_path / "X.npy"), pairs=PAIRS)
    np.testing.assert_array_equal(on_disk.predict_proba(X), fitted.predict_proba(X))
    np.testing.assert_array_equal(fitted.predict(ArrayOnDisk(tmp_path / "X.npy")), fitted.predict(X))


def test_an_increment_is_brought_to_unit_length_too() -> None:
    model = quick().partial_fit(X[:80], pairs=Pairs.from_labels(Y[:80], n=200))
    model.partial_fit(X[80:], pairs=Pairs.from_labels(Y[80:], n=200))
    assert model.score(X, Y) > 0.95


def test_a_few_labels() -> None:
    model = SemiSupervisedClassifier("supervised", network="linear", epochs=10, learning_rate=0.1, unit_length=True)
    assert model.fit(X, np.where(np.arange(160) < 16, Y, -1)).score(X, Y) > 0.95


@pytest.mark.parametrize("network", ["linear", "mlp"])
def test_similarity_and_discovery(network: str, tmp_path: Path) -> None:
    similarity = SimilarityNetwork(network, epochs=3, unit_length=True, refit=False).fit(X, Y)
    np.testing.assert_allclose(similarity.similarity(X[:50]), similarity.similarity(100 * X[:50]), atol=1e-4)
    found = CategoryDiscoverer(4, similarity=similarity, epochs=1).fit(X)
    assert found.classifier_.unit_length
    np.testing.assert_allclose(found.predict_proba(X), found.predict_proba(100 * X), atol=1e-4)
    found.save(tmp_path)
    loaded = CategoryDiscoverer.load(tmp_path)
    np.testing.assert_array_equal(loaded.predict_proba(X), found.predict_proba(X))
    assert loaded.similarity_ is not None
    np.testing.assert_array_equal(loaded.similarity_.similarity(X[:9]), similarity.similarity(X[:9]))


@pytest.mark.parametrize("estimator", [quick(), SemiSupervisedClassifier(unit_length=True)])
def test_images_refuse_it(estimator: Any) -> None:
    images = torch.zeros(8, 1, 8, 8, dtype=torch.uint8)
    with pytest.raises(
        InputError, match="unit_length is for feature vectors, and these items are images; leave it out"
    ):
        estimator.fit(images, np.arange(8) % 2)
    with pytest.raises(InputError, match="unit_length is for feature vectors"):
        SimilarityNetwork(unit_length=True).fit(images, np.arange(8) % 2)
