"""Learning from items that are larger than the memory a process is given."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from likewise.pairs import Pairs

ROWS, COLUMNS = 400_000, 320
ITEMS = 4 * ROWS * COLUMNS  # bytes that the items take: 512 MB; learning from disk takes 100 MB, at times 250

LIMITED = """
import re, resource, sys
from pathlib import Path

import numpy as np
import likewise.pairs.large
from likewise.cli import main
from likewise.estimators import PairClassifier

few = np.random.default_rng(0).normal(size=(1000, COLUMNS)).astype(np.float32)
PairClassifier(3, epochs=1, batch_size=500, unlabelled=False).fit(few, np.arange(1000) % 3)  # torch has what it needs
used = 1024 * int(re.search(r"VmData:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])
resource.setrlimit(resource.RLIMIT_DATA, (used + int(sys.argv[1]), resource.RLIM_INFINITY))
sys.argv = ["likewise", *sys.argv[2:]]
main()
""".replace("COLUMNS", str(COLUMNS))
PLAIN = {  # nothing is set aside for later
    "ARROW_DEFAULT_MEMORY_POOL": "system",
    "MALLOC_ARENA_MAX": "2",
    "MALLOC_MMAP_THRESHOLD_": "131072",
    "OPENBLAS_NUM_THREADS": "1",
}
STACK = 2 * 2**20  # bytes of each thread, which count


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


def fit(folder: Path, out: Path, limit: int, *further: str) -> subprocess.CompletedProcess[str]:
    """Type `likewise fit ...` in a process of its own, which is given so many bytes beside those it begins with."""
    told = ("fit", folder / "items.parquet", "--pairs", folder / "answers.csv", "--classes", 3, "--out", out)
    settings = ("--epochs", 1, "--batch-size", 500, "--no-unlabelled", *further)
    return subprocess.run(
        [sys.executable, "-c", LIMITED, str(limit), *map(str, (*told, *settings))],
        env=os.environ | PLAIN,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_STACK, (STACK, resource.RLIM_INFINITY)),
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.skipif(sys.platform != "linux", reason="the limit is Linux's")
def test_a_table_that_fills_the_memory_is_learned_from_on_disk_alone(folder: Path, tmp_path: Path) -> None:
    learned = fit(folder, tmp_path / "disk", ITEMS, "--on-disk")
    assert "Found 3 classes" in learned.stdout, learned.stderr
    for limit, *further in ((ITEMS,), (ITEMS // 16, "--on-disk")):
        refused = fit(folder, tmp_path / "refused", limit, *further)
        assert refused.returncode != 0
        assert refused.stderr.startswith("likewise: there is not enough memory"), refused.stderr
