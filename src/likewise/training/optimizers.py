"""Learning rates, and optimizers with their state as named tensors and numbers for the checkpoint."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from typing import Any
from zlib import crc32

import torch
from torch import Tensor, nn
from torch.optim import SGD, Adam, AdamW, Optimizer

from likewise.errors import InputError
from likewise.training.settings import Settings

# Learning rates as pure functions of the step: nothing to save, so a resumed run cannot drift.

WARM_UP = 0.3  # the share of all steps in which "one-cycle" climbs


def learning_rate(settings: Settings, epoch: int, step: int, steps_per_epoch: int) -> float:
    """The rate of one step; epoch and step count from 0.

    "step" is the paper's: the rate divided by ten at each epoch in `drops`. "one-cycle" climbs in a straight line for
    30 % of all steps and falls to zero along a cosine, both taken at the middle of the step, so no step is lost at 0.

    >>> settings = Settings(epochs=30, learning_rate=0.001, drops=(15, 25))
    >>> [learning_rate(settings, epoch, 0, 600) for epoch in (0, 14, 15, 25)]
    [0.001, 0.001, 0.0001, 1e-05]
    """
    if settings.schedule == "step":
        return settings.learning_rate / 10.0 ** sum(drop <= epoch for drop in settings.drops)
    position = (epoch * steps_per_epoch + step + 0.5) / (settings.epochs * steps_per_epoch)  # in (0, 1)
    if position < WARM_UP:
        return settings.learning_rate * position / WARM_UP
    return settings.learning_rate * 0.5 * (1 + math.cos(math.pi * (position - WARM_UP) / (1 - WARM_UP)))


MakeOptimizer = Callable[[nn.Module], Optimizer]  # from the network, which is on its device already

OF_SETTINGS = {"kind": "that of the settings"}  # which are compared on their own


def build_optimizer(
    network: nn.Module, settings: Settings, device: torch.device, make: MakeOptimizer | None = None
) -> Optimizer:
    """The optimizer of `settings` over the parameters that want a gradient, in torch's fused form where it has one.

    Or the one that `make` gives; the rate of each of its groups becomes its `initial_lr`, which the schedule scales.
    """
    parameters = [parameter for parameter in network.parameters() if parameter.requires_grad]
    if not parameters:
        raise InputError("The network has no parameter with requires_grad, so there is nothing to train.")
    rate, decay = settings.learning_rate, settings.weight_decay
    fused = True if device.type in ("cpu", "cuda") else None
    optimizer: Optimizer
    if make is not None:
        optimizer = make(network)
        _check(optimizer, network)
    elif settings.optimizer == "sgd":
        optimizer = uncompiled(SGD)(parameters, lr=rate, momentum=settings.momentum, weight_decay=decay, fused=fused)
    else:
        kind = uncompiled(Adam if settings.optimizer == "adam" else AdamW)
        optimizer = kind(parameters, lr=rate, weight_decay=decay, fused=fused)
    for group in optimizer.param_groups:
        group["initial_lr"] = float(group["lr"])
    return optimizer


def uncompiled(kind: type[Any]) -> type[Any]:
    """The same optimizer, but making and stepping it does not import torch's compiler, which takes 1 to 3 seconds.

    torch wraps three methods to keep its compiler out of them, and imports the compiler for that; these are the methods
    without what is around them.
    """
    methods = {name: inspect.unwrap(getattr(kind, name)) for name in ("add_param_group", "zero_grad", "step")}
    return type(kind.__name__, (kind,), {**methods, "step": torch.no_grad()(methods["step"])})


def set_rate(optimizer: Optimizer, rate: float, settings: Settings) -> None:
    """The rate of a step for all groups; a group with another rate than the settings keeps its proportion to them."""
    for group in optimizer.param_groups:
        group["lr"] = rate * (group["initial_lr"] / settings.learning_rate)


def describe_optimizer(optimizer: Optimizer, network: nn.Module) -> dict[str, object]:
    """What identifies an optimizer of the user's: its class, and the options and parameters of each group."""
    names = {parameter: name for name, parameter in network.named_parameters()}
    described: dict[str, object] = {"kind": f"{type(optimizer).__module__}.{type(optimizer).__qualname__}"}
    for number, group in enumerate(optimizer.param_groups, 1):
        own = [names[parameter] for parameter in group["params"]]
        span = f"{len(own)}, {own[0]} to {own[-1]}, checksum {crc32(' '.join(own).encode()):08x}"
        options = {name: value for name, value in group.items() if isinstance(value, bool | int | float | tuple | str)}
        described[f"group {number}"] = {"parameters": span, **options}
    return described


