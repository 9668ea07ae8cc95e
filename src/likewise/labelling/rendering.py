"""From the session to the messages that the page gets: questions, items, groups, and how far the labelling has come.

Groups change with every answer. So what is said of one (a name, that it is pure or finished) is kept with an item of
it, and holds for the group that this item is in; of several such marks in one group the last one holds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import Literal
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from likewise.labelling import messages
from likewise.labelling.leases import Pair
from likewise.labelling.session import Asked, Asking, LabellingSession
from likewise.labelling.shown_items import ItemGone
from likewise.pairs.store import Event, Mark

SHOWN = 6  # items of a group
MOST_GROUPS = 200  # that are listed
TARGET = 0.95
RECENT = timedelta(minutes=3)  # over which answers per minute are counted
MERGING = 3  # pairs that are asked before two groups are one


@dataclass(frozen=True)
class GroupNow:
    id: int
    members: NDArray[np.int64]  # the surest first
    name: str | None
    pure: bool
    finished: bool


@dataclass(frozen=True)
class ProgressNow:
    answers: int
    classes: int
    audits: int
    accuracy: tuple[float, float, float] | None
    forecast: tuple[int, int] | None
    end: str | None
    groups: Sequence[GroupNow]


def groups_now(session: LabellingSession) -> list[GroupNow]:
    """All groups, the largest first."""
    labels: NDArray[np.int64] = np.asarray(session.chooser.labels_)
    sure: NDArray[np.float64] = np.asarray(session.chooser.proba_).max(axis=1)
    order = np.lexsort((np.arange(len(labels)), -sure, labels))
    ids, starts = np.unique(labels[order], return_index=True)
    marks, groups = session.group_marks(), []
    for each, members in zip(ids.tolist(), np.split(order, starts[1:]), strict=True):
        marked = marks.get(each, {})
        name, pure, finished = marked.get("name") or None, marked.get("pure") == "1", marked.get("finished") == "1"
        groups.append(GroupNow(each, members, name, pure, finished))
    return sorted(groups, key=lambda group: (-len(group.members), group.id))


def progress_now(session: LabellingSession) -> ProgressNow:
    chooser, groups = session.chooser, groups_now(session)
    n_answers = session.n_answers
    accuracy, forecast = (chooser.accuracy(), chooser.forecast(TARGET)) if n_answers else (None, None)
    return ProgressNow(
        answers=n_answers,
        classes=int(chooser.n_classes_),
        audits=sum(event.why == "audit" for given in session.answers.values() for event in given.values()),
        accuracy=None if accuracy is None else (float(accuracy[0]), float(accuracy[1]), float(accuracy[2])),
        forecast=None if forecast is None else (round(forecast[0]), round(forecast[1])),
        end=chooser.done,
        groups=groups[:MOST_GROUPS],
    )


def answers_per_minute(events: Sequence[Event], now: datetime | None = None) -> float:
    """How many answers one person gives per minute, over the last three minutes; 0 during a pause.

    >>> start = datetime(2026, 1, 1, tzinfo=UTC)
    >>> given = [Event(str(n), "ann", "a", str(n), "same", at=start + timedelta(seconds=2 * n)) for n in range(10)]
    >>> answers_per_minute(given, start + timedelta(seconds=18))
    30.0
    """
    now = datetime.now(UTC) if now is None else now
    recent = [event.at for event in events if now - event.at <= RECENT]
    if len(recent) < 2:
        return 0.0
    seconds = (recent[-1] - recent[0]).total_seconds()
    return round(60 * (len(recent) - 1) / seconds, 1) if seconds > 0 else 0.0


def mark_group(
    session: LabellingSession, person: str, group: GroupNow, changes: dict[Literal["name", "pure", "finished"], str]
) -> None:
    """Keep what is said of a group with its surest item."""
    item = session.names[int(group.members[0])]
    new = [Mark(person, item, what, value) for what, value in changes.items()]
    with session.lock:
        session.store.add_marks(new)
        session.marks.extend(new)
        session.version += 1


def pairs_between(a: GroupNow, b: GroupNow) -> list[Pair]:
    """The pairs that tell whether two groups are one: of their surest items."""
    return [(int(i), int(j)) for i, j in zip(a.members[:MERGING], b.members[:MERGING], strict=False)]


class Renderer:
    """Messages about one moment of a session: the group of each item is that of this moment."""

    def __init__(self, session: LabellingSession) -> None:
        self.session = session

    @cached_property
    def labels(self) -> NDArray[np.int64]:
        return np.asarray(self.session.chooser.labels_)

    def item(self, position: int) -> messages.Item:
        items = self.session.items
        try:
            text = items.text(position)
        except ItemGone as gone:
            text = str(gone)
        return messages.Item(
            id=self.session.ids[position],
            group=int(self.labels[position]),
            text=text,
            fields=items.fields(position),
            image=items.form == "image",
        )

    def items(self, positions: Sequence[int]) -> list[messages.Item]:
        return [self.item(int(each)) for each in positions]

    def branch(self, asked: Asked | None) -> messages.Branch | None:
        if asked is None:
            return None
        left, right = self.item(asked.first[0]), self.item(asked.others[0])
        return messages.Branch(id=UUID(asked.id), left=left, right=right, why=asked.why, kind=asked.kind)

    def pair(self, asking: Asking) -> messages.PairQuestion:
        asked = asking.asked
        then = messages.Branches(same=self.branch(asking.same), different=self.branch(asking.different))
        left, right = self.item(asked.first[0]), self.item(asked.others[0])
        return messages.PairQuestion(
            id=UUID(asked.id), left=left, right=right, why=asked.why, kind=asked.kind, then=then
        )

    def question(
        self, asking: Asking | None
    ) -> messages.PairQuestion | messages.GridQuestion | messages.StripQuestion | None:
        if asking is None:
            return None
        asked = asking.asked
        if asked.mode == "pair":
            return self.pair(asking)
        number, others = UUID(asked.id), self.items(asked.others)
        if asked.mode == "grid":
            anchor = self.items(asked.first)
            return messages.GridQuestion(id=number, anchor=anchor, candidates=others, why=asked.why, kind=asked.kind)
        shown = [messages.Representative(group=item.group or 0, item=item) for item in others]
        item = self.item(asked.first[0])
        return messages.StripQuestion(id=number, item=item, representatives=shown, why=asked.why, kind=asked.kind)

    def group(self, group: GroupNow) -> messages.Group:
        return messages.Group(
            id=group.id,
            name=group.name,
            size=len(group.members),
            items=self.items(group.members[:SHOWN].tolist()),
            pure=group.pure,
            finished=group.finished,
        )

    def progress(self, now: ProgressNow) -> messages.Progress:
        """The progress that all people share, without the answers per minute, which differ per person."""
        interval = None
        if now.accuracy is not None:
            estimate, low, high = now.accuracy
            interval = messages.Interval(estimate=estimate, low=low, high=high)
        forecast = None
        if now.forecast is not None:
            forecast = messages.Forecast(target=TARGET, low=now.forecast[0], high=now.forecast[1])
        return messages.Progress(
            answers=now.answers,
            per_minute=0.0,
            classes=now.classes,
            accuracy=interval,
            forecast=forecast,
            groups=[self.group(group) for group in now.groups],
            end=now.end,
            audits=now.audits,
        )

    def past(self, event: Event) -> messages.PastAnswer:
        place = self.session.place
        return messages.PastAnswer(
            id=UUID(event.id),
            question=None if event.question is None else UUID(event.question),
            mode="grid" if event.why == "grid" else "strip" if event.why == "strip" else "pair",
            left=self.item(place[event.left]),
            right=self.item(place[event.right]),
            answer=as_number(event),
            at=event.at.isoformat(),
        )


def as_number(event: Event) -> Literal[0, 1] | None:
    return 1 if event.answer == "same" else 0 if event.answer == "different" else None
