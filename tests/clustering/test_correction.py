"""A partition corrected by answers: the loss against a loop, its gradient, and when the partition stays."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy.optimize import check_grad
from scipy.special import softmax

from likewise import Pairs
from likewise.clustering import correction
from likewise.clustering.constraints import Floats, read_constraints
from likewise.clustering.correction import Answers, corrected, in_one_cluster, losses_of, model_of_partition
from likewise.clustering.linkage import Odds

RANDOM = np.random.default_rng(0)


def odds(pairs: Pairs, n: int) -> Odds:
    return Odds.of(read_constraints(pairs, n))


def across() -> tuple[Floats, np.ndarray, Floats]:
    """Two classes along the narrow one of two axes, which k-means would cut across the wide one."""
    labels = np.arange(400) % 2
    rows = RANDOM.normal(size=(400, 2)) * [3, 0.5] + 2 * labels[:, None] * [0, 1]
    clusters = (rows[:, 0] > 0).astype(int)
    return rows, labels, 0.9 * np.eye(2)[clusters] + 0.05


def test_answers_turn_a_partition_that_lies_across_the_classes() -> None:
    rows, labels, posterior = across()
    told = odds(Pairs.from_labels(labels, n=600), 400)
    found = corrected(rows, posterior, told, in_one_cluster(posterior, told), 0.02, 0).argmax(1)
    right = (found == labels).mean()
    assert max(right, 1 - right) > 0.95


def test_few_answers_and_those_that_agree_leave_the_partition() -> None:
    rows, labels, posterior = across()
    few = odds(Pairs.from_labels(labels, n=correction.LEAST_ANSWERS - 1), 400)
    assert corrected(rows, posterior, few, in_one_cluster(posterior, few), 0.02, 0) is posterior
    agreeing = odds(Pairs.from_labels(posterior.argmax(1), n=600), 400)
    assert corrected(rows, posterior, agreeing, in_one_cluster(posterior, agreeing), 0.02, 0) is posterior
    at_random = odds(Pairs.from_labels(RANDOM.permutation(labels), n=600), 400)
    for wrong in (0.02, 0.3):
        assert corrected(rows, posterior, at_random, in_one_cluster(posterior, at_random), wrong, 0) is posterior


@pytest.mark.parametrize("wrong", [0.0, 0.1])
def test_the_loss_against_a_loop(wrong: float) -> None:
    x, model = RANDOM.normal(size=(6, 3)), RANDOM.normal(size=(3, 4))
    pairs = Pairs.from_arrays([(0, 1), (2, 5), (1, 4)], [1, 0, 0.75]).index(6)
    given = odds(pairs, 6)
    p = softmax(x @ model, axis=1)
    expected = []
    for (i, j), credit in zip(given.ends.tolist(), given.credit.tolist(), strict=True):
        same = (1 - 2 * wrong) * sum(p[i, k] * p[j, k] for k in range(4)) + wrong
        expected.append(-math.log(same if credit > 0 else 1 - same))
    np.testing.assert_allclose(Answers(x, given, wrong).losses(model), expected, rtol=1e-12)


def test_gradients(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the answers' loss and of the partition's model, by differences."""
    x, start = RANDOM.normal(size=(8, 3)), RANDOM.normal(size=(3, 4))
    given = odds(Pairs.from_labels(np.arange(8) % 3, n=15), 8)
    seen = []
    monkeypatch.setattr(correction, "_minimum", lambda loss, start: seen.append(loss) or start)
    Answers(x, given, 0.05).fit(start, np.zeros_like(start), 0.1)
    model_of_partition(x, softmax(RANDOM.normal(size=(8, 4)), axis=1))
    assert len(seen) == 2
    assert [difference(loss, start.ravel()) < 1e-5 for loss in seen] == [True, True]


def difference(loss: Callable[[Floats], tuple[float, Floats]], w: Floats) -> float:
    return float(check_grad(lambda w: loss(w)[0], lambda w: loss(w)[1], w))


def test_a_strong_pull_keeps_the_model() -> None:
    rows, labels, posterior = across()
    x = np.concatenate([rows, np.ones((400, 1))], axis=1)
    first = model_of_partition(x, posterior)
    answers = Answers(x, odds(Pairs.from_labels(labels, n=300), 400), 0.02)
    np.testing.assert_allclose(answers.fit(first, first, 1e6), first, atol=1e-4)
    assert answers.losses(answers.fit(first, first, 1e-4)).mean() < answers.losses(first).mean()


def test_only_clusters_count_in_the_choice() -> None:
    """Rates by hand: half an answer is added to each case."""
    given = odds(Pairs.from_arrays([(0, 1), (2, 3), (4, 5), (0, 5)], [1, 1, 0, 0]).index(6), 6)
    together = np.array([tuple(ends) in ((0, 1), (4, 5)) for ends in given.ends.tolist()])
    expected = {(0, 1): 1.5 / 3, (4, 5): 1.5 / 3, (2, 3): 1.5 / 3, (0, 5): 1.5 / 3}
    found = losses_of(together, given)
    np.testing.assert_allclose(found, [-math.log(expected[tuple(ends)]) for ends in given.ends.tolist()])
    everything = losses_of(np.ones(4, dtype=np.bool_), given)
    np.testing.assert_allclose(everything, -math.log(2.5 / 5))
