"""ONNX files against torch: the same probabilities from raw items, or one sentence and no file."""

from __future__ import annotations

import json
import logging
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import likewise
from likewise.errors import InputError
from likewise.estimators.onnx_file import export_onnx
from likewise.networks import build

onnxruntime = pytest.importorskip("onnxruntime", reason="needs likewise[onnx]")
pytest.importorskip("onnxscript", reason="needs likewise[onnx]")

OUTPUTS = [4, 0, 2]  # of six: not all, and not in order


@pytest.fixture
def silence(capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Nothing may be printed or logged; torch's loggers, which keep their records to themselves, are listened to."""
    loggers = [logging.getLogger(name) for name in ("torch.onnx", "torch.fx.experimental.symbolic_shapes")]
    levels = [logger.getEffectiveLevel() for logger in loggers]
    for logger in loggers:
        logger.addHandler(caplog.handler)
    yield
    for logger in loggers:
        logger.removeHandler(caplog.handler)
    assert capfd.readouterr() == ("", "")
    assert [record for record in caplog.get_records("call") if record.levelno >= logging.WARNING] == []
    assert [logger.getEffectiveLevel() for logger in loggers] == levels


def opinionated(network: nn.Module, shape: tuple[int, ...]) -> nn.Module:
    """Like a trained network: batch-norm has seen data, and the probabilities of two items are far apart."""
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for _ in range(3):
            logits = network.train()(torch.randn((8, *shape), generator=generator))
        last = [module for module in network.modules() if isinstance(module, nn.Linear)][-1]
        last.weight.mul_(3 / logits.std())
    return network


def by_formula(network: nn.Module, inputs: Tensor) -> Tensor:
    """The probabilities, written out."""
    modes = {module: module.training for module in network.modules()}
    with torch.no_grad():
        logits = network.eval()(inputs)
    for module, mode in modes.items():
        module.training = mode
    odds = torch.stack([logits[:, output] for output in OUTPUTS], 1).exp()
    return odds / odds.sum(1, keepdim=True)


def export(network: nn.Module, path: Path, shape: tuple[int, ...] = (4,), **changes: Any) -> float:
    columns = shape[0]
    facts: dict[str, Any] = {
        "input_shape": shape,
        "mean": tuple(0.3 + 0.1 * c for c in range(columns)),
        "std": tuple(0.2 + 0.05 * c for c in range(columns)),
        "images": len(shape) == 3,
        "outputs": OUTPUTS,
        "class_names": ["cat", "Käse", "7"],
    }
    return export_onnx(network, path, **facts | changes)


def run(path: Path, items: np.ndarray) -> tuple[Tensor, dict[str, str]]:
    session = onnxruntime.InferenceSession(path.read_bytes())
    (given,) = session.get_inputs()
    (probabilities,) = session.run(["probabilities"], {given.name: items})
    return torch.from_numpy(probabilities), session.get_modelmeta().custom_metadata_map | {"name": given.name}


@pytest.mark.parametrize(
    ("name", "shape"),
    [("lenet", (1, 8, 9)), ("resnet18", (3, 6, 6)), ("mlp", (2, 3, 3))],
)
@pytest.mark.usefixtures("silence")
def test_the_file_takes_bytes_and_agrees(name: str, shape: tuple[int, ...], tmp_path: Path) -> None:
    network = opinionated(build(name, 6, shape, seed=0), shape)
    difference = export(network, tmp_path / "model.onnx", shape)
    assert difference <= 1e-4
    assert [path.name for path in tmp_path.iterdir()] == ["model.onnx"]  # no file of weights beside it

    items = np.random.default_rng(0).integers(256, size=(5, *shape), dtype=np.uint8)
    found, about = run(tmp_path / "model.onnx", items)
    columns = torch.arange(shape[0]).view(-1, 1, 1)
    expected = by_formula(network, (torch.from_numpy(items) / 255 - (0.3 + 0.1 * columns)) / (0.2 + 0.05 * columns))
    assert expected.std(0).max() > 0.01  # else any file that ignores the items would do
    torch.testing.assert_close(found, expected, atol=2e-5, rtol=0)
    assert about["name"] == "images"


@pytest.mark.usefixtures("silence")
def test_vectors_are_brought_to_unit_length_in_the_file(tmp_path: Path) -> None:
    network = opinionated(build("linear", 6, (4,), seed=0), (4,))
    export(network, tmp_path / "model.onnx", unit_length=True)
    items = 50 * torch.randn(9, 4, generator=torch.Generator().manual_seed(0))
    items[3], items[4] = 0, items[4] * 1e30  # whose squares overflow
    found, about = run(tmp_path / "model.onnx", items.numpy())
    rows = nn.functional.normalize(items.double()).float()
    expected = by_formula(network, (rows - torch.tensor([0.3, 0.4, 0.5, 0.6])) / torch.tensor([0.2, 0.25, 0.3, 0.35]))
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=0)
    assert about["likewise.input"] == "float32: the features, not normalised"
    with pytest.raises(InputError, match=r"unit_length is for feature vectors, and input_shape is \(1, 8, 8\)"):
        export(build("lenet", 6, (1, 8, 8)), tmp_path / "images.onnx", (1, 8, 8), unit_length=True)


