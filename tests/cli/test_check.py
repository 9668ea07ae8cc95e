"""`likewise check`, as typed: what it prints, writes and exits with."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from likewise.cli.check import check
from likewise.errors import InputError
from likewise.pairs import Pairs


def run(*arguments: object) -> Any:
    app = typer.Typer()
    app.command()(check)
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def write(path: Path, *rows: str) -> Path:
    path.write_text("\n".join(rows) + "\n")
    return path


def test_consistent_answers_end_well(tmp_path: Path) -> None:
    file = write(tmp_path / "a.csv", "left,right,same", "a,b,1", "b,c,1", "c,d,0", "b,a,1", "d,d,1", "a,e,0.5")
    result = run(file)
    assert result.exit_code == 0
    assert result.output.splitlines() == [
        f"{file}: 6 answers about 5 items",
        "  4 same, 1 different, 1 undecided",
        "  1 soft (neither 0 nor 1)",
        "  1 repeated (an earlier one says the same)",
        "  1 about an item and itself",
        "",
        "Closure adds 1 same and 2 different.",
        "",
        "0 contradictions.",
    ]


def test_contradictions_are_proved_and_the_exit_code_is_1(tmp_path: Path) -> None:
    file = write(tmp_path / "a.csv", "left,right,same", "a,b,1", "b,c,1", "", "a,c,0", "d,d,0")
    result = run(file)
    assert result.exit_code == 1
    assert result.output.splitlines()[-3:] == [
        "2 contradictions:",
        "  a=b, b=c, but a!=c; lines 2, 3, 5",
        "  d!=d; line 6",
    ]


def test_answers_of_weight_0_count_as_not_given(tmp_path: Path) -> None:
    rows = ("a,b,1,1,x", "b,c,1,1,y", "a,c,0,0,y", "a,b,0,0,y", "d,e,0.5,0,x", "d,d,1,0,x")
    result = run(write(tmp_path / "a.csv", "left,right,same,weight,annotator", *rows))
    assert result.exit_code == 0
    assert result.output.splitlines()[:3] == [
        f"{tmp_path / 'a.csv'}: 2 answers about 3 items",
        "  2 same, 0 different, 0 undecided",
        "  4 more of weight 0, which count as not given",
    ]
    assert "2 annotators, who disagree about 0 pairs:" in result.output.splitlines()
    assert json.loads(run(tmp_path / "a.csv", "--json").output)["not_given"] == 4
    everything = write(tmp_path / "b.csv", "left,right,same,weight,annotator", "a,b,1,0,x", "a,b,0,0,y")
    assert run(everything).output.startswith(f"{everything}: 0 answers about 0 items")


def test_only_the_first_twenty_are_proved(tmp_path: Path) -> None:
    rows = [f"{k},{k + 1},{same}" for k in range(0, 4000, 2) for same in (1, 0)]
    result = run(write(tmp_path / "a.csv", "left,right,same", *rows))
    lines = result.output.splitlines()
    assert "2,000 contradictions:" in lines
    assert sum("but" in line for line in lines) == 20
    assert lines[-1] == "  and 1,980 more"


def test_a_long_proof_stays_in_one_line(tmp_path: Path) -> None:
    rows = [f"{k},{k + 1},1" for k in range(100)]
    result = run(write(tmp_path / "a.csv", "left,right,same", *rows, "0,100,0"))
    assert result.output.splitlines()[-1].startswith("  0=1, 1=2, 2=3, 3=4, 4=5, 5=6, ... 88 more ..., 94=95,")


def test_annotators_are_judged(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    truth = random.random(300) < 0.5
    same = np.concatenate([truth, truth, random.random(300) < 0.5])
    index = np.tile(np.arange(600).reshape(300, 2), (3, 1))
    Pairs.from_arrays(index, same, annotator=np.repeat(["ann", "bob", "chance"], 300)).write(tmp_path / "a.parquet")
    result = run(tmp_path / "a.parquet")
    *_, title, head, ann, bob, chance = result.output.splitlines()
    disputed = int((same[:300] != same[600:]).sum())
    assert title == f"3 annotators, who disagree about {disputed} pairs:"
    assert " ".join(head.split()) == "annotator answers right same as same different as different kappa"
    for line in (ann, bob):
        assert float(line.split()[2]) > 98
    assert ann.split()[:2] == ["ann", "300"]
    assert chance.split()[0] == "chance"
    assert 40 < float(chance.split()[2]) < 60
    assert abs(float(chance.split()[-1])) < 0.15


@pytest.mark.parametrize(("same", "missing"), [(1, "different"), (0, "same")])
def test_answers_of_one_kind_get_a_word(tmp_path: Path, same: int, missing: str) -> None:
    result = run(write(tmp_path / "a.csv", "left,right,same", f"a,b,{same}"))
    assert f'none says "{missing}": no classes can be learned from these alone' in result.output
    assert result.exit_code == 0


@pytest.mark.parametrize("name", ["b.csv", "b.parquet"])
def test_repair_writes_consistent_answers(tmp_path: Path, name: str) -> None:
    rows = ("a,b,1,2,x", "b,c,1,1,y", "a,c,0,3,x", "c,d,0,1,y")
    file = write(tmp_path / "a.csv", "left,right,same,weight,annotator", *rows)
    assert run(file).exit_code == 1
    result = run(file, "--repair", tmp_path / name)
    assert result.exit_code == 0  # so that `check --repair sound.csv && fit --pairs sound.csv` goes on
    said = f"Wrote {tmp_path / name}: 3 answers, 1 dropped. No consistent answers weigh more."
    assert result.output.splitlines()[-1] == said
    kept = Pairs.read(tmp_path / name)
    assert [kept.name(item) for item in kept.left] == ["a", "a", "c"]
    assert (kept.weight.tolist(), kept.annotators) == ([2, 3, 1], ("x", "y"))
    assert run(tmp_path / name).exit_code == 0


def by_three(path: Path, n: int = 60) -> Path:
    """Two annotators who know, and one who guesses, about n pairs."""
    random = np.random.default_rng(0)
    truth = random.random(n) < 0.5
    same = np.concatenate([truth, truth, random.random(n) < 0.5])
    index = np.tile(np.arange(2 * n).reshape(n, 2), (3, 1))
    Pairs.from_arrays(index, same, annotator=np.repeat(["ann", "bob", "chance"], n)).write(path)
    np.save(path.with_suffix(".npy"), truth)
    return path


@pytest.mark.parametrize("name", ["merged.csv", "merged.parquet"])
def test_merge_writes_one_answer_for_each_pair(tmp_path: Path, name: str) -> None:
    file = by_three(tmp_path / "a.csv")
    assert run(file).exit_code == 1
    result = run(file, "--merge", tmp_path / name)
    assert result.exit_code == 0, result.output
    said = f"Wrote {tmp_path / name}: 60 answers out of 180; 0 pairs too doubtful to count, 0 contradictions."
    assert result.output.splitlines()[-1] == said
    merged = Pairs.read(tmp_path / name)
    assert (merged.annotators, len(merged)) == ((), 60)
    assert ((merged.same > 0.5) == np.load(tmp_path / "a.npy")).all()
    np.testing.assert_allclose(merged.same, Pairs.read(file).merged().same)
    np.testing.assert_allclose(merged.weight, Pairs.read(file).merged().weight, rtol=1e-5)


def test_what_one_annotator_or_nobody_said_is_not_merged(tmp_path: Path) -> None:
    for head, rows, who in (
        ("left,right,same,annotator", ("a,b,1,ann", "b,c,0,ann"), "one annotator only"),
        ("left,right,same,annotator", ("a,b,1,", "b,c,0,"), "no annotators"),
        ("left,right,same", ("a,b,1", "b,c,0"), "no annotators"),
    ):
        file = write(tmp_path / "a.csv", head, *rows)
        refused = run(file, "--merge", tmp_path / "b.csv").exception
        assert isinstance(refused, InputError)
        assert str(refused) == f"{file} names {who}, so there is nothing to merge; leave --merge out."
    assert not (tmp_path / "b.csv").exists()


def test_answers_without_a_name_are_one_annotator(tmp_path: Path) -> None:
    file = write(tmp_path / "a.csv", "left,right,same,annotator", "a,b,1,ann", "b,c,0,", "a,b,1,", "c,d,1,ann")
    lines = run(file).output.splitlines()
    assert "2 annotators, who disagree about 0 pairs:" in lines
    assert [line.split()[0] for line in lines[-2:]] == ["ann", "(unnamed)"]


def test_json_holds_all_that_is_printed(tmp_path: Path) -> None:
    rows = ("a,b,1,1,x", "b,c,1,1,y", "a,c,0,1,x", "a,b,0,0.5,y", "d,d,1,1,x", "a,b,1,1,x", "e,f,0.7,1,x")
    file = write(tmp_path / "a.csv", "left,right,same,weight,annotator", *rows)
    result = run(file, "--json")
    assert result.exit_code == 1
    said = json.loads(result.output)
    assert {name: said[name] for name in ("answers", "items", "same", "different", "undecided", "soft")} == {
        "answers": 7,
        "items": 6,
        "same": 5,
        "different": 2,
        "undecided": 0,
        "soft": 1,
    }
    assert (said["repeated"], said["self_pairs"], said["disputed"], said["contradictions"]) == (1, 1, 1, 2)
    assert said["proofs"][0] == {"items": ["a", "b", "c"], "places": [2, 3, 4], "unit": "line"}
    assert [each["annotator"] for each in said["annotators"]] == ["x", "y"]
    assert [each["answers"] for each in said["annotators"]] == [5, 2]
    assert not {"repair", "merge"} & said.keys()
    printed = run(file).output
    for each in said["annotators"]:
        assert f"{100 * each['right']:.1f} %" in printed


def test_json_says_what_was_written(tmp_path: Path) -> None:
    file = by_three(tmp_path / "a.csv")
    result = run(file, "--json", "--merge", tmp_path / "m.csv", "--repair", tmp_path / "r.csv")
    assert result.exit_code == 0
    said = json.loads(result.output)
    assert said["merge"] == {"file": str(tmp_path / "m.csv"), "answers": 60, "doubtful": 0, "contradictions": 0}
    assert said["repair"]["answers"] == len(Pairs.read(tmp_path / "r.csv"))
    assert said["repair"]["answers"] + said["repair"]["dropped"] == 180


def test_every_field_of_the_json_is_described(tmp_path: Path) -> None:
    page = Path(__file__).parents[2] / "docs" / "json.md"
    described = set(re.findall(r"`([a-z_]+)`", page.read_text()))
    file = by_three(tmp_path / "a.csv")
    said = json.loads(run(file, "--json", "--merge", tmp_path / "m.csv", "--repair", tmp_path / "r.csv").output)
    inner = {name for field in ("annotators", "proofs") for each in said[field] for name in each}
    assert said.keys() | inner | said["merge"].keys() | said["repair"].keys() <= described


def test_bad_input_is_one_sentence_and_nothing_is_written(tmp_path: Path) -> None:
    file = write(tmp_path / "a.csv", "left,right,same", "a,b,perhaps")
    result = run(file, "--repair", tmp_path / "b.csv")
    assert isinstance(result.exception, InputError)  # which the command turns into exit code 2
    assert str(result.exception).startswith(f"{file}, line 2: same must be between 0 and 1, got 'perhaps'.")
    write(file, "left,right,same", "a,b,1")
    (tmp_path / "folder.csv").mkdir()
    for name, message in (
        ("b.txt", "must end in .csv or .parquet"),
        ("folder.csv", "is a folder"),
        ("a.csv/b.csv", "cannot be made, because"),
        ("a.csv", "holds the answers"),
    ):
        for option in ("--repair", "--merge"):
            refused = run(file, option, tmp_path / name).exception
            assert isinstance(refused, InputError)
            assert message in str(refused)
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["a.csv", "folder.csv"]


def test_importing_the_command_does_not_import_numpy() -> None:
    code = "import sys, likewise.cli.check; sys.exit('numpy' in sys.modules or 'pyarrow' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
