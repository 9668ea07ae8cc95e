"""An array that stays in its .npy file, indexed as a tensor is."""

from __future__ import annotations

import mmap
from math import prod
from pathlib import Path

import numpy as np
import torch
from numpy.lib.format import read_array_header_1_0, read_magic
from torch import Tensor

from likewise.errors import InputError


class ArrayOnDisk:
    """`array[index]` reads these rows alone, as a tensor of its own; memory holds them, and not the whole.

    What was read does not stay with this process; whether it stays in the machine's cache is up to the system. `n_rows`
    says how many rows count, where the last ones are empty.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "features.npy"
    >>> np.save(path, np.arange(6, dtype=np.float32).reshape(3, 2))
    >>> array = ArrayOnDisk(path)
    >>> array.shape, array[torch.tensor([2, 0])]
    ((3, 2), tensor([[4., 5.],
            [0., 1.]]))
    """

    def __init__(self, path: Path | str, n_rows: int | None = None) -> None:
        with Path(path).open("rb") as file:
            if read_magic(file) != (1, 0):
                raise InputError(f"{path} is a NumPy file of another version; write it again with numpy.save.")
            shape, fortran_order, kind = read_array_header_1_0(file)
            if fortran_order or kind not in (np.uint8, np.float32):
                raise InputError(
                    f"{path} holds {kind}{' column by column' if fortran_order else ''}; write it again, uint8 or "
                    "float32 and row by row (numpy.ascontiguousarray)."
                )
            self.mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            values = np.frombuffer(self.mapped, kind, prod(shape), file.tell())
        self.rows = values.reshape(shape)[:n_rows]
        self.shape = self.rows.shape
        self.dtype = torch.uint8 if kind == np.uint8 else torch.float32

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def __getitem__(self, index: Tensor | slice) -> Tensor:
        read = self.rows[index].copy() if isinstance(index, slice) else self.rows[index.numpy()]
        if hasattr(mmap, "MADV_DONTNEED"):  # else the system lets go of pages only where memory is short
            self.mapped.madvise(mmap.MADV_DONTNEED)
        return torch.from_numpy(read)
