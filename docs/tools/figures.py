"""Puts a matplotlib figure into a page of the tutorials."""

from __future__ import annotations

import base64
import html
import io
from typing import Any

import matplotlib

matplotlib.use("Agg")


def show(figure: Any, description: str) -> None:
    """Print the figure as an image of the page; the description is for those who cannot see it."""
    import matplotlib.pyplot as plt

    file = io.BytesIO()
    figure.savefig(file, format="svg", bbox_inches="tight", metadata={"Date": None})
    plt.close(figure)
    source = base64.b64encode(file.getvalue()).decode()
    print(f'<img class="figure" alt="{html.escape(description)}" src="data:image/svg+xml;base64,{source}">')
