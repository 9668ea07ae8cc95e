"""Classes of a pile by a similarity from scratch: cluster, learn what the clusterings agree on, and cluster again.

Spectral clustering gives a best partition and eight opinions on it. The classifier starts from the similarity's
backbone and the partition's prototypes, and learns with MCL how far the opinions agree. Its view is clustered again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from likewise.estimators.similarity_network import SimilarityNetwork
from likewise.estimators.task import checksum
from likewise.evaluation import NumberOfClasses, Trust, joining_costs, number_by_silhouette, trust
from likewise.networks import CosineHead
from likewise.supervision import cosine_affinity, diffusion_rows, spectral_opinions, spectral_partition
from likewise.training import (
    EmbeddedItems,
    OnEpoch,
    Settings,
    learn_consensus,
    mean_probabilities,
    prototype_classifier,
)

ROUNDS = 2
WIDTHS = (0.3, 0.15)  # of the kernel on cosines; the best partition is from the first, opinions are from both
VIEWS = 6  # of an item, whose mean decides its class


@dataclass(frozen=True, eq=False)
class Learning:
    """How a classifier learns from a grouping."""

    settings: Settings
    epochs: int  # 0: nothing is learned beyond the prototypes
    run: Path | None
    progress: bool
    on_epoch: OnEpoch | None

    def teach(self, network: nn.Module, pile: Any, opinions: Tensor, round_: int, config: dict[str, object]) -> Any:
        run = None if self.run is None else self.run / f"round{round_}"
        return learn_consensus(
            network,
            pile,
            opinions,
            self.settings,
            run=run,
            config=None if run is None else config,
            progress=self.progress and f"round {round_}",
            on_epoch=self.on_epoch,
        )


@dataclass(frozen=True, eq=False)
class Rounds:
    outputs: NDArray[np.int64]  # (n,)
    number: NumberOfClasses
    trust: Trust
    network: nn.Module
    history: list[dict[str, float]]


def spectral_rounds(
    inputs: Tensor,
    rows: NDArray[np.int64],  # those whose pairs are all looked at
    similarity: SimilarityNetwork,
    number_of: Callable[[NDArray[np.float32]], NumberOfClasses],  # from what is seen in the rows
    learning: Learning,
    seed: int,
) -> Rounds:
    pile, module, epochs = similarity.pile(inputs), similarity.module_, learning.epochs
    rounds = ROUNDS if isinstance(module.head, CosineHead) and epochs else 1
    history: list[dict[str, float]] = []
    for number in range(1, rounds + 1):
        seen = similarity.embed_items(inputs, module)
        if number == 1:
            trusted = trust(seen.probability(torch.from_numpy(rows)).numpy())
            counted = number_of(seen.embedding.numpy()[rows])
        partition, opinions = _partitions(seen, rows, counted.estimate, seed)
        network = prototype_classifier(seen, partition, counted.estimate)
        if not epochs:
            return Rounds(partition.numpy(), counted, trusted, network, history)
        result = learning.teach(network, pile, opinions, number, run_config(inputs, similarity))
        before = len(history)
        history += [{**row, "round": number, "epoch": row["epoch"] + before} for row in result.history]
        module = module.with_backbone(network)
    outputs = mean_probabilities(network, pile.with_gentler_views(), VIEWS, seed).argmax(1).numpy()
    return Rounds(outputs, counted, trusted, network, history)


def number_of_classes(
    rows: NDArray[np.float32], similarity: SimilarityNetwork | None, n_classes: int | None, max_classes: int
) -> NumberOfClasses:
    """The number that is given, or by the rule that known classes calibrated, or by the silhouette of the rows."""
    if n_classes is not None:
        return NumberOfClasses(n_classes, n_classes, n_classes)
    largest = max(2, min(max_classes, len(rows) - 1))
    if similarity is not None and similarity.rule_ is not None:
        return similarity.rule_.number_of_classes(joining_costs(diffusion_rows(rows)), largest)
    by_silhouette = number_by_silhouette(rows, largest)
    return (
        by_silhouette if by_silhouette.estimate >= 2 else NumberOfClasses(2, 2, 2)
    )  # with one, no two items could be different


def run_config(inputs: Tensor, similarity: SimilarityNetwork) -> dict[str, object]:
    """What makes a round's folder its own: one that was begun with another pile or similarity is refused."""
    weights = (weight.detach().cpu().numpy() for weight in similarity.module_.parameters())
    return {"items": checksum(inputs.numpy()), "similarity": checksum(*weights)}


def _partitions(seen: EmbeddedItems, rows: NDArray[np.int64], k: int, seed: int) -> tuple[Tensor, Tensor]:
    """The best partition of all items (n,), and several opinions (n, R) on it."""
    z = seen.embedding.numpy()
    if isinstance(seen.module.head, CosineHead):
        affinities = [cosine_affinity(z[rows], width) for width in WIDTHS]
    else:
        affinities = [seen.probability(torch.from_numpy(rows)).numpy()]
    columns = [spectral_partition(affinities[0], k, seed), *spectral_opinions(affinities, k, seed).T]
    partition, *opinions = (_spread(z, rows, column) for column in columns)
    return torch.from_numpy(partition), torch.from_numpy(np.stack(opinions, axis=1))


def _spread(z: NDArray[np.float32], rows: NDArray[np.int64], partition: NDArray[np.int64]) -> NDArray[np.int64]:
    """The clusters of some rows for all: an item without one goes to the nearest mean."""
    if len(rows) == len(z):
        return partition
    used = np.unique(partition)
    means = np.stack([z[rows[partition == k]].mean(0) for k in used])
    nearest: NDArray[np.int64] = used[(z @ means.T - (means**2).sum(1) / 2).argmax(1)]
    nearest[rows] = partition
    return nearest
