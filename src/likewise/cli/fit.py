"""`likewise fit`: a classifier from items and same-or-different answers about them, in a folder."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from likewise.cli import run_files
from likewise.cli.check import mixed_up_classes, rates_table, verdicts
from likewise.cli.items import (
    NOT_THE_MODELS,
    LoadedItems,
    answer_files,
    are_large,
    close_answers,
    encoded_anew,
    index_answers,
    open_to_learn,
    read_answers,
)
from likewise.cli.options import (
    ANSWERS,
    LEARNING,
    PLACE,
    BatchSize,
    Device,
    EncoderName,
    FineTune,
    Grey,
    ItemsPath,
    LearningRate,
    Network,
    OnDisk,
    Precision,
    Processes,
    Seed,
    Size,
    Strict,
    SyncBatchNorm,
    TextColumns,
    UnitLength,
    Views,
)
from likewise.cli.processes import take_part
from likewise.cli.run import BESIDE, class_sizes, items_in_words, next_commands, open_run, unused_outputs
from likewise.errors import InputError

if TYPE_CHECKING:
    from likewise.estimators import PairClassifier
    from likewise.pairs import LargeAnswers, Pairs

NOISE = ("auto", "annotators", "confusion", "learn")


def fit(
    items: ItemsPath,
    pairs: Annotated[str, typer.Option(metavar=PLACE, help=ANSWERS)],
    out: Annotated[Path, typer.Option(help="Write to this folder. The same command resumes a stopped run.")],
    classes: Annotated[
        int | None,
        typer.Option(
            min=2,
            help="How many classes there are, or more: unused outputs are dropped. Default: an estimate.",
            rich_help_panel=LEARNING,
        ),
    ] = None,
    network: Network = None,
    epochs: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Epochs of each training stage. Default: 400 steps, or more for many answers.",
            rich_help_panel=LEARNING,
        ),
    ] = None,
    batch_size: BatchSize = 100,
    learning_rate: LearningRate = 3e-3,
    noise: Annotated[
        str,
        typer.Option(
            metavar="auto|annotators|confusion|learn|RATE",
            help="The rate of wrong answers. auto: one rate per annotator, estimated from all answers together. "
            "annotators: the same, pair by pair. confusion: one per pair of classes. learn: one for all. "
            "0: every answer is right.",
            rich_help_panel=LEARNING,
        ),
    ] = "auto",
    group_first: Annotated[
        bool,
        typer.Option(
            "--group-first/--no-group-first",
            help="Whether to cluster the items first, and to begin with these groups.",
            rich_help_panel=LEARNING,
        ),
    ] = True,
    unlabelled: Annotated[
        bool,
        typer.Option(
            "--unlabelled/--no-unlabelled",
            help="Whether to learn from the pairs that nobody answered, too.",
            rich_help_panel=LEARNING,
        ),
    ] = True,
    held_out: Annotated[
        float,
        typer.Option(
            min=0, max=0.5, help="The share of the answers that is held out to measure with.", rich_help_panel=LEARNING
        ),
    ] = 0.1,
    patience: Annotated[
        int,
        typer.Option(
            min=0,
            help="Epochs without a better held-out loss after which a stage ends. 0: a stage never ends early.",
            rich_help_panel=LEARNING,
        ),
    ] = 0,
    encoder: EncoderName = "auto",
    fine_tune: FineTune = False,
    views: Views = 0,
    text: TextColumns = None,
    unit_length: UnitLength = False,
    size: Size = 32,
    grey: Grey = False,
    strict: Strict = False,
    on_disk: OnDisk = False,
    seed: Seed = 0,
    device: Device = "auto",
    precision: Precision = "auto",
    processes: Processes = 1,
    sync_batch_norm: SyncBatchNorm = False,
) -> None:
    """Learn classes from same-or-different answers about your items."""
    arguments = {name: value for name, value in locals().items() if name not in BESIDE} | {"noise": _noise(noise)}
    take_part(processes, sync_batch_norm)

    with open_run(out, "fit", arguments) as run:
        stream = open_to_learn(items, arguments, strict=strict)
        large = are_large(pairs, out)
        if large and arguments["noise"] not in (0, "auto"):
            raise InputError(f"{pairs} is too large to be read whole, which --noise needs; leave it out.")
        answers = None if large else read_answers(pairs, stream)
        source = pairs if answers is None else answers.source.file
        files, state = answer_files(pairs, answers)
        if run.was_finished(files, items, stream, state):
            return
        loaded = run.read(items, stream, on_disk=on_disk, strict=strict)
        if answers is None:
            placed: Pairs | LargeAnswers = close_answers(Path(pairs), loaded, out / "answers", held_out, seed)
        else:
            by_annotator = arguments["noise"] in ("auto", "annotators")
            placed = index_answers(answers if by_annotator else _merged(answers), loaded)
        if not run.begin(items, loaded, source, unit=placed.source.unit, sha256=run_files.answers_sha256(placed)):
            return
        _learn(items, loaded, placed, out, arguments)


def _merged(answers: Pairs) -> Pairs:
    """One answer for each pair, where there are several annotators."""
    merged = answers.merged()
    if merged is not answers:
        typer.echo(
            f"{answers.source.file}: {len(answers):,} answers of {len(answers.annotators)} annotators are merged into "
            f"{len(merged):,}, by how reliable each annotator is; likewise check shows it."
        )
    return merged


def _noise(text: str) -> float | str:
    if text in NOISE:
        return text
    try:
        rate = float(text)
    except ValueError:
        rate = -1.0
    if not 0 <= rate < 0.5:
        raise InputError(f"--noise must be {', '.join(NOISE)}, or a rate from 0 to below 0.5, got {text!r}.")
    return rate


def _learn(
    items: Path, loaded: LoadedItems, answers: Pairs | LargeAnswers, out: Path, arguments: dict[str, Any]
) -> None:
    """Train, write the files and print the outcome; metrics.json comes last and says that the run is finished."""
    import numpy as np

    from likewise.estimators import PairClassifier
    from likewise.pairs import Pairs
    from likewise.storage.records import write_json
    from likewise.storage.run_folder import write_history

    if arguments["classes"] is not None and arguments["classes"] > len(loaded.items):
        raise InputError(f"--classes is {arguments['classes']}, but there are {len(loaded.items)} items; give fewer.")
    for line in _introduction(items, loaded, answers, arguments["classes"]):
        typer.echo(line)
    if isinstance(answers, Pairs):
        _warn_of_self_pairs(answers)
    parameters = {name: value for name, value in arguments.items() if name not in NOT_THE_MODELS}
    model = PairClassifier(
        arguments["classes"],
        **parameters,
        encoder=loaded.encoder_name,
        image_size=arguments["size"],
        random_state=arguments["seed"],
        verbose=True,
        run=out / "stages",
    )
    by_row = dataclasses.replace(answers, ids=None) if isinstance(answers, Pairs) else answers
    model.fit(loaded.raw() if model.fine_tune or model.views else loaded.X, pairs=by_row)
    loaded = encoded_anew(loaded, model)
    metrics = _metrics(model, loaded, out)
    written = answers if isinstance(answers, Pairs) else answers.some(loaded.items.ids)
    held_out = np.isin(written.lines, model.held_out_.lines)
    run_files.write_answers(out / "answers.parquet", written, held_out, model.p_wrong_)
    write_history(out / "history.csv", model.history_)
    model.save(out)
    write_json(out / "metrics.json", metrics)
    for line in _outcome(out, model, metrics):
        typer.echo(line)


def _metrics(model: PairClassifier, loaded: LoadedItems, out: Path) -> dict[str, Any]:
    import numpy as np

    from likewise.evaluation import pair_accuracy, share_interval

    held_out = model.held_out_
    asked = np.stack([held_out.left, held_out.right], axis=1)
    similarity = model.predict_same(loaded.X, asked)
    measured = pair_accuracy(similarity, held_out.same)
    right = (similarity > 0.5) == (held_out.same > 0.5)
    predicted, sizes = np.unique(model.predict(loaded.X), return_counts=True)
    return {
        "held_out": {
            "answers": measured.n,
            "right": measured.hits,
            "accuracy": measured.accuracy,
            "interval": share_interval(right, held_out.left, held_out.right) if measured.n else None,
            "same": measured.n_same,
            "same_recall": measured.same_recall,
            "different": measured.n_different,
            "different_recall": measured.different_recall,
        },
        "number_of_classes": {"estimate": model.n_outputs_, "interval": model.n_classes_interval_},
        "classes_found": len(model.classes_),
        "class_sizes": dict(zip(predicted.tolist(), sizes.tolist(), strict=True)),
        "unused_outputs": model.unused_outputs_,
        "noise": model.noise_,
        "answers": model.credibility_,
        "mixed_up": mixed_up_classes(model),
        "stage": "unlabelled" if model.unlabelled_ else "answers",
        "grouped": model.grouped_,
        "fine_tuned": model.encoder_weights_ is not None,
        "starts": len(list(out.glob("stages/start-*"))),
        "seconds": run_files.training_seconds(out),
    }


def _warn_of_self_pairs(answers: Pairs) -> None:
    itself = int(((answers.left == answers.right) & (answers.weight > 0)).sum())
    if itself:
        what = "1 answer that pairs" if itself == 1 else f"{itself:,} answers that pair"
        warnings.warn(f"Ignoring {what} an item with itself.", stacklevel=2)


def _introduction(
    items: Path, loaded: LoadedItems, answers: Pairs | LargeAnswers, classes: int | None
) -> Iterator[str]:
    from likewise.pairs import Pairs

    if isinstance(answers, Pairs):
        counted = answers.weight > 0  # the others count as not given
        same, different = int((counted & (answers.same > 0.5)).sum()), int((counted & (answers.same < 0.5)).sum())
        total = int(counted.sum())
    else:
        same, different, total = answers.n_same, answers.n_different, len(answers)
    yield items_in_words(items, loaded)
    yield f"{answers.source.file}: {total:,} answers, {same:,} same and {different:,} different"
    what = "classes, whose number is estimated" if classes is None else f"{classes} classes"
    yield f"Learning {what}; Ctrl-C stops, and the same command resumes."


def _outcome(out: Path, model: PairClassifier, metrics: dict[str, Any]) -> Iterator[str]:
    sizes, interval = metrics["class_sizes"], model.n_classes_interval_
    if interval is not None:
        yield f"\nThere seem to be {model.n_outputs_} classes (90 % interval {interval[0]} to {interval[1]})."
    yield f"\nFound {len(model.classes_)} classes{unused_outputs(model.unused_outputs_, model.n_outputs_)}:"
    yield from class_sizes(model.classes_.tolist(), sizes)
    yield f"\n{_held_out_in_words(metrics['held_out'])}"
    yield from _wrong_answers(metrics)
    if model.fine_tune:
        yield "The encoder's last blocks " + (
            "were trained too."
            if model.encoder_weights_ is not None
            else "stay as they were: held-out answers do not support training them."
        )
    if model.grouped_:
        yield "The items show the classes: the network began with groups on which the items and the answers agree."
    if model.unlabelled_ is not None:
        used = "were used too" if model.unlabelled_ else "were tried and left out"
        chosen = "; the held-out answers decided that, so the figures are slightly optimistic"
        yield f"The pairs that nobody answered {used}{chosen if metrics['held_out']['answers'] else ''}."
    yield f"\nWrote {out} in {metrics['seconds']:.0f} seconds of training. Next:"
    yield from next_commands(out, "fit")


def _wrong_answers(metrics: dict[str, Any]) -> Iterator[str]:
    """How many answers look wrong, and whose."""
    from likewise.pairs.credible import mixed_up_in_words, wrong_in_words

    facts = metrics["answers"]
    if metrics["mixed_up"] is not None:
        yield mixed_up_in_words(metrics["mixed_up"])
    if facts is None:
        if metrics["noise"]:
            yield f"The rate of wrong answers is taken to be {100 * metrics['noise']:.1f} %."
        return
    yield wrong_in_words(facts)
    if facts["supported"] and len(facts["rates"]) > 1:
        yield from rates_table(facts["rates"])
        yield from verdicts(facts["rates"])
    if n := len(facts["outliers"]):
        what = "1 item fits" if n == 1 else f"{n:,} items fit"
        yield f"{what} no class, or more than one; the report shows {'it' if n == 1 else 'them'}."


def _held_out_in_words(measured: dict[str, Any]) -> str:
    if not measured["answers"]:
        return "No answers were held out, so its accuracy on other pairs is not known."
    low, high = (100 * end for end in measured["interval"])
    kinds = (
        (kind, round(measured[f"{kind}_recall"] * measured[kind]), measured[kind]) for kind in ("same", "different")
    )
    return (
        f"It is right about {measured['right']:,} of {measured['answers']:,} held-out answers, "
        f"{100 * measured['accuracy']:.1f} % (95 % interval {low:.1f} to {high:.1f}): "
        + ", ".join(f"{hits:,} of {n:,} {kind}" for kind, hits, n in kinds)
        + "."
    )
