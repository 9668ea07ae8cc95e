"""How the recipes of Table 2 find the classes of an alphabet: each method is told what it should be, and no more."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from likewise.clustering import METHODS as RIVALS
from likewise.clustering import KMeans, skms
from likewise.datasets import Items
from likewise.estimators import CategoryDiscoverer, SimilarityNetwork
from likewise.networks import SimilarityModule, build
from likewise.paper import transfer_methods
from likewise.paper.transfer_entries import EARLY_STOPPED, TransferEntry, transfer_recipes
from likewise.paper.transfer_methods import Found, Learned, Task, find, learn_known, omniglot
from likewise.supervision import transfer_objective

BEST, PAPER = (replace(recipe, network="lenet") for recipe in transfer_recipes())  # smaller than theirs
MOST = 9  # outputs where the number of classes is not known: these piles have no hundred items


@pytest.fixture(autouse=True)
def fewer_outputs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transfer_methods, "MOST_OUTPUTS", MOST)


@pytest.fixture(scope="module")
def pile(task: Task) -> Items:
    return task.piles["Angelic"]


@pytest.fixture(scope="module")
def task(few_alphabets: Path) -> Task:
    return omniglot("evaluation", few_alphabets)


@pytest.fixture(scope="module")
def labels(pile: Items) -> NDArray[np.int64]:
    return pile.labels.numpy()


def entry(recipe: str, method: str, classes: str, **changes: Any) -> TransferEntry:
    return TransferEntry(
        {"best": BEST, "paper": PAPER}[recipe], method, classes, epochs=1, similarity_epochs=1, **changes
    )


def untrained() -> SimilarityModule:
    return SimilarityModule(build("lenet", 1, (1, 32, 32), seed=0), hidden=8)


def say(monkeypatch: pytest.MonkeyPatch, probability: NDArray[Any]) -> None:
    """Let this be what the similarity network says of the pile's pairs."""
    seen = SimpleNamespace(probability=lambda: torch.from_numpy(probability.astype(np.float32)))
    monkeypatch.setattr(transfer_methods, "embed_items", lambda *_: seen)


def agree(outputs: NDArray[Any], truth: NDArray[Any]) -> bool:
    return bool(np.array_equal(outputs[:, None] == outputs, truth[:, None] == truth))


@pytest.fixture(scope="module")
def best(task: Task, tmp_path_factory: pytest.TempPathFactory) -> SimilarityNetwork:
    learned = learn_known(entry("best", "mcl", "true"), task, tmp_path_factory.mktemp("similarity"))
    assert isinstance(learned.similarity, SimilarityNetwork)
    assert learned.backbone is None
    return learned.similarity


def test_the_similarity_of_each_recipe(task: Task, best: SimilarityNetwork, tmp_path: Path) -> None:
    assert best.classes_.tolist() == list(range(22))
    assert (best.network_name_, best.augment, len(best.history_)) == ("lenet", BEST.augmentation, 1)
    small = replace(PAPER, similarity_hidden=8, similarity=replace(PAPER.similarity, batch_size=40))
    modules = [
        learn_known(replace(entry("paper", "mcl", "true", seed=seed), recipe=small), task, tmp_path / name).similarity
        for seed, name in ((2, "a"), (2, "b"), (3, "c"))
    ]
    one, same, other = modules
    assert isinstance(one, SimilarityModule)
    assert one.head.first.out_features == 8
    assert torch.equal(one.head.first.weight, same.head.first.weight)  # type: ignore[union-attr]
    assert not torch.equal(one.head.first.weight, other.head.first.weight)  # type: ignore[union-attr]
    assert (tmp_path / "a" / "metrics.json").exists()


@pytest.mark.parametrize(("classes", "n_classes"), [("true", 3), ("100", None)])
def test_best_is_the_discoverer(
    best: SimilarityNetwork,
    task: Task,
    pile: Items,
    labels: NDArray[np.int64],
    tmp_path: Path,
    classes: str,
    n_classes: int | None,
) -> None:
    for method, epochs in (("mcl", 1), ("spectral", 0)):
        found = find(entry("best", method, classes), Learned(best, None), task, "Angelic", tmp_path / method)
        same = CategoryDiscoverer(n_classes, max_classes=MOST, similarity=best, epochs=epochs)
        same.fit(pile.inputs.numpy())
        np.testing.assert_array_equal(found.outputs, same.labels_)
        assert (found.n_outputs, found.n_classes) == (same.n_classes_, same.n_classes_)
        assert found.quality is not None
    assert (found.quality.n_same, found.quality.n_different) == (3 * 28, 3 * 64)
    predicted = best.similarity(pile.inputs.numpy())[np.triu_indices(24, 1)] > 0.5
    truth = (labels[:, None] == labels)[np.triu_indices(24, 1)]
    assert found.quality.same_recall == pytest.approx(predicted[truth].mean())


