"""`likewise semi`: a classifier from a few labels and all items, in a folder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from likewise.cli import run_files
from likewise.cli.few_labels import LabelledItems, find_labels, positions, read_few_labels
from likewise.cli.items import NOT_THE_MODELS, LoadedItems, open_to_learn
from likewise.cli.options import (
    LEARNING,
    BatchSize,
    Device,
    EncoderName,
    Grey,
    ItemsPath,
    LearningRate,
    Network,
    OnDisk,
    Precision,
    Processes,
    Seed,
    SemiMethod,
    Size,
    Strict,
    SyncBatchNorm,
    TextColumns,
    UnitLength,
    Views,
)
from likewise.cli.processes import take_part
from likewise.cli.run import BESIDE, class_sizes, items_in_words, next_commands, open_run

if TYPE_CHECKING:
    from likewise.estimators import SemiSupervisedClassifier

REMEDY = "Correct it, or leave it out."


def semi(
    items: ItemsPath,
    labels: Annotated[
        Path, typer.Option(help="Labels of some of the items: a .csv or .parquet table with the columns id and label.")
    ],
    out: Annotated[Path, typer.Option(help="Write to this folder. The same command resumes a stopped run.")],
    method: Annotated[
        SemiMethod, typer.Option(help="The method that learns from the unlabelled items.", rich_help_panel=LEARNING)
    ] = "pseudo-mcl",
    classes: Annotated[
        int | None,
        typer.Option(
            min=2,
            help="How many classes there are. Give it if some class has no label. Default: the classes of the labels.",
            rich_help_panel=LEARNING,
        ),
    ] = None,
    network: Network = None,
    epochs: Annotated[
        int | None,
        typer.Option(
            min=1, help="Epochs of each of the two stages. Default: about 640 steps.", rich_help_panel=LEARNING
        ),
    ] = None,
    batch_size: BatchSize = 100,
    learning_rate: LearningRate = 1e-3,
    epsilon: Annotated[
        float | None,
        typer.Option(
            help="How far vat moves an item, in standard deviations. Default: by the number of its features.",
            rich_help_panel=LEARNING,
        ),
    ] = None,
    held_out: Annotated[
        float,
        typer.Option(
            min=0, max=0.5, help="The share of the labels that is held out to measure with.", rich_help_panel=LEARNING
        ),
    ] = 0.0,
    encoder: EncoderName = "auto",
    views: Views = 0,
    text: TextColumns = None,
    unit_length: UnitLength = False,
    size: Size = 32,
    grey: Grey = False,
    strict: Strict = False,
    on_disk: OnDisk = False,
    seed: Seed = 0,
    device: Device = "auto",
    precision: Precision = "auto",
    processes: Processes = 1,
    sync_batch_norm: SyncBatchNorm = False,
) -> None:
    """Learn classes from a few labels and many items without one."""
    arguments = {name: value for name, value in locals().items() if name not in BESIDE}
    take_part(processes, sync_batch_norm)

    with open_run(out, "semi", arguments) as run:
        stream = open_to_learn(items, arguments, strict=strict)
        few = read_few_labels(labels)
        if stream.names:  # a wrong id is refused before any image is read
            positions(few, stream.names, len(stream), REMEDY)
        if run.was_finished([labels], items, stream):
            return
        loaded = run.read(items, stream, on_disk=on_disk, strict=strict)
        placed = find_labels(few, loaded, REMEDY)
        if not run.begin(items, loaded, labels, unit="row", sha256=run_files.labels_sha256(placed)):
            return
        _learn(items, labels, loaded, placed, out, arguments)


def _learn(
    items: Path, labels: Path, loaded: LoadedItems, placed: LabelledItems, out: Path, arguments: dict[str, Any]
) -> None:
    """Train, write the files and print the outcome; metrics.json comes last and says that the run is finished."""
    import numpy as np

    from likewise.estimators import SemiSupervisedClassifier
    from likewise.storage.records import write_json
    from likewise.storage.run_folder import write_history

    y = np.full(len(loaded.items), "", dtype=object)
    y[placed.positions] = placed.labels
    stated = {name: value for name, value in arguments.items() if name not in NOT_THE_MODELS}
    model = SemiSupervisedClassifier(
        **stated,
        n_classes=arguments["classes"],
        encoder=loaded.encoder_name,
        image_size=arguments["size"],
        random_state=arguments["seed"],
        verbose=True,
        run=out / "stages",
    )
    typer.echo(items_in_words(items, loaded))
    typer.echo(f"{labels}: {len(placed):,} labels of {len(np.unique(placed.labels)):,} classes")
    typer.echo(f"Learning by {model.method}; Ctrl-C stops, and the same command resumes.")
    model.fit(loaded.raw() if model.views else loaded.X, y)
    held_out = np.isin(placed.positions, model.held_out_)
    metrics = _metrics(model, loaded, placed, held_out, out)
    run_files.write_labels(out / "labels.parquet", placed, loaded.items.ids, held_out)
    write_history(out / "history.csv", model.history_)
    model.save(out)
    write_json(out / "metrics.json", metrics)
    for line in _outcome(out, metrics):
        typer.echo(line)


def _metrics(
    model: SemiSupervisedClassifier, loaded: LoadedItems, placed: LabelledItems, held_out: Any, out: Path
) -> dict[str, Any]:
    import numpy as np

    from likewise.evaluation import wilson

    predictions = model.predict(loaded.X)
    right = predictions[placed.positions] == placed.labels  # (m,)
    n, hits = int(held_out.sum()), int(right[held_out].sum())
    predicted, sizes = np.unique(predictions, return_counts=True)
    return {
        "method": model.method_,
        "labels": model.n_labelled_,
        "labels_denied": int((~right[~held_out]).sum()),
        "unlabelled": len(loaded.items) - len(placed),
        "held_out": {
            "labels": n,
            "right": hits,
            "accuracy": hits / n if n else None,
            "interval": wilson(hits, n) if n else None,
        },
        "class_sizes": dict.fromkeys(model.classes_.tolist(), 0)
        | dict(zip(predicted.tolist(), sizes.tolist(), strict=True)),
        "seconds": run_files.training_seconds(out),
    }


def _outcome(out: Path, metrics: dict[str, Any]) -> Iterator[str]:
    sizes, held_out = metrics["class_sizes"], metrics["held_out"]
    yield f"\nThe {metrics['labels'] + held_out['labels'] + metrics['unlabelled']:,} items, by {metrics['method']}:"
    yield from class_sizes(list(sizes), sizes)
    if held_out["labels"]:
        low, high = (100 * end for end in held_out["interval"])
        yield (
            f"\nIt is right about {held_out['right']:,} of {held_out['labels']:,} held-out labels, "
            f"{100 * held_out['accuracy']:.1f} % (95 % interval {low:.1f} to {high:.1f})."
        )
    else:
        yield "\nNo labels were held out, so its accuracy on other items is not known; --held-out 0.2 measures it."
    yield f"It disagrees with {metrics['labels_denied']:,} of the {metrics['labels']:,} labels that it learned from."
    yield f"\nWrote {out} in {metrics['seconds']:.0f} seconds of training. Next:"
    yield from next_commands(out, "semi")
