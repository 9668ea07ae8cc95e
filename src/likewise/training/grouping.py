"""A first look at the items: groups on which their geometry and the answers agree, from which a network learns classes.

MCL alone starts late: at uniform outputs its gradient is zero, and only one random pair in K says "same". But where
items of a class lie together, the items show the classes before any network is trained. The groups are those of
`likewise.clustering.agglomeration`, in the items as they are or in a network's features. A network is taught them by
cross-entropy, each item as far as it is sure. What the network then sees is often grouped better than the items were.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import adaptive_avg_pool2d

from likewise.clustering.agglomeration import Agglomerated, agglomerate, principal_rows
from likewise.clustering.constraints import Floats, Ints, read_constraints
from likewise.clustering.correction import corrected
from likewise.clustering.linkage import Odds
from likewise.distributed import from_first
from likewise.pairs import Pairs
from likewise.training.inputs import NetworkInputs, features_of
from likewise.training.neighbourhood import Neighbourhood
from likewise.training.orders import shuffled_steps
from likewise.training.witnesses import answers_one_by_one, takes_classes_for_others, weighed

ITEMS, MOST_ITEMS = 10_000, 20_000  # that are looked at; more than the first only where answers speak of them
MOST_PIXELS = 28  # of a side
WEIGHED = 2  # times that annotators are weighed by the groups, where they are not alike
CLEAR = 0.5  # the contrast from which a grouping is taken to show the classes
FORETELLS = 4.0  # standard errors of the contrast
LEAST_SAME = 3.0  # answers between two groups that make them one, of which each "different" takes three away


@dataclass(frozen=True, eq=False)
class Grouping:
    items: Ints  # (m,) those that were looked at
    groups: Ints  # (m,)
    sure: NDArray[np.float32]  # (m,) the probability of each item's group
    contrast: float  # how much more often answers say "same" within groups than between them, out of fold
    contrast_error: float  # its standard error
    wrong: float  # the share of the answers taken to be wrong

    @property
    def is_clear(self) -> bool:
        return self.contrast >= CLEAR

    @property
    def is_informed(self) -> bool:
        """Whether the groups foretell answers, by more than the best of many candidates does by chance."""
        return self.contrast > FORETELLS * self.contrast_error

    def targets(self, n_items: int) -> tuple[Tensor, Tensor]:
        """The output of each item (n,) and its weight (n,), which is 0 for items that were not looked at."""
        outputs, weight = torch.zeros(n_items, dtype=torch.int64), torch.zeros(n_items)
        outputs[self.items] = torch.from_numpy(self.groups)
        weight[self.items] = torch.from_numpy(self.sure)
        return outputs, weight


class GroupOrder:
    """Batches of the items that were looked at, all of them before any comes again."""

    def __init__(self, items: Ints, batch_size: int, least_steps: int, *, seed: int) -> None:
        self.items, self.seed = torch.from_numpy(items), seed
        self.batch_size = min(batch_size, len(items))
        self.steps = max(least_steps, math.ceil(len(items) / batch_size))

    def __len__(self) -> int:
        return self.steps

    def chunks(self, epoch: int) -> list[Tensor]:
        rows = shuffled_steps(len(self.items), epoch, self.steps, self.batch_size, seed=self.seed, which=0)
        return list(self.items[rows])


def group_items(
    pile: NetworkInputs,
    pairs: Pairs,
    n_groups: int,
    seed: int,
    network: nn.Module | None = None,
    around: Neighbourhood | None = None,
) -> Grouping:
    """Group the items as they are or, with a network, as it sees them; the first process does it for all.

    All items are looked at, or those of as many answers as there is room for, and others at random up to 10,000. With
    a neighbourhood, the groups are spread to all its items, and the answers correct them there.
    """

    def decide() -> list[list[float]]:
        items = items_to_look_at(pairs, len(pile.inputs), seed)
        spaces = spaces_of(pile, items) if network is None else {"network": seen_by(network, pile, items)}
        if around is not None:
            spaces["walk"] = around.places_of(items)
        there = among(pairs, items)
        of_vectors = pile.inputs.ndim == 2 and network is None and around is None
        clusters, odds = agglomerated(spaces, there, min(n_groups, len(items)), seed, again=of_vectors)
        posterior = without_fragments(clusters.posterior, odds)
        if around is None:
            rows = principal_rows(next(iter(spaces.values())), seed)
            posterior = corrected(rows, posterior, odds, clusters.together, clusters.wrong, seed)
        else:
            items, posterior = around.items, around.spread(items, posterior, odds, clusters.wrong, seed)
        measures = [clusters.contrast, clusters.contrast_error, clusters.wrong]
        return [items.tolist(), posterior.argmax(1).tolist(), posterior.max(1).tolist(), measures]

    items, groups, sure, measures = from_first(decide)
    return Grouping(
        np.array(items, dtype=np.int64),
        np.array(groups, dtype=np.int64),
        np.array(sure, dtype=np.float32),
        *measures,
    )


def agglomerated(
    spaces: dict[str, NDArray[np.float32]], pairs: Pairs, n_groups: int, seed: int, *, again: bool = False
) -> tuple[Agglomerated, Odds]:
    """The groups, and the answers they are made from; those of several annotators are weighed by the groups in turn."""
    if len(pairs.annotators) < 2:
        odds = Odds.of(read_constraints(pairs, pairs.n_items), n_groups)
        return agglomerate(spaces, odds, n_groups, seed, again=again), odds
    odds, by_annotator = answers_one_by_one(pairs, pairs.n_items, n_groups)
    clusters = agglomerate(spaces, odds, n_groups, seed, again=again)
    if takes_classes_for_others(by_annotator, clusters.posterior.argmax(1)[odds.ends], n_groups):
        nothing = odds.select(np.zeros(len(odds), dtype=np.bool_))
        groups = agglomerate(spaces, nothing, n_groups, seed).posterior.argmax(1)
        odds = weighed(odds, by_annotator, groups[odds.ends[:, 0]] == groups[odds.ends[:, 1]], groups) or odds
        clusters = agglomerate(spaces, odds, n_groups, seed, again=again)
    for _ in range(WEIGHED):
        reweighed = weighed(odds, by_annotator, clusters.together, clusters.posterior.argmax(1))
        if reweighed is None:
            break
        odds = reweighed
        clusters = agglomerate(spaces, odds, n_groups, seed, again=again)
    return clusters, odds


def items_to_look_at(pairs: Pairs, n_items: int, seed: int, least: int | None = None) -> Ints:
    """In rising order: those of random answers first, then any; with `least` as many, which hold the others."""
    random = np.random.default_rng(seed)
    most = max(min(max(ITEMS, len(pairs.items)), MOST_ITEMS), least or 0)
    if n_items <= most:
        return np.arange(n_items)
    order = random.permutation(len(pairs))
    answered = np.stack([pairs.left[order], pairs.right[order]], axis=1).ravel()
    wanted = np.concatenate([answered, random.permutation(n_items)])
    first = np.sort(np.unique(wanted, return_index=True)[1])[:most]  # where each item comes first
    return np.sort(wanted[first]).astype(np.int64)


def among(pairs: Pairs, items: Ints) -> Pairs:
    """The answers among some items, whose places there become their positions."""
    place = np.full(max(pairs.n_items, int(items.max()) + 1), -1)
    place[items] = np.arange(len(items))
    there = pairs.select(np.flatnonzero((place[pairs.left] >= 0) & (place[pairs.right] >= 0)))
    ends = np.stack([place[there.left], place[there.right]], axis=1)
    made = Pairs.from_arrays(ends, there.same, weight=there.weight).index(len(items))
    return dataclasses.replace(made, annotator=there.annotator, annotators=there.annotators)


def spaces_of(pile: NetworkInputs, items: Ints) -> dict[str, NDArray[np.float32]]:
    """The items as vectors (m, d): the pixels of images, made smaller; features as they are and standardised."""
    rows = pile.inputs[torch.from_numpy(items)]
    if rows.ndim == 4:
        size = (min(rows.shape[2], MOST_PIXELS), min(rows.shape[3], MOST_PIXELS))
        small = torch.cat([adaptive_avg_pool2d(part.float() / 255, size) for part in torch.split(rows, 1000)])
        return {"pixels": small.flatten(1).numpy()}
    std = torch.tensor(pile.std) if pile.std else rows.std(0)
    return {"items": rows.numpy(), "standardised": (rows / torch.where(std > 0, std, 1.0)).numpy()}


def seen_by(network: nn.Module, pile: NetworkInputs, items: Ints) -> NDArray[np.float32]:
    """The network's features of the items (m, d), or its logits where it names none."""
    return np.asarray(pile.logits(features_of(network), items).flatten(1).numpy())


