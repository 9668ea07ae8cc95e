"""The confusion matrix as a figure: every count at its place, right and wrong by their share."""

from __future__ import annotations

import numpy as np
from matplotlib.colors import to_hex

from likewise.reporting import confusion_figure
from likewise.reporting.palette import LIGHT


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
