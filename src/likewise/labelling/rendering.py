"""From the session's positions and events to the messages that the page gets."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Literal
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from likewise.labelling import messages
from likewise.labelling.groups import SHOWN, TARGET, GroupNow, ProgressNow
from likewise.labelling.session import Asked, Asking, LabellingSession
from likewise.labelling.shown_items import ItemGone
from likewise.pairs.store import Event


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
        """For nobody yet: the answers per minute are a person's own."""
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
