"""The help of every command, as a page."""

from __future__ import annotations

from typing import Any

import typer.main

from likewise.cli import app


def all_help() -> str:
    """The help of every command and of the commands below it, each under a heading of its own."""
    group: Any = typer.main.get_command(app)
    return "\n\n".join(_helps(group, "likewise", level=2))


def _helps(group: Any, path: str, level: int) -> list[str]:
    found = []
    for name, command in group.commands.items():
        context = command.make_context(f"{path} {name}", [], resilient_parsing=True)
        found.append(f"{'#' * level} {path} {name}\n\n```text\n{command.get_help(context)}\n```")
        if hasattr(command, "commands"):
            found.extend(_helps(command, f"{path} {name}", level + 1))
    return found
