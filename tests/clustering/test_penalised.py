"""Moves of single items: the costs stay true, and nothing is left to gain."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from likewise.clustering.penalised import means, settle


@pytest.mark.parametrize("seed", range(5))
def test_costs_stay_true_and_no_move_is_left(seed: int) -> None:
    random = np.random.default_rng(seed)
    base = random.normal(size=(30, 4))
    link = np.triu(random.normal(size=(30, 30)) * (random.random((30, 30)) < 0.2), 1)
    links = csr_array(link + link.T)
    start = random.integers(0, 4, 30)
    cost = base - links @ np.eye(4)[start]
    labels = settle(cost, start, links, lambda h, j, entries: links.data[entries])
    np.testing.assert_allclose(cost, base - links @ np.eye(4)[labels], atol=1e-12)
    assert (cost[np.arange(30), labels] <= cost.min(axis=1) + 1e-8).all()


def test_items_without_links_go_where_they_cost_least() -> None:
    cost = np.array([[3.0, 1.0], [0.0, 2.0], [5.0, 4.0]])
    labels = settle(cost, np.array([0, 1, 0]), csr_array((3, 3)), lambda h, j, entries: np.empty(0))
    assert labels.tolist() == [1, 0, 1]


def test_a_gain_that_another_move_has_taken_away_is_left_alone() -> None:
    links = csr_array(np.array([[0.0, -2.0], [-2.0, 0.0]]))  # two that repel each other, both in the dearer cluster
    cost = np.array([[0.0, -1.0], [0.0, -0.9]]) - links @ np.eye(2)[[0, 0]]
    labels = settle(cost, np.array([0, 0]), links, lambda h, j, entries: links.data[entries])
    assert labels.tolist() == [1, 0]


def test_means_and_a_cluster_without_items() -> None:
    items = np.array([[0.0, 0.0], [2.0, 4.0], [5.0, 5.0]])
    found = means(items, np.array([0, 0, 2]), np.full((3, 2), 9.0))
    assert found.tolist() == [[1.0, 2.0], [9.0, 9.0], [5.0, 5.0]]