@pytest.mark.parametrize("method", ["mcl", "kcl"])
def test_a_classifier_learns_what_its_teacher_says_of_each_batch(
    task: Task, labels: NDArray[np.int64], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    """A teacher that is always right, asked about inputs as the learner sees them."""
    asked = []
    ink = task.piles["Angelic"].inputs.flatten(1).float() / 255
    similarity = untrained()
    learned = Learned(similarity, None)

    def teach(inputs: torch.Tensor, *, adapt: bool) -> torch.Tensor:
        asked.append((tuple(inputs.shape), adapt))
        seen = (inputs * 0.235 + 0.086).flatten(1)
        nearest = labels[torch.cdist(seen, ink).argmin(1).numpy()]
        return torch.from_numpy((nearest[:, None] == nearest).astype(np.float32))

    monkeypatch.setattr(similarity, "similarity", teach)
    training = replace(PAPER.training, learning_rate=3e-3, batch_size=12, precision="float32")
    recipe = replace(PAPER, training=training)
    told = replace(entry("paper", method, "true", seed=1), recipe=recipe, epochs=12)
    found = find(told, learned, task, "Angelic", tmp_path)
    assert asked == [((12, 1, 32, 32), True)] * 24
    assert found.n_outputs == 3
    share = np.mean([np.bincount(found.outputs[labels == k], minlength=3).max() / 8 for k in range(3)])
    assert share > 0.8
    again = find(told, learned, task, "Angelic", tmp_path)  # finished: nothing is asked again
    np.testing.assert_array_equal(again.outputs, found.outputs)
    assert len(asked) == 24
    many = find(replace(told, classes="100"), learned, task, "Angelic", tmp_path / "many")
    sizes = np.bincount(many.outputs, minlength=MOST)
    assert (many.n_outputs, many.n_classes) == (MOST, int(np.sum(sizes >= 24 / MOST)))


def test_kcl_is_the_reference_codes(task: Task, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With its own gradient KCL ends with fewer outputs than classes, far below the paper's figure."""
    criteria = []

    def objective(similarity: Any, criterion: Any) -> Any:
        criteria.append(criterion)
        return transfer_objective(similarity, criterion)

    monkeypatch.setattr(transfer_methods, "transfer_objective", objective)
    find(entry("paper", "kcl", "true"), Learned(untrained(), None), task, "Angelic", tmp_path)
    (kcl,) = criteria
    assert (kcl.margin, kcl.constant_target) == (2.0, True)


def told(method: str, classes: str, task: Task) -> Found:
    return find(entry("paper", method, classes), Learned(untrained(), None), task, "Angelic", Path("nowhere"))


@pytest.mark.parametrize(("classes", "n_clusters"), [("true", 3), ("100", MOST)])
def test_k_means_clusters_pixels(
    task: Task, labels: NDArray[np.int64], monkeypatch: pytest.MonkeyPatch, classes: str, n_clusters: int
) -> None:
    say(monkeypatch, labels[:, None] == labels)
    found = told("k-means", classes, task)
    pixels = task.piles["Angelic"].inputs.reshape(24, -1).numpy() / 255
    expected = KMeans(n_clusters=n_clusters, random_state=0).fit(pixels).labels_
    np.testing.assert_array_equal(found.outputs, expected)
    assert found.n_outputs == n_clusters
    assert found.n_classes == np.sum(np.bincount(expected) >= 24 / n_clusters)
    assert found.quality is None  # it is told no pair


@pytest.mark.filterwarnings("ignore:The answers contradict one another")
def test_cop_k_means_gets_answers_that_do_not_contradict_each_other(
    task: Task, labels: NDArray[np.int64], monkeypatch: pytest.MonkeyPatch
) -> None:
    said = (labels[:, None] == labels).astype(float)
    i, j = np.flatnonzero(labels == 0)[0], np.flatnonzero(labels == 1)[0]
    said[i, j] = said[j, i] = 0.9  # which 14 answers speak against
    say(monkeypatch, said)
    assert agree(told("cop-k-means", "true", task).outputs, labels)
    unknown = told("cop-k-means", "100", task)
    for k in range(3):
        assert len(set(unknown.outputs[labels == k])) == 1
    assert (unknown.n_outputs, unknown.n_classes) == (MOST, 3)


@pytest.mark.parametrize(("method", "steps"), [("skkm", None), ("skkm-early", 50), ("skms-early", 50)])
def test_a_kernel_is_searched_to_its_end_or_stopped_early(
    task: Task, labels: NDArray[np.int64], monkeypatch: pytest.MonkeyPatch, method: str, steps: int | None
) -> None:
    say(monkeypatch, labels[:, None] == labels)
    asked: list[int | None] = []
    learn = skms.learn_metric

    def noted(*arguments: Any, early_stopping: int | None, **options: Any) -> Any:
        asked.append(early_stopping)
        return learn(*arguments, early_stopping=early_stopping, **options)

    monkeypatch.setattr(skms, "learn_metric", noted)
    told(method, "true", task)
    assert asked == [steps]


def test_skms_finds_the_number_itself(task: Task, labels: NDArray[np.int64], monkeypatch: pytest.MonkeyPatch) -> None:
    say(monkeypatch, labels[:, None] == labels)
    found = told("skms", "100", task)
    assert agree(found.outputs, labels)
    assert found.n_classes == 3


@pytest.mark.parametrize("method", [*RIVALS, *EARLY_STOPPED])
def test_every_method_of_the_recipe_can_be_told_all_pairs(
    task: Task, labels: NDArray[np.int64], monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    say(monkeypatch, labels[:, None] == labels)
    found = told(method, "true", task)
    assert found.outputs.shape == (24,)
    assert 0 <= found.outputs.min() <= found.outputs.max() < found.n_outputs
    assert 1 <= found.n_classes <= found.n_outputs
