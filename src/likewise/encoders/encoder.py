"""Encoder: a pretrained network as a scikit-learn transformer."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin

from likewise.datasets import image_tensor, to_unit_length
from likewise.encoders.cache import FeatureCache, cache_folder
from likewise.encoders.encode import Encoded, encode, item_name
from likewise.encoders.names import Chosen, load_pretrained
from likewise.encoders.photos import VIEWS
from likewise.encoders.pretrained import Precision, Pretrained
from likewise.errors import InputError
from likewise.storage.atomic_files import WriteError
from likewise.training.forward import resolve_device


class Encoder(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Photos or texts in, feature vectors out; nothing is learned, so that `fit` does nothing.

    Parameters
    ----------
    encoder : a name (see `load_encoder`), an nn.Module, or a function of a list of items.
    unit_length : whether each vector is brought to length 1.
    batch_size : items that the network computes at a time.
    precision : "float32", or "bfloat16", which is faster on hardware that has it and rounds to three digits.
    cache : whether features are kept in the cache folder and used again; or the folder to keep them in.

    >>> def words(texts):
    ...     return np.array([[len(text.split()), text.count("?")] for text in texts])
    >>> Encoder(words, unit_length=False, cache=False).fit_transform(["What is this?", "A cat"])
    array([[3., 1.],
           [2., 0.]], dtype=float32)
    """

    def __init__(
        self,
        encoder: Chosen | Pretrained = "efficientnet-lite0",
        *,
        unit_length: bool = True,
        batch_size: int = 32,
        precision: Precision = "float32",
        device: str = "auto",
        cache: bool | Path | str = True,
    ) -> None:
        self.encoder = encoder
        self.unit_length = unit_length
        self.batch_size = batch_size
        self.precision = precision
        self.device = device
        self.cache = cache

    def fit(self, X: Any, y: Any = None) -> Self:
        return self

    def transform(self, X: Any) -> NDArray[np.float32]:
        """The features of each item, (n, width): of paths, pictures or arrays of photos, or of texts."""
        items = as_items(X, self.pretrained)
        encoded = self.encode(items)
        if encoded.unusable:
            place, reason = next(iter(encoded.unusable.items()))
            more = f", and {len(encoded.unusable) - 1:,} more" if len(encoded.unusable) > 1 else ""
            raise InputError(
                f"Item {place}, {item_name(items[place])}, cannot be encoded ({reason}){more}; correct or remove it."
            )
        return encoded.rows

    def encode(self, items: Sequence[Any], on_items: Callable[[int], None] | None = None) -> Encoded:
        """As `transform`, but items that cannot be used are listed instead of refused."""
        if self.batch_size < 1:
            raise InputError(f"batch_size must be at least 1, got {self.batch_size}.")
        if self.precision not in ("float32", "bfloat16"):
            raise InputError(f"precision must be 'float32' or 'bfloat16', got {self.precision!r}.")
        encoded = encode(
            self.pretrained,
            items,
            cache=self.open_cache(),
            batch_size=self.batch_size,
            device=resolve_device(self.device),
            precision=self.precision,
            on_items=on_items,
        )
        if not self.unit_length:
            return encoded
        return Encoded(to_unit_length(torch.from_numpy(encoded.rows)).numpy(), encoded.unusable)

    def encode_views(self, X: Any, n: int) -> NDArray[np.float32]:
        """The features of n augmented views of each photo, flipped and cropped elsewhere, (n, items, width)."""
        view = self.pretrained.view
        if view is None:
            raise InputError(f"The encoder {self.pretrained.name} has no augmented views; leave views out.")
        if not 1 <= n < len(VIEWS):
            raise InputError(f"views must be from 1 to {len(VIEWS) - 1}, got {n}.")
        items = as_items(X, self.pretrained)
        return np.stack([self.with_pretrained(view(number)).transform(items) for number in range(1, n + 1)])

    def with_pretrained(self, pretrained: Pretrained) -> Encoder:
        """An encoder with the same options, and another network."""
        options = {name: value for name, value in self.get_params(deep=False).items() if name != "encoder"}
        return Encoder(pretrained, **options)

    @property
    def pretrained(self) -> Pretrained:
        """The network, loaded when it is first asked for."""
        if getattr(self, "_loaded", (None,))[0] is not self.encoder:
            self._loaded = self.encoder, load_pretrained(self.encoder)
        return self._loaded[1]

    @property
    def facts(self) -> dict[str, Any]:
        """What a saved model remembers: name, version, sha256 of the weights, width and preprocessing."""
        return self.pretrained.facts

    def open_cache(self) -> FeatureCache | None:
        """The cache of this encoder's features; None where there is none, or nothing could be recognised in it."""
        pretrained = self.pretrained
        if self.cache is False or not pretrained.sha256:
            return None
        folder = cache_folder() / "features" if self.cache is True else Path(self.cache)
        known = {"sha256": pretrained.sha256, "preprocessing": pretrained.preprocessing, "precision": self.precision}
        known["takes"] = pretrained.takes
        try:
            if getattr(self, "_opened", (None,))[0] != (folder, known):
                self._opened = (
                    (folder, known),
                    FeatureCache(folder, pretrained.width, known | {"takes": pretrained.takes}),
                )
            self._opened[1].load()
            return self._opened[1]
        except WriteError as error:
            warnings.warn(
                f"Features are not kept, for {error.filename} cannot be written ({error.strerror}); set LIKEWISE_CACHE "
                "to a folder.",
                stacklevel=2,
            )
            return None

    @property
    def _n_features_out(self) -> int:
        return self.pretrained.width

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        return {name: value for name, value in state.items() if name not in ("_loaded", "_opened")}

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        tags.no_validation = True
        tags.input_tags.two_d_array = False
        tags.input_tags.string = True
        return tags


