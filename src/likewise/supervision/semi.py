"""A few labels and much without (section 4.3 of the paper): one objective, of which the methods differ in L_reg alone.

    L = alpha L_sup(X_L, Y_L) + beta L_reg(X_L and X_UL)                    (appendix C)
    alpha = |D_L| / (|D| + |D_L|),    beta = |D| / (|D| + |D_L|)

|D_L| items have a label, |D| is all of them: nothing to tune. L_sup is cross-entropy, which also decides what output
stands for what class.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, kl_div, mse_loss, pad
from torch.nn.modules.batchnorm import _BatchNorm

from likewise.criteria import mcl
from likewise.distributed import current_share
from likewise.errors import InputError
from likewise.supervision.labels import LabelledBatch
from likewise.supervision.pseudo import pseudo_similarity

MOST = 0.999


class AveragedNetwork(nn.Module):
    """A network and the moving average of its weights: the first is trained, the second predicts in evaluation mode.

        average <- d average + (1 - d) weights,    d = min(0.999, (1 + t) / (10 + t)) at step t

    The average covers a tenth of the steps so far, and at most a thousand. Both are part of the module's state, so that
    a resumed run has them again.

    >>> network = AveragedNetwork(nn.Linear(1, 1, bias=False))
    >>> _ = network.network.weight.data.fill_(1), network.average.weight.data.fill_(0)
    >>> network.follow()
    >>> round(network.average.weight.item(), 6)  # d = 1/10 at first
    0.9
    """

    steps: Tensor

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network
        self.training = network.training  # so that `train` sees which parts of the network are frozen
        self.average = copy.deepcopy(network).requires_grad_(False).eval()
        self.register_buffer("steps", torch.zeros((), dtype=torch.int64))

    @torch.no_grad()
    def follow(self) -> None:
        """Move the average towards the weights of this step; what is counted (by batch-norm) is copied."""
        t = int(self.steps)
        move = 1 - min(MOST, (1 + t) / (10 + t))
        old, new = list(self.average.state_dict().values()), list(self.network.state_dict().values())
        numbers = [place for place, value in enumerate(old) if value.is_floating_point()]
        torch._foreach_lerp_([old[place] for place in numbers], [new[place] for place in numbers], move)
        for place in set(range(len(old))) - set(numbers):
            old[place].copy_(new[place])
        self.steps += 1

    def train(self, mode: bool = True) -> AveragedNetwork:
        super().train(mode)
        self.average.eval()
        return self

    def forward(self, inputs: Tensor) -> Tensor:
        logits: Tensor = self.network(inputs) if self.training else self.average(inputs)
        return logits


@dataclass(frozen=True)
class SemiBatch:
    """A batch and what the network made of it: some labelled rows, then b items in one view after another.

    Over several ranks, `inputs` and `items` are this rank's rows.
    """

    network: nn.Module
    inputs: Tensor  # (labelled + views b, ...)
    logits: Tensor  # (labelled + views b, K)
    labelled: int

    @property
    def items(self) -> Tensor:
        return self.inputs[self._labelled_here :]

    @property
    def _labelled_here(self) -> int:
        return current_share(len(self.inputs)).before(self.labelled)

    @property
    def item_logits(self) -> Tensor:
        return self.logits[self.labelled :].float()

    def again(self, items: Tensor) -> Tensor:
        """The logits of other items in the batch's place, beside the same labelled rows, which batch-norm sees too."""
        inputs = self.inputs.clone()
        inputs[self._labelled_here :] = items
        logits: Tensor = self.network(inputs)[self.labelled :].float()
        return logits


Regulariser = Callable[[SemiBatch], Tensor]  # -> a scalar


class Weights(NamedTuple):
    alpha: float
    beta: float


def natural_weights(n_labelled: int, n_items: int) -> Weights:
    """
    >>> natural_weights(4000, 50000)
    Weights(alpha=0.07407407407407407, beta=0.9259259259259259)
    """
    return Weights(n_labelled / (n_items + n_labelled), n_items / (n_items + n_labelled))


