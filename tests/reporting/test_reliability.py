"""The reliability diagram shows the bins it was given, with their intervals and counts."""

from __future__ import annotations

import numpy as np
import pytest

from likewise.evaluation import calibration, wilson
from likewise.reporting import reliability_diagram
from likewise.reporting.reliability import KNOWN_PAIRS, in_words

FOUND = calibration([0.02, 0.04, 0.35, 0.93, 0.95, 0.97], [0, 0, 1, 1, 1, 0])


def test_shares_stand_at_their_probability_with_their_interval() -> None:
    shares, _ = reliability_diagram(FOUND).axes
    diagonal, points = shares.lines
    assert np.asarray(diagonal.get_xydata()).tolist() == [[0, 0], [1, 1]]
    np.testing.assert_allclose(np.asarray(points.get_xydata()), [[0.03, 0], [0.35, 1], [0.95, 2 / 3]])
    drawn = [segment[:, 1].tolist() for segment in shares.collections[0].get_segments()]
    assert drawn == [pytest.approx(wilson(*seen)) for seen in ((0, 2), (1, 1), (2, 3))]


def test_counts_are_drawn_and_written() -> None:
    _, counts = reliability_diagram(FOUND).axes
    assert [bar.get_height() for bar in counts.patches] == [2, 0, 0, 1, 0, 0, 0, 0, 0, 3]
    assert [(text.xy[0], text.get_text()) for text in counts.texts] == [
        (pytest.approx(0.05), "2"),
        (pytest.approx(0.35), "1"),
        (pytest.approx(0.95), "3"),
    ]


def test_pairs_of_the_same_items_have_no_interval() -> None:
    """They are not independent, so that it would be too narrow."""
    shares, counts = reliability_diagram(FOUND, kind=KNOWN_PAIRS).axes
    assert not shares.collections
    assert (shares.get_title(loc="left"), counts.get_title(loc="left")) == ("Share that is the same", "Number of pairs")
    np.testing.assert_allclose(np.asarray(shares.lines[1].get_xydata()), [[0.03, 0], [0.35, 1], [0.95, 2 / 3]])


def test_in_words_every_filled_bin_is_told() -> None:
    assert in_words(FOUND) == "0 to 10 %: 0 % of 2; 30 to 40 %: 100 % of 1; 90 to 100 %: 67 % of 3"
    assert in_words(calibration([], [])) == ""
