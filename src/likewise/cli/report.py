"""`likewise report`: what a run learned, as one self-contained HTML file."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from likewise.cli.few_labels import find_labels, read_few_labels
from likewise.cli.items import LoadedItems, check_shape, index_answers, open_for, read_or_keep
from likewise.cli.options import EncoderMoved, ItemsMoved, RunFolder
from likewise.cli.outputs import check_file, writing
from likewise.cli.run_files import Fit, columns_of, items_of, items_sha256, read_answers, read_held_out, require_fit
from likewise.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from likewise.pairs import Pairs
    from likewise.reporting.gallery import Previews


def report(
    run: RunFolder,
    items: ItemsMoved = None,
    encoder: EncoderMoved = None,
    out: Annotated[
        Path | None, typer.Option(help="Write to this .html file; RUN/report.html by default.", show_default=False)
    ] = None,
) -> None:
    """Write a page: what a run found, and what to check again."""
    fit = require_fit(run)
    out = run / "report.html" if out is None else out
    check_file(out, "--out", (".html", ".htm"))

    from likewise import reporting
    from likewise.estimators import CategoryDiscoverer, load_classifier

    path = items_of(run, items)
    model: Any = CategoryDiscoverer.load(run) if fit.command == "discover" else load_classifier(run)
    classifier = model.classifier_ if fit.command == "discover" else model
    columns = columns_of(run, classifier)
    stream = open_for(classifier, path, columns=columns, encoder=encoder)
    loaded = read_or_keep(stream, run / "items", [path / name for name in stream.names] or [path])
    check_shape(loaded.items, classifier, path)
    changed = _have_changed(loaded, fit, path)

    learned_from: dict[str, Any] = {}
    if fit.command == "fit":
        learned_from["pairs"], learned_from["held_out"], model.p_wrong_ = _answers(run, fit, loaded)
        if changed and model.credibility_ is not None:
            model.credibility_["outliers"] = []  # positions of the items that were there
    elif fit.command == "semi":
        learned_from["labels"], learned_from["held_out"] = _labels(run, loaded)
    elif changed:
        model.labels_ = model.predict(loaded.X)
    with writing(out, "--out"):
        written = reporting.report(
            model,
            loaded.X,
            **learned_from,
            ids=loaded.items.ids or None,
            previews=_previews(path, loaded, columns),
            out=out,
        )
    typer.echo(f"Wrote {written.path}; open it in a browser.")
    typer.echo(written.finding)


def _have_changed(loaded: LoadedItems, fit: Fit, path: Path) -> bool:
    """Whether the items differ from those that the run was fitted to; if so, warn."""
    if items_sha256(loaded.items) == fit.items_sha256:
        return False
    if not loaded.names and len(loaded.items) != fit.n_items:
        now = f"{path} holds {len(loaded.items):,} items"
        raise InputError(f"{now}, and {fit.n_items:,} when the run was fitted; give --items those.")
    warnings.warn(f"The items in {path} are not all as they were when the run was fitted.", stacklevel=2)
    return True


def _previews(path: Path, loaded: LoadedItems, columns: Sequence[str]) -> Previews | None:
    """What to show of each item: its text, its photo as it is in the file, or by default what the model takes."""
    from likewise.datasets import load_arrays
    from likewise.datasets.texts import load_texts
    from likewise.reporting.gallery import FilePreviews, SomePreviews, TensorPreviews

    if loaded.encoder is not None and loaded.encoder.facts["takes"] == "texts":
        texts = load_texts(path, columns)
        place = {name: row for row, name in enumerate(texts.ids)}  # some files may have been left out
        return SomePreviews(texts.texts, [place[name] for name in loaded.items.ids]) if place else texts.texts
    if path.is_dir():
        return FilePreviews(loaded.items.ids, path)
    return None if loaded.encoder is None else TensorPreviews(load_arrays(path).inputs)


def _answers(run: Path, fit: Fit, loaded: LoadedItems) -> tuple[Pairs, NDArray[np.bool_], NDArray[np.float64] | None]:
    """The answers about these items, which of them were held out (m,), and how likely each is wrong (m,) or None."""
    import numpy as np

    written = read_answers(run, fit)
    placed = index_answers(written.pairs, loaded)
    kept = np.isin(written.pairs.lines, placed.lines)  # all but those about images that cannot be read
    return placed, written.held_out[kept], None if written.p_wrong is None else written.p_wrong[kept]


def _labels(run: Path, loaded: LoadedItems) -> tuple[NDArray[np.object_], NDArray[np.bool_]]:
    """The label of each item (n,), empty where it has none, and which of them were held out."""
    import numpy as np

    few = read_few_labels(run / "labels.parquet")
    held_out = {name for name, kept in zip(few.ids, read_held_out(run / "labels.parquet"), strict=True) if kept}
    placed = find_labels(few, loaded)
    labels = np.full(len(loaded.items), "", dtype=object)
    labels[placed.positions] = placed.labels
    names = loaded.items.ids or [str(row) for row in range(len(loaded.items))]
    return labels, np.array([name.strip() in held_out for name in names])
