"""`likewise demo`: handwritten digits learned from same-or-different answers, beside a twin that sees the labels."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from likewise.cli.options import Seed
from likewise.cli.outputs import check_folder

if TYPE_CHECKING:
    from torch import nn

    from likewise.datasets import DataSet
    from likewise.reporting import Learner

SUMMARY = """\
A network looked at {n:,} small pictures of handwritten digits. For every two of them in a batch it was told only \
whether they show the same digit or different ones. No class label was ever shown: the ten classes below are what it \
made of those answers. Labels were used afterwards, on the training pictures, to find out which output is which digit.

Beside it stands a twin, the same network with the same schedule, that was given every label and trained with \
cross-entropy. All figures are for {m:,} pictures that neither had seen."""


def demo(
    out: Annotated[Path, typer.Option(help="Write to this folder.")] = Path("demo"),
    epochs: Annotated[int, typer.Option(min=1, help="Epochs of each of the twins.")] = 40,
    seed: Seed = 0,
) -> None:
    """Learn the ten digits without a class label, and write a report.

    It takes about 20 seconds on two cores.
    """
    check_folder(out, "--out")

    import torch
    from torch import nn

    from likewise.criteria import MCL
    from likewise.datasets import load
    from likewise.reporting import Card, find_disagreements, write_learners_page

    torch.set_num_threads(1)  # 8x8 pictures are too small to share out, and so every machine gets the same digits
    digits = load("digits")
    n = len(digits.train)
    typer.echo(f"{n:,} handwritten digits; {n * (n - 1) // 2:,} pairs, same or different; no class label.")
    pairwise = _learn("MCL (same or different)", MCL(), digits, epochs, seed)
    typer.echo("Its twin, with every label:")
    twin = _learn("Cross-entropy (labels)", nn.CrossEntropyLoss(), digits, epochs, seed)

    learners = [pairwise, twin]
    differ = find_disagreements(learners)
    report = out / "report.html"
    write_learners_page(
        report,
        title="Ten digits, learned without a single label",
        summary=SUMMARY.format(n=n, m=len(digits.test)),
        learners=learners,
        labels=digits.test.labels.numpy(),
        class_names=digits.test.class_names,
        previews=digits.test.inputs.numpy(),
        disagreements=differ,
        facts=[Card("Pairs of training pictures", f"{n * (n - 1) // 2:,}")],
    )
    _print_outcome(learners, differ, digits)
    typer.echo(f"Report: {report}")


def _learn(name: str, criterion: nn.Module, digits: DataSet, epochs: int, seed: int) -> Learner:
    """Train one of the twins; everything but the criterion is the same for both."""
    from likewise.datasets import Augmentation
    from likewise.evaluation import scores
    from likewise.networks import build
    from likewise.reporting import Learner
    from likewise.training import Settings, measure, train_labelled

    network = build("lenet", digits.train.n_classes, tuple(digits.train.inputs.shape[1:]), seed=seed)
    result = train_labelled(
        network,
        digits.train,
        digits,
        criterion,
        Settings(epochs=epochs, learning_rate=3e-3, schedule="one-cycle", device="cpu", seed=seed),
        augment=Augmentation(degrees=10, translate=0.1, scale=(0.9, 1.1)),
    )
    measured = measure(network, digits, criterion)
    probabilities, outputs = measured.test_logits.softmax(1).max(1)
    return Learner(
        name=name,
        history=result.history,
        confusion=measured.test_counts,
        matching=measured.matching,
        scores=scores(measured.test_counts, measured.matching),
        outputs=outputs.numpy(),
        probabilities=probabilities.numpy(),
    )


def _print_outcome(learners: list[Learner], differ: list[int], digits: DataSet) -> None:
    names, labels = digits.test.class_names, digits.test.labels.tolist()
    typer.echo("")
    for learner in learners:
        typer.echo(f"{learner.name:<26} {100 * learner.scores['accuracy']:.2f} % of {len(labels)} unseen digits right")
    pairwise, twin = (learner.predictions for learner in learners)
    typer.echo(f"They differ on {len(differ)}" + (":" if differ else "."))
    for item in differ[:10]:
        said = [names[answer] if answer >= 0 else "no class" for answer in (pairwise[item], twin[item])]
        typer.echo(f"  test picture {item}, a {names[labels[item]]}: MCL says {said[0]}, the twin {said[1]}")
    if len(differ) > 10:
        typer.echo(f"  and {len(differ) - 10} more, in the report")
