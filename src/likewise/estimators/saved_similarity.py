"""A similarity network in a folder: similarity.json says what it is, similarity.safetensors holds its weights."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor, nn

from likewise import __version__
from likewise.errors import InputError
from likewise.estimators.saved import (
    INPUT,
    OWN,
    check_encoder,
    network_of,
    plain_parameters,
    read_form,
    read_weights,
    with_parameters,
)
from likewise.evaluation import Calibration, Novelty, PairQuality, StoppingRule
from likewise.storage.records import check_record, read_json, write_json
from likewise.storage.run_folder import write_model, write_tensors
from likewise.training.metric import MetricForm

if TYPE_CHECKING:
    from likewise.estimators.similarity_network import SimilarityNetwork

FORMAT = 3
AGAIN = "save the similarity network again"
RECORD: dict[str, Any] = {
    "network": str,
    "parameters": dict,
    "input": INPUT,
    "columns": [str],
    "classes": [(str, float, bool)],
    "quality": {field.name: (float, None) for field in dataclasses.fields(PairQuality)},
    "calibration": {
        "edges": [float],
        "count": [int],
        "predicted": [(float, None)],
        "observed": [(float, None)],
        "error": (float, None),
    },
    "held_out": str,
    "rule": (dict, None),
    "metric": (dict, None),
    "novelty": (dict, None),
    "known": {"codes": [int], "sha256": str},
    "history": [dict],
    "sha256": str,
}
MOST_VIEWS = 1000  # of an item: what says more would never end
RULE = {"a": float, "b": float, "off": [float]}
METRIC = {"standardised": bool, "centred": bool, "distance": bool, "whitened": float}
NOVELTY = {"slope": float, "offset": float, "auroc": float}
NAMES = ("similarity.json", "similarity.safetensors", "known.safetensors")


def write_similarity(folder: Path, similarity: SimilarityNetwork) -> None:
    """Write the weights, then what they mean, with their checksum in it."""
    form = similarity.input_form_
    digest = write_model(folder / NAMES[1], similarity.module_)
    known = write_tensors(folder / NAMES[2], {"inputs": similarity.known_inputs_})
    write_json(
        folder / NAMES[0],
        {
            "format": FORMAT,
            "likewise": __version__,
            "network": similarity.network_name_,
            "parameters": plain_parameters(similarity),
            "input": dataclasses.asdict(form),
            "encoder": similarity.encoder_,
            "columns": getattr(similarity, "feature_names_in_", np.empty(0)),
            "classes": similarity.classes_,
            "quality": dataclasses.asdict(similarity.quality_),
            "calibration": dataclasses.asdict(similarity.calibration_),
            "held_out": similarity.held_out_kind_,
            "rule": None if similarity.rule_ is None else dataclasses.asdict(similarity.rule_),
            "metric": None if similarity.metric_ is None else dataclasses.asdict(similarity.metric_),
            "novelty": None if similarity.novelty_ is None else dataclasses.asdict(similarity.novelty_),
            "known": {"codes": similarity.known_codes_, "sha256": known},
            "history": similarity.history_,
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
    record.setdefault("history", [])  # which earlier versions did not save
    record.setdefault("encoder", None)
    check_record(record, RECORD, path, AGAIN)
    check_encoder(record, path, AGAIN)
    _check_lengths(record, path)
    own = record["network"] == OWN
    if own and network is None:
        raise InputError(f"{folder} holds the weights of a network of your own; give it: load(folder, network=...).")
    model = with_parameters(kind, record, network, path, AGAIN)
    if not isinstance(model.views, int) or model.views > MOST_VIEWS:
        raise InputError(f"{path}, views must be a whole number up to {MOST_VIEWS}; {AGAIN}.")
    model.input_form_, model.encoder_ = read_form(record, path, AGAIN), record["encoder"]
    model.classes_ = np.array(record["classes"])
    model.metric_ = None if record["metric"] is None else MetricForm(**record["metric"])
    model.novelty_ = None if record["novelty"] is None else Novelty(**record["novelty"])
    weight_tensors = read_weights(weights, record["sha256"], path.name, AGAIN)
    model.module_ = network_of(lambda: model.make_module(model.input_form_, 0), weight_tensors, weights)
    model.known_inputs_, model.known_codes_ = _read_known(folder / NAMES[2], record["known"], model, path)
    model.network_name_ = record["network"]
    quality: dict[str, Any] = {name: record["quality"][name] for name in RECORD["quality"]}
    shares = {name: np.nan for name, value in quality.items() if value is None}  # of nothing
    model.quality_ = PairQuality(**quality | shares)
    bins = record["calibration"]
    edges, predicted, observed = (np.array(bins[name], np.float64) for name in ("edges", "predicted", "observed"))
    model.calibration_ = Calibration(edges, np.array(bins["count"], np.int64), predicted, observed, bins["error"])
    model.held_out_kind_ = record["held_out"]
    model.history_ = record["history"]
    rule = record["rule"]
    model.rule_ = None if rule is None else StoppingRule(rule["a"], rule["b"], tuple(rule["off"]))
    if not model.input_form_.images:
        model.n_features_in_ = model.input_form_.shape[0]
    if record["columns"]:
        model.feature_names_in_ = np.array(record["columns"], dtype=object)
    return model


def _read_known(path: Path, known: dict[str, Any], model: Any, record: Path) -> tuple[Tensor, NDArray[np.int64]]:
    """The sample of known items and their classes."""
    tensors = read_weights(path, known["sha256"], record.name, AGAIN)
    inputs, codes = tensors.get("inputs"), np.array(known["codes"], dtype=np.int64)
    if inputs is None or tuple(inputs.shape) != (len(codes), *model.input_form_.shape):
        raise InputError(f"{path} does not hold an item for each of {len(codes)} codes; {AGAIN}.")
    if len(codes) and not 0 <= codes.min() <= codes.max() < len(model.classes_):
        raise InputError(f"{record}, codes must be from 0 to {len(model.classes_) - 1}; {AGAIN}.")
    return inputs, codes


def _check_lengths(record: dict[str, Any], path: Path) -> None:
    rule, calibration = record["rule"], record["calibration"]
    for name, form in (("metric", METRIC), ("novelty", NOVELTY)):
        if record[name] is not None:
            check_record(record[name], form, path, AGAIN)
            if set(record[name]) != set(form):
                raise InputError(f"{path}, {name} must have {', '.join(form)}; {AGAIN}.")
    if rule is not None:
        check_record(rule, RULE, path, AGAIN)
        if len(rule["off"]) != 2:
            raise InputError(f"{path}, off must be two numbers; {AGAIN}.")
    bins = {len(calibration["edges"]) - 1, *(len(calibration[name]) for name in ("count", "predicted", "observed"))}
    if len(bins) > 1 or not all(0 <= count < 2**63 for count in calibration["count"]):
        raise InputError(f"{path}, calibration must have as many counts and means as it has bins; {AGAIN}.")
