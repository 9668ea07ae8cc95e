"""Grid and strip, groups, the doubtful answers, and the end."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

Serve = Callable[..., Any]


@pytest.fixture
def answered(serve: Serve, labeller: Serve, digits: Any) -> Any:
    """The page after forty answers, all of them right."""
    served = serve()
    served.say_right(40, digits[1])
    ann = labeller(served)
    ann.counted(40)
    return ann


def test_grid(answered: Any) -> None:
    ann, served, page = answered, answered.served, answered.page
    ann.go("grid")
    anchor = page.locator(".anchors .item").first.get_attribute("data-item")
    candidates = [each.get_attribute("data-item") for each in page.locator(".candidate").all()]
    assert 2 <= len(candidates) <= 12
    page.locator(".candidate").nth(0).click()
    assert page.text_content("[data-answer=save] .tally") == "1 does not belong"
    page.keyboard.press("2")  # the second, by its key
    page.keyboard.press("1")  # the first is put back
    assert [each.get_attribute("aria-pressed") for each in page.locator(".candidate").all()][:2] == ["false", "true"]
    before = ann.question
    page.click("[data-answer=save]")
    ann.wait_for_another(before)
    new = served.in_force()[40:]
    names = [served.names[served.place(each)] for each in (anchor, *candidates)]
    assert new == [
        ("ann", names[0], name, "different" if place == 1 else "same") for place, name in enumerate(names[1:])
    ]
    ann.counted(40 + len(candidates))

    ann.press("Backspace")  # the whole screen, with its marks
    ann.counted(40)
    assert [each.get_attribute("data-item") for each in page.locator(".candidate").all()] == candidates
    assert page.locator(".candidate").nth(1).get_attribute("aria-pressed") == "true"
    page.locator(".candidate").nth(1).press("u")
    ann.press("Enter")
    ann.counted(40 + len(candidates))
    assert [answer for *_, answer in served.in_force()[40:]] == ["same", "not sure", *["same"] * (len(candidates) - 2)]


def test_strip(answered: Any) -> None:
    ann, served, page = answered, answered.served, answered.page
    ann.go("strip")
    shown = [each.get_attribute("data-item") for each in page.locator(".candidate").all()]
    item = page.locator(".strip-mode .item").get_attribute("data-item")
    names = [served.names[served.place(each)] for each in (item, *shown)]
    ann.press("2")
    ann.counted(40 + len(shown))
    assert served.in_force()[40:] == [
        ("ann", names[0], name, "same" if place == 1 else "different") for place, name in enumerate(names[1:])
    ]
    ann.press("Backspace")
    ann.counted(40)
    ann.press("n")
    ann.counted(40 + len(shown))
    assert {answer for *_, answer in served.in_force()[40:]} == {"different"}
    before = ann.question
    number = page.locator(".candidate").count()
    page.click("[data-answer=unsure]")
    ann.wait_for_another(before)
    ann.counted(40 + len(shown) + number)
    assert [answer for *_, answer in served.in_force()[-number:]] == ["not sure"] * number


def test_why_and_the_group_are_shown_on_request_alone(answered: Any) -> None:
    page = answered.page
    assert not page.is_visible("#why")
    assert page.locator(".peek").count() == 0
    page.keyboard.press("w")
    assert len(page.text_content("#why")) > 10
    page.keyboard.press("g")
    assert page.locator(".peek").count() == 2
    answered.answer(1)
    assert not page.is_visible("#why")
    assert page.locator(".peek").count() == 0
    page.locator("#view .item").first.hover()
    page.mouse.move(300, 300)
    page.wait_for_selector("#view .item .peek")
    page.mouse.move(5, 5)
    page.wait_for_selector("#view .item .peek", state="detached")


def test_zoom(answered: Any) -> None:
    page = answered.page
    page.keyboard.press("z")
    page.wait_for_selector("#zoom[open]")
    page.keyboard.press("+")
    page.keyboard.press("+")
    assert page.text_content("#zoom .scale") == "4\N{MULTIPLICATION SIGN}"
    width = (
        "() => { const [pane] = document.querySelectorAll('#zoom .pane'); return pane.scrollWidth / pane.clientWidth }"
    )
    assert page.evaluate(width) == pytest.approx(4, abs=0.1)
    page.keyboard.press("ArrowRight")  # moves the picture, and answers nothing
    page.keyboard.press("Escape")
    page.wait_for_selector("#zoom", state="hidden")
    assert page.text_content("#answered") == "40"


def test_groups_are_named_marked_and_merged(answered: Any) -> None:
    ann, page = answered, answered.page
    page.locator(".card .open").first.click()
    page.fill("#group-name", "<b>noughts</b>")
    page.locator("#group input[type=checkbox]").nth(0).check()
    page.locator("#group input[type=checkbox]").nth(1).check()
    page.get_by_role("button", name="Close").click()
    page.wait_for_selector(".card .mark >> text=finished")
    named = page.locator(".card", has_text="<b>noughts</b>")
    assert named.locator(".mark").all_text_contents() == ["pure", "finished"]
    assert named.locator("b").count() == 0  # text, not markup
    assert page.locator(".card").last.locator(".name").text_content() == "<b>noughts</b>"  # finished ones come last
    page.reload()
    page.wait_for_selector(".card .name >> text=<b>noughts</b>")

    before = ann.question
    page.locator(".card").nth(1).drag_to(page.locator(".card").nth(2))
    ann.wait_for_another(before)
    assert page.text_content("#note").startswith("To merge ")
    ann.answer(1)
    ann.counted(41)

    page.locator(".card .open").nth(2).press("Enter")  # the same by keys alone
    page.wait_for_selector("#group[open]")
    before = ann.question
    page.locator("#merge").press("Enter")
    ann.wait_for_another(before)
    assert page.text_content("#note").startswith("To merge ")


def test_doubtful_answers_are_kept_or_changed(serve: Serve, labeller: Serve, digits: Any) -> None:
    served, classes = serve(), digits[1]
    noughts, ones, twos = (np.flatnonzero(classes == each)[:8].tolist() for each in range(3))
    chains = [(i, j, True) for items in (noughts, ones, twos) for i, j in pairwise(items)]
    wrong = [(noughts[0], noughts[2], False), (ones[0], ones[2], False), (twos[0], twos[2], False)]
    served.say([*chains, *wrong])
    ann = labeller(served)
    page = ann.page
    ann.counted(24)
    ann.go("inbox")
    page.wait_for_selector(".doubt")
    there = page.locator(".doubt").count()
    assert there >= 2
    assert page.text_content("#doubtful") == str(there)
    assert "You said" in page.locator(".doubt .case").first.text_content()
    answers = {frozenset(pair): answer for _, *pair, answer in served.in_force()}

    def pair(number: int) -> frozenset[str]:
        items = page.locator(".doubt").nth(number).locator(".two [data-item]")
        return frozenset(served.names[served.place(items.nth(each).get_attribute("data-item"))] for each in (0, 1))

    changed = pair(0)
    page.locator(".doubt .change").first.click()
    page.wait_for_function("n => document.querySelectorAll('.doubt').length === n", arg=there - 1)
    now = {frozenset(both): answer for _, *both, answer in served.in_force()}
    assert now[changed] != answers[changed]
    assert len(now) == len(answers) == 24
    kept = pair(0)
    page.locator(".doubt .keep").first.click()
    page.wait_for_function("n => document.querySelectorAll('.doubt').length === n", arg=there - 2)
    assert {frozenset(both): answer for _, *both, answer in served.in_force()}[kept] == answers[kept]
    ann.go("pair")
    ann.go("inbox")  # what was looked at does not come back
    shown = {pair(each) for each in range(page.locator(".doubt").count())}
    assert kept not in shown
    assert changed not in shown


REPORT = "import pathlib, sys; print('Learning.'); pathlib.Path(sys.argv[1]).write_text('<h1>Report</h1>')"


def test_learn_and_the_report(serve: Serve, labeller: Serve, tmp_path: Path) -> None:
    """What the page shows meanwhile and at the end; test_learning.py has the real commands."""
    from likewise.labelling.learning import Learner

    class QuickLearner(Learner):
        def _execute(self, arguments: Sequence[str]) -> int:
            report = next((tmp_path / "runs").iterdir()) / "run" / "report.html"
            report.parent.mkdir(exist_ok=True)
            return subprocess.run([sys.executable, "-c", REPORT, report], check=False, capture_output=True).returncode

    served = serve(learn=QuickLearner(tmp_path / "runs", tmp_path))
    ann = labeller(served)
    page = ann.page
    page.click("#learn-button")
    page.wait_for_selector("#trouble:not([hidden])")
    assert "no answers yet" in page.text_content("#trouble")
    ann.answer(1)
    ann.counted(1)
    page.click("#learn-button")
    page.wait_for_selector("#learn .report")
    with page.context.expect_page() as opened:
        page.click("#learn .report")
    opened.value.wait_for_load_state()
    assert opened.value.text_content("h1") == "Report"
