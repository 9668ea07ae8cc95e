"""All items of a large table by a walk among neighbours, and classes that follow it.

Groups are made of up to 10,000 items. In a table of more, neighbours are nearer to each other, and a walk from
neighbour to neighbour among all of them tells classes apart that lie across each other in fewer. Few numbers say where
it puts an item, and as few how the item looks, so that a linear model of both spreads groups to all items, and answers
can turn its borders without being learned by heart:

    W* = argmin_W  -mean over the answers of log P(answer | s_hat = p_i . p_j) + lambda/2 |W - W_0|^2

as in `clustering/correction.py`, with W_0 the model of the groups. Here lambda is what out-of-fold answers are most
likely with, and it may be infinite.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import softmax
from torch import Tensor

from likewise.clustering.agglomeration import NEIGHBOURS, principal_rows
from likewise.clustering.constraints import Floats, Ints
from likewise.clustering.correction import FOLDS, STRENGTHS, Answers, model_of_partition, scaled
from likewise.clustering.geometry import diffusion, nearest, shared_neighbours
from likewise.clustering.linkage import Odds
from likewise.datasets import normalise
from likewise.distributed import share
from likewise.training.inputs import NetworkInputs

ITEMS = 60_000  # that a walk is among, at most: finding neighbours takes the square of it
MOST_NUMBERS = 2**26  # of them in memory
COMPONENTS = 50  # principal ones, in which neighbours are near
PLACES = 80  # numbers that say where the walk puts an item
DOUBT = 0.05  # in every answer that is judged by: one that is denied for sure must not outweigh all others


@dataclass(frozen=True, eq=False)
class Neighbourhood:
    """Items of a pile in rising order (m,), how they look, where the walk puts them, and what is near (m, k)."""

    items: Ints
    rows: Floats  # (m, d) principal components
    places: Floats  # (m, 80)
    near: Ints  # in the pile

    @classmethod
    def of(cls, pile: NetworkInputs, items: Ints, seed: int) -> Neighbourhood:
        rows = principal_rows(pile.inputs[torch.from_numpy(items)].numpy(), seed)
        near = nearest(rows[:, :COMPONENTS], NEIGHBOURS)
        return cls(items, rows, diffusion(shared_neighbours(near), PLACES), items[near])

    def places_of(self, some: Ints) -> NDArray[np.float32]:
        """(s, d) Of some of the items, by their positions in the pile."""
        return self.places[np.searchsorted(self.items, some)].astype(np.float32)

    def spread(self, some: Ints, posterior: Floats, odds: Odds, wrong: float, seed: int) -> Floats:
        """(m, K) The classes of all items, from those of some (s, K) and answers about these."""
        x = np.concatenate([scaled(self.rows)[:, :-1], scaled(self.places)], axis=1)  # with one 1
        x[:, :-1] /= np.sqrt(2)
        model = corrected_model(x[np.searchsorted(self.items, some)], posterior, odds, wrong, seed)
        return np.asarray(softmax(x @ model, axis=1))

    def neighbours(self, pile: NetworkInputs) -> Callable[[Tensor], Tensor]:
        """Gives a random neighbour of each item of a batch, as input of the network; this rank's rows of it.

        An item that is none of these has itself.
        """
        items, near = torch.from_numpy(self.items), torch.from_numpy(self.near)

        def inputs(index: Tensor) -> Tensor:
            own = index[share(len(index)).rows].cpu()
            row = torch.searchsorted(items, own).clamp_max(len(items) - 1)
            chosen = torch.where(items[row] == own, near[row, torch.randint(near.shape[1], (len(own),))], own)
            return normalise(pile.inputs[chosen], pile.mean, pile.std).to(index.device)

        return inputs


def corrected_model(x: Floats, posterior: Floats, odds: Odds, wrong: float, seed: int) -> Floats:
    """(d, K) The linear model of a posterior (n, K), drawn to the answers as far as those out of fold are for it."""
    first = model_of_partition(x, posterior)
    fold = np.random.default_rng(seed).permutation(len(odds)) % FOLDS
    losses = np.zeros((len(STRENGTHS) + 1, len(odds)))
    for out in (fold == number for number in range(FOLDS)):
        train, test, model = Answers(x, odds.select(~out), wrong), Answers(x, odds.select(out), DOUBT), first
        losses[0, out] = test.losses(first)
        for number, strength in enumerate(STRENGTHS, 1):
            model = train.fit(model, first, strength)
            losses[number, out] = test.losses(model)
    everything, model = Answers(x, odds, wrong), first
    for strength in STRENGTHS[: int((losses @ odds.weight).argmin())]:
        model = everything.fit(model, first, strength)
    return model


def room_for(pile: NetworkInputs) -> int:
    """How many items of a table a walk may be among; 0 where they are no vectors."""
    if pile.inputs.ndim != 2:
        return 0
    return min(len(pile.inputs), ITEMS, MOST_NUMBERS // max(1, pile.inputs.shape[1]))