class Own(nn.Module):
    """A network that Likewise does not know, with what differs between training and evaluation."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(4, 8)
        self.drop = nn.Dropout(0.5)
        self.head = nn.Linear(8, 6)

    def forward(self, x: Tensor) -> Tensor:
        scores: Tensor = self.head(self.drop(self.first(x).tanh()))
        return scores


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> tuple[nn.Module, Path]:
    torch.manual_seed(0)
    network = opinionated(Own(), (4,))
    network.train()
    network.head.eval()  # type: ignore[union-attr]
    path = tmp_path_factory.mktemp("own") / "new" / "folder" / "model.onnx"
    export(network, path)
    return network, path


@pytest.mark.parametrize("n", [1, 2, 100])
def test_an_own_network_on_features_of_any_batch_size(own: tuple[nn.Module, Path], n: int) -> None:
    network, path = own
    items = torch.randn(n, 4, generator=torch.Generator().manual_seed(n))
    expected = by_formula(network, (items - torch.tensor([0.3, 0.4, 0.5, 0.6])) / torch.tensor([0.2, 0.25, 0.3, 0.35]))
    found, about = run(path, items.numpy())
    assert about["name"] == "features"
    assert found.shape == (n, 3)
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=0)


def test_the_file_says_what_it_is_and_nothing_of_this_machine(own: tuple[nn.Module, Path]) -> None:
    _, path = own
    _, about = run(path, np.zeros((1, 4), dtype=np.float32))
    assert json.loads(about["likewise.classes"]) == ["cat", "Käse", "7"]
    assert about["likewise.version"] == likewise.__version__
    assert about["likewise.input"] == "float32: the features, not normalised"
    assert b".py" not in path.read_bytes()


def test_the_network_stays_as_it_was(own: tuple[nn.Module, Path]) -> None:
    network, _ = own
    assert [module.training for module in network.modules()] == [True, True, True, False]
    assert all(type(parameter) is nn.Parameter and parameter.requires_grad for parameter in network.parameters())


class Contrary(Own):
    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x) * (1.1 if torch.compiler.is_exporting() else 1.0)


class Branching(Own):
    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x if x.sum() > 0 else -x)


class OneSize(Own):
    """Its trace is of one batch size, though torch can run it on any."""

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x[list(range(len(x)))])


class Rare(Own):
    def forward(self, x: Tensor) -> Tensor:
        return super().forward(torch.special.bessel_j0(x))


class Uncopied(Own):
    def __deepcopy__(self, memo: object) -> Uncopied:
        raise RuntimeError("no copies\nof this one")


@pytest.mark.parametrize(
    ("kind", "sentence"),
    [
        (Contrary, "does not agree with torch, its probabilities differ by up to 0.0"),
        (Branching, "cannot be exported to ONNX: Could not guard on data-dependent expression"),
        (OneSize, "cannot be exported to ONNX: Constraints violated"),
        (Rare, "cannot be exported to ONNX: No ONNX function found for .*bessel_j0"),
        (Uncopied, "cannot be copied: no copies$"),
    ],
)
@pytest.mark.usefixtures("silence")
def test_what_cannot_be_exported_is_one_sentence_and_the_old_file_stays(
    kind: type[nn.Module], sentence: str, tmp_path: Path
) -> None:
    path = tmp_path / "model.onnx"
    path.write_text("old")
    network = kind()
    with pytest.raises(InputError, match=sentence) as caught:
        export(network, path)
    assert "\n" not in str(caught.value)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]
    assert all(module.training for module in network.modules())


def test_a_warning_of_the_network_is_not_hidden(tmp_path: Path) -> None:
    class Loud(Branching):
        def forward(self, x: Tensor) -> Tensor:
            if torch.compiler.is_exporting():
                warnings.warn("this network warns", UserWarning, stacklevel=1)
            return super().forward(x)

    with pytest.warns(UserWarning, match="this network warns"), pytest.raises(InputError):
        export(Loud(), tmp_path / "model.onnx")


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"outputs": [0, 6, 1]}, r"has no outputs \[0, 6, 1\]"),
        ({"class_names": ["a", "b"]}, "got 2 for 3 outputs"),
        ({"outputs": [], "class_names": []}, "a name for each kept output"),
        ({"images": True}, r"\(channels, height, width\) for images, got \(4,\)"),
        ({"mean": (0.0,), "std": (1.0,)}, "one value for each channel or column, got 1"),
        ({"input_shape": (5,), "mean": (), "std": ()}, r"cannot take items of shape \(5,\)"),
        ({"batch_sizes": ()}, "batch_sizes must be one or more positive numbers"),
        ({"batch_sizes": (3, 0)}, "batch_sizes must be one or more positive numbers"),
    ],
)
def test_arguments_that_do_not_fit(changes: dict[str, Any], sentence: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=sentence):
        export(Own(), tmp_path / "model.onnx", **changes)
    assert not list(tmp_path.iterdir())


def test_a_network_that_diverged(tmp_path: Path) -> None:
    network = Own()
    nn.init.constant_(network.head.bias, torch.nan)
    with pytest.raises(InputError, match="logits are not finite"):
        export(network, tmp_path / "model.onnx")
    assert not list(tmp_path.iterdir())


def test_a_folder_in_the_place_of_the_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is a folder; name the file to write"):
        export(Own(), tmp_path)


def test_more_than_protobuf_holds(tmp_path: Path) -> None:
    network = nn.Linear(2**14, 2**15 + 1, device="meta")  # 2 GiB of float32, of which none is in memory
    with pytest.raises(InputError, match=r"takes 2\.0 GiB, and an ONNX file holds less than 2"):
        export(network, tmp_path / "model.onnx")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["onnx", "onnxruntime", "onnxscript"])
def test_a_missing_package(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(InputError, match=rf"needs the package {name}; install likewise\[onnx\]"):
        export(Own(), tmp_path / "model.onnx")
