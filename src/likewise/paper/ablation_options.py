"""What was tried so that MCL starts early and keeps its classes apart, each option alone.

Only the joint term paid and is part of the library (criteria/joint.py, supervision/joint.py). The others live here, for
the table.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from likewise.criteria import mcl
from likewise.supervision import PER_OUTPUT

Loss = Callable[[Tensor, Tensor], Tensor]  # (logits (b, K), labels (b,)) -> the loss of the batch

SCALE = 4.0
ENTROPY = 1.0
VOLUME = 0.01
FLOOR = 1e-3  # of the eigenvalues, so that the logarithm is finite while outputs are merged


@dataclass(frozen=True)
class Option:
    """One change to MCL as the recipe has it."""

    words: str
    told: dict[str, object] = field(default_factory=dict)  # its numbers, for the record
    loss: Loss | None = None  # in place of MCL
    scale: float = 1.0  # of the last layer's weights at the start
    half_the_classes: bool = False  # in each batch, so that "same" is twice as frequent
    joint: bool = False  # joint MCL
    remembered: int = 0  # items for each output that joint MCL remembers


def balanced(logits: Tensor, labels: Tensor) -> Tensor:
    """MCL in which the pairs that are the same count as much as those that are different."""
    same = (labels[:, None] == labels).to(logits)
    others = same.sum() - len(labels)
    weight = torch.where(same > 0, 1 / others.clamp_min(1), 1 / (1 - same).sum().clamp_min(1))
    return mcl(logits, same, weight=weight)


def sharpened(logits: Tensor, labels: Tensor) -> Tensor:
    """MCL of a softmax at a quarter of the temperature."""
    return mcl(SCALE * logits, labels, self_pairs=True)


def spread_out(logits: Tensor, labels: Tensor) -> Tensor:
    """MCL, less the entropy of the mean output: all outputs are to be used."""
    mean = logits.softmax(1).mean(0)
    entropy: Tensor = torch.special.entr(mean).sum()
    return mcl(logits, labels, self_pairs=True) - ENTROPY * entropy


def voluminous(logits: Tensor, labels: Tensor) -> Tensor:
    """MCL, less the log-determinant of the outputs' second moments (Nguyen et al., ICML 2023, VolMaxDCC)."""
    p = logits.softmax(1)
    k = p.shape[1]
    moments = k * p.T @ p / len(p) + FLOOR * torch.eye(k, device=p.device)  # (K, K)
    return mcl(logits, labels, self_pairs=True) - VOLUME * torch.logdet(moments)


OPTIONS: dict[str, Option] = {
    "balance": Option('"same" and "different" count alike', loss=balanced),
    "scale": Option(f"the last layer's weights times {SCALE:g} at the start", {"scale": SCALE}, scale=SCALE),
    "temperature": Option(f"softmax of {SCALE:g} times the logits", {"temperature": 1 / SCALE}, sharpened),
    "entropy": Option("plus the entropy of the mean output", {"entropy": ENTROPY}, spread_out),
    "volume": Option(f"plus {VOLUME:g} log-determinant of the outputs", {"volume": VOLUME}, voluminous),
    "classes": Option("half of the classes in each batch", half_the_classes=True),
    "joint": Option("joint, batch by batch", joint=True),
    "joint-memory": Option(
        f"joint, with the last {PER_OUTPUT} items per output (kept)",
        {"remembered": PER_OUTPUT},
        joint=True,
        remembered=PER_OUTPUT,
    ),
}


def rescale(network: nn.Module, factor: float) -> None:
    """Multiply the weights of the last layer."""
    last = network.get_submodule("last")
    assert isinstance(last, nn.Linear)
    with torch.no_grad():
        last.weight.mul_(factor)
