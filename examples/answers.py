"""Learn digits from 1,000 same-or-different answers, name the classes by a few labels, and classify new pictures.

Run it with `python examples/answers.py`, or with a number of epochs: `python examples/answers.py 3`. To use your own
data, replace the pictures by your items and read the answers with `Pairs.read_csv("answers.csv")`.
"""

from __future__ import annotations

import sys

from sklearn.datasets import load_digits

from likewise import PairClassifier, Pairs

epochs = int(sys.argv[1]) if len(sys.argv) > 1 else None  # None: chosen by the number of answers
digits = load_digits()
images = (digits.images / 16).astype("float32")  # (n, 8, 8), from 0 to 1
X, X_new = images[:1200], images[1200:]
truth, truth_new = digits.target[:1200], digits.target[1200:]

pairs = Pairs.from_labels(truth, n=1000)  # what people would answer about 1,000 pairs
model = PairClassifier(n_classes=10, epochs=epochs).fit(X, pairs=pairs)
print(f"held-out answers: {100 * model.score(X, pairs=model.held_out_):.1f} % agree with the classes")

model.name_classes(X[:30], truth[:30])  # thirty labels: until here the classes had no names
print(f"unseen digits: {100 * model.score(X_new, truth_new):.1f} % right")
print(f"are the first two unseen digits the same? {model.predict_same(X_new, [[0, 1]])[0]:.3f}")
