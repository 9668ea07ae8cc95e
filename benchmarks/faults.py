"""Training runs killed at random moments must resume to the same bytes: `python -m benchmarks.faults`.

SIGKILL comes at a step of the run, at one of its renames of files (where a checkpoint takes the place of another) or by
the clock, in turn. Further runs are killed after two epochs at least, and then their last checkpoint is damaged: a bit
is flipped, the file is cut short or emptied. They must end with the same bytes, too.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from likewise.criteria import MCL
from likewise.datasets import Augmentation, load
from likewise.networks import build
from likewise.storage.records import machine, write_json
from likewise.supervision import label_objective
from likewise.training import Batch, Settings, TensorBatches, train

KILLS, DAMAGES, SEED = 50, 12, 0
EPOCHS, BATCH = 4, 100
MOMENTS = ("step", "rename", "second")
HARMS = ("flipped", "cut", "emptied")
COMPARED = ("model.safetensors", "history.csv")

Count = Callable[[str], None]  # told "step" before each step, and "rename" before each rename of a file


@dataclass(frozen=True)
class Trial:
    """A run that was killed at a moment, and how it ended once it was taken up again."""

    by: str  # what the moment counts: "step", "rename" or "second"
    moment: float
    harm: str  # what was done to its last checkpoint: "" is nothing
    checkpoints: int  # that the kill left, the last and the one before
    same: bool  # the weights and the history, byte for byte


def measure(kills: int = KILLS, damages: int = DAMAGES, items: int | None = None) -> Iterator[Trial]:
    """Kill and damage runs on so many digits, all by default, in a process of its own that forks each run."""
    told = json.dumps({"kills": kills, "damages": damages, "items": items})
    command = [sys.executable, "-m", "benchmarks.faults", told]
    with subprocess.Popen(command, env=os.environ | {"OMP_NUM_THREADS": "1"}, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        for line in process.stdout:
            yield Trial(**json.loads(line))
    if process.returncode:
        raise RuntimeError(f"{' '.join(command)} failed.")


def trials(folder: Path, kills: int, damages: int, items: int | None) -> Iterator[Trial]:
    """What `measure` gives, in a process with one thread, which can be forked."""
    draw, run, whole = random.Random(SEED), folder / "killed", folder / "whole"
    counter = Counter(folder / "counted.json")
    started = time.monotonic()
    _wait(_begin(whole, items, counter.count))
    seconds, counted = time.monotonic() - started, json.loads(counter.path.read_text(encoding="utf-8"))
    for number in range(kills + damages):
        by = MOMENTS[number % len(MOMENTS)] if number < kills else "step"
        if by == "second":
            moment = _kill_after(run, items, seconds, draw)
        else:
            least = 1 if number < kills else counted["step"] // 2 + 1  # with two checkpoints, of which one is damaged
            moment = draw.randint(least, counted[by])
            _wait(_begin(run, items, _killing(by, moment)), killed=True)
        left = len(list(run.glob("checkpoint*.safetensors")))
        harm = "" if number < kills else HARMS[number % len(HARMS)]
        if harm:
            _damage(run / "checkpoint.safetensors", harm, draw)
        _wait(_begin(run, items, _nothing))
        same = all((run / name).read_bytes() == (whole / name).read_bytes() for name in COMPARED)
        yield Trial(by, moment, harm, left, same and not list(run.glob(".*")))
        shutil.rmtree(run)


@dataclass
class Counter:
    """How many steps and renames a run has, in a file, for it is another process that wants to know."""

    path: Path
    counted: dict[str, int] = field(default_factory=lambda: dict.fromkeys(MOMENTS, 0))

    def count(self, event: str) -> None:
        self.counted[event] += 1
        self.path.write_text(json.dumps(self.counted), encoding="utf-8")


def _nothing(event: str) -> None:
    pass


def _train(run: Path, items: int | None, count: Count) -> None:
    digits = load("digits")
    pile = digits.train.subset(torch.arange(len(digits.train) if items is None else items))
    network = build("lenet", 10, (1, 8, 8), seed=SEED)
    augment = Augmentation(degrees=10, translate=0.1)
    batches = TensorBatches(pile.inputs, pile.labels, BATCH, mean=digits.mean, std=digits.std, augment=augment)
    inner, rename = label_objective(MCL()), Path.replace

    def objective(network: nn.Module, batch: Batch) -> tuple[Tensor, Tensor]:
        count("step")
        return inner(network, batch)

    def counted(self: Path, target: Any) -> Path:
        count("rename")
        return rename(self, target)

    Path.replace = counted  # type: ignore[assignment, method-assign]
    try:
        settings = Settings(epochs=EPOCHS, batch_size=BATCH, precision="float32", device="cpu", seed=SEED)
        train(network, batches, objective, settings, n_classes=10, run=run, progress=False)
    finally:
        Path.replace = rename  # type: ignore[method-assign]


def _killing(by: str, moment: int) -> Count:
    left = moment

    def count(event: str) -> None:
        nonlocal left
        left -= event == by
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    return count


def _kill_after(run: Path, items: int | None, seconds: float, draw: random.Random) -> float:
    """Kill a run by the clock; where it had ended by then, an earlier moment is drawn."""
    while True:
        moment = round(draw.uniform(0, seconds), 4)
        process = _begin(run, items, _nothing)
        time.sleep(moment)
        os.kill(process, signal.SIGKILL)
        if os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == -signal.SIGKILL:
            return moment
        shutil.rmtree(run)
        seconds = moment


def _damage(path: Path, harm: str, draw: random.Random) -> None:
    content = bytearray(path.read_bytes())
    place = draw.randrange(len(content))
    if harm == "flipped":
        content[place] ^= 1 << draw.randrange(8)
    path.write_bytes(content if harm == "flipped" else content[:place] if harm == "cut" else b"")


def _begin(run: Path, items: int | None, count: Count) -> int:
    """Train in a process of its own, and give its id."""
    process = os.fork()
    if process == 0:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # that a checkpoint is damaged
                _train(run, items, count)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    return process


def _wait(process: int, killed: bool = False) -> None:
    code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    if code != (-signal.SIGKILL if killed else 0):
        raise RuntimeError(f"A run ended with {code}.")


def judge(found: Sequence[Trial]) -> Iterator[tuple[str, str, str]]:
    """What was promised, what was found, and the verdict."""
    for what, some in (
        ("killed runs end as if they had not been", [trial for trial in found if not trial.harm]),
        ("so do those whose last checkpoint was damaged", [trial for trial in found if trial.harm]),
    ):
        same = sum(trial.same for trial in some)
        yield what, f"{same} of {len(some)}", "pass" if same == len(some) else "miss"


def record(found: Sequence[Trial]) -> dict[str, object]:
    """All that was found, with what it was found on, for a JSON file."""
    return {
        **machine(),
        "threads": 1,
        "run": f"MCL on LeNet, the digits, {EPOCHS} epochs, batches of {BATCH}, float32",
        "compared": COMPARED,
        "trials": [asdict(trial) for trial in found],
        "bars": [{"bar": bar, "measured": measured, "verdict": verdict} for bar, measured, verdict in judge(found)],
    }


def in_words(number: int, trial: Trial) -> str:
    """One line of the table."""
    left = f"{trial.checkpoints} checkpoint{'' if trial.checkpoints == 1 else 's'}"
    harm = f", the last {trial.harm}" if trial.harm else ""
    verdict = "the same bytes" if trial.same else "OTHER BYTES"
    return f"{number:>3}  killed at {trial.by + f' {trial.moment:g}':<16} {left + harm:<32} {verdict}"


def run_trials(told: str) -> None:
    """The process that `measure` starts."""
    torch.set_num_threads(1)
    torch.optim.Adam([torch.zeros(1)])  # torch loads half of itself here: once is enough
    with tempfile.TemporaryDirectory() as folder:
        for trial in trials(Path(folder), **json.loads(told)):
            print(json.dumps(asdict(trial)), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/faults.json"))
    parser.add_argument("--kills", type=int, default=KILLS, help="How many runs to kill, each at its own moment.")
    options = parser.parse_args()
    found = []
    for trial in measure(options.kills):
        found.append(trial)
        print(in_words(len(found), trial), flush=True)
    write_json(options.out, record(found))
    for bar, measured, verdict in judge(found):
        print(f"{verdict:<5} {bar}: {measured}")


if __name__ == "__main__":
    if sys.argv[1:] and sys.argv[1].startswith("{"):
        run_trials(sys.argv[1])
    else:
        main()
