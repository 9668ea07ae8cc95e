"""What `likewise discover` says: what it was given, how good the similarity is, what it found, what to do next."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from likewise.cli.items import LoadedItems
from likewise.cli.run import class_sizes, items_in_words, next_commands, unused_outputs
from likewise.cli.teacher import Teacher, ignored_labels

if TYPE_CHECKING:
    from likewise.estimators import CategoryDiscoverer
    from likewise.evaluation import PairQuality


def introduction(unknown: Path, loaded: LoadedItems, teacher: Teacher) -> Iterator[str]:
    """What there is to look for, and to learn from."""
    ignored = ignored_labels(unknown, loaded.items)
    yield f"{items_in_words(unknown, loaded)} without labels" + (f"; {ignored}" if ignored else "")
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
    from likewise.estimators.discovery_in_words import mixture_in_words, number_in_words

    model = found.classifier_
    yield f"\nFound {found.n_classes_} classes{unused_outputs(model.unused_outputs_, model.n_outputs_)}:"
    yield from class_sizes(list(metrics["class_sizes"]), metrics["class_sizes"])
    if words := mixture_in_words(found):
        yield f"\n{words}"
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
