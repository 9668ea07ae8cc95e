"""Records to read: of a whole run, of a treated and compressed one, of random answers; and a few made-up alphabets."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from likewise.paper.answers_trials import AnswersRecord
from likewise.paper.table1 import Table1Record
from likewise.paper.transfer_entries import VALIDATION


@pytest.fixture
def example() -> Table1Record:
    return Table1Record(
        table="table1",
        dataset="mnist",
        network="lenet",
        criterion="mcl",
        treatment="none",
        seed=0,
        epochs=30,
        paper_epochs=30,
        drops=[10, 20],
        settings={"precision": "float32"},
        paper_error=0.6,
        error=0.64,
        train_error=0.01,
        scores={"nmi": 0.98},
        seconds=400.0,
        cpu_seconds=750.0,
        command="likewise paper table1 --dataset mnist --network lenet --criterion mcl --seed 0",
        likewise="0.1.0",
        torch="2.13.0",
        cpu="A Processor",
        threads=2,
    )


@pytest.fixture
def another(example: Table1Record) -> Table1Record:
    return replace(
        example,
        dataset="cifar10",
        network="vgg16",
        criterion="kcl",
        treatment="pretrain",
        epochs=8,
        paper_epochs=140,
        drops=[5, 7],
        paper_error=10.3,
        error=9.88,
        command="likewise paper table1 --epochs 8",
    )


@pytest.fixture
def trial_record() -> AnswersRecord:
    return AnswersRecord(
        table="answers",
        dataset="digits",
        network="lenet",
        answers=1000,
        noise=0.0,
        model="none",
        seed=0,
        epochs=None,
        settings={"precision": "float32"},
        first_accuracy=95.0,
        accuracy=97.5,
        unlabelled_kept=True,
        starts=1,
        flipped=0,
        rate=0.0,
        held_out=100,
        held_out_accuracy=99.0,
        twin_accuracy=98.25,
        twin_labels=1000,
        seconds=100.0,
        cpu_seconds=90.0,
        twin_cpu_seconds=30.0,
        command="likewise paper answers --dataset digits --answers 1000 --seed 0",
        likewise="0.1.0",
        torch="2.13.0",
        cpu="A Processor",
        threads=2,
        steps=1280,
        test_matched_accuracy=97.75,
    )


@pytest.fixture(scope="session")
def few_alphabets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with Omniglot's layout: 7 alphabets in the background, two of them of some size, and 2 others."""
    data, random = tmp_path_factory.mktemp("data"), np.random.default_rng(0)

    def write(part: str, alphabet: str, characters: int, drawings: int) -> None:
        for character in range(characters):
            folder = data / "omniglot" / f"images_{part}" / alphabet / f"character{character + 1:02}"
            folder.mkdir(parents=True)
            strokes = np.kron(random.integers(2, size=(5, 5)), np.ones((21, 21)))  # (105, 105)
            for drawing in range(drawings):
                moved = np.roll(strokes, random.integers(-4, 5, size=2), (0, 1))
                Image.fromarray((255 * (1 - moved)).astype(np.uint8)).convert("1").save(folder / f"{drawing:02}.png")

    for alphabet in ("Greek", "Korean"):
        write("background", alphabet, 6, 8)
    for alphabet in VALIDATION:
        write("background", alphabet, 2, 4)
    write("evaluation", "Angelic", 3, 8)
    write("evaluation", "Tengwar", 4, 8)
    return data
