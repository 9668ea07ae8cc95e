"""Learn digits from thirty labels and 1,170 pictures without one, beside the labels alone.

Run it with `python examples/few_labels.py`, or with a number of epochs: `python examples/few_labels.py 5`. To use your
own data, give `y = -1` to the items without a label.
"""

from __future__ import annotations

import sys

import numpy as np
from sklearn.datasets import load_digits

from likewise import SemiSupervisedClassifier

epochs = int(sys.argv[1]) if len(sys.argv) > 1 else None  # None: about 640 steps for each of the two stages
digits = load_digits()
images = (digits.images / 16).astype("float32")  # (n, 8, 8), from 0 to 1
X, X_new = images[:1200], images[1200:]
truth, truth_new = digits.target[:1200], digits.target[1200:]

random = np.random.default_rng(0)
y = np.full(len(X), -1)
for digit in range(10):
    three = random.choice(np.flatnonzero(truth == digit), 3, replace=False)
    y[three] = digit

for method in ("supervised", "pseudo-mcl+"):
    model = SemiSupervisedClassifier(method, epochs=epochs).fit(X, y)
    print(f"{method}: {100 * model.score(X_new, truth_new):.1f} % of the unseen digits right")
