"""The report of a fitted model in one call: what it learned from, what it found, and what to check again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from likewise.errors import InputError
from likewise.estimators import CategoryDiscoverer, PairClassifier, SemiSupervisedClassifier
from likewise.estimators.semi_supervised import is_labelled
from likewise.pairs import Ids, Pairs, PairTarget, answers_about, paths_of
from likewise.pairs.target import own_ids
from likewise.reporting.answers_page import report_answers
from likewise.reporting.confusion_matrix import Comparison, compare_with_labels
from likewise.reporting.discovery_page import report_discovery
from likewise.reporting.gallery import ClassifiedItems, Previews, previews_of
from likewise.reporting.labels_page import ItemLabels, report_labels
from likewise.reporting.page import Report


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
        are images or texts.
    out : path
        The file to write.

    Returns
    -------
    Report
        The file's path, and what it found in a sentence or two.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> X, y = make_blobs(200, centers=3, random_state=0, cluster_std=0.5)
    >>> pairs = Pairs.from_labels(y, n=150)
    >>> model = PairClassifier(3, epochs=5).fit(X, pairs=pairs)
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     written = report(model, X, pairs=pairs, out=f"{folder}/report.html")
    >>> print(written.finding)
    The classifier says the opposite of 0 of 150 answers.
    No answer looks wrong.
    """
    path = Path(out)
    shown = previews_of(X) if previews is None else previews
    texts = isinstance(shown, list) and paths_of(X) == shown  # too long for names
    items = _classified(model, X, ids if ids is not None or texts else own_ids(X), shown)
    if isinstance(model, SemiSupervisedClassifier):
        if labels is None:
            raise InputError("The report of a SemiSupervisedClassifier needs the labels it was fitted to; give labels.")
        rows, names = _labelled(labels, len(items))
        mask = _held_out_rows(model, len(items)) if held_out is None else _mask(held_out, len(items))
        return report_labels(model, items, ItemLabels(rows, names, mask[rows]), out=path)
    comparison = None if labels is None else _comparison(model, items, labels)
    if isinstance(model, CategoryDiscoverer):
        return report_discovery(model, items, comparison=comparison, out=path)
    if pairs is None:
        raise InputError("The report of a PairClassifier needs the answers that it was fitted to; give pairs.")
    answers = answers_about(pairs, X, ids)
    mask = np.isin(answers.lines, model.held_out_.lines) if held_out is None else _mask(held_out, len(answers))
    return report_answers(model, X, items, answers, held_out=mask, comparison=comparison, out=path)


def _classified(model: Any, X: Any, ids: Ids | None, previews: Previews | None) -> ClassifiedItems:
    """The items with the class and the probability that the model gives them."""
    if isinstance(model, CategoryDiscoverer):
        naming, probabilities = model.classifier_.naming_, model.predict_proba(X)  # (n, n_classes_)
        titled = naming.columns[naming.columns >= 0].tolist()
        place = np.array([titled.index(output) for output in model.outputs_])  # of each class among the titles
        classes = model.codes_ if len(model.codes_) == len(probabilities) else probabilities.argmax(1)
        outputs, sure = place[classes], probabilities[np.arange(len(classes)), classes]
    elif isinstance(model, PairClassifier | SemiSupervisedClassifier):
        naming = model.naming_
        probabilities = model.predict_proba(X)[:, naming.columns >= 0]  # (n, classes)
        outputs, sure = probabilities.argmax(1), probabilities.max(1)
    else:
        kinds = "a PairClassifier, a SemiSupervisedClassifier or a CategoryDiscoverer"
        raise InputError(f"A report is of {kinds}, got {type(model).__name__}.")
    return ClassifiedItems(naming.titles, outputs, sure, previews, None if ids is None else list(ids))


def _comparison(model: PairClassifier | CategoryDiscoverer, items: ClassifiedItems, labels: ArrayLike) -> Comparison:
    """The classes beside true ones: by name, where the classes have names."""
    rows, names = _labelled(labels, len(items))
    if not len(rows):
        raise InputError("labels holds no label, all of it is -1; leave it out, or label some items.")
    classifier = model.classifier_ if isinstance(model, CategoryDiscoverer) else model
    mixed = isinstance(model, CategoryDiscoverer) and model.mixed  # then new classes have numbers, which no label has
    return compare_with_labels(
        items.classes, items.outputs[rows], names, by_name=classifier.naming_.named and not mixed
    )


def _labelled(labels: ArrayLike, n: int) -> tuple[NDArray[np.int64], list[str]]:
    """The items with a label, and their labels as a page shows them."""
    y = np.asarray(labels)
    if y.shape != (n,):
        raise InputError(f"labels must be one for each of {n} items, -1 where there is none, got shape {y.shape}.")
    rows = np.flatnonzero(is_labelled(y))
    return rows, [str(label) for label in y[rows].tolist()]


def _held_out_rows(model: SemiSupervisedClassifier, n: int) -> NDArray[np.bool_]:
    return np.isin(np.arange(n), getattr(model, "held_out_", ()))


def _mask(held_out: ArrayLike, n: int) -> NDArray[np.bool_]:
    mask = np.asarray(held_out)
    if mask.dtype != np.bool_ or mask.shape != (n,):
        raise InputError(f"held_out must be {n} values of True or False, got {mask.dtype} of shape {mask.shape}.")
    return mask
