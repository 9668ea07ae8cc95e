"""`likewise name`: give the classes that a run found the names of a few labelled items."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from likewise.cli.few_labels import FewLabels, positions, read_few_labels
from likewise.cli.items import check_shape, features_or_images, open_for
from likewise.cli.options import EncoderMoved, ItemsMoved, RunFolder
from likewise.cli.outputs import check_folder, writing
from likewise.cli.run_files import columns_of, items_of

if TYPE_CHECKING:
    from likewise.estimators import NetworkClassifier


def name(
    run: RunFolder,
    labels: Annotated[Path, typer.Option(help="Labels of a few items, .csv or .parquet: id, label.")],
    items: ItemsMoved = None,
    encoder: EncoderMoved = None,
) -> None:
    """Name the classes by a few labelled items."""
    import numpy as np

    from likewise.estimators import load_classifier

    model = load_classifier(run)
    few = read_few_labels(labels)
    check_folder(run, "RUN")
    X, names = _inputs(model, run, items, few, encoder)
    model.name_classes(X, names)
    with writing(run, "RUN"):
        model.save(run)
    for line in _table(model, np.asarray(model.predict(X)), names):
        typer.echo(line)
    typer.echo(f"\nNext:\n  likewise predict {shlex.quote(str(run))} NEW_ITEMS --out predictions.csv")


def _inputs(
    model: NetworkClassifier, run: Path, items: Path | None, few: FewLabels, encoder: str | None
) -> tuple[Any, Any]:
    """The labelled items and their labels; of a folder only these are read."""
    import numpy as np
    import torch

    from likewise.datasets import load_images
    from likewise.datasets.items import collect

    path = items_of(run, items)
    stream = open_for(model, path, columns=columns_of(run, model), encoder=encoder)
    if stream.names and model.encoder_ is None:
        paths = [str(path / stream.names[place]) for place in positions(few, stream.names, len(stream))]
        channels, size, _ = model.input_form_.shape
        labelled = load_images(paths, size=size, channels=1 if channels == 1 else 3, strict=False)
        label_of = dict(zip(paths, few.labels, strict=True))
        names = [label_of[each] for each in labelled.ids]
    else:
        everything = check_shape(collect(stream), model, path)
        labelled = everything.subset(torch.tensor(positions(few, everything.ids, len(everything))))
        names = few.labels
    return features_or_images(labelled), np.array(names)


def _table(model: NetworkClassifier, predictions: Any, names: Any) -> Iterator[str]:
    """Each output, its name, and how many of the few items of that name are in it."""
    naming = model.naming_
    width = max(len("name"), *(len(str(each)) for each in naming.classes))
    yield f"  output  {'name':<{width}}  labelled items that agree"
    for each, output in zip(naming.classes.tolist(), naming.columns.tolist(), strict=True):
        of = int((names == each).sum())
        agree = f"{int((predictions[names == each] == each).sum())} of {of}" if of else "none is labelled so"
        yield f"  {output if output >= 0 else '-':>6}  {each!s:<{width}}  {agree}"
    yield f"\n{int((predictions == names).sum()):,} of {len(names):,} labelled items are in the class of their name."
