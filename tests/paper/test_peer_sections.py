"""The sections on the protocols of peers: published figures, ours by both matchings, the experts, and the verdict."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from likewise.paper.answers_trials import AnswersRecord
from likewise.paper.peer_sections import PeerRecord, eci_pp_section, spherepair_section
from likewise.paper.records import write_record
from likewise.paper.results_page import results_page


def test_spherepair(tmp_path: Path, trial_record: AnswersRecord) -> None:
    assert "`likewise paper spherepair` makes the records" in results_page(tmp_path)
    draw = replace(
        trial_record,
        table="spherepair",
        dataset="mnist",
        accuracy=91.0,
        test_matched_accuracy=92.0,
        rivals={"k-means": {"accuracy": 54.0}},
    )
    for record in (
        draw,
        replace(draw, seed=1, test_matched_accuracy=93.0, accuracy=92.0, cpu_seconds=150.0),
        replace(draw, answers=5000, test_matched_accuracy=95.0, accuracy=95.0),
        replace(draw, dataset="fashion-mnist", answers=10000, test_matched_accuracy=83.7),
    ):
        write_record(tmp_path, record)
    text = spherepair_section(tmp_path)
    fashion, mnist = text.split("### ")[1:]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in mnist.splitlines() if line[:1] == "|"]
    assert rows[0] == ["", "1,000 pairs", "5,000 pairs", "10,000 pairs"]
    assert rows[2:] == [
        ["MCL", "54.9", "82.6", "92.6"],
        ["VolMaxDCC", "57.3", "77.0", "91.3"],
        ["DC-GMM", "84.6", "94.1", "95.3"],
        ["CIDEC", "88.0", "95.4", "97.0"],
        ["SpherePair", "91.7", "95.9", "97.0"],
        ["ours, matched on the test set", "92.50 ± 0.71", "95.00", ""],
        ["its worst draw", "92.00", "95.00", ""],
        ["ours, matched on the training set", "91.50 ± 0.71", "95.00", ""],
        ["k-means, no answers", "54.00 ± 0.00", "54.00", ""],
        ["draws", "2", "1", "0"],
        ["core-minutes", "2.0", "1.5", ""],
    ]
    assert "`likewise paper spherepair --dataset mnist --seed 0`, and with --seed 1.\n" in mnist
    assert "| SpherePair | 69.8 | 79.9 | 83.6 |" in fashion
    assert "The mean of ours, matched as published, is ahead of SpherePair in 2 of 3.\n" in text
    assert "## The protocol of SpherePair" in results_page(tmp_path)


def test_eci_pp(tmp_path: Path, trial_record: AnswersRecord) -> None:
    assert "`likewise paper eci-pp` makes the records" in results_page(tmp_path)
    draw = replace(
        trial_record,
        table="eci-pp",
        dataset="mnist",
        answers=9000,
        experts=1,
        accuracy=92.0,
        train_accuracy=91.0,
        test_matched_accuracy=92.5,
        expert_accuracies=[88.0],
        rivals={"k-means": {"accuracy": 54.0, "train_accuracy": 53.0}},
        command="c",
    )
    write_record(tmp_path, draw)
    write_record(tmp_path, replace(draw, seed=1, accuracy=93.0, train_accuracy=92.0))
    write_record(tmp_path, replace(draw, model="law", accuracy=10.0))
    three = replace(draw, experts=3, expert_accuracies=[40.0, 30.0, 35.0], test_matched_accuracy=86.0, accuracy=85.0)
    write_record(tmp_path, three)
    peer = PeerRecord(
        table="eci-pp-peers",
        method="VolMaxDCC",
        dataset="mnist",
        experts=1,
        seed=0,
        train_accuracy=70.0,
        accuracy=71.0,
        test_matched_accuracy=72.0,
        settings={},
        cpu_seconds=60.0,
        command="c",
        likewise="0",
        torch="0",
        cpu="",
        threads=1,
    )
    write_record(tmp_path, peer)
    write_record(tmp_path, replace(peer, seed=1, test_matched_accuracy=74.0))
    text = eci_pp_section(tmp_path)
    one, several = text.split("### ")[1:]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in one.splitlines() if line[:1] == "|"]
    assert rows[2:] == [
        ["MCL", "38.9", "40.3"],
        ["VolMaxDCC", "75.6", "76.9"],
        ["SpherePair", "87.8", "89.1"],
        ["Weighted ProbPair", "89.9", "90.8"],
        ["ECI-PP", "90.7", "91.0"],
        ["VolMaxDCC, run here (2 draws)", "70.00 ± 0.00 [70.00]", "73.00 ± 1.41 [72.00]"],
        ["ours", "91.50 ± 0.71 [91.00]", "92.50 ± 0.71 [92.00]"],
        ["ours, matched on the test set", "", "92.50 ± 0.00 [92.50]"],
        ["k-means, no answers", "53.00 ± 0.00 [53.00]", "54.00 ± 0.00 [54.00]"],
        ["the expert", "88.00 ± 0.00 [88.00]", ""],
    ]
    assert "is ahead of ECI-PP. 2 draws, 1.5 core-minutes each: `c`, and with --seed 1.\n" in one
    assert "run here" not in several
    assert several.startswith("mnist, 3 experts\n")
    assert "is behind Weighted ProbPair. 1 draw," in several
    assert "| the experts, each | 35.00 ± 5.00 [30.00] |  |" in several
