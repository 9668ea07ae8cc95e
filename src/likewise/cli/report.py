"""`likewise report`: what a run learned from its answers, as one self-contained HTML file."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from likewise.cli.fitted import Fit, items_of, items_sha256, read_answers, require_fit
from likewise.cli.items import Given, check_shape, find_answers, open_for, read_all
from likewise.cli.places import check_file, writing
from likewise.errors import InputError

if TYPE_CHECKING:
    import numpy as np

    from likewise.estimators import PairClassifier
    from likewise.pairs import Pairs
    from likewise.reporting import JudgedAnswers
    from likewise.reporting.gallery import Pictures

LARGEST_SIDE = 96  # pixels of a picture

LEARNED = """\
A network with {outputs} outputs was given {items:,} items and {answers:,} answers, each of which says of two items \
whether they are the same or different. It was never told what any item is: the {classes} classes below are what it \
made of the answers."""
NAMED = " Their names are those of a few labelled items, by which they were called afterwards."
MEASURED = """\
{held_out:,} of the answers were held out: the network did not learn from them, and its figures are for them. """
CHOSEN = "They also decided {what}, so the figures are slightly optimistic."
UNMEASURED = "No answers were held out, so nothing here says how right it is about pairs that it was not told of."


def report(
    run: Annotated[Path, typer.Argument(help="The folder that fit wrote.")],
    items: Annotated[
        Path | None, typer.Option(help="Where the items are, if not where they were.", show_default=False)
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="The .html file to write; RUN/report.html by default.", show_default=False)
    ] = None,
) -> None:
    """Write a page: how right the classifier is, what it found, and which answers to check again."""
    fit = require_fit(run)
    out = run / "report.html" if out is None else out
    check_file(out, "--out", (".html", ".htm"))

    import numpy as np

    from likewise.estimators import PairClassifier
    from likewise.reporting import write_answers_report

    model, path = PairClassifier.load(run), items_of(run, items)
    given = read_all(open_for(model, path, columns=fit.columns))
    check_shape(given.items, model, path)
    _check_unchanged(given, fit, path)
    answers, held_out_lines = read_answers(run, fit)
    answers = find_answers(answers, given)
    held_out = np.isin(answers.lines, held_out_lines)

    found = model.naming_.columns >= 0
    probabilities = model.predict_proba(given.X)[:, found]  # (n, classes)
    names = [str(name) if model.naming_.named else f"class {name}" for name in model.classes_[found].tolist()]
    judged = _judged(model, given, answers)
    with writing(out, "--out"):
        write_answers_report(
            out,
            title=f"{len(names)} classes, learned from {len(answers):,} answers",
            summary=_summary(model, fit, given, answers, int(held_out.sum())),
            history=model.history_,
            classes=names,
            outputs=probabilities.argmax(1),
            probabilities=probabilities.max(1),
            held_out=_judged(model, given, answers.select(held_out)),
            answers=judged,
            images=_pictures(given, path),
            ids=given.items.ids or None,
            facts=_facts(model),
        )
    typer.echo(f"Wrote {out}; open it in a browser.")
    typer.echo(f"The classifier says the opposite of {len(judged.contradicted()):,} of {len(answers):,} answers.")


def _check_unchanged(given: Given, fit: Fit, path: Path) -> None:
    if items_sha256(given.items) == fit.items_sha256:
        return
    if not given.names and len(given.items) != fit.n_items:
        raise InputError(
            f"{path} holds {len(given.items):,} items, and {fit.n_items:,} when the run was fitted; give --items those."
        )
    warnings.warn(f"The items in {path} are not all as they were when the run was fitted.", stacklevel=2)


def _judged(model: PairClassifier, given: Given, answers: Pairs) -> JudgedAnswers:
    import numpy as np

    from likewise.reporting import JudgedAnswers

    similarity = model.predict_same(given.X, np.stack([answers.left, answers.right], axis=1)).clip(0, 1)
    unit = answers.source.unit
    return JudgedAnswers(answers.left, answers.right, answers.same, similarity, answers.lines, unit)


def _summary(model: PairClassifier, fit: Fit, given: Given, answers: Pairs, n_held_out: int) -> str:
    learned = LEARNED.format(
        outputs=model.n_outputs_,
        items=len(given.items),
        answers=len(answers),
        classes=int((model.naming_.columns >= 0).sum()),
    )
    if model.naming_.named:
        learned += NAMED
    if not n_held_out:
        return f"{learned}\n\n{UNMEASURED}"
    decided = []
    if fit.arguments["unlabelled"]:
        was = "was" if model.unlabelled_ else "was not"
        decided.append(f"whether to keep a second stage, which uses the pairs that nobody answered (it {was} kept)")
    if fit.arguments["patience"]:
        decided.append("when each stage ended")
    chosen = CHOSEN.format(what=" and ".join(decided)) if decided else "They decided nothing else."
    return f"{learned}\n\n{MEASURED.format(held_out=n_held_out)}{chosen}"


def _facts(model: PairClassifier) -> dict[str, str]:
    facts = {}
    if model.unused_outputs_:
        facts["Unused outputs"] = f"{model.unused_outputs_} of {model.n_outputs_}"
    if model.noise_:
        facts["Rate of wrong answers"] = f"{100 * model.noise_:.1f} %"
    return facts


def _pictures(given: Given, path: Path) -> Pictures | None:
    if path.is_dir():
        return FilePictures(path, given.items.ids)
    inputs = given.items.inputs.numpy()
    return inputs if inputs.ndim == 4 and inputs.shape[1] in (1, 3, 4) else None


@dataclass(frozen=True)
class FilePictures:
    """Pictures read from their files, larger than the network sees them, when the page shows them."""

    folder: Path
    ids: Sequence[str]

    def __len__(self) -> int:
        return len(self.ids)

    def __getitem__(self, position: int) -> np.ndarray:
        from PIL import Image

        from likewise.datasets.images import read_image

        path = self.folder / self.ids[position]
        with Image.open(path) as image:
            side = min(max(image.size), LARGEST_SIDE)
        return read_image(path, side, 3)
