"""What runs of simulated people come to: medians and worst cases over the seeds, the bars, and the picture."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from likewise.benchmarks.question_rivals import RIVALS

TARGET = 0.95
SPEED = {10_000: 50.0, 100_000: 300.0}  # items, and milliseconds allowed for a question


@dataclass(frozen=True)
class Plan:
    wrong: dict[float, int]  # shares of wrong answers, and how many answers are given
    marks: tuple[int, ...]  # answers after which the accuracy is reported
    rival_marks: tuple[int, ...]


PLANS = {
    "digits": Plan({0.0: 60, 0.05: 90, 0.1: 120}, (20, 40, 60, 90, 120), (60,)),
    "mnist": Plan({0.0: 60, 0.05: 90, 0.1: 120}, (20, 40, 60, 90, 120), (60,)),
    "photos": Plan({0.0: 600, 0.05: 600, 0.1: 600}, (100, 300, 600), (100, 300)),
}


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
    estimates: list[tuple[int, float, float, float]]  # answers so far, estimate of the accuracy, low, high
    stop: int | None  # answers after which the chooser offered an end
    cpu_seconds: float


BARS = {  # (case, share wrong): the most answers to TARGET, the median over the seeds
    ("digits", 0.0): (60, 40), ("digits", 0.05): (90, 60), ("mnist", 0.0): (60, 25), ("mnist", 0.05): (90, 35),
}  # fmt: skip
PHOTO_BARS = {100: (0.89, 0.91), 300: (0.91, 0.94), 600: (0.93, 0.96)}  # answers: the least accuracy, the median


def summary(runs: Sequence[Run]) -> list[dict[str, object]]:
    """Median and worst over the seeds, for each case, way to choose and share of wrong answers."""
    rows: list[dict[str, object]] = []
    for key in dict.fromkeys((run.case, run.chooser, run.wrong) for run in runs):
        some = [run for run in runs if (run.case, run.chooser, run.wrong) == key]
        counts = sorted(np.inf if run.to_target is None else run.to_target for run in some)
        verdicts = [is_covered(one, run) for run in some for one in run.forecasts]
        covered = [each for each in verdicts if each is not None]
        within = [low <= run.curve[at] <= high for run in some for at, _, low, high in run.estimates]
        stops = [run.curve[run.stop] for run in some if run.stop is not None]
        rows.append({
            "case": key[0], "chooser": key[1], "wrong": key[2], "seeds": len(some),
            "start": _median(run.start for run in some),
            "below_start": round(max(run.start - run.lowest for run in some), 4),
            "to_target": _whole(float(np.median(counts))), "worst_to_target": _whole(counts[-1]),
            "marks": {mark: {"median": _median(run.marks[mark] for run in some),
                             "worst": min(run.marks[mark] for run in some)} for mark in some[0].marks},
            "forecasts": len(covered), "covered": _share(covered),
            "estimates": len(within), "estimates_covered": _share(within),
            "stops": len(stops), "stops_at_target": _share([each >= TARGET for each in stops]),
            "lowest_at_stop": min(stops, default=None),
        })  # fmt: skip
    return rows


def more_answers(curve: Sequence[float], at: int) -> int | None:
    """How many answers after so many it took to the target; None where it was not reached again.

    >>> more_answers([0.9, 0.96, 0.94, 0.94, 0.97], 2)
    2
    """
    return next((number for number, each in enumerate(curve[at:]) if each >= TARGET), None)


def is_covered(forecast: tuple[int, int, int, int | None], run: Run) -> bool | None:
    """Whether a forecast held; None where the person gave too few answers to tell."""
    at, low, high, more = forecast
    if more is not None:
        return low <= more <= high
    return None if high >= len(run.curve) - 1 - at else False


def _share(values: Sequence[bool]) -> float | None:
    return round(float(np.mean(values)), 3) if values else None


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


def draw(runs: Sequence[Run], path: Path) -> None:
    """The curves of each case: the median over the seeds, the range behind it, and rivals as points."""
    from matplotlib.figure import Figure

    cases = list(dict.fromkeys(run.case for run in runs))
    picture = Figure(figsize=(4.2 * len(cases), 3.4), layout="constrained")
    for number, case in enumerate(cases):
        axes = picture.add_subplot(1, len(cases), number + 1, title=case, xlabel="answers", ylabel="accuracy")
        for wrong in PLANS[case].wrong:
            some = [run for run in runs if (run.case, run.chooser, run.wrong) == (case, "likewise", wrong)]
            if not some:
                continue
            shortest = min(len(run.curve) for run in some)
            curves = np.array([run.curve[:shortest] for run in some])
            axes.plot(np.median(curves, axis=0), label=f"chosen, {100 * wrong:g} % wrong")
            axes.fill_between(range(shortest), curves.min(axis=0), curves.max(axis=0), alpha=0.15)
        for name, marker in zip(RIVALS, "xo+", strict=False):
            some = [run for run in runs if (run.case, run.chooser) == (case, name)]
            for mark in PLANS[case].rival_marks if some else ():
                label = name if mark == PLANS[case].rival_marks[0] else None
                axes.plot([mark], [np.median([run.marks[mark] for run in some])], "k" + marker, label=label)
        axes.axhline(TARGET, color="grey", linewidth=0.5)
        axes.legend(fontsize=7)
    path.parent.mkdir(parents=True, exist_ok=True)
    picture.savefig(path)
