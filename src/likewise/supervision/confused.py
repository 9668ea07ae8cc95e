"""Answers of people who mix up certain classes: the network, and beside it which classes they mix up."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from likewise.criteria.confusion import USUAL, confusion_mcl, confusion_prior, volume
from likewise.supervision.answers import AnsweredBatch, BetweenItems, Known
from likewise.supervision.pseudo import item_numbers

VOLUME = 0.01  # the weight of the volume
FAST = 50.0  # lets few parameters move as fast as a network of many


class ConfusedNetwork(nn.Module):
    """A network with K outputs, and B (K, K): how often two items are called the same, by their classes."""

    def __init__(self, network: nn.Module, n_outputs: int) -> None:
        super().__init__()
        self.network = network
        self.training = network.training  # so that `train` sees which parts of the network are frozen
        usual = torch.full((n_outputs, n_outputs), USUAL).fill_diagonal_(1 - USUAL)
        self.confusion_logit = nn.Parameter(torch.logit(usual) / FAST)

    @property
    def confusion(self) -> Tensor:
        """B, symmetric, between 0 and 1."""
        return torch.sigmoid(FAST * (self.confusion_logit + self.confusion_logit.T) / 2)

    def forward(self, inputs: Tensor) -> Tensor:
        logits: Tensor = self.network(inputs)
        return logits


def confusion_objective(
    known: Known, n_answers: int
) -> Callable[[ConfusedNetwork, AnsweredBatch], tuple[Tensor, Tensor]]:
    """The objective for `train`: the known pairs of the batch, the prior of B, and the volume of the outputs."""

    def objective(network: ConfusedNetwork, batch: AnsweredBatch) -> tuple[Tensor, Tensor]:
        logits = network(batch.inputs)
        index = batch.index.to(logits.device)
        same = BetweenItems(known.among(batch.index.cpu().numpy(), logits.device), item_numbers(index))
        confusion = network.confusion
        loss = confusion_mcl(logits.float(), same, confusion) + confusion_prior(confusion) / n_answers
        return loss - VOLUME * volume(logits.float()), logits

    return objective
