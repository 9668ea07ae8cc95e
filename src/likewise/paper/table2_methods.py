"""How the two recipes of Table 2 find the classes of an alphabet: as the paper does it, and as `discover` does it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from likewise.clustering import METHODS as RIVALS
from likewise.criteria import KCL, MCL
from likewise.estimators import CategoryDiscoverer, SimilarityNetwork
from likewise.evaluation import PairQuality, n_dominant, pair_quality
from likewise.networks import SimilarityModule, build
from likewise.pairs import Pairs
from likewise.paper.table2_entries import MOST_OUTPUTS, TransferEntry
from likewise.supervision import transfer_objective
from likewise.training import Pile, TensorBatches, look, predict_logits, train, train_similarity

MEAN, STD = (0.086,), (0.235,)  # of Omniglot's ink

Similarity = SimilarityModule | SimilarityNetwork


@dataclass(frozen=True)
class Found:
    outputs: NDArray[np.int64]  # (n,) the output that each item fell in
    n_outputs: int
    n_classes: int  # how many classes there are said to be
    quality: PairQuality  # of the similarity on this pile


def learn_similarity(entry: TransferEntry, inputs: Tensor, labels: Tensor, run: Path) -> Similarity:
    """Train the similarity network of the recipe on known characters in the folder `run`, or go on there."""
    recipe = entry.recipe
    if recipe.name == "best":
        return SimilarityNetwork(
            recipe.network,
            epochs=entry.similarity.epochs,
            augment=recipe.augmentation,
            random_state=entry.seed,
            verbose=True,
            run=run,
        ).fit(inputs.numpy(), labels.numpy())
    backbone = build(recipe.network, 1, tuple(inputs.shape[1:]), seed=entry.seed)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(entry.seed)
        network = SimilarityModule(backbone, hidden=recipe.hidden)
    known = Pile(inputs, MEAN, STD, recipe.augmentation)
    train_similarity(network, known, labels, entry.similarity, items=recipe.items, run=run)
    return network


def find(entry: TransferEntry, similarity: Similarity, inputs: Tensor, labels: NDArray[np.int64], run: Path) -> Found:
    """The classes of one alphabet; its labels say only how many there are, where that is known, and judge the pairs."""
    n_classes = int(labels.max()) + 1 if entry.classes == "true" else None
    same = (labels[:, None] == labels)[np.triu_indices(len(labels), 1)]
    if isinstance(similarity, SimilarityNetwork):
        found = CategoryDiscoverer(
            n_classes,
            max_classes=MOST_OUTPUTS,
            similarity=similarity,
            epochs=entry.training.epochs if entry.method == "mcl" else 0,
            random_state=entry.seed,
            run=run,
        ).fit(inputs.numpy())
        predicted = similarity.similarity(inputs.numpy())
        return Found(found.labels_, found.n_classes_, found.n_classes_, _quality(predicted, same))
    n_outputs = n_classes or MOST_OUTPUTS
    pile = Pile(inputs, MEAN, STD, entry.recipe.augmentation)
    predicted = look(similarity, pile).probability().numpy()
    if entry.method in ("mcl", "kcl"):
        outputs = _learn(entry, similarity, pile, n_outputs, run)
        return Found(outputs, n_outputs, n_dominant(outputs, n_outputs), _quality(predicted, same))
    return _cluster(entry, pile, predicted, n_outputs, _quality(predicted, same))


def _learn(
    entry: TransferEntry, similarity: SimilarityModule, pile: Pile, n_outputs: int, run: Path
) -> NDArray[np.int64]:
    """A classifier from random weights; its teacher looks at each batch as it does, and says 0 or 1 of each pair."""
    network = build(entry.recipe.network, n_outputs, tuple(pile.inputs.shape[1:]), seed=entry.seed)
    settings = entry.training
    batches = TensorBatches(
        pile.inputs,
        torch.full((len(pile.inputs),), -1),
        settings.batch_size,
        seed=settings.seed,
        mean=pile.mean,
        std=pile.std,
        augment=pile.augment,
    )
    criterion = MCL() if entry.method == "mcl" else KCL()
    objective = transfer_objective(lambda inputs: similarity.similarity(inputs, adapt=True), criterion)
    train(network, batches, objective, settings, run=run, progress=False)
    return predict_logits(network, pile.inputs, mean=pile.mean, std=pile.std).argmax(1).numpy()


def _cluster(
    entry: TransferEntry, pile: Pile, predicted: NDArray[np.float32], n_outputs: int, quality: PairQuality
) -> Found:
    """A method of constrained clustering on pixels, told 0 or 1 of every pair."""
    pixels = pile.inputs.flatten(1).numpy() / 255
    pairs = np.column_stack(np.triu_indices(len(pixels), 1))
    same = predicted[pairs[:, 0], pairs[:, 1]] > 0.5
    method = RIVALS[entry.method]
    options: dict[str, object] = {"n_clusters": n_outputs, "random_state": entry.seed}
    if method.finds_n_clusters and entry.classes != "true":
        options["n_clusters"] = None
    if "contradictions" in method().get_params():
        options["contradictions"] = "repair" if method().get_params()["contradictions"] == "refuse" else "accept"
    fitted = method(**options).fit(pixels, pairs=Pairs.from_arrays(pairs, same))
    outputs = np.asarray(fitted.labels_, dtype=np.int64)
    counted = getattr(fitted, "n_clusters_", None) if options["n_clusters"] is None else None
    n_found = max(n_outputs, int(outputs.max()) + 1)
    return Found(outputs, n_found, counted or n_dominant(outputs, n_found), quality)


def _quality(predicted: NDArray[np.float32], same: NDArray[np.bool_]) -> PairQuality:
    return pair_quality(predicted[np.triu_indices(len(predicted), 1)], same)
