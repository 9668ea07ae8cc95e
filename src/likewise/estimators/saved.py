"""A classifier in a folder: classifier.json says what it is, model.safetensors holds its weights. Never pickled."""

from __future__ import annotations

import dataclasses
import hashlib
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from safetensors.torch import load, save
from sklearn.base import BaseEstimator
from torch import Tensor, nn

from likewise import __version__
from likewise.errors import InputError
from likewise.estimators.encoding import FACTS
from likewise.estimators.inputs import InputForm
from likewise.estimators.naming import Naming
from likewise.estimators.starting_network import OwnNetwork, make_own
from likewise.networks import build
from likewise.storage.atomic_files import write_atomically
from likewise.storage.records import check_record, first_difference, read_json, write_json
from likewise.storage.run_folder import write_model

if TYPE_CHECKING:
    from likewise.estimators.network_classifier import NetworkClassifier

FORMAT = 1
OWN = "a network of your own"
ENCODER = "encoder.safetensors"  # the weights of its last blocks, where they were trained
LARGEST_INPUT = 2**20  # features, pixels per side or outputs: a record that says more was not written here
AGAIN = "save the classifier again"
ANYTHING = (str, float, bool, None)  # that JSON holds and a parameter can be
PARAMETERS = {
    bool: (bool, int, None),
    int: (int, None),
    float: (float, None),
    str: (str, None),
}  # by the kind of the default
RATE_OR_WORD = {"noise": (float, str)}
INPUT = {"shape": [int], "mean": [float], "std": [float]}
RECORD = {
    "kind": str,
    "network": str,
    "parameters": dict,
    "input": INPUT,
    "columns": [str],
    "n_outputs": int,
    "outputs": [int],
    "classes": [(str, float, bool)],
    "class_outputs": [int],
    "named": bool,
    "history": [dict],
    "sha256": str,
}