def optimizer_tensors(optimizer: Optimizer) -> dict[str, Tensor]:
    """Every tensor of the state as "<position of the parameter>.<name>"."""
    return {name: value for name, value in _state(optimizer).items() if isinstance(value, Tensor)}


def optimizer_numbers(optimizer: Optimizer) -> dict[str, Any]:
    """The rest of the state: its numbers, named alike, and those of each group, which the optimizer may change."""
    state = {name: value for name, value in _state(optimizer).items() if not isinstance(value, Tensor)}
    for name, value in state.items():
        if not isinstance(value, bool | int | float | str | None):
            raise InputError(
                f"{type(optimizer).__name__} keeps a {type(value).__name__} in its state ({name}), which a checkpoint "
                "cannot hold; train without a run folder, or with another optimizer."
            )
    return {"state": state, "groups": [_numbers(group) for group in optimizer.param_groups]}


def restore_optimizer(
    optimizer: Optimizer, tensors: Mapping[str, Tensor], numbers: Mapping[str, Any] | None = None
) -> None:
    """Restore what these two gave, each tensor in the memory layout of its parameter (as torch makes it)."""
    parameters = _parameters(optimizer)
    optimizer.state.clear()
    for key, value in tensors.items():
        position, name = key.split(".", 1)
        parameter = parameters[int(position)]
        if value.shape == parameter.shape:
            restored = torch.empty_like(parameter, dtype=value.dtype, requires_grad=False).copy_(value)
        elif value.ndim == 0:  # Adam's count of steps
            restored = value.clone().to(parameter.device if optimizer.defaults.get("fused") else "cpu")
        else:
            restored = value.clone().to(parameter.device)
        optimizer.state[parameter][name] = restored
    if numbers is None:  # a checkpoint of an earlier version, whose optimizers had none
        return
    for key, number in numbers["state"].items():
        position, name = key.split(".", 1)
        optimizer.state[parameters[int(position)]][name] = number
    for group, changed in zip(optimizer.param_groups, numbers["groups"], strict=True):
        group.update(changed)


def _check(optimizer: Optimizer, network: nn.Module) -> None:
    kind = type(optimizer).__name__
    closure = inspect.signature(optimizer.step).parameters.get("closure")
    if closure is not None and closure.default is inspect.Parameter.empty:
        raise InputError(f"{kind} wants to compute the loss several times in a step; use an optimizer that does not.")
    own = set(network.parameters())
    if any(parameter not in own for parameter in _parameters(optimizer)):
        raise InputError(f"{kind} has parameters that are not the network's; make it of those of the network given.")


def _state(optimizer: Optimizer) -> dict[str, Any]:
    positions = {parameter: position for position, parameter in enumerate(_parameters(optimizer))}
    if any(key not in positions for key in optimizer.state):
        raise InputError(
            f"{type(optimizer).__name__} keeps a state that is of no parameter, which a checkpoint cannot hold; train "
            "without a run folder, or with another optimizer."
        )
    return {
        f"{position}.{name}": value
        for parameter, position in positions.items()
        for name, value in optimizer.state.get(parameter, {}).items()
    }


def _numbers(group: Mapping[str, Any]) -> dict[str, bool | int | float]:
    return {name: value for name, value in group.items() if isinstance(value, bool | int | float)}


def _parameters(optimizer: Optimizer) -> list[Tensor]:
    return [parameter for group in optimizer.param_groups for parameter in group["params"]]
