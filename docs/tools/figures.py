"""Puts a matplotlib figure into a page."""

from __future__ import annotations

import base64
import html
import io
from typing import Any

import matplotlib

matplotlib.use("Agg")


def image(figure: Any, description: str) -> str:
    """The figure as HTML; the description is for those who cannot see it."""
    import matplotlib.pyplot as plt

    file = io.BytesIO()
    figure.savefig(file, format="svg", bbox_inches="tight", metadata={"Date": None})
    plt.close(figure)
    source = base64.b64encode(file.getvalue()).decode()
    return f'<img class="figure" alt="{html.escape(description)}" src="data:image/svg+xml;base64,{source}">'
