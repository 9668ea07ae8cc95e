"""The rows of a grid: computed here or in several processes, each kept as soon as it is known, so that a run resumes.

A row is the losses at all points with the same alpha, which share each pass over the data. Where the network is made of
blocks, each core has a batch of its own, and no operation is divided among cores: they wait for each other once per
row, and not after every product of matrices. The result does not depend on their number.

Finished rows are .npz files in a folder beside about.json, which says what they are of. A process with
the same about.json may compute other rows at the same time, and the one that finds all rows there writes the surface.
"""

from __future__ import annotations

import copy
import multiprocessing
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor, as_completed
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn.modules.batchnorm import _BatchNorm

from likewise.errors import InputError
from likewise.landscape.blocks import BlockNetwork
from likewise.landscape.job import Axis, FixedBatch, Job, loss_sum
from likewise.landscape.surface import Floats, Plane
from likewise.storage.atomic_files import open_atomically
from likewise.storage.records import as_json, first_difference, read_json, write_json
from likewise.storage.run_folder import lock_folder
from likewise.training import Interrupted
from likewise.training.progress import clock


# Any network at many points of a plane: called once for each point and batch.
class AnyNetwork:
    """The network in evaluation mode; with `recompute`, batch-norm has the statistics of the current batch."""

    def __init__(self, network: nn.Module, plane: Plane, *, recompute: bool) -> None:
        self.plane = plane
        self.network = copy.deepcopy(network).cpu().eval()
        for module in self.network.modules():
            if recompute and isinstance(module, _BatchNorm):
                module.running_mean = module.running_var = None  # it then normalises by the batch, in any mode

    def along(self, alpha: float, betas: Sequence[float]) -> Callable[[Tensor], Tensor]:
        """What gives for a batch the logits of all points of a row, (points, b, K); for one batch at a time, since the
        network has the weights of one point.
        """
        row = self.plane.row(alpha)
        points = [self.plane.along(row, beta) for beta in betas]
        return lambda inputs: torch.stack([functional_call(self.network, point, (inputs,)) for point in points])


T = TypeVar("T")

MOST_MEBIBYTES = 256  # of weights, for the points that share a pass over the data


class Evaluator(Protocol):
    """A network at points of a plane."""

    def along(self, alpha: float, betas: Sequence[float]) -> Callable[[Tensor], Tensor]:
        """What gives for a batch the logits of all points, (points, b, K)."""


def evaluator(job: Job) -> Evaluator:
    """The fast way where the network is made of blocks, else the one that suits any network."""
    recompute = job.batch_norm == "recomputed"
    blocks = BlockNetwork.of(job.network, job.plane, recompute=recompute)
    return AnyNetwork(job.network, job.plane, recompute=recompute) if blocks is None else blocks


class Row(NamedTuple):
    values: NDArray[np.float32]  # (losses, betas); NaN where the network gives no finite output
    cpu_seconds: float


class RowLosses:
    """The losses of any row of a job."""

    def __init__(self, job: Job) -> None:
        self.job, self.evaluator = job, evaluator(job)
        self.counts = np.array([sum(batch.count(loss) for batch in job.batches) for loss in job.losses])
        self.n_points = max(1, int(MOST_MEBIBYTES / job.plane.mebibytes()))  # at a time

    @torch.inference_mode()
    def row(self, position: int) -> Row:
        started = time.process_time()
        alpha, beta = self.job.alpha[position], self.job.beta
        parts = [self._points(alpha, beta[i : i + self.n_points]) for i in range(0, len(beta), self.n_points)]
        return Row(np.concatenate(parts, axis=1), time.process_time() - started)

    def _points(self, alpha: float, betas: Axis) -> NDArray[np.float32]:
        logits_of = self.evaluator.along(alpha, betas)

        def sums_of(batch: FixedBatch) -> NDArray[np.float64]:  # (losses, betas)
            with torch.inference_mode():
                logits = logits_of(batch.inputs)
                return np.array([[loss_sum(loss, each, batch) for each in logits] for loss in self.job.losses])

        at_once = isinstance(self.evaluator, BlockNetwork)
        sums = sum(on_a_core_each(sums_of, self.job.batches) if at_once else map(sums_of, self.job.batches))
        means: NDArray[np.float32] = (sums / self.counts[:, None]).astype(np.float32)
        return means


def on_a_core_each(call: Callable[[T], NDArray[np.float64]], arguments: Iterable[T]) -> Iterator[NDArray[np.float64]]:
    """Call `call` for each argument, several at once with one torch thread each; results keep the order."""
    threads = torch.get_num_threads()
    try:
        with ThreadPoolExecutor(threads, initializer=torch.set_num_threads, initargs=(1,)) as pool:
            yield from pool.map(call, arguments)
    finally:
        torch.set_num_threads(threads)


# How far a surface has come and how long it still takes: a bar on a terminal, ten lines elsewhere.

Tell = Callable[[], None]  # called after each row


@contextmanager
def row_progress(wanted: bool, rows: int, points: int) -> Iterator[Tell]:
    """A bar for the rows; it yields a function to call whenever a row is done."""
    if not wanted or not rows:
        yield lambda: None
    elif sys.stdout.isatty():
        with _bar(rows, points) as tell:
            yield tell
    else:
        yield _lines(rows, points)


@contextmanager
def _bar(rows: int, points: int) -> Iterator[Tell]:
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    texts = [TextColumn(text) for text in ("{task.completed}/{task.total} rows", "{task.fields[figures]}", "left")]
    with Progress(texts[0], BarColumn(), texts[1], TimeRemainingColumn(), texts[2]) as bar:
        task, started = bar.add_task("", total=rows, figures=""), time.perf_counter()
        done = 0

        def tell() -> None:
            nonlocal done
            done += 1
            bar.update(task, completed=done, figures=_speed(started, done * points))

        yield tell


