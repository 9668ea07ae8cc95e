"""Networks that are a row of blocks, computed for many points of a plane at once.

A block is a linear map (a convolution or a matrix), batch-norm, perhaps 2x2 max-pooling, and ReLU. LeNet, VGG and MLP
are such rows, with a last linear layer. Compared with calling the network at each point, this saves

- the first linear map. It is linear in its weights too, and its input is the same at every point: with R = theta* +
  alpha delta, the map of all points of a row is a + beta b, where a = R x and b = eta x are computed once;
- the first batch-norm's statistics. The mean is a's plus beta b's, and the variance is a polynomial in beta;
- three quarters of every batch-norm before a pooling. It keeps or turns the order of the pixels, so the pooling can
  come first: the largest pixel where the scale is positive, the smallest where it is negative;
- copies. The channels of a pixel lie together all the way, and the weights behind the flattening are ordered like that;
- half-empty vectors. With AVX2, a convolution to 50 channels takes 1.3 times as long as one to 48 and one to 8. The two
  that are left over fill a vector where a pooling follows: the four pixels of a square become channels (`squares`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self

import torch
from torch import Tensor, nn
from torch.nn.functional import conv2d, linear

from likewise.landscape.surface import Plane, Weights

Choice = Callable[..., Tensor]  # torch.maximum or torch.minimum
Pooled = Callable[[Choice], Tensor]

VECTOR = 8  # floats of AVX2


@dataclass(frozen=True)
class Block:
    """Where its tensors are found among the weights, and what it does."""

    weight: str
    norm: str  # what the names of batch-norm's tensors begin with
    epsilon: float
    convolution: nn.Conv2d | None  # None: a matrix
    pool: bool
    parts: tuple[slice, ...] = (slice(None),)  # of the channels, to be computed one after the other

    def as_squares(self, channels: int, pixels: Tensor) -> bool:
        """Whether the four pixels of a pooled square are to be channels: they fill no more than two vectors then."""
        layer = self.convolution
        if layer is None or not self.pool or 4 * channels > 2 * VECTOR or layer.stride != (1, 1):
            return False
        if isinstance(layer.padding, str):
            return False
        sides = zip(pixels.shape[1:3], layer.kernel_size, layer.padding, strict=True)
        return all((size + 2 * padding - kernel + 1) % 2 == 0 for size, kernel, padding in sides)


class Moments(NamedTuple):
    """Of each channel."""

    mean: Tensor  # (C,)
    variance: Tensor


class BlockNetwork:
    """The blocks; with `recompute`, batch-norm has the statistics of the current batch, else those of the point."""

    def __init__(self, blocks: Sequence[Block], plane: Plane, *, recompute: bool) -> None:
        self.blocks, self.plane, self.recompute = blocks, _in_order(plane, blocks), recompute

    @classmethod
    def of(cls, network: nn.Module, plane: Plane, *, recompute: bool) -> Self | None:
        """The network as blocks, or None where it is not made of them."""
        layers, last = getattr(network, "layers", None), getattr(network, "last", None)
        if not isinstance(layers, nn.Sequential) or not isinstance(last, nn.Linear) or last.bias is None:
            return None
        modules = [(f"layers.{name}", module) for name, module in layers.named_children()]
        kinds = "".join(_kind(module) for _, module in modules)
        if not re.fullmatch("(CNP?R)+F(LNR)*|F(LNR)+", kinds):
            return None
        blocks = [_block(modules[match.start() : match.end()]) for match in re.finditer("[CL]NP?R", kinds)]
        return cls(blocks, plane, recompute=recompute)

    def along(self, alpha: float, betas: Sequence[float]) -> Callable[[Tensor], Tensor]:
        """What gives for a batch the logits of all points of a row, (points, b, K); for several batches at once too."""
        row, first = self.plane.row(alpha), self.blocks[0]
        points = [self.plane.along(row, beta) for beta in betas]
        eta = self.plane.eta[first.weight]

        def logits_of(inputs: Tensor) -> Tensor:
            shared = SharedMap(first, inputs, row[first.weight], eta, recompute=self.recompute)
            outputs = [self._forward(shared, beta, point) for beta, point in zip(betas, points, strict=True)]
            return torch.stack(outputs)

        return logits_of

    def _forward(self, shared: SharedMap, beta: float, point: Weights) -> Tensor:
        out = shared.at(beta, point)
        for block in self.blocks[1:]:
            parts = [self._channels(block, out, point, part) for part in block.parts]
            out = (parts[0] if len(parts) == 1 else torch.cat(parts, -1)).relu_()
        return linear(out.flatten(1), point["last.weight"], point["last.bias"])  # (b, K)

    def _channels(self, block: Block, pixels: Tensor, point: Weights, part: slice) -> Tensor:
        weight = point[block.weight][part]
        if block.as_squares(len(weight), pixels):
            mapped = squares(block, pixels, weight)  # (n, H/2, W/2, 4, C)
            pooled = _pooling_of(mapped.unbind(-2))
        else:
            mapped = linear_map(block, pixels, weight)
            pooled = _pooling(mapped)
        moments = moments_of(mapped) if self.recompute else None
        return norm(block, pooled if block.pool else mapped, moments, point, part)


class SharedMap:
    """The first linear map of one batch, for all points of a row: a + beta b."""

    def __init__(self, block: Block, inputs: Tensor, row: Tensor, eta: Tensor, *, recompute: bool) -> None:
        self.block = block
        pixels = inputs.permute(0, 2, 3, 1) if block.convolution is not None else inputs
        a, b = linear_map(block, pixels, row), linear_map(block, pixels, eta)
        self.means = self.products = None
        if recompute:
            rows = torch.stack([a.flatten(0, -2), b.flatten(0, -2)])  # (2, n, C)
            share = rows.new_full((1, rows.shape[1]), 1 / rows.shape[1])
            self.means = (share @ rows)[:, 0]  # (2, C)
            rows -= self.means[:, None]
            self.products = [(share @ (rows[i] * rows[j]))[0] for i, j in ((0, 0), (0, 1), (1, 1))]  # each (C,)
        self.a, self.b = (_quarters(each) if block.pool else each for each in (a, b))
        self.mapped = torch.empty_like(self.a)  # of the current point; allocating it takes longer than filling it

    def at(self, beta: float, point: Weights) -> Tensor:
        """What the block gives at a point of the row."""
        moments = None
        if self.means is not None and self.products is not None:
            of_a, of_both, of_b = self.products
            variance = of_a + 2 * beta * of_both + beta**2 * of_b
            moments = Moments(self.means[0] + beta * self.means[1], variance.clamp_min_(0))

        def pooled(choice: Choice) -> Tensor:
            one, two, three, four = self._mapped(beta)
            return choice(choice(one, two, out=one), choice(three, four, out=three), out=one)

        return norm(self.block, pooled if self.block.pool else self._mapped(beta), moments, point).relu_()

    def _mapped(self, beta: float) -> Tensor:
        return torch.add(self.a, self.b, alpha=beta, out=self.mapped)


def linear_map(block: Block, pixels: Tensor, weight: Tensor) -> Tensor:
    """(n, H, W, C) or (n, d) to the same with other channels."""
    if block.convolution is None:
        return linear(pixels.flatten(1), weight)
    channels = len(weight)
    if channels < VECTOR:
        weight = torch.cat([weight, weight.new_zeros(VECTOR - channels, *weight.shape[1:])])
    out = conv2d(pixels.permute(0, 3, 1, 2), weight, None, block.convolution.stride, block.convolution.padding)
    return out.permute(0, 2, 3, 1)[..., :channels].contiguous()  # mostly as the convolution left it


def squares(block: Block, pixels: Tensor, weight: Tensor) -> Tensor:
    """The same convolution with the four pixels of each 2x2 square apart, (n, H/2, W/2, 4, C).

    One filter for each of the four: the given one, moved by a row or a column or both within a frame that is larger by
    one, which goes over the image in steps of two.
    """
    assert block.convolution is not None
    channels, inputs, high, wide = weight.shape
    moved = weight.new_zeros(2, 2, channels, inputs, high + 1, wide + 1)
    for row in range(2):
        for column in range(2):
            moved[row, column, :, :, row : row + high, column : column + wide] = weight
    out = conv2d(pixels.permute(0, 3, 1, 2), moved.flatten(0, 2), None, 2, block.convolution.padding)
    out = out.permute(0, 2, 3, 1)
    return out.reshape(*out.shape[:3], 4, channels)


def norm(
    block: Block, mapped: Tensor | Pooled, moments: Moments | None, point: Weights, part: slice = slice(None)
) -> Tensor:
    """Batch-norm as one scale and one shift, after the pooling where there is one."""
    if moments is None:
        moments = Moments(point[f"{block.norm}.running_mean"][part], point[f"{block.norm}.running_var"][part])
    scale = point[f"{block.norm}.weight"][part] * torch.rsqrt(moments.variance + block.epsilon)
    shift = point[f"{block.norm}.bias"][part] - moments.mean * scale
    if not isinstance(mapped, Tensor):
        pooled, mapped = mapped, mapped(torch.maximum)
        if bool((scale < 0).any()):
            largest = mapped.clone()  # the two poolings may use the same memory
            mapped = torch.where(scale < 0, pooled(torch.minimum), largest)
    return torch.addcmul(shift, mapped, scale)


def moments_of(mapped: Tensor) -> Moments:
    """Over all pixels, by products with a vector, which is many times faster than torch.var_mean here."""
    pixels = mapped.flatten(0, -2)  # (n, C)
    share = pixels.new_full((len(pixels),), 1 / len(pixels))
    mean = share @ pixels
    return Moments(mean, (share @ (pixels * pixels)).sub_(mean * mean).clamp_min_(0))


def _pooling(mapped: Tensor) -> Pooled:
    """2x2 pooling of (n, H, W, C); the last of an odd number of rows or columns is left out, as torch does."""

    def pooled(choice: Choice) -> Tensor:
        rows = choice(mapped[:, 0:-1:2], mapped[:, 1::2])
        return choice(rows[:, :, 0:-1:2], rows[:, :, 1::2])

    return pooled


def _pooling_of(quarters: Sequence[Tensor]) -> Pooled:
    """The same where the pixels of each square are apart."""
    one, two, three, four = quarters
    return lambda choice: choice(choice(one, two), choice(three, four))


def _quarters(mapped: Tensor) -> Tensor:
    """The four pixels of each 2x2 square apart, (4, n, H/2, W/2, C), so that pooling them reads no gaps."""
    n, height, width, channels = mapped.shape
    even = mapped[:, : height // 2 * 2, : width // 2 * 2]
    squares = even.reshape(n, height // 2, 2, width // 2, 2, channels).permute(2, 4, 0, 1, 3, 5)
    return squares.reshape(4, n, height // 2, width // 2, channels)


def _in_order(plane: Plane, blocks: Sequence[Block]) -> Plane:
    """The plane with the columns behind the flattening in the order pixels, channels, and not channels, pixels."""
    convolutions = [block.convolution for block in blocks if block.convolution is not None]
    if not convolutions:
        return plane
    name = [*(block.weight for block in blocks), "last.weight"][len(convolutions)]
    channels = convolutions[-1].out_channels

    def in_order(weights: Weights) -> Weights:
        weight = weights[name]
        pixels_first = weight.reshape(len(weight), channels, -1).transpose(1, 2).reshape(weight.shape)
        return {**weights, name: pixels_first}

    return Plane(in_order(plane.centre), in_order(plane.delta), in_order(plane.eta))


def _kind(module: nn.Module) -> str:
    """A letter for what a block can be made of, and ? for anything else."""
    match module:
        case nn.Conv2d(bias=None, groups=1, dilation=(1, 1), padding_mode="zeros"):
            return "C"
        case nn.Linear() if "bias" not in dict(module.named_parameters()):
            return "L"
        case nn.BatchNorm1d() | nn.BatchNorm2d() if module.affine and module.track_running_stats:
            return "N"
        case nn.MaxPool2d(kernel_size=2, stride=2, padding=0, dilation=1, ceil_mode=False):
            return "P"
        case nn.ReLU():
            return "R"
        case nn.Flatten(start_dim=1, end_dim=-1):
            return "F"
    return "?"


def _block(modules: Sequence[tuple[str, nn.Module]]) -> Block:
    """From its linear map, batch-norm, perhaps pooling, and ReLU."""
    (map_name, linear_part), (norm_name, norm), *rest = modules
    assert isinstance(norm, nn.BatchNorm1d | nn.BatchNorm2d)
    convolution = linear_part if isinstance(linear_part, nn.Conv2d) else None
    parts = (slice(None),) if convolution is None else channel_parts(convolution.out_channels)
    return Block(f"{map_name}.weight", norm_name, norm.eps, convolution, len(rest) == 2, parts)


def channel_parts(channels: int) -> tuple[slice, ...]:
    """As many as fill whole vectors, and the rest.

    >>> channel_parts(50), channel_parts(64)
    ((slice(0, 48, None), slice(48, 50, None)), (slice(0, 64, None),))
    """
    vectorised = channels // VECTOR * VECTOR
    return tuple(slice(start, stop) for start, stop in ((0, vectorised), (vectorised, channels)) if start < stop)
