"""RESULTS.md: the paper's figures beside ours, an ablation, what answers give, and surfaces, from records alone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from likewise.paper.ablation import ablation_section
from likewise.paper.answers_section import answers_section
from likewise.paper.class_counts import counts_section
from likewise.paper.discovery import discovery_section
from likewise.paper.flips import flips_section
from likewise.paper.landscape import landscape_section
from likewise.paper.noise_section import noise_section
from likewise.paper.peer_sections import eci_pp_section, spherepair_section
from likewise.paper.questions_section import questions_section
from likewise.paper.table1 import table1_section
from likewise.paper.table4 import table4_section
from likewise.paper.transfer import table2_section, table3_section

INTRODUCTION = """\
# Results

The figures of the paper (Hsu et al., Multi-class classification without multi-class labels, ICLR 2019) beside ours.
Each of ours comes from a JSON file in `results/`, and those of chosen questions from one in `benchmarks/`, that the
named command wrote; `likewise paper show` made this page from those files. Times are core-minutes of training
(processor time, summed over the cores), since these do not depend on what else the machine is doing.
"""


def results_page(results: Path) -> str:
    """The whole page; the same records give the same text."""
    return "\n".join([INTRODUCTION, *(section(results) for section in SECTIONS)])


SECTIONS: tuple[Callable[[Path], str], ...] = (
    table1_section,
    ablation_section,
    table2_section,
    flips_section,
    table3_section,
    discovery_section,
    counts_section,
    table4_section,
    answers_section,
    noise_section,
    spherepair_section,
    eci_pp_section,
    questions_section,
    landscape_section,
)
