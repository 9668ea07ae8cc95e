"""What is to be computed: networks, the three losses on fixed batches, and a grid, checked and brought into one plane.

The losses are the same at every point: CE over items, MCL and KCL over the pairs of a batch.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from likewise.criteria import dense, kcl, mcl
from likewise.datasets import Items, normalise
from likewise.errors import InputError
from likewise.evaluation import confusion, match_outputs
from likewise.landscape.surface import Biases, Plane, mutual_plane, random_plane, weights_of
from likewise.pairs import Pairs
from likewise.storage.records import fingerprint, first_difference
from likewise.supervision import AnswerKnowledge
from likewise.training import AnswerOrder, TensorBatches, evaluating
from likewise.training.batches import channels_last
from likewise.training.randomness import ORDER, generator

LOSSES = ("ce", "mcl", "kcl")


@dataclass(frozen=True)
class FixedBatch:
    """Items that are always seen together, and what is known of them."""

    inputs: Tensor  # as the network takes them
    target: Tensor  # labels, int64 (b,), -1 or -100 = unknown; or same, float (b, b), NaN = unknown
    weight: Tensor | None = None  # (b, b), beside same

    @property
    def labelled(self) -> bool:
        return self.target.ndim == 1

    def count(self, loss: str) -> float:
        """How many items or pairs the loss is over, or the sum of their weights."""
        if self.labelled:
            known = int((self.target >= 0).sum())
            return known if loss == "ce" else known * (known - 1) / 2
        known_pairs = (~self.target.isnan()).to(torch.float64)
        counted = known_pairs if self.weight is None else known_pairs * self.weight
        return float(((counted + counted.T) / 2).triu(1).sum())  # of (i, j) and (j, i) the mean, as in MCL


def check_losses(losses: Sequence[str], batches: Sequence[FixedBatch]) -> tuple[str, ...]:
    """The names, each known, once, and computable on these batches."""
    wanted = tuple(dict.fromkeys(losses))
    if not wanted:
        raise InputError(f"No loss is given; name one or more of {', '.join(LOSSES)}.")
    for loss in wanted:
        if loss not in LOSSES:
            raise InputError(f"There is no loss called {loss!r}; use {', '.join(LOSSES)}.")
        if loss == "ce" and not all(batch.labelled for batch in batches):
            raise InputError("ce needs class labels, and these items have answers only; use mcl and kcl.")
        if not sum(batch.count(loss) for batch in batches):
            what = "label" if loss == "ce" else "pair"
            raise InputError(
                f"{loss} cannot be computed, because no {what} is known; take more items or larger batches."
            )
    return wanted


def mean_loss(loss: str, logits: Sequence[Tensor], batches: Sequence[FixedBatch]) -> float:
    """The mean over the items or pairs of all batches; NaN where the network gives no finite logits.

    >>> batch = FixedBatch(torch.empty(2, 0), torch.tensor([0, 1]))
    >>> [round(mean_loss(loss, [torch.zeros(2, 10)], [batch]), 4) for loss in ("ce", "kcl")]
    [2.3026, 4.0]
    """
    total = sum(loss_sum(loss, part, batch) for part, batch in zip(logits, batches, strict=True))
    return total / sum(batch.count(loss) for batch in batches)


def loss_sum(loss: str, logits: Tensor, batch: FixedBatch) -> float:
    """The sum over the items or pairs of one batch."""
    if not bool(torch.isfinite(logits).all()):
        return torch.nan
    if loss == "ce":
        return float(cross_entropy(logits, batch.target.clamp_min(-1), ignore_index=-1, reduction="sum"))
    criterion = {"mcl": mcl, "kcl": kcl}[loss]  # as in the paper: an item and itself are no pair; KCL's margin is 2
    return float(criterion(logits, batch.target, weight=batch.weight, reduction="sum"))


def chance_level(loss: str, n_outputs: int, batches: Sequence[FixedBatch]) -> float:
    """The loss of a network whose outputs are uniform for every item."""
    return mean_loss(loss, [torch.zeros(len(batch.inputs), n_outputs) for batch in batches], batches)


# The items a surface is computed on, in batches that are the same at every point: labelled ones, or answered pairs.
def labelled_batches(
    items: Items,
    *,
    n: int = 1000,
    batch_size: int = 100,
    seed: int = 0,
    mean: Sequence[float] = (),
    std: Sequence[float] = (),
) -> tuple[FixedBatch, ...]:
    """`n` random items whose label is known, or all where there are fewer."""
    known = (items.labels >= 0).nonzero().flatten()
    if n < 2 or len(known) < 2:
        raise InputError(f"A surface needs two labelled items or more, got {min(n, len(known))}.")
    drawn = known[torch.randperm(len(known), generator=generator(seed, ORDER))[:n]]
    chosen = items.subset(drawn)
    batches = TensorBatches(chosen.inputs, chosen.labels, batch_size, mean=mean, std=std, shuffle=False)
    return tuple(FixedBatch(batch.inputs, batch.labels) for batch in batches.epoch(0))


def answered_batches(
    inputs: Tensor,
    pairs: Pairs,
    *,
    n: int = 1000,
    batch_size: int = 100,
    seed: int = 0,
    mean: Sequence[float] = (),
    std: Sequence[float] = (),
) -> tuple[FixedBatch, ...]:
    """Batches of both items of random answered pairs, so many that they hold about `n` items; only answers count."""
    asked = torch.stack([torch.from_numpy(pairs.left), torch.from_numpy(pairs.right)], 1)
    order, known = AnswerOrder(asked, len(inputs), batch_size, seed=seed), AnswerKnowledge(pairs, implied=False)
    batches = []
    for index in order.chunks(0)[: max(1, n // batch_size)]:
        same, weight = dense(known.among(index.numpy()), len(index))
        ready = channels_last(normalise(inputs[index], tuple(mean), tuple(std)))
        batches.append(FixedBatch(ready, same, weight))
    return tuple(batches)


# Outputs in the order of the classes, so that cross-entropy and straight lines between networks have a meaning.
#
# A network that learned from pairs may have any output for any class. Its outputs are matched with the classes by the
# Hungarian algorithm and its last layer is put in that order, which changes neither MCL nor KCL.
def aligned(networks: Sequence[nn.Module], batches: Sequence[FixedBatch]) -> list[nn.Module]:
    """Copies with their outputs in the order of the labels or, where there are none, of the first network's outputs."""
    outputs = [_outputs(network, batches) for network in networks]  # each (n, K)
    if all(batch.labelled for batch in batches):
        labels = torch.cat([batch.target for batch in batches])
        n_classes = int(labels.max()) + 1
    else:
        labels, n_classes = outputs[0].argmax(1), outputs[0].shape[1]
    return [
        _aligned(network, own_outputs, labels, n_classes)
        for network, own_outputs in zip(networks, outputs, strict=True)
    ]


