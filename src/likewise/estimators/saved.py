"""A classifier in a folder: classifier.json says what it is, model.safetensors holds its weights. Never pickled."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from safetensors import SafetensorError
from safetensors.torch import load
from sklearn.base import BaseEstimator
from torch import nn

from likewise import __version__
from likewise.errors import InputError
from likewise.estimators.inputs import InputForm
from likewise.estimators.naming import Naming
from likewise.networks import build
from likewise.training import read_json, write_json, write_model

if TYPE_CHECKING:
    from likewise.estimators.network_classifier import NetworkClassifier

FORMAT = 1
OWN = "a network of your own"
KEYS = frozenset(
    [
        "kind",
        "network",
        "parameters",
        "input",
        "columns",
        "n_outputs",
        "outputs",
        "classes",
        "class_outputs",
        "named",
        "history",
        "sha256",
    ]
)


def write_classifier(folder: Path, classifier: NetworkClassifier) -> None:
    """Write the weights, then what they mean, with their checksum in it."""
    form, naming = classifier.input_form_, classifier.naming_
    digest = write_model(folder / "model.safetensors", classifier.network_)
    write_json(
        folder / "classifier.json",
        {
            "format": FORMAT,
            "likewise": __version__,
            "kind": type(classifier).__name__,
            "network": _network_name(classifier),
            "parameters": plain_parameters(classifier),
            "input": {"shape": form.shape, "mean": form.mean, "std": form.std},
            "columns": getattr(classifier, "feature_names_in_", np.empty(0)).tolist(),
            "n_outputs": classifier.n_outputs_,
            "outputs": classifier.outputs_,
            "classes": naming.classes,
            "class_outputs": naming.columns,
            "named": naming.named,
            **{name: getattr(classifier, f"{name}_") for name in classifier.saved_facts},
            "history": classifier.history_,
            "sha256": digest,
        },
    )


def read_classifier(folder: Path, kind: type[Any], network: nn.Module | None) -> Any:
    """Read and check; a file that was changed or comes from another version is refused."""
    record = read_record(folder)
    if record["kind"] != kind.__name__:
        raise InputError(f"{folder} holds a {record['kind']} and no {kind.__name__}; load it as what it is.")
    _check_whole(folder, record, kind.saved_facts)
    path = folder / "model.safetensors"
    if not path.exists():
        raise InputError(f"{path} is missing; save the classifier again.")
    if sha256(path) != record["sha256"]:
        raise InputError(f"{path} was changed since classifier.json was written; save the classifier again.")
    form = InputForm(*(tuple(record["input"][name]) for name in ("shape", "mean", "std")))
    model = kind(**record["parameters"], network=network if record["network"] == OWN else record["network"])
    if record["network"] != OWN:
        network = build(record["network"], record["n_outputs"], form.shape)
    elif network is None:
        raise InputError(f"{folder} holds the weights of a network of your own; give it: load(folder, network=...).")
    try:
        network.load_state_dict(load(path.read_bytes()))
    except (RuntimeError, SafetensorError) as error:
        raise InputError(f"{path} does not fit the network: {str(error).splitlines()[-1].strip()}") from error
    model.network_ = network
    model.input_form_ = form
    model.n_outputs_ = record["n_outputs"]
    naming = Naming(np.array(record["classes"]), np.array(record["class_outputs"], np.int64), record["named"])
    model._set_naming(naming, np.array(record["outputs"], dtype=np.int64))
    for name in ("history", *kind.saved_facts):
        setattr(model, f"{name}_", record[name])
    if not form.images:
        model.n_features_in_ = form.shape[0]
    if record["columns"]:
        model.feature_names_in_ = np.array(record["columns"], dtype=object)
    return model


def read_record(folder: Path) -> dict[str, Any]:
    """What classifier.json says, if it is one that this version can read."""
    path = folder / "classifier.json"
    if not path.exists():
        raise InputError(f"{folder} holds no classifier: classifier.json is missing; give a folder that fit wrote.")
    record = read_json(path)
    if not isinstance(record, dict) or "format" not in record:
        raise InputError(f"{path} was not written by Likewise; give a folder that fit wrote.")
    if record["format"] != FORMAT:
        raise InputError(
            f"{path} has format {record['format']} (Likewise {record.get('likewise')}), and this Likewise "
            f"{__version__} reads format {FORMAT}; use the version that wrote it, or fit again."
        )
    _check_whole(folder, record, KEYS)
    return record


def _check_whole(folder: Path, record: dict[str, Any], keys: Iterable[str]) -> None:
    missing = sorted(set(keys) - record.keys())
    if missing:
        path = folder / "classifier.json"
        raise InputError(f"{path} is not whole, {missing[0]!r} is missing; save the classifier again.")


def _network_name(classifier: NetworkClassifier) -> str:
    if classifier.network is None:
        return type(classifier.network_).__name__.lower()
    return classifier.network if isinstance(classifier.network, str) else OWN


def plain_parameters(estimator: BaseEstimator) -> dict[str, Any]:
    """The parameters that JSON can hold; a network or an augmentation of one's own is left out."""
    parameters = estimator.get_params(deep=False)
    return {
        name: value
        for name, value in parameters.items()
        if name not in ("network", "run") and isinstance(value, bool | int | float | str | None)
    }


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
