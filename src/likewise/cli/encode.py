"""`likewise encode`: the features that a pretrained network sees in photos, drawings or texts, in a file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO, Literal

import typer

from likewise.cli.items import list_broken
from likewise.cli.options import Device, EncoderName, ItemsPath, Processes, Strict, TextColumns, text_columns
from likewise.cli.outputs import check_file, write_csv, write_parquet, writing
from likewise.cli.processes import take_part
from likewise.errors import InputError

if TYPE_CHECKING:
    from likewise.datasets import Items
    from likewise.encoders.stream import EncodedStream

SUFFIXES = (".parquet", ".csv", ".npz")


def encode(
    items: ItemsPath,
    out: Annotated[Path, typer.Option(help="Write to this .parquet, .csv or .npz file, which fit reads.")],
    encoder: EncoderName = "auto",
    text: TextColumns = None,
    unit_length: Annotated[
        bool, typer.Option("--unit-length/--no-unit-length", help="Bring each vector to length 1.")
    ] = True,
    strict: Strict = False,
    batch_size: Annotated[int, typer.Option(min=1, help="Items per batch.")] = 32,
    precision: Annotated[
        Literal["float32", "bfloat16"], typer.Option(help="The precision of the encoder; bfloat16 rounds more.")
    ] = "float32",
    device: Device = "auto",
    processes: Processes = 1,
) -> None:
    """Write the features that an encoder sees in items."""
    check_file(out, "--out", SUFFIXES)
    if out.resolve() == items.resolve():
        raise InputError(f"{out} holds the items; give --out another name.")
    take_part(processes)

    from likewise.encoders import Encoder
    from likewise.encoders.names import PHOTO_ENCODER, encoder_of_folder, holds_texts, text_encoder
    from likewise.encoders.stream import open_encoded
    from likewise.storage.atomic_files import open_atomically

    columns = text_columns(text)
    if encoder == "none":
        raise InputError("--encoder none leaves nothing to do; name an encoder, or leave it out.")
    if encoder == "auto":
        texts = columns or holds_texts(items) or items.suffix.lower() in (".csv", ".parquet")
        images = encoder_of_folder(items) if items.is_dir() else None
        encoder = text_encoder() if texts else images or PHOTO_ENCODER  # small images, too, as was asked for
    loaded = Encoder(encoder, unit_length=unit_length, batch_size=batch_size, precision=precision, device=device)
    stream = open_encoded(items, loaded, text=columns, strict=strict, verbose=True)
    stream.share_out()
    write = {".parquet": write_parquet, ".csv": _write_csv, ".npz": _write_npz}[out.suffix.lower()]
    with writing(out, "--out"), open_atomically(out) as file:
        n = write(file, _tables(stream))
    facts = loaded.facts
    list_broken(stream.broken, "text" if facts["takes"] == "texts" else "image")
    typer.echo(f"Wrote {out}: {n:,} items with {facts['width']:,} features of {facts['name']}.")


def _tables(stream: EncodedStream) -> Iterator[Any]:
    """Arrow tables of id, label where there are classes, and the features f0, f1, ..."""
    row = 0
    for items in stream:
        yield _table(items, row)
        row += len(items)


def _table(items: Items, first_row: int) -> Any:
    import pyarrow as pa

    columns: dict[str, Any] = {"id": pa.array(items.ids or [str(first_row + place) for place in range(len(items))])}
    if items.class_names:
        names = (*items.class_names, "")  # the last is that of -1
        columns["label"] = pa.array([names[label] for label in items.labels.tolist()])
    features = items.inputs.numpy()
    return pa.table(columns | {f"f{place}": features[:, place] for place in range(features.shape[1])})


def _write_csv(file: BinaryIO, tables: Iterator[Any]) -> int:
    return write_csv(file, tables, "{:.9g}".format)  # all digits of float32


def _write_npz(file: BinaryIO, tables: Iterator[Any]) -> int:
    import numpy as np
    import pyarrow as pa

    table = pa.concat_tables(tables)
    named = [name for name in ("id", "label") if name in table.column_names]
    features = np.stack([table[name].to_numpy() for name in table.column_names if name not in named], axis=1)
    others = {"ids" if name == "id" else "y": np.array(table[name].to_pylist()) for name in named}
    np.savez(file, X=features, **others)  # type: ignore[arg-type]
    return len(table)
