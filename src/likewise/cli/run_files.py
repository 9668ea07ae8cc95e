"""A run's folder as `fit`, `semi` and `discover` leave it and the other commands find it.

fit.json           what was fitted to what; the first file of all
items/             where the items do not fit into memory: their rows, as `keep_on_disk` leaves them; may be deleted
answers/           of `fit`, where the answers do not fit into memory: their closure, as `write_large` leaves it
stages/            the checkpoints of the training, from which the same command resumes
answers.parquet    of `fit`: left, right, same, weight, annotator (where they are named), line (where the answer stands
                   in its file), held_out, p_wrong (where it was judged); a sample where they are many
labels.parquet     of `semi`: id (the row number of an item without one), label, held_out
similarity/        of `discover`: the similarity network, as `SimilarityNetwork.load` reads it; fit for other piles too
classes.csv        of `discover`: id, class, probability of each item
history.csv        one row per epoch
model.safetensors, classifier.json    the classifier, as `load_classifier` reads it
metrics.json       the figures; the last file of all
"""

from __future__ import annotations

import dataclasses
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from likewise import __version__
from likewise.cli.options import text_columns
from likewise.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from likewise.cli.few_labels import LabelledItems
    from likewise.datasets import Items
    from likewise.estimators import NetworkClassifier
    from likewise.pairs import LargeAnswers, Pairs

FORMAT = 1
FILES = ("fit.json", "history.csv", "model.safetensors", "classifier.json", "metrics.json")
KEPT = ("items", "answers")  # folders of what does not fit into memory; they come before fit.json
LEARNED_FROM = {"fit": "answers", "semi": "labels", "discover": "known items or similarity"}  # by each command
FURTHER = {
    "fit": ("answers.parquet",),
    "semi": ("labels.parquet",),
    "discover": ("similarity/similarity.safetensors", "similarity/similarity.json", "discoverer.json", "classes.csv"),
}


LATER = {
    "precision": "auto",
    "unit_length": False,
    "encoder": "auto",
    "text": None,
    "fine_tune": False,
    "views": 0,
}  # arguments that earlier versions did not have, and what stands for them there

RECORD: dict[str, Any] = {
    "command": str,
    "items": str,
    "n_items": int,
    "columns": [str],
    "source": str,
    "unit": str,
    "arguments": dict,
    "items_sha256": str,
    "source_sha256": str,
    "stamp": str,
}


@dataclass(frozen=True)
class Fit:
    """The record of a fit: its items, what it learned from, and its arguments, as in fit.json."""

    command: str  # "fit", "semi" or "discover"
    items: str  # absolute path
    n_items: int
    columns: tuple[str, ...]  # of a table
    source: str  # absolute path of the answers, of the labels, or of what "same" was learned from
    unit: str  # what their lines count: "line" or "row"
    arguments: dict[str, Any]
    items_sha256: str
    source_sha256: str
    stamp: str  # of the files, so that a finished run is known without reading them

    @property
    def word(self) -> str:
        """The word for what it learned from, such as "answers"."""
        return LEARNED_FROM[self.command]

    def write(self, run: Path) -> None:
        from likewise.storage.records import write_json

        write_json(run / "fit.json", {"format": FORMAT, "likewise": __version__, **dataclasses.asdict(self)})


def read_fit(run: Path) -> Fit | None:
    """What fit.json says; None where there is none."""
    from likewise.storage.records import check_record, read_json

    path = run / "fit.json"
    if not path.exists():
        return None
    record = read_json(path)
    if not isinstance(record, dict) or record.get("format") != FORMAT or record.get("command") not in [*LEARNED_FROM]:
        raise InputError(f"{path} was not written by `fit` of Likewise {__version__}; fit again, into another folder.")
    for name in ("source", "source_sha256"):  # which were "told" and "told_sha256" in version 0.1
        if (old := name.replace("source", "told")) in record:
            record[name] = record.pop(old)
    check_record(record, RECORD, path, "fit again, into another folder")
    return Fit(**{name: record[name] for name in RECORD} | {"columns": tuple(record["columns"])})


def require_fit(run: Path) -> Fit:
    """What fit.json says of a run that is finished."""
    fit = read_fit(run)
    if fit is None:
        raise InputError(f"{run} was not written by `likewise fit`: fit.json is missing; give the folder of a fit.")
    missing = [name for name in files_of(fit.command) if not (run / name).exists()]
    if missing:
        again = f"run its `likewise {fit.command}` again to resume"
        raise InputError(f"{run} is not finished, {missing[0]} is missing; {again}.")
    return fit


