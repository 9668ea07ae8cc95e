"""The options that several commands have, each written once, and the names that can be chosen.

The names are written out, because the rooms that hold them import torch, and --help must not wait for it.
`tests/cli/test_options.py` compares them with those rooms. `GroupedCommand` lists the options of a command in groups.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

import typer
from typer.core import TyperCommand

ITEMS, LEARNING, MACHINE = "Items", "Learning", "Machine"  # groups of options, in the order of --help

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

ENCODERS = ("auto", "none", "efficientnet-lite0", "drawings", "minilm", "wordllama")  # that need no further name
DEVICES = ("auto", "cpu", "mps", "cuda", "cuda:N")


class GroupedCommand(TyperCommand):
    """A command whose --help lists its arguments, its own options, and then the options of each group."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        rows: dict[str, list[tuple[str, str]]] = {
            name: [] for name in ("Arguments", "Options", ITEMS, LEARNING, MACHINE)
        }
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None:
                own = "Arguments" if parameter.param_type_name == "argument" else "Options"
                rows[getattr(parameter, "rich_help_panel", None) or own].append(record)
        for group, records in rows.items():
            if records:
                with formatter.section(group):
                    formatter.write_dl(records)


def _check_device(name: str) -> str:
    if not re.fullmatch(r"auto|cpu|mps|cuda(:[0-9]+)?", name):
        raise typer.BadParameter(f"{name!r} is not one of {', '.join(DEVICES)}.")
    return name


def several_of(names: tuple[str, ...], help: str) -> Any:
    """An option that may be given more than once, with one of these names each time."""

    def check(chosen: list[str] | None) -> list[str] | None:
        for name in chosen or ():
            if name not in names:
                raise typer.BadParameter(f"{name!r} is not one of {', '.join(map(repr, names))}.")
        return chosen

    return typer.Option(metavar=f"[{'|'.join(names)}]", help=help, callback=check, autocompletion=_starting_with(names))


def _starting_with(names: tuple[str, ...]) -> Callable[[str], list[str]]:
    def complete(incomplete: str) -> list[str]:
        return [name for name in names if name.startswith(incomplete)]

    return complete


# What is read
ItemsPath = Annotated[
    Path,
    typer.Argument(
        help="The items: a folder of images or texts, a .csv or .parquet table, or an .npy or .npz file of features."
    ),
]
ItemsMoved = Annotated[
    Path | None,
    typer.Option(
        "--items", help="Where the items are now. Default: where they were when the run was fitted.", show_default=False
    ),
]
RunFolder = Annotated[Path, typer.Argument(help="The folder that fit, semi or discover wrote.")]
ANSWERS = (
    "The answers: a .csv or .parquet table with the columns left, right and same, and perhaps weight and annotator; or "
    "a store, the .db file or the URL of a database."
)
PLACE = "FILE|URL"  # of answers
STORE = "The store of the answers: a .db file, or postgresql+psycopg://NAME@HOST/DATABASE."
Data = Annotated[
    Path | None,
    typer.Option(
        help="The folder that holds all data sets. Default: the one that LIKEWISE_DATA names, else ./data.",
        show_default=False,
    ),
]

# How images are read
Size = Annotated[
    int,
    typer.Option(
        min=1,
        help="The side, in pixels, of the square that each image file is resized to. An encoder has its own size.",
        rich_help_panel=ITEMS,
    ),
]
Grey = Annotated[bool, typer.Option("--grey", help="Read image files without their colours.", rich_help_panel=ITEMS)]
Strict = Annotated[
    bool, typer.Option("--strict", help="Refuse broken image files instead of skipping them.", rich_help_panel=ITEMS)
]
OnDisk = Annotated[
    bool,
    typer.Option(
        "--on-disk",
        help="Keep the items on disk, in the folder --out. This happens anyway if they would fill half of the memory.",
        rich_help_panel=ITEMS,
    ),
]

# What pretrained networks see
EncoderName = Annotated[
    str,
    typer.Option(
        metavar="auto|none|NAME",
        help="The pretrained network that turns photos or texts into features: efficientnet-lite0, drawings, minilm, "
        "wordllama, timm:NAME, torchvision:NAME, open_clip:MODEL/WEIGHTS, hf:NAME or onnx:FILE. "
        "none: use the items as they are.",
        rich_help_panel=ITEMS,
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
FineTune = Annotated[
    bool,
    typer.Option(
        "--fine-tune",
        help="Train the last blocks of the encoder too, after the classifier; discarded if it does worse on held-out "
        "answers.",
        rich_help_panel=LEARNING,
    ),
]
Views = Annotated[
    int,
    typer.Option(
        min=0,
        max=9,
        help="Number of augmented views (flipped, cropped elsewhere) of each photo that the second stage learns from.",
        rich_help_panel=LEARNING,
    ),
]
TextColumns = Annotated[
    str | None,
    typer.Option(
        "--text",
        metavar="COLUMN,...",
        help="The columns of a table that hold its texts.",
        show_default=False,
        rich_help_panel=ITEMS,
    ),
]

# How something is learned
UnitLength = Annotated[
    bool,
    typer.Option(
        "--unit-length",
        help="Bring each feature vector to length 1 first, which suits embeddings.",
        rich_help_panel=ITEMS,
    ),
]
Network = Annotated[
    NetworkName | None,
    typer.Option(help="The network to train. Default: one that suits the items.", rich_help_panel=LEARNING),
]
BatchSize = Annotated[int, typer.Option(min=2, help="Items per batch.", rich_help_panel=LEARNING)]
LearningRate = Annotated[
    float, typer.Option(help="The highest learning rate of the schedule.", rich_help_panel=LEARNING)
]
Seed = Annotated[
    int,
    typer.Option(
        min=0, help="Seed of all random numbers: the weights, and the order of the items.", rich_help_panel=LEARNING
    ),
]
Device = Annotated[
    str,
    typer.Option(
        metavar=f"[{'|'.join(DEVICES)}]",
        help="The device to compute on. auto: a GPU if there is one.",
        rich_help_panel=MACHINE,
        callback=_check_device,
        autocompletion=_starting_with(DEVICES[:-1]),
    ),
]
Precision = Annotated[
    Literal["auto", "float32", "bfloat16"],
    typer.Option(help="The precision of training. auto: float32. bfloat16 rounds more.", rich_help_panel=MACHINE),
]

# In how many processes
Processes = Annotated[
    int, typer.Option(min=1, help="How many processes of this machine share the work.", rich_help_panel=MACHINE)
]
SyncBatchNorm = Annotated[
    bool,
    typer.Option(
        "--sync-batch-norm",
        help="With several processes, compute the statistics of batch-norm over the batches of all of them.",
        rich_help_panel=MACHINE,
    ),
]


def text_columns(chosen: str | None) -> tuple[str, ...]:
    """What --text names.

    >>> text_columns("subject, body"), text_columns(None)
    (('subject', 'body'), ())
    """
    if chosen is None:
        return ()
    names = tuple(name.strip() for name in chosen.split(","))
    if not all(names):
        raise typer.BadParameter(f"--text must name columns, separated by commas, got {chosen!r}.")
    return names


CLUSTER_METHODS: tuple[str, ...] = get_args(ClusterMethod)
