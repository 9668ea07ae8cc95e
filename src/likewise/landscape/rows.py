"""One row of a surface: the losses at all points with the same alpha, which share each pass over the data."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from likewise.landscape.any_network import AnyNetwork
from likewise.landscape.blocks import BlockNetwork
from likewise.landscape.job import Axis, Job
from likewise.landscape.losses import loss_sum

MOST_MEBIBYTES = 256  # of weights, for the points that share a pass over the data


class Evaluator(Protocol):
    """A network at points of a plane."""

    def logits(self, alpha: float, betas: Sequence[float], batches: Iterable[Tensor]) -> Iterator[Tensor]:
        """For each batch the logits of all points, (points, b, K)."""


def evaluator(job: Job) -> Evaluator:
    """The fast way where the network is made of blocks, else the one that suits any network."""
    recompute = job.batch_norm == "recomputed"
    blocks = BlockNetwork.of(job.network, job.plane, recompute=recompute)
    return AnyNetwork(job.network, job.plane, recompute=recompute) if blocks is None else blocks


class Row(NamedTuple):
    values: NDArray[np.float32]  # (losses, betas); NaN where the network gives no finite output
    cpu_seconds: float


class RowLosses:
    """The losses of any row of a job."""

    def __init__(self, job: Job) -> None:
        self.job, self.evaluator = job, evaluator(job)
        self.counts = np.array([sum(batch.count(loss) for batch in job.batches) for loss in job.losses])
        self.n_points = max(1, int(MOST_MEBIBYTES / job.plane.mebibytes()))  # at a time

    @torch.inference_mode()
    def row(self, position: int) -> Row:
        started = time.process_time()
        alpha, beta = self.job.alpha[position], self.job.beta
        parts = [self._points(alpha, beta[i : i + self.n_points]) for i in range(0, len(beta), self.n_points)]
        return Row(np.concatenate(parts, axis=1), time.process_time() - started)

    def _points(self, alpha: float, betas: Axis) -> NDArray[np.float32]:
        sums = np.zeros((len(self.job.losses), len(betas)))
        outputs = self.evaluator.logits(alpha, betas, (batch.inputs for batch in self.job.batches))
        for logits, batch in zip(outputs, self.job.batches, strict=True):
            for place, loss in enumerate(self.job.losses):
                sums[place] += [loss_sum(loss, of_point, batch) for of_point in logits]
        means: NDArray[np.float32] = (sums / self.counts[:, None]).astype(np.float32)
        return means
