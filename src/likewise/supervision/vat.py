"""Virtual adversarial training (Miyato et al., 2018): an item is answered alike after the change that upsets it most.

    L_reg = mean_i KL(p(x_i) || p(x_i + r_i)),    r_i = argmax of the same over |r| <= epsilon

Near x the divergence is r' H r / 2, so r points along the first eigenvector of H, which one step of the power iteration
from a random direction d approaches: H d is the gradient of the divergence at x + xi d, over xi.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.nn.functional import kl_div
from torch.nn.modules.batchnorm import _BatchNorm

if TYPE_CHECKING:
    from likewise.supervision.semi import Regulariser, SemiBatch

XI = 0.01  # of epsilon: near enough for the second order, and far enough for float32 to tell the difference
EPSILON, NUMBERS = 8.0, 3 * 32 * 32  # the paper's for CIFAR-10 with augmentation, whose items have so many numbers


def usual_epsilon(n_numbers: int) -> float:
    """CIFAR-10's, brought to items of so many numbers, each of deviation 1: the same change of each number.

    >>> usual_epsilon(3 * 32 * 32), round(usual_epsilon(64), 3)
    (8.0, 1.155)
    """
    return EPSILON * math.sqrt(n_numbers / NUMBERS)


def vat(epsilon: float) -> Regulariser:
    """One view of each item; `epsilon` is a length in the space of the normalised inputs."""

    return lambda seen: roughness(seen, epsilon)


def roughness(seen: SemiBatch, epsilon: float) -> Tensor:
    """How differently items of a batch are answered after the change of length `epsilon` that upsets them most."""
    clean = seen.item_logits.detach().log_softmax(1)  # (b, K)
    with keeping_statistics(seen.network):
        direction = adversarial_direction(seen, clean, XI * epsilon)
        return divergence(clean, seen.again(seen.items + epsilon * direction))


def adversarial_direction(seen: SemiBatch, clean: Tensor, xi: float) -> Tensor:
    """Of length 1 for each item: one power iteration from a random direction."""
    start = unit(torch.randn_like(seen.items)).requires_grad_()
    (gradient,) = torch.autograd.grad(divergence(clean, seen.again(seen.items + xi * start)), start)
    return unit(gradient)


def divergence(clean: Tensor, logits: Tensor) -> Tensor:
    """mean_i KL(p || q), from log p (b, K) and the logits of q (b, K)."""
    return kl_div(logits.log_softmax(1), clean, reduction="batchmean", log_target=True)


def unit(directions: Tensor) -> Tensor:
    """Each item's direction with length 1; nothing stays nothing."""
    flat = directions.flatten(1)
    largest = flat.abs().amax(1, keepdim=True)  # first by this, so that no square underflows
    flat = flat / largest.clamp_min(torch.finfo(flat.dtype).tiny)
    length: Tensor = flat.norm(dim=1, keepdim=True)  # 1 or more, or 0
    return (flat / length.clamp_min(1)).view_as(directions)


@contextmanager
def keeping_statistics(network: nn.Module) -> Iterator[None]:
    """Batch-norm normalises by the batch at hand as ever, but it keeps no statistics of perturbed items."""
    norms = [module for module in network.modules() if isinstance(module, _BatchNorm) and module.track_running_stats]
    try:
        for norm in norms:
            norm.track_running_stats = False
        yield
    finally:
        for norm in norms:
            norm.track_running_stats = True
