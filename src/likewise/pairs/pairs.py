"""Pairs: answers to "are these two the same?", as arrays that stay together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from likewise.errors import InputError
from likewise.pairs import columns, files
from likewise.pairs.annotators import counted, reliability
from likewise.pairs.closure import Closure, close, same_and_different
from likewise.pairs.columns import Source, item_ids, lookup
from likewise.pairs.contradictions import Contradiction, Repair, find_contradictions, repair
from likewise.pairs.pair_keys import label_pairs, matrix_pairs, occurring, positions_among
from likewise.pairs.posterior import Posterior, infer
from likewise.pairs.target import PairTarget

SURE = 0.5  # bits of information that a merged answer must hold to count

Ints = NDArray[np.int64]
Rows = NDArray[np.bool_] | NDArray[np.int64]


@dataclass(frozen=True, eq=False, repr=False)
class Pairs:
    """Answers about m pairs of items; a pair that nobody knows is simply not there.

    `same` is the probability that the two are the same: 1 same, 0 different. An answer of weight 0 counts as not given.

    >>> pairs = Pairs.from_arrays([("a", "b"), ("b", "c"), ("a", "d")], ["same", "same", "different"])
    >>> pairs
    Pairs(3 answers about 4 items: 2 same, 1 different)
    >>> pairs.left, pairs.right, pairs.same, pairs.ids.tolist()
    (array([0, 1, 0]), array([1, 2, 3]), array([1., 1., 0.], dtype=float32), ['a', 'b', 'c', 'd'])
    >>> pairs.closure().answers_about(0, 2)  # what nobody was asked: a and c
    array([1.], dtype=float32)
    """

    left: Ints  # (m,) positions of items
    right: Ints  # (m,)
    same: NDArray[np.float32]  # (m,) in [0, 1]
    weight: NDArray[np.float32]  # (m,) 0 or more
    source: Source = field(kw_only=True)
    n_items: int = field(kw_only=True)
    ids: NDArray[np.object_] | None = field(default=None, kw_only=True)  # (n,) None where positions are row numbers
    indexed: bool = field(default=False, kw_only=True)  # whether `ids` are those of a list of items, in its order
    annotator: NDArray[np.int32] | None = field(default=None, kw_only=True)  # (m,) places in `annotators`
    annotators: tuple[str, ...] = field(default=(), kw_only=True)

    @classmethod
    def read(cls, path: Path | str) -> Self:
        """Answers from a .csv or .parquet file, or those in force in a store: its file, or the URL of a database."""
        if files.is_store(path):
            return cls._from_columns(*files.read_store(path))
        return cls.read_csv(path) if files.check_suffix(Path(path)) == ".csv" else cls.read_parquet(path)

    @classmethod
    def read_csv(cls, path: Path | str) -> Self:
        """Answers from a CSV file with columns left, right, same and, where wanted, weight and annotator.

        `left` and `right` are ids or row numbers: row numbers where all of them are, counted from 0. `same` is a number
        in [0, 1], +1 or -1, or one of the words same, different, yes, no, true, false. Spaces around a value, the case
        of these words and of the columns' names, other columns and empty lines do not matter. Semicolons or tabs may
        separate the values, and then numbers may have a decimal comma.
        """
        return cls._from_columns(*files.read_csv(Path(path)))

    @classmethod
    def read_parquet(cls, path: Path | str) -> Self:
        """Answers from a Parquet file, with the columns and values of `read_csv`; whole numbers are row numbers."""
        return cls._from_columns(*files.read_parquet(Path(path)))

    @classmethod
    def from_frame(cls, frame: Any) -> Self:
        """Answers from a DataFrame, Arrow table or mapping with columns left, right, same (weight, annotator).

        Whole numbers in left and right are row numbers; ids are text.

        >>> Pairs.from_frame({"left": [0, 1], "right": [1, 2], "same": [True, False]})
        Pairs(2 answers about 3 items: 1 same, 1 different)
        """
        names = getattr(frame, "column_names", None)
        names = getattr(frame, "columns", frame) if names is None else names
        values_by_name = {name: frame[column] for name, column in files.wanted_columns([*names], "the frame").items()}
        return cls._from_columns(values_by_name, Source(np.arange(len(values_by_name["left"]))))

    @classmethod
    def from_arrays(
        cls,
        index_pairs: ArrayLike,
        same: ArrayLike,
        weight: ArrayLike | None = None,
        annotator: ArrayLike | None = None,
        ids: Sequence[object] | NDArray[Any] | None = None,
    ) -> Self:
        """Answers from index_pairs (m, 2) and same (m,), with weight (m,) and annotator (m,) where wanted.

        index_pairs are whole numbers, which are row numbers, or places in `ids` where these are given; or ids as text.
        """
        index_pairs = np.asarray(index_pairs)
        index_pairs = index_pairs.reshape(0, 2).astype(np.int64) if index_pairs.size == 0 else index_pairs
        if index_pairs.ndim != 2 or index_pairs.shape[1] != 2:
            raise InputError(f"index_pairs has shape {index_pairs.shape}; give two items in each row: (m, 2).")
        values_by_name: dict[str, Any] = {
            "left": index_pairs[:, 0],
            "right": index_pairs[:, 1],
            "same": np.asarray(same),
        }
        for name, values in (("weight", weight), ("annotator", annotator)):
            if values is not None:
                values_by_name[name] = np.asarray(values)
        for name, values in values_by_name.items():
            if values.shape != (len(index_pairs),):
                raise InputError(f"{name} has shape {values.shape}, but there are {len(index_pairs)} pairs.")
        pairs = cls._from_columns(values_by_name, Source(np.arange(len(index_pairs))))
        if ids is None:
            return pairs
        if pairs.ids is not None:
            raise InputError("index_pairs holds ids, and ids are given too; give places in ids, counted from 0.")
        names = item_ids(ids)
        return replace(pairs.index(len(names)), ids=names.to_numpy(zero_copy_only=False), indexed=True)

    @classmethod
    def from_links(cls, must_link: ArrayLike, cannot_link: ArrayLike) -> Self:
        """Answers from lists of pairs that must and that cannot be together.

        >>> Pairs.from_links([(0, 1), (1, 2)], [(0, 3)]).same
        array([1., 1., 0.], dtype=float32)
        """
        links = [np.asarray(must_link), np.asarray(cannot_link)]
        kept = [part for part in links if part.size]
        both = np.concatenate(kept) if kept else np.empty((0, 2), dtype=np.int64)
        return cls.from_arrays(both, np.repeat([1.0, 0.0], [len(part) for part in links]))

    @classmethod
    def from_labels(
        cls, labels: ArrayLike, n: int | None = None, random_state: int | np.random.Generator | None = 0
    ) -> Self:
        """All pairs of labelled items, or n of them drawn without replacement; labels -1 and -100 are unknown.

        >>> Pairs.from_labels([7, 7, -1, 3])
        Pairs(3 answers about 3 items: 1 same, 2 different)
        """
        left, right, same = label_pairs(labels, n, random_state)
        pairs = cls.from_arrays(np.stack([left, right], 1), same)
        return replace(pairs, n_items=len(np.asarray(labels)))

    @classmethod
    def from_matrix(cls, same: ArrayLike) -> Self:
        """Answers from a symmetric matrix (n, n), with NaN for pairs that nobody knows; its diagonal says nothing.

        Predicted similarities are rounded: the two entries of a pair may differ by that, and their mean is taken.

        >>> Pairs.from_matrix([[1, 1, 0], [1, 1, float("nan")], [0, float("nan"), 1]])
        Pairs(2 answers about 3 items: 1 same, 1 different)
        """
        left, right, probability, n_items = matrix_pairs(same)
        return replace(cls.from_arrays(np.stack([left, right], 1), probability), n_items=n_items)

    @classmethod
    def _from_columns(cls, values_by_name: dict[str, Any], source: Source) -> Self:
        made = {
            name: values if source.unit == "line" else columns.column(name, values, source)
            for name, values in values_by_name.items()
        }
        left, right, ids, n_items = columns.items(made["left"], made["right"], source)
        same = columns.answers(made["same"], source)
        weight = columns.weights(made["weight"], source) if "weight" in made else np.ones(len(same), dtype=np.float32)
        annotator, annotators = columns.names(made["annotator"]) if "annotator" in made else (None, ())
        return cls(
            left,
            right,
            same,
            weight,
            source=source,
            n_items=n_items,
            ids=ids,
            annotator=annotator,
            annotators=annotators,
        )

    def write_csv(self, path: Path | str) -> None:
        """Write a CSV file that `read_csv` takes; weight and annotator are in it where there is something to say."""
        files.write_csv(self, Path(path))

    def write_parquet(self, path: Path | str) -> None:
        """Write a Parquet file that `read_parquet` takes."""
        files.write_parquet(self, Path(path))

    def write(self, path: Path | str) -> None:
        """Write a .csv or .parquet file."""
        (self.write_csv if files.check_suffix(Path(path)) == ".csv" else self.write_parquet)(path)

    def __len__(self) -> int:
        return len(self.left)

    def __repr__(self) -> str:
        same, different = (int(side.sum()) for side in same_and_different(self))
        by = f", by {len(self.annotators)} annotators" if self.annotators else ""
        return f"Pairs({len(self)} answers about {len(self.items)} items: {same} same, {different} different{by})"

    @property
    def lines(self) -> Ints:
        """(m,) The line of each answer in its CSV file, elsewhere its row, counted from 0."""
        return self.source.lines

    @cached_property
    def items(self) -> Ints:
        """The positions of the items that some answer is about, in order."""
        return occurring(self.left, self.right, self.n_items)

    def name(self, item: int) -> str:
        """The id of an item, or its row number."""
        return str(item) if self.ids is None else str(self.ids[item])

    def select(self, rows: Rows) -> Self:
        """The answers of these rows, by their numbers or by a mask; positions and ids stay as they are."""
        return replace(
            self,
            left=self.left[rows],
            right=self.right[rows],
            same=self.same[rows],
            weight=self.weight[rows],
            annotator=None if self.annotator is None else self.annotator[rows],
            source=self.source.select(rows),
        )

    def index(self, ids: int | Sequence[object] | NDArray[Any]) -> Self:
        """The same answers with positions in a given list of items, by their ids or, if they have none, their number.

        Row numbers are looked up among the ids where one of these is a number, and count the items elsewhere. An item
        that is not there is refused.

        >>> Pairs.from_arrays([("a", "b")], [1]).index(["c", "b", "a"]).left
        array([2])
        """
        left, right, n_items, names = lookup(self, ids)
        return replace(self, left=left, right=right, n_items=n_items, ids=names, indexed=names is not None)

    def compact(self) -> Self:
        """The same answers without the items that none is about; each item's name is its id.

        >>> Pairs.from_arrays([(0, 2_000_000_000)], [1]).compact().right
        array([1])
        """
        names = self.items.astype(str).astype(object) if self.ids is None else self.ids[self.items]
        left, right = (positions_among(self.items, side, self.n_items) for side in (self.left, self.right))
        return replace(self, left=left, right=right, n_items=len(names), ids=names, indexed=False)

    def within(self, items: ArrayLike) -> Self:
        """The answers between these items alone, which are renumbered in the order given; by number or by a mask.

        >>> Pairs.from_arrays([(0, 1), (1, 2), (2, 3)], [1, 0, 1]).within([3, 2, 0]).left
        array([1])
        """
        rows = np.arange(self.n_items)[np.asarray(items)]
        position = np.full(self.n_items, -1, dtype=np.int64)
        position[rows] = np.arange(len(rows))
        chosen = self.select((position[self.left] >= 0) & (position[self.right] >= 0))
        return replace(
            chosen,
            left=position[chosen.left],
            right=position[chosen.right],
            n_items=len(rows),
            ids=None if self.ids is None else self.ids[rows],
        )

    def target(self, ids: int | Sequence[object] | NDArray[Any]) -> PairTarget:
        """The answers as scikit-learn's y, about a number of items or those with these ids; see `PairTarget`."""
        return PairTarget(self.index(ids))

    def merged(self) -> Pairs:
        """One answer for each pair out of those of several annotators, by how reliable each of them is.

        `same` is the probability given all answers about the pair, and `weight` the information in it, from 0 to 1 (see
        `reliability`). Below half a bit, where `same` is between 0.11 and 0.89, the weight is 0: such an answer counts
        as not given, for a chain of guesses would join classes. Answers of one annotator, or of nobody in particular,
        stay as they are.

        >>> asked, truth = [(0, other) for other in range(1, 41)], [1, 0] * 20
        >>> said = [*truth, *truth, *[1] * 40]  # carl says "same" whatever he sees
        >>> Pairs.from_arrays(asked * 3, said, annotator=np.repeat(["ann", "bob", "carl"], 40)).merged()
        Pairs(40 answers about 41 items: 20 same, 20 different)
        """
        answers = counted(self)
        if answers.annotator is None or len(np.unique(answers.annotator)) < 2:
            return self
        merged = reliability(answers).merge()
        merged = replace(merged, weight=np.where(merged.weight < SURE, np.float32(0), merged.weight))
        return merged.select(np.argsort(merged.lines))

    def closure(self) -> Closure:
        """What the answers imply about all pairs; see `Closure`."""
        return self._closure

    @cached_property
    def _closure(self) -> Closure:
        return close(self)

    def contradictions(self, limit: int | None = None) -> list[Contradiction]:
        """Each answer "different" that a chain of answers "same" denies, with the shortest such chain; the first ones.

        `closure().n_contradicted` is their number, known without the chains.

        >>> pairs = Pairs.from_arrays([("a", "b"), ("b", "c"), ("c", "a")], [1, 1, 0])
        >>> [str(contradiction) for contradiction in pairs.contradictions()]
        ['c=b, b=a, but c!=a; rows 1, 0, 2']
        """
        return find_contradictions(self, limit)

    def repair(self) -> Repair:
        """The consistent answers of the greatest total credibility, weight * |2 same - 1|.

        Where the best are out of reach, good ones are looked for; `Repair.exact` says which they are. No clock decides:
        the same answers always have the same repair.

        >>> pairs = Pairs.from_arrays([("a", "b"), ("b", "c"), ("c", "a")], [1, 0.8, 0])
        >>> kept, dropped, exact = pairs.repair()
        >>> kept.same, dropped.lines, exact
        (array([1., 0.], dtype=float32), array([1]), True)
        """
        return repair(self)

    def posterior(
        self,
        n_classes: int | None = None,
        unary: ArrayLike | None = None,
        neighbours: tuple[ArrayLike, ArrayLike] | None = None,
        rates: tuple[float, float] | None = None,
        outside: float = 0.01,
        random_state: int | np.random.Generator = 0,
    ) -> Posterior:
        """How likely each answer is right, and how often each annotator is wrong, from all answers together.

        Nothing need be known but the answers. Where more is known: `n_classes`, else estimated; `unary` (n, K), the
        log-probabilities of each item's class, such as the outputs of a classifier, of which an item may be `outside`;
        `neighbours`, index pairs (p, 2) with log-odds (p,) that they are the same; `rates` of false "different" and
        false "same", which are then not estimated.

        >>> pairs = Pairs.from_arrays([("a", "b"), ("b", "c"), ("c", "a")], [1, 1, 0], weight=[3, 2, 1])
        >>> pairs.posterior(n_classes=3, rates=(0.1, 0.1)).right.round(2)  # the least credible gives way
        array([0.98, 0.82, 0.2 ])
        """
        return infer(self, n_classes, unary, neighbours, rates, outside, random_state)
