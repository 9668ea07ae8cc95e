"""Discovered classes in a folder: discoverer.json, beside it the classifier, and in similarity/ the network."""

from __future__ import annotations

import copy
import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor, nn

from likewise import __version__
from likewise.errors import InputError
from likewise.estimators.pair_classifier import PairClassifier
from likewise.estimators.saved import checked_parameters, plain_parameters, read_weights
from likewise.estimators.similarity_network import SimilarityNetwork
from likewise.evaluation import Novelty, NumberOfClasses, Trust
from likewise.storage.records import check_record, read_json, write_json
from likewise.storage.run_folder import write_tensors

if TYPE_CHECKING:
    from likewise.estimators.category_discoverer import CategoryDiscoverer

FORMAT = 2
AGAIN = "save the discoverer again"
NAME, SIMILARITY, ANCHORS = "discoverer.json", "similarity", "anchors.safetensors"
RECORD: dict[str, Any] = {
    "parameters": dict,
    "codes": [int],
    "classes": [(str, float, bool)],
    "outputs": [int],
    "p_new": [float],
    "known_share": (float, None),
    "novelty": ({"slope": float, "offset": float, "auroc": float}, None),
    "anchors": {"codes": [int], "sha256": str},
    "number": {field.name: int for field in dataclasses.fields(NumberOfClasses)},
    "dominant": int,
    "trust": {field.name: float for field in dataclasses.fields(Trust)},
    "similarity": bool,
    "seed": int,
}


def write_discoverer(folder: Path, discoverer: CategoryDiscoverer) -> None:
    """Write the classifier, the similarity network if there is one, and then what was found with them."""
    discoverer.classifier_.save(folder)
    if discoverer.similarity_ is not None:
        discoverer.similarity_.save(folder / SIMILARITY)
    digest = write_tensors(folder / ANCHORS, {"inputs": discoverer.anchors_})
    write_json(
        folder / NAME,
        {
            "format": FORMAT,
            "likewise": __version__,
            "parameters": plain_parameters(discoverer),
            "codes": discoverer.codes_,
            "classes": discoverer.classes_,
            "outputs": discoverer.outputs_,
            "p_new": discoverer.p_new_,
            "known_share": discoverer.known_share_,
            "novelty": None if discoverer.novelty_ is None else dataclasses.asdict(discoverer.novelty_),
            "anchors": {"codes": discoverer.anchor_codes_, "sha256": digest},
            "number": dataclasses.asdict(discoverer.number_),
            "dominant": discoverer.n_dominant_,
            "trust": dataclasses.asdict(discoverer.trust_),
            "similarity": discoverer.similarity_ is not None,
            "seed": discoverer.seed_,
        },
    )


def read_discoverer(folder: Path, kind: type[Any], network: nn.Module | None) -> Any:
    """Read and check; a file that was changed or comes from another version is refused."""
    path = folder / NAME
    if not path.exists():
        raise InputError(f"{folder} holds no discovered classes: {NAME} is missing; give a folder that save wrote.")
    record = read_json(path)
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        raise InputError(f"{path} is not of the format that Likewise {__version__} reads; {AGAIN}.")
    check_record(record, RECORD, path, AGAIN)
    model = kind(**checked_parameters(kind, record, path, AGAIN))
    model.classifier_ = PairClassifier.load(folder, network=_with_outputs(network))
    model.similarity_ = SimilarityNetwork.load(folder / SIMILARITY, network=network) if record["similarity"] else None
    model.similarity = model.similarity_
    n_outputs, k = model.classifier_.n_outputs_, len(record["outputs"])
    if not (1 <= k == len(set(record["outputs"])) and all(0 <= output < n_outputs for output in record["outputs"])):
        raise InputError(f"{path}: outputs must be some of the {n_outputs} outputs, each once; {AGAIN}.")
    if not all(0 <= code < k for code in (*record["codes"], *record["anchors"]["codes"])):
        raise InputError(f"{path}: codes must be from 0 to {k - 1}, the classes that were found; {AGAIN}.")
    if len(record["classes"]) != k or len(record["p_new"]) != len(record["codes"]):
        raise InputError(f"{path}: classes must be {k}, one for each output, and p_new one for each item; {AGAIN}.")
    model.codes_, model.outputs_ = (np.array(record[name], np.int64) for name in ("codes", "outputs"))
    model.classes_, model.p_new_ = np.array(record["classes"]), np.array(record["p_new"], np.float64)
    model.labels_, model.known_share_ = model.classes_[model.codes_], record["known_share"]
    novelty = record["novelty"]
    model.novelty_ = None if novelty is None else Novelty(*(novelty[name] for name in ("slope", "offset", "auroc")))
    model.anchors_, model.anchor_codes_ = _read_anchors(folder / ANCHORS, record["anchors"], model, path)
    model.n_classes_, model.n_dominant_, model.seed_ = k, record["dominant"], record["seed"]
    model.number_ = NumberOfClasses(**{name: record["number"][name] for name in RECORD["number"]})
    model.trust_ = Trust(**{name: record["trust"][name] for name in RECORD["trust"]})
    for name in ("n_features_in_", "feature_names_in_"):
        if hasattr(model.classifier_, name):
            setattr(model, name, getattr(model.classifier_, name))
    return model


def _read_anchors(path: Path, anchors: dict[str, Any], model: Any, record: Path) -> tuple[Tensor, NDArray[np.int64]]:
    inputs = read_weights(path, anchors["sha256"], record.name, AGAIN).get("inputs")
    codes = np.array(anchors["codes"], dtype=np.int64)
    if inputs is None or len(inputs) != len(codes) or tuple(inputs.shape[1:]) != model.classifier_.input_form_.shape:
        raise InputError(f"{path} does not hold an item for each of {len(codes)} codes; {AGAIN}.")
    return inputs, codes


def _with_outputs(backbone: nn.Module | None) -> Any:
    """What makes the classifier's network of the similarity's backbone: another last layer."""
    if backbone is None:
        return None

    def make(n_outputs: int, _: tuple[int, ...]) -> nn.Module:
        network: Any = copy.deepcopy(backbone)
        network.last = nn.Linear(network.last.in_features, n_outputs)
        return network  # type: ignore[no-any-return]

    return make
