"""`likewise data`: which sets are there, and a set's files from its official home, resumed and checked.

Bytes go to `FILE.part`; a cut connection resumes where it stopped; `FILE` itself appears only once the checksum fits.
"""

from __future__ import annotations

import hashlib
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPException, HTTPResponse
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

from likewise.datasets.cifar import CIFAR10, CIFAR100
from likewise.datasets.idx import MNIST_FILES
from likewise.datasets.source_files import data_folder, find
from likewise.errors import InputError

# How far a download has come: a bar on a terminal, a line every tenth of the way elsewhere.

# Told how many bytes are there, and of how many (None where the server does not say).
Report = Callable[[int, int | None], None]


@contextmanager
def download_progress(name: str, console: Console) -> Iterator[Report]:
    """A context whose value is called with the bytes so far and the bytes in all."""
    if not console.is_terminal:
        yield _plain_lines(name, console)
        return
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Progress(*columns, TimeRemainingColumn(), console=console) as bar:
        task = bar.add_task(name, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def _plain_lines(name: str, console: Console) -> Report:
    shown = 0

    def report(done: int, total: int | None) -> None:
        nonlocal shown
        tenth = 10 * done // total if total else 0
        if tenth != shown:  # smaller than what was said when a download starts again
            shown = tenth
            if total:
                console.print(f"{name}: {done / 1e6:.1f} of {total / 1e6:.1f} MB", soft_wrap=True, highlight=False)

    return report


@dataclass(frozen=True)
class Home:
    url: str  # the folder that holds the files
    md5: dict[str, str]  # file name: checksum of the official file


HOMES = {
    # MNIST's own site (yann.lecun.com) refuses downloads today; this mirror is the one that torchvision tries first.
    "mnist": Home(
        "https://ossci-datasets.s3.amazonaws.com/mnist",
        {
            "train-images-idx3-ubyte.gz": "f68b3c2dcbeaaa9fbdd348bbdeb94873",
            "train-labels-idx1-ubyte.gz": "d53e105ee54ea40749a09fcbcd1e9432",
            "t10k-images-idx3-ubyte.gz": "9fb629c4189551a2d022fa330f9573f3",
            "t10k-labels-idx1-ubyte.gz": "ec29112dd5afa0611ce80d1b7f02629c",
        },
    ),
    "fashion-mnist": Home(
        "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com",
        {
            "train-images-idx3-ubyte.gz": "8d4fb7e6c68d591d4c3dfef9ec88bf0d",
            "train-labels-idx1-ubyte.gz": "25c81989df183df01b3e8a0aad5dffbe",
            "t10k-images-idx3-ubyte.gz": "bef4ecab320f06d8554ea6380940ec79",
            "t10k-labels-idx1-ubyte.gz": "bb300cfdad3c16e7a12a480ee83cd310",
        },
    ),
    "cifar10": Home("https://www.cs.toronto.edu/~kriz", {"cifar-10-binary.tar.gz": "c32a1d4ab5d03f1284b67883e8d87530"}),
    "cifar100": Home(
        "https://www.cs.toronto.edu/~kriz", {"cifar-100-binary.tar.gz": "03b5dce01913d631647c71ecec9e9cb8"}
    ),
    "omniglot": Home(
        "https://raw.githubusercontent.com/brendenlake/omniglot/master/python",
        {
            "images_background.zip": "68d2efa1b9178cc56df9314c21c6e718",
            "images_evaluation.zip": "6b91aef0f799c5bb55b94e3f2daec811",
        },
    ),
}

CHUNK = 1 << 18
TRY_AGAIN = (408, 429)  # and every 5xx: the server's trouble, not the address's


class _Interrupted(Exception):
    """The connection failed in a way that another attempt may not."""


def get(
    name: str,
    data: Path | str | None = None,
    *,
    base_url: str | None = None,
    attempts: int = 5,
    delay: float = 1.0,
    console: Console | None = None,
) -> list[Path]:
    """Download the files of a set into `NAME/` in the data folder; files that are there and right are left alone.

    `base_url` replaces the set's home by a mirror that holds the same files. After a cut connection a file is
    tried again, `attempts` times in all, after `delay` seconds, then twice that, and so on.
    """
    if name not in HOMES:
        what = "digits are part of scikit-learn" if name == "digits" else f"There is no data set called {name!r}"
        raise InputError(f"{what}; what can be downloaded is {', '.join(HOMES)}.")
    console = console or Console()
    home = HOMES[name]
    url = (base_url or home.url).rstrip("/")
    if not url.startswith(("http://", "https://")):
        raise InputError(f"A mirror is an address that begins with http:// or https://, got {url!r}.")
    folder = data_folder(data) / name
    paths = []
    for file, md5 in home.md5.items():
        target = folder / file
        if target.exists():
            if _md5(target) != md5:
                raise InputError(
                    f"{target} is not the official file (its md5 is not {md5}); move it away and try again."
                )
            _say(console, f"{target} is already there and correct.")
        else:
            try:
                folder.mkdir(parents=True, exist_ok=True)
                with download_progress(file, console) as report:
                    fetch(f"{url}/{file}", target, md5, attempts=attempts, delay=delay, report=report)
            except OSError as error:  # the disk's: those of the network never come this far
                raise InputError(f"{target} cannot be written ({error}); choose another folder with --data.") from error
            _say(console, f"{target} is downloaded and correct.")
        paths.append(target)
    return paths


def fetch(url: str, target: Path, md5: str, *, attempts: int, delay: float, report: Report) -> None:
    """One file; on failure `target` does not exist, and what has arrived stays in `.part` for the next time."""
    part = target.with_name(f"{target.name}.part")
    failures = 0
    while True:
        try:
            _receive(url, part, report)
            break
        except _Interrupted as error:
            failures += 1
            if failures >= attempts:
                raise InputError(
                    f"{url} could not be downloaded in {attempts} attempts ({error}); run the command again to resume "
                    "where it stopped."
                ) from error
            time.sleep(delay * 2 ** (failures - 1))
    digest = _md5(part)
    if digest != md5:
        part.unlink()
        raise InputError(f"{url} arrived with md5 {digest} instead of {md5} and was deleted; run the command again.")
    part.replace(target)


def _receive(url: str, part: Path, report: Report) -> None:
    """Go on with the part until the end of the file, or raise _Interrupted."""
    have = part.stat().st_size if part.exists() else 0
    request = urllib.request.Request(url, headers={"User-Agent": "likewise"})
    if have:
        request.add_header("Range", f"bytes={have}-")
    try:
        response: HTTPResponse = urllib.request.urlopen(request, timeout=30)
    except urllib.error.HTTPError as error:
        with error:
            if error.code == 416:
                return  # nothing lies beyond what we have; the checksum tells whether it is the file
            if error.code in TRY_AGAIN or error.code >= 500:
                raise _Interrupted(f"the server answers {error.code} {error.reason}") from error
            raise InputError(
                f"{url} cannot be downloaded, the server answers {error.code} {error.reason}; get the file elsewhere "
                f"and put it at {part.with_suffix('')}."
            ) from error
    except (OSError, HTTPException) as error:
        raise _Interrupted(str(error)) from error
    with response:
        goes_on = response.status == 206 and response.headers.get("Content-Range", "").startswith(f"bytes {have}-")
        if response.status == 206 and not goes_on:
            part.unlink(missing_ok=True)
            raise _Interrupted("the server sent another part of the file than the one asked for")
        if not goes_on:  # the server ignores Range and sends everything, so start again
            have = 0
        length = response.headers.get("Content-Length")
        total = have + int(length) if length else None
        with part.open("ab" if goes_on else "wb") as file:
            for chunk in _chunks(response):
                file.write(chunk)
                have += len(chunk)
                report(have, total)
    if total is not None and have < total:
        raise _Interrupted(f"the connection was cut after {have} of {total} bytes")


def _chunks(response: HTTPResponse) -> Iterator[bytes]:
    while True:
        try:
            chunk = response.read1(CHUNK)  # unlike read, loses nothing when the connection is cut
        except (OSError, HTTPException) as error:
            raise _Interrupted(str(error)) from error
        if not chunk:
            return
        yield chunk


def _md5(path: Path) -> str:
    with path.open("rb") as file:
        # md5 is what the homes publish; it guards against damage, not against an attacker.
        return hashlib.file_digest(file, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()


def _say(console: Console, line: str) -> None:
    console.print(line, soft_wrap=True, highlight=False, markup=False)


# Which data sets are there, and where.

# For each set the files that it needs, each with the forms that will do; the first is what `get` downloads.
NEEDED: dict[str, tuple[tuple[str, ...], ...]] = {
    "mnist": tuple((f"{file}.gz", file) for file in MNIST_FILES),
    "fashion-mnist": tuple((f"{file}.gz", file) for file in MNIST_FILES),
    "cifar10": ((CIFAR10.archive, CIFAR10.folder),),
    "cifar100": ((CIFAR100.archive, CIFAR100.folder),),
    "omniglot": tuple((f"images_{part}.zip", f"images_{part}") for part in ("background", "evaluation")),
}


@dataclass(frozen=True)
class Available:
    name: str
    paths: tuple[Path, ...]
    missing: tuple[str, ...]


def survey(data: Path | str | None = None) -> list[Available]:
    """What is there of each set that comes in files; nothing is opened."""
    available = []
    for name, needed in NEEDED.items():
        places = {forms[0]: find(name, forms, data) for forms in needed}
        paths = tuple(place for place in places.values() if place is not None)
        missing = tuple(file for file, place in places.items() if place is None)
        available.append(Available(name, paths, missing))
    return available
