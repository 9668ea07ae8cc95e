"""Two people at once, and one person with two tabs: no answer is lost or counted twice."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Serve = Callable[..., Any]


def test_two_people_are_never_shown_the_same_pair(serve: Serve, labeller: Serve) -> None:
    served = serve(people=("ann", "bob"))
    ann, bob = labeller(served, "ann"), labeller(served, "bob")
    for _ in range(5):
        assert {*ann.items()} != {*bob.items()}
        ann.answer(1)
        bob.answer(1)
    ann.counted(9)  # what bob has answered since is not counted here before ann's next answer
    bob.counted(10)
    answers = served.in_force()
    assert sorted(who for who, *_ in answers) == ["ann"] * 5 + ["bob"] * 5
    assert len({frozenset(pair) for _, *pair, _ in answers}) == 10
    assert ann.page.text_content("#person") == "ann"

    bob.press("Backspace")  # takes back bob's own, not the newest of all
    bob.counted(9)
    assert sorted(who for who, *_ in served.in_force()) == ["ann"] * 5 + ["bob"] * 4


def test_two_tabs_of_one_person(serve: Serve, labeller: Serve) -> None:
    served = serve()
    first = labeller(served)
    second = type(first)(first.page.context.new_page(), served, first.classes).open()
    assert first.items() == second.items()
    shown = second.question
    given = first.answer(1)
    first.counted(1)
    second.wait_for_another(shown)  # the other tab moves on, and its counter with it
    second.counted(1)
    given += second.answer(2)
    second.counted(3)
    first.counted(3)
    assert served.in_force() == given

    while first.items() != second.items():  # the counter may be ahead of the pair
        first.page.wait_for_function("() => true")
    first.press("Backspace")  # the newest answer, though the other tab gave it
    first.counted(2)
    assert served.in_force() == given[:2]


def test_both_tabs_answer_the_same_pair(serve: Serve, labeller: Serve) -> None:
    served = serve()
    first = labeller(served)
    second = type(first)(first.page.context.new_page(), served, first.classes).open()
    held: list[Any] = []
    second.page.route("**/api/answers", lambda route: held.append(route))
    second.press("ArrowLeft")
    first.press("ArrowRight")
    first.counted(1)
    held[0].continue_()
    second.page.wait_for_function("() => document.querySelector('#saving').textContent === 'Saved'")
    assert [answer for *_, answer in served.in_force()] == ["different"]  # the later one holds
