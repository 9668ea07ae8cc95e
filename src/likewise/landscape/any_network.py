"""Any network at many points of a plane: called once for each point and batch."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn.modules.batchnorm import _BatchNorm

from likewise.landscape.plane import Plane


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
