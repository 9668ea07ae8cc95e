"""The items at a path as features, a chunk at a time: what every command reads where an encoder is used."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from likewise.datasets import ItemStream, load_arrays
from likewise.datasets.images import list_files
from likewise.datasets.items import Items
from likewise.datasets.stream import ARRAY_SUFFIXES
from likewise.datasets.texts import Texts, load_texts
from likewise.distributed import barrier, world
from likewise.encoders.encoder import Encoder
from likewise.errors import InputError
from likewise.storage.atomic_files import is_writer
from likewise.training.progress import clock

# How far an encoder has come: a bar on a terminal, a line now and then elsewhere. Clocks are read only to show it.

SPACING = 10.0  # seconds between two lines


@contextmanager
def showing(title: str, total: int, shown: bool = True) -> Iterator[Callable[[int], None]]:
    """A context whose value is called with how many items were done since the last call."""
    if not shown or not is_writer():
        yield lambda n: None
    elif sys.stderr.isatty():
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (TextColumn(title), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[rate]}"))
        started, done = time.perf_counter(), 0
        with Progress(*columns, TimeRemainingColumn(), TextColumn("left"), console=Console(stderr=True)) as bar:
            task = bar.add_task("", total=total, rate="")

            def advance(n: int) -> None:
                nonlocal done
                done += n
                bar.update(task, advance=n, rate=f"{done / (time.perf_counter() - started):.0f} items/s")

            yield advance
    else:
        yield _lines(title, total)


def _lines(title: str, total: int) -> Callable[[int], None]:
    started = last = time.perf_counter()
    done = 0

    def advance(n: int) -> None:
        nonlocal done, last
        done += n
        now = time.perf_counter()
        if now - last >= SPACING and done < total:
            last = now
            rate = done / (now - started)
            left = clock((total - done) / rate)
            print(f"{title}: {done:,} of {total:,}  {rate:.0f} items/s  {left} left", file=sys.stderr, flush=True)

    return advance


CHUNK = 1024  # items whose features are in memory at a time


@dataclass(frozen=True)
class _Source:
    """Items that are not yet encoded."""

    n_items: int
    part: Callable[[int, int], Sequence[Any]]  # items from start to stop, as the encoder takes them
    ids: Sequence[str]
    labels: Tensor
    class_names: tuple[str, ...]
    name: Callable[[int], str]  # of an item, for a message
    texts: Texts | None = None


@dataclass(eq=False, kw_only=True)
class EncodedStream(ItemStream):
    """Features of the items at a path; each is computed once, and then read from the encoder's cache."""

    encoder: Encoder
    texts: Texts | None  # that are encoded
    unencoded: Callable[[], Sequence[Any]]  # all items: paths, texts or images
    share_out: Callable[[], None]  # computes all features, in as many processes as there are


def open_encoded(
    path: Path | str,
    encoder: Encoder,
    *,
    text: Sequence[str] = (),
    strict: bool = False,
    chunk: int = CHUNK,
    grouped: bool = False,
    verbose: bool = False,
) -> EncodedStream:
    """A folder of photos, an array of images, a table with columns of `text`, or a folder of .txt files, encoded.

    The chunks hold features (n, width) with ids and labels. An item that cannot be decoded is named in the stream's
    `broken`; with `strict` the first one is an InputError.
    """
    path = Path(path)
    name, takes = encoder.pretrained.name, encoder.pretrained.takes
    source = _texts(path, text) if takes == "texts" else _photos(path, name, text, grouped)

    def read(broken: list[str]) -> Iterator[Items]:
        with showing(f"Encoding with {name}", source.n_items, verbose) as advance:
            for start in range(0, source.n_items, chunk):
                stop = min(start + chunk, source.n_items)
                encoded = encoder.encode(source.part(start, stop), advance)
                for place, reason in encoded.unusable.items():
                    broken.append(f"{source.name(start + place)} ({reason})")
                    if strict or not path.is_dir():  # without a row, the numbers of those after it would be off by one
                        raise InputError(f"{broken[0]} cannot be encoded; correct or remove it.")
                kept = [place for place in range(stop - start) if place not in encoded.unusable]
                if kept:
                    rows = [start + place for place in kept]
                    ids = tuple(source.ids[row] for row in rows) if source.ids else ()
                    features = torch.from_numpy(encoded.rows[kept])
                    yield Items(features, source.labels[rows], source.class_names, ids)
            if len(broken) == source.n_items:
                raise InputError(f"No item in {path} can be encoded, the first is {broken[0]}; give sound ones.")

    def share_out() -> None:
        mine = world()
        if mine.size == 1 or encoder.open_cache() is None:
            return
        own = range(mine.rank * chunk, source.n_items, mine.size * chunk)
        n_own = sum(min(start + chunk, source.n_items) - start for start in own)
        with showing(f"Encoding with {name}, a part of {mine.size}", n_own, verbose) as advance:
            for start in own:
                encoder.encode(source.part(start, min(start + chunk, source.n_items)), advance)
        barrier()

    names = source.ids if path.is_dir() else ()  # items of a folder may be left out, those of a file may not
    return EncodedStream(
        n_items=source.n_items,
        read=read,
        names=names,
        item_bytes=4 * encoder.pretrained.width,
        encoder=encoder,
        texts=source.texts,
        unencoded=lambda: source.part(0, source.n_items),
        share_out=share_out,
    )


def _photos(path: Path, encoder: str, text: Sequence[str], grouped: bool) -> _Source:
    if text:
        raise InputError(f"--text names columns of text, and {encoder} takes photos; give an encoder of texts.")
    if path.is_dir():
        files = list_files(path, grouped)
        return _Source(
            len(files.ids),
            lambda start, stop: [files.path(number) for number in range(start, stop)],
            files.ids,
            torch.from_numpy(files.labels),
            files.class_names,
            lambda row: str(files.path(row)),
        )
    if path.suffix.lower() not in ARRAY_SUFFIXES:
        raise InputError(f"{path} holds no photos, which {encoder} takes; give a folder, or an array of images.")
    items = load_arrays(path)
    if items.inputs.ndim != 4:
        raise InputError(f"{path} holds feature vectors, and {encoder} takes photos; leave the encoder out.")
    return _Source(
        len(items),
        lambda start, stop: list(items.inputs[start:stop].numpy()),
        items.ids,
        items.labels,
        items.class_names,
        lambda row: f"{path}, row {row}",
    )


def _texts(path: Path, columns: Sequence[str]) -> _Source:
    texts: Texts = load_texts(path, columns)
    return _Source(
        len(texts),
        lambda start, stop: [texts.texts[row] for row in range(start, stop)],
        texts.ids,
        texts.labels,
        texts.class_names,
        lambda row: f"{path}, {texts.place(row)}",
        texts,
    )
