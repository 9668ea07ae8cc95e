"""VAT where the most upsetting direction is known, and what it must leave alone."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor, nn

from likewise.supervision.semi import SemiBatch, adversarial_direction, keeping_statistics, unit, usual_epsilon, vat

LABELLED, B, D = 2, 5, 7
INPUTS = torch.randn(LABELLED + B, D, generator=torch.Generator().manual_seed(0))


def seen(network: nn.Module) -> SemiBatch:
    return SemiBatch(network, INPUTS, network(INPUTS), LABELLED)


def two_classes() -> nn.Linear:
    torch.manual_seed(2)
    return nn.Linear(D, 2)


def test_with_two_classes_the_direction_is_the_difference_of_their_weights() -> None:
    """H = p (1 - p) w w' with w = w_1 - w_2: of rank one, so that one power iteration finds it."""
    network = two_classes()
    given = seen(network)
    torch.manual_seed(0)
    direction = adversarial_direction(given, given.item_logits.detach().log_softmax(1), xi=0.01)
    w = (network.weight[0] - network.weight[1]).detach()
    cosines = direction @ (w / w.norm())
    assert cosines.abs().tolist() == pytest.approx([1.0] * B, abs=1e-4)
    assert len(set(cosines.sign().tolist())) == 2  # the start decides on the side


def test_the_loss_is_the_divergence_at_that_distance() -> None:
    network, epsilon = two_classes(), 0.7
    given = seen(network)
    torch.manual_seed(0)
    direction = adversarial_direction(given, given.item_logits.detach().log_softmax(1), xi=0.01 * epsilon)
    torch.manual_seed(0)
    loss = vat(epsilon)(given)
    total = 0.0
    for x, r in zip(given.items.double(), direction.double(), strict=True):
        p, q = (torch.softmax(network.double()(at), 0).tolist() for at in (x, x + epsilon * r))
        total += sum(a * math.log(a / b) for a, b in zip(p, q, strict=True))
    assert loss.item() == pytest.approx(total / B, rel=1e-4)


def test_it_upsets_more_than_a_random_change_of_that_length() -> None:
    torch.manual_seed(3)
    network = nn.Sequential(nn.Linear(D, 30), nn.Tanh(), nn.Linear(30, 4))
    given = seen(network)
    clean = given.item_logits.detach().softmax(1)

    def divergence(r: Tensor) -> float:
        q = network(given.items + r).log_softmax(1)
        return (clean * (clean.log() - q)).sum(1).mean().item()

    by_chance = [divergence(0.5 * unit(torch.randn(B, D))) for _ in range(20)]
    assert vat(0.5)(given).item() > max(by_chance)


def test_the_gradient_is_that_of_the_perturbed_answer_alone() -> None:
    network = two_classes()
    given = seen(network)
    torch.manual_seed(0)
    vat(1.0)(given).backward()
    found = network.weight.grad.clone()  # type: ignore[union-attr]
    torch.manual_seed(0)
    direction = adversarial_direction(given, given.item_logits.detach().log_softmax(1), xi=0.01)
    network.zero_grad()
    clean = given.item_logits.detach().softmax(1)
    logits = network(given.items + direction)
    (clean * (clean.log() - logits.log_softmax(1))).sum(1).mean().backward()
    torch.testing.assert_close(found, network.weight.grad)


def test_batch_norm_forgets_the_items_that_were_made_up() -> None:
    network = nn.Sequential(nn.Linear(D, 4), nn.BatchNorm1d(4), nn.Linear(4, 3))
    given = seen(network)
    before = {name: value.clone() for name, value in network.named_buffers()}
    vat(2.0)(given)
    assert all(torch.equal(value, before[name]) for name, value in network.named_buffers())
    assert network[1].track_running_stats
    kept = keeping_statistics(network)
    kept.__enter__()
    assert not network[1].track_running_stats
    kept.__exit__(None, None, None)
    assert network[1].track_running_stats


def test_lengths_are_one_however_small() -> None:
    directions = torch.randn(3, 2, 4, 4)
    for scale in (1.0, 1e-30, 1e30):
        lengths = unit(scale * directions).flatten(1).norm(dim=1)
        assert lengths.tolist() == pytest.approx([1.0] * 3, rel=1e-5)
    assert not unit(torch.zeros(2, 5)).any()


def test_the_usual_epsilon_changes_each_number_alike() -> None:
    assert usual_epsilon(3 * 32 * 32) == 8
    assert usual_epsilon(64) / math.sqrt(64) == pytest.approx(8 / math.sqrt(3072))