def semi_objective(
    regulariser: Regulariser,
    labelled: int,  # rows at the head of each batch
    weights: Weights,
    class_weight: Tensor | None = None,  # (C,) of the classes that have labels, the first C outputs
) -> Callable[[nn.Module, LabelledBatch], tuple[Tensor, Tensor]]:
    """The objective for `train`; the whole batch goes through the network at once."""

    def objective(network: nn.Module, batch: LabelledBatch) -> tuple[Tensor, Tensor]:
        if isinstance(network, AveragedNetwork):
            network.follow()
        logits = network(batch.inputs)
        labels = batch.labels[:labelled]
        weight = None
        if class_weight is not None:
            weight = pad(class_weight.to(logits.device), (0, logits.shape[1] - len(class_weight)))  # (K,)
        supervised = cross_entropy(logits[:labelled].float(), labels, weight)
        regularised = regulariser(SemiBatch(network, batch.inputs, logits, labelled))
        return weights.alpha * supervised + weights.beta * regularised, logits

    return objective


# The methods: the regulariser L_reg of each, and what it asks of a batch.

SURE = 0.95


def pseudo_label(seen: SemiBatch) -> Tensor:
    """Pseudo-Label (Lee, 2013): the network's most likely class is taken for the truth.

    L_reg = mean_i - log p_i(argmax_k p_i(k)), over one view of each item; no gradient flows through the label.
    """
    logits = seen.item_logits  # (b, K)
    return cross_entropy(logits, logits.detach().argmax(1))


def pi_model(seen: SemiBatch) -> Tensor:
    """The Pi-model (Laine & Aila, 2017; Sajjadi et al., 2016): two views of an item get the same output.

    L_reg = mean_i 1/K sum_k (p_i(k) - p'_i(k))^2; the gradient flows through both views.
    """
    first, second = seen.item_logits.softmax(1).chunk(2)  # (b, K) each
    return mse_loss(first, second)


def spn_mcl(similarity: Callable[[Tensor], Tensor]) -> Regulariser:
    """SPN-MCL (section 5.4 of the paper): MCL on the pairs of a similarity network g, trained on the labelled items.

    L_reg = MCL with S(i, j) = [g(x_i, x_j) > 0.5] and g fixed, over one view of each item. `similarity` gives the
    (b, b) probabilities of "same" of b items.
    """

    def regulariser(seen: SemiBatch) -> Tensor:
        same = (similarity(seen.items) > 0.5).float()  # (b, b)
        return mcl(seen.item_logits, same)

    return regulariser


