"""Asking before something is changed."""

from __future__ import annotations

from io import StringIO

import pytest

from pgq_ops.cli.confirmation import confirm
from pgq_ops.errors import UsageError


class Terminal(StringIO):
    def isatty(self) -> bool:
        return True


def answered(monkeypatch: pytest.MonkeyPatch, answer: str) -> Terminal:
    told = Terminal()
    monkeypatch.setattr("sys.stdin", Terminal(answer))
    monkeypatch.setattr("sys.stderr", told)
    return told


@pytest.mark.parametrize("answer", ["y\n", "yes\n", " Y \n"])
def test_a_yes_lets_the_command_act(monkeypatch: pytest.MonkeyPatch, answer: str) -> None:
    told = answered(monkeypatch, answer)
    confirm("Reap 3 jobs?", yes=False)
    assert told.getvalue() == "Reap 3 jobs? [y/N] "


@pytest.mark.parametrize("answer", ["", "\n", "n\n", "no\n", "yikes\n"])
def test_anything_else_does_not(monkeypatch: pytest.MonkeyPatch, answer: str) -> None:
    told = answered(monkeypatch, answer)
    with pytest.raises(SystemExit) as ended:
        confirm("Reap 3 jobs?", yes=False)
    assert ended.value.code == 0
    assert told.getvalue() == "Reap 3 jobs? [y/N] nothing was changed\n"


@pytest.mark.parametrize("without", ["sys.stdin", "sys.stderr"])
def test_without_a_terminal_nobody_is_asked_and_nothing_is_done(monkeypatch: pytest.MonkeyPatch, without: str) -> None:
    answered(monkeypatch, "y\n")
    stream = StringIO("y\n")
    monkeypatch.setattr(without, stream)
    with pytest.raises(UsageError, match="add --yes to act, or --dry-run"):
        confirm("Reap 3 jobs?", yes=False)


def test_yes_needs_no_terminal_and_asks_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    confirm("Reap 3 jobs?", yes=True)
    assert capsys.readouterr() == ("", "")
