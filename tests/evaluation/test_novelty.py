"""P(new): calibrated on classes left out, its AUROC, and the share of a pile that is known."""

from __future__ import annotations

import numpy as np
import pytest

from likewise.evaluation import Novelty, auroc, known_share, nearness


def directions(n_classes: int, each: int, seed: int, spread: float = 0.8) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    codes = np.repeat(np.arange(n_classes), each)
    rows = random.normal(size=(n_classes, 12))[codes] + spread * random.normal(size=(len(codes), 12))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True), codes


Z, CODES = directions(30, 40, 0, spread=0.55)
SEEN = CODES < 20
KNOWN = SEEN & (np.arange(len(Z)) % 2 == 0)


def test_unseen_classes_are_told_and_the_probability_is_right_on_average() -> None:
    novelty = Novelty.fit(Z[KNOWN], CODES[KNOWN])
    assert novelty is not None
    later = ~KNOWN
    scores, unseen = nearness(Z[later], Z[KNOWN]), ~SEEN[later]
    assert auroc(novelty.probability(scores), unseen) > 0.9
    assert abs(auroc(novelty.probability(scores), unseen) - novelty.auroc) < 0.07
    p = novelty.probability(scores, prior=float(unseen.mean()))
    for low, high in ((0, 0.3), (0.3, 0.7), (0.7, 1)):
        part = (p >= low) & (p < high)
        assert abs(unseen[part].mean() - p[part].mean()) < 0.2


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.9, 1.0])
@pytest.mark.parametrize("n_known", [3, 20])
def test_the_share_of_a_pile_that_is_known(n_known: int, share: float) -> None:
    """Few known classes do not show how far away new ones will be; nothing of that is used."""
    known = KNOWN & (n_known > CODES)
    random = np.random.default_rng(1)
    old, new = np.flatnonzero(~KNOWN & (n_known > CODES)), np.flatnonzero(~SEEN)
    pile = np.concatenate([random.choice(old, round(300 * share)), random.choice(new, round(300 * (1 - share)))])
    assert abs(known_share(Z[known], Z[pile]) - share) < 0.1


def test_one_class_or_single_items_cannot_tell() -> None:
    assert Novelty.fit(Z[:40], CODES[:40]) is None
    assert Novelty.fit(np.eye(5), np.arange(5)) is None


def test_auroc_counts_pairs() -> None:
    random = np.random.default_rng(0)
    scores, positive = random.integers(5, size=50).astype(float), random.random(50) < 0.4
    pairs = [(a > b) + (a == b) / 2 for a in scores[positive] for b in scores[~positive]]
    assert auroc(scores, positive) == pytest.approx(np.mean(pairs))
    with pytest.raises(ValueError, match="both kinds"):
        auroc(scores, np.ones(50, dtype=bool))
