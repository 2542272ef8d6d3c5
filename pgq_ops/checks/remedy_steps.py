"""Remedies one after another, with which of them belong in a shell and which in psql."""

from __future__ import annotations

import itertools

_SHELL, _PSQL = ("#", "in a shell"), ("--", "in psql")


def steps(*remedies: str, then: str = "") -> str:
    """The texts under one another; where they are not all of one kind, under headings that say which is which.

    Each is a command of ours or SQL, with its comments. `then`: what has to be so before the second is run.
    """
    runs = [(kind, "\n".join(run)) for kind, run in itertools.groupby(filter(None, remedies), _kind)]
    if then:
        runs = [(_kind(text), text) for text in remedies]
    elif len(runs) == 1:
        return runs[0][1]
    lines: list[str] = []
    for (mark, place), text in runs:
        when = f"{then or 'then'}, " if lines else ""
        lines += [f"{mark} {when}{place}:", text]
    return "\n".join(lines)


def _kind(remedy: str) -> tuple[str, str]:
    first = next((line for line in remedy.splitlines() if not line.startswith(("#", "--"))), "")
    return _SHELL if first.startswith("pgq-ops ") else _PSQL
