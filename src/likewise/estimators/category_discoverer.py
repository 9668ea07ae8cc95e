"""CategoryDiscoverer: the classes of a pile that nobody labelled, and how many there are."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClusterMixin, clone
from sklearn.utils.validation import check_is_fitted, validate_data
from torch import Tensor, nn

from likewise.atomic import atomic
from likewise.errors import InputError
from likewise.estimators.anchor_items import anchor_items, novelty_of, p_unseen, similarity_after, with_unseen
from likewise.estimators.discovery_in_words import doubts_in_words
from likewise.estimators.encoding import Choice, encode_again, encode_to_fit
from likewise.estimators.grouped_pile import group_pile
from likewise.estimators.inputs import are_images, pairwise_matrix, read_images, seed_of, take
from likewise.estimators.naming import Naming, names_beside
from likewise.estimators.pair_classifier import PairClassifier
from likewise.estimators.saved_discoverer import read_discoverer, write_discoverer
from likewise.estimators.similarity_network import METRIC, SimilarityNetwork
from likewise.estimators.spectral_rounds import Learning, number_of_classes, spectral_rounds
from likewise.evaluation import (
    Novelty,
    NumberOfClasses,
    n_dominant,
    trust,
)
from likewise.pairs import Ids, Pairs, PairTarget, answers_about
from likewise.supervision import spectral_partition
from likewise.training import OnEpoch, Settings
from likewise.training.settings import Precision

Similarity = SimilarityNetwork | Callable[[Any, Any], ArrayLike] | ArrayLike | None

MOST_CLUSTERED = 4000  # items whose pairs are all looked at; of a larger pile, as many drawn at random
EPOCHS, BATCH_SIZE, LEARNING_RATE = 10, 250, 3e-4  # in bfloat16 it was measured to lose half a point of accuracy


class CategoryDiscoverer(ClusterMixin, BaseEstimator):  # type: ignore[misc]
    """Finds the classes of unlabelled items, with a similarity that was learned on other classes.

    Parameters
    ----------
    n_classes : how many classes to look for, with `mixed` the known ones among them; None where it is not known and is
        to be estimated.
    max_classes : the most there can be, where their number is estimated; with `mixed` the most new ones.
    mixed : whether known classes may be in the pile. Then their labelled items are anchors: known classes keep their
        names, and new ones are numbered beside them.
    similarity : a `SimilarityNetwork`, fitted before (it is used as it is) or not (it is fitted on `known`); a function
        of two arrays of m items that gives the probability (m,) that they are the same, pair by pair; or a matrix
        (n, n) of such probabilities. By default a new `SimilarityNetwork`.
    encoder : the pretrained network whose features of photos or texts are learned from, as `PairClassifier` has it;
        where a `SimilarityNetwork` is given, its own is used.
    epochs : times that the classifier sees each item, in each round; 0 leaves it at the clusters' prototypes.
    precision : "auto" or "float32", or "bfloat16", which is faster on hardware that has it and rounds to three digits.
    verbose : whether to show progress: a bar on a terminal, else lines, at most one a second.
    on_epoch : is called with each new row of the history (a dict), for logging.
    run : a folder, so that a killed fit resumes.

    Attributes
    ----------
    labels_ : the class of each item: a number from 0 or, with `mixed`, the name of a known class or of a new one.
    classes_ : the classes; codes_ : the place of each item's class among them. n_classes_ : how many there are.
    p_new_ : the probability that each item is of a new class. outputs_ : the classifier's output for each class.
    number_ : the estimate with its interval (all three numbers the same where n_classes was given). counted_by_ : how
    the number is known. n_dominant_ : the paper's count. trust_ : is the similarity sure, does it agree with itself?
    known_share_ : how much of the pile looks like known classes; novelty_ : how items of unseen classes are told; both
    None where nothing tells. similarity_, classifier_ (a `PairClassifier`).

    >>> from sklearn.datasets import make_blobs
    >>> X, y = make_blobs(900, n_features=8, centers=30, random_state=0)
    >>> pile = y >= 24
    >>> model = CategoryDiscoverer().fit(X[pile], known=(X[~pile], y[~pile]))
    >>> model.n_classes_, model.labels_.shape
    (6, (180,))
    """

    def __init__(
        self,
        n_classes: int | None = None,
        *,
        max_classes: int = 100,
        mixed: bool = False,
        similarity: Similarity = None,
        encoder: Choice = "auto",
        epochs: int = EPOCHS,
        image_size: int = 32,
        device: str = "auto",
        precision: Precision = "auto",
        random_state: int | np.random.RandomState | None = 0,
        verbose: bool = False,
        on_epoch: OnEpoch | None = None,
        run: Path | str | None = None,
    ) -> None:
        self.n_classes = n_classes
        self.max_classes = max_classes
        self.mixed = mixed
        self.similarity = similarity
        self.encoder = encoder
        self.epochs = epochs
        self.image_size = image_size
        self.device = device
        self.precision = precision
        self.random_state = random_state
        self.verbose = verbose
        self.on_epoch = on_epoch
        self.run = run

    @atomic
    def fit(
        self,
        X: Any,
        y: object = None,
        *,
        known: tuple[Any, ArrayLike] | None = None,
        pairs: Pairs | PairTarget | None = None,
        ids: Ids | None = None,
    ) -> Self:
        """Find the classes of X; `known` is (items, classes) of others, unless the similarity needs none.

        `pairs` are answers about the rows of X, which join in; `ids` as `PairClassifier` has them.
        """
        inputs = self._inputs(X)
        self._check(len(inputs))
        self.seed_ = seed_of(self.random_state)
        similarity = self._similarity(known)
        learned = isinstance(similarity, SimilarityNetwork)
        grouped = learned and (similarity.metric_ is not None or self.mixed)
        if (self.mixed or pairs is not None) and not grouped:
            what = "mixed=True needs" if self.mixed else "Answers join features or mixed=True, which need"
            raise InputError(f"{what} known items; give known=(items, classes), and no function or matrix.")
        self.similarity_: SimilarityNetwork | None = similarity if learned else None
        self.known_share_: float | None = None
        if grouped:
            none = Pairs.from_arrays(np.empty((0, 2)), []).index(len(inputs))
            answers = none if pairs is None else answers_about(pairs, X, ids)
            outputs = self._discover_by_groups(inputs, answers, similarity)
        else:
            random = np.random.default_rng(self.seed_)
            rows = np.sort(random.permutation(len(inputs))[:MOST_CLUSTERED])  # all, unless there are too many
            by = self._discover if learned else self._discover_by_matrix
            outputs = by(inputs if learned else X, rows, similarity)
            self.p_new_ = np.ones(len(outputs))
        self.n_dominant_ = n_dominant(outputs, self.classifier_.n_outputs_)
        self._name(outputs)
        self.anchors_, self.anchor_codes_ = anchor_items(self, inputs)
        self.novelty_: Novelty | None = novelty_of(self)
        for doubt in doubts_in_words(self):
            warnings.warn(doubt, stacklevel=3)
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of each item; -1, or "new" where classes have names, if it is rather of none of them."""
        best = self.predict_proba(X).argmax(1)
        return with_unseen(self.classes_[best], self.predict_new(X))

    def predict_proba(self, X: Any) -> NDArray[np.float32]:
        """The probability of each class of `classes_`, (n, n_classes_), if it is one of them."""
        check_is_fitted(self)
        return np.asarray(self.classifier_.predict_outputs(X, self.outputs_))

    def predict_new(self, X: Any) -> NDArray[np.float64]:
        """The probability (n,) that an item is of a class that is neither known nor found, one item in ten being so.

        It is 0 where nothing tells: with a similarity of your own, or a network with the head "pairs".
        """
        check_is_fitted(self)
        return p_unseen(self, X)

    def predict_same(self, X: Any, index_pairs: ArrayLike) -> NDArray[np.float32]:
        """The probability that two rows of X share a class, for index_pairs (m, 2)."""
        check_is_fitted(self)
        return self.classifier_.predict_same(X, index_pairs)

    def more(self, X: Any, **parameters: Any) -> CategoryDiscoverer:
        """The classes of another pile, with those of this one known: names and numbers stay, new ones come after them.

        Parameters are those of the discoverer that is returned, where they differ from this one's.

        >>> from sklearn.datasets import make_blobs
        >>> X, y = make_blobs(400, n_features=8, centers=10, random_state=0)
        >>> model = CategoryDiscoverer(2).fit(X[(y == 6) | (y == 7)], known=(X[y < 6], y[y < 6]))
        >>> np.unique(model.more(X[y >= 6]).labels_).tolist()
        [0, 1, 2, 3]
        """
        check_is_fitted(self)
        arguments = {"n_classes": None, "run": None, **parameters, "mixed": True, "similarity": similarity_after(self)}
        return CategoryDiscoverer(**{**self.get_params(deep=False), **arguments}).fit(X)

    @property
    def counted_by_(self) -> str:
        """How the number of classes is known: "given", or estimated by "known classes" or by "silhouette"."""
        if self.n_classes is not None:
            return "given"
        similarity = self.similarity_
        if similarity is None or not (similarity.rule_ or similarity.metric_ or self.mixed):
            return "silhouette"
        return "known classes"

    def save(self, folder: Path | str) -> None:
        """Write what was found; `PairClassifier.load` and `likewise predict` find the classifier in the same folder."""
        check_is_fitted(self)
        write_discoverer(Path(folder), self)

    @classmethod
    def load(cls, folder: Path | str, *, network: nn.Module | None = None) -> Self:
        """Read what `save` wrote; a backbone of your own is needed again. A function or a matrix is not saved."""
        loaded: Self = read_discoverer(Path(folder), cls, network)
        return loaded

    def _check(self, n_items: int) -> None:
        if self.n_classes is not None and not 2 <= self.n_classes <= n_items:
            raise InputError(f"n_classes must be from 2 to the number of items, {n_items}, got {self.n_classes}.")
        if self.max_classes < 2:
            raise InputError(f"max_classes must be 2 or more, got {self.max_classes}.")
        if self.epochs < 0:
            raise InputError(f"epochs must be 0 or more, got {self.epochs}.")

    def _similarity(self, known: tuple[Any, ArrayLike] | None) -> Any:
        chosen = self.similarity
        if chosen is None:
            chosen = SimilarityNetwork(
                encoder=self.encoder,
                image_size=self.image_size,
                device=self.device,
                precision=self.precision,
                random_state=self.random_state,
                verbose=self.verbose,
                on_epoch=self.on_epoch,
            )
        if not isinstance(chosen, SimilarityNetwork) or hasattr(chosen, "module_"):
            return chosen
        if known is None:
            raise InputError("There is nothing to learn similarity from: give known=(items, classes), or a similarity.")
        learner = clone(chosen)
        if self.run is not None:
            learner.set_params(run=Path(self.run) / "similarity")
        return learner.fit(*known)

    def _discover(self, inputs: Tensor, rows: NDArray[np.int64], similarity: SimilarityNetwork) -> NDArray[np.int64]:
        """By a similarity from scratch: cluster, teach the network what the clusterings agree on, and cluster again."""

        def count(rows: NDArray[np.float32]) -> NumberOfClasses:
            return number_of_classes(rows, similarity, self.n_classes, self.max_classes)

        result = spectral_rounds(inputs, rows, similarity, count, self._learning(len(inputs)), self.seed_)
        self.number_, self.trust_ = result.number, result.trust
        self._set_classifier(result.network, similarity, result.outputs, result.history)
        return result.outputs

    def _discover_by_groups(self, inputs: Tensor, pairs: Pairs, similarity: SimilarityNetwork) -> NDArray[np.int64]:
        """By features that show the classes, or in a mixed pile: known items are anchors."""
        result = group_pile(
            inputs,
            pairs,
            similarity,
            self._learning(len(inputs)),
            n_classes=self.n_classes,
            max_classes=self.max_classes,
            mixed=self.mixed,
            seed=self.seed_,
        )
        self.number_, self.trust_, self.p_new_ = result.number, result.trust, result.p_new
        self.known_share_ = result.known_share
        self._set_classifier(result.network, similarity, result.outputs, result.history)
        return result.outputs

    def _set_classifier(
        self,
        network: nn.Module,
        similarity: SimilarityNetwork,
        outputs: NDArray[np.int64],
        history: list[dict[str, float]],
    ) -> None:
        name = "linear" if similarity.network_name_ == METRIC else similarity.network_name_
        self.classifier_ = PairClassifier.of_network(
            network, name, similarity.input_form_, self.number_.estimate, outputs, history
        )
        self.classifier_.encoder, self.classifier_.encoder_ = similarity.encoder, similarity.encoder_
        if hasattr(self, "feature_names_in_"):
            self.classifier_.feature_names_in_ = self.feature_names_in_

    def _learning(self, n_items: int) -> Learning:
        settings = Settings(
            epochs=max(1, self.epochs),
            batch_size=min(BATCH_SIZE, max(2, n_items)),
            learning_rate=LEARNING_RATE,
            optimizer="adamw",
            schedule="one-cycle",
            device=self.device,
            precision=self.precision,
            seed=self.seed_,
        )
        run = None if self.run is None else Path(self.run)
        return Learning(settings, self.epochs, run, self.verbose, self.on_epoch)

    def _discover_by_matrix(self, X: Any, rows: NDArray[np.int64], similarity: Any) -> NDArray[np.int64]:
        """By a similarity of one's own: spectral clusters of some items, which a classifier learns."""
        probability = pairwise_matrix(similarity, X, rows)
        self.trust_ = trust(probability)
        self.number_ = number_of_classes(probability, None, self.n_classes, self.max_classes)
        partition = spectral_partition(probability, self.number_.estimate, self.seed_)
        names = ("encoder", "image_size", "device", "precision", "verbose", "on_epoch", "run")
        arguments = {name: getattr(self, name) for name in names}
        self.classifier_ = PairClassifier(self.number_.estimate, random_state=self.seed_, **arguments)
        self.classifier_.fit(take(X, rows), partition)
        self.classifier_.naming_ = replace(self.classifier_.naming_, named=False)  # by the numbers of the clusters
        return np.asarray(self.classifier_.output_of_each(X))

    def _name(self, outputs: NDArray[np.int64]) -> None:
        """Number the classes or, in a mixed pile, give known ones their names and number new ones beside them."""
        if not self.mixed:
            self.outputs_, self.codes_ = np.unique(outputs, return_inverse=True)
            self.classes_ = np.arange(len(self.outputs_))
        else:
            assert self.similarity_ is not None
            n_known = len(self.similarity_.classes_)
            new = np.unique(outputs[outputs >= n_known])
            self.outputs_ = np.concatenate([np.arange(n_known), new])
            self.codes_ = np.searchsorted(self.outputs_, outputs)
            self.classes_ = names_beside(self.similarity_.classes_, len(new))
            order = np.argsort(self.classes_)
            naming = Naming(self.classes_[order], self.outputs_[order], named=True)
            self.classifier_._set_naming(naming, self.outputs_)
        self.labels_ = self.classes_[self.codes_]
        self.n_classes_ = len(self.outputs_)

    def _inputs(self, X: Any) -> Tensor:
        if isinstance(self.similarity, SimilarityNetwork):
            fitted = hasattr(self.similarity, "module_")
            X = encode_again(self.similarity, X) if fitted else encode_to_fit(clone(self.similarity), X)
        elif self.similarity is None:
            X = encode_to_fit(SimilarityNetwork(encoder=self.encoder, image_size=self.image_size), X)
        if are_images(X):
            inputs = read_images(X, self.image_size)
            if len(inputs) < 2:
                raise InputError(f"The pile has {len(inputs)} items; give at least two, better hundreds.")
            return inputs
        features = validate_data(self, X, dtype=np.float32, ensure_min_samples=2)
        return torch.from_numpy(np.array(features))
