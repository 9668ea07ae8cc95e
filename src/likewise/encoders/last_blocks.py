"""The last blocks of an encoder, to be trained: all that comes before them is computed once, and kept.

    features = tail(front(item))

Of EfficientNet-lite0 the front's map is kept, (192, 5, 5) of a photo of 160 pixels. Of any other network that is a
torch module here, the prepared item is kept, pixels or tokens, and the last quarter of its layers is trained.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from likewise.encoders.encode import THREADS, encode, item_content
from likewise.encoders.encoder import Encoder
from likewise.encoders.lite0 import EfficientNetLite0
from likewise.encoders.photos import PhotoNetwork
from likewise.encoders.pretrained import Precision, Pretrained, UnusableItem, run_network
from likewise.encoders.texts import padded
from likewise.errors import InputError
from likewise.storage.run_folder import stored

LITE0_BLOCKS = 3  # of 16, and the head
LAST = 0.25  # of the layers of other networks

Weights = dict[str, Tensor]  # of the trained layers, by their names in the encoder's network


@dataclass(frozen=True)
class LastBlocks:
    """An encoder cut in two; `tail` is a copy, whose parameters are trained as far as they require a gradient."""

    pretrained: Pretrained
    tail: nn.Module  # (b, ...) -> features (b, width), in evaluation mode

    def inputs(self, items: Sequence[Any], encoder: Encoder) -> Tensor:
        """What the tail takes of each item, (n, ...)."""
        if isinstance(self.tail, _Lite0Tail):
            front = _front(self.pretrained)
            cache = encoder.with_pretrained(front).open_cache()
            rows = encode(front, items, cache=cache, batch_size=encoder.batch_size).rows
            return torch.from_numpy(rows).view(len(rows), *front.preprocessing["map"])

        def prepare(item: Any) -> Any:
            try:
                return self.pretrained.prepare(item_content(item, self.pretrained))
            except UnusableItem as error:  # which encoding it before would have said with its name
                raise InputError(f"An item cannot be encoded ({error}); correct or remove it.") from error

        with ThreadPoolExecutor(THREADS) as pool:
            prepared = list(pool.map(prepare, items))
        if self.pretrained.takes == "photos":
            return torch.from_numpy(np.stack(prepared))
        ids, mask = padded(prepared)
        return ((ids + 1) * mask).float()  # 0 is padding

    def weights(self) -> Weights:
        """The weights that were trained, by their names in the encoder's network."""
        own = {name: stored(value) for name, value in self.tail.named_parameters() if value.requires_grad}
        if isinstance(self.tail, _Lite0Tail):
            return {f"network.{name}": value for name, value in own.items()}
        return {name.removeprefix("network."): value for name, value in own.items()}


def last_blocks(pretrained: Pretrained) -> LastBlocks:
    """Cut an encoder before the blocks that are to be trained."""
    network = pretrained.network
    if network is None or pretrained.with_network is None:
        raise InputError(
            f"The encoder {pretrained.name} cannot be fine-tuned, because its network is no torch module here; leave "
            "fine-tuning out, or take another encoder."
        )
    if isinstance(network, PhotoNetwork) and isinstance(network.network, EfficientNetLite0):
        return LastBlocks(pretrained, _Lite0Tail(network.network).eval().requires_grad_())
    tail = _OfPixels(network) if pretrained.takes == "photos" else _OfTokens(network)
    tail.requires_grad_(False)
    layers = [part for part in tail.modules() if next(part.parameters(recurse=False), None) is not None]
    for part in layers[-max(1, round(LAST * len(layers))) :]:
        for parameter in part.parameters(recurse=False):
            parameter.requires_grad_()
    if not layers:
        raise InputError(f"The encoder {pretrained.name} has no weights to train; leave fine-tuning out.")
    return LastBlocks(pretrained, tail.eval())


def with_weights(pretrained: Pretrained, weights: Weights) -> Pretrained:
    """The encoder with other weights in some of its layers; its sha256 is that of all of them."""
    assert pretrained.network is not None
    assert pretrained.with_network is not None
    network = copy.deepcopy(pretrained.network)
    state = network.state_dict()
    for name, value in weights.items():
        if name not in state or state[name].shape != value.shape:
            raise InputError(
                f"The fine-tuned weights do not fit the encoder {pretrained.name}: {name} is not one of its weights; "
                "fit again."
            )
    network.load_state_dict(weights, strict=False)
    return pretrained.with_network(network)


class _Lite0Front(nn.Module):
    def __init__(self, photo_network: PhotoNetwork) -> None:
        super().__init__()
        network = photo_network.network
        assert isinstance(network, EfficientNetLite0)
        self.photo_network, self.stem = photo_network, network.stem
        self.blocks = nn.Sequential(*list(network.blocks)[:-LITE0_BLOCKS])

    def forward(self, pixels: Tensor) -> Tensor:
        out: Tensor = self.blocks(self.stem(pixels.float() * self.photo_network.scale - self.photo_network.shift))
        return out


class _Lite0Tail(nn.Module):
    """Copies of the last blocks, by the names that they have in the whole."""

    def __init__(self, network: EfficientNetLite0) -> None:
        super().__init__()
        n = len(network.blocks)
        last = range(n - LITE0_BLOCKS, n)
        self.blocks = nn.ModuleDict({str(place): copy.deepcopy(network.blocks[place]) for place in last})
        self.head = copy.deepcopy(network.head)

    def forward(self, x: Tensor) -> Tensor:
        for block in self.blocks.values():
            x = block(x)
        out: Tensor = self.head(x).mean((2, 3))
        return out


def _front(pretrained: Pretrained) -> Pretrained:
    """The encoder up to the last blocks, as an encoder whose features are the map, flat."""
    assert isinstance(pretrained.network, PhotoNetwork)
    front = _Lite0Front(pretrained.network).eval()

    def compute(prepared: Sequence[NDArray[np.uint8]], device: torch.device, precision: Precision) -> Tensor:
        pixels = torch.from_numpy(np.stack(prepared)).contiguous(memory_format=torch.channels_last)
        return run_network(front, (pixels,), device, precision).flatten(1)

    size = pretrained.preprocessing["size"]
    with torch.inference_mode():
        shape = list(front(torch.zeros(1, 3, size, size)).shape[1:])
    return replace(
        pretrained,
        width=int(np.prod(shape)),
        preprocessing=pretrained.preprocessing | {"blocks": len(front.blocks), "map": shape},
        compute=compute,
        network=None,
    )


class _OfPixels(nn.Module):
    """A copy of a network of bytes, on pixels from 0 to 1, as the training loop gives them."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = copy.deepcopy(network)

    def forward(self, pixels: Tensor) -> Tensor:
        out: Tensor = self.network(pixels * 255)
        return out


class _OfTokens(nn.Module):
    """A copy of a network of tokens, on ids + 1 as floats, with 0 after the last."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = copy.deepcopy(network)

    def forward(self, tokens: Tensor) -> Tensor:
        longest = int((tokens > 0).sum(1).max())
        tokens = tokens[:, :longest].round().long()
        out: Tensor = self.network((tokens - 1).clamp_min(0), (tokens > 0).long())
        return out
