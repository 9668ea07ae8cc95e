"""What tells "same" from "different" in a discovery: known items, or a similarity network learned from such before."""

from __future__ import annotations

import hashlib
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from likewise.cli.items import LoadedItems, in_words, list_broken, share_out
from likewise.cli.run_files import items_sha256
from likewise.errors import InputError

if TYPE_CHECKING:
    from likewise.datasets import Items, ItemStream
    from likewise.encoders import Encoder
    from likewise.estimators import SimilarityNetwork


@dataclass(frozen=True)
class Images:
    """How image files and texts are to be read."""

    size: int
    grey: bool
    strict: bool
    encoder: Encoder | None = None  # through which they are seen, or texts are
    text: tuple[str, ...] = ()  # the columns of a table that hold texts

    @property
    def channels(self) -> Literal[1, 3]:
        return 1 if self.grey else 3


@dataclass(frozen=True)
class Teacher:
    """Either labelled items that a similarity is to be learned from, or one that is there already."""

    path: Path
    known: Items | None = None  # every one of them with a label
    groups: list[str] | None = None  # of the known items
    network: SimilarityNetwork | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """Of an item."""
        if self.known is not None:
            return tuple(self.known.inputs.shape[1:])
        assert self.network is not None
        return self.network.input_form_.shape

    def sha256(self) -> str:
        if self.known is None:
            return hashlib.sha256(saved_files(self.path)[0].read_bytes()).hexdigest()
        digest = hashlib.sha256(items_sha256(self.known).encode())
        digest.update(self.known.labels.numpy().tobytes())
        digest.update("\n".join(self.known.class_names).encode(errors="surrogateescape"))
        digest.update(b"in groups" if self.groups else b"")
        return digest.hexdigest()


def known_files(path: Path, images: Images) -> list[Path]:
    """The files that known items are read from: the images or texts of a folder, or the one that was named."""
    from likewise.datasets import open_items
    from likewise.encoders.stream import open_encoded

    if path.is_file():
        return [path]
    stream = open_items(path) if images.encoder is None else open_encoded(path, images.encoder)
    return [path / name for name in stream.names]


def saved_files(path: Path) -> list[Path]:
    """The files of a similarity network, in its own folder or that of the run that learned it."""
    from likewise.estimators.saved_similarity import NAMES

    if not path.is_dir():
        raise InputError(f"{path} is not a folder; give --similarity the one that an earlier run has it in.")
    folder = next((folder for folder in (path, path / "similarity") if (folder / NAMES[0]).exists()), None)
    if folder is None:
        raise InputError(f"{path} holds no similarity network: {NAMES[0]} is missing; give a folder that has one.")
    return [folder / name for name in NAMES]


def open_like_known(unknown: Path, known: Path, images: Images) -> ItemStream:
    """The pile, read in the form of the known items."""
    from likewise.datasets import open_items
    from likewise.datasets.table import SUFFIXES, feature_columns

    if images.encoder is not None:
        from likewise.encoders.stream import open_encoded

        return open_encoded(unknown, images.encoder, text=images.text, strict=images.strict, verbose=True)
    columns = feature_columns(known) if known.suffix.lower() in SUFFIXES else ()
    return open_items(unknown, size=images.size, channels=images.channels, strict=images.strict, columns=columns)


def read_similarity(path: Path) -> SimilarityNetwork:
    from likewise.estimators import SimilarityNetwork

    return SimilarityNetwork.load(saved_files(path)[0].parent)


def read_classes(path: Path) -> SimilarityNetwork:
    """The similarity of an earlier run, with the classes that were known or found there as the known ones."""
    from likewise.estimators import CategoryDiscoverer
    from likewise.estimators.anchor_items import similarity_after

    return similarity_after(CategoryDiscoverer.load(path))


def ignored_labels(path: Path, items: Items) -> str:
    """Which labels a pile has, that nobody will look at; empty where it has none."""
    from likewise.datasets.table import SUFFIXES, label_column

    if path.is_dir():
        return "its folders are not taken for classes" if items.class_names else ""
    if path.suffix.lower() in SUFFIXES:
        column = label_column(path)
        return "" if column is None or column in items.columns else f"its column {column} is not looked at"
    return "its labels are not looked at" if items.class_names else ""


def read_known(path: Path, images: Images, grouped: bool) -> Teacher:
    """Labelled items as the teacher; those without a label are left out."""
    from likewise.datasets import load_items

    if images.encoder is None:
        items = load_items(path, size=images.size, channels=images.channels, strict=images.strict, grouped=grouped)
    else:
        items = _encoded(path, images, grouped)
    labelled = (items.labels >= 0).nonzero().flatten()
    if not len(labelled):
        how = (
            "put its images in a folder for each class"
            if path.is_dir()
            else "give a table with a column label, or an .npz with y"
        )
        raise InputError(f"{path} holds no labels, and what is the same must be learned from some; {how}.")
    if len(labelled) < len(items):
        warnings.warn(
            f"{len(items) - len(labelled):,} of the items in {path} have no label, and are left out.", stacklevel=2
        )
        items = items.subset(labelled)
    if items.n_classes == 1:
        raise InputError(
            f"{path} holds one class, {items.class_names[0]!r}, so that nothing is different; "
            "give two or more, and better twenty."
        )
    return Teacher(path, known=items, groups=items.groups() if grouped else None)


def _encoded(path: Path, images: Images, grouped: bool) -> Items:
    from likewise.datasets.items import collect
    from likewise.encoders.stream import open_encoded

    assert images.encoder is not None
    options = {"text": images.text, "strict": images.strict, "grouped": grouped}
    stream = open_encoded(path, images.encoder, **options, verbose=True)  # type: ignore[arg-type]
    share_out(stream)
    items = collect(stream)
    list_broken(stream.broken)
    return items


def check_form(teacher: Teacher, unknown: Path, loaded: LoadedItems) -> None:
    """Refuse a pile whose items have another form than those that "same" was learned on."""
    shape = tuple(loaded.items.inputs.shape[1:])
    if shape != teacher.shape:
        files = (unknown.is_dir() or teacher.path.is_dir()) and len(shape) == len(teacher.shape) == 3
        hint = " (--size and --grey say how image files are read)" if files and teacher.known is not None else ""
        has = "holds" if teacher.known is not None else "was learned on"
        raise InputError(
            f"{unknown} holds {in_words(shape)}, but {teacher.path} {has} {in_words(teacher.shape)}; "
            f"give items of one form{hint}."
        )


def check_number(unknown: Path, n_items: int, n_classes: int | None) -> None:
    if n_items < 2:
        raise InputError(f"{unknown} holds one item only; give at least two, better hundreds.")
    if n_classes is not None and n_classes > n_items:
        raise InputError(f"--classes is {n_classes}, but {unknown} holds {n_items:,} items; give fewer classes.")
