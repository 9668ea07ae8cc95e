"""Answers that look wrong, and why: the shortest chain of other answers that says the opposite.

Against "different" speaks a chain of answers "same" from one item to the other. Against "same" speaks a chain of which
one answer is "different". A chain goes from item to item; where there is none, it may go on from another item of the
same atom, which looks alike; and where there is none of these, from another item of the same class. Where even that
fails, it is what items look like that speaks against the answer.
"""

from __future__ import annotations

from collections import deque

import numpy as np

from likewise.clustering.constraints import Ints
from likewise.querying.beliefs import Beliefs

Link = tuple[int, int, bool]
Suspect = tuple[int, int, float, list[Link]]


def suspects(beliefs: Beliefs, n: int) -> list[Suspect]:
    """The answers that are more likely wrong than right: the pair, the odds against it, and the chain against it."""
    q, (left, right) = beliefs.posterior[:, :-1], beliefs.ends.T
    together = (q[left] * q[right]).sum(axis=1)
    credible = np.where(beliefs.same, together, 1 - together)
    return [
        (
            int(left[answer]),
            int(right[answer]),
            float((1 - credible[answer]) / max(credible[answer], 1e-9)),
            chain_against(beliefs, int(answer)),
        )
        for answer in np.argsort(credible, kind="stable")[:n]
        if credible[answer] < 0.5
    ]


def chain_against(beliefs: Beliefs, answer: int) -> list[Link]:
    """The answers of the chain, in order from the left item to the right; none where there is no chain."""
    items = np.arange(len(beliefs.view.atom))
    for places in (items, beliefs.view.atom, beliefs.posterior.argmax(axis=1)):
        if chain := _shortest(beliefs, answer, places):
            return chain
    return []


def _shortest(beliefs: Beliefs, answer: int, places: Ints) -> list[Link]:
    """The shortest chain against an answer, from place to place; `places` (n,) has that of each item."""
    links: dict[int, list[tuple[int, Link]]] = {}
    for number, ((i, j), same) in enumerate(zip(beliefs.ends.tolist(), beliefs.same.tolist(), strict=True)):
        if number != answer:
            a, b = int(places[i]), int(places[j])
            links.setdefault(a, []).append((b, (i, j, same)))
            links.setdefault(b, []).append((a, (i, j, same)))
    start, end = (int(places[item]) for item in beliefs.ends[answer])
    wanted = 1 if beliefs.same[answer] else 0  # how many of the chain say "different"
    reached: dict[tuple[int, int], tuple[tuple[int, int], Link] | None] = {(start, 0): None}
    queue = deque([(start, 0)])
    while queue and (end, wanted) not in reached:
        place = queue.popleft()
        for other, link in links.get(place[0], ()):
            further = (other, place[1] + (not link[2]))
            if further[1] <= wanted and further not in reached:
                reached[further] = (place, link)
                queue.append(further)
    chain: list[Link] = []
    step = reached.get((end, wanted))
    while step is not None:
        chain.append(step[1])
        step = reached[step[0]]
    return chain[::-1]
