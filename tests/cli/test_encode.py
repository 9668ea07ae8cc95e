"""`likewise encode`: features in files that the other commands read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from likewise.datasets import load_items
from likewise.encoders import load_encoder

Run = Callable[..., Any]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "photos"
    (place / "red").mkdir(parents=True)
    for number in range(3):
        Image.new("RGB", (90, 70), (80 * number, 0, 0)).save(place / "red" / f"{number}.png")
    (place / "broken.png").write_bytes(b"no photo")
    return place


@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".npz"])
def test_files_are_read_again(run: Run, folder: Path, tmp_path: Path, suffix: str) -> None:
    out = tmp_path / f"features{suffix}"
    result = run("encode", folder, "--out", out)
    assert result.exit_code == 0, result.output
    assert result.stdout == f"Wrote {out}: 3 items with 1,280 features of efficientnet-lite0.\n"
    assert "1 image cannot be read and is left out" in result.stderr
    items = load_items(out)
    expected = load_encoder("efficientnet-lite0").transform([folder / name for name in items.ids])
    np.testing.assert_allclose(items.inputs.numpy(), expected, atol=1e-7)
    assert (items.ids, items.class_names) == (("red/0.png", "red/1.png", "red/2.png"), ("red",))


def test_texts(run: Run, tmp_path: Path, write_rows: Callable[..., Path]) -> None:
    table = write_rows(tmp_path / "t.csv", ("text", "n"), ("where is it", 1), ("when was it", 2))
    result = run(
        "encode", table, "--text", "text", "--encoder", "wordllama", "--no-unit-length", "--out", tmp_path / "o.csv"
    )
    assert result.exit_code == 0, result.output
    raw = load_encoder("wordllama", unit_length=False).transform(["where is it", "when was it"])
    np.testing.assert_allclose(load_items(tmp_path / "o.csv").inputs.numpy(), raw, rtol=1e-6, atol=1e-7)


def test_bad_input_leaves_nothing(run: Run, folder: Path, tmp_path: Path, write_rows: Callable[..., Path]) -> None:
    table = write_rows(tmp_path / "t.csv", ("text", "n"), ("where is it", 1), ("", 2))
    out = tmp_path / "out.parquet"
    for arguments, said in (
        ((folder, "--encoder", "nonsense"), "There is no encoder called 'nonsense'"),
        ((folder, "--encoder", "none"), "--encoder none leaves nothing to do"),
        ((folder, "--encoder", "minilm"), "holds no text; its files should end in .txt"),
        ((folder, "--strict"), "broken.png (this is no image of a known format"),
        ((table,), "name the columns that hold its texts, such as --text text"),
        ((table, "--text", "text"), "line 3: text is empty. Fill in a text"),
        ((table, "--text", "n"), "the column 'n' holds no text"),
        ((table, "--text", ",n"), "--text must name columns"),
    ):
        result = run("encode", *arguments, "--out", out)
        assert result.exit_code == 2, result.output
        assert said in result.stderr
        assert len(result.stderr.strip().splitlines()) == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["photos", "t.csv"]
    assert "give --out such a name" in run("encode", folder, "--out", tmp_path / "x.txt").stderr
