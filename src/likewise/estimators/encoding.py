"""Items through a pretrained encoder on their way into an estimator, which remembers the encoder.

With `fine_tune=True` the last blocks of the encoder learn too, after the fit; kept where held-out answers allow it.
"""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import torch
from torch import Tensor

from likewise.datasets import ArrayOnDisk, ImagesOnDisk
from likewise.encoders import NAMES, Encoder
from likewise.encoders.encoder import as_items
from likewise.encoders.last_blocks import Weights, last_blocks, with_weights
from likewise.encoders.names import WITHOUT, Chosen, image_encoder, photo_encoder_is_installed, spread
from likewise.errors import InputError
from likewise.estimators.task import Task, items_checksum
from likewise.pairs import paths_of
from likewise.storage.records import Form
from likewise.training import Learned, Settings
from likewise.training.fine_tuning import TunedNetwork, fine_tune

if TYPE_CHECKING:
    from pathlib import Path

    from likewise.estimators.pair_classifier import PairClassifier


Choice = Chosen | None  # "auto" and "none" beside the names of encoders; None is none
SMALL = 32  # pixels that images are brought to by default
FACTS: Form = {
    "name": str,
    "takes": str,
    "version": str,
    "sha256": str,
    "width": int,
    "preprocessing": dict,
}


class Encoding(Protocol):
    """What an estimator has that takes an encoder."""

    encoder: Choice
    network: Any
    image_size: int
    encoder_: dict[str, Any] | None  # what is known of the encoder it was fitted with, if it was with one
    encoder_weights_: Weights | None  # of its last blocks, where these were trained too


def encode_to_fit(estimator: Encoding, X: Any) -> Any:
    """The items that an estimator is fitted to, as features where it has an encoder, which it remembers."""
    encoder = _choose(estimator, X)
    estimator.encoder_weights_ = None
    if encoder is None:
        estimator.encoder_ = None
        return X
    features = features_of(encoder, X)
    estimator.encoder_ = encoder.facts | {"width": int(features.shape[1])}
    return features


def encode_again(estimator: Encoding, X: Any) -> Any:
    """Items as those that the estimator was fitted to."""
    encoder = encoder_again(estimator)
    return X if encoder is None else features_of(encoder, X)


def encode_views_to_fit(estimator: Encoding, X: Any, views: int) -> Tensor | None:
    """The features of augmented views of the items, (views, n, width), where some are asked for."""
    if not views:
        return None
    encoder = encoder_again(estimator)
    if encoder is None:
        raise InputError("views are of photos that are encoded, and these items are not; leave views out.")
    if are_features(X):
        raise InputError("views need the photos themselves, and X holds their features; give the photos.")
    return torch.from_numpy(encoder.encode_views(X, views))


def encoder_again(estimator: Encoding) -> Encoder | None:
    """The encoder that an estimator was fitted with, found by its name, or given again; another one is refused."""
    facts = estimator.encoder_
    if facts is None:
        return None
    if estimator.encoder is not None and not isinstance(estimator.encoder, str):
        encoder = Encoder(estimator.encoder)
    elif facts["name"] in NAMES or {":", "@"} & set(facts["name"]):
        encoder = Encoder(facts["name"])
    else:
        raise InputError(
            f"The model was fitted with an encoder of your own, {facts['name']}; give it: set_params(encoder=...)."
        )
    refuse_another(encoder, facts)
    return tuned(encoder, estimator)


def tuned(encoder: Encoder, estimator: Encoding) -> Encoder:
    """The encoder with the weights that the estimator has trained, if it has."""
    if estimator.encoder_weights_ is None:
        return encoder
    assert estimator.encoder_ is not None
    changed = with_weights(encoder.pretrained, estimator.encoder_weights_)
    if changed.sha256 != estimator.encoder_["tuned"]:
        raise InputError(
            f"The fine-tuned weights of the encoder {changed.name} are not those that the model was saved with (sha256 "
            f"{estimator.encoder_['tuned'][:12]}); save the model again."
        )
    return encoder.with_pretrained(changed)


def _choose(estimator: Encoding, X: Any) -> Encoder | None:
    """ "auto" is the encoder of photos or drawings, where neither a network nor another size of images is named."""
    encoder = estimator.encoder
    if encoder is None or (isinstance(encoder, str) and encoder == "none"):
        return None
    if not isinstance(encoder, str) or encoder != "auto":
        return Encoder(encoder)
    named = estimator.network is not None or estimator.image_size != SMALL
    suitable = None if named else _image_encoder(X)
    if suitable is None or photo_encoder_is_installed():
        return None if suitable is None else Encoder(suitable)
    warnings.warn(WITHOUT, stacklevel=5)
    return None


