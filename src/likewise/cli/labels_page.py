"""The page of a run that learned from a few labels."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from likewise.cli.few_labels import find_labels, read_few_labels
from likewise.cli.fitted import read_held_out
from likewise.cli.items import Given
from likewise.cli.pictures import pictures_of, titles_of
from likewise.cli.places import writing

if TYPE_CHECKING:
    from likewise.estimators import SemiSupervisedClassifier

LEARNED = """\
A network with {classes} outputs was given {items:,} items and the labels of {labels:,} of them. It learned from these \
labels first, and then {how}."""
HOW = {
    "supervised": "from nothing else",
    "pseudo-label": "from all items, taking for the truth what it holds most likely (Pseudo-Label)",
    "pi-model": "from all items, so as to answer two views of one alike (the Pi-model)",
    "vat": "from all items, so as to answer alike after the change that upsets it most (VAT)",
    "spn-mcl": "from all pairs of items, by what a similarity network made of the labels says of them (SPN-MCL)",
    "pseudo-mcl": "from all pairs of items, by what it says of them itself (Pseudo-MCL)",
    "pseudo-mcl+": "from the pairs of items that it is sure of (Pseudo-MCL+)",
}
MEASURED = (
    "{held_out:,} further labels were held out: the network did not learn from them, and its figures are for them."
)
UNMEASURED = "No labels were held out, so nothing here says how right it is about items that it was not told of."


def write_labels_page(out: Path, run: Path, model: SemiSupervisedClassifier, given: Given, path: Path) -> Iterator[str]:
    """Write it, and give what is to be said about it."""
    from likewise.reporting import JudgedLabels, write_labels_report

    told = find_labels(read_few_labels(run / "labels.parquet"), given)
    held_out = read_held_out(run / "labels.parquet")
    found = model.naming_.columns >= 0
    probabilities = model.predict_proba(given.X)[:, found]  # (n, classes)
    names = [str(name) for name in model.classes_[found].tolist()]
    outputs = probabilities.argmax(1)
    judged = JudgedLabels(told.positions, told.labels.tolist(), held_out)
    learned = LEARNED.format(
        classes=model.n_outputs_, items=len(given.items), labels=model.n_labelled_, how=HOW[model.method_]
    )
    measured = MEASURED.format(held_out=int(held_out.sum())) if held_out.any() else UNMEASURED
    with writing(out, "--out"):
        write_labels_report(
            out,
            title=f"{len(names)} classes, learned from {model.n_labelled_:,} labels",
            summary=f"{learned}\n\n{measured}",
            history=model.history_,
            classes=names,
            outputs=outputs,
            probabilities=probabilities.max(1),
            labels=judged,
            images=pictures_of(given, path),
            ids=titles_of(given),
        )
    yield f"Wrote {out}; open it in a browser."
    denied = sum(names[output] != label for output, label in zip(outputs[told.positions], told.labels, strict=True))
    yield f"The classifier says otherwise than {denied:,} of {len(told):,} labels."
