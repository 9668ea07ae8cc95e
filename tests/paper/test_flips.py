"""`likewise paper flips`: what the wrong target says, one short run on made-up drawings, and the section."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from likewise.datasets import Items
from likewise.paper.flips import RECALL, FlipEntry, flips_section, run_flip, select_flips, wrong_target
from likewise.paper.records import write_record

LABELS = torch.arange(400) % 20


def test_a_share_of_the_pairs_is_flipped_the_same_ones_both_ways() -> None:
    same = (LABELS[:, None] == LABELS).float()
    torch.testing.assert_close(wrong_target(LABELS, "0", 0), same)
    flipped = wrong_target(LABELS, "0.1", 0)
    torch.testing.assert_close(flipped, flipped.T)
    assert flipped.diagonal().min() == 1
    assert float((flipped != same).float().mean()) == pytest.approx(0.1, abs=0.005)


def test_as_wrong_as_the_similarity() -> None:
    same, said = LABELS[:, None] == LABELS, wrong_target(LABELS, "similarity", 0) > 0
    off = ~torch.eye(400, dtype=torch.bool)
    assert float(said[same & off].float().mean()) == pytest.approx(RECALL["same"], abs=0.02)
    assert float((~said[~same]).float().mean()) == pytest.approx(RECALL["different"], abs=0.002)


def test_a_run_and_the_section(tmp_path: Path) -> None:
    assert "Nothing is recorded yet" in flips_section(tmp_path)
    drawings = torch.randint(256, (40, 1, 32, 32), generator=torch.Generator().manual_seed(0), dtype=torch.uint8)
    items = Items(drawings, torch.arange(40) % 4, ("a", "b", "c", "d"))
    record = run_flip(FlipEntry("kcl", "Angelic", "0.03", 1, 0), items)
    assert (record.true_classes, record.same_recall) == (4, pytest.approx(0.97, abs=0.03))
    assert 0 < record.same_precision < 1
    write_record(tmp_path, record)
    assert f"| Angelic | 3 % flipped | {record.same_precision:.2f} | kcl |" in flips_section(tmp_path)


def test_entries() -> None:
    assert len(select_flips(None, None, None, 50, 0)) == 20
    assert [entry.name for entry in select_flips("mcl", "Tengwar", "similarity", 50, 0)] == [
        "mcl-Tengwar-similarity-seed0-50ep"
    ]
