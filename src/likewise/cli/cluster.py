"""`likewise cluster`: items into clusters by any of the methods that take answers about pairs, or by K-means."""

from __future__ import annotations

import ast
import warnings
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from likewise.cli.items import index_answers, open_to_learn, read_all, read_answers
from likewise.cli.options import (
    ANSWERS,
    PLACE,
    ClusterMethod,
    EncoderName,
    Grey,
    ItemsPath,
    Seed,
    Size,
    Strict,
    TextColumns,
)
from likewise.cli.outputs import check_file, write_csv, write_parquet, writing
from likewise.errors import InputError

if TYPE_CHECKING:
    from likewise.datasets import Items
    from likewise.pairs import Pairs


def cluster(
    items: ItemsPath,
    method: Annotated[ClusterMethod, typer.Option(help="The method of clustering.")],
    out: Annotated[Path, typer.Option(help="Write to this .csv or .parquet file: id, cluster.")],
    pairs: Annotated[str | None, typer.Option(metavar=PLACE, help=ANSWERS)] = None,
    classes: Annotated[
        int | None, typer.Option(min=1, help="How many classes there are; some methods find out by themselves.")
    ] = None,
    contradictions: Annotated[
        Literal["accept", "refuse", "repair"] | None,
        typer.Option(help="What to do about contradicting answers; by default as the method has it."),
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Another argument of the method, such as metric=full."),
    ] = None,
    encoder: EncoderName = "auto",
    text: TextColumns = None,
    size: Size = 32,
    grey: Grey = False,
    strict: Strict = False,
    seed: Seed = 0,
) -> None:
    """Put items into clusters, with the help of answers about pairs."""
    check_file(out, "--out", (".csv", ".parquet"))
    if out.resolve() in (items.resolve(), pairs and Path(pairs).resolve()):
        raise InputError(f"{out} is what the items or answers are read from; give --out another name.")

    from likewise.clustering import METHODS, refuse_contradictions

    chosen = METHODS[method]
    if classes is None and not chosen.finds_n_clusters:
        raise InputError(f"{method} needs the number of classes; give --classes.")
    if pairs is None and chosen.uses_pairs:
        raise InputError(f"{method} learns from answers; give --pairs.")
    if pairs is not None and not chosen.uses_pairs:
        warnings.warn(f"{method} does not use answers; they are only compared with its clusters.", stacklevel=1)
    model = _make(method, chosen, {"n_clusters": classes, "random_state": seed}, contradictions, set_ or [])

    stream = open_to_learn(items, {"encoder": encoder, "text": text, "size": size, "grey": grey}, strict=strict)
    answers = None if pairs is None else read_answers(pairs, stream)
    loaded = read_all(stream)
    answers = None if answers is None else index_answers(answers, loaded)
    if answers is not None and getattr(model, "contradictions", None) == "refuse":
        refuse_contradictions(answers)  # while the items have their names
    rows = None if answers is None else replace(answers, ids=None)
    labels = model.fit(_features(loaded.items), pairs=rows).labels_

    with writing(out, "--out"):
        _write(out, loaded.items.ids or range(len(labels)), labels.tolist())
    typer.echo(f"Wrote {out}: {len(labels):,} items in {len(set(labels.tolist())):,} clusters.")
    if answers is not None:
        typer.echo(_kept(answers, labels))


def _make(method: str, chosen: Any, arguments: dict[str, Any], contradictions: str | None, further: list[str]) -> Any:
    """The estimator with the arguments that it has."""
    from likewise.clustering import check_hyperparameters

    defaults = chosen().get_params()
    arguments = {name: value for name, value in arguments.items() if name in defaults}
    if contradictions is not None:
        further = [f"contradictions={contradictions}", *further]
    for argument in further:
        name, equals, text = argument.partition("=")
        if not equals or name not in defaults:
            taken = ", ".join(sorted(defaults))
            raise InputError(f"{method} has no argument {argument!r}; give NAME=VALUE for one of {taken}.")
        arguments[name] = _value(text)
    model = chosen(**arguments)
    check_hyperparameters(model)  # before many images are read
    return model


def _value(text: str) -> Any:
    """
    >>> _value("full"), _value("0.5"), _value("True"), _value("None")
    ('full', 0.5, True, None)
    """
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def _features(items: Items) -> Any:
    """(n, d) Features, or the pixels of images from 0 to 1."""
    inputs = items.inputs.numpy()
    return inputs.reshape(len(inputs), -1) / 255.0 if inputs.ndim == 4 else inputs


def _kept(answers: Pairs, labels: Any) -> str:
    """How many of the answers the clusters agree with."""
    import numpy as np

    counted = (answers.same != 0.5) & (answers.weight > 0)
    together = labels[answers.left] == labels[answers.right]
    kept, total = int((counted & (together == (answers.same > 0.5))).sum()), int(np.count_nonzero(counted))
    share = f" ({100 * kept / total:.1f} %)" if total else ""
    return f"They agree with {kept:,} of {total:,} answers{share}."


def _write(out: Path, ids: Any, labels: list[int]) -> None:
    import pyarrow as pa

    from likewise.storage.atomic_files import open_atomically

    table = pa.table({"id": pa.array(ids), "cluster": pa.array(labels)})
    with open_atomically(out) as file:
        (write_csv if out.suffix.lower() == ".csv" else write_parquet)(file, iter([table]))
