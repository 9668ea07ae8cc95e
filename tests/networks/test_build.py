"""What every network promises, whatever its name: shapes, features, gradients, memory formats, and clear refusals."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from likewise.errors import InputError
from likewise.networks import NAMES, build

CONVOLUTIONAL = [name for name in NAMES if name not in ("mlp", "linear")]
# One of each kind, with images as small as it takes, so that the arithmetic is quick.
SMALL = [
    ("lenet", (3, 8, 8)),
    ("vgg8", (3, 32, 32)),
    ("omniglot", (3, 16, 16)),
    ("resnet18", (3, 8, 8)),
    ("mlp", (20,)),
    ("linear", (20,)),
]


def images(shape: tuple[int, ...], seed: int = 0) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def seeded(name: str, shape: tuple[int, ...], n_classes: int = 10) -> nn.Module:
    torch.manual_seed(0)
    return build(name, n_classes, shape)


def test_names_are_those_of_the_paper_and_two_of_ours() -> None:
    assert NAMES[:6] == ("lenet", "vgg8", "vgg11", "vgg13", "vgg16", "omniglot")
    assert NAMES[6:] == ("conv4-wide", "conv4", "resnet18", "resnet34", "resnet50", "resnet101", "mlp", "linear")


@pytest.mark.parametrize("shape", [(1, 32, 32), (3, 32, 32), (3, 64, 32), (5, 45, 70), (2, 105, 105)])
@pytest.mark.parametrize("name", NAMES)
def test_shapes_for_any_size_and_channel_count(name: str, shape: tuple[int, int, int]) -> None:
    with torch.device("meta"):  # shapes without arithmetic
        network = build(name, 7, shape)
        x = torch.zeros(2, *shape)
        assert network.features(x).shape == (2, network.n_features)
        assert network(x).shape == (2, 7)
        assert isinstance(network.last, nn.Linear)


@pytest.mark.parametrize(
    ("name", "shape", "n_features"),
    [
        ("lenet", (1, 8, 8), 500),
        ("lenet", (1, 28, 28), 500),
        ("lenet", (3, 4, 5), 500),
        ("vgg8", (3, 32, 32), 512),
        ("vgg16", (3, 64, 96), 512 * 2 * 3),
        ("omniglot", (1, 32, 32), 256 * 2 * 2 // 2),
        ("omniglot", (1, 16, 16), 256 // 2),
        ("resnet18", (1, 8, 8), 512),
        ("resnet18", (1, 1, 1), 512),
        ("resnet101", (3, 32, 32), 2048),
        ("mlp", (64,), 256),
        ("mlp", (1, 8, 8), 256),
        ("linear", (64,), 64),
        ("linear", (3, 8, 9), 216),
    ],
)
def test_number_of_features(name: str, shape: tuple[int, ...], n_features: int) -> None:
    with torch.device("meta"):
        network = build(name, 3, shape)
        assert network.n_features == n_features == network.last.in_features
        assert network.features(torch.zeros(2, *shape)).shape == (2, n_features)


@pytest.mark.parametrize(("name", "shape"), SMALL)
def test_forward_is_last_of_features(name: str, shape: tuple[int, ...]) -> None:
    network = seeded(name, shape).eval()
    x = images((4, *shape))
    expected = network.features(x) @ network.last.weight.T + network.last.bias
    torch.testing.assert_close(network(x), expected)
    assert network(x).std() > 0


@pytest.mark.parametrize(("name", "shape"), SMALL)
def test_input_is_not_changed(name: str, shape: tuple[int, ...]) -> None:
    x = images((4, *shape))
    before = x.clone()
    seeded(name, shape)(x)
    assert torch.equal(x, before)


@pytest.mark.parametrize(("name", "shape"), SMALL)
def test_gradient_reaches_every_parameter(name: str, shape: tuple[int, ...]) -> None:
    network = seeded(name, shape)
    logits = network(images((4, *shape)))
    nn.functional.cross_entropy(logits, torch.arange(4)).backward()
    silent = [n for n, p in network.named_parameters() if p.grad is None or not p.grad.abs().sum() > 0]
    assert silent == []


# Sides that leave more than one pixel to flatten, so that memory order instead of channel order would show.
@pytest.mark.parametrize(("name", "side"), [("lenet", 8), ("vgg8", 64), ("omniglot", 32), ("resnet18", 16)])
def test_channels_last_gives_the_same_logits_and_gradients(name: str, side: int) -> None:
    network = seeded(name, (3, side, side)).double()
    x = images((3, 3, side, side)).double()

    def run(memory_format: torch.memory_format) -> tuple[torch.Tensor, torch.Tensor]:
        network.to(memory_format=memory_format).zero_grad()
        logits = network(x.to(memory_format=memory_format))
        logits.square().sum().backward()
        return logits.detach(), torch.cat([p.grad.flatten() for p in network.parameters() if p.grad is not None])

    for plain, last in zip(run(torch.contiguous_format), run(torch.channels_last), strict=True):
        torch.testing.assert_close(last, plain, rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("name", NAMES)
def test_no_bias_before_batch_norm(name: str) -> None:
    with torch.device("meta"):
        network = build(name, 10, (3, 32, 32))
    biased = [n for n, m in network.named_modules() if isinstance(m, nn.Conv2d | nn.Linear) and m.bias is not None]
    assert biased == ["last"]


def test_the_features_of_a_linear_network_are_the_items_flattened() -> None:
    x = images((4, 3, 2, 2))
    assert torch.equal(seeded("linear", (3, 2, 2)).features(x), x.reshape(4, 12))  # type: ignore[operator]


def test_unknown_name_lists_the_names() -> None:
    with pytest.raises(InputError, match=r"'vgg19'; choose one of lenet, vgg8, .*, mlp, linear\.$"):
        build("vgg19", 10, (3, 32, 32))


@pytest.mark.parametrize(
    ("name", "shape", "smallest", "fitting"),
    [
        ("vgg8", (1, 28, 28), 32, "lenet"),
        ("vgg16", (3, 64, 31), 32, "lenet"),
        ("omniglot", (1, 15, 20), 16, "lenet"),
        ("lenet", (1, 3, 8), 4, "mlp"),
        ("vgg11", (1, 2, 2), 32, "mlp"),
    ],
)
def test_too_small_images_are_told_the_minimum_and_a_network_that_fits(
    name: str, shape: tuple[int, int, int], smallest: int, fitting: str
) -> None:
    with pytest.raises(
        InputError, match=rf"{name} needs .* {smallest}x{smallest} .* {shape[1]}x{shape[2]}; use {fitting}"
    ):
        build(name, 10, shape)
    build(fitting, 10, shape)
    build(name, 10, (shape[0], smallest, smallest))


@pytest.mark.parametrize("name", CONVOLUTIONAL)
def test_vectors_are_sent_to_networks_that_take_them(name: str) -> None:
    with pytest.raises(
        InputError, match=f"{name} takes images, but the items are vectors of 64 features; use mlp or linear"
    ):
        build(name, 10, (64,))


@pytest.mark.parametrize("shape", [(), (8, 8), (0,), (1, 0, 8), (1, 1, 8, 8)])
def test_shapes_that_are_neither_image_nor_vector(shape: tuple[int, ...]) -> None:
    with pytest.raises(InputError, match="input_shape must be"):
        build("mlp", 10, shape)


def test_no_class() -> None:
    with pytest.raises(InputError, match="n_classes must be at least 1, got 0"):
        build("mlp", 0, (4,))


def test_a_seed_decides_the_weights_and_nothing_outside() -> None:
    def weights(seed: int) -> torch.Tensor:
        network = build("lenet", n_classes=3, input_shape=(1, 8, 8), seed=seed)
        return torch.nn.utils.parameters_to_vector(network.parameters())

    torch.manual_seed(5)
    expected = torch.rand(1)
    torch.manual_seed(5)
    first = weights(0)
    assert torch.equal(torch.rand(1), expected)
    assert torch.equal(first, weights(0))
    assert not torch.equal(first, weights(1))
