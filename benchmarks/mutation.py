"""How many mutants of the method's rooms the tests kill: `make mutants`, or with an environment that has mutmut,

    OMP_NUM_THREADS=1 python benchmarks/mutation.py criteria evaluation pairs --sample 200 --seed 1

Each room is copied to build/mutation/ROOM, where mutmut changes its functions one at a time ("a + b" to "a - b", "<" to
"<=", an argument to None) and runs those tests of tests/ROOM that come through the function, in a forked process. Of
each room's mutants a sample is drawn with the seed, or all are taken with --sample 0. What is measured is written to
mutation.json beside this file, a room at a time; equivalent_mutants.json says of survivors why no test can kill them,
and is read again with --reasons. One process on one core; a mutant takes about two seconds. Decorated functions
are left alone by mutmut.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import shutil
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

from likewise.evaluation import wilson

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
RECORD = HERE / "mutation.json"
EQUIVALENT = HERE / "equivalent_mutants.json"
KILLED = {1, 3}  # exit codes of pytest: a test failed, or could not be run at all
HANGING = {36, -24, 24, 152, 255}  # stopped after four times as long as the tests take without a mutant, and 10 seconds


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("rooms", nargs="*", default=["criteria", "evaluation", "pairs"])
    asked.add_argument("--sample", type=int, default=200, help="Mutants of each room; 0: all of them.")
    asked.add_argument("--seed", type=int, default=1)
    asked.add_argument("--reasons", action="store_true", help="Measure nothing; read equivalent_mutants.json again.")
    options = asked.parse_args()
    record = json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.exists() else {"rooms": {}}
    for room in options.rooms:
        if not options.reasons:
            record["rooms"][room] = measure(room, options.sample, options.seed)
        record = with_shares(record["rooms"])
        RECORD.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        print(f"{room}: {record['rooms'][room]['killed']} of {record['rooms'][room]['tested']} killed")


def measure(room: str, sample: int, seed: int) -> dict[str, Any]:
    work = copy(room)
    run(work, "run", "--max-children", "1", "no such mutant", check=False)  # makes them, and maps the tests to them
    names = sorted(results(work, room))
    if not names:
        raise SystemExit(f"mutmut made no mutants of {room}; see {work / 'log.txt'}.")
    chosen = sorted(random.Random(seed).sample(names, sample)) if 0 < sample < len(names) else names
    run(work, "run", "--max-children", "1", *chosen)
    codes = {name: code for name, code in results(work, room).items() if name in set(chosen)}
    if None in codes.values():
        raise SystemExit(f"{list(codes.values()).count(None)} mutants of {room} were not run; see {work / 'log.txt'}.")
    survivors = sorted(name for name, code in codes.items() if code not in KILLED | HANGING)
    return {
        "command": f"OMP_NUM_THREADS=1 python benchmarks/mutation.py {room} --sample {sample} --seed {seed}",
        "seed": seed,
        "python": platform.python_version(),
        **{name: version(name) for name in ("mutmut", "torch", "numpy")},
        "mutants": len(names),
        "tested": len(codes),
        "killed": len(codes) - len(survivors),
        "of these, stopped because they hang": sum(code in HANGING for code in codes.values()),
        "survivors": [
            {"function": name.rpartition("__mutmut_")[0], "change": difference(work, name)} for name in survivors
        ],
    }


def with_shares(rooms: dict[str, Any]) -> dict[str, Any]:
    """The record of all rooms, with the share killed, in all and without those that are equivalent.

    All rooms together have the mean of their shares, each counting as many mutants as the room has.
    """
    reasons = {each["change"]: each["why"] for each in json.loads(EQUIVALENT.read_text(encoding="utf-8"))}
    for room in rooms.values():
        for survivor in room["survivors"]:
            survivor.pop("equivalent", None)
            if survivor["change"] in reasons:
                survivor["equivalent"] = reasons[survivor["change"]]
        equivalent = sum("equivalent" in survivor for survivor in room["survivors"])
        room["share"] = round(room["killed"] / room["tested"], 4)
        room["interval"] = [round(end, 4) for end in wilson(room["killed"], room["tested"])]
        room["equivalent"] = equivalent
        room["share without the equivalent"] = round(room["killed"] / (room["tested"] - equivalent), 4)
    mutants = sum(room["mutants"] for room in rooms.values())
    together = {
        name: round(sum(room["mutants"] * room[name] for room in rooms.values()) / mutants, 4)
        for name in ("share", "share without the equivalent")
    }
    return {"mutants": mutants, "tested": sum(room["tested"] for room in rooms.values()), **together, "rooms": rooms}


def copy(room: str) -> Path:
    work = ROOT / "build" / "mutation" / room
    shutil.rmtree(work, ignore_errors=True)
    (work / "mutants" / "src").mkdir(parents=True)  # so that Python has it on its path from the start
    shutil.copytree(ROOT / "src", work / "src", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    shutil.copytree(ROOT / "tests" / room, work / "tests" / room, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "tests" / "conftest.py", work / "tests")
    shutil.copy(ROOT / "pyproject.toml", work)
    settings = {
        "source_paths": "src",
        "only_mutate": f"src/likewise/{room}/*",
        "pytest_add_cli_args_test_selection": f"tests/{room}",
        "pytest_add_cli_args": "-p\n    no:cacheprovider",
        "timeout_multiplier": "4.0",
        "timeout_constant": "10.0",
    }
    lines = [f"{name} = {value}\n" for name, value in settings.items()]
    (work / "setup.cfg").write_text("[mutmut]\n" + "".join(lines), encoding="utf-8")
    return work


def run(work: Path, *arguments: str, check: bool = True) -> str:
    """mutmut, in the room's copy; the tests of a mutant start processes of their own, which must see it too."""
    environment = {**os.environ, "PYTHONPATH": str(work / "mutants" / "src"), "OMP_NUM_THREADS": "1"}
    command = [str(Path(sys.executable).parent / "mutmut"), *arguments]
    done = subprocess.run(command, cwd=work, env=environment, capture_output=True, text=True, check=False)
    with (work / "log.txt").open("a", encoding="utf-8") as log:
        log.write(done.stdout + done.stderr)
    if check and done.returncode:
        raise SystemExit(f"mutmut ended with exit code {done.returncode}; see {work / 'log.txt'}.")
    return done.stdout


def results(work: Path, room: str) -> dict[str, int | None]:
    """The exit code of the tests for each mutant; None where they were not run."""
    codes: dict[str, int | None] = {}
    for file in (work / "mutants" / "src" / "likewise" / room).rglob("*.meta"):
        codes |= json.loads(file.read_text(encoding="utf-8"))["exit_code_by_key"]
    return codes


def difference(work: Path, name: str) -> str:
    """The lines that a mutant changes, before and after."""
    lines = run(work, "show", name).splitlines()
    changed = [line for line in lines if line[:1] in "-+" and line[:3] not in ("---", "+++")]
    return " -> ".join(" ".join(line[1:].strip() for line in changed if line[0] == sign) for sign in "-+")


if __name__ == "__main__":
    main()
