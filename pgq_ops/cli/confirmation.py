"""Asking before something is changed."""

from __future__ import annotations

import sys

from pgq_ops.cli.ending import tell
from pgq_ops.errors import UsageError


def require_answer(*, yes: bool) -> None:
    """Raise UsageError where neither `yes` agrees to the change nor anybody can be asked."""
    if not yes and not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise UsageError("there is no terminal to ask on: add --yes to act, or --dry-run to see what would be done")


def confirm(question: str, *, yes: bool) -> None:
    """Return once the change is agreed to: by `yes`, else by the person at the terminal.

    Ends the command where the answer is no, which is no failure. Raises UsageError where nobody can be asked. The
    question goes to stderr, for stdout belongs to the command's result.
    """
    require_answer(yes=yes)
    if yes:
        return
    sys.stderr.write(f"{question} [y/N] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        tell("nothing was changed")
        raise SystemExit(0)
