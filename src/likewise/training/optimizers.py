"""The optimizers, and their state as named tensors for the checkpoint."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor, nn
from torch.optim import SGD, Adam, AdamW, Optimizer

from likewise.errors import InputError
from likewise.training.settings import Settings


def build_optimizer(network: nn.Module, settings: Settings, device: torch.device) -> Optimizer:
    """The optimizer of `settings` over the parameters that want a gradient, in torch's fused form where it has one."""
    parameters = [parameter for parameter in network.parameters() if parameter.requires_grad]
    if not parameters:
        raise InputError("The network has no parameter with requires_grad, so there is nothing to train.")
    rate, decay = settings.learning_rate, settings.weight_decay
    fused = True if device.type in ("cpu", "cuda") else None
    if settings.optimizer == "sgd":
        return SGD(parameters, lr=rate, momentum=settings.momentum, weight_decay=decay, fused=fused)
    return (Adam if settings.optimizer == "adam" else AdamW)(parameters, lr=rate, weight_decay=decay, fused=fused)


def optimizer_tensors(optimizer: Optimizer) -> dict[str, Tensor]:
    """Every tensor of the state as "<position of the parameter>.<name>"."""
    return {
        f"{position}.{name}": value
        for position, parameter in enumerate(_parameters(optimizer))
        for name, value in optimizer.state.get(parameter, {}).items()
        if isinstance(value, Tensor)
    }


def restore_optimizer(optimizer: Optimizer, tensors: Mapping[str, Tensor]) -> None:
    """Put back what `optimizer_tensors` gave, each tensor in the memory layout of its parameter (as torch makes it)."""
    parameters = _parameters(optimizer)
    optimizer.state.clear()
    for key, value in tensors.items():
        position, name = key.split(".", 1)
        parameter = parameters[int(position)]
        if value.shape == parameter.shape:
            restored = torch.empty_like(parameter, dtype=value.dtype, requires_grad=False).copy_(value)
        else:  # Adam's count of steps
            restored = value.clone().to(parameter.device if optimizer.defaults.get("fused") else "cpu")
        optimizer.state[parameter][name] = restored


def _parameters(optimizer: Optimizer) -> list[Tensor]:
    return [parameter for group in optimizer.param_groups for parameter in group["params"]]
