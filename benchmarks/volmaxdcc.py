"""VolMaxDCC (Nguyen, Ibrahim and Fu, ICML 2023) on the draws of `likewise paper eci-pp`, with its authors' own model.

    python3.11 -m venv volmaxdcc
    volmaxdcc/bin/pip install .
    OMP_NUM_THREADS=1 volmaxdcc/bin/python benchmarks/volmaxdcc.py CHECKOUT --dataset mnist --experts 1

CHECKOUT is a folder with the authors' repository, github.com/ductri/VolMaxDCC (its src/our_model.py has the model);
nothing of it is part of Likewise. The model and its loss are theirs: an MLP 784-512-512-10 with softmax, the matrix B,
cross-entropy of <f_a, B f_b> against the soft answers, and the volume term. Training is as in their scripts: Adam at
1e-3, batches of 128 pairs, 100 epochs. Two things are ours: the volume is that of the batch's items, as that of all
60,000 in every step takes hours, and the strength of the volume term is chosen by a tenth of the answers, which are
held out; the model is then trained on all. Records go to results/eci-pp-peers; `likewise paper show` puts them into
RESULTS.md.
"""

from __future__ import annotations

import argparse
import sys
import time
import types
from pathlib import Path
from typing import Any

import numpy as np
import torch

from likewise.evaluation import accuracy, confusion, match_outputs
from likewise.paper.answers import draw, load_set
from likewise.paper.answers_trials import select_expert_trials
from likewise.paper.peer_sections import PEERS, PeerRecord
from likewise.paper.records import write_record
from likewise.storage.records import machine

STRENGTHS = (0.0, 1e-3, 1e-2, 1e-1)
BATCH, RATE = 128, 1e-3


def authors_model(checkout: Path) -> Any:
    """The class OurModel of their repository."""
    sys.modules.setdefault(
        "torchvision", types.ModuleType("torchvision")
    )  # their module imports it and has no use of it
    sys.path.insert(0, str(checkout / "src"))
    from our_model import OurModel

    return OurModel


def fit(
    make: Any, x: torch.Tensor, ends: torch.Tensor, same: torch.Tensor, strength: float, epochs: int, seed: int
) -> Any:
    torch.manual_seed(seed)
    model = make([x.shape[1], 512, 512, 10], is_B_trainable=True, device=torch.device("cpu"))
    optimizer = torch.optim.Adam(model.parameters(), lr=RATE)
    for _ in range(epochs):
        for rows in torch.split(torch.randperm(len(same)), BATCH):
            left, right = x[ends[rows, 0]], x[ends[rows, 1]]
            both = torch.cat([left, right])
            optimizer.zero_grad()
            loss, _, _ = model.compute_loss(model._get_B(), *model(left, right), same[rows], strength, both)
            if not loss.isfinite():
                return None  # the determinant of the batch is 0
            loss.backward()
            optimizer.step()
    return model


@torch.no_grad()
def loss_of(model: Any, x: torch.Tensor, ends: torch.Tensor, same: torch.Tensor) -> float:
    """The cross-entropy of answers, without the volume."""
    if model is None:
        return float("inf")
    return float(model.compute_loss_1(model._get_B(), *model(x[ends[:, 0]], x[ends[:, 1]]), same))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", type=Path)
    parser.add_argument("--dataset", choices=("mnist", "fashion-mnist"), default="mnist")
    parser.add_argument("--experts", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--epochs", type=int, default=100)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--results", type=Path, default=Path("results"))
    given = parser.parse_args()

    started = time.process_time()
    make = authors_model(given.checkout)
    (trial,) = select_expert_trials(given.dataset, experts=given.experts, seed=given.seed)
    data = load_set(trial.recipe, given.data)
    pairs = draw(trial, data).pairs
    x = data.train.inputs
    ends = torch.from_numpy(np.stack([pairs.left, pairs.right], axis=1))
    same = torch.from_numpy(pairs.same)
    out = torch.arange(len(same)) % 10 == 0  # the pairs are in random order
    held_out = {}
    for strength in STRENGTHS:
        tried = fit(make, x, ends[~out], same[~out], strength, given.epochs, given.seed)
        held_out[strength] = loss_of(tried, x, ends[out], same[out])
        print(f"volume x {strength:g}: loss of held-out answers {held_out[strength]:.4f}", flush=True)
    best = min(held_out, key=lambda strength: held_out[strength])
    model = fit(make, x, ends, same, best, given.epochs, given.seed)
    if model is None:
        sys.exit("The volume of a batch vanished in every trial: there is no model to measure.")
    counts = {}
    with torch.no_grad():
        for name, part in (("train", data.train), ("test", data.test)):
            outputs = torch.cat([model.forward_single(some).argmax(1) for some in part.inputs.split(1000)])
            counts[name] = confusion(outputs, part.labels, 10, 10)
    matching = match_outputs(counts["train"])
    record = PeerRecord(
        table=PEERS,
        method="VolMaxDCC",
        dataset=given.dataset,
        experts=given.experts,
        seed=given.seed,
        train_accuracy=round(100 * accuracy(counts["train"], matching), 4),
        accuracy=round(100 * accuracy(counts["test"], matching), 4),
        test_matched_accuracy=round(100 * accuracy(counts["test"], match_outputs(counts["test"])), 4),
        settings={"trial": trial.name, "epochs": given.epochs, "volume": best, "batch": BATCH, "rate": RATE},
        cpu_seconds=round(time.process_time() - started, 1),
        command=f"python benchmarks/volmaxdcc.py CHECKOUT --dataset {given.dataset} --experts {given.experts} "
        f"--seed {given.seed}",
        **machine(),  # type: ignore[arg-type]
    )
    print(f"{record.accuracy:.2f} % on the test images. Wrote {write_record(given.results, record)}.")


if __name__ == "__main__":
    main()
