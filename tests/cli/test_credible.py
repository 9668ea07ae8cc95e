"""`likewise check --credible`, as typed."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import typer
from typer.testing import CliRunner

from likewise.cli.check import check
from likewise.pairs import Pairs


def run(*arguments: object) -> Any:
    app = typer.Typer()
    app.command()(check)
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def by_five(path: Path) -> tuple[Path, np.ndarray]:
    """Two who know, one who guesses, one the wrong way round, and one who says "same"; and which answers are wrong."""
    random = np.random.default_rng(0)
    e, d = np.array([0.03, 0.03, 0.5, 0.97, 0.0]), np.array([0.03, 0.03, 0.5, 0.97, 1.0])
    classes, who = random.integers(3, size=30), random.permutation(np.repeat([0, 1, 2, 3, 4], [120, 120, 80, 80, 80]))
    i = random.integers(30, size=len(who))
    j = (i + random.integers(1, 30, size=len(who))) % 30
    same = classes[i] == classes[j]
    wrong = random.random(len(who)) < np.where(same, e[who], d[who])
    names = np.array(["ann", "bob", "chance", "turned", "yes"])[who]
    index = np.array([f"photo{k}" for k in range(30)])[np.stack([i, j], axis=1)]
    Pairs.from_arrays(index, same ^ wrong, annotator=names).write_csv(path)
    return path, wrong


def test_annotators_are_judged_and_the_wrong_answers_listed(tmp_path: Path) -> None:
    file, wrong = by_five(tmp_path / "a.csv")
    lines = run(file, "--credible").output.splitlines()
    assert "  chance looks random; their answers hardly count." in lines
    assert "  turned answers the wrong way round; what they say is taken as its opposite." in lines
    assert '  yes says "same" whatever the pair; their answers hardly count.' in lines
    assert not any(line.startswith(("  ann looks", "  ann answers", "  bob looks", "  bob answers")) for line in lines)
    share = next(
        re.fullmatch(r"About (\d+) % of the answers look wrong \((\d+) to (\d+)\)\.", line)
        for line in lines
        if line.startswith("About")
    )
    assert share is not None
    assert float(share[2]) <= 100 * wrong.mean() <= float(share[3])
    heading = next(k for k, line in enumerate(lines) if line.endswith("more likely wrong than right:"))
    shown = lines[heading + 1 : heading + 21]
    assert lines[heading + 21].startswith("  and ")
    for line in shown:
        said = re.match(r"  (photo\d+)(=|!=)(photo\d+), line (\d+): wrong by (more than )?[\d,.]+ to 1; (.*)", line)
        assert said is not None
        assert wrong[int(said[4]) - 2]
        chain = re.findall(r"(photo\d+)(!=|=)(photo\d+)", said[6])
        assert [chain[0][0], chain[-1][2]] == [said[1], said[3]]  # from one item to the other
        assert sum(link[1] == "!=" for link in chain) == (1 if said[2] == "=" else 0)


def test_of_three_the_least_credible_gives_way_with_its_odds(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text("left,right,same,weight\na,b,1,3\nb,c,1,2\na,c,0,1\n")
    lines = run(file, "--credible").output.splitlines()
    assert "Too few answers check one another to say how many are wrong; 1 in 10 is assumed." in lines
    odds = re.fullmatch(r"  a!=c, line 4: wrong by ([\d.]+) to 1; a=b, b=c \(2, 3\)", lines[-1])
    assert odds is not None
    pairs = Pairs.read(file)
    right = pairs.posterior().right[2]
    assert float(odds[1]) == round((1 - right) / right, 1)


def test_a_wrong_same_is_denied_by_a_chain_with_one_different(tmp_path: Path) -> None:
    groups = [["a", "b", "c", "d"], ["e", "f", "g", "h"]]
    rows = [f"{x},{y},1" for group in groups for x in group for y in group if x < y]
    rows += ["a,e,0", "b,f,0", "c,g,0", "a,h,1"]
    (tmp_path / "a.csv").write_text("\n".join(["left,right,same", *rows]) + "\n")
    lines = run(tmp_path / "a.csv", "--credible").output.splitlines()
    (said,) = [line for line in lines if "wrong by" in line]
    assert re.match(r"  a=h, line 17: wrong by .* to 1; (a=b, b!=f, f=h|a!=e, e=h|a=c, c!=g, g=h) \(", said)


def test_of_pure_noise_nothing_is_claimed(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    i = random.integers(40, size=400)
    j = (i + random.integers(1, 40, size=400)) % 40
    Pairs.from_arrays(np.stack([i, j], axis=1), random.integers(2, size=400)).write_csv(tmp_path / "a.csv")
    output = run(tmp_path / "a.csv", "--credible").output
    assert (
        "It is impossible to say which answers are wrong: they agree with one another no more than by chance." in output
    )
    assert "wrong by" not in output
    said = json.loads(run(tmp_path / "a.csv", "--credible", "--json").output)["credible"]
    assert (said["supported"], said["suspects"], said["outliers"]) == (False, [], [])


def test_consistent_answers_have_no_suspects(tmp_path: Path) -> None:
    Pairs.from_labels(np.arange(12) % 3).write_csv(tmp_path / "a.csv")
    result = run(tmp_path / "a.csv", "--credible")
    assert result.exit_code == 0
    assert result.output.splitlines()[-1] == "No answer is more likely wrong than right."
    assert "  Everybody" in result.output


def test_an_item_in_two_classes_is_named(tmp_path: Path) -> None:
    classes = np.repeat([0, 1, 2], 6)
    i, j = np.triu_indices(18, 1)
    same = (classes[i] == classes[j]) | ((i == 0) & (classes[j] == 1))
    names = np.array([f"photo{k}" for k in range(18)])
    Pairs.from_arrays(names[np.stack([i, j], axis=1)], same).write_csv(tmp_path / "a.csv")
    assert run(tmp_path / "a.csv", "--credible").output.splitlines()[-1] == "  photo0"


def test_json_holds_the_same_and_every_field_is_described(tmp_path: Path) -> None:
    file, _ = by_five(tmp_path / "a.csv")
    said = json.loads(run(file, "--credible", "--json").output)["credible"]
    assert said["supported"]
    assert len(said["suspects"]) == 20 < said["likely_wrong"]
    assert {each["annotator"] for each in said["rates"] if each["random"]} == {"chance", "yes"}
    assert {each["annotator"] for each in said["rates"] if each["reversed"]} == {"turned"}
    page = Path(__file__).parents[2] / "docs" / "json.md"
    described = set(re.findall(r"`([a-z_]+)`", page.read_text()))
    assert {"credible", *said, *said["rates"][0], *said["suspects"][0]} <= described
