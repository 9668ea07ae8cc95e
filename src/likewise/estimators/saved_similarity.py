"""A similarity network in a folder: similarity.json says what it is, similarity.safetensors holds its weights."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from safetensors import SafetensorError
from safetensors.torch import load
from torch import nn

from likewise import __version__
from likewise.errors import InputError
from likewise.estimators.inputs import InputForm
from likewise.estimators.saved import OWN, plain_parameters, sha256
from likewise.evaluation import Calibration, PairQuality, StoppingRule
from likewise.training import read_json, write_json, write_model

if TYPE_CHECKING:
    from likewise.estimators.similarity_network import SimilarityNetwork

FORMAT = 2
KEYS = ("network", "parameters", "input", "columns", "classes", "quality", "calibration", "held_out", "rule", "sha256")
NAMES = ("similarity.json", "similarity.safetensors")


def write_similarity(folder: Path, similarity: SimilarityNetwork) -> None:
    """Write the weights, then what they mean, with their checksum in it."""
    form = similarity.input_form_
    digest = write_model(folder / NAMES[1], similarity.module_)
    write_json(
        folder / NAMES[0],
        {
            "format": FORMAT,
            "likewise": __version__,
            "network": similarity.network_name_,
            "parameters": plain_parameters(similarity),
            "input": {"shape": form.shape, "mean": form.mean, "std": form.std},
            "columns": getattr(similarity, "feature_names_in_", np.empty(0)),
            "classes": similarity.classes_,
            "quality": dataclasses.asdict(similarity.quality_),
            "calibration": dataclasses.asdict(similarity.calibration_),
            "held_out": similarity.held_out_kind_,
            "rule": None if similarity.rule_ is None else dataclasses.asdict(similarity.rule_),
            "sha256": digest,
        },
    )


def read_similarity(folder: Path, kind: type[Any], network: nn.Module | None) -> Any:
    """Read and check; a file that was changed or comes from another version is refused."""
    path, weights = folder / NAMES[0], folder / NAMES[1]
    if not path.exists():
        raise InputError(f"{folder} holds no similarity network: {NAMES[0]} is missing; give a folder that has one.")
    record = read_json(path)
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        raise InputError(f"{path} is not of the format that Likewise {__version__} reads; learn the similarity again.")
    missing = [key for key in KEYS if key not in record]
    if missing:
        raise InputError(f"{path} is not whole, {missing[0]!r} is missing; save the similarity network again.")
    if not weights.exists():
        raise InputError(f"{weights} is missing; save the similarity network again.")
    if sha256(weights) != record["sha256"]:
        raise InputError(f"{weights} was changed since {NAMES[0]} was written; save the similarity network again.")
    own = record["network"] == OWN
    if own and network is None:
        raise InputError(f"{folder} holds the weights of a network of your own; give it: load(folder, network=...).")
    model = kind(**record["parameters"], network=network if own else record["network"])
    model.input_form_ = InputForm(*(tuple(record["input"][name]) for name in ("shape", "mean", "std")))
    model.module_ = model.make_module(model.input_form_, 0)
    try:
        model.module_.load_state_dict(load(weights.read_bytes()))
    except (RuntimeError, SafetensorError) as error:
        raise InputError(f"{weights} does not fit the network: {str(error).splitlines()[-1].strip()}") from error
    model.network_name_ = record["network"]
    model.classes_ = np.array(record["classes"])
    shares: dict[str, Any] = {name: np.nan for name, value in record["quality"].items() if value is None}  # of nothing
    model.quality_ = PairQuality(**record["quality"] | shares)
    found = record["calibration"]
    edges, predicted, observed = (np.array(found[name], np.float64) for name in ("edges", "predicted", "observed"))
    model.calibration_ = Calibration(edges, np.array(found["count"], np.int64), predicted, observed, found["error"])
    model.held_out_kind_ = record["held_out"]
    rule = record["rule"]
    model.rule_ = None if rule is None else StoppingRule(rule["a"], rule["b"], tuple(rule["off"]))
    if not model.input_form_.images:
        model.n_features_in_ = model.input_form_.shape[0]
    if record["columns"]:
        model.feature_names_in_ = np.array(record["columns"], dtype=object)
    return model
