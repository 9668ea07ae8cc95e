"""SimilarityNetwork: the scikit-learn estimator that learns what "same" means from labelled classes."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data
from torch import Tensor, nn

from likewise.atomic import atomic
from likewise.datasets import Augmentation
from likewise.errors import InputError
from likewise.estimators.encoding import Choice, encode_again, encode_to_fit
from likewise.estimators.held_out_classes import (
    Parts,
    calibrate,
    group_of_each_class,
    hold_out_classes,
    piles_to_count,
    sample_of_each_class,
)
from likewise.estimators.inputs import (
    InputForm,
    are_images,
    index_pairs_of,
    of_unit_length,
    read_images,
    seed_of,
)
from likewise.estimators.saved import OWN
from likewise.estimators.saved_similarity import read_similarity, write_similarity
from likewise.estimators.task import checksum
from likewise.evaluation import Calibration, Novelty, PairQuality, StoppingRule, joining_costs
from likewise.networks import CosineHead, SimilarityModule, build
from likewise.supervision import diffusion_rows
from likewise.training import (
    Augment,
    EmbeddedItems,
    NetworkInputs,
    OnEpoch,
    Settings,
    embed_items,
    quarter_turns,
    train_similarity,
)
from likewise.training.metric import MetricForm, choose_metric, fit_metric, put_metric
from likewise.training.settings import Precision

STRONG = Augmentation(degrees=15, translate=0.1, scale=(0.8, 1.2), shear=15)  # of images, to learn from
STEPS = (600, 5000)  # of training, between the two: enough to see each item sixty times
METRIC = "metric"
MOST_KEPT = 4000  # known items
ENOUGH_TO_ADAPT = 100  # items, whose statistics are worth more than those of the training


class SimilarityNetwork(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Learns from labelled items whether two are of one class, and says so of items of other classes.

    Parameters
    ----------
    network : the backbone: a name from `likewise.networks.NAMES`, or an nn.Module with `features(x)` and `n_features`
        (it is copied). By default a small convolutional network for images. For features it is "metric", their own
        cosine, moved as far as known classes kept back want it; an MLP where `epochs` or the head "pairs" is given.
    head : "cosine" compares embeddings by their angle and is trained by contrast; "pairs" is the paper's head on both
        of a pair, trained pair by pair.
    turns : whether images turned by a quarter are classes of their own, which makes four times as many; by default
        where images are square.
    held_out : the share of the classes that is kept back to calibrate and measure with: whole groups of them, where
        `fit` is told of five or more; of the items, where there are fewer than ten classes.
    refit : whether the network is learned once more in the end, from all that is known, for twice the time; quality_,
        calibration_ and rule_ are those of the network that had not seen what was held out.
    views : how many augmented views of an item a prediction is averaged over.
    adapt : whether batch-norm takes its statistics from the items at hand, where they are a hundred or more.
    encoder : the pretrained network whose features of photos or texts are learned from: a name (see
        `likewise.encoders.load_encoder`), an nn.Module, a function of a list of items, or "none". "auto" has one for
        photos, images whose shorter side is above 64 pixels, where no network is named. It is remembered and saved.
    unit_length : whether to bring feature vectors to length 1 before anything else, as suits embeddings that are
        compared by their angle. What is predicted later is treated alike.
    precision : "auto" or "float32", or "bfloat16", which is faster on hardware that has it and rounds to three digits.
    verbose : whether to show progress. on_epoch : is called with each new row of the history (a dict), for logging.

    Attributes
    ----------
    module_ (a `SimilarityModule`), quality_ and calibration_ (on what was held out), rule_ (how to count classes, or
    None), metric_ (the map of features, or None), novelty_ (how to tell unseen classes), classes_. known_inputs_ and
    known_codes_ : up to 4,000 known items and their places in classes_, which are saved with it.

    >>> from sklearn.datasets import make_blobs
    >>> X, y = make_blobs(600, n_features=8, centers=20, random_state=0)
    >>> network = SimilarityNetwork(epochs=10).fit(X[y < 15], y[y < 15])
    >>> same = y[y >= 15][:, None] == y[y >= 15]
    >>> float(((network.similarity(X[y >= 15]) > 0.5) == same).mean()) > 0.9
    True
    """

    encoder_: dict[str, Any] | None
    metric_: MetricForm | None
    quality_: PairQuality
    calibration_: Calibration
    encoder_weights_: Any = None  # it trains none

    def __init__(
        self,
        network: nn.Module | str | None = None,
        *,
        head: Literal["cosine", "pairs"] = "cosine",
        turns: bool | None = None,
        epochs: int | None = None,
        batch_size: int = 200,
        learning_rate: float = 1e-3,
        held_out: float = 0.15,
        refit: bool = True,
        views: int = 6,
        adapt: bool = True,
        encoder: Choice = "auto",
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
        self.network = network
        self.head = head
        self.turns = turns
        self.epochs = epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.held_out = held_out
        self.refit = refit
        self.views = views
        self.adapt = adapt
        self.encoder = encoder
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
    def fit(self, X: Any, y: ArrayLike | None = None, groups: ArrayLike | None = None) -> Self:
        """Learn from items X and their classes y.

        `groups` says where each item is from, if classes come in groups (the characters of an alphabet) and new classes
        will be those of another group: then whole groups are held out.
        """
        if y is None:
            raise InputError("SimilarityNetwork requires y to be passed, but the target y is None; give the classes.")
        inputs = self._inputs(X, reset=True)
        labels = column_or_1d(y)
        if len(labels) != len(inputs):
            raise InputError(f"X has {len(inputs)} items and y {len(labels)}; give one label per item.")
        self.classes_, codes = np.unique(labels, return_inverse=True)
        if len(self.classes_) < 2:
            raise InputError("The known items are all of one class; give two classes or more, and better twenty.")
        seed = seed_of(self.random_state)
        self.input_form_ = InputForm.of(of_unit_length(inputs) if self.unit_length else inputs, bool(self.unit_length))
        codes, self.metric_ = codes.astype(np.int64), None
        group = None if groups is None else group_of_each_class(codes, groups)
        parts = hold_out_classes(codes, self.held_out, seed, group)
        run = None if self.run is None else Path(self.run)
        self._train(inputs[parts.train], torch.from_numpy(parts.train_codes), seed, run)
        rows, held_out = parts.to_pair(seed)
        seen = self.embed_items(inputs[rows])
        self.quality_, self.calibration_ = calibrate(self.module_, seen, held_out)
        self.novelty_: Novelty | None = None
        if self.head == "cosine":  # by classes that the network was not trained on
            self.novelty_ = Novelty.fit(seen.embedding.numpy().astype(np.float64), held_out)
        self.held_out_kind_ = parts.kind
        self.rule_ = self._counting_rule(inputs, parts, group)
        if self.refit:
            slope, offset = self.module_.slope, self.module_.offset
            self._train(inputs, torch.from_numpy(codes), seed, run and run / "all")
            self.module_.slope.copy_(slope)
            self.module_.offset.copy_(offset)
        some = sample_of_each_class(codes, MOST_KEPT, seed)
        self.known_inputs_, self.known_codes_ = inputs[torch.from_numpy(some)], codes[some]
        if self.network_name_ == METRIC:
            self.novelty_ = Novelty.fit(self.embed_items(self.known_inputs_).embedding.numpy(), self.known_codes_)
        return self

    def similarity(self, X: Any) -> NDArray[np.float32]:
        """The probability that two are the same, for all pairs of the items X, (n, n)."""
        return np.asarray(self.embed_items(self.inputs_of(X)).probability().numpy())

    def iter_similarity(self, X: Any, rows: int = 256) -> Iterator[NDArray[np.float32]]:
        """The same in blocks of rows, so that the whole need not be in memory."""
        seen = self.embed_items(self.inputs_of(X))
        for block in seen.module.iter_similarity(seen.features, rows=rows):
            yield np.asarray(block.numpy())

    def predict(self, X: Any) -> NDArray[np.bool_]:
        """Whether two are the same, for all pairs of the items X, (n, n)."""
        return np.asarray(self.similarity(X) > 0.5)

    def predict_same(self, X: Any, index_pairs: ArrayLike) -> NDArray[np.float32]:
        """The probability that two rows of X are of one class, for index_pairs (m, 2)."""
        inputs = self.inputs_of(X)
        pairs = torch.from_numpy(index_pairs_of(index_pairs, len(inputs)))
        seen = self.embed_items(inputs)
        return np.asarray(seen.module.predict_listed(seen.features, pairs).numpy())

    def transform(self, X: Any) -> NDArray[np.float32]:
        """The embeddings that are compared, (n, d), of length 1; the backbone's features with the head "pairs"."""
        return np.asarray(self.embed_items(self.inputs_of(X)).embedding.numpy())

    def embed_items(self, inputs: Tensor, module: SimilarityModule | None = None) -> EmbeddedItems:
        """What this network sees in a pile of items, given as a tensor; or what a `module` that came of it does."""
        check_is_fitted(self)
        adapt = self.adapt and len(inputs) >= ENOUGH_TO_ADAPT
        views = 1 if self.metric_ else max(1, self.views)  # a view of a vector is the vector and noise
        return embed_items(module or self.module_, self.pile(inputs).with_gentler_views(), views=views, adapt=adapt)

    def inputs_of(self, X: Any) -> Tensor:
        """Items as one tensor, through the encoder it was fitted with."""
        return self._inputs(X, reset=False)

    def pile(self, inputs: Tensor) -> NetworkInputs:
        """Items as this network is used to seeing them in training."""
        form = self.input_form_
        strong = STRONG if self.augment == "auto" and form.images else self.augment
        inputs = of_unit_length(form.check(inputs)) if form.unit_length else form.check(inputs)
        return NetworkInputs(inputs, form.mean, form.std, form.augmentation(strong))

    def save(self, folder: Path | str) -> None:
        """Write the network to a folder, as JSON and safetensors."""
        check_is_fitted(self)
        write_similarity(Path(folder), self)

    @classmethod
    def load(cls, folder: Path | str, *, network: nn.Module | None = None) -> Self:
        """Read a network that `save` wrote; one with a backbone of your own needs it again, for its form alone."""
        loaded: Self = read_similarity(Path(folder), cls, network)
        return loaded

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.transformer_tags.preserves_dtype = ["float32"]
        return tags

    @property
    def _n_features_out(self) -> int:
        head = self.module_.head
        return int(head.first.out_features if isinstance(head, CosineHead) else self.module_.n_features)

    def _train(self, inputs: Tensor, labels: Tensor, seed: int, run: Path | None) -> None:
        form = self.input_form_
        if self._is_metric(form):
            self._fit_metric(inputs, labels.numpy(), seed)
            return
        square = form.images and form.shape[1] == form.shape[2]
        if self.turns and not square:
            raise InputError(
                f"Only square images can be turned by a quarter, these are {form.shape}; give turns=False."
            )
        n = len(inputs)
        if square and self.turns in (None, True):
            inputs, labels = quarter_turns(inputs, labels)
        self.module_ = self.make_module(form, seed)
        items = 4 if self.head == "cosine" else 10
        steps_an_epoch = max(1, -(-len(inputs) // self.batch_size))
        steps = min(max(STEPS[0], 60 * n // self.batch_size), STEPS[1])
        settings = Settings(
            epochs=self.epochs or max(1, round(steps / steps_an_epoch)),
            batch_size=self.batch_size,
            learning_rate=self.learning_rate,
            optimizer="adamw",
            schedule="one-cycle",
            device=self.device,
            precision=self.precision,
            seed=seed,
        )
        pile = self.pile(inputs)
        result = train_similarity(
            self.module_,
            pile,
            labels,
            settings,
            items=items,
            run=run,
            config=None if run is None else {"known": checksum(inputs.numpy(), labels.numpy())},
            progress=self.verbose and "similarity",
            on_epoch=self.on_epoch,
        )
        self.history_ = result.history

    def _is_metric(self, form: InputForm) -> bool:
        """Whether features are compared by a linear map of them."""
        if self.network == METRIC and (form.images or self.head != "cosine"):
            raise InputError(
                "The network 'metric' is for features and the head 'cosine'; leave it out, or name another."
            )
        plain = self.network is None and self.epochs is None and self.head == "cosine" and not form.images
        return self.network == METRIC or plain

    def _fit_metric(self, inputs: Tensor, codes: NDArray[np.int64], seed: int) -> None:
        """The map of the features, of the form that was chosen in the first call, as the head of a linear network."""
        form, rows = self.input_form_, self.pile(inputs).inputs.numpy()
        self.metric_ = self.metric_ or choose_metric(rows, codes, seed)
        self.module_ = self.make_module(form, seed)
        put_metric(self.module_, fit_metric(self.metric_, rows, codes), form.mean, form.std)
        self.history_ = []

    def make_module(self, form: InputForm, seed: int) -> SimilarityModule:
        """An untrained module for items of this form."""
        if self._is_metric(form):
            self.network_name_ = METRIC
            width = form.shape[0] + (self.metric_ is not None and self.metric_.distance)
            return SimilarityModule(build("linear", 1, form.shape), hidden=width, head="cosine")
        chosen = self.network or ("conv4" if form.images and min(form.shape[1:]) >= 16 else "mlp")
        self.network_name_ = chosen if isinstance(chosen, str) else OWN
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            backbone = build(chosen, 1, form.shape) if isinstance(chosen, str) else copy.deepcopy(chosen)
            return SimilarityModule(backbone, head=self.head)

    def _counting_rule(self, inputs: Tensor, parts: Parts, group: NDArray[np.int64] | None) -> StoppingRule | None:
        """How to count classes, or None where what was held out is too little to learn that from."""
        if self.head != "cosine" or parts.kind == "items" or self.metric_ is not None:
            return None
        piles = piles_to_count(
            parts.held_out_codes, seed_of(self.random_state), group if parts.kind == "groups" else None
        )
        known = [(self.embed_items(inputs[parts.held_out[rows]]).embedding.numpy(), n) for rows, n in piles]
        return StoppingRule.fit([(joining_costs(diffusion_rows(z)), n) for z, n in known]) if known else None

    def _inputs(self, X: Any, reset: bool) -> Tensor:
        if not reset:
            check_is_fitted(self)
        X = encode_to_fit(self, X) if reset else encode_again(self, X)
        if are_images(X):
            return read_images(X, self.image_size)
        features = validate_data(self, X, reset=reset, dtype=np.float32)
        return torch.from_numpy(np.array(features))
