"""The command as a whole: help, version, and how it ends on bad input and on Ctrl-C."""

from __future__ import annotations

import pytest
import typer
from typer.testing import CliRunner

from likewise import InputError, __version__, cli


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr("sys.argv", ["likewise", *arguments])
    with pytest.raises(SystemExit) as end:
        cli.main()
    return int(end.value.code or 0)


def test_version_and_help(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(monkeypatch, "--version") == 0
    assert capsys.readouterr().out == f"likewise {__version__}\n"
    assert run(monkeypatch, "--help") == 0
    assert "same-or-different answers" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (InputError("answers.csv is empty."), 2, "likewise: answers.csv is empty.\n"),
        (
            OSError(28, "No space left on device", "a.csv"),
            2,
            "likewise: a.csv cannot be used (No space left on device).\n",
        ),
        (MemoryError(), 2, f"likewise: {cli.NO_MEMORY}\n"),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried"), 2, f"likewise: {cli.NO_MEMORY}\n"),
        (KeyboardInterrupt("Stopped after epoch 1."), 130, "Stopped after epoch 1.\n"),
        (KeyboardInterrupt(), 130, "Stopped.\n"),
    ],
)
def test_how_it_ends(error: BaseException, code: int, said: str) -> None:
    app = typer.Typer(cls=cli.Commands, pretty_exceptions_enable=False)

    @app.callback()
    def group() -> None: ...

    @app.command()
    def broken() -> None:
        raise error

    result = CliRunner().invoke(app, ["broken"])
    assert (result.exit_code, result.stderr) == (code, said)


def test_a_mistake_of_ours_is_not_taken_for_bad_input() -> None:
    app = typer.Typer(cls=cli.Commands, pretty_exceptions_enable=False)

    @app.callback()
    def group() -> None: ...

    @app.command()
    def broken() -> None:
        raise RuntimeError("of ours")

    assert str(CliRunner().invoke(app, ["broken"]).exception) == "of ours"


def test_an_unknown_command_is_a_usage_error(monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(monkeypatch, "lern") == 2
