"""SemiSupervisedClassifier: the scikit-learn estimator that learns from a few labels and unlabelled items."""

from __future__ import annotations

import math
import warnings
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import assert_all_finite
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d
from torch import nn
from torch.nn.functional import cross_entropy

from likewise.atomic import atomic
from likewise.errors import InputError
from likewise.estimators.encoding import Choice, encode_views_to_fit
from likewise.estimators.inputs import InputForm
from likewise.estimators.naming import known_outputs
from likewise.estimators.network_classifier import STEPS, NetworkClassifier
from likewise.estimators.starting_network import Network
from likewise.estimators.task import checksum, items_checksum
from likewise.storage.records import Form
from likewise.supervision.semi import Method, find_method, usual_epsilon
from likewise.training import LEAST_STEPS, Augment, Evaluate, NetworkInputs, OnEpoch, Settings, learn_few_labels
from likewise.training.settings import Precision
from likewise.unknown import UNKNOWN

# Labels of some items: which are known, what classes they name, and which of them are kept back to measure with.

NO_LABEL = ("", *map(str, UNKNOWN))  # as text


class PartialLabels(NamedTuple):
    classes: NDArray[Any]  # (K,) sorted
    codes: NDArray[np.int64]  # (n,) positions in the classes; -1 where unknown


def read_partial_labels(y: ArrayLike | None, n_items: int, n_classes: int | None) -> PartialLabels:
    """Labels, checked; -1 and -100 are unknown, and so are an empty text and None where the labels are text.

    >>> read_partial_labels(["bee", "", "ant", "bee"], 4, None)
    PartialLabels(classes=array(['ant', 'bee'], dtype='<U3'), codes=array([ 1, -1,  0,  1]))
    """
    if y is None:
        raise InputError(
            "SemiSupervisedClassifier requires y to be passed, but the target y is None; give the label of each item, "
            "and -1 where there is none."
        )
    column = column_or_1d(y, warn=True)
    if column.dtype.kind not in "OU":
        assert_all_finite(column, input_name="y")
    if len(column) != n_items:
        raise InputError(f"X has {n_items} items and y {len(column)}; give one label per item, -1 where there is none.")
    known = is_labelled(column)
    if not known.any():
        raise InputError("y holds no label, all of it is -1; label at least two items, of different classes.")
    labels = np.array(column[known].tolist()) if column.dtype.kind == "O" else column[known]
    check_classification_targets(labels)
    classes, places = np.unique(labels, return_inverse=True)
    if len(classes) < 2:
        raise InputError(f"y holds one class, {classes[0]}; label items of at least two classes.")
    if n_classes is not None and n_classes < len(classes):
        raise InputError(
            f"n_classes is {n_classes}, but the {len(labels)} labels name {len(classes)} classes; give "
            f"{len(classes)} or more, or leave it out."
        )
    codes = np.full(n_items, -1, dtype=np.int64)
    codes[known] = places
    return PartialLabels(classes, codes)


def hold_out_labels(codes: NDArray[np.int64], share: float, seed: int) -> NDArray[np.int64]:
    """Positions of a random share of the labelled items, such that each class keeps at least one.

    >>> hold_out_labels(np.array([0, 0, 0, 1, -1, 0]), 0.6, seed=0)  # of five labels; class 1 has one alone
    array([0, 1, 5])
    """
    order = np.random.default_rng(seed).permutation(np.flatnonzero(codes >= 0))
    kept = np.unique(codes[order], return_index=True)[1]  # the first of each class
    free = np.delete(order, kept)
    return np.sort(free[: int(share * len(order))])


def is_labelled(column: NDArray[Any]) -> NDArray[np.bool_]:
    """(n,) Which entries are labels."""
    if column.dtype.kind == "U":
        return ~np.isin(np.char.strip(column), NO_LABEL)
    if column.dtype.kind == "O":
        return np.array([not _is_missing(value) for value in column], dtype=np.bool_)
    return ~np.isin(column, UNKNOWN)


