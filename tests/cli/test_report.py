"""`likewise report`, as typed: the page of a run, and what it refuses."""

from __future__ import annotations

import html
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]


def text_of(page: Path) -> str:
    """What a reader reads."""
    content = re.sub(r"<style>.*?</style>", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", content)).split())


def test_the_page_of_a_table(blobs: Path, run: Run) -> None:
    result = run("report", blobs / "run")
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines() == [
        f"Wrote {blobs / 'run' / 'report.html'}; open it in a browser.",
        "The classifier says the opposite of 0 of 240 answers.",
        "No answer looks wrong.",
    ]
    text = text_of(blobs / "run" / "report.html")
    assert "3 classes, learned from 240 answers" in text
    assert "A network with 4 outputs was given 60 items and 240 answers" in text
    assert "24 of the answers were held out" in text
    assert "They decided nothing else." in text  # vectors that are all in groups have no second stage
    assert "24 of 24 held-out answers" in text
    assert "1 of 4 Unused outputs" in text
    metrics = json.loads((blobs / "run" / "metrics.json").read_text())
    for name in metrics["class_sizes"]:
        assert f"class {name}" in text


def test_an_answer_to_check_again_is_named_by_its_line(blobs: Path, run: Run, fit_blobs: Run) -> None:
    lines = (blobs / "answers.csv").read_text().splitlines()
    wrong = next(line for line in lines if line.endswith(",1"))
    number = lines.index(wrong) + 1
    with (blobs / "answers.csv").open("w") as file:
        file.write("\n".join(wrong.removesuffix("1") + "0" if line == wrong else line for line in lines) + "\n")
    assert fit_blobs(blobs, blobs / "new", "--noise", "0.05", "--no-unlabelled", "--held-out", "0").exit_code == 0
    result = run("report", blobs / "new", "--out", blobs / "page.html")
    assert "The classifier says the opposite of 1 of 240 answers." in result.stdout, result.output
    text = text_of(blobs / "page.html")
    left, right, _ = wrong.split(",")
    assert f"Line {number} Left {left} Right {right} Answered different" in text
    assert "No answers were held out" in text
    assert "optimistic" not in text
    assert "5.0 % Rate of wrong answers" in text


def test_the_page_of_pictures_with_their_names(photos: Path, run: Run) -> None:
    shutil.move(photos / "photos", photos / "moved")
    record = json.loads((photos / "run" / "fit.json").read_text()) | {"items": str(photos / "photos")}
    (photos / "run" / "fit.json").write_text(json.dumps(record))
    lost = run("report", photos / "run")
    assert (lost.exit_code, len(lost.stderr.splitlines())) == (2, 1)
    assert "is no longer there; give --items its new place." in lost.stderr
    items = ("--items", photos / "moved")
    assert run("name", photos / "run", "--labels", photos / "few.csv", *items).exit_code == 0
    result = run("report", photos / "run", *items)
    assert result.exit_code == 0, result.output
    assert [line.split(" (")[0] for line in result.stderr.splitlines()] == [
        "likewise: warning: 1 image cannot be read and is left out:",
        f"  {photos / 'moved' / 'p00.png'}",
    ]
    page = (photos / "run" / "report.html").read_text(encoding="utf-8")
    assert page.count("data:image/png;base64,") == 3 * (7 + 6)  # 13 pictures in each class
    text = text_of(photos / "run" / "report.html")
    for name in ("ant", "bee", "cat"):
        assert f"{name} 13 items" in text
    assert "Their names are those of a few labelled items" in text
    assert "They decided nothing else." in text


@pytest.mark.parametrize("form", ["table", "folder"])
def test_texts_are_shown_as_texts(tmp_path: Path, run: Run, form: str) -> None:
    kinds = ("the red <apple> number", "a train to platform")
    texts = {f"t{row:02}.txt": f"{kinds[row % 2]} {row}" for row in range(40)}
    (tmp_path / "texts").mkdir()
    for name, text in texts.items():
        (tmp_path / "texts" / name).write_text(text)
    rows = [("id", "text"), *texts.items()]
    (tmp_path / "texts.csv").write_text("\n".join(",".join(row) for row in rows) + "\n")
    answers = [(f"t{i:02}.txt", f"t{(i + step) % 40:02}.txt", (step + 1) % 2) for i in range(40) for step in (1, 2)]
    answers[0] = (*answers[0][:2], 1)  # it is wrong
    lines = ["left,right,same", *(",".join(map(str, answer)) for answer in answers)]
    (tmp_path / "answers.csv").write_text("\n".join(lines) + "\n")
    items = ("texts.csv", "--text", "text") if form == "table" else ("texts",)
    learned = ("--encoder", "wordllama", "--classes", 2, "--epochs", 2, "--out", tmp_path / "run")
    result = run("fit", tmp_path / items[0], *items[1:], "--pairs", tmp_path / "answers.csv", *learned)
    assert result.exit_code == 0, result.output
    assert run("report", tmp_path / "run").exit_code == 0
    page = (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    assert page.count("<q class=") == 2 * 2 * 5 + 2  # five of each kind in two classes, and both of the wrong answer
    assert "t00.txt<q" in "".join(page.split("\n"))
    assert "the red &lt;apple&gt; number 0</q>" in page
    assert "<img" not in page


def test_items_that_changed(blobs: Path, run: Run) -> None:
    table = (blobs / "blobs.csv").read_text()
    (blobs / "more.csv").write_text(table + "new,0,9\n")
    more = run("report", blobs / "run", "--items", blobs / "more.csv")
    assert more.exit_code == 0
    said = f"The items in {blobs / 'more.csv'} are not all as they were when the run was fitted."
    assert more.stderr == f"likewise: warning: {said}\n"
    (blobs / "fewer.csv").write_text("".join(table.splitlines(keepends=True)[:30]))
    fewer = run("report", blobs / "run", "--items", blobs / "fewer.csv")
    assert fewer.exit_code == 2
    assert "which is not among the 29 items" in fewer.stderr


@pytest.mark.parametrize(
    ("file", "message"),
    [
        ("fit.json", "was not written by `likewise fit`: fit.json is missing; give the folder of a fit."),
        ("metrics.json", "is not finished, metrics.json is missing; run its `likewise fit` again to resume."),
        ("answers.parquet", "is not finished, answers.parquet is missing"),
    ],
)
def test_a_folder_that_is_no_finished_run(blobs: Path, run: Run, file: str, message: str) -> None:
    (blobs / "run" / file).unlink()
    result = run("report", blobs / "run")
    assert (result.exit_code, len(result.stderr.splitlines())) == (2, 1)
    assert message in result.stderr
    assert not (blobs / "run" / "report.html").exists()


def test_files_that_were_changed_and_places_that_cannot_be_written(blobs: Path, run: Run) -> None:
    for out, message in (
        ("page.txt", "must end in .html or .htm; give --out such a name."),
        ("few.csv/page.html", "few.csv is a file; give --out another place."),
    ):
        result = run("report", blobs / "run", "--out", blobs / out)
        assert (result.exit_code, result.stdout) == (2, "")
        assert message in result.stderr
    (blobs / "run" / "answers.parquet").write_bytes(b"PAR1 no more")
    result = run("report", blobs / "run")
    assert (result.exit_code, len(result.stderr.splitlines())) == (2, 1)
    assert "answers.parquet cannot be read as Parquet" in result.stderr
    assert "was not written" in run("report", blobs).stderr
