"""Targets that are read a tile at a time say the same as the whole matrix."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from likewise import Pairs
from likewise.criteria import KCL, MCL, LabelTable, MatrixTable, Overlay, PairTable, dense, known_pairs
from likewise.criteria.targets import Grid, Listing
from likewise.supervision import AnswerKnowledge, LabelKnowledge, pseudo_similarity

B = 1400  # several tiles a side
RANDOM = np.random.default_rng(3)
LABELS = RANDOM.integers(0, 6, B)
PAIRS = Pairs.from_labels(LABELS, n=4000)
WEIGHTED = Pairs.from_arrays(
    np.stack([PAIRS.left, PAIRS.right], 1), np.abs(PAIRS.same - 0.1), weight=RANDOM.uniform(0.5, 2, len(PAIRS.same))
)
LOGITS = torch.from_numpy(RANDOM.normal(size=(B, 6))).float()
INDEX = RANDOM.permutation(B)
TABLES: dict[str, PairTable] = {
    "labels": LabelKnowledge(np.where(LABELS == 5, -1, LABELS)).among(INDEX),
    "closure": AnswerKnowledge(PAIRS).among(INDEX),
    "answers": AnswerKnowledge(WEIGHTED, implied=False).among(INDEX),
    "answers and what follows": AnswerKnowledge(WEIGHTED).among(INDEX),
    "pseudo-similarity": pseudo_similarity(3 * LOGITS, torch.from_numpy(INDEX // 2)),
    "an answer, or pseudo-similarity": Overlay(
        AnswerKnowledge(PAIRS).among(INDEX), pseudo_similarity(3 * LOGITS, torch.from_numpy(INDEX // 2))
    ),
}


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("criterion", [MCL(), KCL()], ids=["mcl", "kcl"])
def test_loss_and_gradient_are_those_of_the_matrix(name: str, criterion: MCL | KCL) -> None:
    same, weight = dense(TABLES[name], B)
    found, expected = (LOGITS.clone().requires_grad_() for _ in range(2))
    loss, wanted = criterion(found, TABLES[name]), criterion(expected, same, weight=weight)
    torch.testing.assert_close(loss, wanted)
    loss.backward()
    wanted.backward()
    torch.testing.assert_close(found.grad, expected.grad)


@pytest.mark.parametrize("name", TABLES)
def test_a_table_says_which_pairs_it_knows(name: str) -> None:
    same, weight = dense(TABLES[name], B)
    counted = torch.ones(B, B) if weight is None else weight
    pairs, said, weights = known_pairs(TABLES[name], B)
    order = torch.argsort(pairs[:, 0] * B + pairs[:, 1])
    i, j = counted.triu(1).nonzero(as_tuple=True)
    assert torch.equal(pairs[order], torch.stack([i, j], 1))
    assert torch.equal(said[order], same[i, j])
    assert torch.equal(weights[order], counted[i, j])


def test_an_empty_table() -> None:
    table = MatrixTable(torch.zeros(0, 0))
    assert [len(part) for part in known_pairs(table, 0)] == [0, 0, 0]
    assert MCL()(torch.zeros(0, 3), table) == 0


@pytest.mark.parametrize("criterion", [MCL(self_pairs=True), KCL(self_pairs=True)], ids=["mcl", "kcl"])
def test_self_pairs_of_a_table(criterion: MCL | KCL) -> None:
    table = TABLES["closure"]
    same, weight = dense(table, B)
    torch.testing.assert_close(criterion(LOGITS, table), criterion(LOGITS, same, weight=weight))
    assert abs(float(criterion(LOGITS, table) - type(criterion)()(LOGITS, table))) > 1e-5


def test_a_table_has_its_own_weights() -> None:
    with pytest.raises(ValueError, match="leave out pairs and weight"):
        MCL()(LOGITS, TABLES["labels"], weight=torch.ones(B, B))


def test_the_loss_of_each_pair() -> None:
    each = MCL(reduction="none")(LOGITS, TABLES["closure"])
    same, weight = dense(TABLES["closure"], B)
    torch.testing.assert_close(each, MCL(reduction="none")(LOGITS, same, weight=weight))


def test_an_overlay_has_the_weights_of_both() -> None:
    nan = torch.nan
    first = MatrixTable(torch.tensor([[nan, 0, nan], [0, nan, nan], [nan, nan, nan]]), torch.full((3, 3), 5.0))
    second = MatrixTable(torch.tensor([[nan, 1, 0.25], [1, nan, nan], [0.25, nan, nan]]), torch.full((3, 3), 2.0))
    same, weight = dense(Overlay(first, second), 3)
    torch.testing.assert_close(same, torch.tensor([[nan, 0, 0.25], [0, nan, nan], [0.25, nan, nan]]), equal_nan=True)
    assert weight is not None
    assert weight.tolist() == [[0, 5, 2], [5, 0, 0], [2, 0, 0]]
    assert not Overlay(first, second).certain
    assert Overlay(TABLES["labels"], TABLES["closure"]).certain


@pytest.mark.parametrize("ranks", [1, 2, 3, 7])
def test_ranks_share_out_the_pairs(ranks: int) -> None:
    """Each pair is shown on one rank, once."""
    numbers = torch.arange(11)
    listing = Listing(numbers, numbers + 1, numbers / 20, torch.ones(11))
    parts = [part for rank in range(ranks) for part in listing.parts(1 << 20, torch.float64, rank, ranks)]
    assert [len(part.left) for part in parts if len(part.left) > 4] == []  # 2^22 probabilities at a time
    assert [place for part in parts for place in range(part.start, part.start + len(part.left))] == list(range(11))
    assert torch.equal(torch.cat([part.left for part in parts]), numbers)
    assert torch.equal(torch.cat([part.right for part in parts]), numbers + 1)
    assert torch.equal(torch.cat([part.same for part in parts]), (numbers / 20).double())
    seen = torch.zeros(900, 900)
    for rank in range(ranks):
        for tile in Grid(900, LabelTable(torch.zeros(900)), False).parts(3, torch.float32, rank, ranks):
            seen[tile.rows, tile.columns] += 1
    assert torch.equal(seen.triu(), torch.ones(900, 900).triu())
