"""Find out which answers are wrong and who is careless, without a label, and learn from the answers all the same.

Run it with `python examples/noisy_answers.py`, or with a number of epochs: `python examples/noisy_answers.py 3`. To use
your own data, read answers that have a column `annotator` with `Pairs.read_csv("answers.csv")`.
"""

from __future__ import annotations

import sys

import numpy as np
from sklearn.datasets import load_digits

from likewise import PairClassifier, Pairs
from likewise.pairs import suspects

epochs = int(sys.argv[1]) if len(sys.argv) > 1 else None  # None: chosen by the number of answers
digits = load_digits()
images, truth = (digits.images / 16).astype("float32"), digits.target

random = np.random.default_rng(0)
asked = random.integers(150, size=(2500, 2))  # about the first 150 pictures
asked = asked[asked[:, 0] != asked[:, 1]]
who = random.choice(["ann", "bob", "carl"], size=len(asked), p=[0.4, 0.4, 0.2])
wrong = random.random(len(asked)) < np.select([who == "ann", who == "bob"], [0.03, 0.12], 0.5)  # Carl guesses
pairs = Pairs.from_arrays(asked, (truth[asked[:, 0]] == truth[asked[:, 1]]) ^ wrong, annotator=who)

posterior = pairs.posterior(n_classes=10)
print(f"wrong answers: {100 * posterior.share_wrong:.1f} % estimated, {100 * wrong.mean():.1f} % in truth")
for name, informed in zip(posterior.rates.annotators, posterior.rates.informedness, strict=True):
    print(f"{name}: informedness {informed:.2f} (1: always right, 0: guesses)")
print(f"the least credible answer: {suspects(posterior, 1)[0]}")

model = PairClassifier(n_classes=10, epochs=epochs).fit(images[:1200], pairs=pairs)
print(f"unseen digits: {100 * model.score(images[1200:], truth[1200:]):.1f} % right")
