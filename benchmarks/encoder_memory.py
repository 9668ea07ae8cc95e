"""`python -m benchmarks.encoder_memory`: the most memory that `likewise encode` takes, by the number of photos.

Small photographs are made up and encoded by a small ONNX network, in a process of its own for each number, with a cache
that is empty at first. Memory should hardly grow: of each photo, the process keeps its name and its place in the cache.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from onnx import TensorProto, helper, numpy_helper
from PIL import Image

from likewise.storage.records import machine, write_json

SIZES = (10_000, 30_000, 100_000)
SIDE, WIDTH = 64, 64  # pixels of a photo, features of the network


def write_photos(folder: Path, n: int) -> None:
    """JPEG files, a hundred in a folder, each of other pixels."""
    random = np.random.default_rng(0)
    for number in range(n):
        place = folder / f"{number // 100:04d}"
        place.mkdir(parents=True, exist_ok=True)
        coarse = Image.fromarray(random.integers(0, 256, (8, 8, 3), np.uint8))
        coarse.resize((SIDE + 16, SIDE)).save(place / f"{number % 100:02d}.jpg", quality=80)


def write_network(path: Path) -> None:
    """A convolution of 8 x 8 pixels and the mean over its map."""
    weight = np.random.default_rng(0).normal(size=(WIDTH, 3, 8, 8)).astype(np.float32)
    nodes = [
        helper.make_node("Conv", ["images", "weight"], ["map"], strides=[8, 8]),
        helper.make_node("Relu", ["map"], ["positive"]),
        helper.make_node("GlobalAveragePool", ["positive"], ["mean"]),
        helper.make_node("Flatten", ["mean"], ["features"]),
    ]
    images = helper.make_tensor_value_info("images", TensorProto.FLOAT, ["batch", 3, SIDE, SIDE])
    features = helper.make_tensor_value_info("features", TensorProto.FLOAT, ["batch", WIDTH])
    graph = helper.make_graph(nodes, "small", [images], [features], [numpy_helper.from_array(weight, "weight")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    path.write_bytes(model.SerializeToString())


def measure(sizes: tuple[int, ...]) -> list[dict[str, Any]]:
    """CPU seconds and MiB of each number of photos."""
    rows = []
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        write_network(folder / "small.onnx")
        for n in sizes:
            write_photos(folder / str(n), n)
            cost, out = folder / "cost.json", folder / "features.parquet"
            arguments = ["encode", folder / str(n), "--encoder", f"onnx:{folder / 'small.onnx'}", "--out", out]
            command = [sys.executable, "-m", "benchmarks.metered", cost, *arguments]
            own_cache = {**os.environ, "LIKEWISE_CACHE": str(folder / f"cache-{n}")}
            subprocess.run([str(word) for word in command], check=True, capture_output=True, env=own_cache)
            rows.append({"photos": n, **json.loads(cost.read_text(encoding="utf-8"))})
            print(rows[-1], flush=True)
    return rows


def bytes_per_photo(rows: list[dict[str, Any]]) -> float:
    """By which memory grows, by least squares.

    >>> bytes_per_photo([{"photos": 0, "mebibytes": 10.0}, {"photos": 2**20, "mebibytes": 110.0}])
    100.0
    """
    slope = np.polyfit([row["photos"] for row in rows], [row["mebibytes"] for row in rows], 1)[0]
    return round(float(slope) * 2**20, 1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/encoder_memory.json"))
    given = parser.parse_args()
    rows = measure(tuple(given.sizes))
    each = bytes_per_photo(rows)
    write_json(given.out, {**machine(), "runs": rows, "bytes_per_photo": each})
    print(f"Wrote {given.out}: {each:,.0f} bytes per photo.")


if __name__ == "__main__":
    main()
