"""What is to be computed: networks, fixed batches, losses and a grid, checked and brought into one plane."""

from __future__ import annotations

import copy
import math
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import torch
from torch import nn

from likewise.errors import InputError
from likewise.landscape.alignment import aligned
from likewise.landscape.directions import Biases, mutual_plane, random_plane
from likewise.landscape.losses import FixedBatch, check_losses
from likewise.landscape.plane import Plane, weights_of
from likewise.storage.records import first_difference
from likewise.training import evaluating

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

    def checksum(self) -> int:
        """Of all weights and items."""
        total = 0
        planes = (self.plane.centre, self.plane.delta, self.plane.eta)
        tensors = [weights[name] for weights in planes for name in sorted(weights)]
        tensors += [part for batch in self.batches for part in (batch.inputs, batch.target)]
        for tensor in tensors:
            total = zlib.crc32(tensor.contiguous().numpy().data, total)
        return total


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
        raise InputError(f"A grid needs 2 points a side or more, got {grid}.")
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
