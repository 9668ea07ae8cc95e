"""The counts of a summary against a loop over the answers."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from likewise.pairs import Pairs, summarise
from likewise.pairs.summary import repeated

items = st.integers(0, 3)
answer = st.tuples(
    items, items, st.sampled_from([0.0, 0.3, 0.5, 1.0]), st.sampled_from([0.0, 1.0]), st.sampled_from("ab")
)


@given(st.lists(answer, min_size=1, max_size=12), st.booleans())
def test_counts_equal_a_loop(answers: list[Any], named: bool) -> None:
    left, right, same, weight, who = zip(*answers, strict=True)
    pairs = Pairs.from_arrays([*zip(left, right, strict=True)], same, weight, who if named else None)
    found = summarise(pairs, limit=2)
    counted = [one for one in answers if one[3] > 0]
    assert found.answers == len(counted)
    assert found.not_given == len(answers) - len(counted)
    assert found.items == len({item for one in counted for item in one[:2]})
    assert found.same == sum(one[2] > 0.5 for one in counted)
    assert found.different == sum(one[2] < 0.5 for one in counted)
    assert found.answers == found.same + found.different + found.undecided
    assert found.soft == sum(0 < one[2] < 1 for one in counted)
    assert found.self_pairs == sum(one[0] == one[1] for one in counted)
    assert (found.closure.component == pairs.closure().component).all()
    assert found.closure.n_contradicted == pairs.closure().n_contradicted
    assert [one.lines for one in found.contradictions] == [one.lines for one in pairs.contradictions(2)]
    several = named and len(set(who)) > 1 and len(counted) > 0
    assert (found.agreement is not None) == (found.reliability is not None) == several
    said = {(min(i, j), max(i, j), s > 0.5) for i, j, s, *_ in counted if s != 0.5}
    assert found.disputed == (sum((i, j, False) in said for i, j, same in said if same) if several else 0)

    seen: set[Any] = set()
    for row, (i, j, s, _, name) in enumerate(answers):
        mark = (min(i, j), max(i, j), s, name if named else "")
        assert repeated(pairs)[row] == (mark in seen)
        seen.add(mark)
    assert found.repeated == repeated(pairs.select(pairs.weight > 0)).sum()
