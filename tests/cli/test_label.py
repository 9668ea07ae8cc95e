"""`likewise label` as people type it: what it refuses, and a server that answers for every kind of item."""

from __future__ import annotations

import io
import os
import re
import signal
import socket
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from PIL import Image

from likewise.cli import label as command
from likewise.pairs.store import Event, create_store

Run = Callable[..., Any]


@contextmanager
def labelling(tmp_path: Path, *arguments: object) -> Iterator[tuple[httpx.Client, str]]:
    """A server in a process of its own, with a browser that has opened its address, and what it printed."""
    words = [sys.executable, "-m", "likewise", "label", *map(str, arguments), "--no-browser"]
    environment = {**os.environ, "LIKEWISE_CACHE": str(tmp_path / "cache")}
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        try:
            printed = ""
            while "Ctrl-C" not in printed:
                line = process.stdout.readline()
                assert line, process.stderr.read()
                printed += line
            address = re.findall(r"http\S+", printed)[0]
            with httpx.Client(base_url=address.partition("?")[0], timeout=60) as client:
                client.get(address)
                yield client, printed
            process.send_signal(signal.SIGINT)
            assert process.wait() in (0, 130, -signal.SIGINT)
        finally:
            process.kill()
            process.stdout.close()
            process.stderr.close()


def test_answers_about_a_table_are_kept_across_two_starts(blobs: Path, tmp_path: Path) -> None:
    store = tmp_path / "answers.db"
    with create_store(store) as opened:
        opened.append([Event(str(uuid.uuid4()), "bob", "b00", "vanished", "same")])  # of an item that is no more
    with labelling(tmp_path, blobs / "blobs.csv", "--store", store, "--annotator", "ann") as (client, printed):
        assert f"are kept in {store}" in printed
        assert client.get("/api/session").json() | {"version": ""} == {
            "annotator": "ann",
            "items": 60,
            "form": "row",
            "modes": ["pair", "grid", "strip"],
            "store": str(store),
            "version": "",
        }
        assert client.get("/").status_code == 200
        question = client.get("/api/question").json()["question"]
        assert {*question["left"]["fields"]} == {"width", "height"}
        answer = {"id": str(uuid.uuid4()), "question": question["id"], "answer": 1}
        answer |= {side: question[side]["id"] for side in ("left", "right")}
        said = client.post("/api/answers", json={"answers": [answer]})
        assert (said.status_code, said.json()["progress"]["answers"]) == (200, 1)
        cookies = client.cookies
    run_folder = ("--from", blobs / "run", "--overlap", "0.5")
    with labelling(tmp_path, blobs / "blobs.csv", "--store", store, "--annotator", "ann", *run_folder) as (client, _):
        client.cookies = cookies  # of before
        assert [each["id"] for each in client.get("/api/history").json()["answers"]] == [answer["id"]]
    with create_store(store) as opened:
        assert next(event.right for event in opened.events()) == "vanished"
        assert len(opened.events()) == 2


def shown(items: Path, **further: Any) -> tuple[Any, Any, Any]:
    """What the page shows of items, their names, and what the chooser sees."""
    options = {"encoder": "none", "text": None, "size": 8, "grey": False, "strict": False}
    return command.read_items(items, None, **{**options, **further})


def test_every_kind_of_item_can_be_shown(photos: Path, blobs: Path, tmp_path: Path) -> None:
    items, names, X = shown(photos / "photos")
    assert (items.form, len(names), X.shape) == ("image", 39, (39, 192))
    assert items.picture(3, 64)[1] == "image/png"
    assert X.max() <= 1
    items, names, X = shown(blobs / "blobs.csv")
    assert (items.form, names[0], X.shape) == ("row", "b00", (60, 2))
    items, names, X = shown(blobs / "blobs.npy")
    assert (items.form, names[59], items.fields(0).keys()) == ("row", "59", {"column 0", "column 1"})
    np.save(tmp_path / "images.npy", np.random.default_rng(0).integers(0, 256, (4, 5, 6, 3), dtype=np.uint8))
    items, names, X = shown(tmp_path / "images.npy")
    assert (items.form, X.shape) == ("image", (4, 90))
    with Image.open(io.BytesIO(items.picture(0, 64)[0])) as picture:
        assert picture.size == (6, 5)