def items_of(run: Path, place: Path | None) -> Path:
    """The place of the items of a run: the one given now, or that of the fit."""
    if place is not None:
        return place
    fit = read_fit(run)
    if fit is None:
        raise InputError(f"{run} does not say where its items are, because fit.json is missing; give --items.")
    if not Path(fit.items).exists():
        raise InputError(f"{fit.items}, which {run} was fitted to, is no longer there; give --items its new place.")
    return Path(fit.items)


def columns_of(run: Path, model: NetworkClassifier) -> tuple[str, ...]:
    """The columns of a table that the model takes, of features or text; none where it was not fitted to a table."""
    fit = read_fit(run)
    if fit is None:
        return tuple(getattr(model, "feature_names_in_", ()))
    return text_columns(fit.arguments.get("text")) or fit.columns


def files_of(command: str) -> tuple[str, ...]:
    """All files of a run that is finished."""
    return (*FILES, *FURTHER[command])


def is_finished(run: Path, command: str) -> bool:
    return all((run / name).exists() for name in files_of(command))


def refuse_other_arguments(run: Path, old: Fit | None, command: str, arguments: dict[str, Any]) -> None:
    """Refuse a folder that holds another fit than this one."""
    from likewise.storage.records import as_json, first_difference

    if old is None:
        if run.is_dir() and any(path.name not in KEPT and not path.name.startswith(".") for path in run.iterdir()):
            raise InputError(f"{run} holds other files; give --out a new folder.")
        return
    if old.command != command:
        raise InputError(f"{run} was begun by `likewise {old.command}`; give --out another folder.")
    before = {**{name: value for name, value in LATER.items() if name in arguments}, **old.arguments}
    difference = first_difference(before, as_json(arguments))
    if difference:
        name, was, now = difference
        option = "--" + name.replace("_", "-")
        raise InputError(f"{run} was begun with another {option} ({was}, now {now}); give --out another folder.")


def refuse_other_data(run: Path, old: Fit | None, new: Fit) -> None:
    for name, word in (("items", "items"), ("source", new.word)):
        if old is not None and getattr(old, f"{name}_sha256") != getattr(new, f"{name}_sha256"):
            raise InputError(
                f"{run} was begun with other {word}, or with those in {getattr(new, name)} before they changed; "
                "give --out another folder."
            )


@contextmanager
def nothing_left(run: Path) -> Iterator[None]:
    """After an error before there is a fit.json, no folder that was made for it."""
    from likewise.storage.atomic_files import is_writer

    made = not run.exists()
    try:
        yield
    except Exception:
        if is_writer() and not (run / "fit.json").exists():
            for name in KEPT:
                shutil.rmtree(run / name, ignore_errors=True)
            if made and run.exists() and not list(run.iterdir()):
                run.rmdir()
        raise


@contextmanager
def claim(run: Path, fit: Fit) -> Iterator[None]:
    """The folder with its fit.json, kept from other processes; gone again if all fails before a checkpoint."""
    from likewise.storage.atomic_files import is_writer
    from likewise.storage.run_folder import lock_folder

    first = not (run / "fit.json").exists()
    with lock_folder(run):
        try:
            fit.write(run)
            yield
        except Exception:
            if is_writer() and first and not list(run.glob("stages/**/checkpoint*.safetensors")):
                shutil.rmtree(run / "stages", ignore_errors=True)
                (run / "fit.json").unlink(missing_ok=True)
            raise


def training_seconds(run: Path) -> float:
    """The seconds of training in all stages, however often they were stopped."""
    from likewise.storage.records import check_record, read_json

    total = 0.0
    for path in sorted(run.glob("stages/*/metrics.json")):
        record = read_json(path)
        check_record(record, {"seconds": float}, path, "delete it and run the same command again")
        total += record["seconds"]
    return total


def items_sha256(items: Items) -> str:
    from likewise.datasets import in_pieces
    from likewise.storage.records import fingerprint

    form = repr((items.inputs[:1].numpy().dtype.str, tuple(items.inputs.shape), items.columns))
    pieces = (piece.numpy() for piece in in_pieces(items.inputs))
    return fingerprint(chain([form], pieces, ["\n".join(items.ids)]))


