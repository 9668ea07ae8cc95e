"""The network at points of a plane: blocks and any network against the network itself in float64."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from likewise.landscape.blocks import Block, BlockNetwork, linear_map, moments_of, squares
from likewise.landscape.grid import AnyNetwork
from likewise.landscape.surface import Plane, mutual_plane, random_plane, weights_of
from likewise.networks import VGG, PreActResNet
from likewise.training.batches import channels_last

Lively = Callable[..., nn.Module]
Items = Callable[..., tuple[Tensor, Tensor]]
Reference = Callable[[nn.Module, Plane, float, float, Tensor, bool], Tensor]

BETAS = (-0.5, 0.0, 0.75)


def check(
    network: nn.Module,
    evaluator: BlockNetwork | AnyNetwork,
    plane: Plane,
    inputs: Tensor,
    reference: Reference,
    recompute: bool,
) -> None:
    batches = [channels_last(part) for part in inputs.split(5)]
    logits_of = evaluator.along(0.25, BETAS)
    for batch in batches:
        for of_point, beta in zip(logits_of(batch), BETAS, strict=True):
            wanted = reference(network, plane, 0.25, beta, batch, recompute)
            torch.testing.assert_close(of_point.double(), wanted, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("recompute", [True, False])
@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("lenet", (1, 8, 8)),
        ("lenet", (2, 11, 14)),  # pooling leaves out a row, then a row and a column
        (VGG(3, (1, 8, 8), ((5,), (9,)), hidden_layer=True), (1, 8, 8)),
        (VGG(3, (3, 8, 8), ((5, 6), (9,))), (3, 8, 8)),  # no pooling at first, the last layer behind the flattening
        ("mlp", (6,)),
        ("mlp", (1, 3, 3)),
    ],
)
def test_blocks_are_the_network(
    name: str | nn.Module,
    shape: tuple[int, ...],
    recompute: bool,
    lively: Lively,
    items: Items,
    plain_logits: Reference,
) -> None:
    network = lively(name, 3, shape)
    inputs, _ = items(9, shape, 3)
    plane = random_plane(weights_of(network, statistics=not recompute), biases="normalised")
    blocks = BlockNetwork.of(network, plane, recompute=recompute)
    assert blocks is not None
    with torch.inference_mode():
        check(network, blocks, plane, inputs, plain_logits, recompute)


@pytest.mark.parametrize("recompute", [True, False])
@pytest.mark.parametrize(
    ("name", "shape"),
    [
        (PreActResNet(3, (1, 8, 8), (1, 1), bottleneck=False), (1, 8, 8)),
        ("lenet", (1, 8, 8)),
        ("linear", (6,)),
        ("linear", (1, 3, 3)),
    ],
)
def test_any_network_is_the_network(
    name: str | nn.Module,
    shape: tuple[int, ...],
    recompute: bool,
    lively: Lively,
    items: Items,
    plain_logits: Reference,
) -> None:
    network = lively(name, 3, shape)
    before = {key: value.clone() for key, value in network.state_dict().items()}
    inputs, _ = items(9, shape, 3)
    plane = random_plane(weights_of(network, statistics=not recompute), biases="normalised")
    with torch.inference_mode():
        check(network, AnyNetwork(network, plane, recompute=recompute), plane, inputs, plain_logits, recompute)
    assert all(torch.equal(value, before[key]) for key, value in network.state_dict().items())


def test_between_solutions_stored_statistics_are_mixed(lively: Lively, items: Items, plain_logits: Reference) -> None:
    networks = [lively("lenet", 3, (1, 8, 8), seed) for seed in range(3)]
    inputs, _ = items(9, (1, 8, 8), 3)
    plane = mutual_plane(*(weights_of(network, statistics=True) for network in networks))
    blocks = BlockNetwork.of(networks[0], plane, recompute=False)
    assert blocks is not None
    with torch.inference_mode():
        check(networks[0], blocks, plane, inputs, plain_logits, recompute=False)
        there = blocks.along(1.0, [0.0])(inputs)
        torch.testing.assert_close(there[0], networks[1].eval()(inputs), rtol=1e-3, atol=1e-3)


def test_a_negative_variance_gives_no_number(lively: Lively, items: Items) -> None:
    network = lively("lenet", 3, (1, 8, 8))
    inputs, _ = items(4, (1, 8, 8), 3)
    centre = weights_of(network, statistics=True)
    zero = {name: torch.zeros_like(value) for name, value in centre.items()}
    down = zero | {"layers.1.running_var": -centre["layers.1.running_var"]}
    blocks = BlockNetwork.of(network, Plane(centre, zero, down), recompute=False)
    assert blocks is not None
    with torch.inference_mode():
        logits = blocks.along(0.0, [0.0, 2.0])(inputs)
    assert logits[0].isfinite().all()
    assert logits[1].isnan().all()


@pytest.mark.parametrize(
    "layers",
    [
        nn.Sequential(nn.Flatten(), nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU()),  # the bias would be forgotten
        nn.Sequential(nn.Conv2d(1, 8, 3, bias=False), nn.BatchNorm2d(8), nn.MaxPool2d(3), nn.ReLU(), nn.Flatten()),
        nn.Sequential(nn.Flatten(), nn.Linear(4, 8, bias=False), nn.ReLU()),
        nn.Sequential(nn.Flatten(), nn.Linear(4, 8, bias=False), nn.BatchNorm1d(8), nn.Tanh()),
    ],
)
def test_what_is_not_made_of_blocks_is_left_to_the_general_way(layers: nn.Sequential) -> None:
    network = nn.Module()
    network.layers, network.last = layers, nn.Linear(8, 3)
    assert BlockNetwork.of(network, Plane({}, {}, {}), recompute=True) is None


def test_a_residual_network_is_left_to_the_general_way(lively: Lively) -> None:
    assert BlockNetwork.of(lively("resnet18", 3, (1, 8, 8)), Plane({}, {}, {}), recompute=True) is None


def test_moments() -> None:
    pixels = 3 + torch.randn(5, 4, 4, 7, generator=torch.Generator().manual_seed(0))
    mean, variance = moments_of(pixels)
    torch.testing.assert_close(mean, pixels.double().mean((0, 1, 2)).float())
    torch.testing.assert_close(variance, pixels.double().var((0, 1, 2), correction=0).float(), rtol=1e-4, atol=1e-5)


def test_the_pixels_of_squares_apart_are_the_same_pixels() -> None:
    layer = nn.Conv2d(3, 2, 5, padding=2, bias=False)
    block = Block("0.weight", "1", 1e-5, layer, pool=True)
    pixels = torch.randn(4, 6, 8, 3)
    assert block.as_squares(2, pixels)
    assert not block.as_squares(2, pixels[:, :5])
    apart, whole = squares(block, pixels, layer.weight), linear_map(block, pixels, layer.weight)
    for row in range(2):
        for column in range(2):
            torch.testing.assert_close(apart[:, :, :, 2 * row + column], whole[:, row::2, column::2])
