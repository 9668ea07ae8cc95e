"""Items as the commands take them: all that can be read, a warning about the others, and the answers about them."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import typer

from likewise.cli import run_files
from likewise.cli.options import text_columns
from likewise.cli.processes import rank_and_size
from likewise.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from likewise.datasets import Items, ItemStream
    from likewise.encoders import Encoder
    from likewise.estimators import NetworkClassifier, SimilarityNetwork
    from likewise.pairs import LargeAnswers, Pairs

NOT_THE_MODELS = ("classes", "encoder", "text", "size", "grey", "seed")  # arguments that a classifier calls otherwise
MOST_LISTED = 10  # broken files
MOST_OF_MEMORY = 0.5  # that items or answers may fill: training needs some, and so does the system


@dataclass(frozen=True)
class LoadedItems:
    """The items that could be read, and the names of all there are; none where items have row numbers alone."""

    items: Items
    names: Sequence[str]
    encoder: Encoder | None = None  # whose features the items are
    texts: Sequence[str] | None = None  # that were encoded
    unencoded: Callable[[], Sequence[Any]] | None = None  # all there are: paths, texts or images

    @property
    def encoder_name(self) -> str:
        """As a classifier takes it."""
        return "none" if self.encoder is None else str(self.encoder.facts["name"])

    def raw(self) -> Sequence[Any]:
        """The items themselves, as an encoder takes them."""
        if self.unencoded is None:
            raise InputError("--fine-tune and --views are for encoders, and these items have none; leave them out.")
        items, names = self.unencoded(), self.names
        if len(items) == len(self.items):
            return items
        place = {name: row for row, name in enumerate(names)}
        return [items[place[name]] for name in self.items.ids]

    @property
    def X(self) -> Any:
        """The items as a classifier takes them."""
        return features_or_images(self.items)


def read_all(stream: ItemStream) -> LoadedItems:
    """All items in memory; broken ones are listed."""
    from likewise.datasets.items import collect

    share_out(stream)
    return _given(collect(stream), stream)


def read_or_keep(
    stream: ItemStream, folder: Path, files: Sequence[Path], *, on_disk: bool = False, strict: bool = False
) -> LoadedItems:
    """All items in memory; where they would fill it, or with `on_disk`, in a folder that later calls reuse."""
    if not on_disk and not is_too_large(stream.n_bytes):
        return read_all(stream)

    from likewise.datasets import keep_on_disk
    from likewise.storage.run_folder import lock_folder

    share_out(stream)
    typer.echo(f"The items stay on disk: they take {stream.n_bytes / 1e9:,.1f} GB in {folder}.")
    encoder = encoder_of(stream)
    by = "" if encoder is None else f" {encoder.facts['sha256']}"
    stamp = f"{run_files.stamp(files)} {stream.item_bytes} {strict}{by}"
    with lock_folder(folder):
        return _given(keep_on_disk(stream, folder, stamp), stream)


def is_too_large(n_bytes: int) -> bool:
    """Whether this would fill more than half of the memory, with a copy for each process on this machine."""
    from likewise.storage.records import memory

    available, copies = memory(), int(os.environ.get("LOCAL_WORLD_SIZE", rank_and_size()[1]))
    return available is not None and copies * n_bytes > MOST_OF_MEMORY * available


def _given(items: Items, stream: ItemStream) -> LoadedItems:
    from likewise.encoders.stream import EncodedStream

    encoder = encoder_of(stream)
    list_broken(stream.broken, "text" if encoder is not None and encoder.facts["takes"] == "texts" else "image")
    unencoded = stream.unencoded if isinstance(stream, EncodedStream) else None
    return LoadedItems(items, stream.names or items.ids, encoder, _texts_of(items, stream), unencoded)


def encoded_anew(loaded: LoadedItems, model: NetworkClassifier) -> LoadedItems:
    """The items as the model's encoder sees them, where its last blocks were trained."""
    import torch

    if model.encoder_weights_ is None:
        return loaded
    features = torch.from_numpy(encoder_for(model, None).transform(loaded.raw()))
    return replace(loaded, items=replace(loaded.items, inputs=features))


def _texts_of(items: Items, stream: ItemStream) -> Sequence[str] | None:
    """The texts that items were before they were encoded."""
    from likewise.encoders.stream import EncodedStream

    texts = stream.texts if isinstance(stream, EncodedStream) else None
    if texts is None or len(texts) == len(items):
        return None if texts is None else texts.texts
    place = {name: row for row, name in enumerate(texts.ids)}
    return [texts.texts[place[name]] for name in items.ids]


