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
from likewise.estimators.encoding import Choice, encode_again, encode_to_fit
from likewise.estimators.inputs import are_images, read_images, seed_of
from likewise.estimators.pair_classifier import PairClassifier
from likewise.estimators.saved_discoverer import read_discoverer, write_discoverer
from likewise.estimators.similarity_matrix import pairwise_matrix, take
from likewise.estimators.similarity_network import SimilarityNetwork
from likewise.estimators.task import checksum
from likewise.evaluation import NumberOfClasses, joining_costs, n_dominant, number_by_silhouette, trust
from likewise.networks import CosineHead
from likewise.supervision import cosine_affinity, diffusion_rows, spectral_opinions, spectral_partition
from likewise.training import EmbeddedPile, OnEpoch, Settings, learn_consensus, mean_probabilities, prototype_classifier
from likewise.training.settings import Precision

Similarity = SimilarityNetwork | Callable[[Any, Any], ArrayLike] | ArrayLike | None

MOST_CLUSTERED = 4000  # items whose pairs are all looked at; of a larger pile, as many drawn at random
ROUNDS, EPOCHS, BATCH_SIZE, LEARNING_RATE = (
    2,
    10,
    250,
    3e-4,
)  # in bfloat16 it was measured to lose half a point of accuracy
WIDTHS = (0.3, 0.15)  # of the kernel on cosines; the best partition is from the first, opinions are from both
VIEWS = 6  # of an item, whose mean decides its class
COUNTED = {
    "known classes": "by a rule that was calibrated on known classes",
    "silhouette": "by their silhouette, for the known classes are too few to calibrate a rule with",
}


