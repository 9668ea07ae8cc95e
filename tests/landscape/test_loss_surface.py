"""Whole surfaces: against a loop over the points, a known answer, stopped and gone on with, in parts, and refused."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from likewise import loss_surface
from likewise.errors import InputError
from likewise.landscape.compute import compute_surface, describe
from likewise.landscape.grid import Row, RowLosses, read_part
from likewise.landscape.job import FixedBatch, Job, make_job
from likewise.training import Interrupted

Lively = Callable[..., nn.Module]
Items = Callable[..., tuple[Tensor, Tensor]]
ABOUT: dict[str, Any] = {"runs": ["one"]}


class Slope(nn.Module):
    """One weight, w: the logits of an item x are (w x, 0)."""

    def __init__(self, w: float) -> None:
        super().__init__()
        self.w = nn.Parameter(torch.tensor([[w]]))

    def forward(self, x: Tensor) -> Tensor:
        return torch.cat([x @ self.w, torch.zeros(len(x), 1)], 1)


def test_a_surface_whose_answer_is_known() -> None:
    """Between w = 3, 5 and 4 the weight is 3 + 2 alpha + beta, and CE of x = 1 as class 0 is log(1 + exp(-w))."""
    ones, labels = torch.ones(4, 1), torch.tensor([0, 0, 0, 0])
    surface = loss_surface(Slope(3.0), [Slope(5.0), Slope(4.0)], inputs=ones, labels=labels, losses=["ce"], grid=5)
    assert surface.alpha.tolist() == surface.beta.tolist() == [-0.5, 0.0, 0.5, 1.0, 1.5]
    for i, alpha in enumerate(surface.alpha):
        for j, beta in enumerate(surface.beta):
            assert surface["ce"][i, j] == pytest.approx(math.log1p(math.exp(-(3 + 2 * alpha + beta))), rel=1e-4)
    assert surface.chance == {"ce": pytest.approx(math.log(2))}


@pytest.mark.parametrize("batch_norm", ["recomputed", "stored"])
def test_every_loss_at_every_point_is_that_of_the_network_itself(
    batch_norm: Any, lively: Lively, items: Items, plain_logits: Callable[..., Tensor], naive_loss: Callable[..., float]
) -> None:
    network, (inputs, labels) = lively("lenet", 3, (1, 8, 8)), items(13, (1, 8, 8), 3)
    batches = tuple(FixedBatch(*part) for part in zip(inputs.split(7), labels.split(7), strict=True))
    job = make_job([network], batches, losses=["ce", "mcl", "kcl"], grid=3, span=(-0.4, 0.6), batch_norm=batch_norm)
    surface = compute_surface(job, ABOUT)
    assert surface is not None
    for i, alpha in enumerate(job.alpha):
        for j, beta in enumerate(job.beta):
            recompute = batch_norm == "recomputed"
            logits = [plain_logits(job.network, job.plane, alpha, beta, batch.inputs, recompute) for batch in batches]
            for loss in job.losses:
                wanted = naive_loss(loss, logits, [batch.target for batch in batches])
                assert surface[loss][i, j] == pytest.approx(wanted, rel=2e-3)


def test_the_values_do_not_depend_on_how_many_cores_there_are(job: Job) -> None:
    before, rows = torch.get_num_threads(), RowLosses(job)
    found = []
    try:
        for threads in (1, 3):
            torch.set_num_threads(threads)
            found.append(rows.row(1).values)
            assert torch.get_num_threads() == threads
    finally:
        torch.set_num_threads(before)
    assert found[0].tobytes() == found[1].tobytes()


def test_few_points_at_a_time_are_the_same_points(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = RowLosses(job).row(1).values
    monkeypatch.setattr("likewise.landscape.grid.MOST_MEBIBYTES", 1.5 * job.plane.mebibytes())
    one_by_one = RowLosses(job)
    assert one_by_one.n_points == 1
    np.testing.assert_allclose(one_by_one.row(1).values, whole, rtol=1e-5)


@pytest.fixture
def job(lively: Lively, batches: tuple[FixedBatch, ...]) -> Job:
    return make_job([lively("mlp", 3, (6,))], batches, losses=["mcl", "ce"], grid=5)


@pytest.fixture
def rows_computed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Which rows are computed, from here on."""
    computed: list[int] = []
    compute_row = RowLosses.row

    def noted(self: RowLosses, position: int) -> Row:
        computed.append(position)
        return compute_row(self, position)

    monkeypatch.setattr(RowLosses, "row", noted)
    return computed


