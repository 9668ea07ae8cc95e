"""Images that stay in their files, indexed as a tensor of bytes is."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from likewise.datasets.images import ImageFiles, UnreadableImage, read_image
from likewise.errors import InputError


class ImagesOnDisk:
    """`images[index]` reads these images, as uint8 (b, C, S, S); memory holds one batch, and not the whole.

    The decoders release Python's lock, so that threads share the work. An image that cannot be read is an InputError.
    """

    dtype = torch.uint8
    ndim = 4

    def __init__(self, files: ImageFiles, size: int, channels: Literal[1, 3] = 3) -> None:
        self.files, self.size, self.channels = files, size, channels
        self.pool = ThreadPoolExecutor(os.cpu_count())

    def __len__(self) -> int:
        return len(self.files.ids)

    @property
    def shape(self) -> tuple[int, int, int, int]:
        return len(self), self.channels, self.size, self.size

    def __getitem__(self, index: Tensor | slice) -> Tensor:
        if isinstance(index, slice):
            numbers = list(range(len(self))[index])
        else:
            numbers = (torch.arange(len(self))[index] if index.dtype == torch.bool else index).tolist()
        images = np.empty((len(numbers), self.channels, self.size, self.size), dtype=np.uint8)
        for place, image in enumerate(self.pool.map(self._read, numbers)):
            images[place] = image
        return torch.from_numpy(images)

    def _read(self, number: int) -> np.ndarray:
        try:
            return read_image(self.files.path(number), self.size, self.channels)
        except UnreadableImage as error:
            raise InputError(
                f"{self.files.path(number)} cannot be read ({error}); replace it, or delete it and begin again."
            ) from error