def write_classifier(folder: Path, classifier: NetworkClassifier) -> None:
    """Write the weights, then what they mean, with their checksum in it."""
    form, naming = classifier.input_form_, classifier.naming_
    digest = write_model(folder / "model.safetensors", classifier.network_)
    if classifier.encoder_weights_ is not None:
        write_atomically(folder / ENCODER, save(classifier.encoder_weights_, {"format": "pt"}))
    write_json(
        folder / "classifier.json",
        {
            "format": FORMAT,
            "likewise": __version__,
            "kind": type(classifier).__name__,
            "network": _network_name(classifier),
            "parameters": plain_parameters(classifier),
            "input": dataclasses.asdict(form),
            "encoder": classifier.encoder_,
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


def read_classifier(folder: Path, kind: type[Any], network: OwnNetwork | None) -> Any:
    """Read and check; a file that was changed or comes from another version is refused."""
    record = {"encoder": None} | kind.facts_added | read_record(folder)
    if record["kind"] != kind.__name__:
        raise InputError(f"{folder} holds a {record['kind']} and no {kind.__name__}; load it as what it is.")
    path = folder / "classifier.json"
    check_record(record, kind.saved_facts, path, AGAIN)
    check_encoder(record, path, AGAIN)
    form = read_form(record, path, AGAIN)
    if not 0 < record["n_outputs"] <= LARGEST_INPUT:
        raise InputError(f"{path}: n_outputs cannot be {record['n_outputs']}; {AGAIN}.")
    naming = _naming(record, path)
    model = with_parameters(kind, record, network, path, AGAIN)
    weights = read_weights(folder / "model.safetensors", record["sha256"], path.name, AGAIN)
    if record["network"] != OWN:
        model.network_ = network_of(
            lambda: build(record["network"], record["n_outputs"], form.shape), weights, folder / "model.safetensors"
        )
    elif network is None:
        raise InputError(f"{folder} holds the weights of a network of your own; give it: load(folder, network=...).")
    else:
        own = make_own(network, record["n_outputs"], form.shape)
        model.network_ = put_weights(own, weights, folder / "model.safetensors")
    model.input_form_, model.encoder_ = form, record["encoder"]
    if model.encoder_ is not None and "tuned" in model.encoder_:
        model.encoder_weights_ = read_encoder_weights(folder / ENCODER)
    model.n_outputs_ = record["n_outputs"]
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
    record: Any = read_json(path)
    if not isinstance(record, dict) or "format" not in record:
        raise InputError(f"{path} was not written by Likewise; give a folder that fit wrote.")
    if record["format"] != FORMAT:
        raise InputError(
            f"{path} has format {record['format']} (Likewise {record.get('likewise')}), and this Likewise "
            f"{__version__} reads format {FORMAT}; use the version that wrote it, or fit again."
        )
    check_record(record, RECORD, path, AGAIN)
    return record


def check_encoder(record: dict[str, Any], path: Path, remedy: str) -> None:
    """Refuse what is no description of an encoder; None is that there was none."""
    check_record(record, {"encoder": (dict, None)}, path, remedy)
    if record["encoder"] is not None:
        check_record({"tuned": ""} | record["encoder"], {**FACTS, "tuned": str}, path, remedy)


def read_form(record: dict[str, Any], path: Path, remedy: str) -> InputForm:
    """The form of the inputs, if it makes sense."""
    shape, mean, std = (tuple(record["input"][name]) for name in ("shape", "mean", "std"))
    wrong = len(shape) not in (1, 3) or not all(1 <= side <= LARGEST_INPUT for side in shape)
    if wrong or not len(mean) == len(std) == shape[0]:
        raise InputError(f"{path}: input says shape {list(shape)}, {len(mean)} means and {len(std)} stds; {remedy}.")
    if not (np.isfinite(np.array(mean, float)).all() and all(0 < value < np.inf for value in std)):
        raise InputError(f"{path}: mean and std of input must be finite, and std above 0; {remedy}.")
    unit_length = record["input"].get("unit_length", False)
    if not isinstance(unit_length, bool) or (unit_length and len(shape) != 1):
        raise InputError(f"{path}: unit_length of input must be true or false, and false for images; {remedy}.")
    return InputForm(shape, mean, std, unit_length)


def with_parameters(
    kind: type[Any], record: dict[str, Any], network: OwnNetwork | None, path: Path, remedy: str
) -> Any:
    """The estimator, not yet fitted, as it was made."""
    parameters = checked_parameters(kind, record, path, remedy)
    return kind(**parameters, network=network if record["network"] == OWN else record["network"])


def checked_parameters(kind: type[Any], record: dict[str, Any], path: Path, remedy: str) -> dict[str, Any]:
    """The parameters in a record, if they are the estimator's."""
    defaults = {
        name: parameters.default for name, parameters in inspect.signature(kind).parameters.items() if name != "network"
    }
    unknown = next((name for name in record["parameters"] if name not in defaults), None)
    if unknown is not None:
        raise InputError(f"{path}: {kind.__name__} has no parameter {unknown!r} that is saved; {remedy}.")
    kinds = {name: PARAMETERS.get(type(defaults[name]), ANYTHING) for name in record["parameters"]} | {
        name: kind for name, kind in RATE_OR_WORD.items() if name in record["parameters"]
    }
    check_record(record["parameters"], kinds, path, remedy)
    return dict(record["parameters"])


def read_weights(path: Path, digest: str, record: str, remedy: str) -> dict[str, Tensor]:
    """The tensors of a safetensors file that is the one its record names."""
    if not path.is_file():
        raise InputError(f"{path} is missing; {remedy}.")
    content = path.read_bytes()
    if hashlib.sha256(content).hexdigest() != digest:
        raise InputError(f"{path} was changed since {record} was written; {remedy}.")
    return _tensors(content, path, remedy)


def read_encoder_weights(path: Path) -> dict[str, Tensor]:
    """The fine-tuned weights of an encoder; whether they are those of the record is known once they are in it."""
    if not path.is_file():
        raise InputError(f"{path} is missing, which holds the fine-tuned weights of the encoder; {AGAIN}.")
    return _tensors(path.read_bytes(), path, AGAIN)


def _tensors(content: bytes, path: Path, remedy: str) -> dict[str, Tensor]:
    try:
        return load(content)
    except Exception as error:  # its readers raise whatever they meet: SafetensorError, KeyError, ValueError, ...
        raise InputError(f"{path} is not a valid safetensors file ({error}); {remedy}.") from error


def network_of(make: Callable[[], nn.Module], weights: dict[str, Tensor], path: Path) -> nn.Module:
    """The network with these weights; before it takes up memory, its shapes are compared with theirs."""
    with torch.device("meta"):
        wanted = {name: list(value.shape) for name, value in make().state_dict().items()}
    difference = first_difference({name: list(value.shape) for name, value in weights.items()}, wanted)
    if difference:
        name, there, here = difference
        raise InputError(f"{path} does not fit the network: {name} has shape {there} there and {here} here.")
    return put_weights(make(), weights, path)


def put_weights(network: nn.Module, weights: dict[str, Tensor], path: Path) -> nn.Module:
    try:
        network.load_state_dict(weights)
    except RuntimeError as error:
        raise InputError(f"{path} does not fit the network: {str(error).splitlines()[-1].strip()}") from error
    return network


def _naming(record: dict[str, Any], path: Path) -> Naming:
    """Which outputs stand for which classes, if they can."""
    n, outputs, columns, classes = (record[name] for name in ("n_outputs", "outputs", "class_outputs", "classes"))
    taken = [column for column in columns if column != -1]
    if not taken or len(set(taken)) < len(taken) or not all(0 <= output < n for output in (*outputs, *taken)):
        raise InputError(f"{path}: outputs and class_outputs must be outputs, of which there are {n}; {AGAIN}.")
    if len(classes) != len(columns) or len({type(name) for name in classes}) != 1:
        raise InputError(f"{path}: classes must be of one kind, and as many as class_outputs; {AGAIN}.")
    return Naming(np.array(classes), np.array(columns, np.int64), record["named"])


def _network_name(classifier: NetworkClassifier) -> str:
    if classifier.network is None:
        return type(classifier.network_).__name__.lower()
    return classifier.network if isinstance(classifier.network, str) else OWN


def plain_parameters(estimator: BaseEstimator) -> dict[str, Any]:
    """The parameters that JSON can hold; a network or an augmentation of one's own is left out."""
    plain = {
        name: value.item() if isinstance(value, np.generic) else value
        for name, value in estimator.get_params(deep=False).items()
        if name not in ("network", "run")
    }
    return {name: value for name, value in plain.items() if isinstance(value, bool | int | float | str | None)}
