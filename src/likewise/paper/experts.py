"""Experts who know little, as in the protocol of ECI-PP (2026), and the soft answers that they give.

An expert is an MLP 512-512 with dropout 0.2, trained with cross-entropy on a small share of the labels. Asked about the
items a and b, it answers y = <p_a, p_b>, its own probability that they are the same. A share of the answers is then
replaced by uniform random numbers in [0, 1]. Several experts know different classes: of its own ones an expert saw a
tenth of the labels, of the others one label in 10,000, but at least one item each.

The protocol does not say how long experts are trained. Ours take 50 epochs of Adam.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from likewise.datasets import Items
from likewise.evaluation import accuracy, confusion
from likewise.pairs import Pairs
from likewise.training import predict_logits

HIDDEN, DROPOUT = 512, 0.2
EPOCHS, BATCH, RATE = 50, 64, 1e-3
ONE_KNOWS = 0.01  # of the labels, where there is one expert
KNOWN, UNKNOWN = 0.1, 0.0001  # of the labels of its own classes and of the others, where there are several
RANDOM = 0.3  # of the answers

Floats = NDArray[np.float32]


@dataclass(frozen=True)
class SoftAnswers:
    pairs: Pairs
    replaced: NDArray[np.bool_]  # (m,) by a random number
    experts: tuple[float, ...]  # the share of the items that each of them gets right


def ask_experts(items: Items, n: int, n_experts: int, seed: int) -> SoftAnswers:
    """`n` random pairs, dealt out evenly; each expert answers its own, and a share of the answers is replaced.

    The items are features in [0, 1].
    """
    random = np.random.default_rng([seed, n, n_experts])
    labels = items.labels.numpy()
    drawn = Pairs.from_labels(labels, n=n, random_state=seed)
    who = random.permutation(np.arange(n) % n_experts)
    same, shares = np.empty(n, dtype=np.float32), []
    for expert, known in enumerate(known_classes(items.n_classes, n_experts)):
        rows = seen_items(labels, known, n_experts, random)
        network = train_expert(items.inputs[rows], items.labels[rows], items.n_classes, seed=10 * seed + expert)
        p = predict_logits(network, items.inputs).softmax(1).numpy()  # (n, K)
        mine = who == expert
        same[mine] = np.einsum("mk,mk->m", p[drawn.left[mine]], p[drawn.right[mine]])
        counts = confusion(torch.from_numpy(p.argmax(1)), items.labels, items.n_classes, items.n_classes)
        shares.append(accuracy(counts, np.arange(items.n_classes)))
    replaced = random.random(n) < RANDOM
    same[replaced] = random.random(int(replaced.sum()), dtype=np.float32)
    names = np.array([f"expert {expert + 1}" for expert in range(n_experts)])
    ends = np.stack([drawn.left, drawn.right], axis=1)
    pairs = Pairs.from_arrays(ends, same.clip(0, 1), annotator=names[who] if n_experts > 1 else None)
    return SoftAnswers(pairs.index(len(labels)), replaced, tuple(shares))


def known_classes(n_classes: int, n_experts: int) -> list[NDArray[np.int64]]:
    """The classes that each expert knows: consecutive ones, as evenly as possible.

    >>> [known.tolist() for known in known_classes(10, 3)]
    [[0, 1, 2, 3], [4, 5, 6], [7, 8, 9]]
    """
    return [part.astype(np.int64) for part in np.array_split(np.arange(n_classes), n_experts)]


def seen_items(
    labels: NDArray[np.int64], known: NDArray[np.int64], n_experts: int, random: np.random.Generator
) -> Tensor:
    """The items whose labels an expert has seen, by the share of each class."""
    rows: list[NDArray[np.int64]] = []
    for name in np.unique(labels):
        share = ONE_KNOWS if n_experts == 1 else KNOWN if name in known else UNKNOWN
        of_class = random.permutation(np.flatnonzero(labels == name))
        rows.append(of_class[: max(round(share * len(of_class)), 1)])
    return torch.from_numpy(np.concatenate(rows))


def train_expert(inputs: Tensor, labels: Tensor, n_classes: int, *, seed: int) -> nn.Module:
    """Learn from a few labelled items."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = expert_network(inputs.shape[1], n_classes)
        optimizer = torch.optim.Adam(network.parameters(), lr=RATE)
        for _ in range(EPOCHS):
            for rows in torch.split(torch.randperm(len(inputs)), BATCH):
                optimizer.zero_grad()
                loss: Tensor = nn.functional.cross_entropy(network(inputs[rows]), labels[rows])
                loss.backward()  # type: ignore[no-untyped-call]
                optimizer.step()
    return network.eval()


def expert_network(n_features: int, n_classes: int, hidden: Sequence[int] = (HIDDEN, HIDDEN)) -> nn.Module:
    layers: list[nn.Module] = []
    for width in hidden:
        layers += [nn.Linear(n_features, width), nn.ReLU(), nn.Dropout(DROPOUT)]
        n_features = width
    return nn.Sequential(*layers, nn.Linear(n_features, n_classes))