def test_a_stopped_surface_goes_on_to_the_same_values(
    job: Job, tmp_path: Path, rows_computed: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "surface.npz"
    whole = compute_surface(job, ABOUT, out=tmp_path / "other.npz")
    assert whole is not None
    rows_computed.clear()
    noted = RowLosses.row

    def stopping(self: RowLosses, position: int) -> Row:
        if position == 3:
            raise KeyboardInterrupt
        return noted(self, position)

    with monkeypatch.context() as patch:
        patch.setattr(RowLosses, "row", stopping)
        with pytest.raises(Interrupted, match="3 rows are kept, and the same command resumes"):
            compute_surface(job, ABOUT, out=out)
    assert not out.exists()
    assert rows_computed == [0, 1, 2]

    surface = compute_surface(job, ABOUT, out=out)
    assert surface is not None
    assert rows_computed == [0, 1, 2, 3, 4]
    np.testing.assert_array_equal(surface.values, whole.values)
    assert surface.cpu_seconds > 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["other.npz", "surface.npz"]

    again = compute_surface(job, ABOUT, out=out)  # a finished one is read
    assert again is not None
    assert rows_computed == [0, 1, 2, 3, 4]
    np.testing.assert_array_equal(again.values, whole.values)


def test_parts_are_merged_by_the_last(job: Job, tmp_path: Path, rows_computed: list[int]) -> None:
    out = tmp_path / "surface.npz"
    assert compute_surface(job, ABOUT, out=out, part=(2, 2)) is None
    assert rows_computed == [1, 3]
    assert not out.exists()
    merged = compute_surface(job, ABOUT, out=out, part=(1, 2))
    assert rows_computed == [1, 3, 0, 2, 4]
    whole = compute_surface(job, ABOUT)
    assert merged is not None
    assert whole is not None
    np.testing.assert_array_equal(merged.values, whole.values)
    assert [path.name for path in tmp_path.iterdir()] == ["surface.npz"]


def test_processes_share_the_rows(job: Job) -> None:
    alone, shared = compute_surface(job, ABOUT), compute_surface(job, ABOUT, processes=2)
    assert alone is not None
    assert shared is not None
    np.testing.assert_allclose(shared.values, alone.values, rtol=1e-5)


def test_rows_or_a_file_of_something_else_are_refused(job: Job, tmp_path: Path) -> None:
    out = tmp_path / "surface.npz"
    compute_surface(job, {"seed": 1}, out=out, part=(1, 2))
    with pytest.raises(InputError, match=r"surface.npz.rows was begun with seed = 1, now it is 2"):
        compute_surface(job, {"seed": 2}, out=out)
    (out.with_name("surface.npz.rows") / "row-00000.npz").write_bytes(b"half")
    with pytest.raises(InputError, match=r"row-00000.npz cannot be read"):
        compute_surface(job, {"seed": 1}, out=out)
    compute_surface(job, {"seed": 1}, out=tmp_path / "whole.npz")
    with pytest.raises(InputError, match=r"whole.npz holds a surface with seed = 1, now it is 2"):
        compute_surface(job, {"seed": 2}, out=tmp_path / "whole.npz")


def test_what_an_earlier_version_wrote_is_refused(job: Job, tmp_path: Path) -> None:
    old, now = {"seed": 1, "checksum": 7}, {"seed": 1, "sha256": "ab"}
    compute_surface(job, old, out=tmp_path / "part.npz", part=(1, 2))
    compute_surface(job, old, out=tmp_path / "whole.npz")
    for name in ("part", "whole"):
        with pytest.raises(InputError, match=rf"{name}.npz(.rows)? was written by an earlier version of Likewise"):
            compute_surface(job, now, out=tmp_path / f"{name}.npz")


def test_other_weights_or_items_are_another_job(lively: Lively, batches: tuple[FixedBatch, ...]) -> None:
    def sha256(seed: int, given: tuple[FixedBatch, ...]) -> str:
        job = make_job([lively("mlp", 3, (6,), seed)], given, losses=["mcl"], grid=2)
        described: str = describe(job, ABOUT, batch_size=10, biases="left-out", seed=0)["sha256"]
        return described

    assert sha256(0, batches) == sha256(0, batches)
    assert len({sha256(0, batches), sha256(1, batches), sha256(0, batches[:2])}) == 3


def test_gaps_are_counted(lively: Lively, batches: tuple[FixedBatch, ...]) -> None:
    networks = [lively("mlp", 3, (6,), seed) for seed in range(3)]
    for network, variance in zip(networks, (1.0, 4.0, 1.0), strict=True):
        network.get_buffer("layers.2.running_var").fill_(variance)
        network.get_buffer("layers.5.running_var").fill_(1.0)
    job = make_job(networks, batches, losses=["mcl"], grid=5, batch_norm="stored")  # the variance is 1 + 3 alpha
    surface = compute_surface(job, ABOUT)
    assert surface is not None
    assert surface.gaps("mcl") == 5
    assert np.isnan(surface["mcl"][0]).all()


def test_what_makes_no_surface_is_refused(lively: Lively, items: Items, batches: tuple[FixedBatch, ...]) -> None:
    network, (inputs, labels) = lively("mlp", 3, (6,)), items(12, (6,), 3)
    with pytest.raises(InputError, match="2 points per side or more, got 1"):
        loss_surface(network, inputs=inputs, labels=labels, grid=1)
    with pytest.raises(InputError, match="from a number to a larger one, got 1 to 1"):
        loss_surface(network, inputs=inputs, labels=labels, span=(1.0, 1.0))
    with pytest.raises(InputError, match="give inputs and labels"):
        loss_surface(network, labels=labels)
    with pytest.raises(InputError, match="must be floats"):
        loss_surface(network, inputs=inputs.to(torch.uint8), labels=labels)
    with pytest.raises(InputError, match="one solution or three, got 2"):
        loss_surface(network, [network], inputs=inputs, labels=labels)
    with pytest.raises(InputError, match="not some of each"):
        loss_surface(network, ["run", "run2"], inputs=inputs, labels=labels)
    with pytest.raises(InputError, match=r"layers.1.weight has shape \[256, 6\] in one and \[256, 5\] in another"):
        make_job([network, network, lively("mlp", 3, (5,))], batches, losses=["mcl"], grid=2)
    with pytest.raises(InputError, match="ce needs an output for each of 3 classes, the network has 2"):
        loss_surface(lively("mlp", 2, (6,)), inputs=inputs, labels=labels, losses=["ce"], grid=2)
    with pytest.raises(InputError, match="batch_norm must be recomputed or stored"):
        loss_surface(network, inputs=inputs, labels=labels, batch_norm="new")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="processes must be 1 or more"):
        loss_surface(network, inputs=inputs, labels=labels, losses=["mcl"], grid=2, processes=0)


@pytest.mark.parametrize("text", ["0/2", "3/2", "1", "a/b", "1/2/3", "-1/2", ""])
def test_parts_that_are_none(text: str) -> None:
    with pytest.raises(InputError, match="K/N"):
        read_part(text)
