"""Records to read: one of a whole run, one of a treated and compressed run, one of a trial with random answers."""

from __future__ import annotations

from dataclasses import replace

import pytest

from likewise.paper.answers_record import AnswersRecord
from likewise.paper.records import Record


@pytest.fixture
def example() -> Record:
    return Record(
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
def another(example: Record) -> Record:
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
        epochs=40,
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
    )
