"""`likewise discover`: the classes of a pile that nobody labelled, by what "same" means on classes that have labels."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from likewise.cli.items import (
    LoadedItems,
    answer_files,
    encoder_to_learn,
    features_or_images,
    index_answers,
    open_for,
    read_answers,
)
from likewise.cli.options import (
    PLACE,
    Device,
    EncoderName,
    Grey,
    Network,
    Precision,
    Processes,
    Seed,
    Size,
    Strict,
    SyncBatchNorm,
    TextColumns,
    UnitLength,
    text_columns,
)
from likewise.cli.outputs import write_csv
from likewise.cli.predict import prediction_rows
from likewise.cli.processes import take_part
from likewise.cli.run import class_sizes, items_in_words, next_commands, open_run, unused_outputs
from likewise.cli.run_files import training_seconds
from likewise.cli.teacher import (
    Images,
    Teacher,
    check_form,
    check_number,
    ignored_labels,
    known_files,
    open_like_known,
    read_classes,
    read_known,
    read_similarity,
    saved_files,
)
from likewise.errors import InputError

if TYPE_CHECKING:
    from likewise.encoders import Encoder
    from likewise.estimators import CategoryDiscoverer, SimilarityNetwork
    from likewise.pairs import Pairs

MANY_CLASSES = 200  # of drawings: a similarity is learned from them, in place of an encoder


def discover(
    unknown: Annotated[
        Path, typer.Option(help="The unlabelled items: a folder of images, a table of features, an .npy or .npz file.")
    ],
    out: Annotated[Path, typer.Option(help="Write to this folder; the same command resumes a stopped run.")],
    known: Annotated[
        Path | None,
        typer.Option(
            help="Labelled items of other classes: a folder of class folders, a table or an .npz with labels.",
            show_default=False,
        ),
    ] = None,
    grouped: Annotated[
        bool,
        typer.Option(
            "--grouped",
            help="The known classes come in groups, such as Greek/alpha in folders or labels; --unknown is a new one.",
        ),
    ] = False,
    similarity: Annotated[
        Path | None,
        typer.Option(help="An earlier run whose similarity is used again, in place of --known.", show_default=False),
    ] = None,
    more: Annotated[
        Path | None,
        typer.Option(
            help="An earlier run whose classes count as known and keep their names, in place of --known.",
            show_default=False,
        ),
    ] = None,
    mixed: Annotated[
        bool,
        typer.Option(
            "--mixed", help="Items of known classes may be in --unknown: they get those names, new classes numbers."
        ),
    ] = False,
    pairs: Annotated[
        str | None,
        typer.Option(
            metavar=PLACE,
            help="The answers about the unlabelled items, if there are any: a table or a store, as for fit.",
            show_default=False,
        ),
    ] = None,
    classes: Annotated[
        int | None,
        typer.Option(
            min=2, help="How many classes there are, with --mixed including the known ones. Default: estimated."
        ),
    ] = None,
    max_classes: Annotated[int, typer.Option(min=2, help="The most classes that an estimate may find.")] = 100,
    network: Network = None,
    similarity_epochs: Annotated[
        int | None, typer.Option(min=1, help="Epochs of learning what is the same; by default 600 to 5,000 steps.")
    ] = None,
    epochs: Annotated[int, typer.Option(min=1, help="Epochs of learning the classes, in each of two rounds.")] = 10,
    encoder: EncoderName = "auto",
    text: TextColumns = None,
    unit_length: UnitLength = False,
    size: Size = 32,
    grey: Grey = False,
    strict: Strict = False,
    seed: Seed = 0,
    device: Device = "auto",
    precision: Precision = "auto",
    processes: Processes = 1,
    sync_batch_norm: SyncBatchNorm = False,
) -> None:
    """Find the classes of items that nobody labelled."""
    take_part(processes, sync_batch_norm)
    arguments = {
        "classes": classes,
        "mixed": mixed,
        "more": more is not None,
        "pairs": pairs,
        "max_classes": max_classes,
        "network": network,
        "grouped": grouped,
        "similarity_epochs": similarity_epochs,
        "epochs": epochs,
        "unit_length": unit_length,
        "encoder": encoder,
        "text": text,
        "size": size,
        "grey": grey,
        "seed": seed,
        "device": device,
        "precision": precision,
    }
    _check_source(known, similarity, more, arguments)
    earlier = similarity or more
    columns: Sequence[str] = text_columns(text)
    images = Images(size, grey, strict, None, tuple(columns))
    with open_run(out, "discover", arguments) as run:
        if earlier is not None:
            learned = read_similarity(earlier) if more is None else read_classes(more)
            columns = columns or getattr(learned, "feature_names_in_", ())
            again = None if encoder == "auto" else encoder
            stream = open_for(learned, unknown, columns=columns, strict=strict, encoder=again)
            path, files = earlier, saved_files(earlier)
        else:
            assert known is not None
            images = dataclasses.replace(images, encoder=_encoder(known, arguments))
            stream = open_like_known(unknown, known, images)
            path, files = known, known_files(known, images)
        check_number(unknown, len(stream), classes)
        answers = None if pairs is None else read_answers(pairs, stream)
        answered, state = ([], "") if pairs is None else answer_files(pairs, answers)
        if run.was_finished([*files, *answered], unknown, stream, state):
            return
        loaded = run.read(unknown, stream)
        check_number(unknown, len(loaded.items), classes)
        teacher = Teacher(path, network=learned) if earlier is not None else read_known(path, images, grouped)
        check_form(teacher, unknown, loaded)
        answers = None if answers is None else index_answers(answers, loaded)
        if not run.begin(unknown, loaded, path, unit="row", sha256=teacher.sha256()):
            return
        _discover(unknown, loaded, teacher, answers, out, arguments)


def _encoder(known: Path, arguments: dict[str, Any]) -> Encoder | None:
    """The encoder that was named, or the default for the known items."""
    from likewise.encoders import Encoder

    asked = (arguments["encoder"], known, text_columns(arguments["text"]))
    form = {key: arguments[key] for key in ("size", "grey", "network")}
    name = encoder_to_learn(*asked, **form, drawings=_number_of_folders(known) < MANY_CLASSES)
    return None if name is None else Encoder(name, device=arguments["device"])


def _number_of_folders(known: Path) -> int:
    """Of images, each of which is a class."""
    from likewise.datasets.images import SUFFIXES, names_below

    return len({Path(name).parent for name in names_below(known, SUFFIXES)}) if known.is_dir() else 0


def _check_source(known: Path | None, similarity: Path | None, more: Path | None, arguments: dict[str, Any]) -> None:
    """Refuse more than one of the three options, none of them, and what does not go with an earlier run."""
    options = [name for name, path in (("--known", known), ("--similarity", similarity), ("--more", more)) if path]
    if options == ["--known", "--similarity"]:
        raise InputError("Both --known and --similarity are given; leave out --known to use the similarity again.")
    if len(options) > 1:
        raise InputError(f"{' and '.join(options)} are given; --more needs nothing beside it, leave the others out.")
    if not options:
        raise InputError("There is nothing to learn from what is the same; give --known or --similarity.")
    for name in ("network", "similarity_epochs", "grouped", "unit_length"):
        if known is None and arguments[name]:
            option = "--" + name.replace("_", "-")
            raise InputError(f"{option} is for learning a similarity, and {options[0]} has one; leave {option} out.")


def _discover(
    unknown: Path, loaded: LoadedItems, teacher: Teacher, answers: Pairs | None, out: Path, arguments: dict[str, Any]
) -> None:
    """Learn, write the files and print the outcome; metrics.json comes last and says that the run is finished."""
    import numpy as np

    from likewise.estimators import CategoryDiscoverer
    from likewise.estimators.discovery_in_words import similarity_in_words
    from likewise.storage.atomic_files import open_atomically
    from likewise.storage.records import write_json
    from likewise.storage.run_folder import write_history

    for line in _introduction(unknown, loaded, teacher):
        typer.echo(line)
    similarity = teacher.network or _learn_similarity(teacher, loaded.encoder, out, arguments)
    for line in similarity_in_words(similarity.quality_, similarity.held_out_kind_):
        typer.echo(line)
    if similarity.metric_ is not None:
        typer.echo(f"Items are compared by {similarity.metric_.in_words()}: no other map did better on known classes.")
    typer.echo(f"Looking for classes among {len(loaded.items):,} items.")
    discoverer = CategoryDiscoverer(
        arguments["classes"],
        max_classes=arguments["max_classes"],
        mixed=arguments["mixed"] or arguments["more"],
        similarity=similarity,
        epochs=arguments["epochs"],
        device=arguments["device"],
        precision=arguments["precision"],
        random_state=arguments["seed"],
        verbose=True,
        run=out / "stages",
    ).fit(loaded.X, pairs=answers)
    model = discoverer.classifier_
    probabilities = discoverer.predict_proba(loaded.X)[np.arange(len(loaded.items)), discoverer.codes_]  # (n,)
    names = discoverer.classes_ if discoverer.mixed else model.classes_
    further = {"new": discoverer.p_new_.astype(np.float32)} if discoverer.mixed else None
    with open_atomically(out / "classes.csv") as file:
        write_csv(file, iter([prediction_rows(loaded.items, names[discoverer.codes_], probabilities, further=further)]))
    learned = [] if teacher.network else similarity.history_
    stages = (("similarity", learned), ("classifier", model.history_))
    write_history(out / "history.csv", [{"stage": stage, **row} for stage, rows in stages for row in rows])
    discoverer.save(out)
    metrics = _metrics(discoverer, teacher, out)
    write_json(out / "metrics.json", metrics)
    for line in _outcome(out, discoverer, metrics):
        typer.echo(line)


def _learn_similarity(
    teacher: Teacher, encoder: Encoder | None, out: Path, arguments: dict[str, Any]
) -> SimilarityNetwork:
    """Learn what "same" means, and save it at once."""
    import numpy as np

    from likewise.estimators import SimilarityNetwork

    assert teacher.known is not None
    learned = SimilarityNetwork(
        arguments["network"],
        epochs=arguments["similarity_epochs"],
        encoder="none" if encoder is None else encoder.facts["name"],
        unit_length=arguments["unit_length"],
        image_size=arguments["size"],
        device=arguments["device"],
        precision=arguments["precision"],
        random_state=arguments["seed"],
        verbose=True,
        run=out / "stages" / "similarity",
    )
    names = np.array(teacher.known.class_names)
    learned.fit(features_or_images(teacher.known), names[teacher.known.labels.numpy()], teacher.groups)
    if teacher.known.columns:
        learned.feature_names_in_ = np.array(teacher.known.columns, dtype=object)
    learned.save(out / "similarity")
    return learned


def _metrics(discoverer: CategoryDiscoverer, teacher: Teacher, out: Path) -> dict[str, Any]:
    import numpy as np

    similarity, model, known = discoverer.similarity_, discoverer.classifier_, teacher.known
    assert similarity is not None
    sizes = np.bincount(discoverer.codes_, minlength=discoverer.n_classes_)
    names = discoverer.classes_ if discoverer.mixed else model.classes_
    return {
        "number_of_classes": {
            "estimate": discoverer.number_.estimate,
            "interval": (discoverer.number_.low, discoverer.number_.high),
            "by": discoverer.counted_by_,
            "dominant": discoverer.n_dominant_,  # the paper's NDC
        },
        "classes_found": discoverer.n_classes_,
        "class_sizes": dict(zip(names.tolist(), sizes.tolist(), strict=True)),
        "known_classes": similarity.classes_.tolist() if discoverer.mixed else None,  # those that may be in the pile
        "known_share": discoverer.known_share_,
        "metric": None if similarity.metric_ is None else similarity.metric_.in_words(),
        "unseen_auroc": None if discoverer.novelty_ is None else discoverer.novelty_.auroc,
        "unused_outputs": model.unused_outputs_,
        "known": None if known is None else {"items": len(known), "classes": known.n_classes},
        "similarity": {"held_out": similarity.held_out_kind_, **dataclasses.asdict(similarity.quality_)},
        "trust": {**dataclasses.asdict(discoverer.trust_), "doubts": discoverer.trust_.doubts},
        "seconds": training_seconds(out),
    }


def _introduction(unknown: Path, loaded: LoadedItems, teacher: Teacher) -> Iterator[str]:
    """What the run looks for, and what it learns from."""
    ignored = ignored_labels(unknown, loaded.items)
    yield f"{items_in_words(unknown, loaded)} without labels" + (f"; {ignored}" if ignored else "")
    if teacher.known is None:
        yield f"{teacher.path}: a similarity that was learned before"
        return
    kind = "images" if teacher.known.inputs.ndim == 4 else "items"
    yield f"{teacher.path}: {len(teacher.known):,} {kind} of {teacher.known.n_classes:,} known classes"
    yield "Learning what is the same; Ctrl-C stops, and the same command resumes."


def _outcome(out: Path, discoverer: CategoryDiscoverer, metrics: dict[str, Any]) -> Iterator[str]:
    """The classes, how many, how sure, and what to do with them."""
    from likewise.estimators.discovery_in_words import mixture_in_words, number_in_words, trust_in_words

    model = discoverer.classifier_
    yield f"\nFound {discoverer.n_classes_} classes{unused_outputs(model.unused_outputs_, model.n_outputs_)}:"
    yield from class_sizes(list(metrics["class_sizes"]), metrics["class_sizes"])
    if words := mixture_in_words(discoverer):
        yield f"\n{words}"
    yield f"\n{number_in_words(discoverer)}"
    yield trust_in_words(metrics["trust"])
    yield f"\nWrote {out} in {metrics['seconds']:.0f} seconds of training; {out / 'classes.csv'} has each item's class."
    yield "Next:"
    yield from next_commands(out, "discover")
