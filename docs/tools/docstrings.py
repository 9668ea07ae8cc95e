"""Turns docstrings into Markdown for the API pages.

Sections are numpydoc's. Mostly a parameter is written `name : what it does`, because its type stands in the signature,
and examples stand at the end, without a heading.
"""

from __future__ import annotations

import re
from typing import Any

from griffe import Extension, Object

SECTION = re.compile(r"^(Parameters|Attributes|Returns|Raises)\n-+\n(.*?)(?=\n\n|\Z)", re.M | re.S)
HEADING = re.compile(r"^(Examples|Notes|References)\n-+\n", re.M)
ENTRY = re.compile(r"^(\*{0,2}\w+(?:, \*{0,2}\w+)*) : ", re.M)
TYPED = re.compile(r"^(\S[^\n]*[^\s.;:,])\n +(?=[A-Z][a-z]* )", re.M)  # numpydoc's own: a type on the first line
EXAMPLE = re.compile(r"^>>> .*(?:\n(?!\s*$).*)*(?:\n\n>>> .*(?:\n(?!\s*$).*)*)*", re.M)


class Docstrings(Extension):
    """Rewrites every docstring before it is shown."""

    def on_instance(self, *, obj: Object, **_: Any) -> None:
        if obj.docstring:
            obj.docstring.value = as_markdown(obj.docstring.value)


def as_markdown(docstring: str) -> str:
    """The docstring with its sections as lists and its examples as blocks of code.

    >>> print(as_markdown("Adds.\\n\\nParameters\\n----------\\na : one\\n    number."))
    Adds.
    <BLANKLINE>
    **Parameters**
    <BLANKLINE>
    - `a`: one number.
    >>> as_markdown(">>> 1 + 1\\n2")
    '```pycon\\n>>> 1 + 1\\n2\\n```'
    """
    text = HEADING.sub(r"**\1**\n\n", docstring)
    text = SECTION.sub(lambda found: f"**{found[1]}**\n\n{_entries(found[2])}", text)
    return EXAMPLE.sub(lambda found: f"```pycon\n{found[0]}\n```", text)


def _entries(body: str) -> str:
    body = re.sub(r"\n +", " ", TYPED.sub(r"\1. ", body))
    lines = ENTRY.sub(r"- `\1`: ", body).split("\n")
    listed = [line for line in lines if line.startswith("- ")]
    freely = " ".join(line for line in lines if not line.startswith("- "))
    return "\n".join([*listed, *([f"\n{freely}"] if freely else [])])
