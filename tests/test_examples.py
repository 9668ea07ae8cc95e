"""The examples run as a reader would run them, and learn what they say they learn."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
import torch

EXAMPLES = Path(__file__).parent.parent / "examples"

# Each script, the arguments that make it short, and what it prints with the least share that it must reach.
SHORT = {
    "answers": (["3"], r"unseen digits: ([\d.]+) % right", 60),
    "few_labels": (["8"], r"pseudo-mcl\+: ([\d.]+) % of the unseen digits right", 60),
    "discovery": (["3"], r"unlabelled drawings: ([\d.]+) % in the class of their letter", 50),
    "noisy_answers": (["3"], r"unseen digits: ([\d.]+) % right", 60),
    "pairs_in_torch": (["4"], r"unseen digits: ([\d.]+) % right", 60),
}


@pytest.mark.filterwarnings("ignore:The answers contradict one another")  # in noisy_answers they do
@pytest.mark.parametrize("name", SHORT)
def test_a_script_learns_what_it_says(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments, printed, least = SHORT[name]
    monkeypatch.setattr(sys, "argv", [f"{name}.py", *arguments])
    with torch.random.fork_rng():
        runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")
    found = re.search(printed, capsys.readouterr().out)
    assert found is not None
    assert float(found[1]) > least  # ten classes at random would give 10 to 20


def test_every_script_is_tested() -> None:
    assert {path.stem for path in EXAMPLES.glob("*.py")} == {*SHORT, "skorch_mcl", "tensorboard_log"}


@pytest.mark.skipif(find_spec("skorch") is None, reason="skorch is not installed")
def test_mcl_is_a_criterion_of_skorch() -> None:
    script = [sys.executable, "-W", "error", str(EXAMPLES / "skorch_mcl.py"), "6"]
    done = subprocess.run(script, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert len(re.findall(r"^ +\d+ ", done.stdout, re.MULTILINE)) == 6  # a line for each epoch
    found = re.search(r"unseen digits: ([\d.]+) % right", done.stdout)
    assert found is not None
    assert float(found[1]) > 60  # 10 outputs matched to 10 digits at random would give some 15


@pytest.mark.skipif(find_spec("tensorboard") is None, reason="tensorboard is not installed")
def test_every_epoch_is_logged_in_tensorboard(tmp_path: Path) -> None:
    script = [sys.executable, str(EXAMPLES / "tensorboard_log.py"), str(tmp_path)]
    done = subprocess.run(script, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = re.search(r"unseen digits: ([\d.]+) % right", done.stdout)
    assert found is not None
    assert float(found[1]) > 80
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    log = EventAccumulator(str(tmp_path / "log"))
    log.Reload()
    assert set(log.Tags()["scalars"]) == {"epoch", "learning_rate", "loss", "accuracy", "test_accuracy"}
    assert [event.step for event in log.Scalars("loss")] == [1, 2, 3, 4, 5]