def answers_sha256(answers: Pairs | LargeAnswers) -> str:
    from likewise.pairs import Pairs
    from likewise.storage.records import fingerprint

    parts: list[NDArray[Any] | str] = []
    for pairs in (answers,) if isinstance(answers, Pairs) else (answers.sample, answers.held_out):
        parts += [pairs.left, pairs.right, pairs.same, pairs.weight]
        if pairs.annotator is not None:
            parts += [pairs.annotator, "\n".join(pairs.annotators)]
    if not isinstance(answers, Pairs):
        parts += [answers.closure.component, answers.closure.different_keys]
    return fingerprint(parts)


def stamp(paths: Iterable[Path]) -> str:
    """The names, sizes and times of files."""
    from likewise.storage.records import fingerprint

    states = ((path, path.stat()) for path in paths)
    return fingerprint(f"{path}\n{state.st_size}\n{state.st_mtime_ns}\n" for path, state in states)


def write_answers(
    path: Path, pairs: Pairs, held_out: NDArray[np.bool_], p_wrong: NDArray[np.float64] | None = None
) -> None:
    """All answers, as `Pairs.read` takes them, and columns of our own."""
    import pyarrow as pa
    import pyarrow.parquet

    from likewise.storage.atomic_files import open_atomically

    ids = None if pairs.ids is None else pa.array(pairs.ids, pa.string())

    def names(items: NDArray[np.int64]) -> Any:
        return pa.array(items) if ids is None else pa.DictionaryArray.from_arrays(pa.array(items, pa.int32()), ids)

    columns = {"left": names(pairs.left), "right": names(pairs.right), "same": pairs.same, "weight": pairs.weight}
    if pairs.annotator is not None:
        who = pa.array(pairs.annotators, pa.string())
        columns["annotator"] = pa.DictionaryArray.from_arrays(pa.array(pairs.annotator, pa.int32()), who)
    columns |= {"line": pairs.lines, "held_out": held_out}
    if p_wrong is not None:
        columns["p_wrong"] = p_wrong
    with open_atomically(path) as file:
        pyarrow.parquet.write_table(pa.table(columns), file, store_schema=False)


class SavedAnswers(NamedTuple):
    pairs: Pairs  # with their lines in the file they came from
    held_out: NDArray[np.bool_]  # (m,)
    p_wrong: NDArray[np.float64] | None  # (m,) where they were judged


def read_answers(run: Path, fit: Fit) -> SavedAnswers:
    """What `write_answers` wrote."""
    import pyarrow as pa
    import pyarrow.parquet

    from likewise.pairs import Pairs
    from likewise.pairs.columns import Source

    path = run / "answers.parquet"
    pairs = Pairs.read_parquet(path)
    try:
        further = pyarrow.parquet.read_table(path)
        lines, held_out = (further[name].to_numpy() for name in ("line", "held_out"))
        p_wrong = further["p_wrong"].to_numpy() if "p_wrong" in further.column_names else None
    except (pa.ArrowException, KeyError) as error:
        raise InputError(f"{path} was not written by `likewise fit`; fit again, into another folder.") from error
    return SavedAnswers(dataclasses.replace(pairs, source=Source(lines, fit.source, fit.unit)), held_out, p_wrong)


def labels_sha256(labelled: LabelledItems) -> str:
    from likewise.storage.records import fingerprint

    return fingerprint([labelled.positions, "\n".join(labelled.labels.tolist())])


def write_labels(path: Path, labelled: LabelledItems, ids: Sequence[str], held_out: NDArray[np.bool_]) -> None:
    """All labels, as `read_few_labels` takes them, and a column of our own."""
    import pyarrow as pa
    import pyarrow.parquet

    from likewise.storage.atomic_files import open_atomically

    names = [ids[place] for place in labelled.positions.tolist()] if ids else labelled.positions
    with open_atomically(path) as file:
        table = pa.table({"id": names, "label": labelled.labels.tolist(), "held_out": held_out})
        pyarrow.parquet.write_table(table, file, store_schema=False)


def read_held_out(path: Path) -> NDArray[np.bool_]:
    """Which of the labels were held out, (m,)."""
    import pyarrow as pa
    import pyarrow.parquet

    try:
        held_out: NDArray[np.bool_] = pyarrow.parquet.read_table(path, columns=["held_out"])["held_out"].to_numpy()
    except (pa.ArrowException, KeyError) as error:
        raise InputError(f"{path} was not written by `likewise semi`; run it again, into another folder.") from error
    return held_out
