"""The page of a run that discovered classes: how many there are, how far to trust them, and what is in each."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from likewise.cli.discovery_words import COUNTED, number_in_words
from likewise.cli.fitted import Fit, items_sha256
from likewise.cli.items import Given
from likewise.cli.pictures import pictures_of
from likewise.cli.places import writing
from likewise.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from likewise.estimators import NetworkClassifier

LOOKED = """\
Nobody labelled these {items:,} items. {taught}, and says of any two items how likely they are the same. The {classes} \
classes below are what came of asking that of all pairs of the pile."""
LEARNED = "A similarity was learned on {items:,} items of {classes:,} known classes"
REUSED = "A similarity was learned on other items before"
UNNAMED = """\
The classes have numbers and no names; a few labelled items give them names (likewise name). A class may hold two \
kinds of things that the similarity cannot tell apart, or be half of a kind: the least certain items show it best."""
NAMED = "The names of the classes are those of a few labelled items, by which they were called afterwards."

AGAIN = "run `likewise discover` again, into another folder"
METRICS: dict[str, Any] = {
    "number_of_classes": {"estimate": int, "interval": [int], "by": str, "dominant": int},
    "trust": dict.fromkeys(("confident", "closed", "alone", "together"), float),
    "known": (dict, None),
}


def write_discovery_page(
    out: Path, run: Path, fit: Fit, model: NetworkClassifier, given: Given, path: Path
) -> Iterator[str]:
    """Write it, and give what is to be said about it."""
    from likewise.estimators import SimilarityNetwork
    from likewise.evaluation import NumberOfClasses, Trust
    from likewise.reporting import SeenSimilarity, write_discovery_report
    from likewise.storage.records import check_record, read_json

    metrics, similarity = read_json(run / "metrics.json"), SimilarityNetwork.load(run / "similarity")
    check_record(metrics, METRICS, run / "metrics.json", AGAIN)
    number, told = metrics["number_of_classes"], metrics["trust"]
    if len(number["interval"]) != 2 or number["by"] not in ("given", *COUNTED):
        raise InputError(f"{run / 'metrics.json'}, number_of_classes was changed; {AGAIN}.")
    trust = Trust(told["confident"], told["closed"], told["alone"], told["together"])
    outputs, probabilities = _classes(run, fit, model, given)
    names = model.naming_.titles
    with writing(out, "--out"):
        write_discovery_report(
            out,
            title=f"{len(names)} classes in {len(given.items):,} items that nobody labelled",
            summary=_summary(model, metrics["known"], len(given.items)),
            number=NumberOfClasses(number["estimate"], *number["interval"]),
            about_number=number_in_words(number),
            similarity=SeenSimilarity(
                similarity.quality_, similarity.calibration_, similarity.held_out_kind_ != "items", trust
            ),
            histories=_histories(run / "history.csv"),
            classes=names,
            outputs=outputs,
            probabilities=probabilities,
            images=pictures_of(given, path),
            ids=given.items.ids or None,
            facts={"Unused outputs": f"{model.unused_outputs_} of {model.n_outputs_}"} if model.unused_outputs_ else {},
        )
    yield f"Wrote {out}; open it in a browser."
    if trust.doubts:
        yield f"Do not trust the classes: on this pile, {'; '.join(trust.doubts)}."
    else:
        yield number_in_words(number)


def _classes(
    run: Path, fit: Fit, model: NetworkClassifier, given: Given
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """The class of each item (n,) and its probability: as they were found, or by the classifier if items changed."""
    import numpy as np

    columns = model.naming_.columns[model.naming_.columns >= 0]
    probabilities = model.predict_proba(given.X)[:, model.naming_.columns >= 0]  # (n, classes)
    outputs = probabilities.argmax(1)
    if items_sha256(given.items) == fit.items_sha256:
        try:
            with (run / "classes.csv").open(newline="", encoding="utf-8") as file:
                found = np.array([int(row["class"]) for row in csv.DictReader(file)])
        except (ValueError, KeyError, TypeError, csv.Error) as error:
            raise InputError(f"{run / 'classes.csv'} was changed ({error}); {AGAIN}.") from error
        if len(found) != len(outputs) or not np.isin(found, columns).all():
            raise InputError(f"{run / 'classes.csv'} was changed, it does not hold a class for each item; {AGAIN}.")
        order = np.argsort(columns)
        outputs = order[np.searchsorted(columns, found, sorter=order)]
    return outputs, probabilities[np.arange(len(outputs)), outputs]


def _summary(model: NetworkClassifier, known: dict[str, int] | None, n_items: int) -> str:
    taught = REUSED if known is None else LEARNED.format(**known)
    looked = LOOKED.format(items=n_items, taught=taught, classes=int((model.naming_.columns >= 0).sum()))
    return f"{looked}\n\n{NAMED if model.naming_.named else UNNAMED}"


def _histories(path: Path) -> dict[str, list[dict[str, Any]]]:
    """The rows of each stage, by its name."""
    found: dict[str, list[dict[str, Any]]] = {}
    try:
        with path.open(newline="", encoding="utf-8") as file:
            for row in csv.DictReader(file):
                stage = row.pop("stage").capitalize()
                found.setdefault(stage, []).append({name: float(value) for name, value in row.items() if value})
    except (ValueError, KeyError, TypeError, AttributeError, csv.Error) as error:
        raise InputError(f"{path} was changed ({error}); {AGAIN}.") from error
    return found
