"""The endpoints that the page calls; each is a thin layer over the session."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Annotated, Any, Literal
from uuid import UUID

from fastapi import APIRouter, Depends, HTTPException, Query, Request, Response
from fastapi.params import Path as PathParameter
from fastapi.security import APIKeyCookie

from likewise import __version__
from likewise.labelling import messages
from likewise.labelling.gate import Allowance, Doorkeeper
from likewise.labelling.learning import Learner
from likewise.labelling.rendering import (
    GroupNow,
    Renderer,
    answers_per_minute,
    as_number,
    groups_now,
    mark_group,
    pairs_between,
    progress_now,
)
from likewise.labelling.session import LabellingSession, ordered
from likewise.pairs.database import Answer
from likewise.pairs.store import Event

SUSPECTS = 20  # answers in the inbox
LOOKED_BACK = 500  # events over which a person's speed is counted
QUICK = 0.05  # seconds
IMPORTED = "import"  # why an answer is there that came from a file
MERGE = "You put these two groups together."
UNKNOWN = "You are not known here; open the address that likewise label printed."
MISTAKES: dict[int | str, dict[str, Any]] = {
    status: {"model": messages.Problem} for status in (400, 401, 403, 404, 409, 413, 422, 429, 503)
}


@dataclass
class Labelling:
    """All that the endpoints need."""

    session: LabellingSession
    door: Doorkeeper
    learner: Learner
    requests: Allowance = field(default_factory=lambda: Allowance(rate=100, burst=600))
    guesses: Allowance = field(default_factory=lambda: Allowance(rate=0.2, burst=10))  # of tokens
    clock: Callable[[], float] = time.monotonic
    _progress: _Computed | None = field(default=None, init=False)

    def progress(self, person: str, quick: float = QUICK) -> messages.Progress:
        """How far the session has come; the lock is held.

        The groups are computed once for each state of the session. Where that takes longer than `quick`, in seconds,
        they may be a little old: no more than a tenth of the time goes into them.
        """
        last, session = self._progress, self.session
        if last is None or last.is_old(session.version, self.clock(), quick):
            began = time.thread_time()
            message = Renderer(session).progress(progress_now(session))
            last = self._progress = _Computed(session.version, message, time.thread_time() - began, self.clock())
        recent = [event for event in islice(reversed(session.log.values()), LOOKED_BACK) if event.annotator == person]
        speed = answers_per_minute(recent[::-1])
        return last.message.model_copy(update={"answers": session.n_answers, "per_minute": speed})

    def position_of(self, item: str) -> int:
        if item not in self.session.position:
            raise HTTPException(404, "The item is not among those of this page; load the page again.")
        return self.session.position[item]

    def group(self, number: int) -> GroupNow:
        for group in groups_now(self.session):
            if group.id == number:
                return group
        raise HTTPException(404, "The group is not there any more; load the page again.")


@dataclass(frozen=True)
class _Computed:
    version: int
    message: messages.Progress
    seconds: float  # that it took
    at: float

    def is_old(self, version: int, now: float, quick: float) -> bool:
        return version != self.version and (self.seconds < quick or now - self.at > 10 * self.seconds)


def labelling_of(request: Request) -> Labelling:
    labelling: Labelling = request.app.state.labelling
    return labelling


CurrentLabelling = Annotated[Labelling, Depends(labelling_of)]


def person_of(request: Request, labelling: CurrentLabelling) -> str:
    person = labelling.door.by_cookie(request.cookies.get(labelling.door.cookie_name, ""))
    if person is None:
        raise HTTPException(401, UNKNOWN)
    if not labelling.requests.spend(person):
        raise HTTPException(429, "These are too many requests at once; wait a moment.")
    return person


Person = Annotated[str, Depends(person_of)]
ItemId = Annotated[str, PathParameter(pattern=r"^[0-9a-f]{16}$")]
GroupId = Annotated[int, PathParameter(ge=0, le=2**31)]
Width = Annotated[int, Query(ge=16, le=4096, description="In pixels; the picture may come a little wider.")]
Limit = Annotated[int, Query(ge=1, le=1000)]
known = APIKeyCookie(name="likewise", auto_error=False)  # for the description alone; the name is that of the door
router = APIRouter(prefix="/api", responses=MISTAKES, dependencies=[Depends(known)])


@router.get("/session")
def get_session(labelling: CurrentLabelling, person: Person) -> messages.Session:
    session = labelling.session
    return messages.Session(
        annotator=person,
        items=len(session.names),
        form=session.items.form,
        modes=["pair", "grid", "strip"],
        store=session.store.name,
        version=__version__,
    )


@router.get("/question")
def get_question(labelling: CurrentLabelling, person: Person, mode: messages.Mode = "pair") -> messages.Asked:
    session = labelling.session
    with session.lock:
        asking = session.ask(person, mode)
        return messages.Asked(question=Renderer(session).question(asking), done=session.chooser.done)


@router.post("/answers")
def post_answers(labelling: CurrentLabelling, person: Person, sent: messages.Answers) -> messages.Saved:
    session, new = labelling.session, [_event(labelling, person, answer) for answer in sent.answers]
    with session.lock:
        session.save(person, new)
        asking = None if sent.mode is None else session.ask(person, sent.mode)
        shown = Renderer(session)
        return messages.Saved(
            saved=[answer.id for answer in sent.answers],
            progress=labelling.progress(person, 0 if sent.mode is None else QUICK),  # who asks nothing shows no groups
            question=shown.question(asking),
        )


def _event(labelling: Labelling, person: str, sent: messages.Answer) -> Event:
    answer_of: dict[int | None, Answer] = {1: "same", 0: "different", None: "not sure"}
    return Event(
        id=str(sent.id),
        annotator=person,
        left=labelling.session.names[labelling.position_of(sent.left)],
        right=labelling.session.names[labelling.position_of(sent.right)],
        answer="withdrawn" if sent.withdraw else answer_of[sent.answer],
        latency=sent.latency,
        why=sent.kind,
        question=None if sent.question is None else str(sent.question),
        supersedes=None if sent.supersedes is None else str(sent.supersedes),
    )


@router.get("/history")
def get_history(labelling: CurrentLabelling, person: Person, limit: Limit = 60) -> messages.History:
    """This person's answers in force, the last one first."""
    session = labelling.session
    with session.lock:
        own = [given[person] for given in session.answers.values() if person in given]
        shown = Renderer(session)
        last = sorted(own, key=lambda event: -event.number)[:limit]
        return messages.History(answers=[shown.past(event) for event in last])


