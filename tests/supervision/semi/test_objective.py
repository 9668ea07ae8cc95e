"""The shared objective: its weights, what counts as labelled, and what a regulariser is shown."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor, nn

from likewise.supervision.semi import AveragedNetwork, BatchSeen, Weights, natural_weights, semi_objective
from likewise.training import Batch

LABELLED, ITEMS, K = 3, 4, 5
INPUTS = torch.randn(LABELLED + 2 * ITEMS, 6, generator=torch.Generator().manual_seed(0))
LABELS = torch.tensor([2, 0, 2, *[-1] * (2 * ITEMS)])


def network() -> nn.Linear:
    torch.manual_seed(1)
    return nn.Linear(6, K)


def batch(labels: Tensor = LABELS) -> Batch:
    return Batch(INPUTS, labels, torch.arange(len(INPUTS)))


def test_the_weights_are_those_of_appendix_c() -> None:
    for n_labelled, n_items in ((4000, 50000), (50, 1442), (7, 7)):
        alpha, beta = natural_weights(n_labelled, n_items)
        assert alpha + beta == pytest.approx(1)
        assert beta / alpha == pytest.approx(n_items / n_labelled)


@pytest.mark.parametrize("class_weight", [None, [0.5, 1.0, 2.0, 1.0, 1.0]])
def test_cross_entropy_of_the_labelled_rows_and_the_regulariser_of_the_rest(class_weight: list[float] | None) -> None:
    shown: list[BatchSeen] = []

    def regulariser(seen: BatchSeen) -> Tensor:
        shown.append(seen)
        return seen.item_logits.sum()

    model = network()
    told = None if class_weight is None else torch.tensor(class_weight)
    loss, logits = semi_objective(regulariser, LABELLED, Weights(0.25, 0.5), told)(model, batch())
    values = model(INPUTS).double().tolist()
    counts = class_weight or [1.0] * K
    total = sum(
        counts[label] * -math.log(math.exp(row[label]) / sum(map(math.exp, row)))
        for row, label in zip(values, [2, 0, 2], strict=False)
    )
    supervised = total / sum(counts[label] for label in (2, 0, 2))
    expected = 0.25 * supervised + 0.5 * sum(sum(row) for row in values[LABELLED:])
    assert loss.item() == pytest.approx(expected, rel=1e-5)
    assert torch.equal(logits, model(INPUTS))
    (seen,) = shown
    assert torch.equal(seen.items, INPUTS[LABELLED:])
    assert seen.network is model


def test_labels_of_further_rows_are_not_learned_from() -> None:
    objective = semi_objective(lambda seen: seen.logits.sum() * 0, LABELLED, Weights(1, 1))
    known = LABELS.clone()
    known[LABELLED:] = 4
    assert objective(network(), batch())[0].item() == objective(network(), batch(known))[0].item()


def test_other_items_are_seen_beside_the_same_labelled_rows() -> None:
    norm = nn.BatchNorm1d(6, affine=False)
    with torch.no_grad():
        seen = BatchSeen(norm, INPUTS, norm(INPUTS), LABELLED)
        assert torch.equal(seen.again(seen.items), seen.item_logits)
        others = seen.items + 3
        whole = norm(torch.cat([INPUTS[:LABELLED], others]))
        assert torch.equal(seen.again(others), whole[LABELLED:])
    assert torch.equal(seen.items, INPUTS[LABELLED:])  # as it was


def test_an_averaged_network_follows_once_a_step() -> None:
    model = AveragedNetwork(network())
    objective = semi_objective(lambda seen: seen.logits.sum() * 0, LABELLED, Weights(1, 1))
    for steps in (1, 2):
        objective(model, batch())
        assert int(model.steps) == steps