def without_fragments(posterior: Floats, odds: Odds) -> Floats:
    """(m, K) Groups between which answers say "same" are one class; outputs are left over where K was too large.

    Two halves of a class have more "same" between them than within; groups that overlap have less.
    """
    n_groups = posterior.shape[1]
    group = posterior.argmax(1)
    ends, same = group[odds.ends], odds.credit > 0
    count = np.zeros((n_groups, n_groups))
    np.add.at(count, (ends[:, 0], ends[:, 1]), np.where(same, 1.0, -3.0) * np.abs(odds.credit))
    count += count.T
    agreed = np.zeros((n_groups, n_groups))
    np.add.at(agreed, (ends[same, 0], ends[same, 1]), odds.credit[same])
    agreed += agreed.T  # on the diagonal twice the number within
    count[agreed < (np.diag(agreed)[:, None] + np.diag(agreed)) / 4] = -np.inf
    posterior = posterior.copy()
    while True:
        np.fill_diagonal(count, -np.inf)
        into, other = sorted(divmod(int(count.argmax()), n_groups))
        if count[into, other] < LEAST_SAME:
            return posterior
        posterior[:, into] += posterior[:, other]
        posterior[:, other] = 0
        count[into] += count[other]
        count[:, into] += count[:, other]
        count[other] = count[:, other] = -np.inf
