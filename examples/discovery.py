"""Find letters that nobody labelled: what "same" means is learned on thirty other letters.

Run it with `python examples/discovery.py`, or with a number of epochs: `python examples/discovery.py 5`. To use your
own data, replace the drawings by your labelled items and by those without a label.
"""

from __future__ import annotations

import sys

import numpy as np

from likewise import CategoryDiscoverer, SimilarityNetwork
from likewise.evaluation import accuracy, confusion, match_outputs

epochs = int(sys.argv[1]) if len(sys.argv) > 1 else 12
random = np.random.default_rng(0)
pixel = np.stack(np.meshgrid(np.arange(16), np.arange(16)), -1)


def draw(points: np.ndarray) -> np.ndarray:
    """The drawing (16, 16) of a line through points (4, 2): dark where a pixel is near one of its three parts."""
    start, way = points[:-1, None, None], np.diff(points, axis=0)[:, None, None]
    along = (((pixel - start) * way).sum(-1) / (way**2).sum(-1)).clip(0, 1)
    distance = np.linalg.norm(pixel - start - along[..., None] * way, axis=-1).min(0)
    return (1.5 - distance).clip(0, 1).astype("float32")


# Forty made-up letters, each drawn twenty times by an unsteady hand. Thirty have labels.
letters = random.uniform(2, 14, (40, 4, 2))
letter = np.repeat(np.arange(40), 20)
drawings = np.stack([draw(letters[k] + random.normal(0, 1, (4, 2))) for k in letter])
known = letter < 30

similarity = SimilarityNetwork(epochs=epochs).fit(drawings[known], letter[known])
model = CategoryDiscoverer(similarity=similarity).fit(drawings[~known])
print(f"classes: {model.number_.estimate} estimated ({model.number_.low} to {model.number_.high}), 10 in truth")

table = confusion(model.labels_, letter[~known] - 30, model.n_classes_, 10)
print(f"unlabelled drawings: {100 * accuracy(table, match_outputs(table)):.1f} % in the class of their letter")