def output_order(outputs: Tensor, labels: Tensor, n_classes: int) -> NDArray[np.int64]:
    """For each class its output, then the outputs that have none; unmatched classes take them in turn.

    >>> output_order(torch.eye(3)[[2, 2, 0]], torch.tensor([0, 0, 2]), n_classes=3)  # class 0 is output 2
    array([2, 1, 0])
    """
    n_outputs = outputs.shape[1]
    matching = match_outputs(confusion(outputs.argmax(1).numpy(), labels.numpy(), n_outputs, n_classes))
    order = np.full(n_outputs, -1, dtype=np.int64)
    for output, label in enumerate(matching.tolist()):
        if 0 <= label < n_outputs:
            order[label] = output
    order[order < 0] = np.setdiff1d(np.arange(n_outputs), order)
    return order


def _aligned(network: nn.Module, outputs: Tensor, labels: Tensor, n_classes: int) -> nn.Module:
    order = output_order(outputs, labels, n_classes)
    if (order == np.arange(len(order))).all():
        return network
    twin = copy.deepcopy(network)
    last = getattr(twin, "last", None)
    if not isinstance(last, nn.Linear):
        raise InputError(
            f"The outputs of this {type(network).__name__} are not in the order of the classes, and without a linear "
            "layer called `last` they cannot be put in order; do so yourself, or compute mcl and kcl alone."
        )
    with torch.no_grad():
        last.weight.copy_(last.weight[order])
        if last.bias is not None:
            last.bias.copy_(last.bias[order])
    return twin


