"""CategoryDiscoverer: its rounds, large piles, both heads, similarities of one's own, resuming, and what it refuses."""

from __future__ import annotations

import copy
import functools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from numpy.typing import NDArray
from sklearn.datasets import make_blobs
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks
from torch import Tensor, nn

from likewise import CategoryDiscoverer, PairClassifier, SimilarityNetwork
from likewise.errors import InputError
from likewise.estimators import category_discoverer, spectral_rounds
from likewise.evaluation import NumberOfClasses
from likewise.supervision import cosine_affinity, spectral_partition

X, Y = make_blobs(480, n_features=6, centers=16, cluster_std=0.6, random_state=0)
KNOWN = Y < 12
PILE, TRUTH = X[~KNOWN], Y[~KNOWN]  # 120 items of 4 classes


@pytest.fixture(scope="module")
def similarity() -> SimilarityNetwork:
    return SimilarityNetwork(epochs=10).fit(X[KNOWN], Y[KNOWN])


@pytest.fixture(scope="module")
def found(similarity: SimilarityNetwork) -> CategoryDiscoverer:
    return CategoryDiscoverer(similarity=similarity, epochs=3).fit(PILE)


@pytest.fixture
def few_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """For the classifier that learns what a function or a matrix says."""
    quick = functools.partial(PairClassifier, epochs=4, starts=1)
    monkeypatch.setattr(category_discoverer, "PairClassifier", quick)


@pytest.fixture
def no_training(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.optim.AdamW, "step", lambda *_: pytest.fail("trained again"))
    monkeypatch.setattr(torch.optim.Adam, "step", lambda *_: pytest.fail("trained again"))


def agree(labels: NDArray[Any], truth: NDArray[Any]) -> bool:
    return bool(np.array_equal(labels[:, None] == labels, truth[:, None] == truth))


def test_classes_their_number_and_what_comes_with_them(found: CategoryDiscoverer) -> None:
    assert agree(found.labels_, TRUTH)
    assert set(found.labels_) == set(range(4))
    assert (found.n_classes_, found.n_dominant_, found.number_.estimate) == (4, 4, 4)
    assert found.number_.low <= 4 <= found.number_.high
    assert found.trust_.doubts == ()
    new = PILE + 0.05
    np.testing.assert_array_equal(found.predict(new), found.labels_)
    assert found.predict_proba(new).shape == (120, 4)
    np.testing.assert_array_equal(found.predict_proba(new).argmax(1), found.labels_)
    p = found.predict_proba(new).astype(np.float64)
    pairs = np.array([[0, 1], [5, 90], [7, 7]])
    np.testing.assert_allclose(found.predict_same(new, pairs), (p[pairs[:, 0]] * p[pairs[:, 1]]).sum(1), atol=1e-5)


def test_two_rounds_of_so_many_epochs(found: CategoryDiscoverer) -> None:
    history = found.classifier_.history_
    assert [row["round"] for row in history] == [1, 1, 1, 2, 2, 2]
    assert [row["epoch"] for row in history] == [1, 2, 3, 4, 5, 6]


