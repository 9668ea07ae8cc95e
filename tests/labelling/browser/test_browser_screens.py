"""The page on a phone, by keys alone, with a screen reader's eyes, and with texts and rows of a table."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

Serve = Callable[..., Any]
PHONE = {"viewport": {"width": 375, "height": 667}, "has_touch": True, "is_mobile": True, "device_scale_factor": 2}


def swipe(page: Any, selector: str, by: int) -> None:
    """A finger that moves sideways over an element."""
    box = page.locator(selector).first.bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    finger = page.context.new_cdp_session(page)
    finger.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [{"x": x, "y": y}]})
    for step in (0.25, 0.5, 0.75, 1):
        moved = {"type": "touchMove", "touchPoints": [{"x": x + by * step, "y": y + 2}]}
        finger.send("Input.dispatchTouchEvent", moved)
    finger.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})


def test_a_phone(serve: Serve, labeller: Serve) -> None:
    served = serve()
    ann = labeller(served, **PHONE)
    page = ann.page
    place = page.locator("#view .item").last.bounding_box()
    before = ann.question
    page.tap("[data-answer=unsure]")
    ann.wait_for_another(before)
    page.tap("#undo")
    ann.counted(0)
    for direction, answered in ((120, 1), (40, 1), (-120, 2)):  # 40 pixels are too little to be an answer
        before = ann.question
        swipe(page, "#view .item", direction)
        if abs(direction) > 70:
            ann.wait_for_another(before)
        ann.counted(answered)
    assert [answer for *_, answer in served.in_force()] == ["same", "different"]
    assert page.locator("#view .item").last.bounding_box() == place  # nothing has jumped
    for view in ("pair", "grid", "strip", "inbox"):
        ann.go(view)
        assert page.evaluate("document.documentElement.scrollWidth") <= 375
        boxes = [each.bounding_box() for each in page.locator("#answers button").all()]
        assert all(box["y"] + box["height"] <= 667 for box in boxes)  # the buttons are in reach without scrolling


def test_holding_an_item_shows_its_group(serve: Serve, labeller: Serve) -> None:
    ann = labeller(serve(), **PHONE)
    box = ann.page.locator("#view .item").first.bounding_box()
    finger = ann.page.context.new_cdp_session(ann.page)
    point = {"x": box["x"] + 40, "y": box["y"] + 40}
    finger.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [point]})
    ann.page.wait_for_selector("#view .peek")
    finger.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    ann.page.wait_for_selector("#view .peek", state="detached")
    assert not ann.page.is_visible("#zoom")  # a hold is no tap
    ann.page.locator("#view .picture").first.tap()
    ann.page.wait_for_selector("#zoom[open]")


def test_by_keys_alone(serve: Serve, labeller: Serve, digits: Any) -> None:
    served = serve()
    served.say_right(12, digits[1])
    ann = labeller(served)
    page = ann.page
    reached = []
    for _ in range(60):
        page.keyboard.press("Tab")
        reached.append(
            page.evaluate("(e => e.id || e.dataset.view || e.dataset.answer || e.className)(document.activeElement)")
        )
    for control in (
        "skip",
        "pair",
        "grid",
        "strip",
        "inbox",
        "help-button",
        "theme-button",
        "different",
        "unsure",
        "same",
        "undo",
        "why-button",
        "open",
        "learn-button",
    ):
        assert control in reached
    ring = "getComputedStyle(document.activeElement).outlineStyle"
    page.locator("#undo").focus()
    page.keyboard.press("Tab")
    assert page.evaluate(ring) == "solid"  # the focus is seen

    page.locator("[data-answer=same]").focus()
    before = ann.question
    page.keyboard.press("Space")  # presses the button in focus, and does not mean "not sure"
    ann.wait_for_another(before)
    ann.counted(13)
    assert ann.served.in_force()[-1][-1] == "same"
    assert page.evaluate("document.activeElement.dataset.answer") == "same"

    page.keyboard.press("?")
    page.wait_for_selector("#help[open]")
    page.keyboard.press("ArrowRight")  # not an answer while the help is open
    page.locator("#letters").press("Space")
    page.keyboard.press("Escape")
    page.locator("#stage").focus()
    page.keyboard.press("s")  # switched off
    assert page.text_content("#answered") == "13"
    ann.press("ArrowRight")
    ann.counted(14)
    assert "14 answers" in page.text_content("#live")  # said to a screen reader


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(serve: Serve, labeller: Serve, digits: Any, scheme: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed")
    served, noughts = serve(), np.flatnonzero(digits[1] == 0)[:8].tolist()
    wrong = (noughts[0], noughts[2], False)
    served.say([*((i, j, True) for i, j in pairwise(noughts)), wrong])
    ann = labeller(served, color_scheme=scheme, bypass_csp=True)  # axe itself needs an inline script
    page = ann.page
    assert page.get_attribute("html", "data-theme") == scheme

    def check(place: str) -> None:
        found = axe.Axe().run(page).response["violations"]
        serious = [
            f"{each['id']}: {each['nodes'][0]['html']}" for each in found if each["impact"] in ("serious", "critical")
        ]
        assert serious == [], place

    page.keyboard.press("w")
    page.keyboard.press("g")
    check("pair")
    for view in ("grid", "strip", "inbox"):
        ann.go(view)
        if scheme == "light" or view == "inbox":  # dark differs by its colours alone
            check(view)
    assert page.locator(".doubt").count() == 1
    page.locator(".card .open").first.click()
    page.wait_for_selector("#group[open]")
    check("group")
    page.keyboard.press("Escape")
    if scheme == "light":
        page.click("#help-button")
        check("help")
        page.keyboard.press("Escape")
    page.click("#theme-button")
    assert page.get_attribute("html", "data-theme") != scheme
    page.reload()
    page.wait_for_selector("#stage[data-question]")
    assert page.get_attribute("html", "data-theme") != scheme  # remembered


def test_no_request_leaves_and_the_policy_holds(serve: Serve, context: Serve) -> None:
    served = serve()
    page = context().new_page()
    asked: list[str] = []
    said: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto(served.address())
    page.wait_for_selector("#answered")
    page.keyboard.press("ArrowRight")
    page.wait_for_function("() => document.querySelector('#answered').textContent === '1'")
    for view in ("grid", "strip", "inbox"):
        page.click(f".modes [data-view={view}]")
        page.wait_for_selector(f"body[data-view={view}]")
    page.wait_for_load_state("networkidle")
    assert {url.split("/")[2] for url in asked} == {f"127.0.0.1:{served.port}"}
    assert said == []
    policy = page.request.get(f"http://127.0.0.1:{served.port}/").headers["content-security-policy"]
    assert "unsafe-inline" not in policy


def test_texts_with_their_differences(serve: Serve, labeller: Serve) -> None:
    from likewise.labelling.shown_items import TextItems

    hostile = "<img src=x onerror=document.title='run'>"
    texts = [
        f"Where is my {what} that I ordered on day {day}? {hostile}" for what in ("card", "parcel") for day in range(12)
    ]
    classes = np.repeat([0, 1], 12)
    X = np.random.default_rng(0).normal(size=(24, 4)).astype(np.float32) * 0.1 + classes[:, None]
    served = serve(shown=TextItems(texts), X=X)
    ann = labeller(served, classes=classes)
    page = ann.page
    left, right = ann.items()
    first, second = texts[served.place(left)], texts[served.place(right)]
    assert page.locator("#view .text").all_text_contents() == [first, second]
    marks = page.locator("#view .text").first.locator("mark").all_text_contents()
    words = [
        word
        for word, other in zip(first.replace("?", "").split(), second.replace("?", "").split(), strict=True)
        if word != other
    ]
    assert marks == words
    assert page.locator("#view img").count() == 0
    ann.answer(6)
    ann.counted(6)
    for view in ("grid", "strip"):
        ann.go(view)
        shown = page.locator(".candidate .snippet").all_text_contents()
        assert len(shown) > 1
        assert {*shown} <= {*texts}
        assert shown[0] in page.locator(".candidate").first.get_attribute("aria-label")
    assert page.locator(".strip-mode figure .text").text_content() in texts
    ann.go("inbox")
    page.locator(".card .open").first.click()
    page.wait_for_selector("#group[open]")
    assert page.locator("#group .items .snippet").first.bounding_box()["height"] > 10
    assert page.title() != "run"


def test_rows_of_a_table_with_their_differences(serve: Serve, labeller: Serve) -> None:
    from likewise.labelling.shown_items import Rows

    classes = np.repeat([0, 1, 2], 10)
    X = np.random.default_rng(0).normal(size=(30, 3)).astype(np.float32) * 0.1 + 3 * classes[:, None]
    X[:, 2] = 7
    served = serve(shown=Rows(["length", "<i>width</i>", "always"], X), X=X)
    ann = labeller(served, classes=classes)
    page = ann.page
    assert page.locator("#view tbody th").all_text_contents() == [
        "length (differs)",
        "<i>width</i> (differs)",
        "always",
    ]
    assert page.locator("#view tr.differs").count() == 2
    assert page.locator("#view tbody tr").nth(2).locator("td").all_text_contents() == ["7", "7"]
    ann.answer(6)
    ann.counted(6)


def test_an_item_that_vanishes_is_said(serve: Serve, labeller: Serve) -> None:
    ann = labeller(serve())
    ann.page.route("**/image?*", lambda route: route.fulfill(status=404, json={"detail": "gone"}))
    ann.page.reload()
    ann.page.wait_for_selector("#view .missing")
    assert ann.page.locator("#view .missing").all_text_contents()[0].endswith("this picture cannot be shown.")
    ann.press("Space")
    ann.counted(1)


WORDS = [
    ("a b c", "a b c", [], []),
    ("a red car", "a blue car", ["red"], ["blue"]),
    ("one two three", "one three", ["two"], []),
    ("A card", "a card", [], []),
    ("cost 5.25", "cost 5.75", ["5.25"], ["5.75"]),
    ("a b c d", "b c d e", ["a"], ["e"]),
    ("", "new", [], ["new"]),
    ("x " * 1600 + "end", "y " * 1600 + "end", ["x " * 1599 + "x"], ["y " * 1599 + "y"]),
]


def test_the_words_that_differ(serve: Serve, context: Serve) -> None:
    page = context().new_page()
    page.goto(f"http://127.0.0.1:{serve().port}/page/theme.css")  # any file: the module alone is looked at
    script = "async ([left, right]) => (await import('/page/words.js')).differences(left, right)"
    for left, right, *marked in WORDS:
        runs = page.evaluate(script, [left, right])
        assert ["".join(part for part, _ in each) for each in runs] == [left, right]
        assert [[part for part, differs in each if differs] for each in runs] == marked


def test_the_chain_that_contradicts(serve: Serve, context: Serve) -> None:
    page = context().new_page()
    page.goto(f"http://127.0.0.1:{serve().port}/page/theme.css")  # any file: the module alone is looked at
    script = (
        "async (doubt) => (await import('/page/chain.js')).contradiction(doubt)?.map((step) => step.item.id) ?? null"
    )

    def found(answer: int, *links: tuple[str, str, int]) -> Any:
        chain = [{"left": {"id": left}, "right": {"id": right}, "answer": said} for left, right, said in links]
        return page.evaluate(script, {"left": {"id": "a"}, "right": {"id": "z"}, "answer": answer, "chain": chain})

    assert found(0, ("a", "b", 1), ("z", "b", 1)) == ["a", "b", "z"]
    assert found(1, ("a", "b", 1), ("b", "z", 0), ("a", "c", 0)) == ["a", "b", "z"]
    assert found(0, ("a", "b", 1), ("b", "z", 0)) is None  # that one agrees
    assert found(1, ("a", "b", 0), ("b", "z", 0)) is None  # and that one says nothing
    assert found(0, ("a", "b", 1), ("b", "c", 1), ("c", "z", 1), ("b", "a", 1)) == ["a", "b", "c", "z"]
