"""Why an answer looks wrong: the shortest chain of other answers that says the opposite.

Against "different" speaks a chain of answers "same" from one item to the other. Against "same" speaks a chain of which
one answer is "different". Where there is no such chain, it is what items look like that speaks against the answer.
"""

from __future__ import annotations

from collections import deque

from likewise.querying.beliefs import Beliefs

Link = tuple[int, int, bool]


def chain_against(beliefs: Beliefs, answer: int) -> list[Link]:
    """The answers of the chain, in order from the left item to the right; none where there is no chain."""
    links: dict[int, list[tuple[int, Link]]] = {}
    for number, ((i, j), same) in enumerate(zip(beliefs.ends.tolist(), beliefs.same.tolist(), strict=True)):
        if number != answer:
            links.setdefault(i, []).append((j, (i, j, same)))
            links.setdefault(j, []).append((i, (i, j, same)))
    start, end = map(int, beliefs.ends[answer])
    wanted = 1 if beliefs.same[answer] else 0  # how many of the chain say "different"
    reached: dict[tuple[int, int], tuple[tuple[int, int], Link] | None] = {(start, 0): None}
    queue = deque([(start, 0)])
    while queue and (end, wanted) not in reached:
        place = queue.popleft()
        for item, link in links.get(place[0], ()):
            further = (item, place[1] + (not link[2]))
            if further[1] <= wanted and further not in reached:
                reached[further] = (place, link)
                queue.append(further)
    chain: list[Link] = []
    step = reached.get((end, wanted))
    while step is not None:
        chain.append(step[1])
        step = reached[step[0]]
    return chain[::-1]
