"""The report in one call: the right page for each model, or one sentence that says what is missing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from likewise.errors import InputError
from likewise.estimators import CategoryDiscoverer, PairClassifier, SemiSupervisedClassifier, SimilarityNetwork
from likewise.pairs import Pairs
from likewise.reporting import report

Read = Callable[[str], Any]
EVIL = "<script>\"&'</script>"
X, Y = make_blobs(120, centers=3, random_state=0, cluster_std=0.5)


def answered(wrong: int = 0) -> Pairs:
    """100 answers of two annotators of hostile names, the first few of them wrong."""
    random = np.random.default_rng(1)
    items = np.stack([random.integers(0, 60, 100), random.integers(60, 120, 100)], axis=1)
    same = (Y[items[:, 0]] == Y[items[:, 1]]).astype(np.float32)
    same[:wrong] = 1 - same[:wrong]
    return Pairs.from_arrays(items, same, annotator=np.array([EVIL, "bob"])[np.arange(100) % 2])


@pytest.fixture(scope="module")
def model() -> PairClassifier:
    return PairClassifier(3, epochs=5, held_out=0.2).fit(X, pairs=answered(wrong=4))


def test_answers_with_what_the_model_knows(model: PairClassifier, tmp_path: Path, read: Read) -> None:
    names = [f"{EVIL} {i}" for i in range(120)]
    written = report(model, X, pairs=answered(wrong=4), labels=Y, ids=names, out=tmp_path / "report.html")
    tree = read(written.path.read_text(encoding="utf-8"))
    tree.check_self_contained()
    assert "3 classes, learned from 100 answers" in tree.all("h1")[0].text
    assert f"{len(model.held_out_)} of the answers were held out" in tree.text
    assert written.finding.splitlines()[0] == "The classifier says the opposite of 4 of 100 answers."
    assert "4 are listed in the report." in written.finding
    rates = tree.section("How often answers are wrong").all("tbody")[0].all("tr")
    assert {row.all("th")[0].text for row in rates} == {EVIL, "bob"}
    assert sum(int(row.all("td")[0].text) for row in rates) == 100
    suspects = tree.section("Answers to ask again").all("li")
    assert {entry.all("h3")[0].text for entry in suspects} == {"Row 0", "Row 1", "Row 2", "Row 3"}
    assert {entry.all("dd", "id")[2].text for entry in suspects} == {EVIL, "bob"}
    assert {entry.all("dd")[0].text.rpartition(" ")[0] for entry in suspects} == {EVIL}
    right = model.score(X, Y)
    section = tree.section("Its classes beside the true ones")
    assert f"{round(120 * right)} of 120 labelled items ({100 * right:.1f} %) are in the right class." in section.text


def test_answers_of_a_model_that_was_loaded(model: PairClassifier, tmp_path: Path, read: Read) -> None:
    model.save(tmp_path / "model")
    loaded, pairs = PairClassifier.load(tmp_path / "model"), answered(wrong=4)
    held_out = np.arange(100) < 10
    page = report(loaded, X, pairs=pairs, held_out=held_out, out=tmp_path / "report.html").path
    tree = read(page.read_text(encoding="utf-8"))
    assert "10 of the answers were held out" in tree.text
    assert len(tree.section("Answers to check again").all("li")) == 4  # what all answers say is not saved with it


def test_answers_by_id_follow_the_items(model: PairClassifier, tmp_path: Path, read: Read) -> None:
    pairs = answered(wrong=4)
    names = np.array([f"i{row}" for row in range(120)])
    by_id = Pairs.from_arrays(np.stack([names[pairs.left], names[pairs.right]], axis=1), pairs.same)
    turned = np.arange(120)[::-1]
    model = PairClassifier(3, epochs=5, noise=0.05).fit(X[turned], pairs=by_id, ids=names[turned])
    written = report(model, X[turned], pairs=by_id, ids=names[turned], out=tmp_path / "report.html")
    assert written.finding == "The classifier says the opposite of 4 of 100 answers."


def test_labels(tmp_path: Path, read: Read) -> None:
    y = np.where(np.arange(120) < 30, Y, -1)
    y[0] = (y[0] + 1) % 3
    model = SemiSupervisedClassifier(epochs=5, held_out=0.2).fit(X, y)
    written = report(model, X, labels=y, out=tmp_path / "report.html")
    tree = read(written.path.read_text(encoding="utf-8"))
    assert written.finding == f"The classifier disagrees with {int((model.predict(X) != y)[:30].sum())} of 30 labels."
    assert f"{len(model.held_out_)} further labels were held out" in tree.text
    names = np.array(["", "ant", "bee", EVIL], dtype=object)[y + 1]
    model = SemiSupervisedClassifier("supervised", epochs=5).fit(X, names)
    held_out = np.arange(120) < 6
    tree = read(report(model, X, labels=names, held_out=held_out, out=tmp_path / "b.html").path.read_text("utf-8"))
    tree.check_self_contained()
    assert "6 further labels were held out" in tree.text
    assert [row.all("th")[0].text for row in tree.all("table", "matrix")[0].all("tbody")[0].all("tr")] == [
        EVIL,
        "ant",
        "bee",
    ]


def test_discovered_classes(tmp_path: Path, read: Read) -> None:
    items, classes = make_blobs(600, n_features=8, centers=20, random_state=0)
    pile = classes >= 16
    similarity = SimilarityNetwork(epochs=5).fit(items[~pile], classes[~pile])
    model = CategoryDiscoverer(4, similarity=similarity, epochs=2).fit(items[pile])
    written = report(model, items[pile], labels=classes[pile], out=tmp_path / "report.html")
    tree = read(written.path.read_text(encoding="utf-8"))
    tree.check_self_contained()
    assert written.finding.startswith("The number of classes, 4, was given; ")
    assert "A similarity, learned on 16 known classes, says of any two items" in tree.text
    sizes = [int(row.all("td")[0].text) for row in tree.section("The classes it found").all("tbody")[0].all("tr")]
    assert sizes == np.bincount(model.labels_).tolist()
    assert "of 120 labelled items" in tree.section("Its classes beside the true ones").text
    model.save(tmp_path / "model")
    report(CategoryDiscoverer.load(tmp_path / "model"), items[pile], labels=classes[pile], out=tmp_path / "again.html")
    assert (tmp_path / "again.html").read_bytes() == written.path.read_bytes()


def test_classes_by_a_similarity_that_was_given(tmp_path: Path, read: Read) -> None:
    same = (Y[:, None] == Y).astype(np.float32)
    model = CategoryDiscoverer(3, similarity=same).fit(X)
    tree = read(report(model, X, out=tmp_path / "report.html").path.read_text(encoding="utf-8"))
    assert "A similarity that was given says of any two items" in tree.text
    assert "How good the similarity is" not in tree.text
    assert "The classes have numbers and no names" in tree.text
    titles = [row.all("th")[0].text for row in tree.section("The classes it found").all("tbody")[0].all("tr")]
    assert titles == ["class 0", "class 1", "class 2"]


def test_what_is_refused(model: PairClassifier, tmp_path: Path) -> None:
    semi = SemiSupervisedClassifier("supervised", epochs=1).fit(X, Y)
    few = answered().select(np.arange(3))
    for arguments, message in (
        ((model, X), "needs the answers that it was fitted to; give pairs"),
        ((model, X, few), "pairs holds 3 answers, and the model was fitted to 100; give those"),
        ((model, X, answered(), Y[:5]), "labels must be one for each of 120 items"),
        ((model, X, answered(), np.full(120, -1)), "labels holds no label"),
        (
            (model, X, answered(), None, [True]),
            r"held_out must be 100 values of True or False, got bool of shape \(1,\)",
        ),
        ((semi, X), "needs the labels it was fitted to; give labels"),
        ((SimilarityNetwork(), X), "A report is of a PairClassifier, .*, got SimilarityNetwork"),
    ):
        given = dict(zip(("model", "X", "pairs", "labels", "held_out"), arguments, strict=False))
        with pytest.raises(InputError, match=message):
            report(**given, out=tmp_path / "report.html")
    assert not list(tmp_path.iterdir())