def _is_missing(value: object) -> bool:
    if isinstance(value, str):
        return value.strip() in NO_LABEL
    return value is None or value in UNKNOWN or value != value


class SemiSupervisedClassifier(NetworkClassifier):
    """Learns classes from a few labels and from all the items that have none.

    Parameters
    ----------
    method : "supervised" (the labels alone), "pseudo-label", "pi-model", "vat", "spn-mcl", "pseudo-mcl" or
        "pseudo-mcl+". All of them begin with the network that the labels alone give.
    n_classes : how many classes there are, to be told when a class has no label; by default those of y. A class without
        a label, if items fall in it, is called by the next number, or "output 3" where labels are text.
    network : a name from `likewise.networks.NAMES`, an nn.Module with one output per class (copied), or a function
        (n_classes, input_shape) -> nn.Module. By default LeNet for images, an MLP for features, and
        a linear network with an encoder.
    epochs : of each of the two stages; by default about 640 steps, and at least 10 epochs.
    held_out : the share of the labels that is kept back to measure with.
    epsilon : how far VAT goes from an item, in deviations; by default 8 for an item of 3x32x32 numbers.
    encoder : the pretrained network whose features of photos or texts are learned from: a name (see
        `likewise.encoders.load_encoder`), an nn.Module, a function of a list of items, or "none". "auto" has one for
        photos, images whose shorter side is above 64 pixels, where no network is named. It is remembered and saved.
    views : of each photo, how many augmented views (flipped, cropped elsewhere) are encoded too, up to 9; the second
        stage then sees any of them in the place of the photo. X must be the photos themselves.
    augment : "auto" (gentle shifts and turns of images, slight noise on features), None, or an `Augmentation`.
    image_size : the side that images from files are brought to.
    unit_length : whether to bring feature vectors to length 1 before anything else, as suits embeddings that are
        compared by their angle. What is predicted later is treated alike, also by an exported file.
    precision : "auto" or "float32", or "bfloat16", which is faster on hardware that has it and rounds to three digits.
    verbose : whether to show progress: a bar on a terminal, else lines, at most one per second.
    on_epoch : is called with each new row of the history (a dict), for logging.
    run : a folder, from which a killed fit resumes.

    Attributes
    ----------
    classes_, network_, first_network_ (as it was after the supervised stage), history_, held_out_ (the rows held out),
    n_labelled_ (the labels learned from), method_ (what was used: "supervised" where every item has a label).

    >>> from sklearn.datasets import make_blobs
    >>> X, y = make_blobs(300, centers=3, random_state=0, cluster_std=0.5)
    >>> few = np.where(np.arange(300) < 9, y, -1)
    >>> model = SemiSupervisedClassifier(epochs=5).fit(X, few)
    >>> model.n_labelled_, model.score(X, y) > 0.95
    (9, True)
    """

    saved_facts: ClassVar[dict[str, Form]] = {"method": str, "n_labelled": int}

    method_: str
    n_labelled_: int
    held_out_: NDArray[np.int64]

    def __init__(
        self,
        method: str = "pseudo-mcl",
        *,
        n_classes: int | None = None,
        network: Network = None,
        epochs: int | None = None,
        batch_size: int = 100,
        learning_rate: float = 1e-3,
        held_out: float = 0.0,
        epsilon: float | None = None,
        encoder: Choice = "auto",
        views: int = 0,
        augment: Augment | Literal["auto"] | None = "auto",
        image_size: int = 32,
        unit_length: bool = False,
        device: str = "auto",
        precision: Precision = "auto",
        random_state: int | np.random.RandomState | None = 0,
        verbose: bool = False,
        on_epoch: OnEpoch | None = None,
        run: Path | str | None = None,
    ) -> None:
        self.method = method
        self.n_classes = n_classes
        self.network = network
        self.epochs = epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.held_out = held_out
        self.epsilon = epsilon
        self.encoder = encoder
        self.views = views
        self.augment = augment
        self.image_size = image_size
        self.unit_length = unit_length
        self.device = device
        self.precision = precision
        self.random_state = random_state
        self.verbose = verbose
        self.on_epoch = on_epoch
        self.run = run

    @atomic
    def fit(self, X: Any, y: ArrayLike | None = None) -> Self:
        """Learn from the labels y, -1 where an item has none, and from all of X."""
        method = self._check_parameters()
        inputs = self._inputs(X, reset=True)
        self.input_form_ = form = InputForm.of(inputs, bool(self.unit_length))
        labels = read_partial_labels(y, len(inputs), self.n_classes)
        self.n_outputs_ = int(self.n_classes or len(labels.classes))
        seed = self._seed()
        self.held_out_ = hold_out_labels(labels.codes, self.held_out, seed)
        known = labels.codes.copy()
        known[self.held_out_] = -1
        self.n_labelled_ = int((known >= 0).sum())
        method = self._method_for(method, labels)
        self.method_ = method.name
        views = encode_views_to_fit(self, X, self.views)
        pile = NetworkInputs(inputs, form.mean, form.std, form.augmentation(self.augment), views)
        epsilon = usual_epsilon(math.prod(form.shape)) if self.epsilon is None else self.epsilon
        learned = learn_few_labels(
            self._starting_network(inputs, seed),
            pile,
            torch.from_numpy(known),
            method,
            self._settings(self.n_labelled_, seed),
            self._settings(len(inputs), seed),
            epsilon=epsilon,
            run=None if self.run is None else Path(self.run),
            config=None
            if self.run is None
            else {
                "items": items_checksum(inputs),
                "labels": checksum(known),
                **({"views": int(self.views)} if self.views else {}),
            },
            evaluate=self._held_out_scores(pile, labels) if len(self.held_out_) else None,
            progress=self.verbose,
            on_epoch=self.on_epoch,
        )
        self.network_ = learned.network
        self.first_network_ = learned.first
        self.history_ = learned.history
        spare = self.n_outputs_ > len(labels.classes)
        outputs = self._outputs(self.network_, inputs).argmax(1).numpy() if spare else labels.codes[:0]
        naming = known_outputs(labels.classes, outputs)
        self._set_naming(naming, naming.outputs)
        return self

    def _check_parameters(self) -> Method:
        if not 0 <= self.held_out < 1:
            raise InputError(f"held_out must be a share from 0 to below 1, got {self.held_out!r}.")
        if self.epsilon is not None and not 0 < self.epsilon < math.inf:
            raise InputError(f"epsilon must be a finite number above 0, got {self.epsilon!r}.")
        return find_method(self.method)

    def _method_for(self, method: Method, labels: PartialLabels) -> Method:
        """The labels alone where nothing else is there."""
        if method.regulariser is None or (labels.codes < 0).any():
            return method
        warnings.warn(
            "Every item has a label, so nothing is left for the method to learn from: the classifier learns from "
            "the labels alone, as with method='supervised'.",
            stacklevel=3,
        )
        return find_method("supervised")

    def _settings(self, n_items: int, seed: int) -> Settings:
        steps = max(LEAST_STEPS, math.ceil(n_items / self.batch_size))
        return Settings(
            epochs=self.epochs or max(10, math.ceil(STEPS / steps)),
            batch_size=self.batch_size,
            learning_rate=self.learning_rate,
            schedule="one-cycle",
            device=self.device,
            precision=self.precision,
            seed=seed,
        )

    def _held_out_scores(self, pile: NetworkInputs, labels: PartialLabels) -> Evaluate:
        held_out, truth = self.held_out_, torch.from_numpy(labels.codes[self.held_out_])

        def evaluate(network: nn.Module, _: np.ndarray) -> dict[str, float]:
            logits = pile.logits(network, held_out)
            right = (logits.argmax(1) == truth).float().mean()
            return {"held_out_loss": float(cross_entropy(logits, truth)), "held_out_accuracy": float(right)}

        return evaluate
