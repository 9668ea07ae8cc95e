"""How many answers chosen questions take: simulated people, beside random pairs and two published ways to choose.

A simulated person answers truly, or wrongly with a fixed chance, by lot. After each answer the accuracy of `labels_` is
measured, with classes matched one-to-one. Digits are 1,797 of 8 x 8 pixels, MNIST 2,000 drawn by the seed, photos 1,200
of 30 classes by their EfficientNet-lite0 features. The others are in `question_rivals.py`; two are told the number of
classes.

The record is written after each run, and a command that was killed goes on: runs that are in the record are not made
again, unless they were made with another chooser (`code` is a fingerprint of its source).
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise.benchmarks.measure import Outcome
from likewise.benchmarks.question_rivals import RIVALS, accuracy
from likewise.benchmarks.question_runs import PLANS, SPEED, TARGET, Run, draw, judge, more_answers, report, summary
from likewise.datasets import load, load_feature_set
from likewise.datasets.source_files import find
from likewise.errors import InputError
from likewise.querying import QuestionChooser
from likewise.storage.records import fingerprint, machine, read_json, write_json

CASES = ("digits", "mnist", "photos", "speed")
MNIST_ITEMS = 2000
LOOK = 5  # answers after which the person looks whether an end is offered
FORECASTS = (10, 20, 30, 50, 80, 150, 300)  # answers after which forecast and estimate are judged


def open_case(case: str, seed: int, data: Path | None) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Items and their true classes."""
    if case == "mnist":
        train = load("mnist", data).train
        rows = np.random.default_rng(seed).permutation(len(train))[:MNIST_ITEMS]
        return train.inputs.numpy()[rows, 0] / 255.0, train.labels.numpy()[rows]
    if case == "photos":
        path = find("photos", ("photos-lite0.npz",), data)
        if path is None:
            raise InputError("photos-lite0.npz is not in the data folder; put it there, or choose another --case.")
        source = load_feature_set(path)
    else:
        source = load("digits", data)
    inputs = np.concatenate([part.inputs.numpy() for part in (source.train, source.test)]).astype(np.float64)
    labels = np.concatenate([part.labels.numpy() for part in (source.train, source.test)])
    return inputs.reshape(len(inputs), -1), labels


def simulate(
    case: str, chooser: QuestionChooser, y: NDArray[np.int64], wrong: float, answers: int, marks: Sequence[int]
) -> Run:
    """Ask and answer; a wrong answer is drawn by lot. In the end all answers are withdrawn."""
    random = np.random.default_rng([chooser.seed, 1])
    cpu = time.process_time()
    curve, forecasts, estimates, pairs, stop = [accuracy(chooser.labels_, y)], [], [], [], None
    for number in range(answers):
        if number in FORECASTS:
            estimate, low, high = (round(each, 4) for each in chooser.accuracy())
            estimates.append((number, estimate, low, high))
            if curve[-1] < TARGET:
                forecasts.append((number, *chooser.forecast(TARGET)))
        if stop is None and number % LOOK == 0 and chooser.done:
            stop = number
        pair = chooser.next()
        if pair is None:
            break
        chooser.tell(*pair, bool((y[pair[0]] == y[pair[1]]) ^ (random.random() < wrong)))
        pairs.append(pair)
        curve.append(accuracy(chooser.labels_, y))
    reached = [number for number, each in enumerate(curve) if each >= TARGET]
    to_target = reached[0] if reached else None
    for pair in pairs:
        chooser.withdraw(*pair)
    return Run(
        case=case,
        chooser="likewise",
        wrong=wrong,
        seed=chooser.seed,
        start=round(curve[0], 4),
        lowest=round(min(curve), 4),
        to_target=to_target,
        marks={mark: round(curve[mark], 4) for mark in marks if mark < len(curve)},
        curve=[round(each, 4) for each in curve],
        forecasts=[(at, low, high, more_answers(curve, at)) for at, low, high in forecasts],
        estimates=estimates,
        stop=stop,
        cpu_seconds=round(time.process_time() - cpu, 2),
    )


