"""Asking before something is changed."""

from __future__ import annotations

import sys

from pgq_ops.errors import UsageError


def confirm(question: str, *, yes: bool) -> None:
    """Return once the change is agreed to: by `yes`, else by the person at the terminal.

    Raises UsageError where nobody can be asked, and where the answer is no. The question goes to
    stderr, for stdout belongs to the command's result.
    """
    if yes:
        return
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise UsageError("there is no terminal to ask on: add --yes to act, or --dry-run to see what would be done")
    sys.stderr.write(f"{question} [y/N] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise UsageError("nothing was changed")
