"""Fine-tune with an optimizer of your own, and follow every epoch in TensorBoard.

It needs TensorBoard: `pip install tensorboard`. Run it with `python examples/tensorboard_log.py [FOLDER]`, and look at
it with `tensorboard --logdir FOLDER`. Any other log is as short: `on_epoch` is called with each row of the history.
"""

from __future__ import annotations

import sys
from pathlib import Path

import torch
from torch import nn
from torch.utils.tensorboard import SummaryWriter

from likewise import MCL
from likewise.datasets import load
from likewise.networks import build
from likewise.training import Settings, train_labelled

folder = Path(sys.argv[1] if len(sys.argv) > 1 else "runs/tensorboard")
digits = load("digits")
network = build("lenet", 10, (1, 8, 8), seed=0)


def two_rates(network: nn.Module) -> torch.optim.Optimizer:
    """The last layer learns ten times as fast as what is below it, and its weights do not decay."""
    last = [parameter for name, parameter in network.named_parameters() if name.startswith("last")]
    below = [parameter for name, parameter in network.named_parameters() if not name.startswith("last")]
    return torch.optim.AdamW([{"params": below, "lr": 1e-3}, {"params": last, "lr": 1e-2, "weight_decay": 0.0}])


with SummaryWriter(folder / "log") as writer:

    def log(row: dict[str, float]) -> None:
        for name, value in row.items():
            writer.add_scalar(name, value, int(row["epoch"]))

    result = train_labelled(
        network,
        digits.train,
        digits,
        MCL(),
        Settings(epochs=5, learning_rate=1e-2, schedule="one-cycle", clip_norm=1.0, device="cpu"),
        run=folder / "run",  # run it again after Ctrl-C, and it resumes
        optimizer=two_rates,
        on_epoch=log,
    )
print(f"unseen digits: {100 * result.history[-1]['test_accuracy']:.1f} % right; tensorboard --logdir {folder}")
