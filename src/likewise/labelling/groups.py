"""The groups that the items are in now, what people have said of them, and how far the labelling has come.

Groups change with every answer. So what is said of one (a name, that it is pure or finished) is kept with an item of
it, and holds for the group that this item is in; of several such marks in one group the last one holds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from likewise.labelling.leases import Pair
from likewise.labelling.session import LabellingSession
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
    said: dict[int, dict[str, str]] = {}
    for mark in session.marks:
        if mark.item in session.place:
            said.setdefault(int(labels[session.place[mark.item]]), {})[mark.what] = mark.value
    found = []
    for each, members in zip(ids.tolist(), np.split(order, starts[1:]), strict=True):
        marked = said.get(each, {})
        name, pure, finished = marked.get("name") or None, marked.get("pure") == "1", marked.get("finished") == "1"
        found.append(GroupNow(each, members, name, pure, finished))
    return sorted(found, key=lambda group: (-len(group.members), group.id))


def progress_now(session: LabellingSession) -> ProgressNow:
    chooser, groups = session.chooser, groups_now(session)
    told = session.n_answers
    accuracy, forecast = (chooser.accuracy(), chooser.forecast(TARGET)) if told else (None, None)
    return ProgressNow(
        answers=told,
        classes=int(chooser.n_classes_),
        audits=sum(event.why == "audit" for given in session.answers.values() for event in given.values()),
        accuracy=None if accuracy is None else (float(accuracy[0]), float(accuracy[1]), float(accuracy[2])),
        forecast=None if forecast is None else (round(forecast[0]), round(forecast[1])),
        end=chooser.done,
        groups=groups[:MOST_GROUPS],
    )


def answers_per_minute(events: Sequence[Event], now: datetime | None = None) -> float:
    """How many answers one person gives per minute, over the last three; 0 where they rest.

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
