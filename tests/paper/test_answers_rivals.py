"""Rivals on items whose classes lie apart: what each is told, how unseen items are judged, and what is kept."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from likewise.datasets import DataSet, Items
from likewise.pairs import Pairs
from likewise.paper import answers_rivals
from likewise.paper.answers_rivals import Flat, clustered, k_means, labelled_rows, run_rivals


def blobs(n: int, seed: int, spread: float = 0.1) -> Items:
    """Four classes of features; the last two begin close together."""
    random = np.random.default_rng(seed)
    labels = np.arange(n) % 4
    centres = np.array([[0, 0, 4], [4, 0, 0], [0, 4, 0], [0, 5, 0]], dtype=np.float32)
    points = centres[labels] + spread * random.normal(size=(n, 3))
    return Items(torch.from_numpy(points.astype(np.float32)), torch.from_numpy(labels), tuple("abcd"))


@pytest.fixture
def data() -> DataSet:
    return DataSet("blobs", blobs(80, 0), blobs(40, 1), (), ())


def test_every_rival_finds_classes_that_lie_apart(data: DataSet, tmp_path: Path) -> None:
    names = ["k-means", "pck-means", "agglomeration", "labels", "all-labels"]
    pairs = Pairs.from_labels(data.train.labels.numpy(), n=200, random_state=0)
    found = run_rivals(names, data, pairs, 40, 0, tmp_path)
    assert list(found) == names
    assert all(scores == {"accuracy": 100.0, "train_accuracy": 100.0} for scores in found.values())


def test_clusterings_are_told_the_answers(data: DataSet, tmp_path: Path) -> None:
    """Answers by another truth, in which the first two classes are one and the third is two, lead elsewhere."""
    other = np.where(data.train.labels < 2, 0, data.train.labels)
    pairs = Pairs.from_labels(other, n=1000, random_state=0)
    found = run_rivals(["k-means", "pck-means"], data, pairs, 40, 0, tmp_path)
    assert found["k-means"]["train_accuracy"] == 100
    assert found["pck-means"]["train_accuracy"] < 100


def test_a_clustering_is_matched_on_training_items_and_unseen_ones_go_to_the_nearest_mean(data: DataSet) -> None:
    flat = Flat.of(data)
    own = (data.train.labels.numpy() + 3) % 4 + 7  # other names, and not from 0
    own[0] = own[1]  # one item astray
    assert clustered(flat, flat.train, own) == {"accuracy": 100.0, "train_accuracy": 98.75}


def test_k_means_is_kept_for_its_seed(data: DataSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = Pairs.from_labels(data.train.labels.numpy(), n=50, random_state=0)
    first = run_rivals(["k-means"], data, pairs, 50, 3, tmp_path)
    monkeypatch.setattr(answers_rivals, "k_means", None)
    assert run_rivals(["k-means"], data, pairs, 10, 3, tmp_path) == first
    assert [path.name for path in tmp_path.iterdir()] == ["blobs-k-means-seed3.json"]


def test_k_means_looks_at_a_part_of_a_large_set(data: DataSet, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers_rivals, "MOST_ITEMS", 30)
    assert k_means(Flat.of(data), 0) == {"accuracy": 100.0, "train_accuracy": 100.0}


def test_images_become_numbers_from_0_to_1_and_labels_are_drawn_once() -> None:
    images = Items(torch.full((2, 1, 2, 2), 255, dtype=torch.uint8), torch.tensor([0, 1]), ("a", "b"))
    flat = Flat.of(DataSet("images", images, images, (), ()))
    assert flat.train.tolist() == [[1.0] * 4] * 2
    assert len(labelled_rows(50, 20, seed=1).unique()) == 20
    assert not labelled_rows(50, 20, seed=1).equal(labelled_rows(50, 20, seed=2))
