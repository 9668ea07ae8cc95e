"""The items in several spaces: as given, at unit length, standardised, and images by the directions of their edges.

Which one shows the classes is not known before answers are there. The edges of an image are histograms of gradients
(Dalal and Triggs, 2005): each pixel votes for the direction of its gradient, in the cells around it.

    h[c, b] = sqrt(sum over pixels of |g| cell_c(x, y) bin_b(angle of g)),     then h / |h|
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from likewise.clustering.lsc import unit_rows
from likewise.errors import InputError

Rows = NDArray[np.float64]
Images = NDArray[np.float64]

CELL = 4  # pixels across, about
CELLS = (4, 8)  # the least and the most of them along a side
BINS = 9
CHANNELS = (1, 3, 4)


def read_items(X: ArrayLike) -> Rows:
    """X as an array (n, d), or images (n, H, W), without anything that is no number."""
    try:
        items = np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(
            "X must be an array of numbers, one row for each item; encode texts and paths first."
        ) from error
    if items.ndim not in (2, 3, 4) or 0 in items.shape[1:]:
        raise InputError(f"X has shape {items.shape}; give features (n, d) or images (n, H, W) or (n, C, H, W).")
    if not len(items):
        raise InputError("X has no items; give one at least.")
    flat = items.reshape(len(items), -1)
    bad = ~np.isfinite(flat).all(axis=1)
    if bad.any():
        raise InputError(
            f"X has a value that is no finite number in row {int(bad.argmax())}; fill it in or drop the row."
        )
    return grey(items) if items.ndim == 4 else items


def grey(items: Images) -> Images:
    """(n, H, W) The mean over the channels, which are first or last."""
    axis = 1 if items.shape[1] in CHANNELS else 3
    if items.shape[axis] not in CHANNELS:
        raise InputError(f"X has shape {items.shape}; images have 1, 3 or 4 channels, first or last.")
    return np.asarray(items.mean(axis=axis))


def spaces(items: Rows) -> dict[str, Rows]:
    """The items (n, d) or (n, H, W) in each space, the one to begin with first."""
    rows = items.reshape(len(items), -1)
    scale = rows.std(axis=0)
    kept = scale > 1e-9 * max(float(scale.max()), 1e-300)
    standard = (rows[:, kept] - rows[:, kept].mean(axis=0)) / scale[kept] if kept.any() else rows
    given = {"as given": rows, "unit length": unit_rows(rows), "standardised": standard}
    if items.ndim == 3 and min(items.shape[1:]) >= 2 * CELLS[0]:
        return {"edges": edges(items), **given}
    return given


def edges(images: Images) -> Rows:
    """(n, d) Histograms of gradients, of unit length.

    >>> flat, upright = np.zeros((1, 16, 16)), np.tile(np.repeat([0.0, 1.0], 8), (1, 16, 1))
    >>> float(np.abs(edges(flat)).sum()), float((edges(upright) ** 2).sum().round(6))
    (0.0, 1.0)
    """
    n, height, width = images.shape
    padded = np.pad(images.astype(np.float32), ((0, 0), (1, 1), (1, 1)), mode="edge")
    across = padded[:, 1:-1, 2:] - padded[:, 1:-1, :-2]
    down = padded[:, 2:, 1:-1] - padded[:, :-2, 1:-1]
    length = np.hypot(across, down)
    angle = (np.arctan2(down, across) % np.pi) / np.pi * BINS
    low = np.floor(angle)
    share = angle - low
    first = low.astype(np.int64) % BINS
    rows, columns = _cells(height), _cells(width)
    histograms = [
        np.einsum(
            "nyx,ya,xb->nab",
            length * ((first == b) * (1 - share) + ((first + 1) % BINS == b) * share),
            rows,
            columns,
            optimize=True,
        )
        for b in range(BINS)
    ]
    return unit_rows(np.sqrt(np.stack(histograms, axis=3).reshape(n, -1).astype(np.float64)))


def _cells(size: int) -> NDArray[np.float32]:
    """(size, cells) How much each pixel along a side votes in each cell."""
    count = int(np.clip(round(size / CELL), *CELLS))
    centre = (np.arange(count) + 0.5) * size / count
    return np.clip(1 - np.abs(np.arange(size)[:, None] + 0.5 - centre) * count / size, 0, None).astype(np.float32)
