"""RESULTS.md: the paper's figures beside ours, an ablation, what answers give, and surfaces, from records alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from statistics import mean, stdev

from likewise.paper.ablation import ablation_section
from likewise.paper.answers_section import answers_section
from likewise.paper.eci_pp_section import eci_pp_section
from likewise.paper.entries import NO_TREATMENT
from likewise.paper.landscape import landscape_section
from likewise.paper.markdown import machines, notes, table
from likewise.paper.noise_section import noise_section
from likewise.paper.recipe import recipes
from likewise.paper.records import Record, read_records
from likewise.paper.spherepair_section import spherepair_section
from likewise.paper.table4 import table4_section
from likewise.paper.transfer import table2_section, table3_section

INTRODUCTION = """\
# Results

The figures of the paper (Hsu et al., Multi-class classification without multi-class labels, ICLR 2019) beside ours.
Each of ours comes from a JSON file in `results/` that the command in its row wrote; `likewise paper show` made this
page from those files. Times are core-minutes of training (processor time, summed over the cores), since these do not
depend on what else the machine is doing.
"""

TABLE1 = """\
## Table 1: supervised learning, error in % on the test set

CE sees class labels; KCL and MCL see only which pairs of a batch are of the same class. Their outputs are matched to
classes on the training set by the Hungarian algorithm, and that matching is applied to the test set. The paper gives
the average of 3 runs. A schedule of "8 of 140 epochs" is the paper's, compressed in proportion.
"""

HEADER = (
    "data set",
    "network",
    "criterion",
    "paper",
    "ours",
    "difference",
    "schedule",
    "seed",
    "core-minutes",
    "command",
)
NUMERIC = {"paper", "ours", "difference", "core-minutes"}


def results_page(results: Path) -> str:
    """The whole page; the same records give the same text."""
    return "\n".join([INTRODUCTION, *(section(results) for section in SECTIONS)])


def table1_section(results: Path) -> str:
    places = {(recipe.dataset, recipe.network): recipe.row for recipe in recipes("table1")}
    records = sorted(read_records(results, "table1", Record), key=lambda record: _place(record, places))
    if not records:
        return f"{TABLE1}\nNo run is recorded yet: `likewise paper table1` makes the records.\n"
    rows = [row for _, group in groupby(records, key=_entry) for row in _entry_rows(list(group))]
    return "\n".join([TABLE1, table(HEADER, rows, NUMERIC), machines(records), *notes(results, "table1")])


SECTIONS: tuple[Callable[[Path], str], ...] = (
    table1_section,
    ablation_section,
    table2_section,
    table3_section,
    table4_section,
    answers_section,
    noise_section,
    spherepair_section,
    eci_pp_section,
    landscape_section,
)


def _entry(record: Record) -> tuple[str, str, str, str, int]:
    """Records that agree in this differ in the seed alone."""
    return record.dataset, record.network, record.criterion, record.treatment, record.epochs


def _place(record: Record, places: Mapping[tuple[str, str], int]) -> tuple[int, str, str, int, int]:
    """The order of the paper's table (ce, kcl, mcl: the alphabet's too); of one entry the longest schedule first."""
    row = places.get((record.dataset, record.network), len(places) + 1)
    treatment = "" if record.treatment == NO_TREATMENT else record.treatment
    return row, record.criterion, treatment, -record.epochs, record.seed


def _entry_rows(records: Sequence[Record]) -> list[tuple[str, ...]]:
    """A row for each seed, and where there are several one with their mean and standard deviation."""
    rows = [_row(record, f"{record.error:.2f}", record.error, str(record.seed)) for record in records]
    if len(records) > 1:
        errors = [record.error for record in records]
        average = mean(errors)
        seeds = ", ".join(str(record.seed) for record in records)
        summary = _row(records[0], f"{average:.2f} ± {stdev(errors):.2f}", average, f"mean of {seeds}")
        rows.append((*summary[:-2], "", ""))
    return rows


def _row(record: Record, ours: str, error: float, seed: str) -> tuple[str, ...]:
    treatment = "" if record.treatment == NO_TREATMENT else f" ({record.treatment})"
    whole = record.epochs == record.paper_epochs
    return (
        record.dataset,
        record.network,
        record.criterion.upper() + treatment,
        f"{record.paper_error:.1f}",
        ours,
        f"{error - record.paper_error:+.2f}",
        f"{record.epochs} epochs" if whole else f"{record.epochs} of {record.paper_epochs} epochs",
        seed,
        f"{record.cpu_seconds / 60:.1f}",
        f"`{record.command}`",
    )
