"""The section of RESULTS.md on the start of MCL: cross-entropy, MCL as it is, and each option alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path
from statistics import mean

from likewise.paper.ablation import EPOCHS, OPTION_NAMES, OPTIONS, PLAIN, PRECISION, TABLE
from likewise.paper.entries import NO_TREATMENT
from likewise.paper.markdown import machines, notes, table
from likewise.paper.records import Record, read_records

ABLATION = """\
## An MCL that starts: each option alone, error in % on the test set

Rows of Table 1 with a compressed schedule, all in bfloat16. CE sees class labels, and every other row only which pairs
are of the same class. "Above CE" is the difference to CE with the same seed. Joint MCL takes the answers of a batch
together, where MCL takes them pair by pair (see `src/likewise/criteria/joint.py`). CE and MCL without an option are
taken from Table 1 where its run was in bfloat16 too.
"""

HEADER = ("data set", "network", "what is learned", "error", "above CE", "schedule", "seed", "core-minutes", "command")
NUMERIC = {"error", "above CE", "core-minutes"}
WORDS = {"ce": "CE, with labels", "mcl": "MCL"} | {name: f"MCL, {option.words}" for name, option in OPTIONS.items()}
ROWS = list(EPOCHS)
NAMES = [*PLAIN, *OPTION_NAMES]


def ablation_section(results: Path) -> str:
    """The same records give the same text."""
    records = sorted(_records(results), key=_place)
    if not records:
        return f"{ABLATION}\nNo run is recorded yet: `likewise paper ablation` makes the records.\n"
    with_labels = {_twin(record): record.error for record in records if record.criterion == "ce"}
    rows = [row for _, group in groupby(records, key=_entry) for row in _entry_rows(list(group), with_labels)]
    return "\n".join([ABLATION, table(HEADER, rows, NUMERIC), machines(records), *notes(results, TABLE)])


def _records(results: Path) -> list[Record]:
    """The ablation's own, and those of Table 1 that were made in the same way and are not among them."""
    own = read_records(results, TABLE, Record)
    names = {record.name for record in own}
    return own + [
        record
        for record in read_records(results, "table1", Record)
        if EPOCHS.get((record.dataset, record.network)) == record.epochs
        and record.criterion in PLAIN
        and record.treatment == NO_TREATMENT
        and record.settings.get("precision") == PRECISION
        and record.name not in names
    ]


def _option(record: Record) -> str:
    return record.criterion if record.treatment == NO_TREATMENT else record.treatment


def _entry(record: Record) -> tuple[str, str, str, int]:
    """Records that agree in this differ in the seed alone."""
    return record.dataset, record.network, _option(record), record.epochs


def _twin(record: Record) -> tuple[str, str, int, int]:
    """Records that agree in this can be compared."""
    return record.dataset, record.network, record.epochs, record.seed


def _place(record: Record) -> tuple[int, int, int, int]:
    return ROWS.index((record.dataset, record.network)), record.epochs, NAMES.index(_option(record)), record.seed


def _entry_rows(
    records: Sequence[Record], with_labels: Mapping[tuple[str, str, int, int], float]
) -> list[tuple[str, ...]]:
    """A row for each seed, and where there are several one with their means."""
    above = [
        record.error - with_labels[_twin(record)] if _twin(record) in with_labels and record.criterion != "ce" else None
        for record in records
    ]
    rows = [
        _row(record, record.error, gap, str(record.seed), f"{record.cpu_seconds / 60:.1f}", f"`{record.command}`")
        for record, gap in zip(records, above, strict=True)
    ]
    if len(records) > 1:
        gaps = [gap for gap in above if gap is not None]
        gap = mean(gaps) if len(gaps) == len(records) else None
        seeds = ", ".join(str(record.seed) for record in records)
        rows.append(_row(records[0], mean(record.error for record in records), gap, f"mean of {seeds}", "", ""))
    return rows


def _row(record: Record, error: float, above: float | None, seed: str, minutes: str, command: str) -> tuple[str, ...]:
    gap = "" if above is None else f"{above:+.2f}"
    schedule = f"{record.epochs} of {record.paper_epochs} epochs"
    words = WORDS[_option(record)]
    return (record.dataset, record.network, words, f"{error:.2f}", gap, schedule, seed, minutes, command)
