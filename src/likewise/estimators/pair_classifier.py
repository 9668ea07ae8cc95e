"""PairClassifier: the scikit-learn estimator that learns from answers."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics import accuracy_score
from sklearn.utils.validation import check_is_fitted, column_or_1d
from torch import nn

from likewise.atomic import atomic
from likewise.errors import InputError
from likewise.estimators.encoding import Choice, check_fine_tuning
from likewise.estimators.first_fit import fit_first
from likewise.estimators.increments import Memory, learn_increment
from likewise.estimators.inputs import InputForm
from likewise.estimators.naming import match_names, outputs_in_use
from likewise.estimators.network_classifier import NetworkClassifier
from likewise.estimators.pair_folds import agreement
from likewise.estimators.saved import OWN
from likewise.estimators.starting_network import Network, OwnNetwork
from likewise.estimators.task import (
    read_supervision,
)
from likewise.estimators.wrong_answers import CREDIBILITY, Noise, Verdict, check_noise, check_saved
from likewise.pairs import Ids, LargeAnswers, Pairs, PairTarget, Posterior, answers_about
from likewise.storage.records import Form
from likewise.training import Augment, OnEpoch
from likewise.training.settings import Precision


class PairClassifier(NetworkClassifier):
    """Learns classes from answers whether two items are the same, and puts unseen items in them.

    Parameters
    ----------
    n_classes : how many classes to look for; it may be larger than the truth: outputs that no item falls in are
        dropped. Where it is left out, it is the number in y with `fit(X, y)`, and with pairs it is estimated, from the
        answers and from how the items lie.
    network : a name from `likewise.networks.NAMES`, an nn.Module with n_classes outputs (it is copied), or a function
        (n_classes, input_shape) -> nn.Module. By default LeNet for images, an MLP for features, and a
        linear network with an encoder, and for embeddings (100 numbers or more, and fewer than ten items for each).
        The first start has the weights of an nn.Module, which may be pretrained; each later one keeps them except for a
        new last layer.
    epochs : number of epochs of each stage; by default chosen from the number of answers, 400 steps or more.
    group_first : whether to begin with groups of the items, on which geometry and answers agree. The network is taught
        these, then what it sees is grouped again. Random starts are made where the groups do not show the classes.
    unlabelled : whether a second stage uses the pairs that nobody answered, through pseudo-similarity; its outcome is
        dropped where it is worse on held-out answers, by more than two standard errors; and after clear groups, where
        no answer looks wrong, unless it is better by as much. Vectors whose groups are clear have no such stage; in a
        table of more than 10,000 of them it keeps the borders of classes away from items, once with neighbours taken to
        be the same and once without, and what is worse is dropped.
    noise : how answers may be wrong. "auto": each annotator has rates of false "same" and false "different", and all
        answers are judged together with the network's outputs, in turns with the training; what follows from chains of
        answers is used only where none looks wrong. "annotators": the same rates, but each pair is judged alone.
        "learn": one rate for everybody; a number: this rate. "confusion": which classes are mixed up. 0: all are right.
    held_out : the share of the answers that is kept back to measure with. With y nothing is, unless there is patience.
    starts : of random starts, how many to make at most, while more than 1 % of the answers are denied.
    patience : epochs without a better loss of the held-out pairs before a stage ends, with its best weights; 0: never.
    encoder : the pretrained network whose features of photos or texts are learned from: a name (see
        `likewise.encoders.load_encoder`), an nn.Module, a function of a list of items, or "none". "auto" has one for
        photos, images whose shorter side is above 64 pixels, where no network is named. It is remembered and saved.
    fine_tune : whether the last blocks of the encoder learn too, at a low rate, after the classifier. The outcome is
        dropped if it does worse on held-out answers, otherwise saved with the model. X must be the items themselves.
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
    classes_ : the classes: those of y, or the numbers of the outputs in use until `name_classes` gives them names.
    n_outputs_ : the number of classes that were looked for. n_classes_interval_ : (low, high), which hold it with 90 %,
    where it was estimated; else None.
    network_, history_ (of the last call), noise_ (the share of wrong answers), unused_outputs_ (their number).
    p_wrong_ : (m,) with noise "auto" or "annotators" how likely each answer given to `fit` is wrong; posterior_ : what
    all of them say together (`Posterior`); credibility_ : its facts, which are saved: the rates of each annotator, the
    share of wrong answers, and whether they are supported. outliers_ : items that fit no class, or two.
    confusion_ : (K, K) with noise "confusion" how often two items are called the same, by their outputs; else None.
    Of the last `fit` first_network_ (as it was after the first stage), held_out_ (Pairs), unlabelled_ (whether the
    second stage was kept; None: there was none), grouped_ (whether it began with groups of the items).

    >>> from sklearn.datasets import make_blobs
    >>> X, y = make_blobs(300, centers=3, random_state=0, cluster_std=0.5)
    >>> model = PairClassifier(n_classes=3, epochs=5).fit(X, pairs=Pairs.from_labels(y, n=200))
    >>> model.score(X, y) > 0.95  # ACC: the outputs have no names yet, and are matched with the classes
    True
    >>> model.name_classes(X[:20], np.array(["ant", "bee", "cat"])[y[:20]]).classes_
    array(['ant', 'bee', 'cat'], dtype='<U3')
    """

    saved_facts: ClassVar[dict[str, Form]] = {
        "noise": float,
        "unlabelled": (bool, None),
        "n_classes_interval": ([int], None),
        "credibility": (CREDIBILITY, None),
        "confusion": ([[float]], None),
    }
    facts_added: ClassVar[dict[str, Any]] = {"n_classes_interval": None, "credibility": None, "confusion": None}

    noise_: float
    unlabelled_: bool | None
    grouped_: bool
    n_classes_interval_: tuple[int, int] | None
    held_out_: Pairs
    posterior_: Posterior | None
    p_wrong_: NDArray[np.float64] | None
    outliers_: NDArray[np.int64]
    credibility_: dict[str, Any] | None
    confusion_: NDArray[np.float64] | None
    memory_: dict[str, Memory]

    def __init__(
        self,
        n_classes: int | None = None,
        *,
        network: Network = None,
        epochs: int | None = None,
        batch_size: int = 100,
        learning_rate: float = 3e-3,
        group_first: bool = True,
        unlabelled: bool = True,
        noise: Noise = "auto",
        held_out: float = 0.1,
        starts: int = 3,
        patience: int = 0,
        encoder: Choice = "auto",
        fine_tune: bool = False,
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
        self.n_classes = n_classes
        self.network = network
        self.epochs = epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.group_first = group_first
        self.unlabelled = unlabelled
        self.noise = noise
        self.held_out = held_out
        self.starts = starts
        self.patience = patience
        self.encoder = encoder
        self.fine_tune = fine_tune
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
    def fit(
        self,
        X: Any,
        y: ArrayLike | PairTarget | None = None,
        *,
        pairs: Pairs | PairTarget | LargeAnswers | None = None,
        ids: Ids | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Learn from answers about the rows of X, or from y, of which only same or different is used.

        With y, and with answers that leave no pair unknown, random starts learn by joint MCL, else by MCL; with weights
        that differ, or with noise, always by MCL.
        Answers by id need `ids`, one for each row of X, unless X has them itself: it is a DataFrame whose index holds
        them, or made of paths. Answers may also stand in y, as `pairs.target(len(X))`, so that they follow a split.
        Answers of several annotators count by each one's rates; where `noise` knows none, they are merged.
        X may be an `ArrayOnDisk`, and the answers `LargeAnswers`, where they do not fit into memory.
        `sample_weight` has one value per answer or, with y alone, per item. y also gives the outputs their names; where
        there are answers beside it, that is all it does.
        """
        self._check_parameters()
        inputs = self._inputs(X, reset=True)
        check_fine_tuning(self, X)
        fit_first(self, inputs, *read_supervision(self._rows(X), len(inputs), y, pairs, ids), sample_weight, None, X)
        return self

    @atomic
    def partial_fit(
        self,
        X: Any,
        y: ArrayLike | None = None,
        classes: ArrayLike | None = None,
        *,
        pairs: Pairs | PairTarget | None = None,
        ids: Ids | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Go on from the present weights with answers or labels that came in; the first call is like `fit`.

        An increment costs what is new: each new answer or label is seen 10 times, or as often as `epochs` says, and
        beside it some of what was told before. For that a sample of up to 2,000 labels and as many answers is kept with
        their items; it is not saved. With a folder `run`, a script that was killed resumes when it is run again.

        With y, `classes` are all the classes there will be. New ones may join while there are outputs for them.
        """
        self._check_parameters()
        first = not hasattr(self, "network_")
        inputs = self._inputs(X, reset=first)
        labels, answers = read_supervision(self._rows(X), len(inputs), y, pairs, ids)
        everything = None if classes is None else np.unique(np.asarray(classes))
        if first:
            check_fine_tuning(self, X)
            fit_first(self, inputs, labels, answers, sample_weight, everything, X)
            return self
        if isinstance(answers, LargeAnswers):
            raise InputError("An increment is held in memory; give its answers as Pairs.")
        learn_increment(self, self.input_form_.check(inputs), labels, answers, sample_weight, everything)
        return self

    def score(
        self,
        X: Any,
        y: ArrayLike | PairTarget | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        pairs: Pairs | PairTarget | None = None,
        ids: Ids | None = None,
    ) -> float:
        """The accuracy on labels y, after the best matching where the classes have no names; or on answers."""
        if isinstance(y, PairTarget) or (y is None and pairs is not None):
            check_is_fitted(self)
            answers = answers_about(y if pairs is None else pairs, self._rows(X), ids)
            return agreement(self, X, answers)
        if y is None:
            raise InputError("score needs y, the classes of the items, or pairs, answers about them.")
        naming = self._naming()
        if naming.named:
            return float(super().score(X, y, sample_weight))
        outputs, truth = self.predict(X), column_or_1d(y)
        matched = match_names(outputs, truth, naming.outputs, others=False)
        hits = (outputs[:, None] == matched.columns) & (truth[:, None] == matched.classes)  # (n, classes)
        return float(accuracy_score(np.ones(len(hits)), hits.any(1), sample_weight=sample_weight))

    @classmethod
    def of_network(
        cls,
        network: nn.Module,
        name: str,
        form: InputForm,
        n_outputs: int,
        outputs: NDArray[np.int64],
        history: list[dict[str, float]],
    ) -> Self:
        """A classifier whose network was trained elsewhere; its classes are those of the outputs that items fall in."""
        model = cls(n_outputs, network=network if name == OWN else name, unit_length=form.unit_length)
        model.input_form_, model.encoder_ = form, None
        model.n_outputs_, model.n_classes_interval_ = n_outputs, None
        model.network_ = model.first_network_ = network
        model.history_, model.noise_, model.unlabelled_ = history, 0.0, False
        model._set_verdict(Verdict(None, None))
        model.confusion_ = None
        model.held_out_, model.memory_ = Pairs.from_arrays(np.empty((0, 2)), []), {}
        if not form.images:
            model.n_features_in_ = form.shape[0]
        naming = outputs_in_use(outputs)
        model._set_naming(naming, naming.outputs)
        return model

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = False  # pairs may stand in its place
        return tags

    @classmethod
    def load(cls, folder: Path | str, *, network: OwnNetwork | None = None) -> Self:
        """Read a classifier that `save` wrote; one with a network of your own needs it again, for its form alone."""
        classifier = super().load(folder, network=network)
        classifier.held_out_, classifier.memory_ = Pairs.from_arrays(np.empty((0, 2)), []), {}
        check_saved(classifier.confusion_, classifier.credibility_, classifier.n_outputs_, Path(folder))
        classifier._set_verdict(Verdict(None, classifier.credibility_))
        if classifier.confusion_ is not None:
            classifier.confusion_ = np.array(classifier.confusion_, dtype=np.float64)
        if (interval := classifier.n_classes_interval_) is not None:  # JSON has no tuples
            classifier.n_classes_interval_ = (interval[0], interval[1])
        return classifier

    def _check_parameters(self) -> None:
        check_noise(self.noise)
        if not 0 <= self.held_out < 1:
            raise InputError(f"held_out must be a share from 0 to below 1, got {self.held_out!r}.")
        if self.starts < 1:
            raise InputError(f"starts must be 1 or more, got {self.starts!r}.")

    def _set_verdict(self, verdict: Verdict) -> None:
        self.posterior_, self.p_wrong_ = verdict.posterior, verdict.p_wrong
        self.credibility_, self.outliers_ = verdict.facts, verdict.outliers
