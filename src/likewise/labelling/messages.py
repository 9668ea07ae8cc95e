"""What the page and the server say to each other, as JSON."""

from __future__ import annotations

from typing import Annotated, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, model_validator

Mode = Literal["pair", "grid", "strip"]
MOST_ANSWERS = 200  # in one message
LONGEST_NAME = 100  # letters of a group's name
ItemId = Annotated[str, Field(pattern=r"^[0-9a-f]{16}$")]


class Message(BaseModel):
    """What is received: a field that is not known is refused, so that a mistake is not passed over."""

    model_config = ConfigDict(extra="forbid")


class Problem(BaseModel):
    detail: str = Field(description="One sentence: what is wrong, and what to do.")


class Item(BaseModel):
    id: str
    group: int | None
    text: str | None
    fields: dict[str, float | str] | None
    image: bool


class Branch(BaseModel):
    """A question about two items."""

    id: UUID
    mode: Literal["pair"] = "pair"
    left: Item
    right: Item
    why: str
    kind: str


class Branches(BaseModel):
    """What is asked after either answer, so that the page can show it at once."""

    same: Branch | None
    different: Branch | None


class PairQuestion(Branch):
    then: Branches


class GridQuestion(BaseModel):
    """Which of the candidates do not belong to the anchor?"""

    id: UUID
    mode: Literal["grid"] = "grid"
    anchor: list[Item]
    candidates: list[Item]
    why: str
    kind: str


class Representative(BaseModel):
    group: int
    item: Item


class StripQuestion(BaseModel):
    """Which of these does the item belong to, if to any?"""

    id: UUID
    mode: Literal["strip"] = "strip"
    item: Item
    representatives: list[Representative]
    why: str
    kind: str


Question = Annotated[PairQuestion | GridQuestion | StripQuestion, Field(discriminator="mode")]


class Asked(BaseModel):
    question: Question | None
    done: str | None


class Session(BaseModel):
    annotator: str
    items: int
    form: Literal["image", "text", "row"]
    modes: list[Mode]
    store: str
    version: str


class Answer(Message):
    id: UUID
    question: UUID | None = None
    left: ItemId
    right: ItemId
    answer: Literal[0, 1] | None = Field(description="1 same, 0 different, null not sure")
    latency: float | None = Field(None, ge=0, le=1e6, allow_inf_nan=False)
    supersedes: UUID | None = None
    withdraw: bool = False
    kind: str | None = Field(None, max_length=20, pattern=r"^[a-z -]*$")

    @model_validator(mode="after")
    def _check(self) -> Answer:
        if self.left == self.right:
            raise ValueError("left and right are the same item; answer about two")
        if self.withdraw and self.supersedes is None:
            raise ValueError("an answer is withdrawn by the id that it has; give supersedes")
        return self


class Answers(Message):
    answers: list[Answer] = Field(max_length=MOST_ANSWERS)
    mode: Mode | None = Field("pair", description="The mode of the question that comes back; null for none.")


class Interval(BaseModel):
    estimate: float
    low: float
    high: float


class Forecast(BaseModel):
    target: float
    low: int
    high: int


class Group(BaseModel):
    id: int
    name: str | None
    size: int
    items: list[Item]
    pure: bool
    finished: bool


class Progress(BaseModel):
    answers: int
    per_minute: float
    classes: int
    accuracy: Interval | None
    forecast: Forecast | None
    groups: list[Group]
    end: str | None
    audits: int


class Saved(BaseModel):
    saved: list[UUID]
    progress: Progress
    question: Question | None


class PastAnswer(BaseModel):
    id: UUID
    question: UUID | None
    mode: Mode
    left: Item
    right: Item
    answer: Literal[0, 1] | None
    at: str


class History(BaseModel):
    answers: list[PastAnswer]


class GroupChange(Message):
    name: str | None = Field(None, max_length=LONGEST_NAME)
    pure: bool | None = None
    finished: bool | None = None


class Merge(Message):
    a: int
    b: int


class Questions(BaseModel):
    questions: list[PairQuestion]


class Members(BaseModel):
    id: int
    name: str | None
    items: list[Item]


class Link(BaseModel):
    left: Item
    right: Item
    answer: Literal[0, 1]


class Suspect(BaseModel):
    """An answer that is likely wrong, its odds, and the chain of answers that speaks against it."""

    id: UUID
    annotator: str
    left: Item
    right: Item
    answer: Literal[0, 1]
    odds: float
    chain: list[Link]


class Contradictions(BaseModel):
    answers: list[Suspect]


class Learning(BaseModel):
    state: Literal["idle", "running", "done", "failed"]
    line: str = ""
    report: bool = False
