"""SimilarityNetwork: what it learns, its saved form, similarities of one's own, and what it refuses."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks

from likewise import CategoryDiscoverer, SimilarityNetwork
from likewise.errors import InputError
from likewise.estimators.inputs import pairwise_matrix
from likewise.networks import build

X, Y = make_blobs(480, n_features=6, centers=16, cluster_std=0.6, random_state=0)
KNOWN, NEW = Y < 12, Y >= 12
SAME = Y[NEW][:, None] == Y[NEW]


@pytest.fixture(scope="module")
def network() -> SimilarityNetwork:
    return SimilarityNetwork(epochs=10).fit(X[KNOWN], Y[KNOWN])


def test_it_tells_classes_apart_that_it_never_saw(network: SimilarityNetwork) -> None:
    assert network.classes_.tolist() == list(range(12))
    similarity = network.similarity(X[NEW])
    assert similarity.shape == (120, 120)
    assert ((similarity > 0.5) == SAME).mean() > 0.9
    np.testing.assert_array_equal(network.predict(X[NEW]), similarity > 0.5)


def test_pairs_and_blocks_are_those_of_the_whole(network: SimilarityNetwork) -> None:
    whole = network.similarity(X[NEW])
    pairs = np.array([[0, 1], [7, 3], [5, 5], [119, 0]])
    np.testing.assert_allclose(network.predict_same(X[NEW], pairs), whole[pairs[:, 0], pairs[:, 1]], atol=1e-5)
    blocks = list(network.iter_similarity(X[NEW], rows=50))
    assert [len(block) for block in blocks] == [50, 50, 20]
    np.testing.assert_allclose(np.concatenate(blocks), whole, atol=1e-5)


def test_embeddings_have_length_one_and_their_angle_decides(network: SimilarityNetwork) -> None:
    z, similarity = network.transform(X[NEW]), network.similarity(X[NEW])
    np.testing.assert_allclose(np.linalg.norm(z, axis=1), 1, atol=1e-5)
    cosine = (z @ z.T)[np.triu_indices(120, 1)]
    order = np.argsort(cosine)
    assert (np.diff(similarity[np.triu_indices(120, 1)][order]) >= -1e-4).all()


def test_what_was_held_out_measures_it(network: SimilarityNetwork) -> None:
    quality, found = network.quality_, network.calibration_
    assert network.held_out_kind_ == "classes"
    assert (quality.n_same, quality.n_different) == (2 * math.comb(30, 2), 30 * 30)  # 15 % of 12 classes are two
    assert found.count.sum() == quality.n_same + quality.n_different
    assert quality.calibration_error == pytest.approx(found.error, abs=1e-6)
    assert network.rule_ is not None


def test_a_saved_one_says_the_same(network: SimilarityNetwork, tmp_path: Path) -> None:
    network.save(tmp_path)
    files = ["known.safetensors", "similarity.json", "similarity.safetensors"]
    assert sorted(path.name for path in tmp_path.iterdir()) == files
    loaded = SimilarityNetwork.load(tmp_path)
    np.testing.assert_array_equal(loaded.similarity(X[NEW]), network.similarity(X[NEW]))
    assert loaded.quality_ == network.quality_
    assert loaded.rule_ == network.rule_
    for name, value in dataclasses.asdict(network.calibration_).items():
        np.testing.assert_array_equal(getattr(loaded.calibration_, name), value)
    assert loaded.get_params() == network.get_params() | {"network": "mlp"}
    assert (loaded.classes_ == network.classes_).all()
    assert loaded.n_features_in_ == 6


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda folder: (folder / "similarity.json").unlink(),
            "no similarity network: similarity.json is missing",
        ),
        (lambda folder: (folder / "similarity.safetensors").unlink(), "similarity.safetensors is missing"),
        (lambda folder: (folder / "similarity.safetensors").write_bytes(b"other"), "was changed since"),
        (lambda folder: edit(folder, format=99), "is not of the format that Likewise"),
        (lambda folder: edit(folder, rule=...), "is not whole, 'rule' is missing"),
        (lambda folder: edit(folder, network="a network of your own"), "give it: load(folder, network=...)"),
        (
            lambda folder: edit(folder, input={"shape": [7], "mean": [0] * 7, "std": [1] * 7}),
            "does not fit the network",
        ),
    ],
)
def test_a_saved_one_that_is_not_whole(
    network: SimilarityNetwork, tmp_path: Path, change: Callable[[Path], None], message: str
) -> None:
    network.save(tmp_path)
    change(tmp_path)
    with pytest.raises(InputError) as refused:
        SimilarityNetwork.load(tmp_path)
    assert message in str(refused.value)


def edit(folder: Path, **changes: Any) -> None:
    """Change the record; what is changed to an ellipsis goes."""
    record = json.loads((folder / "similarity.json").read_text()) | changes
    (folder / "similarity.json").write_text(json.dumps({k: v for k, v in record.items() if v is not ...}))


def test_a_backbone_of_ones_own(tmp_path: Path) -> None:
    own = build("mlp", 3, (6,))
    before = {name: value.clone() for name, value in own.state_dict().items()}
    fitted = SimilarityNetwork(own, epochs=2, head="pairs").fit(X[KNOWN], Y[KNOWN])
    assert all(torch.equal(value, before[name]) for name, value in own.state_dict().items())  # it was copied
    assert fitted.rule_ is None  # which is for embeddings
    fitted.save(tmp_path)
    loaded = SimilarityNetwork.load(tmp_path, network=build("mlp", 3, (6,), seed=9))
    np.testing.assert_array_equal(loaded.similarity(X[NEW]), fitted.similarity(X[NEW]))


def test_same_seed_same_network_and_a_stopped_run_goes_on(tmp_path: Path) -> None:
    first, second = (SimilarityNetwork(epochs=2, run=run).fit(X[KNOWN], Y[KNOWN]) for run in (None, tmp_path))
    np.testing.assert_array_equal(first.similarity(X[NEW]), second.similarity(X[NEW]))
    again = SimilarityNetwork(epochs=2, run=tmp_path).fit(X[KNOWN], Y[KNOWN])  # finished: nothing is trained
    np.testing.assert_array_equal(again.similarity(X[NEW]), first.similarity(X[NEW]))
    with pytest.raises(InputError, match="known"):
        SimilarityNetwork(epochs=2, run=tmp_path).fit(X[KNOWN] + 1, Y[KNOWN])


def test_whole_groups_are_held_out() -> None:
    fitted = SimilarityNetwork(epochs=2, held_out=0.1).fit(X[KNOWN], Y[KNOWN], groups=Y[KNOWN] // 2)
    assert fitted.held_out_kind_ == "groups"
    assert (fitted.quality_.n_same, fitted.quality_.n_different) == (2 * math.comb(30, 2), 30 * 30)  # a group of two
    assert fitted.rule_ is not None


def test_few_classes_hold_items_out_instead() -> None:
    few = Y < 3
    fitted = SimilarityNetwork(epochs=2).fit(X[few], Y[few])
    assert fitted.held_out_kind_ == "items"
    assert fitted.rule_ is None
    assert fitted.quality_.n_same + fitted.quality_.n_different == math.comb(3 * round(0.15 * 30), 2)


def test_noise_teaches_that_all_pairs_are_as_likely() -> None:
    random = np.random.default_rng(0)
    fitted = SimilarityNetwork(epochs=1).fit(random.normal(size=(200, 4)), random.integers(20, size=200))
    similarity = fitted.similarity(random.normal(size=(30, 4)))
    share = fitted.quality_.n_same / (fitted.quality_.n_same + fitted.quality_.n_different)
    assert similarity[np.triu_indices(30, 1)].max() < 0.5 + share


def blobs_are_the_same(a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
    return np.exp(-((a - b) ** 2).sum(1) / 20)  # type: ignore[no-any-return]


def test_a_similarity_of_ones_own_finds_the_classes() -> None:
    pile = X[NEW]
    matrix = np.exp(-((pile[:, None] - pile) ** 2).sum(2) / 20)
    np.testing.assert_allclose(pairwise_matrix(blobs_are_the_same, pile, np.arange(120)), matrix, atol=1e-6)
    found = CategoryDiscoverer(similarity=matrix).fit(pile)
    assert found.n_classes_ == 4
    assert all(len(set(found.labels_[Y[NEW] == name])) == 1 for name in range(12, 16))
    assert found.similarity_ is None


@pytest.mark.parametrize(
    ("similarity", "message"),
    [
        (np.ones((3, 3)), "A similarity matrix of 120 items must be (120, 120) numbers, got (3, 3)."),
        (np.full((120, 120), 1.5), "The similarity matrix must be probabilities, finite and from 0 to 1."),
        (np.full((120, 120), np.nan), "The similarity matrix must be probabilities"),
        (lambda a, b: np.ones(3), "The similarity was asked about 7140 pairs and gave (3,); it must give (7140,)."),
        (lambda a, b: -np.ones(len(a)), "What the similarity gave must be probabilities"),
    ],
)
def test_a_similarity_of_ones_own_that_is_none(similarity: Any, message: str) -> None:
    with pytest.raises(InputError) as refused:
        CategoryDiscoverer(similarity=similarity).fit(X[NEW])
    assert message in str(refused.value)


IMAGES = np.zeros((12, 1, 8, 6), dtype=np.uint8)


@pytest.mark.parametrize(
    ("parameters", "items", "labels", "message"),
    [
        ({}, X[:9], np.zeros(9), "The known items are all of one class; give two classes or more"),
        ({}, X[:9], np.arange(8), "X has 9 items and y 8; give one label per item."),
        ({}, X[:14], [0, 0, 1, 1, *range(2, 12)], "have one item each, so that nothing is the same"),
        ({}, X[:3], [0, 0, 1], "The known classes are too small"),
        ({"held_out": 1.0}, X[:60], Y[:60], "held_out must be a share between 0 and 1, got 1.0."),
        ({"turns": True}, IMAGES, [0, 1] * 6, "Only square images can be turned by a quarter"),
    ],
)
def test_refused(parameters: dict[str, Any], items: Any, labels: Any, message: str) -> None:
    with pytest.raises(InputError) as refused:
        SimilarityNetwork(epochs=1, **parameters).fit(items, labels)
    assert message in str(refused.value)


def test_items_of_another_form(network: SimilarityNetwork) -> None:
    with pytest.raises(InputError, match=r"X has items of shape \(1, 8, 6\), the model takes features: \(6,\)"):
        network.similarity(IMAGES)
    with pytest.raises(ValueError, match="X has 5 features, but SimilarityNetwork is expecting 6"):
        network.similarity(X[:4, :5])
    with pytest.raises(NotFittedError):
        clone(network).similarity(X)


@parametrize_with_checks(
    [SimilarityNetwork(epochs=1, held_out=0.3, views=1)],  # further views are drawn anew for each row
    expected_failed_checks=lambda _: {
        "check_methods_subset_invariance": "predict is of all pairs of the items it is given, (n, n)",
        "check_fit2d_1feature": "ten items are too few to hold some of each class out",
    },
)
def test_scikit_learn(estimator: Any, check: Any) -> None:
    check(estimator)
