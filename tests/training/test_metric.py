"""The light metric: the plain cosine unless known classes that were kept back want another, and what each form is."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from likewise.training.metric import LIFT, MetricForm, choose_metric, fit_metric


def directions(n_classes: int = 8, each: int = 25, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Items of unit length around random directions."""
    random = np.random.default_rng(seed)
    codes = np.repeat(np.arange(n_classes), each)
    rows = random.normal(size=(n_classes, 20))[codes] + 0.5 * random.normal(size=(len(codes), 20))
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32), codes


def test_the_plain_cosine_is_the_items_themselves() -> None:
    rows, codes = directions()
    assert choose_metric(rows, codes, 0) == MetricForm()
    np.testing.assert_allclose(fit_metric(MetricForm(), rows, codes).embed(rows.astype(np.float64)), rows, atol=1e-6)


def test_spread_within_classes_that_says_nothing_is_evened_out() -> None:
    rows, codes = directions()
    random = np.random.default_rng(1)
    along = np.linalg.qr(random.normal(size=(20, 2)))[0].T  # (2, 20) directions that are no column's
    noisy = rows + (2 * random.normal(size=(len(rows), 2)) @ along).astype(np.float32)
    form = choose_metric(noisy, codes, 0)
    assert form.whitened < 1
    weight = fit_metric(form, noisy, codes).weight
    assert np.linalg.norm(weight @ along[0]) < np.linalg.norm(weight, 2) / 3


def test_distances_where_classes_lie_in_one_direction() -> None:
    rows, codes = make_blobs(200, centers=[[5.0, 5.0], [10.0, 10.0], [20.0, 20.0], [30.0, 30.0]], random_state=0)
    assert choose_metric(rows.astype(np.float32), codes, 0).distance


def test_what_stays_where_known_classes_want_nothing_else() -> None:
    """Lengths tell nothing of embeddings, but the columns of a small table are measures."""
    random = np.random.default_rng(0)
    codes = np.repeat(np.arange(6), 20)
    for width, form in ((120, MetricForm()), (5, MetricForm(centred=True, distance=True))):
        rows = 20 * random.normal(size=(6, width))[codes] + random.normal(size=(120, width))
        assert choose_metric(rows.astype(np.float32), codes, 0) == form


def test_whitening_is_the_inverse_root_of_the_shrunk_covariance() -> None:
    random = np.random.default_rng(0)
    codes = np.repeat(np.arange(3), 100)
    rows = random.normal(size=(300, 4)) @ np.diag([3.0, 1.0, 1.0, 0.2])
    within = np.concatenate([rows[codes == c] - rows[codes == c].mean(0) for c in range(3)])
    w = within.T @ within
    shrunk = 0.9 * w * 4 / np.trace(w) + 0.1 * np.eye(4)
    weight = fit_metric(MetricForm(whitened=0.1), rows, codes).weight
    np.testing.assert_allclose(weight @ shrunk @ weight.T, np.eye(4), atol=1e-8)


def test_with_fewer_items_than_columns_it_is_the_same_map() -> None:
    rows, codes = directions(3, 4)
    wide = np.concatenate([rows, np.zeros((12, 30), np.float32)], axis=1).astype(np.float64)
    weight = fit_metric(MetricForm(whitened=0.2), wide, codes).weight
    within = np.concatenate([wide[codes == c] - wide[codes == c].mean(0) for c in range(3)])
    w = within.T @ within
    np.testing.assert_allclose(
        weight @ (0.8 * w * 50 / np.trace(w) + 0.2 * np.eye(50)) @ weight.T, np.eye(50), atol=1e-6
    )


def test_a_long_constant_makes_angles_follow_distances() -> None:
    rows = np.random.default_rng(0).normal(size=(50, 3))
    found = fit_metric(MetricForm(centred=True, distance=True), rows, np.zeros(50, np.int64))
    assert found.bias[-1] == pytest.approx(LIFT * np.sqrt(((rows - rows.mean(0)) ** 2).sum(1).mean()))
    near = np.linalg.norm(rows[:, None] - rows, axis=2).argsort(1)[:, 1]
    z = found.embed(rows)
    alike = z @ z.T - 2 * np.eye(50)
    assert (alike.argmax(1) == near).mean() > 0.85


def test_two_classes_of_two_items_are_enough() -> None:
    rows = np.array([[1, 0], [1, 0.1], [0, 1], [0.1, 1]], dtype=np.float32)
    assert isinstance(choose_metric(rows, np.array([0, 0, 1, 1]), 0), MetricForm)
