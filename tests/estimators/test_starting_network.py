"""Networks of the user's own: seeded, checked before training, and kept where they were pretrained."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.datasets import make_blobs
from torch import Tensor, nn

from likewise import InputError, PairClassifier, Pairs, SemiSupervisedClassifier
from likewise.estimators.starting_network import starting_network
from likewise.training import loop

X, Y = make_blobs(80, centers=3, random_state=3, cluster_std=0.6)
FEW = np.where(np.arange(80) < 40, Y, -1)
PAIRS = Pairs.from_labels(Y, n=200)
SETTINGS: dict[str, Any] = {"epochs": 1, "unlabelled": False, "starts": 1}


def make(k: int, shape: tuple[int, ...]) -> nn.Module:
    return nn.Sequential(nn.Linear(shape[0], 8), nn.ReLU(), nn.Linear(8, k))


class Seeing(nn.Module):
    """Has features, and does not say how many."""

    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(nn.Linear(2, 7), nn.ReLU())
        self.out = nn.Linear(7, 3)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.out(self.features(x))
        return out


@pytest.mark.parametrize("kind", [PairClassifier, SemiSupervisedClassifier])
def test_a_function_obeys_the_random_state(kind: type[Any]) -> None:
    settings = SETTINGS if kind is PairClassifier else {"epochs": 1, "method": "supervised"}
    state = torch.get_rng_state()
    first, second, other = (
        kind(network=make, random_state=seed, **settings).fit(X, Y).predict_proba(X) for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(first, second)
    assert not np.array_equal(first, other)
    assert torch.equal(torch.get_rng_state(), state)


def test_a_later_start_has_a_new_last_layer_and_keeps_what_was_pretrained() -> None:
    own = nn.Sequential(nn.Linear(2, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 3), nn.BatchNorm1d(3))
    starts = [starting_network(own, 3, (2,), lambda n: n.eval()(torch.ones(1, 2)), seed=5, start=k) for k in range(3)]
    assert all(torch.equal(network[0].weight, own[0].weight) for network in starts)  # type: ignore[index]
    last = [network[3].weight for network in starts]  # type: ignore[index]
    assert torch.equal(last[0], own[3].weight)
    assert not torch.equal(last[1], last[0])
    assert not torch.equal(last[2], last[1])


def test_a_frozen_last_layer_is_never_drawn_anew() -> None:
    own = nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 3).requires_grad_(False))
    later = starting_network(own, 3, (2,), lambda n: n(torch.ones(1, 2)), seed=5, start=1)
    assert torch.equal(later[2].weight, own[2].weight)  # type: ignore[index]
    assert not torch.equal(later[0].weight, own[0].weight)  # type: ignore[index]


def test_every_start_of_a_module_begins_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[Tensor] = []
    real = loop.train

    def spy(network: Any, *args: Any, **kwargs: Any) -> Any:
        begun.append(network[2].weight.detach().clone())
        return real(network, *args, **kwargs)

    monkeypatch.setattr("likewise.training.answers.train", spy)
    own = make(3, (2,))
    settings = SETTINGS | {
        "starts": 3,
        "learning_rate": 1e-9,
        "group_first": False,
    }  # learns nothing: all starts are made
    PairClassifier(3, network=own, **settings).fit(X, pairs=PAIRS)
    assert len(begun) == 3
    assert torch.equal(begun[0], own[2].weight)  # type: ignore[index]
    assert not torch.equal(begun[0], begun[1])
    assert not torch.equal(begun[1], begun[2])


REFUSED: dict[str, tuple[Any, str]] = {
    "fewer outputs": (make(2, (2,)), "The network has 2 outputs, and there are 3 classes; give it 3 outputs"),
    "more outputs": (lambda k, shape: make(k + 2, shape), "The network has 5 outputs, and there are 3 classes"),
    "a map": (nn.Unflatten(1, (2, 1)), r"an output of shape \(2, 1\) for each item"),
    "one number": (nn.Sequential(nn.Linear(2, 1), nn.Flatten(0)), r"an output of shape \(\) for each item"),
    "other inputs": (make(3, (9,)), r"cannot take items of shape \(2,\)"),
    "no network": (lambda k, shape: k, "it gave a int"),
}


@pytest.mark.parametrize("case", REFUSED)
@pytest.mark.parametrize("kind", [PairClassifier, SemiSupervisedClassifier])
def test_a_network_that_does_not_fit_is_refused_before_training(
    kind: type[Any], case: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loop, "train_step", lambda *_: pytest.fail("it was trained"))
    network, message = REFUSED[case]
    with pytest.raises(InputError, match=message):
        kind(network=network).fit(X, FEW if kind is SemiSupervisedClassifier else Y)


def test_features_without_their_number() -> None:
    model = PairClassifier(3, network=Seeing(), **SETTINGS).fit(X, pairs=PAIRS)
    assert model.transform(X).shape == (80, 7)
    assert len(model.get_feature_names_out()) == 7
    assert model.set_output(transform="pandas").transform(X).shape == (80, 7)  # type: ignore[attr-defined]


ODD: dict[str, dict[str, Any]] = {
    "numpy numbers": {"n_classes": np.int64(3), "held_out": np.float32(0.2), "starts": np.int32(1)},
    "numpy flags and text": {"unlabelled": np.bool_(False), "device": np.str_("cpu"), "patience": np.int64(0)},
    "numbers for flags": {"verbose": 0, "unlabelled": 0},
    "numpy epochs": {"epochs": np.int64(1), "batch_size": np.int64(50), "random_state": np.int64(3)},
    "a rate of numpy": {"noise": np.float64(0.1), "learning_rate": np.float32(0.001)},
    "a noise of numpy": {"noise": np.float32(0.125)},
    "whole numbers for shares": {"held_out": 0, "noise": 0, "learning_rate": 1},
    "what is not used": {"image_size": None},
    "a random state": {"random_state": np.random.RandomState(0)},
    "a module": {"network": make(3, (2,))},
    "a function": {"network": make},
}


@pytest.mark.parametrize("case", ODD)
def test_what_fits_can_be_saved_and_loaded(case: str, tmp_path: Path) -> None:
    model = PairClassifier(**{"n_classes": 3, **SETTINGS, **ODD[case]}).fit(X, pairs=PAIRS)
    model.save(tmp_path)
    network = ODD[case].get("network")
    loaded = PairClassifier.load(tmp_path, network=network)
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    for name, value in ODD[case].items():
        if name != "network" and not isinstance(value, np.random.RandomState):
            assert getattr(loaded, name) == value
    loaded.fit(X, pairs=PAIRS)


LABELS: dict[str, Any] = {
    "flags": Y > 0,
    "floats": Y.astype(np.float32),
    "text": np.array(["a", "b", "c"])[Y],
    "objects": np.array(["a", "b", "c"], dtype=object)[Y],
    "small numbers": Y.astype(np.uint8),
}


@pytest.mark.parametrize("case", LABELS)
def test_labels_of_any_kind_can_be_saved_and_loaded(case: str, tmp_path: Path) -> None:
    labels = LABELS[case]
    model = PairClassifier(**SETTINGS).fit(X, labels)
    model.save(tmp_path)
    loaded = PairClassifier.load(tmp_path)
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    np.testing.assert_array_equal(loaded.classes_, np.unique(labels))


def test_loading_leaves_the_given_network_as_it_was(tmp_path: Path) -> None:
    own = make(3, (2,))
    PairClassifier(3, network=own, **SETTINGS).fit(X, pairs=PAIRS).save(tmp_path)
    before = own[0].weight.clone()  # type: ignore[index]
    PairClassifier.load(tmp_path, network=own)
    assert torch.equal(own[0].weight, before)  # type: ignore[index]
