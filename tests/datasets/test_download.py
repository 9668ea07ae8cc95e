"""Downloads from a real HTTP server on this machine that misbehaves in every way a server can."""

from __future__ import annotations

import hashlib
import io
import re
import socket
import struct
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from rich.console import Console

from likewise.datasets import download
from likewise.datasets.download import HOMES, Home
from likewise.errors import InputError

CONTENT = bytes(range(256)) * 4000  # about a megabyte, so that several chunks are read
HALF = len(CONTENT) // 2
MD5 = hashlib.md5(CONTENT).hexdigest()


@dataclass
class Server:
    """What the server does, and what it was asked."""

    url: str = ""
    content: bytes = CONTENT
    cuts: list[int] = field(default_factory=list)  # one number a request: bytes sent before the connection is cut
    statuses: list[int] = field(default_factory=list)  # one an answer, before the first answer with content
    resets: bool = False  # cut with a reset instead of an orderly end
    ignores_range: bool = False
    shifts_range: int = 0  # answers another range than the one asked for
    says_length: bool = True
    ranges: list[str | None] = field(default_factory=list)  # the Range header of every request

    def start_of(self, asked: str | None) -> int:
        return int(asked.removeprefix("bytes=").removesuffix("-")) if asked and not self.ignores_range else 0


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("no_proxy", "*")
    behaviour = Server()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked = self.headers.get("Range")
            behaviour.ranges.append(asked)
            start = behaviour.start_of(asked)
            if behaviour.statuses:
                self.send_error(behaviour.statuses.pop(0))
                return
            if start and start >= len(behaviour.content):
                self.send_error(416)
                return
            self.send_response(206 if start else 200)
            if start:
                start += behaviour.shifts_range
                size = len(behaviour.content)
                self.send_header("Content-Range", f"bytes {start}-{size - 1}/{size}")
            body = behaviour.content[start:]
            if behaviour.says_length:
                self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            cut = behaviour.cuts.pop(0) if behaviour.cuts else len(body)
            self.wfile.write(body[:cut])
            if behaviour.resets and cut < len(body):
                self.wfile.flush()
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                self.connection.close()

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        behaviour.url = f"http://127.0.0.1:{http.server_address[1]}"
        thread = Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield behaviour
        http.shutdown()
        thread.join()


@pytest.fixture(autouse=True)
def one_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(HOMES, "mnist", Home("http://home.invalid", {"file.gz": MD5}))


def get(server: Server, data: Path, attempts: int = 4, base_url: str | None = None) -> str:
    """Download, and return what was said."""
    said = io.StringIO()
    console = Console(file=said, width=200)
    paths = download.get("mnist", data, base_url=base_url or server.url, attempts=attempts, delay=0, console=console)
    assert paths == [data / "mnist" / "file.gz"]
    return said.getvalue()


def files(data: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in data.rglob("*") if path.is_file()}


def test_whole_file_with_progress_in_plain_lines(server: Server, tmp_path: Path) -> None:
    said = get(server, tmp_path, base_url=f"{server.url}/")
    assert files(tmp_path) == {"file.gz": CONTENT}
    assert server.ranges == [None]
    lines = said.splitlines()
    assert 2 <= len(lines) <= 12
    assert lines[-2:] == ["file.gz: 1.0 of 1.0 MB", f"{tmp_path}/mnist/file.gz is downloaded and correct."]


def test_bar_on_a_terminal(server: Server, tmp_path: Path) -> None:
    said = io.StringIO()
    console = Console(file=said, width=120, force_terminal=True)
    download.get("mnist", tmp_path, base_url=server.url, delay=0, console=console)
    assert "━" in said.getvalue()
    assert "1.0/1.0 MB" in said.getvalue()


def test_already_there_and_correct_asks_nothing(server: Server, tmp_path: Path) -> None:
    get(server, tmp_path)
    before = (tmp_path / "mnist" / "file.gz").stat().st_mtime_ns
    server.ranges.clear()
    assert get(server, tmp_path) == f"{tmp_path}/mnist/file.gz is already there and correct.\n"
    assert server.ranges == []
    assert (tmp_path / "mnist" / "file.gz").stat().st_mtime_ns == before


def test_another_file_under_the_name_is_never_overwritten(server: Server, tmp_path: Path) -> None:
    (tmp_path / "mnist").mkdir()
    (tmp_path / "mnist" / "file.gz").write_text("mine")
    with pytest.raises(InputError, match=r"file\.gz is not the official file .*; move it away and try again"):
        get(server, tmp_path)
    assert files(tmp_path) == {"file.gz": b"mine"}
    assert server.ranges == []


@pytest.mark.parametrize("resets", [False, True])
def test_cut_connections_go_on_where_they_stopped(server: Server, tmp_path: Path, resets: bool) -> None:
    server.cuts = [HALF, 1000]
    server.resets = resets
    get(server, tmp_path)
    assert files(tmp_path) == {"file.gz": CONTENT}
    assert len(server.ranges) == 3
    assert server.ranges[0] is None
    if not resets:  # a reset may take with it what the client had not read yet
        assert server.ranges[1:] == [f"bytes={HALF}-", f"bytes={HALF + 1000}-"]