def test_the_second_round_clusters_what_the_network_of_the_first_sees(
    similarity: SimilarityNetwork, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[Any] = []
    look = SimilarityNetwork.embed_items

    def spy(self: SimilarityNetwork, inputs: Tensor, module: Any = None) -> Any:
        looked.append(module)
        return look(self, inputs, module)

    weights = [weight.clone() for weight in similarity.module_.parameters()]
    monkeypatch.setattr(SimilarityNetwork, "embed_items", spy)
    CategoryDiscoverer(3, similarity=similarity, epochs=1).fit(PILE)
    first, second = (module for module in looked if module is not None)  # None: known items, to tell what is new
    assert first is similarity.module_
    assert second.backbone.last.out_features == 3
    assert not torch.equal(next(second.backbone.parameters()), next(first.backbone.parameters()))
    for old, new in zip(first.head.parameters(), second.head.parameters(), strict=True):
        assert torch.equal(old, new)
    assert all(torch.equal(a, b) for a, b in zip(weights, similarity.module_.parameters(), strict=True))


def test_without_epochs_it_is_the_partition_itself(similarity: SimilarityNetwork, tmp_path: Path) -> None:
    partition = spectral_partition(cosine_affinity(similarity.transform(PILE), 0.3), 7, seed=5)
    found = CategoryDiscoverer(7, similarity=similarity, epochs=0, random_state=5, run=tmp_path).fit(PILE)
    np.testing.assert_array_equal(found.labels_, partition)
    assert found.number_ == NumberOfClasses(7, 7, 7)
    assert found.classifier_.history_ == []
    assert list(tmp_path.iterdir()) == []
    four = CategoryDiscoverer(4, similarity=similarity, epochs=0).fit(PILE)
    assert agree(four.predict(PILE), four.labels_)  # by the prototypes


def test_a_run_folder_goes_on_to_the_same_labels(
    similarity: SimilarityNetwork, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    def fit(**changes: Any) -> CategoryDiscoverer:
        options: dict[str, Any] = {"similarity": similarity, "epochs": 2, "run": tmp_path, "n_classes": 6}
        pile = changes.pop("pile", PILE)
        return CategoryDiscoverer(**options | changes).fit(pile)

    whole = fit(run=None)
    np.testing.assert_array_equal(fit().labels_, whole.labels_)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["round1", "round2"]
    for path in (tmp_path / "round2").iterdir():  # as if it had been stopped after the first round
        path.unlink()
    again = fit()
    np.testing.assert_array_equal(again.labels_, whole.labels_)
    np.testing.assert_array_equal(again.predict_proba(PILE), whole.predict_proba(PILE))
    request.getfixturevalue("no_training")
    finished = fit()
    np.testing.assert_array_equal(finished.labels_, whole.labels_)
    assert finished.classifier_.history_ == whole.classifier_.history_
    with pytest.raises(InputError, match=r"config\.items"):
        fit(pile=PILE + 1)
    other = copy.deepcopy(similarity)
    with torch.no_grad():
        other.module_.head.first.weight.add_(0.01)
    with pytest.raises(InputError, match=r"config\.similarity"):
        fit(similarity=other)


def test_of_a_large_pile_some_items_are_clustered_and_the_rest_go_to_the_nearest_mean(
    similarity: SimilarityNetwork, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes = []

    def spy(affinity: NDArray[Any], n_classes: int, seed: int) -> NDArray[np.int64]:
        sizes.append(len(affinity))
        return spectral_partition(affinity, n_classes, seed)

    monkeypatch.setattr(category_discoverer, "MOST_CLUSTERED", 50)
    monkeypatch.setattr(spectral_rounds, "spectral_partition", spy)
    found = CategoryDiscoverer(5, similarity=similarity, epochs=0, random_state=3).fit(PILE)
    rows = np.sort(np.random.default_rng(3).permutation(120)[:50])
    z = similarity.transform(PILE).astype(np.float64)
    some = spectral_partition(cosine_affinity(similarity.transform(PILE)[rows], 0.3), 5, seed=3)
    for i in range(120):
        if i in rows:
            expected = some[list(rows).index(i)]
        else:
            apart = [((z[i] - z[rows[some == k]].mean(0)) ** 2).sum() for k in range(5)]
            expected = int(np.argmin(apart))
        assert found.labels_[i] == expected
    learned = CategoryDiscoverer(similarity=similarity, epochs=2).fit(PILE)
    assert agree(learned.labels_, TRUTH)
    assert sizes == [50, 50, 50]


def test_the_papers_head_has_one_round(tmp_path: Path) -> None:
    network = SimilarityNetwork(epochs=15, head="pairs").fit(X[KNOWN], Y[KNOWN])
    found = CategoryDiscoverer(4, similarity=network, epochs=2, run=tmp_path).fit(PILE)
    assert agree(found.labels_, TRUTH)
    assert [row["round"] for row in found.classifier_.history_] == [1, 1]
    assert [path.name for path in tmp_path.iterdir()] == ["round1"]
    partition = spectral_partition(network.similarity(PILE), 6, seed=0)  # of probabilities, not of angles
    np.testing.assert_array_equal(CategoryDiscoverer(6, similarity=network, epochs=0).fit(PILE).labels_, partition)


def test_a_similarity_that_is_not_fitted_learns_from_known_items(tmp_path: Path) -> None:
    given = SimilarityNetwork(epochs=10)
    found = CategoryDiscoverer(similarity=given, epochs=1, run=tmp_path).fit(PILE, known=(X[KNOWN], Y[KNOWN]))
    assert not hasattr(given, "module_")  # it was cloned
    assert agree(found.labels_, TRUTH)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["round1", "round2", "similarity"]
    assert found.similarity_ is not None
    assert found.similarity_.classes_.tolist() == list(range(12))


class Alike:
    """A similarity of one's own; its name has no address in it, for tests are known by their names."""

    def __call__(self, a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
        return np.exp(-((a - b).astype(np.float64) ** 2).sum(1) / 20)  # type: ignore[no-any-return]

    def __repr__(self) -> str:
        return "alike"


alike = Alike()


@pytest.mark.usefixtures("few_steps")
def test_a_function_and_its_matrix_find_the_same(tmp_path: Path) -> None:
    matrix = np.exp(-((PILE[:, None] - PILE) ** 2).sum(2) / 20)
    by_function = CategoryDiscoverer(similarity=alike, run=tmp_path).fit(PILE)
    by_matrix = CategoryDiscoverer(similarity=matrix).fit(PILE)
    np.testing.assert_array_equal(by_function.labels_, by_matrix.labels_)
    assert agree(by_matrix.labels_, TRUTH)
    assert by_matrix.similarity_ is None
    np.testing.assert_array_equal(by_matrix.predict(PILE), by_matrix.labels_)
    again = CategoryDiscoverer(similarity=alike, run=tmp_path).fit(PILE)
    np.testing.assert_array_equal(again.labels_, by_function.labels_)


@pytest.mark.usefixtures("few_steps")
def test_a_function_is_asked_about_some_of_a_large_pile(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def spy(a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
        asked.append(len(a))
        return alike(a, b)

    monkeypatch.setattr(category_discoverer, "MOST_CLUSTERED", 40)
    found = CategoryDiscoverer(4, similarity=spy).fit(PILE)
    assert asked == [40 * 39 // 2]
    assert agree(found.labels_, TRUTH)


def test_saved_for_the_pair_classifier(found: CategoryDiscoverer, tmp_path: Path) -> None:
    found.save(tmp_path)
    model = PairClassifier.load(tmp_path)
    np.testing.assert_array_equal(model.predict_proba(PILE), found.predict_proba(PILE))
    again = SimilarityNetwork.load(tmp_path / "similarity")
    assert found.similarity_ is not None
    np.testing.assert_array_equal(again.similarity(PILE), found.similarity_.similarity(PILE))


def test_a_useless_similarity_is_warned_of(similarity: SimilarityNetwork) -> None:
    with pytest.warns(UserWarning, match=r"^The similarity looks useless on this pile: it .* Do not trust the classes"):
        found = CategoryDiscoverer(2, similarity=similarity, epochs=0).fit(50 + PILE / 1000)
    assert found.trust_.doubts


class Bare(nn.Module):
    n_features = 6

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(6, 6)

    def features(self, x: Tensor) -> Tensor:
        out: Tensor = self.layer(x)
        return out


@pytest.mark.parametrize(
    ("parameters", "pile", "message"),
    [
        ({"n_classes": 1}, PILE, "n_classes must be from 2 to the number of items, 120, got 1."),
        ({"n_classes": 121}, PILE, "n_classes must be from 2 to the number of items, 120, got 121."),
        ({"max_classes": 1}, PILE, "max_classes must be 2 or more, got 1."),
        ({"epochs": -1}, PILE, "epochs must be 0 or more, got -1."),
        ({}, PILE, "There is nothing to learn similarity from: give known=(items, classes), or a similarity."),
        ({"similarity": SimilarityNetwork()}, PILE, "There is nothing to learn similarity from"),
        ({}, np.zeros((1, 1, 8, 8), dtype=np.uint8), "The pile has 1 items; give at least two, better hundreds."),
    ],
)
def test_refused(parameters: dict[str, Any], pile: Any, message: str) -> None:
    with pytest.raises(InputError) as refused:
        CategoryDiscoverer(**parameters).fit(pile)
    assert message in str(refused.value)


def test_piles_of_another_form_and_backbones_without_a_last_layer(similarity: SimilarityNetwork) -> None:
    with pytest.raises(InputError, match=r"X has items of shape \(5,\), the model takes features: \(6,\)"):
        CategoryDiscoverer(similarity=similarity).fit(PILE[:, :5])
    with pytest.raises(InputError, match="Bare by replacing its last layer"):
        CategoryDiscoverer(similarity=SimilarityNetwork(Bare(), epochs=1)).fit(PILE, known=(X[KNOWN], Y[KNOWN]))
    with pytest.raises(NotFittedError):
        CategoryDiscoverer().predict(PILE)


@pytest.mark.usefixtures("few_steps")
@pytest.mark.filterwarnings("ignore:The similarity looks useless")
@parametrize_with_checks([CategoryDiscoverer(similarity=alike)])
def test_scikit_learn(estimator: Any, check: Any) -> None:
    check(estimator)


def same_discovery(loaded: CategoryDiscoverer, found: CategoryDiscoverer) -> None:
    for name in ("labels_", "outputs_", "n_classes_", "n_dominant_", "number_", "trust_", "seed_", "n_features_in_"):
        np.testing.assert_array_equal(getattr(loaded, name), getattr(found, name))
    np.testing.assert_array_equal(loaded.predict_proba(PILE), found.predict_proba(PILE))
    np.testing.assert_array_equal(loaded.predict(PILE), found.predict(PILE))


def test_saved_and_loaded(found: CategoryDiscoverer, tmp_path: Path) -> None:
    found.save(tmp_path)
    loaded = CategoryDiscoverer.load(tmp_path)
    same_discovery(loaded, found)
    assert (loaded.epochs, loaded.n_classes) == (3, None)
    assert loaded.similarity_ is not None
    assert found.similarity_ is not None
    np.testing.assert_array_equal(loaded.similarity_.similarity(PILE), found.similarity_.similarity(PILE))
    np.testing.assert_array_equal(loaded.fit(PILE).labels_, found.labels_)  # its similarity is used as it is


def test_names_given_since_do_not_renumber_the_classes(found: CategoryDiscoverer, tmp_path: Path) -> None:
    found.save(tmp_path)
    names = np.array(["delta", "alpha", "charlie", "bravo"])
    PairClassifier.load(tmp_path).name_classes(PILE, names[found.labels_]).save(tmp_path)
    loaded = CategoryDiscoverer.load(tmp_path)
    same_discovery(loaded, found)
    assert loaded.classifier_.classes_.tolist() == sorted(names)


@pytest.mark.usefixtures("few_steps")
def test_what_a_matrix_found_is_saved_and_loaded(tmp_path: Path) -> None:
    found = CategoryDiscoverer(similarity=(TRUTH[:, None] == TRUTH).astype(float)).fit(PILE)
    assert found.predict_proba(PILE).shape == (120, found.n_classes_)
    (tmp_path / "similarity").mkdir()  # of another discoverer that was saved here
    found.save(tmp_path)
    loaded = CategoryDiscoverer.load(tmp_path)
    same_discovery(loaded, found)
    assert loaded.similarity_ is None


class Backbone(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body, self.last, self.n_features = nn.Linear(6, 8), nn.Linear(8, 1), 8

    def features(self, x: Tensor) -> Tensor:
        out: Tensor = self.body(x).relu()
        return out

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.last(self.features(x))
        return out


@pytest.mark.filterwarnings("ignore:The similarity looks useless")
def test_a_backbone_of_ones_own_is_given_again(tmp_path: Path) -> None:
    similarity = SimilarityNetwork(Backbone(), epochs=1, refit=False).fit(X[KNOWN], Y[KNOWN])
    found = CategoryDiscoverer(4, similarity=similarity, epochs=1).fit(PILE)
    found.save(tmp_path)
    with pytest.raises(InputError, match="network of your own"):
        CategoryDiscoverer.load(tmp_path)
    same_discovery(CategoryDiscoverer.load(tmp_path, network=Backbone()), found)


def test_a_frame_has_its_columns_again(similarity: SimilarityNetwork, tmp_path: Path) -> None:
    frame = pd.DataFrame(PILE, columns=list("abcdef"))
    found = CategoryDiscoverer(4, similarity=similarity, epochs=1).fit(frame)
    found.save(tmp_path)
    loaded = CategoryDiscoverer.load(tmp_path)
    assert loaded.feature_names_in_.tolist() == list("abcdef")
    np.testing.assert_array_equal(loaded.predict(frame), found.predict(frame))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": 9}, "is not of the format"),
        ({"codes": [0, 9]}, "codes must be from 0 to 3"),
        ({"classes": [0, 1]}, "classes must be 4, one for each output"),
        ({"outputs": [0, 0, 1, 2]}, "outputs must be some of the 4 outputs"),
        ({"outputs": [0, 1, 2, 4]}, "outputs must be some of the 4 outputs"),
        ({"number": 4}, "number must be a mapping"),
        ({"parameters": {"colour": 1}}, "has no parameter 'colour'"),
    ],
)
def test_a_changed_record_is_refused(
    found: CategoryDiscoverer, tmp_path: Path, change: dict[str, Any], message: str
) -> None:
    found.save(tmp_path)
    record = json.loads((tmp_path / "discoverer.json").read_text())
    (tmp_path / "discoverer.json").write_text(json.dumps(record | change))
    with pytest.raises(InputError, match=message):
        CategoryDiscoverer.load(tmp_path)
    (tmp_path / "discoverer.json").unlink()
    with pytest.raises(InputError, match="holds no discovered classes"):
        CategoryDiscoverer.load(tmp_path)