def refuse_another(encoder: Encoder, facts: dict[str, Any]) -> None:
    """Refuse an encoder whose weights or preprocessing are not those that a model was fitted with."""
    new = encoder.facts
    known = f"The model was fitted with the encoder {facts['name']} (sha256 {facts['sha256'][:12] or 'unknown'})"
    remedy = f"use that one, version {facts['version']}," if facts["version"] else "use that one,"
    for name, what in (("takes", "takes"), ("width", "has a width of"), ("sha256", "has weights of sha256")):
        if new[name] != facts[name] and not (name == "width" and not new[name]):
            value = new[name][:12] if name == "sha256" else new[name]
            raise InputError(f"{known}, and {new['name']} {what} {value or 'unknown'}; {remedy} or fit again.")
    if new["preprocessing"] != facts["preprocessing"]:
        raise InputError(f"{known}, and {new['name']} prepares its items otherwise; {remedy} or fit again.")


def features_of(encoder: Encoder, X: Any) -> Any:
    """The features of items; features that the encoder gave before are taken as they are."""
    if encoder.pretrained.takes == "anything":
        return encoder.transform(X)
    if not are_features(X):
        return encoder.transform(as_items(X, encoder.pretrained))
    width = X.shape[1]
    if width != encoder.pretrained.width:
        raise InputError(
            f"X has {width} features, and the encoder {encoder.pretrained.name} gives {encoder.pretrained.width}; give "
            f"{encoder.pretrained.takes}, or what this encoder gave for them."
        )
    return X


def are_features(X: Any) -> bool:
    """Whether X holds numbers (n, d): an array, a tensor, an array on disk, or a DataFrame of numbers."""
    if hasattr(X, "iloc"):
        kinds = [np.dtype("O") if not isinstance(kind, np.dtype) else kind for kind in np.atleast_1d(X.dtypes)]
        return X.ndim == 2 and all(kind.kind in "fiub" for kind in kinds)
    if isinstance(X, ArrayOnDisk | Tensor):
        return X.ndim == 2
    return isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "fiub"


def _image_encoder(X: Any) -> str | None:
    if isinstance(X, ArrayOnDisk | ImagesOnDisk):
        return None
    paths = paths_of(X)
    if paths is not None:
        return image_encoder(spread(paths))
    shape: tuple[int, ...] = tuple(getattr(X, "shape", ()))
    if len(shape) == 3:
        return image_encoder([np.empty((0, *shape[1:]))])
    if len(shape) != 4:
        return None
    sides = shape[1:3] if shape[3] <= 4 < shape[1] else shape[2:]  # the channels may be last
    return image_encoder([np.empty((0, *sides))])


def check_fine_tuning(model: PairClassifier, X: Any) -> None:
    """Refuse what cannot be fine-tuned, before anything is learned."""
    if not model.fine_tune:
        return
    encoder = encoder_again(model)
    if encoder is None:
        raise InputError("fine_tune is for encoders, and these items have none; name an encoder, or leave it out.")
    if are_features(X):
        raise InputError("fine_tune needs the photos or texts themselves, and X holds their features; give the items.")
    if not model.held_out:
        raise InputError("fine_tune is judged by held-out answers, and held_out is 0; give a share, such as 0.1.")
    last_blocks(encoder.pretrained)


def is_supported(held_out: int, gain: float) -> bool:
    """Whether this number of held-out answers, and their gain in standard errors, let the tuned encoder be kept."""
    return held_out >= 2 and gain >= 0


def fine_tune_encoder(
    model: PairClassifier, X: Any, learned: Learned, task: Task, settings: Settings, run: Path | None
) -> tuple[Learned, Tensor | None]:
    """What was learned, with the classifier of the fine-tuned encoder in it, and the features that this one gives.

    Where it does worse on held-out answers, nothing changes, and there are no new features.
    """
    encoder = encoder_again(model)
    assert encoder is not None
    assert model.encoder_ is not None
    items: Sequence[Any] = as_items(X, encoder.pretrained)
    cut = last_blocks(encoder.pretrained)
    inputs = cut.inputs(items, encoder)
    form, judgement = model.input_form_, learned.judgement
    known = task.known if judgement is None or judgement.known is None else judgement.known
    tuned, history, gain = fine_tune(
        TunedNetwork(cut.tail, learned.network, form.mean, form.std),
        inputs,
        known,
        task.pairs,
        task.held_out,
        settings,
        epochs=model.epochs,
        noise=learned.noise,
        rates=None if judgement is None else judgement.rates,
        run=run,
        config={"items": items_checksum(inputs), "encoder": encoder.facts["sha256"]},
        progress=bool(model.verbose),
        on_epoch=model.on_epoch,
    )
    if not is_supported(len(task.held_out), gain):
        return learned, None
    model.encoder_weights_ = dataclasses.replace(cut, tail=tuned.tail).weights()
    model.encoder_ = model.encoder_ | {"tuned": with_weights(cut.pretrained, model.encoder_weights_).sha256}
    later = [{**row, "epoch": len(learned.history) + row["epoch"]} for row in history]
    better = dataclasses.replace(learned, network=tuned.classifier, history=learned.history + later)
    again = encoder_again(model)
    assert again is not None
    return better, torch.from_numpy(np.array(features_of(again, items)))
