"""How many answers chosen questions take: simulated people, beside random pairs and two published ways to choose.

A simulated person answers truly, or wrongly with a fixed chance, by lot. After each answer the accuracy of `labels_` is
measured, with classes matched one-to-one. Digits are 1,797 of 8 x 8 pixels, MNIST 2,000 drawn by the seed, photos 1,200
of 30 classes by their EfficientNet-lite0 features. The other ways to choose:

    random                random pairs, grouped by the chooser as its own answers are
    explore-consolidate   the farthest item from all seen is asked against each group, until there are K; then random
                          items against the groups, the nearest first (Basu, Banerjee and Mooney, 2004)
    min-max               the same, but the next item is the one whose nearest group is the farthest (Mallapragada, Jin
                          and Jain, 2008)

The last two are told K, and their answers are grouped by PCK-means, as published.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from likewise.benchmarks.measure import Outcome
from likewise.clustering import PCKMeans
from likewise.datasets import load, load_feature_set
from likewise.datasets.source_files import find
from likewise.errors import InputError
from likewise.evaluation import confusion, match_outputs, scores
from likewise.pairs import Pairs
from likewise.querying import QuestionChooser
from likewise.storage.machine import machine

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def accuracy(labels: Ints, y: Ints) -> float:
    """With classes matched one-to-one."""
    counts = confusion(labels, y, int(labels.max()) + 1, int(y.max()) + 1)
    return float(scores(counts, match_outputs(counts))["accuracy"])


def random_pairs(X: Floats, y: Ints, answers: int, chooser: QuestionChooser) -> Ints:
    """Grouped by a chooser without answers, from which they are withdrawn again."""
    random = np.random.default_rng([chooser.seed, 2])
    pairs = {tuple(sorted(random.choice(len(y), 2, replace=False).tolist())) for _ in range(answers)}
    for i, j in sorted(pairs):
        chooser.tell(i, j, bool(y[i] == y[j]))
    labels = chooser.labels_
    for i, j in pairs:
        chooser.withdraw(i, j)
    return labels


def explore_consolidate(X: Floats, y: Ints, answers: int, chooser: QuestionChooser) -> Ints:
    return _by_groups(X, y, answers, chooser.seed, min_max=False)


def min_max(X: Floats, y: Ints, answers: int, chooser: QuestionChooser) -> Ints:
    return _by_groups(X, y, answers, chooser.seed, min_max=True)


def _by_groups(X: Floats, y: Ints, answers: int, seed: int, *, min_max: bool) -> Ints:
    random, n_classes = np.random.default_rng([seed, 3]), int(y.max()) + 1
    first = int(random.integers(len(y)))
    groups = [[first]]
    asked: list[tuple[int, int, bool]] = []
    distance = ((X - X[first]) ** 2).sum(axis=1)  # to the nearest item that is in a group
    while len(asked) < answers:
        rest = np.flatnonzero(distance > 0)
        if not len(rest):
            break
        explore = len(groups) < n_classes
        item = int(rest[distance[rest].argmax()]) if explore or min_max else int(random.choice(rest))
        near = [float(((X[group] - X[item]) ** 2).sum(axis=1).min()) for group in groups]
        for number in np.argsort(near, kind="stable"):
            if len(asked) == answers:
                break
            same = bool(y[groups[number][0]] == y[item])
            asked.append((groups[number][0], item, same))
            if same:
                groups[number].append(item)
                break
        else:
            groups.append([item])
        distance = np.minimum(distance, ((X - X[item]) ** 2).sum(axis=1))
    pairs = Pairs.from_arrays([pair[:2] for pair in asked], [int(pair[2]) for pair in asked])
    return np.asarray(PCKMeans(n_clusters=n_classes, random_state=seed).fit(X, pairs=pairs).labels_)


RIVALS: dict[str, Callable[[Floats, Ints, int, QuestionChooser], Ints]] = {
    "random": random_pairs,
    "explore-consolidate": explore_consolidate,
    "min-max": min_max,
}


CASES = ("digits", "mnist", "photos", "speed")
TARGET = 0.95
MNIST_ITEMS = 2000
FORECASTS = (10, 20, 30)  # answers after which a forecast is judged
SPEED = {10_000: 50.0, 100_000: 300.0}  # items, and milliseconds allowed for a question


@dataclass(frozen=True)
class Plan:
    wrong: dict[float, int]  # shares of wrong answers, and how many answers are given
    marks: tuple[int, ...]  # answers after which the accuracy is reported
    rival_marks: tuple[int, ...]


PLANS = {
    "digits": Plan({0.0: 60, 0.05: 90, 0.1: 120}, (20, 40, 60, 90, 120), (60,)),
    "mnist": Plan({0.0: 60, 0.05: 90, 0.1: 120}, (20, 40, 60, 90, 120), (60,)),
    "photos": Plan({0.0: 600}, (100, 300, 600), (100, 300)),
}
BARS = {  # (case, share wrong): the most answers to TARGET, the median over the seeds
    ("digits", 0.0): (60, 40), ("digits", 0.05): (90, 60), ("mnist", 0.0): (60, 25), ("mnist", 0.05): (90, 35),
}  # fmt: skip
PHOTO_BARS = {100: (0.89, 0.91), 300: (0.91, 0.94), 600: (0.93, 0.96)}  # answers: the least accuracy, the median


@dataclass(frozen=True)
class Run:
    """One simulated person and one way to choose."""

    case: str
    chooser: str
    wrong: float
    seed: int
    start: float  # accuracy without answers
    lowest: float
    to_target: int | None  # answers
    marks: dict[int, float]  # accuracy after so many answers
    curve: list[float]  # after each answer; of rivals nothing
    forecasts: list[tuple[int, int, int, int | None]]  # answers so far, low, high, and how many more it took
    cpu_seconds: float


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
    curve, forecasts, pairs = [accuracy(chooser.labels_, y)], [], []
    for number in range(answers):
        if number in FORECASTS and curve[-1] < TARGET:
            forecasts.append((number, *chooser.forecast(TARGET)))
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
        forecasts=[(at, low, high, None if to_target is None else to_target - at) for at, low, high in forecasts],
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
    return Run(case, name, 0.0, chooser.seed, values[0], min(values), to_target, marked, [], [], spent)


def measure(cases: Sequence[str], seeds: int, data: Path | None) -> Iterator[Run]:
    for case in cases:
        plan = PLANS[case]
        for seed in range(seeds):
            X, y = open_case(case, seed, data)
            chooser = QuestionChooser(X, seed=seed)
            for wrong, answers in plan.wrong.items():
                yield simulate(case, chooser, y, wrong, answers, plan.marks)
            for name in RIVALS:
                yield simulate_rival(case, name, X.reshape(len(X), -1), y, chooser, plan.rival_marks)


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


def summary(runs: Sequence[Run]) -> list[dict[str, object]]:
    """Median and worst over the seeds, for each case, way to choose and share of wrong answers."""
    rows: list[dict[str, object]] = []
    for key in dict.fromkeys((run.case, run.chooser, run.wrong) for run in runs):
        some = [run for run in runs if (run.case, run.chooser, run.wrong) == key]
        counts = sorted(np.inf if run.to_target is None else run.to_target for run in some)
        told = [one for run in some for one in run.forecasts]
        covered = [more is not None and low <= more <= high for _, low, high, more in told]
        rows.append({
            "case": key[0], "chooser": key[1], "wrong": key[2], "seeds": len(some),
            "start": _median(run.start for run in some),
            "below_start": round(max(run.start - run.lowest for run in some), 4),
            "to_target": _whole(float(np.median(counts))), "worst_to_target": _whole(counts[-1]),
            "marks": {mark: {"median": _median(run.marks[mark] for run in some),
                             "worst": min(run.marks[mark] for run in some)} for mark in some[0].marks},
            "forecasts": len(told), "covered": round(float(np.mean(covered)), 3) if covered else None,
        })  # fmt: skip
    return rows


def _median(values: Iterator[float]) -> float:
    return round(float(np.median(list(values))), 4)


def _whole(value: float) -> int | None:
    return None if np.isinf(value) else int(np.ceil(value))


def judge(rows: Sequence[dict[str, object]], speeds: Sequence[dict[str, float]]) -> list[dict[str, object]]:
    """The bars: what must be met, what is aimed at, and the verdict."""
    bars: list[dict[str, object]] = []
    ours = {(row["case"], row["wrong"]): row for row in rows if row["chooser"] == "likewise"}
    for key, (must, aim) in BARS.items():
        if key in ours:
            needed = ours[key]["to_target"]
            words = f"{key[0]}, {100 * key[1]:g} % wrong: median answers to {100 * TARGET:g} %"
            bars.append(_bar(words, must, aim, needed, isinstance(needed, int) and needed <= must))
    if ("photos", 0.0) in ours:
        marks = ours["photos", 0.0]["marks"]
        assert isinstance(marks, dict)
        for mark, (least, hoped) in PHOTO_BARS.items():
            if mark in marks:
                median = marks[mark]["median"]
                bars.append(
                    _bar(f"photos: median accuracy after {mark} answers", least, hoped, median, median >= least)
                )
    for each in speeds:
        allowed = SPEED[int(each["items"])]
        words = f"milliseconds of CPU for the next question at {int(each['items']):,} items"
        bars.append(_bar(words, allowed, allowed, each["milliseconds"], each["milliseconds"] <= allowed))
    return bars


def _bar(words: str, must: float, aim: float, measured: object, met: bool) -> dict[str, object]:
    return {"bar": words, "must": must, "aim": aim, "measured": measured, "verdict": "pass" if met else "miss"}


def report(rows: Sequence[dict[str, object]], bars: Sequence[dict[str, object]]) -> Iterator[str]:
    yield f"{'case':<8} {'chooser':<20} {'wrong':>5} {'start':>6} {'to 95 %':>8} {'worst':>6}  accuracy after answers"
    for row in rows:
        marks = row["marks"]
        assert isinstance(marks, dict)
        after = "  ".join(f"{mark}: {values['median']:.3f}" for mark, values in marks.items())
        needed, worst = (str(row[name] or "-") for name in ("to_target", "worst_to_target"))
        start = f"{row['start']:>6.3f}" if row["chooser"] == "likewise" else f"{'':>6}"
        yield f"{row['case']:<8} {row['chooser']:<20} {row['wrong']:>5} {start} {needed:>8} {worst:>6}  {after}"
    for bar in bars:
        yield f"{bar['verdict']:<8} {bar['bar']}: {bar['measured']} (must {bar['must']}, aim {bar['aim']})"


def run(case: Sequence[str] | None, seeds: int, figure: Path | None, data: Path | None) -> Outcome:
    cases = list(case or CASES)
    speeds = [speed(n) for n in SPEED] if "speed" in cases else []
    runs = list(measure([each for each in cases if each != "speed"], seeds, data))
    rows = summary(runs)
    bars = judge(rows, speeds)
    if figure is not None and runs:
        draw(runs, figure)
    kept = {"runs": [asdict(run) for run in runs], "summary": rows, "speed": speeds, "bars": bars}
    return {**machine(), "target": TARGET, "seeds": seeds, **kept}, report(rows, bars)


def draw(runs: Sequence[Run], path: Path) -> None:
    """The curves of each case: the median over the seeds, the range behind it, and rivals as points."""
    from matplotlib.figure import Figure

    cases = list(dict.fromkeys(run.case for run in runs))
    picture = Figure(figsize=(4.2 * len(cases), 3.4), layout="constrained")
    for number, case in enumerate(cases):
        axes = picture.add_subplot(1, len(cases), number + 1, title=case, xlabel="answers", ylabel="accuracy")
        for wrong in PLANS[case].wrong:
            some = [run for run in runs if (run.case, run.chooser, run.wrong) == (case, "likewise", wrong)]
            shortest = min(len(run.curve) for run in some)
            curves = np.array([run.curve[:shortest] for run in some])
            axes.plot(np.median(curves, axis=0), label=f"chosen, {100 * wrong:g} % wrong")
            axes.fill_between(range(shortest), curves.min(axis=0), curves.max(axis=0), alpha=0.15)
        for name, marker in zip(RIVALS, "xo+", strict=False):
            some = [run for run in runs if (run.case, run.chooser) == (case, name)]
            for mark in PLANS[case].rival_marks:
                label = name if mark == PLANS[case].rival_marks[0] else None
                axes.plot([mark], [np.median([run.marks[mark] for run in some])], "k" + marker, label=label)
        axes.axhline(TARGET, color="grey", linewidth=0.5)
        axes.legend(fontsize=7)
    path.parent.mkdir(parents=True, exist_ok=True)
    picture.savefig(path)
