"""The report of a fitted model in one call: what it learned from, what it found, and what to check again."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from likewise.errors import InputError
from likewise.estimators import CategoryDiscoverer, NetworkClassifier, PairClassifier, SemiSupervisedClassifier
from likewise.estimators.category_discoverer import number_in_words
from likewise.estimators.partial_labels import is_labelled
from likewise.pairs import Ids, Pairs, PairTarget, answers_about
from likewise.pairs.items_of import own_ids
from likewise.reporting.answers_page import ScoredAnswers, write_answers_page
from likewise.reporting.classes import ClassifiedItems
from likewise.reporting.confusion_matrix import Comparison, compare_with_labels
from likewise.reporting.curves import History
from likewise.reporting.discovery_page import SimilarityQuality, write_discovery_page
from likewise.reporting.labels_page import ItemLabels, write_labels_page
from likewise.reporting.page import DASH, Card
from likewise.reporting.previews import Previews, previews_of

FROM_ANSWERS = """\
A network with {outputs} outputs was given {items:,} items and {answers:,} answers, each of which says of two items \
whether they are the same or different. It was never told what any item is: the {classes} classes below are what it \
made of the answers."""
NAMED = " Their names are those of a few labelled items, by which they were called afterwards."
HELD_OUT_ANSWERS = """\
{held_out:,} of the answers were held out: the network did not learn from them, and its figures are for them. """
CHOSEN = "They also decided {what}, so the figures are slightly optimistic."
NO_HELD_OUT_ANSWERS = (
    "No answers were held out, so nothing here says how right it is about pairs that it was not told of."
)

FROM_LABELS = """\
A network with {outputs} outputs was given {items:,} items and the labels of {labels:,} of them. It learned from these \
labels first, and then {method}."""
METHODS = {
    "supervised": "from nothing else",
    "pseudo-label": "from all items, taking for the truth what it holds most likely (Pseudo-Label)",
    "pi-model": "from all items, so as to answer two views of one alike (the Pi-model)",
    "vat": "from all items, so as to answer alike after the change that upsets it most (VAT)",
    "spn-mcl": "from all pairs of items, by what a similarity network made of the labels says of them (SPN-MCL)",
    "pseudo-mcl": "from all pairs of items, by what it says of them itself (Pseudo-MCL)",
    "pseudo-mcl+": "from the pairs of items that it is sure of (Pseudo-MCL+)",
}
HELD_OUT_LABELS = (
    "{held_out:,} further labels were held out: the network did not learn from them, and its figures are for them."
)
NO_HELD_OUT_LABELS = "No labels were held out, so nothing here says how right it is about items without a label."

DISCOVERED = """\
Nobody labelled these {items:,} items. {similarity} says of any two items how likely they are the same. The {classes} \
classes below are what came of asking that of all pairs."""
LEARNED = "A similarity, learned on {classes:,} known classes,"
GIVEN = "A similarity that was given"
UNNAMED_CLASSES = """\
The classes have numbers and no names; a few labelled items give them names (likewise name, or name_classes in \
Python). A class may hold two kinds of things that the similarity cannot tell apart, or be half of a kind: the least \
certain items show it best."""
NAMED_CLASSES = "The names of the classes are those of a few labelled items, by which they were called afterwards."


class Report(NamedTuple):
    """Where a report was written, and what it found in one sentence."""

    path: Path
    finding: str


def report(
    model: PairClassifier | SemiSupervisedClassifier | CategoryDiscoverer,
    X: Any,
    *,
    pairs: Pairs | PairTarget | None = None,
    labels: ArrayLike | None = None,
    held_out: ArrayLike | None = None,
    ids: Ids | None = None,
    previews: Previews | None = None,
    out: Path | str = "report.html",
) -> Report:
    """Write one self-contained HTML file about a fitted model.

    It shows how right and how sure the model is, how it learned, the most and least certain items of each class, and
    the answers or labels that look wrong.

    Parameters
    ----------
    model : PairClassifier, SemiSupervisedClassifier or CategoryDiscoverer
        A fitted model.
    X : array, DataFrame or list of paths
        The items that the model was fitted to, in the form that `fit` takes.
    pairs : Pairs, for a PairClassifier
        The answers that it was fitted to.
    labels : array (n,)
        For a SemiSupervisedClassifier the labels that it was fitted to, -1 (or an empty text) where an item has none.
        For the others, optional: true classes, in the same form, to compare with.
    held_out : array of bool, optional
        Which of the answers (m,), or of the items with a label (n,), the model did not learn from. By default those
        that `fit` held out; a model that was loaded does not know them any more.
    ids : sequence, optional
        The name of each item. By default the paths or the DataFrame's index; without these, its row number.
    previews : sequence, optional
        What to show of each item: a picture (C, H, W) of bytes or a text. By default the items themselves where they
        are images.
    out : path
        The file to write.

    Returns
    -------
    Report
        The file's path, and what it found in one sentence.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> X, y = make_blobs(200, centers=3, random_state=0, cluster_std=0.5)
    >>> pairs = Pairs.from_labels(y, n=150)
    >>> model = PairClassifier(3, epochs=5).fit(X, pairs=pairs)
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     written = report(model, X, pairs=pairs, out=f"{folder}/report.html")
    >>> written.finding
    'The classifier says the opposite of 0 of 150 answers.'
    """
    out = Path(out)
    names = own_ids(X) if ids is None else ids
    shown = previews_of(X) if previews is None else previews
    if isinstance(model, PairClassifier):
        if pairs is None:
            raise InputError("The report of a PairClassifier needs the answers that it was fitted to; give pairs.")
        answers = answers_about(pairs, X, ids)
        return _report_answers(model, X, answers, labels, held_out, names, shown, out)
    if isinstance(model, SemiSupervisedClassifier):
        if labels is None:
            raise InputError("The report of a SemiSupervisedClassifier needs labels; give those it was fitted to.")
        return _report_labels(model, X, labels, held_out, names, shown, out)
    if isinstance(model, CategoryDiscoverer):
        return _report_discovery(model, X, labels, names, shown, out)
    raise InputError(
        "A report is of a PairClassifier, a SemiSupervisedClassifier or a CategoryDiscoverer, "
        f"got {type(model).__name__}."
    )


def _report_answers(
    model: PairClassifier,
    X: Any,
    answers: Pairs,
    labels: ArrayLike | None,
    held_out: ArrayLike | None,
    ids: Ids | None,
    previews: Previews | None,
    out: Path,
) -> Report:
    kept_back = np.isin(answers.lines, model.held_out_.lines) if held_out is None else _mask(held_out, len(answers))
    counted = answers.weight > 0  # the others count as not given
    answers, kept_back = answers.select(counted), kept_back[counted]
    items = _classified(model, X, ids, previews)
    scored = _scored(model, X, answers)
    write_answers_page(
        out,
        items,
        scored,
        held_out=_scored(model, X, answers.select(kept_back)),
        title=f"{len(items.classes)} classes, learned from {len(answers):,} answers",
        summary=_answers_summary(model, len(items), len(items.classes), len(answers), int(kept_back.sum())),
        history=model.history_,
        facts=_facts(model),
        comparison=_comparison(items, labels, by_name=model.naming_.named),
    )
    return Report(
        out, f"The classifier says the opposite of {len(scored.contradicted()):,} of {len(answers):,} answers."
    )


def _answers_summary(model: PairClassifier, n_items: int, n_classes: int, n_answers: int, n_held_out: int) -> str:
    learned = FROM_ANSWERS.format(outputs=model.n_outputs_, items=n_items, answers=n_answers, classes=n_classes)
    if model.naming_.named:
        learned += NAMED
    if not n_held_out:
        return f"{learned}\n\n{NO_HELD_OUT_ANSWERS}"
    decided = []
    if model.unlabelled:
        was = "was" if model.unlabelled_ else "was not"
        decided.append(f"whether to keep a second stage, which uses the pairs that nobody answered (it {was} kept)")
    if model.patience:
        decided.append("when each stage ended")
    chosen = CHOSEN.format(what=" and ".join(decided)) if decided else "They decided nothing else."
    return f"{learned}\n\n{HELD_OUT_ANSWERS.format(held_out=n_held_out)}{chosen}"


def _scored(model: PairClassifier, X: Any, answers: Pairs) -> ScoredAnswers:
    similarity = model.predict_same(X, np.stack([answers.left, answers.right], axis=1)).clip(0, 1)
    return ScoredAnswers(answers.left, answers.right, answers.same, similarity, answers.lines, answers.source.unit)


def _report_labels(
    model: SemiSupervisedClassifier,
    X: Any,
    labels: ArrayLike,
    held_out: ArrayLike | None,
    ids: Ids | None,
    previews: Previews | None,
    out: Path,
) -> Report:
    items = _classified(model, X, ids, previews)
    rows, names = _labelled(labels, len(items))
    held_out_rows = getattr(model, "held_out_", ()) if held_out is None else np.flatnonzero(_mask(held_out, len(items)))
    labelled = ItemLabels(rows, names, np.isin(rows, held_out_rows))
    n_held_out = int(labelled.held_out.sum())
    learned = FROM_LABELS.format(
        outputs=model.n_outputs_, items=len(items), labels=model.n_labelled_, method=METHODS[model.method_]
    )
    measured = HELD_OUT_LABELS.format(held_out=n_held_out) if n_held_out else NO_HELD_OUT_LABELS
    write_labels_page(
        out,
        items,
        labelled,
        title=f"{len(items.classes)} classes, learned from {model.n_labelled_:,} labels",
        summary=f"{learned}\n\n{measured}",
        history=model.history_,
    )
    wrong = int((~labelled.agree(items)).sum())
    return Report(out, f"The classifier says otherwise than {wrong:,} of {len(labelled):,} labels.")


def _report_discovery(
    model: CategoryDiscoverer,
    X: Any,
    labels: ArrayLike | None,
    ids: Ids | None,
    previews: Previews | None,
    out: Path,
) -> Report:
    classifier, similarity = model.classifier_, model.similarity_
    probabilities = model.predict_proba(X)  # (n, n_classes_)
    fitted = len(model.labels_) == len(probabilities)
    found = model.labels_ if fitted else probabilities.argmax(1)
    naming = classifier.naming_
    outputs = naming.columns[naming.columns >= 0].tolist()
    place = np.array([outputs.index(output) for output in model.outputs_])  # of each class among those with a title
    items = ClassifiedItems(naming.titles, place[found], probabilities[np.arange(len(found)), found], previews, ids)
    given = GIVEN if similarity is None else LEARNED.format(classes=len(similarity.classes_))
    asked = DISCOVERED.format(items=len(items), similarity=given, classes=len(items.classes))
    histories: dict[str, History] = {} if similarity is None else {"Similarity": similarity.history_}
    write_discovery_page(
        out,
        items,
        title=f"{len(items.classes)} classes in {len(items):,} items that nobody labelled",
        summary=f"{asked}\n\n{NAMED_CLASSES if naming.named else UNNAMED_CLASSES}",
        number=model.number_,
        about_number=number_in_words(model),
        quality=None
        if similarity is None
        else SimilarityQuality(
            similarity.quality_, similarity.calibration_, new_classes=similarity.held_out_kind_ != "items"
        ),
        trust=model.trust_,
        histories={**histories, "Classifier": classifier.history_},
        facts=_facts(classifier),
        comparison=_comparison(items, labels, by_name=naming.named),
    )
    doubts = f"Do not trust the classes: on these items, {'; '.join(model.trust_.doubts)}."
    return Report(out, doubts if model.trust_.doubts else number_in_words(model))


def _classified(model: NetworkClassifier, X: Any, ids: Ids | None, previews: Previews | None) -> ClassifiedItems:
    """The items with the class and the probability that the model gives them."""
    probabilities = model.predict_proba(X)[:, model.naming_.columns >= 0]  # (n, classes)
    return ClassifiedItems(
        model.naming_.titles,
        probabilities.argmax(1),
        probabilities.max(1),
        previews,
        None if ids is None else list(ids),
    )


def _comparison(items: ClassifiedItems, labels: ArrayLike | None, *, by_name: bool) -> Comparison | None:
    """The classes beside true ones, where these are known."""
    if labels is None:
        return None
    rows, names = _labelled(labels, len(items))
    if not len(rows):
        raise InputError("labels holds no label, all of it is -1; leave it out, or label some items.")
    return compare_with_labels(items.classes, items.outputs[rows], names, by_name=by_name)


def _labelled(labels: ArrayLike, n: int) -> tuple[NDArray[np.int64], list[str]]:
    """The items with a label, and their labels as a page shows them."""
    y = np.asarray(labels)
    if y.shape != (n,):
        raise InputError(f"labels must be one for each of {n} items, -1 where there is none, got shape {y.shape}.")
    rows = np.flatnonzero(is_labelled(y))
    return rows, [str(label) for label in y[rows].tolist()]


def _facts(model: PairClassifier) -> list[Card]:
    facts = []
    if model.n_classes_interval_ is not None:
        low, high = model.n_classes_interval_
        facts.append(Card("Estimated classes", f"{model.n_outputs_}", f"({low}{DASH}{high})", "90 % interval"))
    if model.unused_outputs_:
        facts.append(Card("Unused outputs", f"{model.unused_outputs_}", f"of {model.n_outputs_}"))
    if model.noise_:
        facts.append(Card("Rate of wrong answers", f"{100 * model.noise_:.1f}", "%"))
    return facts


def _mask(held_out: ArrayLike, n: int) -> NDArray[np.bool_]:
    mask = np.asarray(held_out)
    if mask.dtype != np.bool_ or mask.shape != (n,):
        raise InputError(f"held_out must be {n} values of True or False, got {mask.dtype} of shape {mask.shape}.")
    return mask
