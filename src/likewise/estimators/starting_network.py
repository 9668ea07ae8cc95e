"""The network that training begins with: one of ours by its name, or the user's own, checked before it is trained."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from likewise.errors import InputError
from likewise.networks import build

EMBEDDING = 100  # numbers of a vector, at least
ITEMS_A_NUMBER = 10  # of an embedding, from which on an MLP is learned

OwnNetwork = nn.Module | Callable[[int, tuple[int, ...]], nn.Module]
Network = OwnNetwork | str | None


def starting_network(
    chosen: OwnNetwork | str,
    n_outputs: int,
    shape: tuple[int, ...],
    logits: Callable[[nn.Module], Tensor],
    *,
    seed: int,
    start: int,
) -> nn.Module:
    """The network of a start, the first of which is 0; it depends on these arguments alone. `logits` gives its outputs.

    A module is copied, and its first start has the module's own weights. Each later one has a new last layer: what was
    learned elsewhere is in the layers below, which every start keeps.
    """
    if isinstance(chosen, str):
        return build(chosen, n_outputs, shape, seed=seed + start)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed + start)
        network = make_own(chosen, n_outputs, shape)
        last = _check(network, n_outputs, shape, logits)
        if isinstance(chosen, nn.Module) and start and last is not None:
            last.reset_parameters()
    return network


def default_network(shape: tuple[int, ...], n_items: int) -> str:
    """LeNet for images; for vectors an MLP, or a linear network for embeddings with too many numbers to learn one from.

    >>> default_network((1, 28, 28), 1000), default_network((64,), 1000), default_network((1280,), 900)
    ('lenet', 'mlp', 'linear')
    """
    if len(shape) == 3 and min(shape[1:]) >= 4:
        return "lenet"
    numbers = math.prod(shape)
    return "linear" if numbers >= EMBEDDING and n_items < ITEMS_A_NUMBER * numbers else "mlp"


def make_own(chosen: OwnNetwork, n_outputs: int, shape: tuple[int, ...]) -> nn.Module:
    """A copy of the user's module, or what the user's function makes."""
    network: object = copy.deepcopy(chosen) if isinstance(chosen, nn.Module) else chosen(n_outputs, shape)
    if not isinstance(network, nn.Module):
        raise InputError(f"network must be an nn.Module or give one, and it gave a {type(network).__name__}.")
    return network


def _check(network: nn.Module, n_outputs: int, shape: tuple[int, ...], logits: Callable[[nn.Module], Tensor]) -> Any:
    """Refuse a network that cannot take the items or has other outputs; gives the last layer, to be drawn again."""
    layers: list[Any] = []
    hooks = [
        layer.register_forward_hook(lambda layer, *_: layers.append(layer))
        for layer in network.modules()
        if hasattr(layer, "reset_parameters") and any(p.ndim > 1 and p.requires_grad for p in layer.parameters(False))
    ]
    try:
        output = tuple(logits(network).shape[1:])
    except Exception as error:  # a network of the user's own raises whatever it likes
        raise InputError(f"The network cannot take items of shape {shape}: {error}") from error
    finally:
        for hook in hooks:
            hook.remove()
    if output != (n_outputs,):
        has = f"{output[0]} outputs" if len(output) == 1 else f"an output of shape {output} for each item"
        raise InputError(f"The network has {has}, and there are {n_outputs} classes; give it {n_outputs} outputs.")
    return layers[-1] if layers else None
