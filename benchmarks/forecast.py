"""How well forecast, estimate and end of the chooser hold: simulated people in generated problems, no real data.

    python -m benchmarks.forecast --problems 12          # writes benchmarks/forecast.json; resumes

A problem is a mixture of 3 to 25 classes, each in one to three places, near each other or far, of equal sizes or not.
A person answers truly, or wrongly once in ten. Every ten answers before 95 % is reached, the forecast has a ratio

    r = answers that it took / answers that the worth of the next questions comes to (q of `likewise.querying.forecast`)

Its tenth percentile by the estimate, and its ninetieth by the low end of the interval, are the factors of the forecast.
A person who did not get there in time is a ratio that is known to be larger (Kaplan and Meier, 1958). Few problems are
enough for two factors.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise.benchmarks.question_rivals import accuracy
from likewise.benchmarks.questions import code
from likewise.querying import QuestionChooser
from likewise.querying.forecast import FASTEST, FEW, LEAST, LEAST_VALUE, NEXT, SLOWEST, questions_to
from likewise.storage.records import machine, read_json, write_json

TARGET = 0.95
ANSWERS, EVERY = 120, 10
WRONG = (0.0, 0.1)


def problem(number: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Items (n, d) and their classes (n,)."""
    random = np.random.default_rng([77, number])
    n, classes, d = int(random.integers(300, 900)), int(random.integers(3, 26)), int(random.integers(4, 40))
    places = random.integers(1, 4, classes)
    y = random.choice(classes, n, p=random.dirichlet(np.full(classes, random.choice([1.5, 5.0, 50.0]))))
    apart = random.uniform(1.2, 4.0) / d**0.25
    place = (random.random(n) * places[y]).astype(np.int64)
    centres = random.normal(size=(classes, d)) * 2 * apart
    centres = centres[:, None] + random.normal(size=(classes, 3, d)) * 1.2 * apart * (places > 1)[:, None, None]
    shape = random.normal(size=(d, d)) / np.sqrt(d)
    noise = 0.5 * random.normal(size=(n, d)) + 0.5 * random.normal(size=(n, d)) @ shape
    return centres[y, place] + noise, np.unique(y, return_inverse=True)[1].astype(np.int64)


def simulate(number: int, wrong: float, chooser: QuestionChooser, y: NDArray[np.int64]) -> dict[str, Any]:
    """What was forecast and estimated every ten answers, and how it came out; then the answers are withdrawn."""
    random = np.random.default_rng([number, 1])
    curve, rows, pairs, stop = [accuracy(chooser.labels_, y)], [], [], None
    for told in range(ANSWERS + 1):
        if told and told % EVERY == 0:
            if stop is None and chooser.done:
                stop = told
            estimate, low, high = chooser.accuracy()
            values = np.array([each.value for each in chooser._candidates])
            rows.append({
                "answers": told, "truth": curve[-1], "estimate": estimate, "low": low, "high": high,
                "soonest": questions_to(len(y), values, estimate, TARGET),
                "latest": questions_to(len(y), values, low, TARGET),
            })  # fmt: skip
        pair = chooser.next()
        if pair is None or told == ANSWERS:
            break
        chooser.tell(*pair, bool((y[pair[0]] == y[pair[1]]) ^ (random.random() < wrong)))
        pairs.append(pair)
        curve.append(accuracy(chooser.labels_, y))
    for pair in pairs:
        chooser.withdraw(*pair)
    reached = next((at for at, each in enumerate(curve) if each >= TARGET), None)
    return {
        "problem": number, "wrong": wrong, "items": len(y), "classes": int(y.max()) + 1, "reached": reached,
        "start": curve[0], "lowest": min(curve), "end": curve[-1], "answers": len(pairs), "rows": rows,
        "stop": stop, "at_stop": None if stop is None else curve[stop],
    }  # fmt: skip


