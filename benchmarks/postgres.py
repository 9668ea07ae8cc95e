"""A PostgreSQL server of our own for a while, on this machine alone: for the tests and `benchmarks/label_faults.py`."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

DEBIAN = Path("/usr/lib/postgresql")
ACCOUNTS = ("postgres", "nobody")  # PostgreSQL refuses to run as root; the first of these that exists runs it


def binaries() -> Path | None:
    """The folder of initdb and pg_ctl, if PostgreSQL is installed."""
    found = shutil.which("initdb")
    if found is not None:
        return Path(found).resolve().parent
    installed = sorted(DEBIAN.glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    return installed[-1].parent if installed else None


def account() -> str | None:
    """Who runs the server where we are root; None is ourselves."""
    if os.getuid() != 0:
        return None
    for name in ACCOUNTS:
        try:
            return pwd.getpwnam(name).pw_name
        except KeyError:
            continue
    raise RuntimeError(f"There is none of the accounts {', '.join(ACCOUNTS)} to run PostgreSQL as.")


@contextmanager
def running_postgres(*, durable: bool = True) -> Iterator[str]:
    """The URL of an empty database; its server and files are gone in the end."""
    programs = binaries()
    if programs is None:
        raise RuntimeError("PostgreSQL is not installed; on Debian: apt-get install postgresql.")
    folder, who = Path(tempfile.mkdtemp(prefix="likewise-postgres-")), account()
    try:
        if who is not None:
            shutil.chown(folder, who)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]

        def run(*command: str) -> None:
            environment = {**os.environ, "LC_ALL": "C.UTF-8", "HOME": str(folder)}
            with (folder / "log").open("ab") as log:
                subprocess.run(
                    [str(programs / command[0]), *command[1:]],
                    user=who,
                    cwd=folder,
                    env=environment,
                    stdout=log,
                    stderr=log,
                    check=True,
                )

        data = str(folder / "data")
        run("initdb", "-D", data, "-A", "trust", "-U", "team", "--no-sync", "--no-instructions")
        durably = "" if durable else " -c fsync=off"
        settings = f"-p {port} -k {folder} -c listen_addresses=127.0.0.1 -c max_connections=40{durably}"
        run("pg_ctl", "-D", data, "-w", "-l", str(folder / "server.log"), "-o", settings, "start")
        try:
            yield f"postgresql+psycopg://team@127.0.0.1:{port}/postgres"
        finally:
            run("pg_ctl", "-D", data, "-w", "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
