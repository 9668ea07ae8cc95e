"""Learning from items that are larger than the memory a process is given."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from likewise.pairs import Pairs

ROWS, COLUMNS = 200_000, 128
ITEMS = 4 * ROWS * COLUMNS  # bytes that the items take: 102 MB

GROWTH = """
import atexit, resource, sys

import likewise.estimators, likewise.pairs.large, torch._dynamo
from likewise.cli import main

def peak():
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

before = peak()
atexit.register(lambda: print("grown by", peak() - before))
sys.argv = ["likewise", *sys.argv[1:]]
main()
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("large")
    random = np.random.default_rng(0)
    labels = random.integers(3, size=ROWS)
    schema = pa.schema([(f"c{column}", pa.float32()) for column in range(COLUMNS)])
    with pyarrow.parquet.ParquetWriter(
        made / "items.parquet", schema, compression="none", use_dictionary=False
    ) as file:
        for rows in np.split(labels, 20):
            values = random.normal(size=(len(rows), COLUMNS)).astype(np.float32) + 3 * np.eye(3, COLUMNS)[rows]
            file.write_batch(pa.record_batch(list(values.astype(np.float32).T), schema=schema))
    Pairs.from_labels(labels, n=3000).write(made / "answers.csv")
    return made


def growth(folder: Path, out: Path, *further: str) -> int:
    """Type `likewise fit ...` in a process of its own; gives the bytes that its memory grew by, at most."""
    told = ("fit", folder / "items.parquet", "--pairs", folder / "answers.csv", "--classes", 3, "--out", out)
    command = [sys.executable, "-c", GROWTH, *told, "--epochs", 1, "--batch-size", 4000, "--no-unlabelled", *further]
    ended = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    assert "Found 3 classes" in ended.stdout, ended.stderr
    return int(ended.stdout.rpartition("grown by ")[2])


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere ru_maxrss has another unit")
def test_a_table_on_disk_is_learned_from_in_less_memory_than_it_would_take(folder: Path, tmp_path: Path) -> None:
    assert growth(folder, tmp_path / "memory") > ITEMS
    assert growth(folder, tmp_path / "disk", "--on-disk") < 0.7 * ITEMS
    for name in ("model.safetensors", "history.csv", "answers.parquet"):
        assert (tmp_path / "disk" / name).read_bytes() == (tmp_path / "memory" / name).read_bytes()
