"""What answers say of a network: how likely they are under it, and which of them it denies."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from likewise.criteria import evidence_mcl, flipped_mcl, mcl
from likewise.pairs import Pairs, credibility
from likewise.supervision import AnsweringNetwork
from likewise.training.pile import Pile

ANSWERS = 2**18  # that are judged together
JUDGED_FLIP = 0.05  # a judge's doubt in every answer: one that a network denies for sure must not outweigh all others


class ErrorRates(NamedTuple):
    """How often each annotator is wrong, (A,) each."""

    false_different: NDArray[np.float64]
    false_same: NDArray[np.float64]


def rate_of(network: nn.Module, flip: float | None) -> float:
    """The rate of wrong answers that a network has learned, or the given one."""
    return float(network.flip.detach()) if isinstance(network, AnsweringNetwork) else float(flip or 0.0)


def answer_loss(
    network: nn.Module, pile: Pile, pairs: Pairs, flip: float | None = 0.0, *, evidence: bool = False
) -> tuple[float, float]:
    """The mean MCL of answers, and the share of them that the network denies."""
    losses, denied = answer_losses(network, pile, pairs, flip, evidence)
    return float(np.average(losses, weights=pairs.weight)), float(denied[pairs.weight > 0].mean())


def answer_losses(
    network: nn.Module, pile: Pile, pairs: Pairs, flip: float | None = 0.0, evidence: bool = False
) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
    """The MCL of each answer (m,), and whether the network denies it (m,).

    Where the answers are `evidence`, `same` is P(same) by each of them.
    """
    items, place = np.unique(np.concatenate([pairs.left, pairs.right]), return_inverse=True)
    logits = pile.logits(network, items)
    p, rate = logits.softmax(1), rate_of(network, flip)
    losses, similarity = [torch.empty(0)], [torch.empty(0)]
    where = torch.from_numpy(place.reshape(2, -1).T.copy())  # (m, 2)
    for some, same in zip(torch.split(where, ANSWERS), torch.split(torch.from_numpy(pairs.same), ANSWERS), strict=True):
        if evidence:
            losses.append(evidence_mcl(logits, same, pairs=some, reduction="none"))
        elif rate:
            losses.append(flipped_mcl(logits, same, rate, pairs=some, reduction="none"))
        else:
            losses.append(mcl(logits, same, pairs=some, reduction="none"))
        similarity.append((p[some[:, 0]] * p[some[:, 1]]).sum(1))
    return torch.cat(losses).numpy(), (torch.cat(similarity).numpy() > 0.5) != (pairs.same > 0.5)


def judged(
    network: nn.Module, pile: Pile, held_out: Pairs, flip: float | None, rates: ErrorRates | None = None
) -> NDArray[np.float32]:
    """The MCL of each held-out answer (m,), with a doubt in every one; with rates, in each annotator as they say."""
    if rates is None:
        return answer_losses(inner(network), pile, held_out, max(rate_of(network, flip), JUDGED_FLIP))[0]
    same = credibility(held_out, *rates).clip(JUDGED_FLIP, 1 - JUDGED_FLIP).astype(np.float32)
    return answer_losses(inner(network), pile, replace(held_out, same=same), evidence=True)[0]


def held_out_scores(network: nn.Module, pile: Pile, held_out: Pairs, flip: float | None) -> dict[str, float]:
    """Columns of the history."""
    if not len(held_out):
        return {}
    loss, wrong = answer_loss(network, pile, held_out, flip)
    return {"held_out_loss": loss, "held_out_accuracy": 1 - wrong}


def inner(network: nn.Module) -> nn.Module:
    return network.network if isinstance(network, AnsweringNetwork) else network