def encoder_of(stream: ItemStream) -> Encoder | None:
    """The encoder whose features a stream gives, if it is one of features."""
    from likewise.encoders.stream import EncodedStream

    return stream.encoder if isinstance(stream, EncodedStream) else None


def share_out(stream: ItemStream) -> None:
    """With an encoder and several processes, let each process encode a part of the items."""
    from likewise.encoders.stream import EncodedStream

    if isinstance(stream, EncodedStream):
        stream.share_out()


def features_or_images(items: Items) -> Any:
    from torch import Tensor

    inputs: object = items.inputs  # which may be an ArrayOnDisk
    return inputs.numpy() if isinstance(inputs, Tensor) and inputs.ndim != 4 else inputs


def list_broken(broken: Sequence[str], kind: str = "image") -> None:
    """Say on stderr which items were left out: the first ten, and how many."""
    if not broken or rank_and_size()[0] > 0:
        return
    what = f"1 {kind} cannot be read and is" if len(broken) == 1 else f"{len(broken):,} {kind}s cannot be read and are"
    typer.echo(f"likewise: warning: {what} left out:", err=True)
    for name in broken[:MOST_LISTED]:
        typer.echo(f"  {name}", err=True)
    if len(broken) > MOST_LISTED:
        typer.echo(f"  and {len(broken) - MOST_LISTED:,} more", err=True)


def are_large(place: str, out: Path) -> bool:
    """Whether answers are closed on disk instead of read into memory; a run resumes the way it began."""
    from likewise.pairs.files import is_store
    from likewise.pairs.large import memory_for

    if is_store(place):
        return False
    begun, closed = (out / "fit.json").exists(), (out / "answers").exists()
    return closed if begun else is_too_large(memory_for(Path(place)))


def read_answers(place: str, stream: ItemStream) -> Pairs:
    """The answers of a file or store; an id that is not among the items is refused before any image is read."""
    from likewise.pairs import Pairs

    answers = Pairs.read(place)
    return answers.index(stream.names) if stream.names else answers


def answer_files(place: str, answers: Pairs | None) -> tuple[list[Path], str]:
    """What shows that answers are unchanged: their file or, for a store, the hash of its answers."""
    from likewise.pairs.files import is_store

    if answers is not None and is_store(place):
        return [], run_files.answers_sha256(answers)
    return [Path(place)], ""


def index_answers(pairs: Pairs, loaded: LoadedItems) -> Pairs:
    """The answers with positions among the items; those about items that cannot be read are left out."""
    import numpy as np

    indexed = pairs if pairs.indexed else pairs.index(loaded.names or len(loaded.items))
    readable = _readable(loaded)
    if readable.all():
        return indexed
    place = np.cumsum(readable) - 1
    kept = indexed.select(readable[indexed.left] & readable[indexed.right])
    counted = [(part.weight > 0) & (part.left != part.right) for part in (indexed, kept)]
    _warn_of_left_out(int(counted[0].sum() - counted[1].sum()))
    ids = None if indexed.ids is None else indexed.ids[readable]
    return replace(kept, left=place[kept.left], right=place[kept.right], n_items=len(loaded.items), ids=ids)


def close_answers(path: Path, loaded: LoadedItems, folder: Path, held_out: float, seed: int) -> LargeAnswers:
    """The answers of a file too large for memory, closed in a folder, by the first process for all of them."""
    from likewise.distributed import from_first
    from likewise.pairs.large import open_large, write_large

    typer.echo(f"{path} is read a part at a time, and what follows from it is kept in {folder}.")
    writing = write_large(path, loaded.names or len(loaded.items), folder, held_out, seed, _readable(loaded))
    while from_first(lambda: next(writing, False)):
        pass
    answers = open_large(folder)
    _warn_of_left_out(answers.n_left_out)
    return answers


def _readable(loaded: LoadedItems) -> NDArray[np.bool_]:
    """Which of all items could be read; those without names all could."""
    import numpy as np

    if len(loaded.names) in (0, len(loaded.items)):
        return np.ones(len(loaded.items), dtype=np.bool_)
    readable = set(loaded.items.ids)
    return np.array([name in readable for name in loaded.names])


def _warn_of_left_out(number: int) -> None:
    if number:
        what = "1 answer" if number == 1 else f"{number:,} answers"
        warnings.warn(f"Ignoring {what} about images that cannot be read.", stacklevel=3)