def ratios(runs: list[dict[str, Any]], q: str) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """How many answers it took for each that was counted, and whether that is known; else it took more."""
    points = [
        ((run["reached"] or run["answers"]) - row["answers"], row[q], run["reached"] is not None)
        for run in runs
        for row in run["rows"]
        if row["truth"] < TARGET and (run["reached"] or run["answers"]) > row["answers"]
    ]
    table = np.array(points, dtype=np.float64).reshape(-1, 3)
    return table[:, 0] / table[:, 1], table[:, 2] > 0


def percentile(values: NDArray[np.float64], known: NDArray[np.bool_], share: float) -> float | None:
    """Of values of which some are only known to be larger; None where too few are known.

    >>> percentile(np.array([1.0, 2.0, 3.0, 4.0]), np.array([True, True, True, True]), 0.5)
    2.0
    """
    order = np.lexsort((~known, values))
    there, survival = len(values), 1.0
    for place in order:
        if known[place]:
            survival *= 1 - 1 / there
            if survival <= 1 - share + 1e-12:
                return float(values[place])
        there -= 1
    return None


def summary(runs: list[dict[str, Any]]) -> dict[str, Any]:
    (r, known), late = ratios(runs, "soonest"), ratios(runs, "latest")
    rows = [(run, row) for run in runs for row in run["rows"]]
    held, unknown = [], 0
    for run, row in rows:
        left = (run["reached"] or run["answers"]) - row["answers"]
        if row["truth"] >= TARGET or left <= 0:
            continue
        low = 0 if row["estimate"] >= TARGET else np.floor(FASTEST * row["soonest"])
        high = np.ceil(SLOWEST * row["latest"]) + FEW
        if run["reached"] is None and high >= left:
            unknown += 1
        else:
            held.append(run["reached"] is not None and bool(low <= left <= high))
    stops = [run["at_stop"] for run in runs if run["stop"] is not None]
    return {
        "runs": len(runs), "reached": sum(run["reached"] is not None for run in runs), "ratios": len(r),
        "tenth": percentile(r, known, 0.1), "median": percentile(r, known, 0.5),
        "late_median": percentile(*late, 0.5), "late_eightieth": percentile(*late, 0.8),
        "late_ninetieth": percentile(*late, 0.9),
        "forecasts_judged": len(held), "forecasts_unknown": unknown,
        "forecasts_held": float(np.mean(held)) if held else None,
        "estimates_held": float(np.mean([row["low"] <= row["truth"] <= row["high"] for _, row in rows])),
        "estimate_above_truth": float(np.mean([row["estimate"] - row["truth"] for _, row in rows])),
        "stops": len(stops), "stops_at_target": float(np.mean([each >= TARGET for each in stops])) if stops else None,
        "below_start": max(run["start"] - run["lowest"] for run in runs),
    }  # fmt: skip


def record(runs: list[dict[str, Any]], made_by: dict[str, Any]) -> dict[str, Any]:
    factors = {"fastest": FASTEST, "slowest": SLOWEST, "few": FEW}
    return {**machine(), "made_by": made_by, "factors": factors, "summary": summary(runs), "runs": runs}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--problems", type=int, default=12)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/forecast.json"))
    given = parser.parse_args()
    before = read_json(given.out) if given.out.exists() else {}
    counted = {"next": NEXT, "least": LEAST, "least_value": LEAST_VALUE}
    made_by = {"code": code(without="forecast.py"), **counted}  # the factors change no run
    runs = before["runs"] if before.get("made_by") == made_by else []
    for number in range(given.problems):
        X, y = problem(number)
        wrongs = [each for each in WRONG if (number, each) not in {(run["problem"], run["wrong"]) for run in runs}]
        chooser = QuestionChooser(X, seed=number) if wrongs else None
        for wrong in wrongs:
            assert chooser is not None
            runs.append(simulate(number, wrong, chooser, y))
            write_json(given.out, record(runs, made_by))
    write_json(given.out, record(runs, made_by))
    for name, value in summary(runs).items():
        print(f"{name:<20} {value}")


if __name__ == "__main__":
    main()
