"""The confusion matrix as a figure: every count at its place, right and wrong by their share."""

from __future__ import annotations

import numpy as np
from matplotlib.colors import to_hex

from likewise.reporting import confusion_figure
from likewise.reporting.confusion_matrix import compare_with_labels
from likewise.reporting.drawing import LIGHT


def test_confusion_figure_writes_every_count_at_its_place() -> None:
    confusion = np.array([[0, 7, 1], [5, 0, 0], [0, 0, 0], [2, 0, 9]])
    [axes] = confusion_figure(confusion, np.array([1, 0, -1, 2]), ("a", "b", "c")).axes
    drawn = np.full((4, 3), -1)
    for text in axes.texts:
        column, row = text.get_position()
        drawn[int(row), int(column)] = int(text.get_text())
    assert drawn.tolist() == confusion[[1, 0, 3, 2]].tolist()
    assert [label.get_text() for label in axes.get_yticklabels()] == ["1 → a", "0 → b", "3 → c", "2 → unmatched"]


def test_confusion_figure_colours_right_and_wrong_by_their_share() -> None:
    [axes] = confusion_figure(np.array([[3, 1], [0, 0]]), np.array([0, -1]), ("a", "b")).axes
    image = np.asarray(axes.images[0].get_array())  # (K, C, 4)
    assert [to_hex(colour[:3]) for colour in image[0]] == [LIGHT["right"], LIGHT["wrong"]]
    assert image[0, 0, 3] > image[0, 1, 3] > 0
    assert image[1, :, 3].tolist() == [0, 0]


def test_classes_beside_labels_by_name_or_by_matching() -> None:
    outputs, labels = np.array([0, 0, 1, 1, 2]), ["bee", "bee", "ant", "bee", "cat"]
    by_name = compare_with_labels(["ant", "bee", "output 2"], outputs, labels, by_name=True)
    assert (by_name.hits, by_name.n, by_name.matched) == (1, 5, False)
    assert [(row.output, row.name) for row in by_name.matrix.rows] == [
        ("", "ant"),
        ("", "bee"),
        ("output 2", "unmatched"),
    ]
    for classes, named in ((["class 0", "class 1", "class 2"], False), (["x", "y", "z"], True)):
        matched = compare_with_labels(classes, outputs, labels, by_name=named)
        assert (matched.hits, matched.n, matched.matched) == (4, 5, True)
        assert [row.output for row in matched.matrix.rows] == [classes[1], classes[0], classes[2]]