def pseudo_mcl(seen: SemiBatch) -> Tensor:
    """Pseudo-MCL (section 4.3 of the paper): MCL on what the network itself predicts for pairs.

    L_reg = MCL with S(i, j) = 1 where s_hat(i, j) > 0.5, or where i and j are two views of one item, else 0. There are
    two views of each item, and all pairs of views count.
    """
    logits = seen.item_logits  # (2 b, K)
    item = torch.arange(len(logits) // 2, device=logits.device).repeat(2)
    return mcl(logits, pseudo_similarity(logits, item, averaged=False))


def pseudo_mcl_plus(seen: SemiBatch) -> Tensor:
    """Pseudo-MCL+, beyond the paper: weak views supply the target where they are sure, and strong views learn it.

        s_hat(i, j) = p_i . p_j of weak views, without a gradient
        S(i, j) = 1 where s_hat > 0.95, 0 where s_hat < 0.05, unknown elsewhere; an item is the same as itself
        L_reg = MCL over the pairs of two strong views, and of a strong and a weak one

    A pair that the network is unsure of teaches nothing, where plain Pseudo-MCL rounds it to 0 or 1.
    """
    weak, strong = seen.item_logits.chunk(2)  # (b, K) each
    weak = weak.detach()
    same = sure_similarity(weak)  # (b, b)
    across = same.clone().fill_diagonal_(1)
    unknown = torch.full_like(same, torch.nan)
    views = torch.cat([torch.cat([same, across], 1), torch.cat([across, unknown], 1)])  # (2 b, 2 b)
    return mcl(torch.cat([strong, weak]), views)


def sure_similarity(logits: Tensor) -> Tensor:
    """The (b, b) target of a batch: 1 or 0 where s_hat is sure of it, NaN elsewhere.

    >>> sure_similarity(torch.tensor([[9.0, 0.0], [9.0, 0.0], [0.0, 9.0], [0.0, 0.0]]))
    tensor([[1., 1., 0., nan],
            [1., 1., 0., nan],
            [0., 0., 1., nan],
            [nan, nan, nan, nan]])
    """
    p = logits.detach().softmax(1)
    s_hat = p @ p.T
    unsure = (s_hat <= SURE) & (s_hat >= 1 - SURE)
    return (s_hat > 0.5).float().masked_fill_(unsure, torch.nan)


class Aids(NamedTuple):
    """What a regulariser may need besides the batch."""

    epsilon: float  # VAT's
    similarity: Callable[[Tensor], Tensor] | None = None  # b items -> (b, b) probabilities of "same"


XI = 0.01  # of epsilon: near enough for the second order, and far enough for float32 to tell the difference
EPSILON, NUMBERS = 8.0, 3 * 32 * 32  # the paper's for CIFAR-10 with augmentation, whose items have so many numbers


def usual_epsilon(n_numbers: int) -> float:
    """CIFAR-10's epsilon, scaled to items of `n_numbers` numbers of deviation 1: the same change of each number.

    >>> usual_epsilon(3 * 32 * 32), round(usual_epsilon(64), 3)
    (8.0, 1.155)
    """
    return EPSILON * math.sqrt(n_numbers / NUMBERS)


def vat(epsilon: float) -> Regulariser:
    """VAT (Miyato et al., 2018): an item keeps its outputs under the small change that alters them most.

        L_reg = mean_i KL(p(x_i) || p(x_i + r_i)),    r_i = argmax of the same over |r| <= epsilon

    There is one view of each item; `epsilon` is a length in the space of the normalised inputs. Near x the divergence
    is r' H r / 2, so r points along the first eigenvector of H, which one step of the power iteration from a random
    direction d approaches: H d is the gradient of the divergence at x + xi d, over xi.
    """

    return lambda seen: roughness(seen, epsilon)


def roughness(seen: SemiBatch, epsilon: float) -> Tensor:
    """How much the outputs of a batch change under the change of length `epsilon` that alters them most."""
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
    """Each item's direction, scaled to length 1; zero stays zero."""
    flat = directions.flatten(1)
    largest = flat.abs().amax(1, keepdim=True)  # first by this, so that no square underflows
    flat = flat / largest.clamp_min(torch.finfo(flat.dtype).tiny)
    length: Tensor = flat.norm(dim=1, keepdim=True)  # 1 or more, or 0
    return (flat / length.clamp_min(1)).view_as(directions)


@contextmanager
def keeping_statistics(network: nn.Module) -> Iterator[None]:
    """Inside, batch-norm normalises by the current batch as usual, but does not update its running statistics."""
    norms = [module for module in network.modules() if isinstance(module, _BatchNorm) and module.track_running_stats]
    try:
        for norm in norms:
            norm.track_running_stats = False
        yield
    finally:
        for norm in norms:
            norm.track_running_stats = True


@dataclass(frozen=True)
class Method:
    name: str
    views: int  # of each item
    regulariser: Callable[[Aids], Regulariser] | None  # None: labels alone
    needs_similarity: bool = False  # whether a similarity network is trained first
    strong: bool = False  # whether the second view is strongly augmented
    averaged: bool = False  # whether the average of the weights is what is learned
    balanced: bool = False  # whether every class counts alike in L_sup, however many labels it has


def _spn_mcl(aids: Aids) -> Regulariser:
    assert aids.similarity is not None
    return spn_mcl(aids.similarity)


METHODS = {
    method.name: method
    for method in (
        Method("supervised", 0, None),
        Method("pseudo-label", 1, lambda aids: pseudo_label),
        Method("pi-model", 2, lambda aids: pi_model),
        Method("vat", 1, lambda aids: vat(aids.epsilon)),
        Method("spn-mcl", 1, _spn_mcl, needs_similarity=True),
        Method("pseudo-mcl", 2, lambda aids: pseudo_mcl),
        Method("pseudo-mcl+", 2, lambda aids: pseudo_mcl_plus, strong=True, averaged=True, balanced=True),
    )
}


def find_method(name: str) -> Method:
    """
    >>> find_method("pi-model").views
    2
    """
    if name not in METHODS:
        raise InputError(f"There is no method {name!r}; choose one of {', '.join(METHODS)}.")
    return METHODS[name]
