"""Run folders: the network, data set and criterion of a finished run, and runs that do not belong together."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from likewise import loss_surface
from likewise.datasets import load
from likewise.errors import InputError
from likewise.landscape.compute import open_runs, read_names, read_network
from likewise.networks import build
from likewise.training import Settings, train_labelled

HOW: dict[str, Any] = {"items": 20, "batch_size": 10, "seed": 0}


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A LeNet that saw forty digits."""
    run = tmp_path_factory.mktemp("runs") / "digits-ce"
    data = load("digits")
    network = build("lenet", 10, tuple(data.train.inputs.shape[1:]), seed=0)
    few = data.train.subset(torch.arange(40))
    config = {"dataset": "digits", "network": "lenet", "criterion": "ce"}
    settings = Settings(epochs=1, batch_size=20, precision="float32", device="cpu")
    train_labelled(network, few, data, nn.CrossEntropyLoss(), settings, run=run, config=config)
    return run


@pytest.fixture
def run(trained: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(trained, tmp_path / "digits-ce"))


def rewrite(run: Path, **config: object) -> Path:
    path = run / "config.json"
    content = json.loads(path.read_text())
    content["config"] |= config
    path.write_text(json.dumps(content))
    return run


def test_a_run_knows_its_network_and_its_data(run: Path) -> None:
    networks, batches, names = open_runs([run, run, run], **HOW)
    assert names == {"dataset": "digits", "network": "lenet", "runs": ["digits-ce"] * 3, "criteria": ["ce"] * 3}
    assert [len(batch.inputs) for batch in batches] == [10, 10]
    data = load("digits")
    shape = tuple(data.train.inputs.shape[1:])
    assert batches[0].inputs.shape[1:] == shape
    fresh = build("lenet", 10, shape, seed=0).state_dict()["last.weight"]
    assert not torch.equal(networks[0].state_dict()["last.weight"], fresh)


def test_the_surface_of_a_run_is_that_of_its_network(run: Path) -> None:
    networks, batches, _ = open_runs([run], **HOW)
    inputs, labels = (torch.cat([getattr(batch, name) for batch in batches]) for name in ("inputs", "target"))
    how: dict[str, Any] = {
        "losses": ["mcl"],
        "grid": 3,
        "items": 20,
        "batch_size": 20,
    }  # one batch, whose order does not matter
    of_run, of_network = loss_surface(run, **how), loss_surface(networks[0], inputs=inputs, labels=labels, **how)
    np.testing.assert_allclose(of_run["mcl"], of_network["mcl"], rtol=1e-4)
    assert of_run.about["dataset"] == "digits"


def test_what_a_run_does_not_say_may_be_given(run: Path) -> None:
    rewrite(run, dataset=None)
    with pytest.raises(InputError, match=r"config.json does not say the dataset; give it \(--dataset\)"):
        read_names(run)
    assert read_names(run, dataset="digits").dataset == "digits"


def test_folders_that_are_no_finished_runs(run: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"is not a run: config.json is missing"):
        read_names(tmp_path)
    (run / "model.safetensors").write_bytes(b"half")
    with pytest.raises(InputError, match="is damaged"):
        open_runs([run], **HOW)
    (run / "model.safetensors").unlink()
    with pytest.raises(InputError, match=r"is not finished, model.safetensors is missing"):
        open_runs([run], **HOW)
    (run / "config.json").write_text("[1]")
    with pytest.raises(InputError, match="was not written by a training run"):
        read_names(run)


def test_runs_that_do_not_belong_together(run: Path, tmp_path: Path) -> None:
    other = Path(shutil.copytree(run, tmp_path / "other"))
    rewrite(other, dataset="mnist")
    with pytest.raises(InputError, match=r"other was trained on mnist and .*digits-ce on digits"):
        open_runs([run, other, other], **HOW)
    rewrite(other, dataset="digits", network="mlp")
    with pytest.raises(InputError, match=r"other is a mlp and .*digits-ce a lenet; give runs of one network"):
        open_runs([run, other, other], **HOW)
    with pytest.raises(InputError, match=r"model.safetensors is not a mlp for digits"):
        read_network(read_names(other), load("digits"))
