"""The section of RESULTS.md on known and new classes in frozen features."""

from __future__ import annotations

from pathlib import Path

from likewise.paper.discovery import PROTOCOLS, TABLE, DiscoveryRecord
from likewise.paper.markdown import machines, notes, table
from likewise.paper.records import read_records

DISCOVERY = """\
## Known and new classes: accuracy in % on a pile, from frozen features

`CategoryDiscoverer` with its defaults on features of EfficientNet-lite0 (160 px, unit length). ImageNet's labels, which
it was trained with, cover many of these classes, so that they are not strictly new to it. `new`: the pile has new
classes alone. `mixed`: half of the items of the known classes are labelled, the pile has the rest and all new classes.
Outputs are matched with classes once over the whole pile; old and new are the items of known and of new classes. Rivals
see the same features, and are given the number of classes; logistic regression knows no new class.
"""

HEADER = (
    "protocol",
    "number of classes",
    "all",
    "old",
    "new",
    "found",
    "rivals: all / old / new",
    "core-minutes",
    "command",
)
NUMERIC = {"all", "old", "new", "core-minutes"}


def discovery_section(results: Path) -> str:
    """The same records give the same text."""
    order = list(PROTOCOLS)
    records = sorted(
        read_records(results, TABLE, DiscoveryRecord),
        key=lambda r: (order.index(r.protocol), r.classes != "true", r.seed),
    )
    if not records:
        return f"{DISCOVERY}\nNothing is recorded yet: `likewise paper discovery` makes the records.\n"
    unseen = [
        f"Unseen classes, {r.protocol}, seed {r.seed}: later items of classes in neither labels nor pile are told from "
        f"those of known and found classes with an AUROC of {r.unseen_auroc:.3f}.\n"
        for r in records
        if r.unseen_auroc is not None
    ]
    rows = [_row(record) for record in records]
    return "\n".join([DISCOVERY, table(HEADER, rows, NUMERIC), *unseen, machines(records), *notes(results, TABLE)])


def _row(record: DiscoveryRecord) -> tuple[str, ...]:
    low, high = record.interval
    counted = f"{record.estimate} ({low} to {high}) of {record.n_classes}" if record.classes != "true" else ""
    rivals = "; ".join(
        f"{name} {' / '.join(f'{scores[kind]:.1f}' for kind in ('all', 'old', 'new') if kind in scores)}"
        for name, scores in record.rivals.items()
    )
    return (
        record.protocol,
        "given" if record.classes == "true" else "estimated",
        f"{record.accuracy:.1f}",
        *("" if value is None else f"{value:.1f}" for value in (record.old, record.new)),
        counted,
        rivals,
        f"{record.cpu_seconds / 60:.1f}",
        f"`{record.command}`",
    )
