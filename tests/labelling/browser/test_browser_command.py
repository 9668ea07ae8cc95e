"""`likewise label` itself, killed while somebody answers and started again."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

Run = Callable[[int], tuple[subprocess.Popen[str], str]]


@pytest.fixture
def command(tmp_path: Path, digits: Any) -> Iterator[Run]:
    """Starts the command at a port; the process, and the address that it prints."""
    started: list[subprocess.Popen[str]] = []
    np.savez(tmp_path / "digits.npz", x=digits[0])

    def start(port: int) -> tuple[subprocess.Popen[str], str]:
        options = ["digits.npz", "--store", "answers.db", "--no-browser", "--port", str(port), "--annotator", "ann"]
        process = subprocess.Popen(
            [sys.executable, "-m", "likewise", "label", *options], cwd=tmp_path, stdout=subprocess.PIPE, text=True
        )
        started.append(process)
        assert process.stdout is not None
        return process, next(word for line in process.stdout for word in line.split() if "?token=" in word)

    yield start
    for process in started:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


def test_the_command_is_killed_in_the_middle(command: Run, context: Callable[..., Any], tmp_path: Path) -> None:
    from likewise.pairs.store import create_store

    process, address = command(0)
    page = context().new_page()
    page.goto(address)
    page.wait_for_selector("#stage[data-question]")

    def answer(key: str) -> None:
        before = page.get_attribute("#stage", "data-question")
        page.keyboard.press(key)
        page.wait_for_function("before => document.querySelector('#stage').dataset.question !== before", arg=before)

    def counted(number: str) -> None:
        page.wait_for_function(
            "n => document.querySelector('#answered')?.textContent === n", arg=number, timeout=120_000
        )

    for key in ("ArrowRight", "ArrowLeft", "ArrowLeft"):
        answer(key)
    counted("3")
    process.kill()
    process.wait()
    answer("ArrowRight")
    page.wait_for_selector("#trouble:not([hidden])")
    assert page.text_content("#answered") == "3"
    command(int(address.split(":")[2].split("/")[0]))
    counted("4")
    answer("ArrowLeft")
    counted("5")
    with create_store(str(tmp_path / "answers.db")) as store:
        events = list(store.events())
    assert [event.answer for event in events] == ["same", "different", "different", "same", "different"]
