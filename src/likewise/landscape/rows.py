"""One row of a surface: the losses at all points with the same alpha, which share each pass over the data.

Where the network is made of blocks, each core has a batch of its own, and no operation is divided among cores: they
wait for each other once per row, and not after every product of matrices. The result does not depend on their number.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple, Protocol, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn.modules.batchnorm import _BatchNorm

from likewise.landscape.blocks import BlockNetwork
from likewise.landscape.job import Axis, Job
from likewise.landscape.losses import FixedBatch, loss_sum
from likewise.landscape.plane import Plane


# Any network at many points of a plane: called once for each point and batch.
class AnyNetwork:
    """The network in evaluation mode; with `recompute`, batch-norm has the statistics of the batch at hand."""

    def __init__(self, network: nn.Module, plane: Plane, *, recompute: bool) -> None:
        self.plane = plane
        self.network = copy.deepcopy(network).cpu().eval()
        for module in self.network.modules():
            if recompute and isinstance(module, _BatchNorm):
                module.running_mean = module.running_var = None  # it then normalises by the batch, in any mode

    def along(self, alpha: float, betas: Sequence[float]) -> Callable[[Tensor], Tensor]:
        """What gives for a batch the logits of all points of a row, (points, b, K); for one batch at a time, since the
        network has the weights of one point.
        """
        row = self.plane.row(alpha)
        points = [self.plane.along(row, beta) for beta in betas]
        return lambda inputs: torch.stack([functional_call(self.network, point, (inputs,)) for point in points])


T = TypeVar("T")

MOST_MEBIBYTES = 256  # of weights, for the points that share a pass over the data


class Evaluator(Protocol):
    """A network at points of a plane."""

    def along(self, alpha: float, betas: Sequence[float]) -> Callable[[Tensor], Tensor]:
        """What gives for a batch the logits of all points, (points, b, K)."""


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
        logits_of = self.evaluator.along(alpha, betas)

        def sums_of(batch: FixedBatch) -> NDArray[np.float64]:  # (losses, betas)
            with torch.inference_mode():
                logits = logits_of(batch.inputs)
                return np.array([[loss_sum(loss, each, batch) for each in logits] for loss in self.job.losses])

        at_once = isinstance(self.evaluator, BlockNetwork)
        sums = sum(on_a_core_each(sums_of, self.job.batches) if at_once else map(sums_of, self.job.batches))
        means: NDArray[np.float32] = (sums / self.counts[:, None]).astype(np.float32)
        return means


def on_a_core_each(call: Callable[[T], NDArray[np.float64]], arguments: Iterable[T]) -> Iterator[NDArray[np.float64]]:
    """What `call` gives for each argument, in their order; torch's threads work at one each."""
    threads = torch.get_num_threads()
    try:
        with ThreadPoolExecutor(threads, initializer=torch.set_num_threads, initargs=(1,)) as pool:
            yield from pool.map(call, arguments)
    finally:
        torch.set_num_threads(threads)
