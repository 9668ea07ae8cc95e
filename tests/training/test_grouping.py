"""Groups that a network learns first: which items are looked at, what is seen in them, and what is joined."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.datasets import make_blobs
from torch import nn

from likewise import Pairs
from likewise.clustering.constraints import read_constraints
from likewise.clustering.linkage import Odds
from likewise.evaluation import accuracy, confusion, match_outputs
from likewise.networks import build
from likewise.training import NetworkInputs, grouping
from likewise.training.grouping import (
    GroupOrder,
    among,
    group_items,
    items_to_look_at,
    seen_by,
    spaces_of,
    without_fragments,
)

X, Y = make_blobs(150, centers=4, random_state=3, cluster_std=0.6)
PILE = NetworkInputs(torch.from_numpy(X.astype(np.float32)))
PAIRS = Pairs.from_labels(Y, n=100)


def acc(groups: np.ndarray, truth: np.ndarray, n: int) -> float:
    counts = confusion(torch.from_numpy(groups), truth, n, int(truth.max()) + 1)
    return accuracy(counts, match_outputs(counts))


def test_groups_are_the_classes_where_items_show_them() -> None:
    found = group_items(PILE, PAIRS, 4, 0)
    assert acc(found.groups, Y, 4) > 0.97
    assert found.is_clear
    assert found.is_informed
    assert found.items.tolist() == list(range(150))
    assert (found.sure > 0).all()
    assert (found.sure <= 1 + 1e-6).all()
    again = group_items(PILE, PAIRS, 4, 0)
    np.testing.assert_array_equal(found.groups, again.groups)


def test_answers_that_the_items_say_nothing_about_are_not_clear() -> None:
    labels = np.random.default_rng(0).permutation(Y)
    found = group_items(PILE, Pairs.from_labels(labels, n=300), 4, 0)
    assert not found.is_clear
    assert not found.is_informed


def test_a_network_sees_other_groups_than_the_items_show() -> None:
    """Classes along one of three axes, of which the other two are wider: only a network knows which axis counts."""
    random = np.random.default_rng(0)
    labels = np.arange(120) % 2
    items = np.concatenate(
        [4 * labels[:, None] + random.normal(size=(120, 1)), 30 * random.normal(size=(120, 2))], axis=1
    )

    class Eye(nn.Module):
        def features(self, inputs: torch.Tensor) -> torch.Tensor:
            return inputs[:, :1]

        def forward(self, inputs: torch.Tensor) -> torch.Tensor:
            return inputs[:, :2]

    pile = NetworkInputs(torch.from_numpy(items.astype(np.float32)))
    pairs = Pairs.from_labels(labels, n=40)
    assert acc(group_items(pile, pairs, 2, 0, Eye()).groups, labels, 2) > 0.93
    np.testing.assert_allclose(seen_by(Eye(), pile, np.array([3, 5])), items[[3, 5], :1], rtol=1e-5)


def test_items_of_answers_are_looked_at_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grouping, "ITEMS", 30)
    monkeypatch.setattr(grouping, "MOST_ITEMS", 30)
    few = Pairs.from_arrays([(5, 90), (7, 140), (90, 7)], [1, 0, 0])
    chosen = items_to_look_at(few, 150, 0)
    assert len(np.unique(chosen)) == 30
    assert (np.diff(chosen) > 0).all()
    assert {5, 90, 7, 140} <= set(chosen.tolist())
    many = items_to_look_at(PAIRS, 150, 0)
    assert len(np.unique(many)) == 30
    inside = among(PAIRS, many)
    assert len(inside) >= 15  # both items of an answer are taken, so that its answer is there
    for left, right, same in zip(many[inside.left], many[inside.right], inside.same, strict=True):
        assert (Y[left] == Y[right]) == bool(same)
    monkeypatch.setattr(grouping, "MOST_ITEMS", 50)  # there is room for more of them, but only for those of answers
    assert len(items_to_look_at(PAIRS, 150, 0)) == 50
    assert len(items_to_look_at(few, 150, 0)) == 30


def test_images_are_made_smaller_and_vectors_are_standardised() -> None:
    images = torch.randint(0, 256, (5, 3, 60, 40), dtype=torch.uint8)
    space = spaces_of(NetworkInputs(images), np.array([0, 4]))["pixels"]
    assert space.shape == (2, 3 * 28 * 28)
    assert space.mean() == pytest.approx(images[[0, 4]].float().mean().item() / 255, abs=0.01)
    spaces = spaces_of(
        NetworkInputs(torch.tensor([[1.0, 7.0], [3.0, 7.0], [8.0, 7.0]]), std=(2.0, 0.0)), np.array([0, 2])
    )
    np.testing.assert_allclose(spaces["items"], [[1, 7], [8, 7]])
    np.testing.assert_allclose(spaces["standardised"], [[0.5, 7], [4, 7]])  # a constant column stays as it is


def test_fragments_of_a_class_are_joined() -> None:
    """Six groups of four classes: 0 and 1 are one class, and so are 2 and 3."""
    groups = np.repeat(np.arange(6), 20)
    classes = np.array([0, 0, 1, 1, 2, 3])[groups]
    pairs = Pairs.from_labels(classes, n=600).index(120)
    posterior = 0.9 * np.eye(6)[groups] + 0.1 / 6
    joined = without_fragments(posterior, Odds.of(read_constraints(pairs, 120)))
    np.testing.assert_allclose(joined.sum(1), 1)
    assert len(np.unique(joined.argmax(1))) == 4
    for k in range(4):
        assert len(np.unique(joined.argmax(1)[classes == k])) == 1
    few = Odds.of(read_constraints(Pairs.from_arrays([(0, 20), (1, 21)], [1, 1]).index(120), 120))
    np.testing.assert_array_equal(without_fragments(posterior, few), posterior)  # two answers are too few


def test_more_classes_than_there_are() -> None:
    found = group_items(PILE, Pairs.from_labels(Y, n=600), 9, 0)
    assert acc(found.groups, Y, 9) > 0.95


def test_batches_of_the_items_that_were_looked_at() -> None:
    items = np.array([3, 5, 8, 9, 20])
    order = GroupOrder(items, 2, 4, seed=0)
    assert len(order) == 4
    seen = torch.cat([torch.cat(order.chunks(epoch)) for epoch in range(5)])
    assert all((seen == item).sum() == 8 for item in items)
    assert GroupOrder(items, 100, 1, seed=0).chunks(0)[0].sort().values.tolist() == items.tolist()


def test_targets_leave_out_what_was_not_looked_at() -> None:
    found = grouping.Grouping(np.array([1, 3]), np.array([2, 0]), np.array([0.5, 1.0], dtype=np.float32), 0.9, 0.1, 0.0)
    outputs, weight = found.targets(5)
    assert outputs.tolist() == [0, 2, 0, 0, 0]
    assert weight.tolist() == [0, 0.5, 0, 1, 0]


def test_a_network_without_features_is_seen_by_its_logits() -> None:
    network = nn.Linear(2, 3)
    np.testing.assert_allclose(seen_by(network, PILE, np.arange(150)), PILE.logits(network).numpy(), rtol=1e-5)
    assert seen_by(build("mlp", 3, (2,), seed=0), PILE, np.arange(4)).shape == (4, 256)
