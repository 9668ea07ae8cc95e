"""Answers by keys: each is saved once, whatever happens to the server, the connection or the browser."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Serve = Callable[..., Any]


def test_thirty_answers_by_keys_and_five_undone(serve: Serve, labeller: Serve) -> None:
    served = serve()
    ann = labeller(served)
    given = ann.answer(30)
    ann.counted(30)
    assert served.in_force() == given
    assert int(ann.page.text_content("#pace")) >= 60  # answers per minute, by the store's own clock

    for left in range(29, 24, -1):
        ann.press("Backspace")
        ann.counted(left)
        place = [served.names[served.place(item)] for item in ann.items()]
        assert place == [*given[left][1:3]]  # the pair that was taken back is asked again
    assert served.in_force() == given[:25]

    ann.page.reload()
    ann.page.wait_for_selector("#stage[data-question]")
    ann.press("Backspace")
    ann.counted(24)
    assert served.in_force() == given[:24]
    ann.answer(1)
    ann.counted(25)
    assert served.in_force()[:25] == given[:25]


def test_letters_and_the_space_bar_answer_too(serve: Serve, labeller: Serve) -> None:
    served = serve()
    ann = labeller(served)
    for number, key in enumerate(("s", "d", "Space", "S"), 1):
        ann.press(key)
        ann.counted(number)
    assert [answer for *_, answer in served.in_force()] == ["same", "different", "not sure", "same"]


def test_buttons_answer_and_leave_the_space_bar_alone(serve: Serve, labeller: Serve) -> None:
    served = serve()
    ann = labeller(served)
    before = ann.question
    ann.page.click("[data-answer=same]")
    ann.wait_for_another(before)
    ann.press("Space")
    ann.counted(2)
    assert [answer for *_, answer in served.in_force()] == ["same", "not sure"]


def test_the_next_pair_does_not_wait_but_the_counter_does(serve: Serve, labeller: Serve) -> None:
    served = serve()
    ann = labeller(served)
    held: list[Any] = []
    ann.page.route("**/api/answers", lambda route: held.append(route))
    ann.press("ArrowRight")  # another pair is in view, though the server has heard nothing
    assert ann.page.text_content("#answered") == "0"
    assert served.in_force() == []
    while not held:  # the request is on its way
        ann.page.wait_for_function("() => true")
    held[0].continue_()
    ann.counted(1)
    assert len(served.in_force()) == 1


def test_an_answer_whose_reply_is_lost_counts_once(serve: Serve, labeller: Serve) -> None:
    served = serve()
    ann = labeller(served)
    lost: list[str] = []

    def lose(route: Any) -> None:
        if lost:
            route.continue_()
            return
        lost.append(route.fetch().text())  # the server has committed it
        route.abort()

    ann.page.route("**/api/answers", lose)
    ann.answer(1)
    ann.counted(1)
    assert len(lost) == 1
    assert served.n_events() == 1


def test_the_server_is_stopped_in_the_middle(serve: Serve, labeller: Serve) -> None:
    served = serve()
    ann = labeller(served)
    given = ann.answer(5)
    ann.counted(5)
    served.stop()
    given += ann.answer(1)  # the next pair was here already
    ann.page.wait_for_selector("#trouble:not([hidden])")
    assert "kept here and sent again" in ann.page.text_content("#trouble")
    assert ann.page.text_content("#answered") == "5"
    served.start()
    ann.counted(6)
    ann.page.wait_for_selector("#trouble", state="hidden")
    given += ann.answer(5)
    ann.counted(11)
    assert served.in_force() == given
    assert served.n_events() == 11


def test_what_a_closed_browser_had_not_sent_is_sent_later(serve: Serve, labeller: Serve) -> None:
    served = serve()
    ann = labeller(served)
    given = ann.answer(2)
    ann.counted(2)
    served.stop()
    given += ann.answer(1)
    context = ann.page.context
    ann.page.close()
    served.start()
    ann.page = context.new_page()
    ann.open()
    ann.counted(3)
    assert served.in_force() == given


def test_a_refused_answer_is_said_and_not_repeated(serve: Serve, labeller: Serve) -> None:
    served = serve()
    ann = labeller(served)
    sent: list[Any] = []

    def refuse(route: Any) -> None:
        sent.append(route.request.post_data_json)
        route.fulfill(status=404, json={"detail": "The item is not here."})

    ann.page.route("**/api/answers", refuse)
    ann.press("ArrowRight")
    ann.page.wait_for_selector("#trouble:not([hidden])")
    assert ann.page.text_content("#trouble") == "This answer was not saved. The item is not here."
    assert len(sent) == 1
    assert ann.page.text_content("#answered") == "0"


def test_a_wrong_token_is_a_sentence(serve: Serve, context: Serve) -> None:
    served = serve()
    page = context().new_page()
    response = page.goto(f"http://127.0.0.1:{served.port}/?token=guess")
    assert response.status == 403
    page.goto(f"http://127.0.0.1:{served.port}/")
    page.wait_for_selector("#trouble:not([hidden])")
    assert "open the address" in page.text_content("#trouble")
