"""`likewise evaluate`: how far a run agrees with labels that it has not seen; the run is not changed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from likewise.cli.few_labels import FewLabels, look_up, read_few_labels
from likewise.cli.items import check_shape, features_or_images, list_broken, open_for
from likewise.cli.options import EncoderMoved, ItemsMoved, RunFolder
from likewise.cli.run import MOST_CLASSES
from likewise.cli.run_files import columns_of, items_of, read_held_out, require_fit
from likewise.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Predicted:
    """The class of each item, and whether the classes have names, which may be those of the labels."""

    ids: Sequence[str]  # none where items have row numbers alone
    classes: list[str]
    named: bool


def evaluate(
    run: RunFolder,
    labels: Annotated[Path, typer.Option(help="Labels of the items to judge by, .csv or .parquet: id, label.")],
    items: ItemsMoved = None,
    encoder: EncoderMoved = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
) -> None:
    """Judge a run by labels: ACC, NMI, ARI and the confusion matrix.

    Each output is matched with at most one label, so that most items are right (ACC). Give --items where the labels are
    of other items than those that the run was fitted to.
    """
    truth = read_few_labels(labels)
    fit = require_fit(run)
    if fit.command == "discover" and items is None:
        saved = read_few_labels(run / "classes.csv")
        predicted = Predicted(saved.ids, saved.labels, named=False)
    else:
        predicted = _predict(run, items_of(run, items), encoder)
    learned = _learned(run, predicted) if fit.command == "semi" and items is None else set()
    known = _known_classes(run) if fit.command == "discover" else None
    record = {"run": str(run), "labels": str(labels), **_judge(predicted, truth, learned, known)}
    for line in [json.dumps(record, indent=2)] if as_json else _in_words(record):
        typer.echo(line)


def _predict(run: Path, path: Path, encoder: str | None) -> Predicted:
    """What the run's classifier predicts for items."""
    from likewise.estimators import load_classifier

    model = load_classifier(run)
    stream = open_for(model, path, columns=columns_of(run, model), encoder=encoder)
    ids: list[str] = []
    classes: list[str] = []
    for part in stream:
        ids.extend(part.ids)
        classes.extend(map(str, model.predict(features_or_images(check_shape(part, model, path))).tolist()))
    list_broken(stream.broken)
    return Predicted(ids, classes, model.naming_.named)


def _learned(run: Path, predicted: Predicted) -> set[int]:
    """The places of the items whose labels a run of `semi` learned from."""
    path = run / "labels.parquet"
    places = look_up(read_few_labels(path), predicted.ids, len(predicted.classes))
    return {place for place, held_out in zip(places, read_held_out(path), strict=True) if not held_out}


def _known_classes(run: Path) -> list[str] | None:
    """The classes that were known in a pile that mixes these with new ones; None for other runs."""
    from likewise.storage.records import read_json

    record = read_json(run / "metrics.json")
    known = record.get("known_classes") if isinstance(record, dict) else None
    return [str(name) for name in known] if isinstance(known, list) else None


def _judge(predicted: Predicted, truth: FewLabels, learned: set[int], known: list[str] | None = None) -> dict[str, Any]:
    """The figures, over the items that have a label and a prediction."""
    import numpy as np

    from likewise.evaluation import accuracy, ari, confusion, known_and_new, match_outputs, nmi, wilson

    n_items = len(predicted.classes)
    places = look_up(truth, predicted.ids, n_items)
    missing = [name for name, place in zip(truth.ids, places, strict=True) if place < 0]
    if len(missing) == len(places):
        raise InputError(
            f"{truth.rows.path} has none of the {n_items:,} items, its first id is {missing[0]!r}; "
            "correct the ids, or give --items."
        )
    rows = [row for row, place in enumerate(places) if place >= 0]
    assigned = np.array([predicted.classes[places[row]] for row in rows])
    labels = np.array([truth.labels[row] for row in rows])
    outputs, output = np.unique(assigned, return_inverse=True)
    classes, label = np.unique(labels, return_inverse=True)
    counts = confusion(output, label, len(outputs), len(classes))
    matching = match_outputs(counts)
    right = accuracy(counts, matching)
    order = _in_order_of_classes(matching)
    return {
        "items": len(rows),
        "accuracy": right,
        "interval": wilson(round(right * len(rows)), len(rows)),
        "nmi": nmi(counts),
        "ari": ari(counts),
        "accuracy_by_name": float((assigned == labels).mean()) if predicted.named else None,
        "known_and_new": None if known is None else known_and_new(assigned, labels, np.isin(labels, known))._asdict(),
        "outputs": outputs[order].tolist(),
        "classes": classes.tolist(),
        "matching": [None if matching[place] < 0 else str(classes[matching[place]]) for place in order],
        "confusion": counts[order].tolist(),
        "without_prediction": {"number": len(missing), "first": missing[0] if missing else None},
        "without_label": n_items - len(rows),
        "learned_from": sum(places[row] in learned for row in rows),
    }


def _in_order_of_classes(matching: NDArray[np.int64]) -> NDArray[np.int64]:
    """The outputs in the order of the classes they stand for, so that the diagonal is right; the unmatched last."""
    import numpy as np

    return np.argsort(np.where(matching < 0, len(matching) + matching.max(initial=0), matching), kind="stable")


def _in_words(record: dict[str, Any]) -> Iterator[str]:
    low, high = (100 * end for end in record["interval"])
    yield f"{record['run']}, judged by {record['labels']}: {_count(record['items'], 'item')}"
    yield f"  ACC {100 * record['accuracy']:.2f} % (95 % interval {low:.1f} to {high:.1f})"
    if parts := record["known_and_new"]:
        shares = ", ".join(f"{name} {100 * parts[name]:.2f} %" for name in parts if parts[name] == parts[name])
        yield f"  known classes are old, the others new: {shares}"
    yield f"  NMI {record['nmi']:.4f}"
    yield f"  ARI {record['ari']:.4f}"
    if record["accuracy_by_name"] is not None:
        yield f"  {100 * record['accuracy_by_name']:.2f} % are in the class of their own name"
    yield ""
    yield from _table(record)
    missing = record["without_prediction"]
    if missing["number"]:
        have = "has" if missing["number"] == 1 else "have"
        yield f"\n{_count(missing['number'], 'labelled id')} {have} no prediction, the first is {missing['first']!r}."
    if record["without_label"]:
        have = "has" if record["without_label"] == 1 else "have"
        yield f"\n{_count(record['without_label'], 'item')} {have} no label, and did not count."
    if record["learned_from"]:
        yield f"\n{_count(record['learned_from'], 'item')} had a label that the run learned from, which flatters it."


def _table(record: dict[str, Any]) -> Iterator[str]:
    """A row for each output: the class that it stands for, and its items by their labels."""
    outputs, classes = record["outputs"], record["classes"]
    if max(len(outputs), len(classes)) > MOST_CLASSES:
        yield f"{len(outputs)} outputs and {len(classes)} labels are too many to print; --json has their counts."
        return
    rows = [["output", "stands for", *classes]]
    for output, name, counts in zip(outputs, record["matching"], record["confusion"], strict=True):
        rows.append([output, name or "-", *(f"{number:,}" for number in counts)])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        names = [cell.ljust(width) for cell, width in zip(row[:2], widths[:2], strict=True)]
        numbers = [cell.rjust(width) for cell, width in zip(row[2:], widths[2:], strict=True)]
        yield "  " + "  ".join(names + numbers)


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
