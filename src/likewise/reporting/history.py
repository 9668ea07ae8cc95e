"""The section of a report on how a model learned, epoch by epoch."""

from __future__ import annotations

from likewise.reporting.curves import History, answers_curve, stage_changes
from likewise.reporting.drawing import both_sizes
from likewise.reporting.page import section


def curve_section(history: History, *, told: str = "answers", later: str = "pairs") -> str:
    """Nothing where the history has no figure; `told` is what was held out, `later` what the stages learn from."""
    shown = " and ".join(axes.get_title(loc="left").lower() for axes in answers_curve(history).axes)
    if not shown:
        return ""
    about = f"{shown.capitalize()} after each epoch."
    if stage_changes(history):
        about += (
            f" A dashed rule marks where a stage began; the training loss before and after it is of different {later}."
        )
    figure = both_sizes(lambda size: answers_curve(history, size=size, told=told), f"{shown} by epoch", prefix="curve")
    return section("How it learned", about, figure)