def simulate_rival(
    case: str, name: str, X: NDArray[np.float64], y: NDArray[np.int64], chooser: QuestionChooser, marks: Sequence[int]
) -> Run:
    cpu = time.process_time()
    marked = {mark: round(accuracy(RIVALS[name](X, y, mark, chooser), y), 4) for mark in marks}
    reached = [mark for mark, each in marked.items() if each >= TARGET]
    spent, values = round(time.process_time() - cpu, 2), list(marked.values())
    to_target = reached[0] if reached else None
    return Run(case, name, 0.0, chooser.seed, values[0], min(values), to_target, marked, [], [], [], None, spent)


def measure(cases: Sequence[str], seeds: int, data: Path | None, known_runs: Sequence[Run]) -> Iterator[Run]:
    """The runs that are not there yet, seed by seed, so that each seed is of all cases before the next begins."""
    names = {(run.case, run.chooser, run.wrong, run.seed) for run in known_runs}
    for seed in range(seeds):
        for case in cases:
            plan = PLANS[case]
            wrongs = [wrong for wrong in plan.wrong if (case, "likewise", wrong, seed) not in names]
            rivals = [name for name in RIVALS if (case, name, 0.0, seed) not in names]
            if not wrongs and not rivals:
                continue
            X, y = open_case(case, seed, data)
            chooser = QuestionChooser(X, seed=seed)
            for wrong in wrongs:
                yield simulate(case, chooser, y, wrong, plan.wrong[wrong], plan.marks)
            for name in rivals:
                yield simulate_rival(case, name, X.reshape(len(X), -1), y, chooser, plan.rival_marks)


def code(without: str = "") -> str:
    """A fingerprint of the source that chooses questions, or of all but one file of it."""
    import likewise.querying

    (room,) = likewise.querying.__path__
    return fingerprint(
        [path.read_text(encoding="utf-8") for path in sorted(Path(room).glob("*.py")) if path.name != without]
    )


def speed(n: int) -> dict[str, float]:
    """Milliseconds of CPU from an answer to the next question, the median of ten, and seconds to set up."""
    from sklearn.datasets import make_blobs

    X, y = make_blobs(n, n_features=32, centers=30, cluster_std=3.0, random_state=0)
    cpu = time.process_time()
    chooser = QuestionChooser(X.astype(np.float32))
    pair = chooser.next()
    setup, spent = time.process_time() - cpu, []
    for _ in range(10):
        assert pair is not None
        cpu = time.process_time()
        chooser.tell(*pair, bool(y[pair[0]] == y[pair[1]]))
        pair = chooser.next()
        spent.append(1000 * (time.process_time() - cpu))
    return {"items": n, "setup_seconds": round(setup, 1), "milliseconds": round(float(np.median(spent)), 1)}


def run(case: Sequence[str] | None, seeds: int, figure: Path | None, data: Path | None, out: Path | None) -> Outcome:
    """Measure what the record at `out` has not yet, and write it after each run."""
    cases = list(case or CASES)
    before = read_record(out)
    runs = [read_run(each) for each in before.get("runs", [])]
    speeds = [each for each in before.get("speed", []) if int(each["items"]) in SPEED]
    if "speed" in cases:
        speeds += [speed(n) for n in SPEED if n not in {int(each["items"]) for each in speeds}]

    def record() -> dict[str, object]:
        rows = summary(runs)
        kept = {"runs": [asdict(run) for run in runs], "summary": rows, "speed": speeds, "bars": judge(rows, speeds)}
        return {**machine(), "code": code(), "target": TARGET, **kept}

    for one in measure([each for each in cases if each != "speed"], seeds, data, runs):
        runs.append(one)
        if out is not None:
            write_json(out, record())
    if figure is not None and runs:
        draw(runs, figure)
    rows = summary(runs)
    return record(), report(rows, judge(rows, speeds))


def read_record(out: Path | None) -> dict[str, Any]:
    """The record that is there, if this chooser made it."""
    if out is None or not out.exists():
        return {}
    record = read_json(out)
    return record if isinstance(record, dict) and record.get("code") == code() else {}


def read_run(row: dict[str, Any]) -> Run:
    marks = {int(mark): value for mark, value in row["marks"].items()}
    return Run(
        **{**row, "marks": marks, **{name: [tuple(each) for each in row[name]] for name in ("forecasts", "estimates")}}
    )
