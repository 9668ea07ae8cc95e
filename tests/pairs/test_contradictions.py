"""Every contradiction, with a proof that is valid and as short as can be; and how a proof reads."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import coo_array
from scipy.sparse.csgraph import shortest_path

from likewise.pairs import Contradiction, Pairs
from likewise.pairs import contradictions as module
from likewise.pairs.contradictions import Chains

N = 7
items = st.integers(0, N - 1)
answer = st.tuples(items, items, st.sampled_from([0.0, 0.3, 0.5, 1.0, 1.0, 1.0]), st.sampled_from([0.0, 1.0, 1.0]))
answers_given = st.lists(answer, max_size=16)


def check_proofs(pairs: Pairs, expected: Any, found: list[Contradiction], rows: list[int]) -> None:
    assert [contradiction.rows[-1] for contradiction in found] == rows
    for contradiction in found:
        *links, broken = contradiction.rows
        chain = [int(item) for item in contradiction.items]
        assert (chain[0], chain[-1]) == (pairs.left[broken], pairs.right[broken])
        assert len(links) == expected.distance[chain[0], chain[-1]]
        for row, ends in zip(links, pairwise(chain), strict=True):
            assert {int(pairs.left[row]), int(pairs.right[row])} == set(ends)
            assert pairs.same[row] > 0.5
            assert pairs.weight[row] > 0


@given(answers_given)
def test_every_denied_answer_has_a_shortest_proof(make: Any, brute: Any, answers: list[Any]) -> None:
    pairs, expected = make(answers, N), brute(answers, N)
    check_proofs(pairs, expected, pairs.contradictions(), expected.denied)


@pytest.mark.parametrize(
    ("meeting", "levels"),
    [(0, 1000), (10**9, 1000), (0, 3)],
    ids=["from both ends", "the whole graph", "from both ends, soon given up"],
)
@given(answers_given)
def test_every_way_to_search_gives_shortest_proofs(
    make: Any, brute: Any, meeting: int, levels: int, answers: list[Any]
) -> None:
    pairs, expected = make(answers, N), brute(answers, N)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "MEETING", meeting)
        patch.setattr(module, "LEVELS", levels)
        check_proofs(pairs, expected, pairs.contradictions(), expected.denied)


@given(answers_given, st.integers(0, 3))
def test_a_limit_gives_the_first_ones(make: Any, brute: Any, answers: list[Any], limit: int) -> None:
    pairs, expected = make(answers, N), brute(answers, N)
    check_proofs(pairs, expected, pairs.contradictions(limit), expected.denied[:limit])


@given(answers_given)
def test_without_any_one_answer_a_contradiction_is_gone(make: Any, answers: list[Any]) -> None:
    pairs = make(answers, N)
    for contradiction in pairs.contradictions():
        rows = np.array(contradiction.rows)
        assert pairs.select(rows).closure().n_contradicted == 1
        for row in rows:
            assert pairs.select(rows[rows != row]).closure().n_contradicted == 0


def test_a_proof_names_the_lines_of_the_file(tmp_path: Path) -> None:
    rows = ["left,right,same", "", "x,y,1", "a,b,1", "", "p,q,0", "x,z,0", "", "b,c,1", "", "", "", "", "", "", ""]
    (tmp_path / "answers.csv").write_text("\n".join([*rows, "a,c,0"]) + "\n")
    found = Pairs.read_csv(tmp_path / "answers.csv").contradictions()
    assert [str(contradiction) for contradiction in found] == ["a=b, b=c, but a!=c; lines 4, 9, 17"]


def test_a_pair_answered_both_ways_and_an_item_unlike_itself() -> None:
    pairs = Pairs.from_arrays([("a", "b"), ("b", "a"), ("c", "c")], [1, 0, 0])
    assert [str(found) for found in pairs.contradictions()] == ["b=a, but b!=a; rows 0, 1", "c!=c; row 2"]


def test_of_repeated_links_the_first_is_named() -> None:
    pairs = Pairs.from_arrays([(0, 1), (1, 0), (0, 1), (0, 1)], [0, 1, 1, 0])
    assert [found.rows for found in pairs.contradictions()] == [(1, 0), (1, 3)]


def test_a_long_chain_can_be_cut_in_the_middle() -> None:
    n = 10
    links = [(i, i + 1) for i in range(n)]
    (found,) = Pairs.from_arrays([*links, (0, n)], [1] * n + [0]).contradictions()
    assert found.text(3) == "0=1, ... 7 more ..., 8=9, 9=10, but 0!=10; rows 0, ..., 8, 9, 10"
    assert found.text(n) == str(found)
    assert str(found).count("=") == n + 1


def test_a_very_long_chain_is_found() -> None:
    n = 3000
    items = np.random.default_rng(0).permutation(n)
    links = np.stack([items[:-1], items[1:]], axis=1)
    pairs = Pairs.from_arrays([*links, (items[0], items[-1])], [1] * (n - 1) + [0])
    (found,) = pairs.contradictions()
    assert found.rows == tuple(range(n))


@pytest.mark.parametrize("links", [40, 60, 120])
@pytest.mark.parametrize("meeting", [0, 10**9])  # always from both ends, or always SciPy's search from one
def test_every_chain_is_a_shortest_one(links: int, meeting: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MEETING", meeting)
    n = 30
    left, right = np.random.default_rng(links).integers(n, size=(2, links))
    graph = coo_array((np.ones(links), (left, right)), shape=(n, n))
    distance = shortest_path(graph, directed=False, unweighted=True)
    linked = {(int(i), int(j)) for i, j in zip([*left, *right], [*right, *left], strict=True)}
    chains = Chains(left, right, n)
    reached = [(i, j) for i in range(n) for j in range(n) if np.isfinite(distance[i, j])]
    assert len(reached) > 400
    for source, target in reached:
        (chain,) = chains.between(source, [target])
        assert (chain[0], chain[-1], len(chain) - 1) == (source, target, distance[source, target])
        assert linked.issuperset(pairwise(chain))


def test_a_long_chain_is_left_to_scipy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MEETING", 0)
    monkeypatch.setattr(module, "LEVELS", 10)
    chains = Chains(np.arange(49), np.arange(1, 50), 50)
    assert chains.between(3, [5, 45, 3]) == [[3, 4, 5], list(range(3, 46)), [3]]
    assert chains.between(45, [44, 3]) == [[45, 44], list(range(45, 2, -1))]
