"""The colours of figures and pages, in light and in dark."""

from __future__ import annotations

# No two colours of LIGHT are equal: a figure is drawn in them, and on the page each becomes the variable of its name.
LIGHT = {
    "page": "#f6f7f9",
    "card": "#ffffff",
    "ink": "#1b2430",
    "muted": "#5b6675",
    "rule": "#dde2e9",
    "right": "#2563eb",
    "wrong": "#c2410c",
    "learner-1": "#2562ea",
    "learner-2": "#7a8699",
    "learner-3": "#0b8a7d",
    "learner-4": "#a16207",
    "learner-5": "#8b3fd9",
}
DARK = {
    "page": "#10141a",
    "card": "#181e27",
    "ink": "#e8ecf2",
    "muted": "#9aa6b6",
    "rule": "#2d3642",
    "right": "#5b8ff9",
    "wrong": "#ff8a4c",
    "learner-1": "#6b9bff",
    "learner-2": "#98a4b5",
    "learner-3": "#2fc4b2",
    "learner-4": "#e0a63a",
    "learner-5": "#bb8cf5",
}


def learner_colour(position: int) -> str:
    """The palette's name for the colour of a learner, by its place in the report; the sixth starts over.

    >>> learner_colour(0), learner_colour(5)
    ('learner-1', 'learner-1')
    """
    return f"learner-{position % 5 + 1}"


def channels(colour: str) -> str:
    """Red, green and blue as numbers, to which CSS can add a transparency.

    >>> channels("#2563eb")
    '37 99 235'
    """
    return " ".join(str(int(colour[i : i + 2], 16)) for i in (1, 3, 5))