def test_a_run_gives_its_features(blobs: Path) -> None:
    _, _, plain = shown(blobs / "blobs.csv")
    items, names, X = command.read_items(
        blobs / "blobs.csv", blobs / "run", encoder="auto", text=None, size=32, grey=False, strict=False
    )
    assert (items.form, len(names), len(X)) == ("row", 60, 60)
    assert X.shape != plain.shape


def test_texts_are_shown_as_texts(tmp_path: Path) -> None:
    rows = ["id,body", *(f"t{n},text number {n} about {'cats' if n % 2 else 'ships at sea'}" for n in range(6))]
    (tmp_path / "texts.csv").write_text("\n".join(rows), encoding="utf-8")
    pytest.importorskip("wordllama", reason="no encoder of texts is installed")
    items, names, X = shown(tmp_path / "texts.csv", encoder="wordllama", text="body")
    assert (items.form, items.text(1), names[1]) == ("text", "text number 1 about cats", "t1")
    assert len(X) == 6


def refused(run: Run, *arguments: object) -> str:
    result = run("label", *arguments, "--no-browser")
    assert result.exit_code == 2, result.output
    assert len(result.stderr.strip().splitlines()) == 1
    return str(result.stderr)


def test_a_port_that_is_in_use_is_refused(blobs: Path, run: Run) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        said = refused(run, blobs / "blobs.csv", "--store", blobs / "a.db", "--port", port)
    assert f"Port {port} is in use" in said
    assert not (blobs / "a.db").exists()


def test_one_item_only_is_refused(tmp_path: Path, run: Run) -> None:
    np.save(tmp_path / "one.npy", np.ones((1, 3)))
    assert "one item only" in refused(run, tmp_path / "one.npy", "--store", tmp_path / "a.db")
    assert not (tmp_path / "a.db").exists()


def test_items_that_are_all_the_same_are_refused(tmp_path: Path, run: Run) -> None:
    np.save(tmp_path / "same.npy", np.ones((9, 3)))
    assert "look the same" in refused(run, tmp_path / "same.npy", "--store", tmp_path / "a.db")


def test_other_machines_need_names(blobs: Path, run: Run) -> None:
    said = refused(run, blobs / "blobs.csv", "--store", blobs / "a.db", "--host", "0.0.0.0")
    assert "give it as --annotators" in said


@pytest.mark.parametrize("host", ["256.0.0.1", "203.0.113.7"])
def test_an_address_of_another_machine_is_refused(blobs: Path, run: Run, host: str) -> None:
    (blobs / "people.txt").write_text("ann\n", encoding="utf-8")
    people = ("--annotators", blobs / "people.txt")
    result = run("label", blobs / "blobs.csv", "--store", blobs / "a.db", "--host", host, *people)
    warned, said = result.stderr.strip().splitlines()
    assert result.exit_code == 2
    assert "not encrypted" in warned
    assert said.startswith("likewise: ")
    assert host in said


def test_a_store_that_is_not_ours_is_refused(blobs: Path, run: Run) -> None:
    (blobs / "a.db").write_bytes(b"something else")
    assert "is not a store of answers" in refused(run, blobs / "blobs.csv", "--store", blobs / "a.db")
    assert (blobs / "a.db").read_bytes() == b"something else"


def test_nobody_named_is_refused(blobs: Path, run: Run) -> None:
    (blobs / "people.txt").write_text("\n", encoding="utf-8")
    said = refused(run, blobs / "blobs.csv", "--store", blobs / "a.db", "--annotators", blobs / "people.txt")
    assert "names nobody" in said


def test_items_that_are_not_there_are_refused(blobs: Path, run: Run) -> None:
    assert "does not exist" in refused(run, blobs / "nowhere", "--store", blobs / "a.db")
