"""Each architecture against arithmetic and formulas that do not use its code: weights, depth, order of operations."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from likewise.networks import VGG, build
from likewise.networks.architectures import MLP, STAGES, Block


def meta(name: str, shape: tuple[int, ...] = (3, 32, 32), n_classes: int = 10) -> nn.Module:
    with torch.device("meta"):
        return build(name, n_classes, shape)


def n_parameters(network: nn.Module) -> int:
    return sum(p.numel() for p in network.parameters())


# Weights without biases, and 2 for each channel that batch-norm scales and shifts.
LENET_MNIST = (25 * 1 * 20 + 2 * 20) + (25 * 20 * 50 + 2 * 50) + (50 * 7 * 7 * 500 + 2 * 500) + (500 * 10 + 10)
VGG11 = (
    9 * (3 * 64 + 64 * 128 + 128 * 256 + 256 * 256 + 256 * 512 + 512 * 512 + 512 * 512 + 512 * 512)
    + 2 * (64 + 128 + 256 + 256 + 4 * 512)
    + (512 * 10 + 10)
)
VGG8 = VGG11 - 9 * (256 * 256 + 2 * 512 * 512) - 2 * (256 + 2 * 512)
VGG13 = VGG11 + 9 * (64 * 64 + 128 * 128) + 2 * (64 + 128)
VGG16 = VGG13 + 9 * (256 * 256 + 2 * 512 * 512) + 2 * (256 + 2 * 512)
OMNIGLOT = (
    9 * (1 * 64 + 64 * 128 + 128 * 256 + 256 * 256)
    + 2 * (64 + 128 + 256 + 256)
    + (1024 * 512 + 2 * 512)
    + (512 * 10 + 10)
)


def basic_block(a: int, b: int) -> int:
    return 9 * a * b + 9 * b * b + 2 * a + 2 * b + (a * b if a != b else 0)


def bottleneck_block(a: int, width: int) -> int:
    b = 4 * width
    return a * width + 9 * width * width + width * b + 2 * a + 2 * width + 2 * width + (a * b if a != b else 0)


def resnet_basic(blocks: tuple[int, ...]) -> int:
    total, channels = 9 * 3 * 64, 64
    for n, width in zip(blocks, (64, 128, 256, 512), strict=True):
        total += basic_block(channels, width) + (n - 1) * basic_block(width, width)
        channels = width
    return total + 2 * 512 + 512 * 10 + 10


def resnet_bottleneck(blocks: tuple[int, ...]) -> int:
    total, channels = 9 * 3 * 64, 64
    for n, width in zip(blocks, (64, 128, 256, 512), strict=True):
        total += bottleneck_block(channels, width) + (n - 1) * bottleneck_block(4 * width, width)
        channels = 4 * width
    return total + 2 * 2048 + 2048 * 10 + 10


@pytest.mark.parametrize(
    ("name", "shape", "expected"),
    [
        ("lenet", (1, 28, 28), LENET_MNIST),
        ("vgg8", (3, 32, 32), VGG8),
        ("vgg11", (3, 32, 32), VGG11),
        ("vgg13", (3, 32, 32), VGG13),
        ("vgg16", (3, 32, 32), VGG16),
        ("omniglot", (1, 32, 32), OMNIGLOT),
        ("resnet18", (3, 32, 32), resnet_basic((2, 2, 2, 2))),
        ("resnet34", (3, 32, 32), resnet_basic((3, 4, 6, 3))),
        ("resnet50", (3, 32, 32), resnet_bottleneck((3, 4, 6, 3))),
        ("resnet101", (3, 32, 32), resnet_bottleneck((3, 4, 23, 3))),
        ("mlp", (64,), (64 * 256 + 512) + (256 * 256 + 512) + (256 * 10 + 10)),
    ],
)
def test_number_of_parameters(name: str, shape: tuple[int, ...], expected: int) -> None:
    assert n_parameters(meta(name, shape)) == expected


def test_number_of_parameters_as_published() -> None:
    # VGG16 with batch-norm for CIFAR-10 is usually reported with 14,728,266, of which 4,224 are biases of convolutions.
    assert n_parameters(meta("vgg16")) == 14_728_266 - 4_224
    # The pre-activation ResNet18 is usually reported with 11,171,146, without the last batch-norm of 512 channels.
    assert n_parameters(meta("resnet18")) == 11_171_146 + 2 * 512


@pytest.mark.parametrize("depth", [18, 34, 50, 101])
def test_depth_of_residual_networks_is_their_name(depth: int) -> None:
    layers = [n for n, m in meta(f"resnet{depth}").named_modules() if isinstance(m, nn.Conv2d | nn.Linear)]
    assert len([n for n in layers if "shortcut" not in n]) == depth


@pytest.mark.parametrize("depth", [8, 11, 13, 16])
def test_depth_of_vgg_is_its_name_but_for_two_linear_layers(depth: int) -> None:
    # VGG's name counts two hidden linear layers that the networks for 32x32 images leave out.
    network = meta(f"vgg{depth}")
    n_convolutions = sum(isinstance(m, nn.Conv2d) for m in network.modules())
    n_linear = sum(isinstance(m, nn.Linear) for m in network.modules())
    assert (n_convolutions, n_linear) == (depth - 3, 1)


@pytest.mark.parametrize(("name", "n_convolutions", "n_linear"), [("lenet", 2, 2), ("omniglot", 4, 2), ("mlp", 0, 3)])
def test_depth_of_the_others(name: str, n_convolutions: int, n_linear: int) -> None:
    network = meta(name)
    assert sum(isinstance(m, nn.Conv2d) for m in network.modules()) == n_convolutions
    assert sum(isinstance(m, nn.Linear) for m in network.modules()) == n_linear


@pytest.mark.parametrize(("name", "shape"), [("lenet", (1, 9, 8)), ("vgg8", (3, 32, 32)), ("omniglot", (1, 32, 32))])
def test_pooling_before_relu_equals_relu_before_pooling(name: str, shape: tuple[int, int, int]) -> None:
    torch.manual_seed(0)
    network = build(name, 10, shape).double()
    x = torch.randn(4, *shape, dtype=torch.float64)
    for norm in network.modules():
        if isinstance(norm, nn.BatchNorm2d):
            nn.init.normal_(norm.weight)  # negative scales too
    textbook = list(network.layers)
    for i, layer in enumerate(network.layers):
        if isinstance(layer, nn.MaxPool2d):
            assert isinstance(textbook[i + 1], nn.ReLU)
            textbook[i], textbook[i + 1] = textbook[i + 1], layer

    def run(layers: nn.Module) -> tuple[torch.Tensor, ...]:
        network.zero_grad()
        out = layers(x)
        out.square().sum().backward()
        return out.detach(), *[p.grad for p in network.layers.parameters() if p.grad is not None]

    for ours, reference in zip(run(network.layers), run(nn.Sequential(*textbook)), strict=True):
        torch.testing.assert_close(ours, reference)


@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("kernels", [(3, 3), (1, 3, 1)])
@pytest.mark.parametrize("channels", [8, 32])
def test_block_is_the_pre_activation_formula(kernels: tuple[int, ...], stride: int, channels: int) -> None:
    torch.manual_seed(0)
    block = Block(channels, 8, stride, kernels).double()
    x = torch.randn(5, channels, 6, 6, dtype=torch.float64)

    def activated(z: torch.Tensor) -> torch.Tensor:  # batch-norm as it starts out, with scale 1 and shift 0
        mean, variance = z.mean((0, 2, 3), keepdim=True), z.var((0, 2, 3), unbiased=False, keepdim=True)
        return torch.relu((z - mean) / torch.sqrt(variance + 1e-5))

    weights = [c.weight for c in block.convolutions]
    out = x
    for position, (kernel, weight) in enumerate(zip(kernels, weights, strict=True)):
        step = stride if position == kernels.index(3) else 1
        out = nn.functional.conv2d(activated(out), weight, stride=step, padding=kernel // 2)
    if out.shape == x.shape:
        assert block.shortcut is None
        expected = out + x
    else:
        assert block.shortcut is not None
        expected = out + nn.functional.conv2d(activated(x), block.shortcut.weight, stride=stride)
    for memory_format in (torch.contiguous_format, torch.channels_last):
        found = block.to(memory_format=memory_format)(x.to(memory_format=memory_format))
        torch.testing.assert_close(found, expected)
    convolutions = [p for p in block.parameters() if p.ndim == 4]
    for ours, reference in zip(
        torch.autograd.grad(found.square().sum(), convolutions),
        torch.autograd.grad(expected.square().sum(), convolutions),
        strict=True,
    ):
        assert ours.abs().sum() > 0
        torch.testing.assert_close(ours, reference)


def test_residual_network_ends_with_batch_norm_relu_and_average() -> None:
    torch.manual_seed(0)
    network = build("resnet18", 10, (3, 16, 16))
    x = torch.randn(8, 3, 16, 16)
    blocks = nn.Sequential(*[m for m in network.layers if isinstance(m, nn.Conv2d | Block)])
    z = blocks(x)  # (8, 512, 2, 2)
    mean, variance = z.mean((0, 2, 3), keepdim=True), z.var((0, 2, 3), unbiased=False, keepdim=True)
    expected = torch.relu((z - mean) / torch.sqrt(variance + 1e-5)).mean((2, 3))
    torch.testing.assert_close(network.features(x), expected, rtol=1e-4, atol=1e-5)


def test_vgg_stages_give_the_published_order_of_channels() -> None:
    network = meta("vgg16")
    channels = [m.out_channels for m in network.modules() if isinstance(m, nn.Conv2d)]
    assert channels == [64, 64, 128, 128, 256, 256, 256, 512, 512, 512, 512, 512, 512]
    assert sum(isinstance(m, nn.MaxPool2d) for m in network.modules()) == 5


def test_sizes_of_ones_own() -> None:
    network = VGG(3, (2, 8, 12), STAGES["vgg8"][:2], hidden_layer=True)
    assert network(torch.randn(4, 2, 8, 12)).shape == (4, 3)
    assert network.n_features == 128 * 2 * 3 // 2
    assert [m.out_features for m in MLP(3, (5,), hidden=(7, 9)).modules() if isinstance(m, nn.Linear)] == [7, 9, 3]