class CategoryDiscoverer(ClusterMixin, BaseEstimator):  # type: ignore[misc]
    """Finds the classes of unlabelled items, with a similarity that was learned on other classes.

    Parameters
    ----------
    n_classes : how many classes to look for; None where it is not known and is to be estimated.
    max_classes : the most there can be, where their number is estimated.
    similarity : a `SimilarityNetwork`, fitted before (it is used as it is) or not (it is fitted on `known`); a function
        of two arrays of m items that gives the probability (m,) that they are the same, pair by pair; or a matrix
        (n, n) of such probabilities. By default a new `SimilarityNetwork`.
    encoder : the pretrained network whose features of photos or texts are learned from, as `PairClassifier` has it;
        where a `SimilarityNetwork` is given, its own is used.
    epochs : times that the classifier sees each item, in each of two rounds; 0 leaves it at the clusters' prototypes.
    precision : "auto" or "float32", or "bfloat16", which is faster on hardware that has it and rounds to three digits.
    verbose : whether to show progress: a bar on a terminal, else lines, at most one a second.
    on_epoch : is called with each new row of the history (a dict), for logging.
    run : a folder, so that a killed fit goes on where it was.

    Attributes
    ----------
    labels_ : the class of each item, from 0. n_classes_ : how many there are. outputs_ : the classifier's output for
    each. number_ : the estimate with its interval (all three numbers the same where n_classes was given). counted_by_ :
    how the number is known. n_dominant_ : the paper's count. trust_ : whether the similarity is sure and agrees with
    itself. similarity_, classifier_ (a `PairClassifier`).

    >>> from sklearn.datasets import make_blobs
    >>> X, y = make_blobs(900, n_features=8, centers=30, random_state=0)
    >>> pile = y >= 24
    >>> found = CategoryDiscoverer(similarity=SimilarityNetwork(epochs=10)).fit(X[pile], known=(X[~pile], y[~pile]))
    >>> found.n_classes_, found.labels_.shape
    (6, (180,))
    """

    def __init__(
        self,
        n_classes: int | None = None,
        *,
        max_classes: int = 100,
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
    def fit(self, X: Any, y: object = None, *, known: tuple[Any, ArrayLike] | None = None) -> Self:
        """Find the classes of X; `known` is (items, classes) of others, unless the similarity needs none."""
        inputs = self._inputs(X)
        self._check(len(inputs))
        self.seed_ = seed_of(self.random_state)
        similarity = self._similarity(known)
        random = np.random.default_rng(self.seed_)
        rows = np.sort(random.permutation(len(inputs))[:MOST_CLUSTERED])  # all of them, unless there are too many
        if isinstance(similarity, SimilarityNetwork):
            self.similarity_: SimilarityNetwork | None = similarity
            outputs = self._discover(inputs, rows, similarity)
        else:
            self.similarity_ = None
            outputs = self._discover_by_matrix(X, rows, pairwise_matrix(similarity, X, rows))
        self.n_dominant_ = n_dominant(outputs, self.n_classes or self.max_classes)
        self.outputs_, self.labels_ = np.unique(outputs, return_inverse=True)
        self.n_classes_ = len(self.outputs_)
        self._warn()
        return self

    def predict(self, X: Any) -> NDArray[np.int64]:
        """The class of each item, of those that were found."""
        return np.asarray(self.predict_proba(X).argmax(1))

    def predict_proba(self, X: Any) -> NDArray[np.float32]:
        """The probability of each class that was found, (n, n_classes_)."""
        check_is_fitted(self)
        return np.asarray(self.classifier_.predict_outputs(X, self.outputs_))

    def predict_same(self, X: Any, index_pairs: ArrayLike) -> NDArray[np.float32]:
        """The probability that two rows of X share a class, for index_pairs (m, 2)."""
        check_is_fitted(self)
        return self.classifier_.predict_same(X, index_pairs)

    @property
    def counted_by_(self) -> str:
        """How the number of classes is known: "given", or estimated by "known classes" or by "silhouette"."""
        if self.n_classes is not None:
            return "given"
        return "silhouette" if self.similarity_ is None or self.similarity_.rule_ is None else "known classes"

    def save(self, folder: Path | str) -> None:
        """Write what was found; `PairClassifier.load` and `likewise predict` find the classifier in the same folder."""
        check_is_fitted(self)
        write_discoverer(Path(folder), self)

    @classmethod
    def load(cls, folder: Path | str, *, network: nn.Module | None = None) -> Self:
        """Read what `save` wrote; a similarity with a backbone of your own needs it again, for its form alone.

        A similarity that was a function or a matrix is not saved: what it found is.
        """
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
        """Cluster, teach the network what the clusterings agree on, and cluster again what it sees then."""
        pile = similarity.pile(inputs)
        module = similarity.module_
        rounds = ROUNDS if isinstance(module.head, CosineHead) and self.epochs else 1
        history: list[dict[str, float]] = []
        for number in range(1, rounds + 1):
            seen = similarity.embed_items(inputs, module)
            if number == 1:
                self.trust_ = trust(seen.probability(torch.from_numpy(rows)).numpy())
                self.number_ = self._number(seen.embedding.numpy()[rows], similarity)
            partition, opinions = self._partitions(seen, rows)
            network = prototype_classifier(seen, partition, self.number_.estimate)
            if not self.epochs:
                outputs = partition.numpy()
                break
            run = None if self.run is None else Path(self.run) / f"round{number}"
            result = learn_consensus(
                network,
                pile,
                opinions,
                self._settings(len(inputs)),
                run=run,
                config=None if run is None else _told(inputs, similarity),
                progress=self.verbose and f"round {number}",
                on_epoch=self.on_epoch,
            )
            before = len(history)
            history += [{**row, "round": number, "epoch": row["epoch"] + before} for row in result.history]
            module = module.with_backbone(network)
        else:
            outputs = mean_probabilities(network, pile.with_gentler_views(), VIEWS, self.seed_).argmax(1).numpy()
        self.classifier_ = PairClassifier.of_network(
            network, similarity.network_name_, similarity.input_form_, self.number_.estimate, outputs, history
        )
        self.classifier_.encoder, self.classifier_.encoder_ = similarity.encoder, similarity.encoder_
        if hasattr(self, "feature_names_in_"):
            self.classifier_.feature_names_in_ = self.feature_names_in_
        return outputs

    def _partitions(self, seen: EmbeddedPile, rows: NDArray[np.int64]) -> tuple[Tensor, Tensor]:
        """The best partition of all items (n,), and several opinions (n, R) on it."""
        z = seen.embedding.numpy()
        if isinstance(seen.module.head, CosineHead):
            affinities = [cosine_affinity(z[rows], width) for width in WIDTHS]
        else:
            affinities = [seen.probability(torch.from_numpy(rows)).numpy()]
        k = self.number_.estimate
        columns = [spectral_partition(affinities[0], k, self.seed_), *spectral_opinions(affinities, k, self.seed_).T]
        partition, *opinions = (_spread(z, rows, column) for column in columns)
        return torch.from_numpy(partition), torch.from_numpy(np.stack(opinions, axis=1))

    def _settings(self, n_items: int) -> Settings:
        return Settings(
            epochs=self.epochs,
            batch_size=min(BATCH_SIZE, max(2, n_items)),
            learning_rate=LEARNING_RATE,
            optimizer="adamw",
            schedule="one-cycle",
            device=self.device,
            precision=self.precision,
            seed=self.seed_,
        )

    def _discover_by_matrix(
        self, X: Any, rows: NDArray[np.int64], probability: NDArray[np.float32]
    ) -> NDArray[np.int64]:
        self.trust_ = trust(probability)
        self.number_ = self._number(probability, None)
        partition = spectral_partition(probability, self.number_.estimate, self.seed_)
        self.classifier_ = PairClassifier(
            self.number_.estimate,
            encoder=self.encoder,
            image_size=self.image_size,
            device=self.device,
            precision=self.precision,
            random_state=self.seed_,
            verbose=self.verbose,
            on_epoch=self.on_epoch,
            run=self.run,
        ).fit(take(X, rows), partition)
        self.classifier_.naming_ = replace(self.classifier_.naming_, named=False)  # by the numbers of the clusters
        return np.asarray(self.classifier_.output_of_each(X))

    def _number(self, rows: NDArray[np.float32], similarity: SimilarityNetwork | None) -> NumberOfClasses:
        if self.n_classes is not None:
            return NumberOfClasses(self.n_classes, self.n_classes, self.n_classes)
        largest = max(2, min(self.max_classes, len(rows) - 1))
        if similarity is not None and similarity.rule_ is not None:
            return similarity.rule_.number_of_classes(joining_costs(diffusion_rows(rows)), largest)
        found = number_by_silhouette(rows, largest)
        return found if found.estimate >= 2 else NumberOfClasses(2, 2, 2)  # with one, no two items could be different

    def _warn(self) -> None:
        if doubts := self.trust_.doubts:
            warnings.warn(
                f"The similarity looks useless on this pile: {'; '.join(doubts)}. Do not trust the classes.",
                stacklevel=3,
            )

    def _inputs(self, X: Any) -> Tensor:
        if isinstance(self.similarity, SimilarityNetwork):
            fitted = hasattr(self.similarity, "module_")
            X = encode_again(self.similarity, X) if fitted else encode_to_fit(clone(self.similarity), X)
        elif self.similarity is None:
            X = encode_to_fit(SimilarityNetwork(encoder=self.encoder, image_size=self.image_size), X)
        if are_images(X):
            inputs = read_images(X, self.image_size)
            if len(inputs) < 2:
                raise InputError(f"The pile has {len(inputs)} items; give two at least, and better hundreds.")
            return inputs
        features = validate_data(self, X, dtype=np.float32, ensure_min_samples=2)
        return torch.from_numpy(np.array(features))


def number_in_words(found: CategoryDiscoverer) -> str:
    """How many classes there are, how sure that is, and how many the paper's count would say."""
    number, by = found.number_, found.counted_by_
    paper = f"the paper's count of dominant clusters is {found.n_dominant_}."
    if by == "given":
        return f"The number of classes, {number.estimate}, was given; {paper}"
    return f"There are about {number.estimate} classes (interval {number.low} to {number.high}), {COUNTED[by]}; {paper}"


def _told(inputs: Tensor, similarity: SimilarityNetwork) -> dict[str, object]:
    """What makes a round's folder its own: one that was begun with another pile or similarity is refused."""
    weights = (weight.detach().cpu().numpy() for weight in similarity.module_.parameters())
    return {"items": checksum(inputs.numpy()), "similarity": checksum(*weights)}


def _spread(z: NDArray[np.float32], rows: NDArray[np.int64], partition: NDArray[np.int64]) -> NDArray[np.int64]:
    """The clusters of some rows for all: an item without one goes to the nearest mean."""
    if len(rows) == len(z):
        return partition
    there = np.unique(partition)
    means = np.stack([z[rows[partition == k]].mean(0) for k in there])
    nearest: NDArray[np.int64] = there[(z @ means.T - (means**2).sum(1) / 2).argmax(1)]
    nearest[rows] = partition
    return nearest
