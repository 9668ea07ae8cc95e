"""What commands cost: the exponent, the made-up files, a command metered, and a promise that is missed."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from benchmarks.budgets import growth_page, main
from benchmarks.growth import BUDGETS, Budget, Growth, cost_of, exponent, judge
from benchmarks.synthetic import MadeUp

from benchmarks import growth
from likewise.cli import app as likewise_app
from likewise.datasets import load_items
from likewise.pairs import Pairs


@pytest.mark.parametrize("true", [0.5, 1.0, 2.0])
def test_the_exponent_of_a_power_whatever_the_rest_costs(true: float) -> None:
    sizes = np.array([400, 400 * np.sqrt(10), 4000])
    assert exponent((30 + sizes**true).tolist()) == pytest.approx(true, abs=1e-6)


def test_what_hardly_grows_has_no_exponent() -> None:
    assert exponent([10.0, 9.0, 10.9]) == 0
    assert exponent([10.0, 12.0, 11.5]) == 0  # less at last
    assert exponent([10.0, 10.0, 20.0]) == pytest.approx(2 * np.log10(10 / 0.25))  # a leap


def test_made_up_files_are_what_the_commands_read(tmp_path: Path) -> None:
    made = MadeUp(tmp_path, 120, 4)
    items = load_items(made.items(labelled=True))
    assert items.inputs.shape == (120, 16)
    np.testing.assert_array_equal(items.labels.numpy(), np.arange(120) % 4)
    pairs = Pairs.read_csv(made.answers(500))
    assert len(pairs) == 500
    number = {name: int(name.removeprefix("item")) for name in pairs.ids}
    first, second = (np.array([number[pairs.ids[row]] for row in side]) for side in (pairs.left, pairs.right))
    np.testing.assert_array_equal(first % 4 == second % 4, pairs.same > 0.5)
    assert (first != second).all()
    assert 0.5 < float(np.mean(pairs.same)) < 0.75
    assert made.labels(3).read_text().splitlines() == [
        '"id","label"',
        *(f'"item000000{n}","class00{n}"' for n in range(3)),
    ]


def test_a_command_is_metered_and_a_failing_one_is_not(tmp_path: Path) -> None:
    cost = cost_of(["check", MadeUp(tmp_path, 50).answers(200)], tmp_path)
    assert set(cost) == {"cpu_seconds", "mebibytes"}
    assert 0 < cost["cpu_seconds"] < 60
    assert 20 < cost["mebibytes"] < 2000
    with pytest.raises(RuntimeError, match=r"check .*nowhere\.csv failed: likewise: "):
        cost_of(["check", tmp_path / "nowhere.csv"], tmp_path)


SMALL = Budget(
    "check",
    "answers",
    100,
    {"cpu_seconds": 1, "mebibytes": 1},
    {"cpu_seconds": 0.001, "mebibytes": 1e6},
    lambda folder, n: ["check", MadeUp(folder, 50).answers(n)],
)


def test_the_script_writes_record_page_and_figure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(growth, "BUDGETS", (SMALL,))
    out, page = tmp_path / "growth.json", tmp_path / "docs" / "budgets.md"
    main(["--out", str(out), "--page", str(page)])
    (found,) = json.loads(out.read_text())["growth"]
    assert found["sizes"] == [100, 316, 1000]
    assert len(found["cpu_seconds"]) == len(found["mebibytes"]) == 3
    verdicts = {bar["bar"]: bar["verdict"] for bar in found["bars"]}
    assert verdicts["cpu_seconds at 1,000"] == "miss"
    assert verdicts["mebibytes at 1,000"] == "pass"
    assert "  miss  cpu_seconds at 1,000: " in capsys.readouterr().out
    assert re.search(
        r"\| `check` \| answers \| 100, 1,000 \| 1 \| [*]*\d\.\d\d[*]* \| 0\.001 \| \*\*", page.read_text()
    )
    assert (page.parent / "growth.svg").read_bytes().startswith(b"<?xml")


def test_a_part_writes_no_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(growth, "measure", lambda budgets: [measured(budget) for budget in budgets])
    page = tmp_path / "budgets.md"
    told = ["--out", str(tmp_path / "growth.json"), "--page", str(page), "--command", "check"]
    main(told)
    assert not page.exists()
    with pytest.raises(SystemExit):
        main([*told, "--command", "cluter"])


def measured(budget: Budget, grew: float = 1.0) -> Growth:
    costs = tuple(10 + 20 * 10 ** (grew * step / 2) for step in range(3))
    return Growth(budget.command, budget.against, budget.sizes, costs, costs)


def test_too_fast_a_growth_is_a_miss_and_bold() -> None:
    for grew, verdict, cell in ((1.0, "pass", "| 1.00 |"), (1.4, "pass", "| 1.40 |"), (1.6, "miss", "| **1.60** |")):
        judged = {bar: each for bar, _, _, each in judge(SMALL, measured(SMALL, grew))}
        assert judged["exponent of cpu_seconds"] == judged["exponent of mebibytes"] == verdict
        assert cell in growth_page([SMALL], [measured(SMALL, grew)], {"threads": 1})


def test_every_command_has_a_budget_or_a_word() -> None:
    page = growth_page(BUDGETS, [measured(budget) for budget in BUDGETS], {})
    commands = {command.name or command.callback.__name__ for command in likewise_app.registered_commands}
    groups = {group.name for group in likewise_app.registered_groups}
    for name in (commands | groups) - {"bench"}:
        assert f"`{name}" in page, name
