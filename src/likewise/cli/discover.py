"""`likewise discover`: the classes of a pile that nobody labelled, by what "same" means on classes that have labels."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from likewise.cli.fitted import training_seconds
from likewise.cli.items import Given, encoder_to_learn, features_or_images, open_for
from likewise.cli.options import (
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
from likewise.cli.predict import prediction_rows, write_csv
from likewise.cli.processes import take_part
from likewise.cli.run import class_sizes, items_in_words, next_commands, open_run, unused_outputs
from likewise.cli.teacher import (
    Images,
    Teacher,
    check_form,
    check_number,
    ignored_labels,
    known_files,
    open_like_known,
    read_known,
    read_similarity,
    saved_files,
)
from likewise.errors import InputError

if TYPE_CHECKING:
    from likewise.encoders import Encoder
    from likewise.estimators import CategoryDiscoverer, SimilarityNetwork
    from likewise.evaluation import PairQuality


def discover(
    unknown: Annotated[
        Path, typer.Option(help="The pile: a folder of images, a table of features, an .npy or .npz file.")
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
            help="The known classes come in groups, Greek/alpha in folders or labels, and the pile is a new group.",
        ),
    ] = False,
    similarity: Annotated[
        Path | None,
        typer.Option(help="In the place of --known: an earlier run, whose similarity is used.", show_default=False),
    ] = None,
    classes: Annotated[
        int | None, typer.Option(min=2, help="How many classes there are; estimated where it is not given.")
    ] = None,
    max_classes: Annotated[
        int, typer.Option(min=2, help="The most classes that there can be, if that is estimated.")
    ] = 100,
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
    _check_source(known, similarity, arguments)
    columns: Sequence[str] = text_columns(text)
    images = Images(size, grey, strict, None, tuple(columns))
    with open_run(out, "discover", arguments) as run:
        if similarity is not None:
            learned = read_similarity(similarity)
            columns = columns or getattr(learned, "feature_names_in_", ())
            again = None if encoder == "auto" else encoder
            stream = open_for(learned, unknown, columns=columns, strict=strict, encoder=again)
            path, files = similarity, saved_files(similarity)
        else:
            assert known is not None
            images = dataclasses.replace(images, encoder=_encoder(known, arguments))
            stream = open_like_known(unknown, known, images)
            path, files = known, known_files(known, images)
        check_number(unknown, len(stream), classes)
        if run.was_finished(files, unknown, stream):
            return
        given = run.read(unknown, stream)
        check_number(unknown, len(given.items), classes)
        teacher = Teacher(path, network=learned) if similarity is not None else read_known(path, images, grouped)
        check_form(teacher, unknown, given)
        if not run.begin(unknown, given, path, unit="row", sha256=teacher.sha256()):
            return
        _discover(unknown, given, teacher, out, arguments)


def _encoder(known: Path, arguments: dict[str, Any]) -> Encoder | None:
    """The encoder that is named, or that suits the known items."""
    from likewise.encoders import Encoder

    asked = (arguments["encoder"], known, text_columns(arguments["text"]))
    name = encoder_to_learn(*asked, size=arguments["size"], grey=arguments["grey"], network=arguments["network"])
    return None if name is None else Encoder(name, device=arguments["device"])


def _check_source(known: Path | None, similarity: Path | None, arguments: dict[str, Any]) -> None:
    """Refuse both of the two options, neither of them, and what does not go with --similarity."""
    if known is not None and similarity is not None:
        raise InputError("Both --known and --similarity are given; leave out --known to use the similarity again.")
    if known is None and similarity is None:
        raise InputError("There is nothing to learn from what is the same; give --known or --similarity.")
    for name in ("network", "similarity_epochs", "grouped", "unit_length"):
        if similarity is not None and arguments[name]:
            option = "--" + name.replace("_", "-")
            raise InputError(f"{option} is for learning a similarity, and --similarity has one; leave {option} out.")


def _discover(unknown: Path, given: Given, teacher: Teacher, out: Path, arguments: dict[str, Any]) -> None:
    """Learn, write the files and print the outcome; metrics.json comes last and says that the run is finished."""
    import numpy as np

    from likewise.estimators import CategoryDiscoverer
    from likewise.storage.atomic_files import open_atomically
    from likewise.storage.records import write_json
    from likewise.storage.run_folder import write_history

    for line in introduction(unknown, given, teacher):
        typer.echo(line)
    similarity = teacher.network or _learn_similarity(teacher, given.encoder, out, arguments)
    for line in similarity_in_words(similarity.quality_, similarity.held_out_kind_):
        typer.echo(line)
    typer.echo(f"Looking for classes among {len(given.items):,} items.")
    found = CategoryDiscoverer(
        arguments["classes"],
        max_classes=arguments["max_classes"],
        similarity=similarity,
        epochs=arguments["epochs"],
        device=arguments["device"],
        precision=arguments["precision"],
        random_state=arguments["seed"],
        verbose=True,
        run=out / "stages",
    ).fit(given.X)
    model = found.classifier_
    probabilities = model.predict_proba(given.X)[np.arange(len(given.items)), found.labels_]  # (n,)
    with open_atomically(out / "classes.csv") as file:
        write_csv(file, iter([prediction_rows(given.items, model.classes_[found.labels_], probabilities)]))
    learned = [] if teacher.network else similarity.history_
    stages = (("similarity", learned), ("classifier", model.history_))
    write_history(out / "history.csv", [{"stage": stage, **row} for stage, rows in stages for row in rows])
    found.save(out)
    metrics = _metrics(found, teacher, out)
    write_json(out / "metrics.json", metrics)
    for line in outcome(out, found, metrics):
        typer.echo(line)


def _learn_similarity(
    teacher: Teacher, encoder: Encoder | None, out: Path, arguments: dict[str, Any]
) -> SimilarityNetwork:
    """What "same" means, saved as soon as it is known."""
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


def _metrics(found: CategoryDiscoverer, teacher: Teacher, out: Path) -> dict[str, Any]:
    import numpy as np

    similarity, model, known = found.similarity_, found.classifier_, teacher.known
    assert similarity is not None
    sizes = np.bincount(found.labels_, minlength=found.n_classes_)
    return {
        "number_of_classes": {
            "estimate": found.number_.estimate,
            "interval": (found.number_.low, found.number_.high),
            "by": found.counted_by_,
            "dominant": found.n_dominant_,  # the paper's NDC
        },
        "classes_found": found.n_classes_,
        "class_sizes": dict(zip(model.classes_.tolist(), sizes.tolist(), strict=True)),
        "unused_outputs": model.unused_outputs_,
        "known": None if known is None else {"items": len(known), "classes": known.n_classes},
        "similarity": {"held_out": similarity.held_out_kind_, **dataclasses.asdict(similarity.quality_)},
        "trust": {**dataclasses.asdict(found.trust_), "doubts": found.trust_.doubts},
        "seconds": training_seconds(out),
    }


# What `likewise discover` says: what it was given, how good the similarity is, what it found, what to do next.
def introduction(unknown: Path, given: Given, teacher: Teacher) -> Iterator[str]:
    """What there is to look for, and to learn from."""
    ignored = ignored_labels(unknown, given.items)
    yield f"{items_in_words(unknown, given)} without labels" + (f"; {ignored}" if ignored else "")
    if teacher.known is None:
        yield f"{teacher.path}: a similarity that was learned before"
        return
    kind = "images" if teacher.known.inputs.ndim == 4 else "items"
    yield f"{teacher.path}: {len(teacher.known):,} {kind} of {teacher.known.n_classes:,} known classes"
    yield "Learning what is the same; Ctrl-C stops, and the same command resumes."


def similarity_in_words(quality: PairQuality, held_out: str) -> Iterator[str]:
    """How right a similarity was about pairs that it had not seen."""
    if held_out != "items":
        yield f"On known {held_out} that were kept back, all of them new to it:"
    else:
        yield "On items that were kept back, of classes that it knows (so that new ones will be harder):"
    for kind in ("same", "different"):
        precision, recall = getattr(quality, f"{kind}_precision"), getattr(quality, f"{kind}_recall")
        n = getattr(quality, f"n_{kind}")
        right = "it never says so" if precision != precision else f"right {100 * precision:.1f} % of the time"
        yield f"  “{kind}”: {right}, and said of {100 * recall:.1f} % of the {n:,} pairs that are"
    yield f"  its probabilities are off by {100 * quality.calibration_error:.1f} percentage points on average"


def outcome(out: Path, found: CategoryDiscoverer, metrics: dict[str, Any]) -> Iterator[str]:
    """The classes, how many, how sure, and what to do with them."""
    from likewise.estimators.category_discoverer import number_in_words

    model = found.classifier_
    yield f"\nFound {found.n_classes_} classes{unused_outputs(model.unused_outputs_, model.n_outputs_)}:"
    yield from class_sizes(model.classes_.tolist(), metrics["class_sizes"])
    yield f"\n{number_in_words(found)}"
    yield trust_in_words(metrics["trust"])
    yield f"\nWrote {out} in {metrics['seconds']:.0f} seconds of training; {out / 'classes.csv'} has each item's class."
    yield "Next:"
    yield from next_commands(out, "discover")


def trust_in_words(trust: dict[str, Any]) -> str:
    """Whether the similarity is sure of the pile's pairs and agrees with itself."""
    confident, closed, alone = (f"{100 * trust[name]:.0f} %" for name in ("confident", "closed", "alone"))
    return (
        f"On this pile the similarity is sure of {confident} of the pairs, agrees with itself in {closed} of the "
        f"chains i = j = k, and takes {alone} of the items for unlike any other."
    )