def open_to_learn(items: Path, arguments: dict[str, Any], *, strict: bool, columns: Sequence[str] = ()) -> ItemStream:
    """Items for a command that learns from them: as an encoder sees them, or as they are.

    Of the command's `arguments` it needs encoder, text, size and grey and, where there are such, network and device.
    """
    from likewise.datasets import open_items
    from likewise.encoders import Encoder
    from likewise.encoders.stream import open_encoded

    size, grey, text = arguments["size"], arguments["grey"], text_columns(arguments["text"])
    name = encoder_to_learn(arguments["encoder"], items, text, size=size, grey=grey, network=arguments.get("network"))
    if name is not None:
        encoder = Encoder(name, device=arguments.get("device", "auto"))
        return open_encoded(items, encoder, text=text, strict=strict, verbose=True)
    if not columns:
        _refuse_text(items)
    return open_items(items, size=size, channels=1 if grey else 3, strict=strict, columns=columns)


def encoder_to_learn(
    encoder: str, items: Path, text: Sequence[str], *, size: int, grey: bool, network: str | None, drawings: bool = True
) -> str | None:
    """The encoder for items, which is said; `auto` has one for photos, perhaps for `drawings`, and for texts.

    Where a network, another size or grey images are asked for, `auto` leaves images as they are.
    """
    from likewise.encoders.names import choose_encoder, holds_texts

    small = network is not None or grey or size != 32
    if encoder == "auto" and small and not text and not holds_texts(items):
        encoder = "none"
    name, remark = choose_encoder(encoder, items, text, drawings=drawings)
    if remark and rank_and_size()[0] == 0:
        typer.echo(f"likewise: {remark}", err=True)
    return name


def _refuse_text(items: Path) -> None:
    """Refuse a table with texts among its features, and say what would use them."""
    from likewise.datasets.table import SUFFIXES
    from likewise.datasets.texts import text_features

    texts = text_features(items) if items.suffix.lower() in SUFFIXES and items.is_file() else ()
    if texts:
        names = ",".join(texts)
        raise InputError(
            f"{items} holds text in {', '.join(map(repr, texts))}; learn from it with --text {names}, or leave it out."
        )


def open_for(
    model: NetworkClassifier | SimilarityNetwork,
    path: Path,
    *,
    columns: Sequence[str],
    strict: bool = False,
    chunk: int = 1024,
    encoder: str | None = None,
) -> ItemStream:
    """Items as the model takes them: images of its size, its columns, or through its encoder alone."""
    from likewise.datasets import open_items

    shape = model.input_form_.shape
    if model.encoder_ is not None or encoder not in (None, "auto", "none"):
        from likewise.encoders.stream import open_encoded

        loaded = encoder_for(model, encoder)
        return open_encoded(path, loaded, text=columns, strict=strict, chunk=chunk, verbose=True)
    if not path.is_dir():
        return open_items(path, columns=columns, chunk=chunk)
    if len(shape) != 3 or shape[0] not in (1, 3) or shape[1] != shape[2]:
        raise InputError(f"{path} is a folder of images, but the model takes {in_words(shape)}; give items like those.")
    channels: Literal[1, 3] = 1 if shape[0] == 1 else 3
    return open_items(path, size=shape[1], channels=channels, strict=strict, chunk=chunk)


def encoder_for(model: NetworkClassifier | SimilarityNetwork, name: str | None) -> Encoder:
    """The encoder that a model was fitted with, where it is said to be now, or by the name that it had."""
    from likewise.encoders import Encoder
    from likewise.estimators.encoding import encoder_again, refuse_another, tuned

    if model.encoder_ is None:
        raise InputError(f"The model was fitted without an encoder, and --encoder is {name}; leave --encoder out.")
    if name == "none":
        raise InputError(f"The model was fitted with the encoder {model.encoder_['name']}; leave --encoder out.")
    if name in (None, "auto"):
        encoder_of_model = encoder_again(model)
        assert encoder_of_model is not None
        return encoder_of_model
    loaded = Encoder(str(name))
    refuse_another(loaded, model.encoder_)
    return tuned(loaded, model)


def check_shape(items: Items, model: NetworkClassifier, path: Path) -> Items:
    """Refuse items that the model does not take."""
    shape, wanted = tuple(items.inputs.shape[1:]), model.input_form_.shape
    if shape != wanted:
        raise InputError(
            f"{path} holds {in_words(shape)}, but the model takes {in_words(wanted)}; give items like those."
        )
    return items


def in_words(shape: tuple[int, ...]) -> str:
    """
    >>> in_words((3, 32, 32)), in_words((1,))
    ('images of 3x32x32', '1 feature')
    """
    if len(shape) == 3:
        return "images of " + "x".join(map(str, shape))
    return f"{shape[0]} feature{'' if shape[0] == 1 else 's'}"