def test_attempts_are_bounded_and_the_next_run_goes_on(server: Server, tmp_path: Path) -> None:
    server.cuts = [1000] * 100
    with pytest.raises(InputError, match=rf"^{server.url}/file\.gz could not be downloaded in 3 attempts .*cut after"):
        get(server, tmp_path, attempts=3)
    assert len(server.ranges) == 3
    assert files(tmp_path) == {"file.gz.part": CONTENT[:3000]}
    server.cuts = []
    get(server, tmp_path)
    assert server.ranges[3:] == ["bytes=3000-"]
    assert files(tmp_path) == {"file.gz": CONTENT}


def test_server_that_ignores_range_starts_anew(server: Server, tmp_path: Path) -> None:
    server.cuts = [HALF]
    server.ignores_range = True
    get(server, tmp_path)
    assert server.ranges == [None, f"bytes={HALF}-"]
    assert files(tmp_path) == {"file.gz": CONTENT}


def test_server_that_sends_another_range_is_not_believed(server: Server, tmp_path: Path) -> None:
    server.cuts = [HALF]
    server.shifts_range = 10
    get(server, tmp_path)
    assert server.ranges == [None, f"bytes={HALF}-", None]
    assert files(tmp_path) == {"file.gz": CONTENT}


def test_server_that_tells_no_length(server: Server, tmp_path: Path) -> None:
    server.says_length = False
    get(server, tmp_path)
    assert files(tmp_path) == {"file.gz": CONTENT}


def test_part_that_was_complete_is_taken(server: Server, tmp_path: Path) -> None:
    (tmp_path / "mnist").mkdir()
    (tmp_path / "mnist" / "file.gz.part").write_bytes(CONTENT)
    get(server, tmp_path)
    assert server.ranges == [f"bytes={len(CONTENT)}-"]
    assert files(tmp_path) == {"file.gz": CONTENT}


@pytest.mark.parametrize("says_length", [True, False])
def test_corrupt_bytes_are_deleted_and_reported(server: Server, tmp_path: Path, says_length: bool) -> None:
    server.content = CONTENT[:HALF] + b"!" + CONTENT[HALF + 1 :]
    server.says_length = says_length
    arrived = hashlib.md5(server.content).hexdigest()
    with pytest.raises(InputError, match=rf"arrived with md5 {arrived} instead of {MD5} and was deleted; run the"):
        get(server, tmp_path)
    assert files(tmp_path) == {}
    assert len(server.ranges) == 1


def test_stale_part_of_another_file_is_found_by_the_checksum(server: Server, tmp_path: Path) -> None:
    (tmp_path / "mnist").mkdir()
    (tmp_path / "mnist" / "file.gz.part").write_bytes(b"x" * 1000)
    with pytest.raises(InputError, match="and was deleted"):
        get(server, tmp_path)
    get(server, tmp_path)
    assert files(tmp_path) == {"file.gz": CONTENT}


@pytest.mark.parametrize("status", [404, 403])
def test_refusal_is_final(server: Server, tmp_path: Path, status: int) -> None:
    server.statuses = [status] * 10
    with pytest.raises(InputError, match=rf"/file\.gz cannot be downloaded, the server answers {status} .*put it at"):
        get(server, tmp_path)
    assert len(server.ranges) == 1
    assert files(tmp_path) == {}


def test_trouble_of_the_server_is_waited_for(server: Server, tmp_path: Path) -> None:
    server.statuses = [503, 429]
    get(server, tmp_path)
    assert server.ranges == [None, None, None]
    server.statuses = [500] * 10
    (tmp_path / "mnist" / "file.gz").unlink()
    with pytest.raises(InputError, match=r"in 4 attempts \(the server answers 500 Internal Server Error\)"):
        get(server, tmp_path)


def test_nobody_listens(server: Server, tmp_path: Path) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))  # bound but not listening: every connection is refused
        with pytest.raises(InputError, match=r"in 2 attempts \(.*refused.*\); run the command again"):
            get(server, tmp_path, attempts=2, base_url=f"http://127.0.0.1:{closed.getsockname()[1]}")


def test_waits_double(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []
    monkeypatch.setattr(time, "sleep", waits.append)
    server.statuses = [503, 503, 503]
    download.get("mnist", tmp_path, base_url=server.url, delay=2.0, console=Console(file=io.StringIO()))
    assert waits == [2.0, 4.0, 8.0]


def test_folder_that_cannot_be_written(server: Server, tmp_path: Path) -> None:
    (tmp_path / "mnist").write_text("a file where the folder should be")
    with pytest.raises(InputError, match=r"cannot be written .*; choose another folder with --data"):
        get(server, tmp_path)


def test_names_and_mirrors_that_cannot_be(server: Server, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="scikit-learn; what can be downloaded is mnist, fashion-mnist, cifar10"):
        download.get("digits", tmp_path)
    with pytest.raises(InputError, match="no data set called 'imagenet'"):
        download.get("imagenet", tmp_path)
    with pytest.raises(InputError, match="begins with http:// or https://, got 'file:///etc'"):
        get(server, tmp_path, base_url="file:///etc")


def test_every_set_has_a_home_with_checksums() -> None:
    for home in HOMES.values():
        assert home.url.startswith("http")
        assert all(re.fullmatch("[0-9a-f]{32}", md5) for md5 in home.md5.values())
