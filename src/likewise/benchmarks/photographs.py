"""The photographs of photos.zip, and what `PairClassifier` learns from answers about them."""

from __future__ import annotations

import os
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise.estimators import PairClassifier
from likewise.pairs import Pairs

ANSWERS = 1000  # random ones, about those that are seen
UNSEEN = 10  # photographs of each class


@dataclass(frozen=True)
class Photographs:
    """The files of photos.zip, of which the last ten of each class are unseen."""

    paths: list[Path]
    y: NDArray[np.int64]
    last: NDArray[np.int64]  # the rows of the unseen
    folder: Path

    @property
    def seen(self) -> NDArray[np.int64]:
        return np.setdiff1d(np.arange(len(self.paths)), self.last)

    @property
    def n_classes(self) -> int:
        return int(self.y.max()) + 1

    def learned(self, draw: int, **options: Any) -> tuple[PairClassifier, float, float]:
        """`PairClassifier` from a draw of 1,000 random answers, its CPU seconds, and its accuracy on the unseen."""
        model = PairClassifier(self.n_classes, random_state=draw, **options)
        pairs = self.answers(draw)
        spent = cpu_seconds(lambda: model.fit([self.paths[row] for row in self.seen], pairs=pairs))
        return model, spent, 100 * model.score([self.paths[row] for row in self.last], self.y[self.last])

    def learned_from(self, X: NDArray[np.float32], draw: int) -> float:
        """The accuracy on the unseen from the same answers, and features (n, d) in place of the files."""
        model = PairClassifier(self.n_classes, random_state=draw).fit(X[self.seen], pairs=self.answers(draw))
        return 100 * model.score(X[self.last], self.y[self.last])

    def answers(self, draw: int) -> Pairs:
        return Pairs.from_labels(self.y[self.seen], n=ANSWERS, random_state=draw)


@contextmanager
def unpacked(archive: Path) -> Iterator[Photographs]:
    """The photographs in a folder, with a cache of its own, so that nothing was computed before."""
    with tempfile.TemporaryDirectory() as place, zipfile.ZipFile(archive) as packed:
        folder = Path(place)
        packed.extractall(folder)
        paths = sorted(folder.rglob("*.jpg"))
        classes, y = np.unique([path.parent.name for path in paths], return_inverse=True)
        last = np.concatenate([np.flatnonzero(y == k)[-UNSEEN:] for k in range(len(classes))])
        with cache_in(folder / "cache"):
            yield Photographs(paths, y, last, folder)


def published_features(pictures: Photographs, published: Path) -> NDArray[np.float32] | None:
    """(n, d) The features of the same photographs that were computed elsewhere, of length 1; None if there are none."""
    if not published.exists():
        return None
    with np.load(published) as arrays:
        place = {str(name): row for row, name in enumerate(arrays["files"])}
        rows = [place[path.relative_to(pictures.folder).as_posix()] for path in pictures.paths]
        X = arrays["X"][rows].astype(np.float32)
    return np.asarray(X / np.linalg.norm(X, axis=1, keepdims=True))


@contextmanager
def cache_in(folder: Path) -> Iterator[None]:
    """A cache of its own, so that nothing was computed before."""
    before = os.environ.get("LIKEWISE_CACHE")
    os.environ["LIKEWISE_CACHE"] = str(folder)
    try:
        yield
    finally:
        if before is None:
            del os.environ["LIKEWISE_CACHE"]
        else:
            os.environ["LIKEWISE_CACHE"] = before


def cpu_seconds(call: Callable[[], object]) -> float:
    started = time.process_time()
    call()
    return max(time.process_time() - started, 1e-6)  # a coarse clock may not have moved
