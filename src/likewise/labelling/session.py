"""The labelling session: the store, the chooser of questions and the people, behind one lock.

Answers go one way: they are appended to the store, and what the store holds that the session does not know yet is told
to the chooser. So a session that was killed and started again replays the log into the same state, and answers that
another program adds to the store are taken up with the next one.
"""

from __future__ import annotations

import hashlib
import threading
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from likewise.labelling.leases import Leases, Pair
from likewise.labelling.shown_items import ShownItems, opaque_ids
from likewise.pairs.database import Answer
from likewise.pairs.store import AnswerStore, Event, Mark

if TYPE_CHECKING:
    from likewise.querying import QuestionChooser

Mode = Literal["pair", "grid", "strip"]
CANDIDATES, REPRESENTATIVES = 12, 6  # on one screen
FEW = 4  # people at a time, for whom the page gets both branches of a question
TRIED = 50  # pairs of the chooser, before there is nothing to ask
REMEMBERED = 2000  # questions that were asked and may still be answered, for each person
SAID: dict[Answer, bool | None] = {"same": True, "different": False, "not sure": None}
FOLLOWS = "It follows from your answer."
SECOND = "It helps to tell how far answers can be relied on."


class Refusal(Exception):
    """An answer that cannot be taken; `status` is that of HTTP, and the text one sentence."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status


@dataclass(frozen=True)
class Asked:
    """A question: a pair; a grid, whose anchor comes first; or a strip, whose item comes first."""

    mode: Mode
    first: tuple[int, ...]  # the left item, the anchor, or the item
    others: tuple[int, ...]  # the right item, the candidates, or the representatives
    why: str
    kind: str
    id: str = field(default_factory=lambda: str(uuid.uuid4()))

    @property
    def pairs(self) -> list[Pair]:
        return [ordered(self.first[0], other) for other in self.others]


@dataclass(frozen=True)
class Asking:
    """A question to one person, and what is asked after either answer."""

    asked: Asked
    same: Asked | None = None
    different: Asked | None = None


def ordered(i: int, j: int) -> Pair:
    return (i, j) if i < j else (j, i)


class LabellingSession:
    """Questions for several people, and their answers.

    `overlap` is the share of pairs that two people are asked about; which ones depends on the pair alone.
    """

    def __init__(
        self,
        items: ShownItems,
        names: Sequence[str],
        chooser: QuestionChooser,
        store: AnswerStore,
        *,
        overlap: float = 0.0,
        leases: Leases | None = None,
    ) -> None:
        self.items, self.names, self.chooser, self.store = items, names, chooser, store
        self.ids = opaque_ids(names)
        self.position = {each: place for place, each in enumerate(self.ids)}
        self.place = {name: place for place, name in enumerate(names)}
        self.overlap = overlap
        self.leases = Leases() if leases is None else leases
        self.lock = threading.RLock()
        self.log: dict[str, Event] = {}
        self.answers: dict[Pair, dict[str, Event]] = {}  # those in force, of each person who has answered the pair
        self.marks: list[Mark] = store.marks()
        self.elsewhere = 0  # events about items that are not here
        self.version = 0  # grows with every change
        self._number = 0  # of the last event that is known
        self._asking: dict[tuple[str, Mode], Asking] = {}
        self._questions: dict[str, dict[str, Asked]] = {}
        self.catch_up()

    # Answers

    def save(self, person: str, new: Sequence[Event]) -> None:
        """Commit answers to the store, and then take them up; a Refusal changes nothing."""
        with self.lock:
            self.catch_up()
            self.store.append([self._complete(person, each) for each in new])
            self.catch_up()

    def catch_up(self) -> None:
        """Take up what the store holds and is not known yet."""
        with self.lock:
            for event in self.store.events(after=self._number):
                self._take_up(event)

    def _complete(self, person: str, event: Event) -> Event:
        """The event with what the server knows: what it supersedes, and why it was asked."""
        if event.id in self.log:
            return event
        earlier = self.answer_of(person, self._pair(event))
        if event.supersedes is not None:
            target = self.log.get(event.supersedes)
            if target is None or target.pair != event.pair:
                raise Refusal(404, "The answer that is taken back is not there; load the page again.")
            if target.annotator != person:
                raise Refusal(403, "The answer is somebody else's; give your own answer about the pair.")
        asked = self._questions.get(person, {}).get(event.question or "")
        return replace(
            event,
            why=event.why if asked is None else asked.kind,
            supersedes=event.supersedes or (None if earlier is None else earlier.id),
        )

    def _pair(self, event: Event) -> Pair:
        return ordered(self.place[event.left], self.place[event.right])

    def _take_up(self, event: Event) -> None:
        self._number = event.number
        self.version += 1
        if event.left not in self.place or event.right not in self.place or event.left == event.right:
            self.elsewhere += 1
            return
        pair = self._pair(event)
        superseded = self.log.get(event.supersedes or "")
        for before in {*filter(None, (self.answer_of(event.annotator, pair), superseded))}:
            if self.answer_of(before.annotator, pair) is before:
                del self.answers[pair][before.annotator]
                self.chooser.withdraw(*pair, before.annotator)
        self.log[event.id] = event
        if event.answer != "withdrawn":
            self.answers.setdefault(pair, {})[event.annotator] = event
            self.chooser.tell(*pair, SAID[event.answer], event.annotator, audit=event.why == "audit")

    @property
    def n_answers(self) -> int:
        """The number of answers in force."""
        return sum(map(len, self.answers.values()))

    def answer_of(self, person: str, pair: Pair) -> Event | None:
        """The answer of a person about a pair that is in force."""
        return self.answers.get(pair, {}).get(person)

    # Questions

    def ask(self, person: str, mode: Mode = "pair") -> Asking | None:
        """The question for a person: the one that is open, or another; None where nothing is left to ask."""
        with self.lock:
            self.catch_up()
            open_now = self._asking.get((person, mode))
            if open_now is not None and self._is_open(person, open_now.asked):
                self.leases.renew(person)
                return open_now
            asked = self._branch(person, open_now) if mode == "pair" and open_now is not None else None
            asked = asked or self._choose(person, mode)
            if asked is None:
                self._asking.pop((person, mode), None)
                return None
            asking = self._with_branches(person, asked)
            self._asking[person, mode] = asking
            self._remember(person, asking)
            return asking

    def ask_about(self, person: str, pairs: Sequence[Pair], why: str, kind: str) -> list[Asking]:
        """Questions about pairs that the person has not answered yet."""
        with self.lock:
            asking = [
                Asking(Asked("pair", (i,), (j,), why, kind))
                for i, j in pairs
                if self.answer_of(person, ordered(i, j)) is None and self._exist((i, j))
            ]
            for each in asking:
                self._remember(person, each)
            return asking

    def _branch(self, person: str, before: Asking) -> Asked | None:
        """What the page shows already, after the answer to the question that was open."""
        event = self.answer_of(person, before.asked.pairs[0])
        branch = {"same": before.same, "different": before.different}.get("" if event is None else event.answer)
        if branch is None or not self._is_open(person, branch):
            return None
        now = self._pair_from(self.chooser.next, person)
        if now is None or now.pairs != branch.pairs:
            return replace(branch, kind="verify")
        return replace(branch, why=now.why, kind=now.kind)

    def _is_open(self, person: str, asked: Asked) -> bool:
        """Whether a question can be shown still: not answered, not leased to another, and its items are there."""
        if asked.mode != "pair":
            answered = any(self.answer_of(person, pair) is not None for pair in asked.pairs)
            return not answered and self._exist((*asked.first, *asked.others))
        (pair,) = asked.pairs
        return (
            self.answer_of(person, pair) is None
            and pair not in self.leases.of_others(person)
            and (not self.answers.get(pair) or self._is_for_two(pair))
            and self._exist(pair)
            and not self._are_finished(pair)
        )

    def _choose(self, person: str, mode: Mode) -> Asked | None:
        """A question that is not open, whose items are there; the lock is held."""
        self._settle()
        if mode == "grid":
            grid = self.chooser.grid(CANDIDATES)
            return None if grid is None else self._screen("grid", grid[0], grid[1])
        if mode == "strip":
            strip = self.chooser.strip(REPRESENTATIVES)
            return None if strip is None else self._screen("strip", [strip[0]], strip[1])
        return self._second_opinion(person) or self._pair_from(self.chooser.next, person)

    def _screen(self, mode: Mode, first: Sequence[int], others: Sequence[int]) -> Asked | None:
        there = [int(each) for each in first if self._exist((int(each),))]
        rest = tuple(int(each) for each in others if self._exist((int(each),)))
        return Asked(mode, tuple(there), rest, self.chooser.why, mode) if there and rest else None

    def _pair_from(self, choose: Callable[[set[Pair]], tuple[int, int] | None], person: str) -> Asked | None:
        """The pair that the chooser gives, none of those excluded; the next one, where an item of it has vanished."""
        self._settle()
        exclude = self.leases.of_others(person)
        for _ in range(TRIED):
            pair = choose(exclude)
            if pair is None:
                return None
            if self._exist(pair):
                return Asked("pair", (pair[0],), (pair[1],), self.chooser.why, self.chooser.kind)
            exclude = exclude | {ordered(*pair)}
        return None

    def _with_branches(self, person: str, asked: Asked) -> Asking:
        if asked.mode != "pair":
            self.leases.take(person, asked.pairs)
            return Asking(asked)
        (pair,) = asked.pairs
        if len(self.leases.people()) > FEW:  # whose answers would make most branches wrong before they are shown
            self.leases.take(person, [pair])
            return Asking(asked)

        def after(same: bool) -> Asked | None:
            branch = self._pair_from(lambda exclude: self.chooser.peek(*pair, same, person, exclude=exclude), person)
            return None if branch is None else replace(branch, why=FOLLOWS, kind="")

        asking = Asking(asked, after(True), after(False))
        self.leases.take(person, [each.pairs[0] for each in (asked, asking.same, asking.different) if each is not None])
        return asking

    def _remember(self, person: str, asking: Asking) -> None:
        """So that the log says why a pair was asked, whenever the answer comes."""
        questions = self._questions.setdefault(person, {})
        for asked in (asking.asked, asking.same, asking.different):
            if asked is not None:
                questions[asked.id] = asked
        while len(questions) > REMEMBERED:
            del questions[next(iter(questions))]

    # Second opinions

    def _second_opinion(self, person: str) -> Asked | None:
        """A pair that another person alone has answered, if two are to; nothing about it tells that it is one."""
        if not self.overlap:
            return None
        others = self.leases.of_others(person)
        for pair, given in self.answers.items():
            alone = len(given) == 1 and person not in given
            if alone and pair not in others and self._is_for_two(pair) and self._exist(pair):
                (event,) = given.values()
                return Asked("pair", (pair[0],), (pair[1],), SECOND, event.why or "verify")
        return None

    def _is_for_two(self, pair: Pair) -> bool:
        """Whether two people are asked about a pair; by its names, and so the same after a restart."""
        names = "\0".join(sorted(self.names[each] for each in pair)).encode(errors="surrogateescape")
        return int.from_bytes(hashlib.sha256(names).digest()[:4], "big") < self.overlap * 2**32

    def group_marks(self) -> dict[int, dict[str, str]]:
        """What people have said of each group: a mark holds for the group that its item is in; the last one counts."""
        marks: dict[int, dict[str, str]] = {}
        for mark in self.marks:
            if mark.item in self.place:
                group = int(self.chooser.labels_[self.place[mark.item]])
                marks.setdefault(group, {})[mark.what] = mark.value
        return marks

    def _are_finished(self, positions: Sequence[int]) -> bool:
        """Whether one of the items is in a group about which nothing more is to be asked."""
        if not any(mark.what == "finished" for mark in self.marks):
            return False
        marks = self.group_marks()
        return any(marks.get(int(self.chooser.labels_[each]), {}).get("finished") == "1" for each in positions)

    def _settle(self) -> None:
        """Tell the chooser which groups are pure or finished."""
        if any(mark.what in ("pure", "finished") for mark in self.marks):
            marks = self.group_marks()
            marked_items = [self.place[mark.item] for mark in self.marks if mark.item in self.place]
            groups = {item: marks[int(self.chooser.labels_[item])] for item in marked_items}
            self.chooser.settle(
                *([item for item, marked in groups.items() if marked.get(what) == "1"] for what in ("pure", "finished"))
            )

    def _exist(self, positions: Sequence[int]) -> bool:
        return all(self.items.exists(each) for each in positions)
