"""The examples run as a reader would run them, and learn what they say they learn."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"


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
