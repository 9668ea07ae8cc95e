"""What there is to learn from, out of class labels or of answers, checked and with a part held out."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import assert_all_finite
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, column_or_1d
from torch import Tensor

from likewise.datasets import in_pieces
from likewise.distributed import from_first
from likewise.errors import InputError
from likewise.estimators.wrong_answers import Noise, is_by_annotator
from likewise.pairs import Ids, LargeAnswers, Pairs, PairTarget, answers_about
from likewise.pairs.annotators import without_random_numbers
from likewise.storage.records import fingerprint
from likewise.supervision import AnswerKnowledge, ClosureKnowledge, EvidenceKnowledge, Known, LabelKnowledge
from likewise.training import hold_out
from likewise.training.turns import evidence_at_first

PAIRS_AN_ITEM = 20  # drawn from class labels; a batch uses all its pairs anyway


@dataclass(frozen=True)
class Task:
    known: Known
    pairs: Pairs  # batches are made of these
    held_out: Pairs  # not learned from; may be empty
    raw_answers: Pairs  # what is learned from, as given: with contradictions and annotators
    noisy: bool = False  # whether some of the answers are taken to be wrong from the start

    @property
    def arrays(self) -> tuple[NDArray[Any], ...]:
        """All that is learned from, to be compared when a run resumes."""
        who = () if self.raw_answers.annotator is None else (self.raw_answers.annotator,)
        return self.pairs.left, self.pairs.right, self.pairs.same, self.pairs.weight, *who


def read_supervision(
    X: Any,
    n_items: int,
    y: ArrayLike | PairTarget | None,
    pairs: Pairs | PairTarget | LargeAnswers | None,
    ids: Ids | None,
) -> tuple[NDArray[Any] | None, Pairs | LargeAnswers | None]:
    """Labels, and answers with positions in X, of which one or both are given; y may hold answers."""
    if isinstance(y, PairTarget):
        if pairs is not None:
            raise InputError("y holds answers, and pairs are given too; give them in one of the two.")
        y, pairs = None, y
    if y is None and pairs is None:
        raise InputError("PairClassifier requires y to be passed, but the target y is None; give y, or pairs.")
    labels = None if y is None else _labels(y, n_items)
    return labels, pairs if pairs is None or isinstance(pairs, LargeAnswers) else answers_about(pairs, X, ids)


def _labels(y: ArrayLike, n_items: int) -> NDArray[Any]:
    labels = column_or_1d(y, warn=True)
    assert_all_finite(labels, input_name="y")
    check_classification_targets(labels)
    if len(labels) != n_items:
        raise InputError(f"X has {n_items} items and y {len(labels)}; give one label per item.")
    return np.asarray(labels)


def make_task(
    labels: NDArray[Any] | None,
    answers: Pairs | LargeAnswers | None,  # learned from where they are given, and the labels elsewhere
    weight: ArrayLike | None,
    *,
    n_items: int,
    n_classes: int,
    noise: Noise,
    share: float,
    seed: int,
) -> Task:
    if isinstance(answers, LargeAnswers):
        return large_task(answers, n_items=n_items, n_classes=n_classes, noise=noise)
    if answers is not None:
        return answers_task(answers, weight, n_classes=n_classes, noise=noise, share=share, seed=seed)
    assert labels is not None
    codes = np.unique(labels, return_inverse=True)[1].astype(np.int64)
    return labels_task(codes, item_weights(weight, labels), share, seed)


def item_weights(weight: ArrayLike | None, labels: NDArray[Any]) -> NDArray[np.float32] | None:
    return None if weight is None else np.asarray(_check_sample_weight(weight, labels, dtype=np.float32))


def labels_task(codes: NDArray[np.int64], weight: NDArray[np.float32] | None, share: float, seed: int) -> Task:
    """Class labels (n,), of which only same or different is used; a share of the items is held out."""
    random = np.random.default_rng(seed)
    out = np.zeros(len(codes), dtype=np.bool_)
    out[random.permutation(len(codes))[: int(share * len(codes))]] = True
    drawn = [
        Pairs.from_labels(np.where(part, codes, -1), n=_number(int(part.sum())), random_state=random)
        for part in (~out, out)
    ]
    return Task(LabelKnowledge(np.where(out, -1, codes), weight), drawn[0], drawn[1], drawn[0])


def weighted_answers(pairs: Pairs, weight: ArrayLike | None) -> Pairs:
    """The answers; `weight` (m,) goes with their own."""
    return pairs if weight is None else replace(pairs, weight=pairs.weight * _weights(weight, len(pairs)))


def counting_answers(pairs: Pairs) -> Pairs:
    """The answers that say something about two items."""
    return pairs.select((pairs.weight > 0) & (pairs.same != 0.5) & (pairs.left != pairs.right))


def answers_task(
    pairs: Pairs, weight: ArrayLike | None, *, n_classes: int, noise: Noise, share: float, seed: int
) -> Task:
    """Answers about the items, whose positions `pairs` has. A share of them is held out, wrong answers and all.

    With noise 0 contradicting ones of the others are dropped. Where annotators have no rates of their own, the answers
    of several are merged first: that looks at each pair alone, so that nothing leaks from what is held out into what
    is learned from. Soft answers that may well be random numbers are not used.
    """
    pairs = without_random_numbers(weighted_answers(pairs, weight))
    pairs = counting_answers(pairs if is_by_annotator(noise) else pairs.merged())
    _check(pairs, n_classes)
    contradictory = is_by_annotator(noise) and pairs.closure().n_contradicted > 0
    noisy = contradictory or noise not in (0, "auto")
    kept, held_out = hold_out(pairs, share, seed, law=not noisy)
    if contradictory:
        warnings.warn(
            "The answers contradict one another, so some are wrong: all are judged together, and nothing is concluded "
            "from chains of answers. `p_wrong_` and the report say which look wrong.",
            stacklevel=4,
        )
    if is_by_annotator(noise) and noisy:
        first = evidence_at_first(kept)
        return Task(EvidenceKnowledge(first), first, held_out, kept, noisy)
    sound = sound_answers(kept, noisy)
    return Task(AnswerKnowledge(sound, implied=not noisy), sound, held_out, kept, noisy)


def large_task(answers: LargeAnswers, *, n_items: int, n_classes: int, noise: Noise) -> Task:
    """Answers that were closed on disk, with a sample that batches are made of."""
    if noise not in (0, "auto"):
        raise InputError("Where answers may be wrong, all of them must be in memory; give noise=0, or fewer answers.")
    if answers.sample.n_items != n_items:
        raise InputError(
            f"The answers are about {answers.sample.n_items} items, and X has {n_items}; give those items."
        )
    _check(answers.sample, n_classes)
    return Task(ClosureKnowledge(answers.closure), answers.sample, answers.held_out, answers.sample)


def sound_answers(pairs: Pairs, noisy: bool) -> Pairs:
    """The answers without the least credible of those that contradict, unless noise is modelled; with a warning.

    The first process repairs for all.
    """
    if noisy or not pairs.closure().n_contradicted:
        return pairs
    rows = from_first(lambda: np.flatnonzero(np.isin(pairs.lines, pairs.repair().kept.lines)).tolist())
    warnings.warn(
        f"The answers contradict one another: {len(pairs) - len(rows)} of {len(pairs)} are left out. `likewise "
        "check` shows them; where noise is learned, all of them are used, and none is trusted fully.",
        stacklevel=4,
    )
    return pairs.select(np.array(rows, dtype=np.int64))


def checksum(*arrays: NDArray[Any]) -> str:
    return fingerprint(arrays)


def items_checksum(inputs: Tensor) -> str:
    """The same of items, in memory or on disk."""
    return fingerprint(piece.numpy() for piece in in_pieces(inputs))


def _check(pairs: Pairs, n_classes: int) -> None:
    if len(pairs) < n_classes:
        raise InputError(
            f"{len(pairs)} answers about different items cannot tell {n_classes} classes apart; give at least "
            f"{n_classes}, and better a hundred for each class."
        )
    same = pairs.same > 0.5
    if same.all():
        raise InputError("All answers say same, so one class explains them all; give some that say different.")
    if not same.any():
        warnings.warn("All answers say different, so nothing shows what makes two items the same.", stacklevel=4)


def _weights(weight: ArrayLike, n: int) -> NDArray[np.float32]:
    values = np.asarray(weight, dtype=np.float32)
    if values.shape != (n,) or not np.isfinite(values).all() or (values < 0).any():
        raise InputError(f"sample_weight must be {n} finite numbers, none negative: one for each answer.")
    return values


def _number(items: int) -> int:
    return min(items * (items - 1) // 2, PAIRS_AN_ITEM * items)
