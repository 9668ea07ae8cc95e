"""MCL as the criterion of a skorch network: digits learned from "same" and "different" alone.

Run it with `python examples/skorch_mcl.py`, or with a number of epochs: `python examples/skorch_mcl.py 5`. It needs
`pip install skorch`. MCL looks at the labels only to tell which pairs of a batch are the same, so the ten outputs come
in an order of their own. At the end they are matched to the digits, on the training data, and judged on unseen ones.
"""

from __future__ import annotations

import sys

import numpy as np
import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from skorch import NeuralNet
from torch import nn

from likewise import MCL
from likewise.evaluation import accuracy, confusion, match_outputs

epochs = int(sys.argv[1]) if len(sys.argv) > 1 else 20
torch.manual_seed(0)

digits = load_digits()
images = (digits.images / 16).astype(np.float32)[:, None]  # (n, 1, 8, 8)
X_train, X_test, y_train, y_test = train_test_split(
    images, digits.target, test_size=500, stratify=digits.target, random_state=0
)

network = NeuralNet(
    nn.Sequential(
        nn.Conv2d(1, 32, 3, padding=1),
        nn.BatchNorm2d(32),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(32 * 4 * 4, 128),
        nn.BatchNorm1d(128),
        nn.ReLU(),
        nn.Linear(128, 10),
    ),
    criterion=MCL,  # in the place of nn.CrossEntropyLoss
    optimizer=torch.optim.Adam,
    lr=2e-3,
    batch_size=100,  # 4,950 pairs a step
    max_epochs=epochs,
    iterator_train__shuffle=True,
)
network.fit(X_train, y_train)

found = network.predict(X_train).argmax(1)  # skorch's predict gives the logits of a NeuralNet
matching = match_outputs(confusion(found, y_train, 10, 10))
unseen = confusion(network.predict(X_test).argmax(1), y_test, 10, 10)
print(f"unseen digits: {100 * accuracy(unseen, matching):.1f} % right")
