"""Learn classes from answers about pairs of items, in two stages.

1. Answers: MCL over the known pairs, in batches that hold them. A start that ends with classes merged shows in the
   answers it gets wrong, and another one is made.
2. Unlabelled: the best start goes on with all items, whose unknown pairs count through their pseudo-similarity; the
   outcome is dropped where it is worse on the answers held out, by more than chance.
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from likewise.criteria import flipped_mcl, mcl
from likewise.datasets import Augmentation
from likewise.distributed import agreed
from likewise.pairs import Pairs
from likewise.supervision import AnsweringNetwork, Known, answers_objective
from likewise.training.answer_order import AnswerOrder
from likewise.training.batches import Augment, TensorBatches
from likewise.training.loop import OnEpoch, TrainingResult, train
from likewise.training.predict import predict_logits
from likewise.training.settings import Settings

WRONG_ANSWERS = 0.01  # a start with more of them is tried again: two of ten classes merged deny 2 % of the differences
ANSWERS = 2**18  # that are judged together
FIRST_FLIP = 0.1  # where the rate of wrong answers is learned, it begins here


@dataclass(frozen=True)
class Pile:
    """Items and how they become inputs of the network."""

    inputs: Tensor  # uint8 (n, C, H, W) or float (n, d), or what stands for it, such as `ArrayOnDisk`
    mean: tuple[float, ...] = ()
    std: tuple[float, ...] = ()
    augment: Augment | None = None

    def to_be_judged(self) -> Pile:
        """The same with views of images half as far from them as in training: closer ones are judged better."""
        halved = self.augment.halved() if isinstance(self.augment, Augmentation) else self.augment
        return dataclasses.replace(self, augment=halved)

    def logits(self, network: nn.Module, items: np.ndarray | None = None) -> Tensor:
        rows = None if items is None else torch.from_numpy(items)
        return predict_logits(network, self.inputs, rows=rows, mean=self.mean, std=self.std)


@dataclass(frozen=True)
class Learned:
    """The network and how it came about; `unlabelled` says whether the second stage was kept."""

    network: nn.Module
    history: list[dict[str, float]]  # of the stages that led here; the column `stage` is 1 or 2
    flip: float  # the rate of wrong answers that was given or learned
    starts: int
    unlabelled: bool
    seconds: float
    first: nn.Module  # as it was after the first stage


def learn_answers(
    network: Callable[[int], nn.Module],  # a fresh network for a seed
    pile: Pile,
    known: Known,
    pairs: Pairs,  # the answers that batches are drawn from
    held_out: Pairs,  # not trained on; may be empty
    settings: Settings,
    *,
    starts: int = 3,
    unlabelled: bool = True,
    flip: float | None = 0.0,  # the rate of wrong answers; None: learn it
    run: Path | None = None,
    config: Mapping[str, object] | None = None,
    progress: bool = True,
    on_epoch: OnEpoch | None = None,
) -> Learned:
    """Learn from answers; with a folder `run`, each stage has its own in it, and a killed run goes on where it was."""

    def stage(number: int, model: nn.Module, seed: int, name: str) -> TrainingResult:
        order = AnswerOrder(
            torch.from_numpy(np.stack([pairs.left, pairs.right], axis=1)),
            len(pile.inputs),
            settings.batch_size,
            seed=seed,
            answered=1.0 if number == 1 else 0.5,
            views=number,
        )
        batches = TensorBatches(
            pile.inputs,
            torch.full((len(pile.inputs),), -1),
            settings.batch_size,
            mean=pile.mean,
            std=pile.std,
            augment=pile.augment,
            order=order,
        )
        return train(
            model,
            batches,
            answers_objective(known, unlabelled=number == 2, flip=flip or 0.0),
            dataclasses.replace(settings, seed=seed),
            run=None if run is None else run / name,
            config=config,
            evaluate=(lambda model, _: {"stage": number, **held_out_scores(model, pile, held_out, flip)}),
            monitor="held_out_loss" if settings.patience and len(held_out) else "",
            progress=progress and (f"answers, {name.replace('-', ' ')}" if number == 1 else "unlabelled pairs"),
            on_epoch=on_epoch,
        )

    best, least, spent, history = None, np.inf, 0.0, []
    start = 0
    for start in range(1, starts + 1):
        seed = settings.seed + start - 1
        made = network(seed)
        model = AnsweringNetwork(made, FIRST_FLIP) if flip is None else made
        result = stage(1, model, seed, f"start-{start}")
        spent += result.seconds
        loss, wrong = agreed(answer_loss(model, pile, pairs, flip))
        if loss < least:
            best, least, history = model, loss, result.history
        if wrong <= WRONG_ANSWERS + rate_of(model, flip):
            break
    assert best is not None
    learned = best
    if unlabelled:
        learned = copy.deepcopy(best)
        result = stage(2, learned, settings.seed, "unlabelled")
        spent += result.seconds
        if agreed(_is_worse(learned, best, pile, held_out, flip)):
            learned = best
        else:
            history = history + [{**row, "epoch": len(history) + row["epoch"]} for row in result.history]
    rate = rate_of(learned, flip)
    return Learned(_inner(learned), history, rate, start, learned is not best, spent, _inner(best))


def rate_of(network: nn.Module, flip: float | None) -> float:
    """The rate of wrong answers that a network has learned, or the given one."""
    return float(network.flip.detach()) if isinstance(network, AnsweringNetwork) else float(flip or 0.0)


def answer_loss(network: nn.Module, pile: Pile, pairs: Pairs, flip: float | None = 0.0) -> tuple[float, float]:
    """The mean MCL of answers, and the share of them that the network denies."""
    losses, denied = answer_losses(network, pile, pairs, flip)
    return float(np.average(losses, weights=pairs.weight)), float(denied[pairs.weight > 0].mean())


def answer_losses(
    network: nn.Module, pile: Pile, pairs: Pairs, flip: float | None = 0.0
) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
    """The MCL of each answer (m,), and whether the network denies it (m,)."""
    items, place = np.unique(np.concatenate([pairs.left, pairs.right]), return_inverse=True)
    logits = pile.logits(network, items)
    p, rate = logits.softmax(1), rate_of(network, flip)
    losses, similarity = [torch.empty(0)], [torch.empty(0)]
    where = torch.from_numpy(place.reshape(2, -1).T.copy())  # (m, 2)
    for some, same in zip(torch.split(where, ANSWERS), torch.split(torch.from_numpy(pairs.same), ANSWERS), strict=True):
        if rate:
            losses.append(flipped_mcl(logits, same, rate, pairs=some, reduction="none"))
        else:
            losses.append(mcl(logits, same, pairs=some, reduction="none"))
        similarity.append((p[some[:, 0]] * p[some[:, 1]]).sum(1))
    return torch.cat(losses).numpy(), (torch.cat(similarity).numpy() > 0.5) != (pairs.same > 0.5)


def _is_worse(new: nn.Module, old: nn.Module, pile: Pile, held_out: Pairs, flip: float | None) -> bool:
    """Whether held-out answers speak against the new network by more than chance: two standard errors."""
    if len(held_out) < 2:
        return False
    change = answer_losses(new, pile, held_out, flip)[0] - answer_losses(old, pile, held_out, flip)[0]
    return bool(change.mean() > 2 * change.std(ddof=1) / np.sqrt(len(change)))


def held_out_scores(network: nn.Module, pile: Pile, held_out: Pairs, flip: float | None) -> dict[str, float]:
    """Columns of the history."""
    if not len(held_out):
        return {}
    loss, wrong = answer_loss(network, pile, held_out, flip)
    return {"held_out_loss": loss, "held_out_accuracy": 1 - wrong}


def _inner(network: nn.Module) -> nn.Module:
    return network.network if isinstance(network, AnsweringNetwork) else network
