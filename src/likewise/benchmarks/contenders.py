"""The contenders of `likewise bench criterion`, each from logits (b, K) and class labels to the gradient.

    naive-mcl, naive-kcl   all b^2 pairs written out, as one would at first
    products               P P' and G P alone, with G (b, b) given: what no form of MCL can do without
    cross-entropy          torch's own
    mcl, kcl               ours

`python -m likewise.benchmarks.contenders NAME b K THREADS` prints the MiB that one of them adds to a process.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from likewise.benchmarks.measure import added_mebibytes
from likewise.criteria import kcl, mcl

EPSILON = 1e-7
MARGIN = 2.0

Loss = Callable[[Tensor, Tensor], Tensor]


def naive_mcl(logits: Tensor, labels: Tensor) -> Tensor:
    left, right, same = enumerate_pairs(logits.softmax(1), labels)
    s_hat = (left * right).sum(1)  # (b^2,)
    return -(same * (s_hat + EPSILON).log() + (1 - same) * (1 - s_hat + EPSILON).log()).mean()


def naive_kcl(logits: Tensor, labels: Tensor) -> Tensor:
    """Each ordered pair has one direction of the divergence, so its mean is half that of pairs with both."""
    left, right, same = enumerate_pairs(logits.softmax(1), labels)
    kl = (left * ((left + EPSILON).log() - (right + EPSILON).log())).sum(1)  # (b^2,)
    return (same * kl + (1 - same) * (MARGIN - kl).clamp_min(0)).mean()


def enumerate_pairs(p: Tensor, labels: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Both items of every ordered pair, (b^2, K) each, and whether they are the same, (b^2,)."""
    b = len(p)
    same = labels.repeat_interleave(b) == labels.repeat(b)
    return p.repeat_interleave(b, 0), p.repeat(b, 1), same.to(p.dtype)


LOSSES: dict[str, Loss] = {
    "naive-mcl": naive_mcl,
    "naive-kcl": naive_kcl,
    "cross-entropy": cross_entropy,
    "mcl": mcl,
    "kcl": partial(kcl, margin=MARGIN),
}

# Tensors of b^2 K floats that are there at once: for MCL both items and their gradients; for KCL both items, both with
# epsilon, both logarithms and the difference.
NAIVE_TENSORS = {"naive-mcl": 4, "naive-kcl": 7}


def naive_bytes(name: str, b: int, outputs: int) -> int:
    """Memory that a naive contender needs at its peak.

    >>> naive_bytes("naive-mcl", 4096, 100) / 2**30
    25.0
    """
    return NAIVE_TENSORS[name] * b * b * outputs * torch.float32.itemsize


def contender(name: str, b: int, outputs: int) -> Callable[[], Tensor]:
    """A call that does the contender's whole work on a fixed batch of standard normal logits, and gives the gradient.

    For the products, which have none, it gives G P.
    """
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(b, outputs, generator=generator)
    labels = torch.randint(outputs, (b,), generator=generator)
    if name == "products":
        return partial(products, logits.softmax(1), torch.randn(b, b, generator=generator))
    return partial(gradient, LOSSES[name], logits.requires_grad_(), labels)


def gradient(loss: Loss, logits: Tensor, labels: Tensor) -> Tensor:
    (result,) = torch.autograd.grad(loss(logits, labels), logits)
    return result


def products(p: Tensor, slope: Tensor) -> Tensor:
    p @ p.T  # its cost is wanted, not its value
    return slope @ p


if __name__ == "__main__":
    who, size, n_outputs, threads = sys.argv[1], *map(int, sys.argv[2:])
    torch.set_num_threads(threads)
    contender(who, 4, n_outputs)()  # what a first call loads is not the contender's
    print(added_mebibytes(contender(who, size, n_outputs)))
