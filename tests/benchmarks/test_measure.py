"""Measuring: who runs when, and what becomes of a process that prints, fails or is killed. No test looks at a time."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from likewise.benchmarks.measure import available_bytes, mebibytes_alone, side_by_side, warm_up


@pytest.mark.parametrize(("few", "many"), [(1, 1), (1, 7), (3, 7), (3, 10), (7, 7)])
def test_fewer_repeats_are_spread_over_the_rounds(few: int, many: int) -> None:
    order: list[str] = []
    calls = {name: lambda name=name: order.append(name) for name in ("few", "many")}
    times = side_by_side(calls, {"few": few, "many": many})
    assert (len(times["few"]), len(times["many"])) == (few, many) == (order.count("few"), order.count("many"))
    gaps = [len(part) for part in "".join(name[0] for name in order).split("f")[1:]]
    assert max(gaps) - min(gaps) <= 1


def test_warm_up_runs_a_slow_call_once_and_a_quick_one_twice() -> None:
    calls: list[None] = []
    warm_up(lambda: calls.append(None), slow=float("inf"))
    assert len(calls) == 2
    warm_up(lambda: calls.append(None), slow=0.0)
    assert len(calls) == 3


def test_available_memory_is_not_more_than_all() -> None:
    assert 0 < available_bytes() <= os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    return tmp_path / "measured.py"


def test_a_process_prints_its_figure(module: Path) -> None:
    module.write_text("import sys; print(float(sys.argv[1]) + float(sys.argv[2]))")
    assert mebibytes_alone("measured", "12", "0.5") == 12.5


def test_added_memory_is_the_peak_and_not_what_is_left(module: Path) -> None:
    lines = (
        "from likewise.benchmarks.measure import added_mebibytes as added",
        "first, again, more = (added(lambda: len(b'x' * (n << 20))) for n in (100, 90, 150))",
        "assert abs(first - 100) < 5 and again < 5 and abs(more - 50) < 5, (first, again, more)",
        "print(first)",
    )
    module.write_text("\n".join(lines))
    assert mebibytes_alone("measured") == pytest.approx(100, abs=5)


def test_a_killed_process_has_no_figure(module: Path) -> None:
    module.write_text("import os, signal; os.kill(os.getpid(), signal.SIGKILL)")
    assert mebibytes_alone("measured") is None


def test_a_failed_process_is_an_error_with_its_words(module: Path) -> None:
    module.write_text("raise SystemExit('no such contender')")
    with pytest.raises(RuntimeError, match="measured failed: no such contender"):
        mebibytes_alone("measured")
