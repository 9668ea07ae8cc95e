"""Items to features: threads read and decode the next batches while the network computes this one; nothing twice."""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image

from likewise.encoders.cache import FeatureCache
from likewise.encoders.pretrained import Precision, Pretrained, UnusableItem
from likewise.errors import InputError

THREADS = 2  # that decode
AHEAD = 2  # batches that may be decoded and wait


@dataclass(frozen=True)
class Encoded:
    """The features of the items that could be used, and why the others could not."""

    rows: NDArray[np.float32]  # (n, width); zeros for an item that could not be used
    unusable: dict[int, str]  # its place among the items, and the reason


@dataclass(frozen=True)
class _New:
    """An item that is not in the cache."""

    place: int
    digest: bytes
    prepared: Any


def encode(
    pretrained: Pretrained,
    items: Sequence[Any],
    *,
    cache: FeatureCache | None = None,
    batch_size: int = 32,
    device: torch.device | None = None,
    precision: Precision = "float32",
    on_items: Callable[[int], None] | None = None,  # called with how many items were done since the last call
) -> Encoded:
    """The features of all items, of which some batches are in memory at a time beside the features."""
    device = device or torch.device("cpu")
    rows = np.zeros((len(items), pretrained.width), dtype=np.float32)
    unusable: dict[int, str] = {}
    done = on_items or (lambda n: None)

    def find_or_prepare(place: int) -> NDArray[np.float32] | _New | str:
        """The row of an item that is known, its prepared form, or what is wrong with it."""
        try:
            content = item_content(items[place], pretrained)
            digest = b"" if cache is None else hashlib.sha256(_as_bytes(content)).digest()
            kept = None if cache is None else cache.get(digest)
            return _New(place, digest, pretrained.prepare(content)) if kept is None else kept
        except UnusableItem as error:
            return str(error)

    def compute(batch: Sequence[_New]) -> None:
        nonlocal rows
        features = _checked(pretrained, items, batch, device, precision)
        if not rows.shape[1]:
            rows = np.zeros((len(items), features.shape[1]), dtype=np.float32)
        if features.shape[1] != rows.shape[1]:
            raise InputError(
                f"The encoder {pretrained.name} gave {features.shape[1]} features after {rows.shape[1]}; "
                "give one whose features are always as many."
            )
        rows[[new.place for new in batch]] = features
        if cache is not None:
            cache.put([new.digest for new in batch], features)
        done(len(batch))

    waiting: list[_New] = []
    for place, result in _in_threads(find_or_prepare, len(items), AHEAD * batch_size):
        if isinstance(result, str):
            unusable[place] = result
            done(1)
        elif isinstance(result, _New):
            waiting.append(result)
            if pretrained.length is None and len(waiting) == batch_size:
                compute(waiting)
                waiting = []
        else:
            rows[place] = result
            done(1)
    if pretrained.length is not None:  # texts of one length are computed together, so that little is padding
        measure = pretrained.length
        waiting.sort(key=lambda new: measure(new.prepared))
    for start in range(0, len(waiting), batch_size):
        compute(waiting[start : start + batch_size])
    return Encoded(rows, unusable)


def _in_threads(call: Callable[[int], Any], n: int, ahead: int) -> Iterator[tuple[int, Any]]:
    """What threads found of each item, in order; they are at most `ahead` items ahead."""
    pending: deque[tuple[int, Future[Any]]] = deque()
    with ThreadPoolExecutor(THREADS) as pool:
        try:
            for place in range(n):
                pending.append((place, pool.submit(call, place)))
                if len(pending) > ahead:
                    first, future = pending.popleft()
                    yield first, future.result()
            while pending:
                first, future = pending.popleft()
                yield first, future.result()
        finally:  # after an error, cancel what was not begun
            for _, future in pending:
                future.cancel()


def _checked(
    pretrained: Pretrained, items: Sequence[Any], batch: Sequence[_New], device: torch.device, precision: Precision
) -> NDArray[np.float32]:
    features = pretrained.compute([new.prepared for new in batch], device, precision).numpy()
    wanted = (len(batch), pretrained.width or (features.shape[1] if features.ndim == 2 else 0))
    if features.shape != wanted or not wanted[1]:
        raise InputError(
            f"The encoder {pretrained.name} gave features of shape {features.shape} for {len(batch)} items, not "
            f"({len(batch)}, {pretrained.width or 'features'}); give one whose features are always as many."
        )
    finite = np.isfinite(features).all(axis=1)
    if not finite.all():
        item = items[batch[int(np.argmin(finite))].place]
        raise InputError(
            f"The encoder {pretrained.name} gave NaN or infinite features for {item_name(item)}; remove the item, or "
            "take another encoder or precision."
        )
    return features


def item_content(item: Any, pretrained: Pretrained) -> Any:
    """What an encoder prepares: of a path to a photo the bytes of its file, else the item itself."""
    if pretrained.takes == "photos":
        if isinstance(item, str | Path):
            try:
                return Path(item).read_bytes()
            except OSError as error:
                raise UnusableItem(error.strerror or str(error)) from error
        if not isinstance(item, bytes | Image.Image | np.ndarray):
            raise UnusableItem(f"it is a {type(item).__name__} and no photo")
    return item


def _as_bytes(content: Any) -> bytes:
    match content:
        case bytes():
            return content
        case str():
            return content.encode("utf-8", "surrogatepass")
        case Image.Image():
            return f"{content.mode} {content.size}\n".encode() + content.convert("RGB").tobytes()
        case np.ndarray():
            return f"{content.dtype} {content.shape}\n".encode() + np.ascontiguousarray(content).tobytes()
    raise UnusableItem(f"it is a {type(content).__name__}")


def item_name(item: Any) -> str:
    """How a message calls an item."""
    if isinstance(item, str | Path):
        text = str(item)
        return repr(text if len(text) <= 60 else text[:57] + "...")
    return f"a {type(item).__name__}"