@router.get("/progress")
def get_progress(labelling: CurrentLabelling, person: Person) -> messages.Progress:
    with labelling.session.lock:
        labelling.session.catch_up()
        return labelling.progress(person)


@router.get("/items/{item}")
def get_item(labelling: CurrentLabelling, person: Person, item: ItemId) -> messages.Item:
    return Renderer(labelling.session).item(labelling.position_of(item))


@router.get(
    "/items/{item}/image",
    response_class=Response,
    responses={200: {"content": {"image/jpeg": {}, "image/png": {}}}},
)
def get_image(labelling: CurrentLabelling, person: Person, item: ItemId, width: Width = 512) -> Response:
    content, kind = labelling.session.items.picture(labelling.position_of(item), width)
    return Response(content, media_type=kind, headers={"cache-control": "private, max-age=3600"})


@router.post("/groups/merge")
def merge_groups(labelling: CurrentLabelling, person: Person, both: messages.Merge) -> messages.Questions:
    """The pairs that tell whether two groups are one."""
    if both.a == both.b:
        raise HTTPException(422, "A group cannot be merged with itself; give two.")
    session = labelling.session
    with session.lock:
        pairs = pairs_between(labelling.group(both.a), labelling.group(both.b))
        shown, asking = Renderer(session), session.ask_about(person, pairs, MERGE, "join")
        return messages.Questions(questions=[shown.pair(each) for each in asking])


@router.get("/groups/{group}")
def get_group(labelling: CurrentLabelling, person: Person, group: GroupId, limit: Limit = 60) -> messages.Members:
    with labelling.session.lock:
        now = labelling.group(group)
        items = Renderer(labelling.session).items(now.members[:limit].tolist())
        return messages.Members(id=now.id, name=now.name, items=items)


@router.post("/groups/{group}")
def change_group(
    labelling: CurrentLabelling, person: Person, group: GroupId, change: messages.GroupChange
) -> messages.Progress:
    changes: dict[Literal["name", "pure", "finished"], str] = {}
    if change.name is not None:
        changes["name"] = change.name.strip()
    if change.pure is not None:
        changes["pure"] = str(int(change.pure))
    if change.finished is not None:
        changes["finished"] = str(int(change.finished))
    with labelling.session.lock:
        mark_group(labelling.session, person, labelling.group(group), changes)
        return labelling.progress(person)


@router.get("/contradictions")
def get_contradictions(labelling: CurrentLabelling, person: Person) -> messages.Contradictions:
    """The answers that are least likely right, and that this person has not looked at again."""
    with labelling.session.lock:
        return messages.Contradictions(answers=[*_suspects(labelling.session, person)])


def _suspects(session: LabellingSession, person: str) -> Iterator[messages.Suspect]:
    shown = Renderer(session)
    for i, j, odds, chain in session.chooser.suspects(SUSPECTS):
        given = session.answers.get(ordered(int(i), int(j)), {})
        for event in given.values():
            number = as_number(event)
            if number is None or _was_reviewed(event) or (event.annotator != person and person in given):
                continue
            links = [
                messages.Link(left=shown.item(int(a)), right=shown.item(int(b)), answer=1 if same else 0)
                for a, b, same in chain
            ]
            left, right = shown.item(session.place[event.left]), shown.item(session.place[event.right])
            yield messages.Suspect(
                id=UUID(event.id),
                annotator=event.annotator,
                left=left,
                right=right,
                answer=number,
                odds=float(odds),
                chain=links,
            )


def _was_reviewed(event: Event) -> bool:
    """Whether an answer was given on seeing it in the inbox: it answers no question, or confirms an earlier one."""
    return event.supersedes is not None or (event.question is None and event.why != IMPORTED)


@router.post("/learn")
def post_learn(labelling: CurrentLabelling, person: Person) -> messages.Learning:
    """Learn from the answers so far, as `likewise fit` does, unless that is under way."""
    labelling.learner.start(labelling.session.store)
    return get_learn(labelling, person)


@router.get("/learn")
def get_learn(labelling: CurrentLabelling, person: Person) -> messages.Learning:
    learner = labelling.learner
    return messages.Learning(state=learner.state, line=learner.line, report=learner.report is not None)
