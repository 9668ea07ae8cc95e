"""What all classifiers with a network share: inputs, predictions, names, and the saved form."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any, ClassVar, Self, cast

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data
from torch import Tensor, nn

from likewise.encoders.last_blocks import Weights
from likewise.estimators.encoding import Choice, encode_again, encode_to_fit
from likewise.estimators.inputs import (
    InputForm,
    are_images,
    are_on_disk,
    index_pairs_of,
    of_unit_length,
    read_images,
    seed_of,
)
from likewise.estimators.naming import Naming, match_names
from likewise.estimators.saved import read_classifier, write_classifier
from likewise.estimators.starting_network import Network, OwnNetwork, default_network, starting_network
from likewise.storage.records import Form
from likewise.training import features_of, predict_logits

STEPS = 640  # of each stage, where ten times through the items are fewer


class NetworkClassifier(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A network, the form of its inputs and the names of its outputs: all that is left to add is how it learns.

    Who fits it sets `input_form_`, `n_outputs_`, `network_`, `history_`, and with `_set_naming` the names.
    """

    saved_facts: ClassVar[dict[str, Form]] = {}  # attributes, without their underscore, that are saved beside these
    facts_added: ClassVar[dict[str, Any]] = {}  # those that earlier versions did not save, and what stands for them

    network: Network
    encoder: Choice
    image_size: int
    unit_length: bool
    random_state: int | np.random.RandomState | None
    network_: nn.Module
    encoder_: dict[str, Any] | None  # what is known of the encoder, where there is one
    encoder_weights_: Weights | None = None  # of its last blocks, where these were trained too
    input_form_: InputForm
    n_outputs_: int
    history_: list[dict[str, float]]
    naming_: Naming
    classes_: NDArray[Any]
    outputs_: NDArray[np.int64]
    unused_outputs_: int

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of each item."""
        best = self.predict_proba(X).argmax(1)
        return np.asarray(self.classes_[best])

    def predict_proba(self, X: Any) -> NDArray[np.float32]:
        """The probability of each class of `classes_`, (n, classes)."""
        return np.asarray(self._naming().probabilities(self._logits(X)))

    def predict_outputs(self, X: Any, outputs: NDArray[np.int64]) -> NDArray[np.float32]:
        """The probabilities of some outputs (n, outputs), which sum to 1, whatever these are called."""
        return np.asarray(self._logits(X)[:, outputs].softmax(1).numpy())

    def output_of_each(self, X: Any) -> NDArray[np.int64]:
        """The output (n,) that stands for each item's class."""
        return np.asarray(self._naming().columns[self.predict_proba(X).argmax(1)])

    def predict_same(self, X: Any, index_pairs: ArrayLike) -> NDArray[np.float32]:
        """s_hat: the probability that two rows of X share a class, for index_pairs (m, 2)."""
        p = self._logits(X).softmax(1).numpy()
        rows = index_pairs_of(index_pairs, len(p))
        return np.asarray(np.einsum("ik,ik->i", p[rows[:, 0]], p[rows[:, 1]]))

    def transform(self, X: Any) -> NDArray[np.float32]:
        """What the network sees in each item: the features below its last layer, or its logits where it names none."""
        check_is_fitted(self)
        return np.asarray(self._outputs(features_of(self.network_), self._inputs(X, reset=False)).numpy())

    def name_classes(self, X: Any, y: ArrayLike) -> Self:
        """Give the outputs the names of a few labelled items, by the matching that agrees with most of them.

        An output in use that meets no name is called by its number, as in "output 3".
        """
        truth = column_or_1d(y)
        outputs = self._logits(X).argmax(1).numpy()
        self._set_naming(match_names(outputs, truth, self.outputs_, others=True), self.outputs_)
        if len(missing := self.classes_[self.naming_.columns < 0]):
            names = ", ".join(str(name) for name in missing)
            warnings.warn(f"No output is left for {names}: their items share one with another class.", stacklevel=2)
        return self

    def save(self, folder: Path | str) -> None:
        """Write the classifier to a folder, as JSON and safetensors."""
        check_is_fitted(self)
        write_classifier(Path(folder), self)

    @classmethod
    def load(cls, folder: Path | str, *, network: OwnNetwork | None = None) -> Self:
        """Read a classifier that `save` wrote; one with a network of your own needs it again, for its form alone."""
        classifier: Self = read_classifier(Path(folder), cls, network)
        return classifier

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float32"]
        return tags

    @property
    def _n_features_out(self) -> int:
        form = self.input_form_
        item = torch.zeros(1, *form.shape, dtype=torch.uint8 if form.images else torch.float32)
        return int(self._outputs(features_of(self.network_), item).shape[1])

    def _inputs(self, X: Any, reset: bool) -> Tensor:
        """The items of X as one tensor; with `reset` they are those to be fitted."""
        inputs = self._read(X, reset)
        unit_length = self.unit_length if reset else self.input_form_.unit_length
        return of_unit_length(inputs) if unit_length else inputs

    def _rows(self, X: Any) -> Any:
        """X as answers refer to it: paths and the index of a DataFrame are ids, but a list of texts has row numbers."""
        texts = self.encoder_ is not None and self.encoder_["takes"] == "texts"
        return len(X) if texts and not hasattr(X, "iloc") else X

    def _read(self, X: Any, reset: bool) -> Tensor:
        X = encode_to_fit(self, X) if reset else encode_again(self, X)
        if are_on_disk(X):
            if reset and X.ndim == 2:
                self.n_features_in_ = X.shape[1]
            return cast(Tensor, X)
        if are_images(X):
            return read_images(X, self.image_size)
        features = validate_data(self, X, reset=reset, dtype=np.float32, ensure_min_samples=2 if reset else 1)
        return torch.from_numpy(np.array(features))  # a copy of our own, which torch may write to

    def _starting_network(self, inputs: Tensor, seed: int, start: int = 0) -> nn.Module:
        def logits(network: nn.Module) -> Tensor:
            return self._outputs(network, inputs[:1])

        shape = self.input_form_.shape
        chosen = self.network
        if chosen is None:  # what an encoder sees is linearly separable, however many items there are
            chosen = default_network(shape, len(inputs)) if self.encoder_ is None else "linear"
        return starting_network(chosen, self.n_outputs_, shape, logits, seed=seed, start=start)

    def _set_naming(self, naming: Naming, outputs: NDArray[np.int64]) -> None:
        """`outputs` are those in use."""
        self.naming_, self.outputs_ = naming, outputs
        self.classes_ = naming.classes
        self.unused_outputs_ = self.n_outputs_ - len(outputs)

    def _naming(self) -> Naming:
        check_is_fitted(self)
        return self.naming_

    def _logits(self, X: Any) -> Tensor:
        check_is_fitted(self)
        return self._outputs(self.network_, self._inputs(X, reset=False))

    def _outputs(self, network: nn.Module, inputs: Tensor) -> Tensor:
        form = self.input_form_
        return predict_logits(network, form.check(inputs), mean=form.mean, std=form.std)

    def _seed(self) -> int:
        return seed_of(self.random_state)
