"""`likewise report`: what a run learned, as one self-contained HTML file."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Annotated

import typer

from likewise.cli.answers_page import write_answers_page
from likewise.cli.discovery_page import write_discovery_page
from likewise.cli.fitted import Fit, columns_of, items_of, items_sha256, require_fit
from likewise.cli.items import Given, check_shape, open_for, read_or_keep
from likewise.cli.labels_page import write_labels_page
from likewise.cli.options import EncoderMoved, ItemsMoved, RunFolder
from likewise.cli.places import check_file
from likewise.errors import InputError


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

    from likewise.estimators import PairClassifier, SemiSupervisedClassifier, load_classifier

    model, path = load_classifier(run), items_of(run, items)
    stream = open_for(model, path, columns=columns_of(run, model), encoder=encoder)
    given = read_or_keep(stream, run / "items", [path / name for name in stream.names] or [path])
    check_shape(given.items, model, path)
    _check_unchanged(given, fit, path)
    if fit.command == "discover":
        lines = write_discovery_page(out, run, fit, model, given, path)
    elif isinstance(model, PairClassifier):
        lines = write_answers_page(out, run, fit, model, given, path)
    else:
        assert isinstance(model, SemiSupervisedClassifier)
        lines = write_labels_page(out, run, model, given, path)
    for line in lines:
        typer.echo(line)


def _check_unchanged(given: Given, fit: Fit, path: Path) -> None:
    if items_sha256(given.items) == fit.items_sha256:
        return
    if not given.names and len(given.items) != fit.n_items:
        raise InputError(
            f"{path} holds {len(given.items):,} items, and {fit.n_items:,} when the run was fitted; give --items those."
        )
    warnings.warn(f"The items in {path} are not all as they were when the run was fitted.", stacklevel=2)