def _lines(rows: int, points: int) -> Tell:
    started, done = time.perf_counter(), 0

    def tell() -> None:
        nonlocal done
        done += 1
        if done == 1 or 10 * done // rows != 10 * (done - 1) // rows:
            left = (time.perf_counter() - started) / done * (rows - done)
            print(f"{done}/{rows} rows  {_speed(started, done * points)}  {clock(left)} left", flush=True)

    return tell


def _speed(started: float, points: int) -> str:
    return f"{1000 * (time.perf_counter() - started) / points:.0f} ms per point"


Part = tuple[int, int]  # the k-th of n, counted from 1


def read_part(text: str) -> Part:
    """
    >>> read_part("1/2")
    (1, 2)
    """
    first, slash, second = text.partition("/")
    if slash and first.isdecimal() and second.isdecimal() and 1 <= int(first) <= int(second):
        return int(first), int(second)
    raise InputError(f"A part is given as K/N, for example 1/2 and 2/2, got {text!r}.")


def compute_rows(
    job: Job,
    about: Mapping[str, Any],
    *,
    folder: Path | None = None,
    part: Part = (1, 1),
    processes: int = 1,
    progress: bool = False,
) -> tuple[Floats, float] | None:
    """Compute the rows of a part that are not in the folder yet.

    Gives all values, (losses, A, B), and the CPU seconds they took, once every row is known, and until then None.
    Without a folder nothing is kept. With several processes each has its share of torch's threads.
    """
    if processes < 1:
        raise InputError(f"processes must be 1 or more, got {processes}.")
    k, n = part
    mine = range(k - 1, len(job.alpha), n)
    known_rows: dict[int, Row] = {}
    with ExitStack() as stack:
        if folder is not None:
            stack.enter_context(lock_folder(folder / f"part-{k}-of-{n}"))
            _same_job(folder / "about.json", about)
            known_rows = _read_rows(folder, job)
        waiting = [position for position in mine if position not in known_rows]
        tell = stack.enter_context(row_progress(progress, len(waiting), len(job.beta)))
        try:
            for position, row in _rows(job, waiting, processes):
                known_rows[position] = row
                if folder is not None:
                    _write_row(folder, position, row)
                tell()
        except KeyboardInterrupt as stop:
            kept = "" if folder is None else f"; {len(known_rows)} rows are kept, and the same command resumes"
            raise Interrupted(f"Stopped{kept}.") from stop
        if folder is not None:
            known_rows |= _read_rows(folder, job)  # what others did in the meantime
    if len(known_rows) < len(job.alpha):
        return None
    values = np.stack([known_rows[position].values for position in range(len(job.alpha))], axis=1)
    return values, sum(row.cpu_seconds for row in known_rows.values())


def _rows(job: Job, positions: Sequence[int], processes: int) -> Iterator[tuple[int, Row]]:
    """Rows in any order, each as soon as it is known."""
    if processes == 1 or len(positions) < 2:
        losses = RowLosses(job)
        for position in positions:
            yield position, losses.row(position)
        return
    threads = max(1, torch.get_num_threads() // processes)
    new = multiprocessing.get_context("spawn")  # a fork would share torch's threads, and hang
    with ProcessPoolExecutor(processes, new, initializer=_begin, initargs=(job, threads)) as pool:
        running = {pool.submit(_row, position): position for position in positions}
        try:
            for done in as_completed(running):
                yield running[done], done.result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


_losses: RowLosses | None = None  # of this process, where it is one of several


def _begin(job: Job, threads: int) -> None:
    global _losses
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that started this one
    torch.set_num_threads(threads)
    _losses = RowLosses(job)


def _row(position: int) -> Row:
    assert _losses is not None
    return _losses.row(position)


def _same_job(path: Path, about: Mapping[str, Any]) -> None:
    """Record which job the rows belong to, or refuse a folder with the rows of another job."""
    if not path.exists():
        write_json(path, about)
        return
    before = read_json(path)
    refuse_earlier_version(path.parent, before)
    difference = first_difference(before, as_json(about))
    if difference:
        name, was, now = difference
        raise InputError(
            f"{path.parent} was begun with {name} = {was!r}, now it is {now!r}; delete it or use another place."
        )


def refuse_earlier_version(place: Path, about: object) -> None:
    """Version 0.1 wrote a CRC-32 of the weights and items in place of their fingerprint."""
    if isinstance(about, dict) and "checksum" in about:
        raise InputError(
            f"{place} was written by an earlier version of Likewise, which cannot be compared with this job; "
            "delete it or use another place."
        )


def _write_row(folder: Path, position: int, row: Row) -> None:
    with open_atomically(folder / f"row-{position:05}.npz") as file:
        np.savez(file, **row._asdict())


def _read_rows(folder: Path, job: Job) -> dict[int, Row]:
    rows = {}
    for path in sorted(folder.glob("row-*.npz")):
        try:
            with path.open("rb") as stream, np.load(stream, allow_pickle=False) as file:
                row = Row(file["values"], float(file["cpu_seconds"]))
        except Exception as error:  # NumPy's reader raises whatever it meets: OSError, KeyError, BadZipFile, ...
            raise InputError(f"{path} cannot be read ({error}); delete it to compute it again.") from error
        if row.values.shape != (len(job.losses), len(job.beta)):
            raise InputError(f"{path} does not belong to this grid; delete {path.parent} to begin again.")
        rows[int(path.stem.removeprefix("row-"))] = row
    return rows