def load_encoder(encoder: Chosen, **options: Any) -> Encoder:
    """An encoder by its name, loaded and ready: a scikit-learn transformer of items to features.

    Names are efficientnet-lite0 (photos), drawings, minilm and wordllama (texts), timm:NAME, torchvision:NAME,
    open_clip:MODEL/WEIGHTS, hf:NAME and onnx:FILE; an encoder of photos may be followed by the side in pixels, as in
    efficientnet-lite0@224. Or it is an nn.Module, which is given normalised photos (b, 3, 224, 224), or a function,
    which is given a list of items. `options` are those of `Encoder`.

    >>> lengths = load_encoder(lambda texts: np.array([[len(text)] for text in texts]), unit_length=False, cache=False)
    >>> lengths.transform(["cat", "horse"])
    array([[3.],
           [5.]], dtype=float32)
    """
    loaded = Encoder(encoder, **options)
    _ = loaded.pretrained
    return loaded


def as_items(X: Any, pretrained: Pretrained) -> Sequence[Any]:
    """X as a sequence of items that an encoder can take one by one."""
    if isinstance(X, str | bytes | Path):
        raise InputError(f"X must be a list of items, got {item_name(X)}; put it into a list.")
    if pretrained.takes == "anything":
        return X if hasattr(X, "__getitem__") and not hasattr(X, "iloc") else list(X)
    if hasattr(X, "iloc") and getattr(X, "ndim", 1) == 2:  # a DataFrame: its columns are parts of one text
        return ["\n".join(str(value) for value in row) for row in X.itertuples(index=False)]
    array = X.numpy() if isinstance(X, torch.Tensor) else X
    if isinstance(array, np.ndarray) and array.ndim > 1:
        if pretrained.takes == "texts":
            raise InputError(f"{pretrained.name} takes texts, and X is an array of shape {array.shape}.")
        if array.ndim == 2:
            raise InputError(f"{pretrained.name} takes photos, and X is an array of features, {array.shape}.")
        return list(image_tensor(array, "X").numpy())
    items = list(array)
    if not items:
        raise InputError("X holds no items; give at least one.")
    return items
