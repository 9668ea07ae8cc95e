"""The tables of `likewise paper` on classes that nobody labelled: Tables 2, 3 and 5."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from likewise.cli.options import ClusterMethod, Data, Seed
from likewise.cli.processes import dealt_out

if TYPE_CHECKING:
    from likewise.paper.transfer_entries import TransferEntry

Runs = Annotated[Path, typer.Option(help="The folder of the run folders; a stopped run resumes there.")]
Results = Annotated[Path, typer.Option(help="The folder of the records.")]
Recipe = Annotated[
    Literal["paper", "best"] | None,
    typer.Option(help="The recipe: the paper's, or that of likewise discover; both where not given."),
]
Number = Annotated[
    Literal["true", "100"] | None,
    typer.Option(help="How many classes there are: true, which is known, or 100, which is not; else both."),
]
Alphabets = Annotated[
    Literal["evaluation", "validation"],
    typer.Option(help="The alphabets to find; for validation, five of the background ones are held out."),
]
AlphabetMethod = Literal["mcl", "kcl", "spectral", ClusterMethod, "skkm-early", "sklr-early", "skms-early"]
Epochs = Annotated[
    int | None, typer.Option(min=1, help="Epochs of the classifier; its schedule is compressed in proportion.")
]
SimilarityEpochs = Annotated[
    int | None, typer.Option(min=1, help="Epochs of the similarity network; its schedule is compressed in proportion.")
]


def table2(
    recipe: Recipe = None,
    method: Annotated[
        AlphabetMethod | None,
        typer.Option(help="The method, -early with a kernel that is stopped early; all where not given."),
    ] = None,
    classes: Number = None,
    alphabets: Alphabets = "evaluation",
    seed: Seed = 0,
    epochs: Epochs = None,
    similarity_epochs: SimilarityEpochs = None,
    data: Data = None,
    runs: Runs = Path("runs"),
    results: Results = Path("results"),
) -> None:
    """Table 2: the characters of Omniglot's alphabets, unlabelled.

    Records ACC, NMI and the number of characters.

    An entry that has a record is not run again; one that was stopped resumes with the next alphabet.
    """
    from likewise.paper.transfer_entries import select_transfer, transfer_recipes

    entries = select_transfer(
        transfer_recipes(),
        recipe=recipe,
        method=method,
        classes=classes,
        alphabets=alphabets,
        seed=seed,
        epochs=epochs,
        similarity_epochs=similarity_epochs,
    )
    _transfer("Table 2", entries, data, runs, results)


def table3(
    recipe: Annotated[
        Literal["imagenet", "cifar10", "cifar100", "mnist-digits"] | None,
        typer.Option(help="The recipe: imagenet is the paper's; all where not given."),
    ] = None,
    method: Annotated[
        Literal["mcl", "kcl", "k-means", "lsc", "lpnmf"] | None, typer.Option(help="The method; all where not given.")
    ] = None,
    classes: Number = None,
    backbone: Annotated[
        Path | None, typer.Option(help="A run folder whose network to start from, instead of training one.")
    ] = None,
    seed: Seed = 0,
    epochs: Epochs = None,
    similarity_epochs: SimilarityEpochs = None,
    data: Data = None,
    runs: Runs = Path("runs"),
    results: Results = Path("results"),
) -> None:
    """Table 3: new classes of ImageNet, or of smaller sets.

    They are found with a similarity and a network from other classes.
    """
    from likewise.paper.transfer_entries import TABLE3, select_transfer, transfer_recipes

    entries = select_transfer(
        transfer_recipes(TABLE3),
        recipe=recipe,
        method=method,
        classes=classes,
        seed=seed,
        epochs=epochs,
        similarity_epochs=similarity_epochs,
    )
    _transfer("Table 3", entries, data, runs, results, backbone)


def table5(
    recipe: Recipe = None,
    alphabets: Alphabets = "evaluation",
    seed: Seed = 0,
    epochs: Epochs = None,
    similarity_epochs: SimilarityEpochs = None,
    data: Data = None,
    runs: Runs = Path("runs"),
    results: Results = Path("results"),
) -> None:
    """Table 5: how many characters Omniglot's alphabets have.

    These are the entries of Table 2 that do not know the number.
    """
    from likewise.paper.transfer_entries import COUNTING, select_transfer, transfer_recipes

    entries = select_transfer(
        transfer_recipes(),
        recipe=recipe,
        classes="100",
        alphabets=alphabets,
        seed=seed,
        epochs=epochs,
        similarity_epochs=similarity_epochs,
    )
    _transfer("Table 5", [entry for entry in entries if entry.method in COUNTING], data, runs, results)


def announce(table: str, entries: list[str]) -> None:
    typer.echo(f"{table}, {len(entries)} {'entry' if len(entries) == 1 else 'entries'}:")
    for entry in entries:
        typer.echo(f"  {entry}")


def _transfer(
    title: str,
    entries: list[TransferEntry],
    data: Path | None,
    runs: Path,
    results: Path,
    backbone: Path | None = None,
) -> None:
    announce(title, [entry.name for entry in entries])

    from likewise.paper.transfer import run_transfer_entries

    for record, path, ran in run_transfer_entries(
        dealt_out(entries, key=lambda entry: entry.similarity_name),
        data=data,
        runs=runs,
        results=results,
        backbone=backbone,
    ):
        typer.echo(
            f"{path}: {'' if ran else 'there already; '}ACC {record.acc:.1f} %, NMI {record.nmi:.3f}, the number of "
            f"classes off by {record.difference:.1f}; {record.cpu_seconds / 60:.1f} core-minutes, and "
            f"{record.similarity_cpu_seconds / 60:.1f} for the similarity"
        )


def discovery(
    protocol: Annotated[
        Literal["photos", "photos-mixed", "photos-unseen", "cifar10", "cifar10-mixed", "cifar100", "cifar100-mixed"]
        | None,
        typer.Option(help="What is known and what is in the pile; all where not given."),
    ] = None,
    classes: Annotated[
        Literal["true", "estimated"] | None,
        typer.Option(help="How many classes there are: the true number, or estimated; both where not given."),
    ] = None,
    seed: Seed = 0,
    data: Data = None,
    results: Results = Path("results"),
) -> None:
    """Known and new classes in frozen features, beside k-means.

    The features are files such as photos-lite0.npz in the data folder. An entry that has a record is not run again.
    """
    from likewise.paper.discovery import run_discovery, select_discovery

    entries = select_discovery(protocol, classes, seed)
    announce("Known and new classes", [entry.name for entry in entries])
    for record, path, ran in run_discovery(
        dealt_out(entries, key=lambda entry: entry.name), data=data, results=results
    ):
        there = "" if ran else "there already; "
        parts = [f"{name} {value:.2f} %" for name, value in (("old", record.old), ("new", record.new)) if value]
        typer.echo(
            f"{path}: {there}{record.accuracy:.2f} %, {', '.join(parts)}; {record.estimate} of {record.n_classes} "
            f"classes; {record.cpu_seconds / 60:.1f} core-minutes"
        )


def counts(
    dataset: Annotated[
        Literal["photos", "banking77", "cifar100"] | None,
        typer.Option(help="The data set whose classes are drawn, as features; all where not given."),
    ] = None,
    kind: Annotated[
        Literal["new", "mixed"] | None,
        typer.Option(help="Whether known classes are in the piles as well; both where not given."),
    ] = None,
    piles: Annotated[int, typer.Option(min=1, help="How many piles are drawn.")] = 20,
    seed: Seed = 0,
    data: Data = None,
    results: Results = Path("results"),
) -> None:
    """Count classes, and whether the interval holds.

    It says how often the interval of the estimated number covers the truth, over piles of classes that were held out.
    The features are files such as photos-lite0.npz in the data folder. An entry that has a record is not run again.
    """
    from likewise.paper.class_counts import run_counts, select_counts

    entries = select_counts(dataset, kind, piles, seed)
    announce("The number of classes", [entry.name for entry in entries])
    for record, path, ran in run_counts(dealt_out(entries, key=lambda entry: entry.name), data=data, results=results):
        there = "" if ran else "there already; "
        typer.echo(
            f"{path}: {there}covered in {record.covered:.0f} % of {len(record.piles)} piles, off by {record.error:.1f} "
            f"on average; {record.cpu_seconds / 60:.1f} core-minutes"
        )


def flips(
    method: Annotated[Literal["kcl", "mcl"] | None, typer.Option(help="The method; both where not given.")] = None,
    alphabet: Annotated[
        Literal["Angelic", "Tengwar"] | None, typer.Option(help="The alphabet of Omniglot; both where not given.")
    ] = None,
    rate: Annotated[
        Literal["0", "0.01", "0.03", "0.1", "similarity"] | None,
        typer.Option(help="The share of the pairs that is wrong, or as the similarity; all where not given."),
    ] = None,
    epochs: Annotated[int, typer.Option(min=1, help="Epochs of each training, of a schedule compressed to them.")] = 50,
    seed: Seed = 0,
    data: Data = None,
    results: Results = Path("results"),
) -> None:
    """Teach KCL and MCL with some pairs wrong.

    Both have 100 outputs, and are taught by the truth of an alphabet with a share of the pairs wrong.
    An entry that has a record is not run again.
    """
    from likewise.paper.flips import run_flips, select_flips

    entries = select_flips(method, alphabet, rate, epochs, seed)
    announce("The truth with wrong pairs", [entry.name for entry in entries])
    for record, path, ran in run_flips(dealt_out(entries, key=lambda entry: entry.name), data=data, results=results):
        typer.echo(
            f"{path}: {'' if ran else 'there already; '}ACC {record.acc:.1f} %, {record.n_classes} dominant outputs "
            f"for {record.true_classes} characters; {record.cpu_seconds / 60:.1f} core-minutes"
        )
