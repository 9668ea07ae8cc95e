"""Joint MCL against an enumeration of all matchings in float64, and the groups that it matches."""

from __future__ import annotations

import math
from itertools import permutations

import numpy as np
import pytest
import torch
from torch import Tensor

from likewise.criteria import LabelTable, MatrixTable, joint_mcl, mcl
from likewise.criteria.joint import groups_of_table
from likewise.pairs import Pairs
from likewise.supervision import AnswerKnowledge

NAN = math.nan


def enumerated(logits: Tensor, labels: Tensor) -> Tensor:
    """Minus the log of the largest term of the likelihood, over the number of items."""
    log_p = logits.double().log_softmax(1)
    names = labels.unique().tolist()
    terms = []
    for outputs in permutations(range(logits.shape[1]), len(names)):
        output_of = dict(zip(names, outputs, strict=True))
        terms.append(torch.stack([log_p[i, output_of[int(name)]] for i, name in enumerate(labels)]).sum())
    return -torch.stack(terms).max() / len(labels)


def same_matrix(labels: Tensor) -> Tensor:
    return (labels[:, None] == labels).float()


@pytest.mark.parametrize("scale", [1e-3, 1.0, 100.0, 1000.0])
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_value_and_gradient(scale: float, seed: int, n_classes: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    logits = (scale * torch.randn(9, 5, generator=generator)).requires_grad_()
    labels = torch.randint(n_classes, (9,), generator=generator)
    labels[:2] = torch.tensor([0, 1])
    loss, expected = joint_mcl(logits, labels), enumerated(logits, labels)
    torch.testing.assert_close(loss.double(), expected, rtol=1e-5, atol=1e-6)
    (gradient,) = torch.autograd.grad(loss, logits)
    (exact,) = torch.autograd.grad(expected, logits)
    torch.testing.assert_close(gradient, exact, rtol=1e-4, atol=1e-6)


def test_the_gradient_is_that_of_the_loss() -> None:
    generator = torch.Generator().manual_seed(3)
    logits = torch.randn(7, 4, generator=generator, dtype=torch.float64, requires_grad=True)
    memory = torch.randn(5, 4, generator=generator, dtype=torch.float64)
    labels = torch.tensor([0, 1, 2, 0, 1, 0, 1, 2, 0, 1, 2, -1])
    assert torch.autograd.gradcheck(lambda each: joint_mcl(each, labels, memory=memory), logits)


def test_it_learns_where_the_gradient_of_mcl_is_zero() -> None:
    labels = torch.tensor([0, 0, 1, 1, 2])
    logits = torch.zeros(5, 3, requires_grad=True)
    (flat,) = torch.autograd.grad(mcl(logits, labels), logits)
    (steep,) = torch.autograd.grad(joint_mcl(logits, labels), logits)
    assert flat.abs().max() < 1e-6
    assert (steep.abs().amax(1) > 0.1).all()


def test_the_three_forms_are_one() -> None:
    logits = torch.randn(8, 4, generator=torch.Generator().manual_seed(0))
    labels = torch.tensor([0, 1, 2, 0, 1, 2, 0, 1])
    pairs = torch.triu_indices(8, 8, 1).T
    same = same_matrix(labels)
    expected = joint_mcl(logits, labels)
    assert joint_mcl(logits, same) == expected
    assert joint_mcl(logits, same[pairs[:, 0], pairs[:, 1]], pairs=pairs) == expected
    assert joint_mcl(logits, LabelTable(labels.float())) == expected


def test_neither_the_order_of_items_nor_that_of_outputs_matters() -> None:
    generator = torch.Generator().manual_seed(0)
    logits, labels = torch.randn(12, 4, generator=generator), torch.randint(4, (12,), generator=generator)
    expected = joint_mcl(logits, labels)
    rows, columns = torch.randperm(12, generator=generator), torch.randperm(4, generator=generator)
    torch.testing.assert_close(joint_mcl(logits[rows], labels[rows]), expected)
    torch.testing.assert_close(joint_mcl(logits[:, columns], labels), expected)
    torch.testing.assert_close(joint_mcl(logits, 7 - labels), expected)


def test_items_without_a_label_take_no_part() -> None:
    generator = torch.Generator().manual_seed(0)
    logits, labels = torch.randn(12, 3, generator=generator), torch.arange(12) % 3
    known = torch.arange(12) % 4 > 0
    logits.requires_grad_()
    loss = joint_mcl(logits, labels.where(known, -1))
    torch.testing.assert_close(loss, joint_mcl(logits[known], labels[known]))
    (gradient,) = torch.autograd.grad(loss, logits)
    assert torch.equal(gradient.abs().sum(1) > 0, known)


def test_only_groups_that_are_known_to_differ_are_matched() -> None:
    """Three groups of 3, 2 and 1 items; of the last it is not known whether it differs from the first."""
    labels = torch.tensor([0, 0, 0, 1, 1, 2])
    same = same_matrix(labels)
    same[:3, 5] = same[5, :3] = NAN
    logits = torch.randn(6, 4, generator=torch.Generator().manual_seed(0), requires_grad=True)
    loss = joint_mcl(logits, same)
    torch.testing.assert_close(loss, joint_mcl(logits, labels.where(labels < 2, -1)))
    (gradient,) = torch.autograd.grad(loss, logits)
    assert (gradient.abs().sum(1) > 0).tolist() == [True] * 5 + [False]


def test_a_group_that_differs_from_none_is_in_nobodys_way() -> None:
    same = torch.full((6, 6), NAN)
    same[:3, :3] = 1  # the largest group, of which nothing else is known
    same[4, 5] = same[5, 4] = 0
    logits = torch.randn(6, 4, generator=torch.Generator().manual_seed(0), requires_grad=True)
    (gradient,) = torch.autograd.grad(joint_mcl(logits, same), logits)
    assert (gradient.abs().sum(1) > 0).tolist() == [False] * 4 + [True] * 2


@pytest.mark.parametrize("same", [torch.full((4, 4), NAN), torch.ones(4, 4), torch.full((4, 4), 0.5)])
def test_without_two_different_groups_there_is_nothing_to_learn(same: Tensor) -> None:
    logits = torch.randn(4, 3, generator=torch.Generator().manual_seed(0), requires_grad=True)
    loss = joint_mcl(logits, same)
    assert loss == 0
    assert not torch.autograd.grad(loss, logits)[0].any()


def test_more_groups_than_outputs() -> None:
    """The two largest are matched."""
    labels = torch.tensor([0, 0, 0, 1, 2, 2, 3])
    logits = torch.randn(7, 2, generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(
        joint_mcl(logits, labels), joint_mcl(logits, torch.tensor([0, 0, 0, -1, 2, 2, -1])), rtol=0, atol=0
    )


def test_groups_of_few_items_are_not_matched() -> None:
    """Those of the memory count: the last group has two items in it, and one in the batch."""
    labels = torch.tensor([0, 0, 0, 1, 1, 1, 2, 3])
    logits = torch.randn(8, 4, generator=torch.Generator().manual_seed(0))
    alone = joint_mcl(logits, labels, least=3)
    torch.testing.assert_close(alone, joint_mcl(logits, labels.where(labels < 2, -1)))
    memory = torch.randn(2, 4, generator=torch.Generator().manual_seed(1))
    both = torch.cat([torch.tensor([3, 3]), labels])
    with_memory = joint_mcl(logits, both, memory=memory, least=3)
    torch.testing.assert_close(with_memory, joint_mcl(logits, both.where(both != 2, -1), memory=memory))
    assert with_memory != alone


def test_the_memory_says_which_output_a_group_has() -> None:
    batch, labels = torch.tensor([[0.1, 0.0], [0.0, 0.1]], requires_grad=True), torch.tensor([0, 1])
    memory, remembered = torch.tensor([[0.0, 3.0], [3.0, 0.0]], requires_grad=True), torch.tensor([0, 1])
    (alone,) = torch.autograd.grad(joint_mcl(batch, labels), batch)
    with_memory = joint_mcl(batch, torch.cat([remembered, labels]), memory=memory)
    expected = torch.nn.functional.cross_entropy(batch, torch.tensor([1, 0]))
    torch.testing.assert_close(with_memory, expected)
    (gradient,) = torch.autograd.grad(with_memory, batch, retain_graph=True)
    assert alone[0, 0] < 0 < gradient[0, 0]
    assert torch.autograd.grad(with_memory, memory, allow_unused=True) == (None,)


def test_a_chain_of_same_has_the_last_word() -> None:
    pairs = torch.tensor([[0, 1], [1, 2], [0, 2], [2, 3]])
    groups = groups_of_table(MatrixTable(matrix_of(pairs, torch.tensor([1.0, 1.0, 0.0, 0.0]), 5)), 5)
    assert groups.place.tolist() == [0, 0, 0, 1, -1]
    assert groups.different[:2, :2].tolist() == [[False, True], [True, False]]


def test_the_groups_of_a_closure_are_those_of_its_pairs() -> None:
    draw = np.random.default_rng(0)
    truth = draw.integers(4, size=30)
    told = draw.integers(30, size=(40, 2))
    told = told[told[:, 0] != told[:, 1]]
    pairs = Pairs.from_arrays(told, (truth[told[:, 0]] == truth[told[:, 1]]).astype(float))
    table = AnswerKnowledge(pairs).among(np.arange(pairs.n_items))
    different, weight = table.tile(slice(0, pairs.n_items), slice(0, pairs.n_items))
    same = torch.where(weight, 1 - different.float(), NAN)
    quick, slow = groups_of_table(table, pairs.n_items), groups_of_table(MatrixTable(same), pairs.n_items)
    spoken_of = slow.place >= 0
    assert torch.equal(
        quick.place[:, None] == quick.place, (slow.place[:, None] == slow.place) & spoken_of | torch.eye(30).bool()
    )
    assert torch.equal(
        quick.different[quick.place][:, quick.place][spoken_of][:, spoken_of],
        slow.different[slow.place[spoken_of]][:, slow.place[spoken_of]],
    )
    logits = torch.randn(pairs.n_items, 4, generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(joint_mcl(logits, table), joint_mcl(logits, same))


def test_half_precision_is_computed_in_single() -> None:
    logits = torch.randn(8, 4, generator=torch.Generator().manual_seed(0)).bfloat16()
    labels = torch.arange(8) % 3
    loss = joint_mcl(logits, labels)
    assert loss.dtype == torch.float32
    assert loss == joint_mcl(logits.float(), labels)


def matrix_of(pairs: Tensor, same: Tensor, b: int) -> Tensor:
    matrix = torch.full((b, b), NAN)
    matrix[pairs[:, 0], pairs[:, 1]] = matrix[pairs[:, 1], pairs[:, 0]] = same
    return matrix
