"""`fine_tune=True`: after the fit, the last blocks of the encoder learn too; kept where held-out answers allow it."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from likewise.encoders.encoder import as_items
from likewise.encoders.last_blocks import last_blocks, with_weights
from likewise.errors import InputError
from likewise.estimators.encoding import are_features, encoder_again, features_of
from likewise.estimators.task import Task, items_checksum
from likewise.training import Learned, Settings
from likewise.training.fine_tuning import TunedNetwork, fine_tune

if TYPE_CHECKING:
    from pathlib import Path

    from likewise.estimators.pair_classifier import PairClassifier


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
    """Whether so many held-out answers, which speak for it by so many standard errors, let the outcome be kept."""
    return held_out >= 2 and gain >= 0


def fine_tune_encoder(
    model: PairClassifier, X: Any, learned: Learned, task: Task, settings: Settings, run: Path | None
) -> tuple[Learned, Tensor | None]:
    """What was learned, with the classifier of the fine-tuned encoder in it, and the features that this one gives.

    Where held-out answers speak against it, all is as it was, and there are no new features.
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
        flip=learned.flip,
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
