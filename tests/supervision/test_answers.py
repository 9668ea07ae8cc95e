"""What is known of a batch, and the loss made of it, against the definitions."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from likewise import Pairs
from likewise.criteria import dense, mcl, noisy_mcl
from likewise.supervision import AnsweringNetwork, AnswerKnowledge, LabelKnowledge, answers_objective, pseudo_similarity
from likewise.training import Batch

RANDOM = np.random.default_rng(0)
LABELS = RANDOM.integers(0, 3, 30)
PAIRS = Pairs.from_labels(LABELS, n=60)
NAN = float("nan")


def batch(index: list[int]) -> Batch:
    rows = torch.tensor(index)
    inputs = torch.randn(len(rows), 5, generator=torch.Generator().manual_seed(1))
    return Batch(inputs, torch.full((len(rows),), -1), rows)


def test_labels_say_same_or_different() -> None:
    known = LabelKnowledge(np.array([2, 7, 2, -1]), np.array([1, 2, 3, 4], np.float32))
    same, weight = dense(known.among([0, 1, 2, 3]), 4)
    np.testing.assert_array_equal(same[:3, :3], [[1, 0, 1], [0, 1, 0], [1, 0, 1]])
    assert same[3].isnan().all()
    assert same[:, 3].isnan().all()
    assert weight is not None
    assert weight[1, 2] == 6


def test_answers_and_all_that_follows() -> None:
    same, weight = dense(AnswerKnowledge(PAIRS).among(np.arange(30)), 30)
    np.testing.assert_array_equal(same, PAIRS.closure().target(np.arange(30)))
    assert weight is not None
    assert torch.equal(weight > 0, ~same.isnan())


def test_what_leaves_no_pair_unknown_is_complete() -> None:
    """Items 0 and 1 are the same, 2 differs from them, and nothing is said of 3."""
    pairs, ids = [(0, 1), (1, 2)], range(4)
    assert AnswerKnowledge(Pairs.from_arrays(pairs, [1, 0], ids=ids)).complete
    assert not AnswerKnowledge(Pairs.from_arrays([*pairs, (1, 3)], [1, 0, 0], ids=ids)).complete  # 2 and 3
    assert not AnswerKnowledge(Pairs.from_arrays(pairs, [1, 0], ids=ids), implied=False).complete
    assert not AnswerKnowledge(Pairs.from_arrays(pairs, [0.9, 0], ids=ids)).complete
    assert not AnswerKnowledge(Pairs.from_arrays(pairs, [1, 0], weight=[1, 2], ids=ids)).complete
    labels = np.array([4, 4, 7, -1])
    assert LabelKnowledge(labels).complete
    assert LabelKnowledge(labels, np.array([1, 0, 1, 1], np.float32)).complete
    assert not LabelKnowledge(labels, np.array([1, 2, 1, 1], np.float32)).complete


def test_answers_alone_with_their_weights() -> None:
    pairs = Pairs.from_arrays([(0, 1), (1, 2), (1, 0)], [1, 0.2, 0], weight=[3, 2, 1])
    same, weight = dense(AnswerKnowledge(pairs, implied=False).among([2, 1, 0]), 3)
    np.testing.assert_allclose(same, [[NAN, 0.2, NAN], [0.2, NAN, 0.75], [NAN, 0.75, NAN]], rtol=1e-6)
    assert weight is not None
    np.testing.assert_allclose(weight, [[0, 2, 0], [2, 0, 4], [0, 4, 0]])


def test_weighted_answers_and_what_follows_with_weight_one() -> None:
    pairs = Pairs.from_arrays([(0, 1), (1, 2)], [1, 0], weight=[3, 5])
    same, weight = dense(AnswerKnowledge(pairs).among([0, 1, 2]), 3)
    assert weight is not None
    np.testing.assert_array_equal(same, [[1, 1, 0], [1, 1, 0], [0, 0, 1]])
    np.testing.assert_array_equal(weight.triu(1), [[0, 3, 1], [0, 0, 5], [0, 0, 0]])


def test_the_first_stage_is_mcl_over_known_pairs() -> None:
    network = nn.Linear(5, 3)
    loss, logits = answers_objective(AnswerKnowledge(PAIRS))(network, batch([4, 9, 2, 11]))
    same = torch.from_numpy(PAIRS.closure().target([4, 9, 2, 11])).fill_diagonal_(NAN)
    torch.testing.assert_close(loss, mcl(logits, same))


@pytest.mark.parametrize("noise", [0.0, 0.2])
def test_the_second_stage_adds_all_pairs_of_two_views(noise: float) -> None:
    index = [4, 9, 2, 4, 9, 2]
    network = nn.Linear(5, 3)
    loss, logits = answers_objective(AnswerKnowledge(PAIRS), unlabelled=True, noise=noise)(network, batch(index))
    known = torch.from_numpy(PAIRS.closure().target(index))
    known[torch.tensor(index)[:, None] == torch.tensor(index)] = NAN
    pseudo, _ = dense(pseudo_similarity(logits, torch.tensor(index)), 6)
    if noise:
        expected = noisy_mcl(logits, known, noise) + mcl(logits, pseudo)
    else:
        expected = mcl(logits, known) + mcl(logits, torch.where(known.isnan(), pseudo, known))
    torch.testing.assert_close(loss, expected)


def test_a_learned_rate_gets_a_gradient() -> None:
    network = AnsweringNetwork(nn.Linear(5, 3), noise=0.1)
    assert float(network.noise.detach()) == pytest.approx(0.1)
    loss, logits = answers_objective(AnswerKnowledge(PAIRS, implied=False))(network, batch(list(range(30))))
    loss.backward()
    assert network.noise_logit.grad is not None
    assert network.noise_logit.grad != 0
    same, _ = dense(AnswerKnowledge(PAIRS, implied=False).among(np.arange(30)), 30)
    torch.testing.assert_close(loss, noisy_mcl(logits, same, 0.1))
