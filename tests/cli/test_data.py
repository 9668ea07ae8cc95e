"""`likewise data get` and `likewise data list`, as typed."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from typer.testing import CliRunner

from likewise.cli.data import app
from likewise.datasets.download import HOMES, Home

CONTENT = b"official bytes"


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass


def test_get_downloads_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.setitem(HOMES, "mnist", Home("http://home.invalid", {"file.gz": hashlib.md5(CONTENT).hexdigest()}))
    (tmp_path / "mirror").mkdir()
    (tmp_path / "mirror" / "file.gz").write_bytes(CONTENT)
    data = tmp_path / "data"
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(tmp_path / "mirror"))) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        mirror = f"http://127.0.0.1:{server.server_address[1]}"
        result = CliRunner().invoke(app, ["get", "mnist", "--data", str(data), "--mirror", mirror])
        server.shutdown()
        thread.join()
    assert result.exit_code == 0, result.output
    assert f"{data}/mnist/file.gz is downloaded and correct." in result.output
    assert (data / "mnist" / "file.gz").read_bytes() == CONTENT

    monkeypatch.setenv("LIKEWISE_DATA", str(data))
    result = CliRunner().invoke(app, ["get", "mnist"])  # there is no server any more
    assert result.exit_code == 0
    assert result.output == f"{data}/mnist/file.gz is already there and correct.\n"


def test_an_unknown_set_is_refused(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["get", "imagenet", "--data", str(tmp_path)])
    assert result.exit_code == 2
    assert "omniglot" in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_list_says_what_is_where(tmp_path: Path) -> None:
    (tmp_path / "cifar10" / "cifar-10-batches-bin").mkdir(parents=True)
    (tmp_path / "images_background.zip").touch()
    result = CliRunner().invoke(app, ["list", "--data", str(tmp_path)])
    assert result.output.splitlines() == [
        "digits        embedded in scikit-learn",
        f"mnist         not found; run `likewise data get mnist --data {tmp_path}`",
        f"fashion-mnist not found; run `likewise data get fashion-mnist --data {tmp_path}`",
        f"cifar10       {tmp_path}/cifar10",
        f"cifar100      not found; run `likewise data get cifar100 --data {tmp_path}`",
        f"omniglot      incomplete, without images_evaluation.zip; run `likewise data get omniglot --data {tmp_path}`",
    ]


def test_module_does_not_wait_for_torch() -> None:
    code = "import sys, likewise.cli.data; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
