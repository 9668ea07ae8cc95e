"""The options that several commands have, each written once, and the names that can be chosen.

The names are written out, because the rooms that hold them import torch, and --help must not wait for it.
`tests/cli/test_options.py` compares them with those rooms.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

import typer

NetworkName = Literal[
    "lenet",
    "vgg8",
    "vgg11",
    "vgg13",
    "vgg16",
    "omniglot",
    "conv4-wide",
    "conv4",
    "resnet18",
    "resnet34",
    "resnet50",
    "resnet101",
    "mlp",
    "linear",
]
DatasetName = Literal["digits", "mnist", "fashion-mnist", "cifar10", "cifar100"]
SemiMethod = Literal["supervised", "pseudo-label", "pi-model", "vat", "spn-mcl", "pseudo-mcl", "pseudo-mcl+"]
AblationOption = Literal[
    "ce", "mcl", "balance", "scale", "temperature", "entropy", "volume", "classes", "joint", "joint-memory"
]
ClusterMethod = Literal[
    "k-means",
    "cop-k-means",
    "pck-means",
    "mpck-means",
    "itml",
    "mmc",
    "lpnmf",
    "lsc",
    "skms",
    "skkm",
    "sklr",
    "csp",
    "cosc",
    "cecm",
    "agglomeration",
]

ENCODERS = ("auto", "none", "efficientnet-lite0", "minilm", "wordllama")  # that need no further name
DEVICES = ("auto", "cpu", "mps", "cuda", "cuda:N")


def _check_device(name: str) -> str:
    if not re.fullmatch(r"auto|cpu|mps|cuda(:[0-9]+)?", name):
        raise typer.BadParameter(f"{name!r} is not one of {', '.join(DEVICES)}.")
    return name


def several_of(names: tuple[str, ...], help: str) -> Any:
    """An option that may be given more than once, with one of these names each time."""

    def check(given: list[str] | None) -> list[str] | None:
        for name in given or ():
            if name not in names:
                raise typer.BadParameter(f"{name!r} is not one of {', '.join(map(repr, names))}.")
        return given

    return typer.Option(metavar=f"[{'|'.join(names)}]", help=help, callback=check, autocompletion=_starting_with(names))


def _starting_with(names: tuple[str, ...]) -> Callable[[str], list[str]]:
    def complete(incomplete: str) -> list[str]:
        return [name for name in names if name.startswith(incomplete)]

    return complete


# What is read
ItemsPath = Annotated[
    Path, typer.Argument(help="A folder of images, a .csv or .parquet table of features, an .npy or .npz file.")
]
ItemsMoved = Annotated[
    Path | None, typer.Option("--items", help="Where the items are, if not where they were.", show_default=False)
]
RunFolder = Annotated[Path, typer.Argument(help="The folder that fit, semi or discover wrote.")]
ANSWERS = "The answers, .csv or .parquet: left, right, same (weight, annotator); or the .db file or URL of a store."
STORE = "The store of the answers: a .db file, or postgresql+psycopg://NAME@HOST/DATABASE."
Data = Annotated[
    Path | None,
    typer.Option(help="The folder of all data sets; else LIKEWISE_DATA, else ./data.", show_default=False),
]

# How images are read
Size = Annotated[int, typer.Option(min=1, help="The side in pixels that images from files are brought to.")]
Grey = Annotated[bool, typer.Option("--grey", help="Read image files without their colours.")]
Strict = Annotated[bool, typer.Option("--strict", help="Refuse broken image files instead of skipping them.")]
OnDisk = Annotated[
    bool,
    typer.Option("--on-disk", help="Keep the items on disk, in --out; without asking if they take half of the memory."),
]

# What pretrained networks see
EncoderName = Annotated[
    str,
    typer.Option(
        metavar="auto|none|NAME",
        help="The pretrained network for photos or texts: efficientnet-lite0, minilm, wordllama, timm:NAME, "
        "torchvision:NAME, open_clip:MODEL/WEIGHTS, hf:NAME, onnx:FILE.",
        autocompletion=_starting_with(ENCODERS),
    ),
]
EncoderMoved = Annotated[
    str | None,
    typer.Option(
        "--encoder",
        metavar="NAME",
        help="The pretrained network that the run was fitted with, if it is not where it was.",
        show_default=False,
    ),
]
TextColumns = Annotated[
    str | None,
    typer.Option(
        "--text", metavar="COLUMN,...", help="The columns of a table that hold its texts.", show_default=False
    ),
]

# How something is learned
UnitLength = Annotated[
    bool, typer.Option("--unit-length", help="Bring each feature vector to length 1 first, as suits embeddings.")
]
Network = Annotated[NetworkName | None, typer.Option(help="The network; by default what suits the items.")]
BatchSize = Annotated[int, typer.Option(min=2, help="Items per batch.")]
LearningRate = Annotated[float, typer.Option(help="The highest learning rate of the schedule.")]
Seed = Annotated[int, typer.Option(min=0, help="Seed of all random numbers: the weights, and the order of the items.")]
Device = Annotated[
    str,
    typer.Option(
        metavar=f"[{'|'.join(DEVICES)}]",
        help="The device to compute on.",
        callback=_check_device,
        autocompletion=_starting_with(DEVICES[:-1]),
    ),
]
Precision = Annotated[
    Literal["auto", "float32", "bfloat16"],
    typer.Option(help="The precision of the training; auto is float32, bfloat16 rounds more."),
]

# In how many processes
Processes = Annotated[int, typer.Option(min=1, help="How many processes of this machine share the work.")]
SyncBatchNorm = Annotated[
    bool, typer.Option("--sync-batch-norm", help="With several processes: batch-norm over the batches of all of them.")
]


def text_columns(given: str | None) -> tuple[str, ...]:
    """What --text names.

    >>> text_columns("subject, body"), text_columns(None)
    (('subject', 'body'), ())
    """
    if given is None:
        return ()
    names = tuple(name.strip() for name in given.split(","))
    if not all(names):
        raise typer.BadParameter(f"--text must name columns, separated by commas, got {given!r}.")
    return names


CLUSTER_METHODS: tuple[str, ...] = get_args(ClusterMethod)
