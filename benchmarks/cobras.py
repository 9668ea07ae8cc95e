"""COBRAS on the items and answers of `likewise bench questions`: `python -m benchmarks.cobras --peer ENV/bin/python`.

COBRAS (Van Craenendonck and others, 2018) splits and merges super-instances of k-means by its own questions. Its
package needs numpy below 1.24, so it runs in an environment of its own:

    python -m venv ENV && ENV/bin/pip install "numpy<1.24" "scikit-learn<1.4" cobras_ts

It is given the items as they are, and at unit length. A wrong answer is drawn by lot, as for our own simulated people.
Writes benchmarks/cobras.json after each run; runs that are in it are not made again.
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise.benchmarks.question_rivals import accuracy
from likewise.benchmarks.question_runs import PLANS, TARGET
from likewise.benchmarks.questions import open_case
from likewise.clustering.lsc import unit_rows
from likewise.storage.records import machine, read_json, write_json

WRONG = (0.0, 0.05)
CHILD = """
import random, sys
import numpy as np
from cobras_ts.cobras_kmeans import COBRAS_kmeans

class Person:  # what the package asks of one; its own classes of them import a web server
    def query_points(self, i, j):
        return bool((y[i] == y[j]) ^ (chance.random() < wrong))

    def update_clustering(self, clustering):
        pass

    def continue_cluster_process(self):
        return True

given = np.load(sys.argv[1])
y, wrong, seed = given["y"], float(given["wrong"]), int(given["seed"])
np.random.seed(seed), random.seed(seed)
chance = np.random.default_rng([seed, 1])
found = COBRAS_kmeans(given["X"], Person(), int(given["answers"])).cluster()
np.save(sys.argv[2], np.array(found[1], dtype=np.int64))
"""


def after_each_answer(
    peer: Path, X: NDArray[np.float64], y: NDArray[np.int64], wrong: float, answers: int, seed: int
) -> NDArray[np.int64]:
    """(m, n) The groups after each answer."""
    with tempfile.TemporaryDirectory() as folder:
        given, found = Path(folder) / "given.npz", Path(folder) / "found.npy"
        np.savez(given, X=X, y=y, wrong=wrong, answers=answers, seed=seed)
        subprocess.run([str(peer), "-W", "ignore", "-c", CHILD, str(given), str(found)], check=True)
        return np.asarray(np.load(found))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--peer", type=Path, required=True, help="The Python that has cobras_ts.")
    parser.add_argument("--case", nargs="+", choices=list(PLANS), default=["digits", "mnist", "photos"])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--data", type=Path, default=None)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/cobras.json"))
    given = parser.parse_args()
    runs: list[dict[str, Any]] = read_json(given.out)["runs"] if given.out.exists() else []
    known = {(run["case"], run["items"], run["wrong"], run["seed"]) for run in runs}
    for seed in range(given.seeds):
        for case in given.case:
            X, y = open_case(case, seed, given.data)
            rows = X.reshape(len(X), -1)
            for name, items in (("as given", rows), ("unit length", unit_rows(rows))):
                for wrong in WRONG:
                    if (case, name, wrong, seed) in known:
                        continue
                    answers = PLANS[case].wrong[wrong]
                    groups = after_each_answer(given.peer, items, y, wrong, answers, seed)
                    curve = [round(accuracy(labels, y), 4) for labels in groups]
                    reached = next((number + 1 for number, each in enumerate(curve) if each >= TARGET), None)
                    marks = {mark: curve[mark - 1] for mark in PLANS[case].marks if mark <= len(curve)}
                    runs.append({
                        "case": case, "items": name, "wrong": wrong, "seed": seed, "answers": len(curve),
                        "to_target": reached, "marks": marks, "best": max(curve),
                    })  # fmt: skip
                    write_json(given.out, {**machine(), "target": TARGET, "runs": runs})
                    print(case, name, wrong, seed, reached, marks, flush=True)


if __name__ == "__main__":
    main()
