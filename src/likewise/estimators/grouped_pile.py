"""Classes of a pile where features show them: grouped with the known items as anchors, then taught to a network.

Labels, answers and what the geometry predicts are one problem (`likewise.clustering.anchors`). The known items say how
far to trust each geometry, and at which resolution classes come out whole (`likewise.clustering.resolution`). A network
with the clusters' prototypes as its last layer learns by MCL how far the candidates agree, for items to come.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from likewise.clustering.anchors import Grouped, group_around, judge_geometries, refined
from likewise.clustering.constraints import read_constraints
from likewise.clustering.linkage import Odds
from likewise.clustering.resolution import count_with_known
from likewise.errors import InputError
from likewise.estimators.held_out_classes import sample_of_each_class
from likewise.estimators.similarity_network import SimilarityNetwork
from likewise.estimators.spectral_rounds import Learning, run_config
from likewise.evaluation import NumberOfClasses, Trust, known_share, trust
from likewise.pairs import Pairs
from likewise.training import EmbeddedItems, prototype_classifier
from likewise.training.grouping import among, items_to_look_at
from likewise.training.metric import fit_metric

MOST_TRUSTED = 2000  # items whose pairs tell whether to trust the similarity
MOST_JUDGED = 2000  # known items that the geometries are judged on
LEAST_FITTED = 4  # known classes of which half can be kept out of the metric

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class GroupedPile:
    outputs: Ints  # (n,) of the pile: known classes first, in their order, where it is mixed
    p_new: Floats  # (n,) the probability that an item is of a new class
    number: NumberOfClasses
    trust: Trust
    network: nn.Module
    history: list[dict[str, float]]
    known_share: float | None  # of the pile, that looks like known classes


def group_pile(
    inputs: Tensor,
    pairs: Pairs,  # answers about the pile, by position
    similarity: SimilarityNetwork,
    learning: Learning,
    *,
    n_classes: int | None,
    max_classes: int,
    mixed: bool,
    seed: int,
) -> GroupedPile:
    known, codes = similarity.known_inputs_, similarity.known_codes_
    n_known = len(known)
    inputs = similarity.input_form_.check(inputs)
    seen = similarity.embed_items(torch.cat([known, inputs]))  # together, as batch-norm takes its statistics from them
    z = seen.embedding.numpy()
    rows = items_to_look_at(pairs, len(inputs), seed)
    there = among(pairs, rows)
    odds = Odds.of(read_constraints(there, len(rows)))
    pile_rows = n_known + rows
    some = torch.from_numpy(pile_rows[np.sort(np.random.default_rng(seed).permutation(len(rows))[:MOST_TRUSTED])])
    share = None
    if similarity.novelty_ is not None:
        share = known_share(z[:n_known], z[pile_rows])
    plain = _not_fitted(z, torch.cat([known, inputs]), similarity)
    number = _number(plain[:n_known], plain[pile_rows], similarity, odds, n_classes, max_classes, mixed, seed)
    looked = np.concatenate([np.arange(n_known), pile_rows]) if mixed else pile_rows
    shift = n_known if mixed else 0
    links = replace(odds, n_items=len(looked), ends=odds.ends + shift, n_classes=number.estimate)
    anchors = np.concatenate([codes, np.full(len(rows), -1)]) if mixed else np.full(len(rows), -1)
    prior = _prior(z[:n_known], codes, similarity, seed)
    n_clusters = min(number.estimate, len(looked))
    grouped = group_around(z[looked], anchors, links, n_clusters, seed, prior)
    if mixed and not len(odds):  # a linear model would not keep to answers
        grouped = replace(grouped, posterior=refined(z[looked], anchors, grouped.posterior, seed))
    network, history = _teach(seen, looked, inputs, known, grouped, number.estimate, similarity, learning)
    posterior = _spread(grouped.posterior[shift:], rows, network, similarity, inputs)
    n_old = len(similarity.classes_) if mixed else 0
    return GroupedPile(
        posterior.argmax(1),
        np.asarray(posterior[:, n_old:].sum(axis=1)),
        number,
        trust(seen.probability(some).numpy()),
        network,
        history,
        share,
    )


def count_classes(
    inputs: Tensor, similarity: SimilarityNetwork, *, max_classes: int = 100, mixed: bool = False, seed: int = 0
) -> NumberOfClasses:
    """How many classes a pile has, with `mixed` those that are known included; as `group_pile` counts them."""
    known = similarity.known_inputs_
    everything = torch.cat([known, similarity.input_form_.check(inputs)])
    z = _not_fitted(similarity.embed_items(everything).embedding.numpy(), everything, similarity)
    nothing = Odds(len(inputs), np.empty((0, 2), dtype=np.int64), np.empty(0))
    n_known = len(known)
    return _number(z[:n_known], z[n_known:], similarity, nothing, None, max_classes, mixed, seed)


def _number(
    known: NDArray[np.float32],
    pile: NDArray[np.float32],
    similarity: SimilarityNetwork,
    odds: Odds,
    n_classes: int | None,
    max_classes: int,
    mixed: bool,
    seed: int,
) -> NumberOfClasses:
    codes = similarity.known_codes_
    n_known = int(codes.max()) + 1
    if n_classes is None:
        largest = max(2, min(max_classes, len(pile) - 1)) + (n_known if mixed else 0)
        return count_with_known(known, codes, pile, odds, mixed=mixed, largest=largest, seed=seed)
    if mixed and n_classes < n_known:
        raise InputError(
            f"n_classes is {n_classes}, but {n_known} classes are known; with mixed it is that of all of them."
        )
    return NumberOfClasses(n_classes, n_classes, n_classes)


def _prior(known: NDArray[np.float32], codes: Ints, similarity: SimilarityNetwork, seed: int) -> dict[str, float]:
    """What each geometry is worth on known classes; nothing is said where these have hardly any items."""
    some = sample_of_each_class(codes, MOST_JUDGED, seed)
    names, places = np.unique(codes[some], return_inverse=True)
    if len(some) < 4 * len(names) or len(names) < 2:
        return {}
    if not _is_fitted_to_known(similarity):
        return judge_geometries(known[some], places, seed)
    return judge_geometries(known[some], places, seed, lambda rows: _held_out_embedding(similarity, some[rows]))


def _is_fitted_to_known(similarity: SimilarityNetwork) -> bool:
    """Whether known classes are more compact than new ones, because the map of the features is fitted to them."""
    fitted = similarity.metric_ is not None and similarity.metric_.whitened < 1
    return fitted and len(np.unique(similarity.known_codes_)) >= LEAST_FITTED


def _not_fitted(z: NDArray[np.float32], items: Tensor, similarity: SimilarityNetwork) -> NDArray[np.float32]:
    """(n, h) Items in a map in which known classes are no more compact than others: they tell how many there are."""
    form = similarity.metric_
    if form is None or form.whitened == 1:
        return z
    rows = similarity.pile(items).inputs.numpy()
    n_known = len(similarity.known_codes_)
    metric = fit_metric(replace(form, whitened=1.0), rows[:n_known], similarity.known_codes_)
    return metric.embed(rows.astype(np.float64)).astype(np.float32)


def _held_out_embedding(similarity: SimilarityNetwork, out: Ints) -> NDArray[np.float32]:
    """(m, h) The known items with the rows `out` (m,), in the map that is fitted without their classes."""
    assert similarity.metric_ is not None
    rows, codes = similarity.pile(similarity.known_inputs_).inputs.numpy(), similarity.known_codes_
    there = ~np.isin(codes, codes[out])
    metric = fit_metric(similarity.metric_, rows[there], codes[there])
    return metric.embed(rows[out].astype(np.float64)).astype(np.float32)


def _teach(
    seen: EmbeddedItems,
    looked: Ints,
    inputs: Tensor,
    known: Tensor,
    grouped: Grouped,
    n_outputs: int,
    similarity: SimilarityNetwork,
    learning: Learning,
) -> tuple[nn.Module, list[dict[str, float]]]:
    """The network that starts from the clusters' prototypes and learns how far the candidates agree."""
    partition = torch.from_numpy(grouped.posterior.argmax(1))
    part = EmbeddedItems(seen.module, seen.features[:, torch.from_numpy(looked)])
    network = prototype_classifier(part, partition, n_outputs)
    if not learning.epochs:
        return network, []
    everything = torch.cat([known, inputs])[torch.from_numpy(looked)]
    config = run_config(everything, similarity)
    result = learning.teach(network, similarity.pile(everything), torch.from_numpy(grouped.opinions), 1, config)
    return network, [{**row, "round": 1} for row in result.history]


def _spread(posterior: Floats, rows: Ints, network: nn.Module, similarity: SimilarityNetwork, inputs: Tensor) -> Floats:
    """(n, K) The posterior of all items: of those that were not looked at it is the network's."""
    if len(rows) == len(inputs):
        return posterior
    everything = similarity.pile(inputs).logits(network).softmax(1).numpy().astype(np.float64)
    everything[rows] = posterior
    return np.asarray(everything)
