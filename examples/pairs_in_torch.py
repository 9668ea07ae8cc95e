"""Learn classes from listed same-or-different answers, in a plain torch loop with any network.

Run it with `python examples/pairs_in_torch.py`, or with a number of epochs: `python examples/pairs_in_torch.py 5`.
There are 10,000 answers about pairs of handwritten digits, and no class label. Only the last line looks at the labels,
to see what was learned.
"""

from __future__ import annotations

import sys

import torch
from torch import nn

from likewise import MCL
from likewise.datasets import load, normalise
from likewise.evaluation import confusion, match_outputs, scores

epochs = int(sys.argv[1]) if len(sys.argv) > 1 else 20
torch.manual_seed(0)
digits = load("digits")
images = normalise(digits.train.inputs, digits.mean, digits.std)  # (n, 1, 8, 8)

# What people would answer: pairs of pictures, and whether they show the same digit.
pairs = torch.randint(len(images), (10_000, 2))
same = (digits.train.labels[pairs[:, 0]] == digits.train.labels[pairs[:, 1]]).float()

network = nn.Sequential(
    nn.Conv2d(1, 32, 3, padding=1),
    nn.BatchNorm2d(32),
    nn.ReLU(),
    nn.MaxPool2d(2),
    nn.Flatten(),
    nn.Linear(32 * 4 * 4, 128),
    nn.BatchNorm1d(128),
    nn.ReLU(),
    nn.Linear(128, 10),
)
optimizer = torch.optim.Adam(network.parameters(), lr=2e-3)
criterion = MCL()

for epoch in range(epochs):
    for chosen in torch.randperm(len(pairs)).split(500):
        items, rows = pairs[chosen].unique(return_inverse=True)  # each picture goes through the network once
        loss = criterion(network(images[items]), same[chosen], pairs=rows)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if epoch % 5 == 4:
        print(f"epoch {epoch + 1}: loss {loss.item():.4f}")

network.eval()
with torch.no_grad():
    found = network(images).argmax(1)
    unseen = network(normalise(digits.test.inputs, digits.mean, digits.std)).argmax(1)
matching = match_outputs(confusion(found, digits.train.labels, 10, 10))
print(f"unseen digits: {100 * scores(confusion(unseen, digits.test.labels, 10, 10), matching)['accuracy']:.1f} % right")
