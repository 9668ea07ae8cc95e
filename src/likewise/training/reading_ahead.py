"""Rows of the next batches, read from disk by a thread while the network learns from those at hand."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor

from torch import Tensor

AHEAD = 4  # batches: one that comes late is made up for by those before it, and memory has few of them


def read_ahead(read: Callable[[Tensor], Tensor], chunks: Sequence[Tensor]) -> Iterator[Tensor]:
    """`read(chunk)` for every chunk, in order; what it gives depends on the chunk alone, and so not on the thread.

    >>> import torch
    >>> [rows.tolist() for rows in read_ahead(lambda index: 10 * index, [torch.tensor([1, 2]), torch.tensor([3])])]
    [[10, 20], [30]]
    """
    with ThreadPoolExecutor(1, "read ahead") as reader:
        coming: deque[Future[Tensor]] = deque()
        for chunk in chunks:
            coming.append(reader.submit(read, chunk))
            if len(coming) > AHEAD:
                yield coming.popleft().result()
        while coming:
            yield coming.popleft().result()