def _outputs(network: nn.Module, batches: Sequence[FixedBatch]) -> Tensor:
    with evaluating(network), torch.inference_mode():
        return torch.cat([network(batch.inputs) for batch in batches])


BatchNorm = Literal["recomputed", "stored"]
Axis = tuple[float, ...]
Span = float | tuple[float, float]  # how far the axes reach: to both sides, or from and to

AROUND, BETWEEN = (-1.0, 1.0), (-0.5, 1.5)  # by default: one solution is in the middle, three are well inside


@dataclass(frozen=True)
class Job:
    """A surface before it is computed."""

    network: nn.Module  # for its form; the weights are the plane's
    plane: Plane
    batches: tuple[FixedBatch, ...]
    n_outputs: int
    losses: tuple[str, ...]
    alpha: Axis
    beta: Axis
    batch_norm: BatchNorm

    def sha256(self) -> str:
        """The fingerprint of all weights and items."""
        planes = (self.plane.centre, self.plane.delta, self.plane.eta)
        tensors = [weights[name] for weights in planes for name in sorted(weights)]
        tensors += [part for batch in self.batches for part in (batch.inputs, batch.target)]
        return fingerprint(tensor.numpy() for tensor in tensors)


def make_job(
    networks: Sequence[nn.Module],
    batches: tuple[FixedBatch, ...],
    *,
    losses: Sequence[str],
    grid: int,
    span: Span | None = None,
    batch_norm: BatchNorm = "recomputed",
    biases: Biases = "left-out",
    seed: int = 0,
) -> Job:
    """Everything that the losses on the grid depend on, checked."""
    if len(networks) not in (1, 3):
        raise InputError(f"A plane goes through one solution or three, got {len(networks)}.")
    if batch_norm not in get_args(BatchNorm):
        raise InputError(f"batch_norm must be {' or '.join(get_args(BatchNorm))}, got {batch_norm!r}.")
    wanted = check_losses(losses, batches)
    networks = [copy.deepcopy(network).to("cpu", torch.float32) for network in networks]
    _refuse_other_shapes(networks)
    axis = make_axis(grid, span, BETWEEN if len(networks) == 3 else AROUND)
    if "ce" in wanted or len(networks) == 3:
        networks = aligned(networks, batches)
    n_outputs = _n_outputs(networks[0], batches)
    if "ce" in wanted:
        _refuse_too_few_outputs(n_outputs, batches)
    weights = [weights_of(network, statistics=batch_norm == "stored") for network in networks]
    plane = mutual_plane(*weights) if len(weights) == 3 else random_plane(weights[0], seed=seed, biases=biases)
    return Job(networks[0], plane, batches, n_outputs, wanted, axis, axis, batch_norm)


def make_axis(grid: int, span: Span | None, default: tuple[float, float]) -> Axis:
    """
    >>> make_axis(3, 0.5, AROUND)
    (-0.5, 0.0, 0.5)
    """
    if grid < 2:
        raise InputError(f"A grid needs 2 points per side or more, got {grid}.")
    low, high = default if span is None else span if isinstance(span, tuple) else (-span, span)
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise InputError(f"The range must go from a number to a larger one, got {low:g} to {high:g}.")
    return tuple(np.linspace(low, high, grid).round(12).tolist())


def _refuse_other_shapes(networks: Sequence[nn.Module]) -> None:
    shapes = [{name: list(value.shape) for name, value in network.state_dict().items()} for network in networks]
    for other in shapes[1:]:
        difference = first_difference(shapes[0], other)
        if difference:
            name, first, second = difference
            raise InputError(f"These are different networks: {name} has shape {first} in one and {second} in another.")


def _n_outputs(network: nn.Module, batches: Sequence[FixedBatch]) -> int:
    with evaluating(network), torch.inference_mode():
        return int(network(batches[0].inputs).shape[1])


def _refuse_too_few_outputs(n_outputs: int, batches: Sequence[FixedBatch]) -> None:
    n_classes = 1 + max(int(batch.target.max()) for batch in batches)
    if n_outputs < n_classes:
        raise InputError(
            f"ce needs an output for each of {n_classes} classes, the network has {n_outputs}; use mcl and kcl."
        )
